"""Files that were cut, changed or made up: a clear error within a second and bounded memory, or a harmless model."""

from __future__ import annotations

import json
import os
import threading
import time
import tracemalloc
from copy import deepcopy

import numpy as np
import pytest
from safetensors.numpy import save as as_safetensors

import lambdak
from lambdak import SpectralClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.store import ModelFileError
from lambdak.store._model import describe
from lambdak.store._tensors import MOST_BYTES, MOST_HEADER_BYTES, digest, to_bytes

SMALL = {"effort": "fast", "dim": 3, "max_iter": 2, "n_estimators": 2, "random_state": 0}
RNG = np.random.default_rng(0)
X = np.empty((80, 4), object)
X[:, 0], X[:, 1], X[:, 2] = RNG.uniform(0, 9, (3, 80))
X[:, 3] = RNG.choice(["red", "green", "blue"], 80)
X[::9, 1] = None
Y = np.sqrt(X[:, 0].astype(float)) + (X[:, 3] == "red")


def made(model, y=Y):
    return describe(model.fit(X, y)._saved())


MONOTONE = made(SpectralRegressor(**SMALL, monotonic_cst=[1, 0, 0, 0]))
LINEAR = made(SpectralRegressor(**SMALL, n_knots=0))
CONVEX = made(SpectralRegressor(**SMALL, shape="convex"))
QUANTILES = made(SpectralQuantileRegressor((0.1, 0.5, 0.9), **SMALL))
CLASSES = made(SpectralClassifier(**SMALL), np.array(["a", "b", "c"])[np.digitize(Y, [2, 3])])


def sealed(header, tensors):
    """A file whose checksum fits, whatever it holds."""
    return to_bytes({**header, "sha256": digest(header, tensors)}, tensors)


def changed(model, change):
    header, tensors = deepcopy(model)
    change(header, tensors)
    return sealed(header, tensors)


def framed(outer, data=b""):
    """A safetensors file with this JSON header, given as a value or as bytes."""
    head = outer if isinstance(outer, bytes) else json.dumps(outer).encode()
    return len(head).to_bytes(8, "little") + head + data


def refuse(tmp_path, data, match):
    path = tmp_path / "model.safetensors"
    path.write_bytes(data)
    began = time.process_time()
    with pytest.raises(ModelFileError, match=match) as caught:
        lambdak.load(path)
    assert time.process_time() - began < 1
    assert str(caught.value).startswith(f"cannot load {str(path)!r}: ")
    assert len(str(caught.value)) < 600


def put(*path, value):
    """A change of the header: the field at this path becomes ``value``."""

    def change(header, tensors):
        for key in path[:-1]:
            header = header[key]
        header[path[-1]] = value

    return change


def fill(name, place, value):
    """A change of a tensor at one place."""

    def change(header, tensors):
        tensors[name][place] = value

    return change


def drop(name):
    return lambda header, tensors: header.pop(name)


def swap_tensors(header, tensors):
    tensors["start"], tensors["weights"] = tensors["weights"], tensors["start"]


CHANGES = {
    "later format": (MONOTONE, put("format", value=7), r"format 7, and this lambdak .* reads up to 1: upgrade lambdak"),
    "format zero": (MONOTONE, put("format", value=0), "format must be at least 1; got 0"),
    "format text": (MONOTONE, put("format", value="1"), r"format must be an int in \[0, .* got '1'"),
    "no format": (MONOTONE, drop("format"), "format must be an int"),
    "no columns": (MONOTONE, drop("columns"), "the header must have the field 'columns'"),
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
    "dim and tensors": (MONOTONE, put("dim", value=4), r"tensor 'coef' must be .* 10\).*; got .* 6\)"),
    "index": (MONOTONE, put("indices", value=[3]), r"indices must be an int in \[0, 3\); got 3"),
    "indices": (MONOTONE, put("indices", value=[0, 1]), "indices must have 1 to 1 items"),
    "members": (MONOTONE, put("members", value=3), "tensor 'coef' must be"),
    "scale": (MONOTONE, put("scale", value=-1.0), "scale must be positive"),
    "huge scale": (MONOTONE, put("scale", value=1e308), "too large to compute with"),
    "huge int": (MONOTONE, put("scale", value=10**400), "scale must be a finite number; got an int of many digits"),
    "dtype": (MONOTONE, put("dtype", value="object"), "dtype float32 or float64"),
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
    "monotone broken": (MONOTONE, fill("coef", (1, 3, 0), -9.0), r"break monotonic_cst=\+1 of column 'x0'"),
    "convex broken": (CONVEX, fill("coef", (0, 3, 0), 99.0), "break the promised shape in column 'x0'"),
    "convex index": (CONVEX, put("indices", value=[1]), "indices must be the end of the spectrum"),
    "quantiles cross": (QUANTILES, fill("coef", (1, -1, 2), -99.0), "let quantiles cross"),
    "quantile levels": (QUANTILES, put("loss", "quantiles", value=[0.5, 0.1, 0.9]), "quantiles must be increasing"),
    "foreign tensor": (MONOTONE, lambda _, tensors: tensors.update(extra=np.zeros(2)), "an unknown tensor 'extra'"),
    "absent tensor": (MONOTONE, lambda _, tensors: tensors.pop("weights"), "tensor 'weights' is missing"),
    "swapped tensors": (MONOTONE, swap_tensors, "tensor 'start' must be float64 of shape"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_with_a_fitting_checksum_is_named(tmp_path, name):
    model, change, match = CHANGES[name]
    refuse(tmp_path, changed(model, change), match)


DEEP = b"[" * 10**6 + b"]" * 10**6
RAW = {
    "empty": (b"", "it is not a model file"),
    "short": (b"\x05\x00", "it is not a model file"),
    "csv": (b"age,income,town\n31,2.5,north\n", r"safetensors': it is not a model file: give the path of a file that"),
    "pickle": (b"\x80\x04\x95cos\nsystem\n(S'true'\ntR.", "it is not a model file: give the path"),
    "huge header": (
        (10**12).to_bytes(8, "little") + b"{}",
        "not a whole model file: it has 10 bytes, but declares a header of 1,000,000,000,000 bytes",
    ),
    "long header": (framed(b" " * (MOST_HEADER_BYTES + 1)), "of which at most 16,777,216 are read"),
    "not text": (framed(b"\xff\xfe"), "its header is not text"),
    "not json": (framed(b"{]"), "its header is not JSON"),
    "constants": (framed(b'{"a": NaN}'), "holds NaN, which JSON does not know"),
    "twice": (framed(b'{"a": 1, "a": 2}'), "holds the field 'a' twice"),
    "digits": (framed(b"[" + b"9" * 10_000 + b"]"), "a number with too many digits"),
    "deep lists": (framed(DEEP), "nested deeper than 32 levels"),
    "deep objects": (framed(b'{"a":' * 10**5 + b"1" + b"}" * 10**5), "nested deeper than 32 levels"),
    "open string": (framed(b'"' + b'\\"' * 10**6), "is not JSON"),
    "deep inner header": (framed({"__metadata__": {"lambdak": DEEP.decode()}}), "nested deeper than 32 levels"),
    "many lists": (
        framed(b"[" + b"[]," * 5_000_000 + b"[]]"),
        "holds 10,000,002 values, of which at most 1,048,576 are read",
    ),
    "other safetensors": (as_safetensors({"a": np.zeros(3)}), "not a safetensors file with a header of lambdak"),
    "metadata": (
        as_safetensors({"a": np.zeros(3)}, {"format": "pt"}),
        "the header 'lambdak' must be a string; got None",
    ),
    "inner list": (framed({"__metadata__": {"lambdak": "[]"}}), "the header 'lambdak' must be an object"),
}


@pytest.mark.parametrize("name", RAW)
def test_what_is_no_model_file_is_refused(tmp_path, name):
    refuse(tmp_path, *RAW[name])


def outer(data):
    """The safetensors header of a file and the rest of it."""
    size = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + size]), data[8 + size :]


@pytest.mark.parametrize(
    ("entry", "match"),
    [
        ({"data_offsets": [0, 10**12], "shape": [10**11], "dtype": "F64"}, "shape of tensor 'coef' must be an int in"),
        ({"shape": [2**31, 2**31, 2**31]}, "tensor 'coef' must take .* bytes"),
        ({"shape": [1, 1]}, "tensor 'coef' must take 8 bytes"),
        ({"shape": [-1, 1]}, "shape of tensor 'coef' must be an int"),
        ({"shape": [1.5]}, "shape of tensor 'coef' must be an int"),
        ({"shape": "ab"}, "shape of tensor 'coef' must be a list"),
        ({"dtype": "BOOL"}, "dtype of tensor 'coef' must be one of"),
        ({"dtype": None}, "dtype of tensor 'coef' must be a string"),
        ({"data_offsets": [8, 4]}, "tensor 'coef' must take"),
        ({"data_offsets": [4]}, "data_offsets of tensor 'coef' must have 2 to 2 items"),
        ({"code": 1}, "tensor 'coef' has an unknown field 'code'"),
    ],
)
def test_declared_sizes_are_compared_with_the_file(tmp_path, entry, match):
    head, data = outer(sealed(*MONOTONE))
    head["coef"].update(entry)
    refuse(tmp_path, framed(head, data), match)


def test_gaps_overlaps_and_rests_are_refused(tmp_path):
    head, data = outer(sealed(*MONOTONE))
    refuse(tmp_path, framed(head, data + b"x"), "must take .* bytes as declared")
    refuse(tmp_path, framed(head, data[:-1]), "must take .* bytes as declared")
    shifted = deepcopy(head)
    shifted["start"]["data_offsets"] = [place - 8 for place in head["start"]["data_offsets"]]
    refuse(tmp_path, framed(shifted, data), "overlap or leave gaps")


def test_tensors_that_change_places_break_the_checksum(tmp_path):
    header, tensors = deepcopy(CLASSES)
    tensors["weights"] = np.array([0.25, 0.75])
    data = sealed(header, tensors)
    refuse(tmp_path, data.replace(tensors["weights"].tobytes(), tensors["weights"][::-1].tobytes()), "its checksum")
    refuse(tmp_path, data.replace(b"SpectralClassifier", b"SpectralClassifieR"), "estimator must be one of")
    refuse(tmp_path, data.replace(b"red", b"rad"), "its checksum does not fit")


def test_a_terabyte_is_neither_read_nor_allocated(tmp_path):
    path = tmp_path / "sparse"
    head = deepcopy(outer(sealed(*MONOTONE))[0])
    head["coef"] = {"dtype": "F64", "shape": [1, 2**16, 2**16], "data_offsets": [0, 2**35]}
    path.write_bytes(framed(head))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="data_offsets of tensor 'coef' must be an int in"):
            lambdak.load(path)
        for length in (10**12, MOST_BYTES):
            os.truncate(path, length)
            with pytest.raises(ModelFileError):
                lambdak.load(path)
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_pipes_and_folders_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(ModelFileError, match=r"it is not a file: give the path of a file that model.save wrote"):
            lambdak.load(path)


def test_depth_does_not_depend_on_the_stack_that_is_left(tmp_path):
    """Python's own limit may be set too high for a small stack: the text is measured before it is followed."""
    path, errors = tmp_path / "deep", []
    path.write_bytes(framed(DEEP))

    def attempt():
        try:
            lambdak.load(path)
        except ModelFileError as error:
            errors.append(error)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    assert len(errors) == 1


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ('"format": 1', '"format": 2', "format 2, .* upgrade lambdak"),
        ('"tensors": {', '"tensors": {"a": [],', "tensors has an unknown field 'a'"),
        ('"weights": [0.5', '"weights": ["0.5"', "tensor 'weights' must be finite numbers"),
        ('"weights": [0.5', '"weights": [NaN', "holds NaN, which JSON does not know"),
        ('"weights": [0.5', '"weights": [1e999', "tensor 'weights' must be finite numbers"),
        ('"weights": [0.5', '"weights": [0.5, 0.5', "tensor 'weights' must have 2 to 2 items"),
        ('"weights": [0.5', '"weights": [0.25', "its checksum does not fit"),
        ('"red"', '"rot"', "its checksum does not fit"),
        ("{", "[", "the text is not JSON"),
    ],
)
def test_texts_are_checked_as_strictly(old, new, match):
    text = SpectralRegressor(**SMALL).fit(X, Y).to_json()
    assert old in text
    with pytest.raises(ModelFileError, match=f"cannot read a model from this text: .*{match}"):
        lambdak.from_json(text.replace(old, new, 1))
    for nothing in ("", "[]", "null", "[" * 10**5):
        with pytest.raises(ModelFileError, match="cannot read a model from this text"):
            lambdak.from_json(nothing)
