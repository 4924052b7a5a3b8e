"""Files whose content was changed and whose checksum fits: what is wrong is named."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
from hostile_cases import CLASSES, MONOTONE, SMALL, fill, made, put, refuse, sealed

from lambdak import SpectralQuantileRegressor, SpectralRegressor

LINEAR = made(SpectralRegressor(**SMALL, n_knots=0))
CONVEX = made(SpectralRegressor(**SMALL, shape="convex"))
QUANTILES = made(SpectralQuantileRegressor((0.1, 0.5, 0.9), **SMALL))


def changed(model, change):
    header, tensors = deepcopy(model)
    change(header, tensors)
    return sealed(header, tensors)


def drop(name):
    return lambda header, tensors: header.pop(name)


def swap_tensors(header, tensors):
    tensors["start"], tensors["weights"] = tensors["weights"], tensors["start"]


CHANGES = {
    "later format": (MONOTONE, put("format", value=9), r"format 9, and this lambdak .* reads up to 8: upgrade lambdak"),
    "format zero": (MONOTONE, put("format", value=0), "format must be at least 1; got 0"),
    "format text": (MONOTONE, put("format", value="1"), r"format must be an int in \[0, .* got '1'"),
    "no format": (MONOTONE, drop("format"), "format must be an int"),
    "no columns": (MONOTONE, drop("columns"), "the header must have the field 'columns'"),
    "no target": (MONOTONE, drop("target"), "the header must have the field 'target'"),
    "target in an older format": (MONOTONE, put("format", value=2), "unknown field 'target'"),
    "training in an older format": (
        MONOTONE,
        lambda header, _: (header.update(format=2, training={}), header.pop("target")),
        "unknown field 'training'",
    ),
    "target field": (MONOTONE, put("target", "unit", value="EUR"), "target has an unknown field 'unit'"),
    "target name": (MONOTONE, put("target", "name", value=["price"]), "name of the target must be a string; got a"),
    "target decimals": (
        MONOTONE,
        put("target", "decimals", value=5),
        r"decimals of the target must be an int in \[0, 5",
    ),
    "target half decimals": (MONOTONE, put("target", "decimals", value=0.5), "decimals of the target must be an int"),
    "decimals of classes": (CLASSES, put("target", "decimals", value=0), "decimals of the target must be null"),
    "target average": (MONOTONE, put("target", "average", value=1.0), "average of the target must be a list; got 1.0"),
    "target averages": (MONOTONE, put("target", "average", value=[1.0, 2.0]), "average of the target must have 1 to 1"),
    "average text": (MONOTONE, put("target", "average", value=["1"]), "average of the target must be a finite number"),
    "average share": (CLASSES, put("target", "average", value=[0.5, 0.4, 1.1]), "must be what the model can predict"),
    "more fields": (MONOTONE, put("code", value="import os"), "unknown field 'code'"),
    "foreign estimator": (
        MONOTONE,
        put("estimator", value="os.system"),
        r"estimator must be one of .* got 'os.system'",
    ),
    "unhashable estimator": (MONOTONE, put("estimator", value=[]), "estimator must be a string; got a list"),
    "later parameter": (MONOTONE, put("parameters", "new", value=1), "a parameter 'new' .* upgrade lambdak"),
    "parameters list": (MONOTONE, put("parameters", value=[]), "parameters must be an object"),
    "strange parameter": (MONOTONE, put("parameters", "tol", value={"eval": "1"}), "tol must be a value"),
    "array dtype": (
        MONOTONE,
        put("parameters", "tol", value={"array": {"dtype": "V8", "values": []}}),
        "tol has an unknown dtype 'V8'",
    ),
    "wide strings": (
        MONOTONE,
        put("parameters", "tol", value={"array": {"dtype": "U999999", "values": ["a"] * 100}}),
        "tol is too large for strings",
    ),
    "array values": (
        MONOTONE,
        put("parameters", "tol", value={"array": {"dtype": "i1", "values": [300]}}),
        "tol holds values that do not fit into its dtype 'i1'",
    ),
    "many threads": (MONOTONE, put("parameters", "n_jobs", value=10**9), "n_jobs must be an int in"),
    "wrong column": (MONOTONE, put("parameters", "monotonic_cst", value={"dict": [["z", 1]]}), "monotonic_cst names"),
    "loss": (MONOTONE, put("loss", value={"kind": "SoftmaxLog", "n_classes": 3}), "loss of SpectralRegressor must be"),
    "loss field": (MONOTONE, put("loss", value={"kind": "Tweedie", "power": 3}), r"power must be in \(1, 2\); got 3"),
    "loss type": (MONOTONE, put("loss", value={"kind": "Tweedie", "power": "x"}), "power must be a finite number"),
    "classes of a regressor": (MONOTONE, put("classes", value=[1]), "classes must be null"),
    "repeated class": (CLASSES, put("classes", "array", "values", value=["a", "a", "b"]), "classes must be 3 labels"),
    "two classes": (CLASSES, put("classes", "array", "values", value=["a", "b"]), "classes must be 3 labels"),
    "short class dtype": (
        CLASSES,
        put("classes", "array", "dtype", value="U0"),
        "classes has an unknown dtype 'U0'",
    ),
    "dim": (MONOTONE, put("dim", value=10**6), r"dim must be an int in \[1, 129\); got 1000000"),
    "dim and tensors": (MONOTONE, put("dim", value=4), "dim of the parameters must be those of the model"),
    "index": (MONOTONE, put("indices", value=[3]), r"indices must be an int in \[0, 3\); got 3"),
    "indices": (MONOTONE, put("indices", value=[0, 1]), "indices must have 1 to 1 items"),
    "members": (MONOTONE, put("members", value=3), "tensor 'coef' must be"),
    "scale": (MONOTONE, put("scale", value=-1.0), "scale must be at least"),
    "huge scale": (MONOTONE, put("scale", value=1e308), "too large to compute with"),
    "huge int": (MONOTONE, put("scale", value=10**400), "scale must be a finite number; got an int of many digits"),
    "dtype": (MONOTONE, put("dtype", value="object"), "dtype must be float32 or float64"),
    "no columns at all": (MONOTONE, put("columns", value=[]), "columns must have"),
    "column kind": (MONOTONE, put("columns", 0, "kind", value={}), "column 0 must be of a kind"),
    "column name": (MONOTONE, put("columns", 0, "name", value="x1"), "names that differ"),
    "column named": (MONOTONE, put("columns", 0, "name", value="y"), "columns without names must be called x0"),
    "knots fall": (MONOTONE, put("columns", 0, "knots", 0, value=99.0), "knots of column 0 .* must increase"),
    "knots text": (MONOTONE, put("columns", 0, "knots", 0, value="1"), "knots of column 0 .* finite number; got '1'"),
    "knots huge": (
        MONOTONE,
        put("columns", 0, "knots", 0, value=-1e308),
        "knots of column 0 .* must be a finite number",
    ),
    "fewer knots": (MONOTONE, lambda header, _: header["columns"][0]["knots"].pop(1), "tensor 'coef' must be"),
    "missing": (MONOTONE, put("columns", 1, "missing", value=1), "missing of column 1 .* must be true or false; got 1"),
    "median": (MONOTONE, put("columns", 1, "median", value=99.0), "median of column 1 .* must be in its range"),
    "levels repeat": (MONOTONE, put("columns", 3, "levels", 0, value="red"), "levels of column 3 .* must differ"),
    "level list": (
        MONOTONE,
        put("columns", 3, "levels", 0, value=[]),
        "levels of column 3 .* must be strings, numbers",
    ),
    "level nan": (
        MONOTONE,
        put("columns", 3, "levels", 0, value={"float": "nan"}),
        "levels of column 3 .* must be str",
    ),
    "no levels": (MONOTONE, put("columns", 3, "levels", value=[]), "levels of column 3 .* must have"),
    "slope scale": (LINEAR, put("columns", 0, "scale", value=0.0), "column 0 .* must have a positive scale"),
    "tiny scale": (LINEAR, put("columns", 0, "scale", value=1e-300), "column 0 .* must have a scale that fits"),
    "sparse": (MONOTONE, put("encoder", "from_sparse", value=True), "columns of a sparse table must be linear"),
    "clamp": (
        CONVEX,
        put("encoder", "clamp", value=True),
        "shape must be what the model was fitted with; got 'convex'",
    ),
    "shape": (
        CONVEX,
        put("parameters", "shape", value={"array": {"dtype": "i8", "values": [1, 2]}}),
        "shape must be None, 'convex' or 'concave'",
    ),
    "nan matrix": (MONOTONE, fill("coef", (0, 2, 1), np.nan), "tensor 'coef' must be finite"),
    "infinite matrix": (MONOTONE, fill("coef", (1, 0, 0), np.inf), "tensor 'coef' must be finite"),
    "huge matrix": (MONOTONE, fill("coef", (0, 0, 0), 1e30), "too large to compute with"),
    "nan start": (MONOTONE, fill("start", 0, np.nan), "tensor 'start' must be finite"),
    "weights": (MONOTONE, fill("weights", 0, 0.6), "weights must be positive and sum to 1"),
    "negative weights": (MONOTONE, fill("weights", slice(None), [1.5, -0.5]), "weights must be positive and sum to 1"),
    "monotone broken": (
        MONOTONE,
        fill("coef", (1, 3, 0), -9.0),
        "'x0' is not proven: the prediction never falls",
    ),
    "convex broken": (
        CONVEX,
        fill("coef", (0, 3, 0), 99.0),
        "raw score is convex .* all changes of slope at knots must be",
    ),
    "convex index": (CONVEX, put("indices", value=[1]), "must be the last of 3 eigenvalues, but it is number 2"),
    "quantiles cross": (
        QUANTILES,
        fill("coef", (1, -1, 2), -99.0),
        "'3 quantiles' is not proven: a higher quantile is never below",
    ),
    "quantile levels": (QUANTILES, put("loss", "quantiles", value=[0.5, 0.1, 0.9]), "quantiles must be increasing"),
    "foreign tensor": (MONOTONE, lambda _, tensors: tensors.update(extra=np.zeros(2)), "an unknown tensor 'extra'"),
    "absent tensor": (MONOTONE, lambda _, tensors: tensors.pop("weights"), "tensor 'weights' is missing"),
    "swapped tensors": (MONOTONE, swap_tensors, "tensor 'start' must be float64 of shape"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_with_a_fitting_checksum_is_named(tmp_path, name):
    model, change, match = CHANGES[name]
    refuse(tmp_path, changed(model, change), match)
