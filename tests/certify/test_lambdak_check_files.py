"""Files that the independent checker refuses, in one line, and what it understands of the settings."""

from __future__ import annotations

import json
from copy import deepcopy

import numpy as np
import pytest
from checker_cases import CHECKER, exit_code, module, run, write
from fitted_models import SPARSE
from hostile_cases import CLASSES, MONOTONE, SMALL, X, Y, fill, put, sealed
from tampered_models import base

import lambdak
from lambdak import SpectralRegressor
from lambdak.shapes import Rising
from lambdak.store import ModelFileError
from lambdak.store._header import Blueprint, describe

# ---- refused -------------------------------------------------------------------------------------------------------


def refused(path, match):
    """Exit code 2, one line on stderr, nothing on stdout."""
    for options in ((), ("--json",)):
        result = run(path, *options)
        assert (result.returncode, result.stdout) == (2, ""), result.stdout
        assert result.stderr.startswith("cannot check ")
        assert result.stderr.count("\n") == 1
        assert len(result.stderr) < 700
        assert match in result.stderr


CHANGES = {
    "later format": (put("format", value=9), "format must be a number from 1 to 8"),
    "format true": (put("format", value=True), "format"),
    "no columns": (put("columns", value=[]), "one per column"),
    "no fields": (lambda header, _: header.pop("columns"), "KeyError: 'columns'"),
    "unknown kind": (put("columns", 0, "kind", value="spline"), "must be a curve, linear or a category"),
    "repeated name": (put("columns", 0, "name", value="x1"), "occurs twice"),
    "name of a number": (put("columns", 0, "name", value=7), "with a name"),
    "quartiles fall": (put("columns", 0, "quartiles", value=[2.0, 1.0]), "x0 must be two, in order"),
    "a third quartile": (put("columns", 0, "quartiles", value=[1.0, 1.0, 2.0]), "must be two, in order"),
    "quartiles far away": (put("columns", 0, "quartiles", value=[-1e9, 1e9]), "median or quartiles of column x0"),
    "fractions as whole": (put("columns", 0, "whole", value=True), "column x0 is not whole"),
    "knots fall": (put("columns", 0, "knots", 0, value=99.0), "knots of column x0 must increase"),
    "knots repeat": (lambda header, _: header["columns"][0]["knots"].__setitem__(1, header["columns"][0]["knots"][0]),
                     "knots of column x0 must increase"),
    "knots of text": (put("columns", 0, "knots", 0, value="0"), "knots of column x0 must be a number"),
    "knots of many digits": (put("columns", 0, "knots", 0, value=-(10**400)), "knots of column x0 must be a number"),
    "levels repeat": (put("columns", 3, "levels", 0, value="red"), "levels of column x3 must differ"),
    "a level of a list": (put("columns", 3, "levels", 0, value=[]), "TypeError"),
    "missing of one": (put("columns", 1, "missing", value=1), "missing true or false"),
    "clamp of one": (put("encoder", "clamp", value=1), "clamp and from_sparse"),
    "sparse curves": (put("encoder", "from_sparse", value=True), "columns of a sparse table must be linear"),
    "negative dim": (put("dim", value=-3), "dim must be a number from 1 to 128"),
    "huge dim": (put("dim", value=10**30), "dim must be a number from 1 to 128"),
    "dim of another size": (put("dim", value=4), "tensor coef must be"),
    "fractional dim": (put("dim", value=3.0), "dim must be a number"),
    "members": (put("members", value=3), "tensor coef must be"),
    "index": (put("indices", value=[3]), "indices must be a number from 0 to 2"),
    "indices": (put("indices", value=[0, 1]), "indices must fit the loss"),
    "scale of zero": (put("scale", value=0.0), "scale must be a number"),
    "negative scale": (put("scale", value=-1.0), "scale must be a number"),
    "huge scale": (put("scale", value=4e307), "too large to compute with"),
    "dtype": (put("dtype", value="object"), "KeyError: 'object'"),
    "other dtype": (put("dtype", value="float32"), "tensor coef must be"),
    "unknown loss": (put("loss", "kind", value="Hinge"), "KeyError: 'Hinge'"),
    "loss of classes": (put("loss", value={"kind": "SoftmaxLog", "n_classes": 3}), "do not fit the loss"),
    "continued without a shape": (put("encoder", "clamp", value=False), "shape must be what the model was fitted with"),
    "tiny scale": (put("scale", value=1e-310), "scale must be a number from"),
    "unknown column": (put("parameters", "monotonic_cst", value={"dict": [["z", 1]]}), "names an unknown column"),
    "unknown position": (put("parameters", "max_influence", value={"dict": [[4, 1.0]]}), "names an unknown column"),
    "column twice": (put("parameters", "monotonic_cst", value={"dict": [["x0", 0], [0, 1]]}), "or one twice: 0"),
    "key twice": (put("parameters", "monotonic_cst", value={"dict": [["x0", 0], ["x0", 1]]}), "occurs twice"),
    "too few signs": (put("parameters", "monotonic_cst", value=[1, 0, 0]), "must have 4 entries"),
    "sign of two": (put("parameters", "monotonic_cst", value=[2, 0, 0, 0]), "monotonic_cst of curve column x0: 2"),
    "monotone category": (put("parameters", "monotonic_cst", value=[0, 0, 0, 1]), "of category column x3: 1"),
    "word for signs": (put("parameters", "monotonic_cst", value="rising"), "AttributeError"),
    "negative cap": (put("parameters", "max_influence", value=-1.0), "must be a number that is not negative"),
    "cap of true": (put("parameters", "max_influence", value=True), "must be a number that is not negative"),
    "cap of nan": (put("parameters", "max_influence", value={"float": "nan"}), "must be a number that is not negative"),
    "word for groups": (put("parameters", "interaction_cst", value="few"), "interaction_cst must be groups of columns"),
    "empty group": (put("parameters", "interaction_cst", value=[[]]), "interaction_cst must be groups of columns"),
    "group of letters": (put("parameters", "interaction_cst", value=["x0"]), "must be groups of columns"),
    "group of a mapping": (put("parameters", "interaction_cst", value=[{"dict": [["x0", 1]]}]), "must be groups"),
    "shape": (put("parameters", "shape", value="round"), "KeyError: 'round'"),
    "unknown value": (put("parameters", "shape", value={"eval": "1"}), "KeyError: 'eval'"),
    "nan matrix": (fill("coef", (0, 2, 1), np.nan), "tensor coef must be finite"),
    "infinite matrix": (fill("coef", (1, 0, 0), -np.inf), "tensor coef must be finite"),
    "huge matrix": (fill("coef", (1, 0, 0), 1e30), "too large to compute with"),
    "nan start": (fill("start", 0, np.nan), "tensor start must be finite"),
    "weights apart from 1": (fill("weights", 0, 0.6), "weights must be positive and sum to 1"),
    "negative weights": (fill("weights", slice(None), [1.5, -0.5]), "weights must be positive and sum to 1"),
    "no weight": (fill("weights", slice(None), [1.0, 0.0]), "weights must be positive and sum to 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_wrong_is_said_in_one_line(tmp_path, name):
    change, match = CHANGES[name]
    header, tensors = deepcopy(MONOTONE)
    change(header, tensors)
    refused(write(tmp_path / "model", header, tensors), match)


ORDINAL = deepcopy(base("ordinal"))
LABELS = {
    "falling numbers": [2, 1, 0],
    "repeated numbers": [0, 1, 1],
    "repeated text": ["c", "a", "a"],
    "not comparable": ["a", None, 1],
    "not a number": [0.0, 1.0, {"float": "nan"}],
}


@pytest.mark.parametrize("name", LABELS)
def test_classes_out_of_order_are_refused_as_load_does(tmp_path, name):
    """With classes stored as [2, 1, 0], P(y > j) is a promise about the opposite order."""
    kind = {int: "i8", str: "U1", float: "f8"}[type(LABELS[name][0])] if name != "not comparable" else "O"
    header, tensors = deepcopy(ORDINAL)
    header["classes"] = {"array": {"dtype": kind, "values": LABELS[name]}}
    path = write(tmp_path / "model", header, tensors)
    refused(path, "" if name == "not comparable" else "classes do not fit the loss, or are not in their order")
    with pytest.raises(ModelFileError, match="classes must be 3 labels that differ, in their order"):
        lambdak.load(path)


def test_words_of_ordered_classes_have_the_order_that_both_certificates_name(tmp_path):
    header, tensors = deepcopy(ORDINAL)
    header["classes"] = {"array": {"dtype": "U4", "values": ["mild", "high", "grim"]}}
    path = write(tmp_path / "model", header, tensors)
    assert "cut-points never cross, in the order mild < high < grim" in run(path).stdout
    assert "from class to class, in the order mild < high < grim" in str(lambdak.load(path).certify())


def test_classes_that_are_no_array_are_refused(tmp_path):
    header, tensors = deepcopy(ORDINAL)
    refused(write(tmp_path / "model", {**header, "classes": "abc"}, tensors), "classes do not fit the loss")


def test_a_direction_of_several_classes_is_refused_as_load_does(tmp_path):
    header, tensors = deepcopy(CLASSES)
    header["parameters"]["monotonic_cst"] = [1, 0, 0, 0]
    path = write(tmp_path / "model", header, {**tensors, "coef": np.zeros_like(tensors["coef"])})
    refused(path, "monotonic_cst needs two classes")
    with pytest.raises(ModelFileError, match="monotonic_cst needs two classes"):
        lambdak.load(path)


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_a_quantile_level_at_an_end_is_refused_as_load_does(tmp_path, level):
    header, tensors = deepcopy(base("quantiles"))
    header["loss"]["quantiles"] = [0.0, 0.1, 0.5] if level == 0 else [0.1, 0.5, 1.0]
    header["parameters"].pop("quantiles")
    path = write(tmp_path / "model", header, tensors)
    refused(path, "levels must increase")
    with pytest.raises(ModelFileError, match="quantiles must be in"):
        lambdak.load(path)


def rewritten(change):
    """The bytes of a model whose outer header, as text, was changed."""
    data = sealed(*MONOTONE)
    size = int.from_bytes(data[:8], "little")
    text = change(data[8 : 8 + size].decode()).encode()
    return len(text).to_bytes(8, "little") + text + data[8 + size :]


WHOLE = sealed(*MONOTONE)
BYTES = {
    "nothing": (b"", "not a whole safetensors file"),
    "text": (b"income,age\n1,2\n" * 99, "not a whole safetensors file"),
    "a huge header": ((2**63).to_bytes(8, "little") + WHOLE[8:], "not a whole safetensors file"),
    "a cut tensor": (WHOLE[:-1], "must be a number"),
    "one byte more": (WHOLE + b"\0", "overlap or leave gaps"),
    "a changed number": (WHOLE[:-1] + bytes([WHOLE[-1] ^ 1]), "checksum does not fit"),
    "a field twice": (rewritten(lambda text: text.replace('{"__meta', '{"coef":0,"__meta', 1)), "occurs twice"),
    "offsets": (rewritten(lambda text: text.replace('"data_offsets":[0,', '"data_offsets":[-8,')), "offset of"),
    "depth": (rewritten(lambda text: "[" * 100_000), "no model of lambdak"),
    "a list": (rewritten(lambda text: "[]"), "no model of lambdak"),
    "no header of lambdak": (rewritten(lambda text: text.replace('"lambdak":', '"other":', 1)), "KeyError: 'lambdak'"),
    "many digits": (rewritten(lambda text: text.replace('"shape":[', '"shape":[' + "9" * 9999, 1)), "limit"),
    "no text": (b"\x04" + bytes(7) + b"\xff\xfe\xff\xfe" + bytes(64), "no model of lambdak"),
}


@pytest.mark.parametrize("name", BYTES)
def test_bytes_that_are_no_model_are_refused_in_one_line(tmp_path, name):
    data, match = BYTES[name]
    (tmp_path / "model").write_bytes(data)
    refused(tmp_path / "model", match)


def test_what_is_no_file_is_refused(tmp_path):
    refused(tmp_path, "it is not a file")
    refused(tmp_path / "absent", "it is not a file")
    refused("/dev/zero", "it is not a file")


def test_changed_bytes_are_never_proven():
    rng = np.random.default_rng(0)
    for _ in range(400):
        data = bytearray(WHOLE)
        for at in rng.integers(len(data), size=rng.integers(1, 4)):
            data[at] ^= int(rng.integers(1, 256))
        assert exit_code(bytes(data)) == 2


def test_a_sparse_column_whose_zeros_are_elsewhere_is_refused():
    model = SpectralRegressor(**SMALL, max_influence=9.0).fit(SPARSE, SPARSE.sum(axis=1))
    header, tensors = describe(model._saved())
    assert exit_code(sealed(header, tensors)) == 0
    for key, value in (("center", 0.5), ("low", 0.1)):
        forged = deepcopy(header)
        forged["columns"][0][key], forged["columns"][0]["median"] = value, 0.5
        assert exit_code(sealed(forged, tensors)) == 2


FIELDS = {
    "another name": [["nmuloc", "x0"]],
    "a further one": [["column", "x0"], ["until", 3.0]],
    "none": [],
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_shape_without_its_fields_is_refused_rather_than_passed_over(name):
    for shape in ("Rising", "Valley", "Anchored", "Convex", "MaxSlope", "OutputRange"):
        header, tensors = deepcopy(MONOTONE)
        header["parameters"]["constraints"] = [{"shape": [shape, {"dict": FIELDS[name]}]}]
        assert exit_code(sealed(header, tensors)) == 2
    header["parameters"]["constraints"] = [{"shape": ["Valleys", {"dict": [["column", "x0"]]}]}]
    assert exit_code(sealed(header, tensors)) == 2


# ---- understood ----------------------------------------------------------------------------------------------------

SPELLINGS = {
    "nothing": (None, None),
    "names": ({"x0": 1, "x2": -1}, {"x3": 2.0}),
    "positions": ({0: 1, 2: -1}, {3: 2, 0: 9.5}),
    "a list": ([1, 0, -1, 0], [1.0, 2.0, np.inf, 4]),
    "a tuple": ((0, 0, 1, 0), (9.0, 9.0, 9.0, 9.0)),
    "an array of floats": (np.array([1.0, 0.0, -1.0, 0.0]), np.array([1.5, np.inf, 2.5, 3.5])),
    "an array of small ints": (np.array([0, 1, 0, 0], np.int8), np.array([1, 2, 3, 4], np.int16)),
    "booleans": ([True, False, False, False], None),
    "a word": ("increasing", 3.0),
    "another word": ("decreasing", 3),
    "one number": (None, np.float64(2.5)),
    "no cap": ({}, np.inf),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_all_spellings_of_constraints_are_read_as_lambdak_reads_them(name):
    from lambdak.store._values import encode

    header, tensors = deepcopy(MONOTONE)
    for key, value in zip(("monotonic_cst", "max_influence"), SPELLINGS[name], strict=True):
        header["parameters"][key] = encode(value, key)
    promises = Blueprint.read(header, {header["estimator"]: header["parameters"]}).promises
    columns = module().Model(sealed(header, tensors)).columns
    assert tuple(column.sign for column in columns) == promises.signs
    assert all(type(column.sign) is int for column in columns)
    assert tuple(column.cap for column in columns) == promises.caps


def test_a_sign_that_is_a_float_does_not_round_the_proof():
    header, tensors = deepcopy(base("knife's edge"))
    header["parameters"]["monotonic_cst"] = {"array": {"dtype": "f8", "values": [1.0, 0.0, 0.0, 0.0]}}
    assert exit_code(sealed(header, tensors)) == 0
    tensors["coef"][0, 1, 0] = np.nextafter(tensors["coef"][0, 2, 0], np.inf)
    assert exit_code(sealed(header, tensors)) == 1


def test_a_request_for_several_classes_must_hold_for_each():
    header, tensors = deepcopy(CLASSES)
    header["parameters"]["max_influence"] = 100.0
    assert exit_code(sealed(header, tensors)) == 0
    tensors["coef"][4, 2] *= 1e4  # of the second class, in the second member
    assert exit_code(sealed(header, tensors)) == 1


# ---- said ----------------------------------------------------------------------------------------------------------


def test_names_cannot_change_a_terminal(tmp_path):
    rows = [[row[0], row[1]] for row in X]
    model = SpectralRegressor(**SMALL, monotonic_cst=[1, 0]).fit(np.array(rows, float), Y)
    header, tensors = describe(model._saved())
    header["encoder"]["from_names"] = True
    header["columns"][0]["name"], header["columns"][1]["name"] = "\x1b[2J\n\ud800é", "long " * 99
    result = run(write(tmp_path / "model", header, tensors))
    assert result.returncode == 0
    assert "never falls as \\x1b[2J\\n\\ud800é rises" in result.stdout
    assert max(map(len, result.stdout.splitlines())) < 300
    names = [claim["subject"] for claim in json.loads(run(tmp_path / "model", "--json").stdout)["claims"]]
    assert "\x1b[2J\n\ud800é" in names


def test_help_explains_the_model_and_the_claims():
    result = run("--help")
    assert result.returncode == 0
    assert all(word in result.stdout for word in ("THE MODEL", "THE CLAIMS", "exit code", "--json"))
    assert run("--unknown").returncode == 2
    assert CHECKER.name in result.stdout


# ---- what only training reads ----------------------------------------------------------------------------------------


@pytest.fixture(params=[{"monotonic_cst": {"x0": 1}}, {"constraints": [Rising("x0")]}], ids=["shorthand", "shapes"])
def trained(tmp_path, request):
    """A model without, and with its training state; files with shapes have a format of their own."""
    model = SpectralRegressor(**SMALL, **request.param).fit(X, Y)
    model.save(tmp_path / "plain")
    model.save(tmp_path / "trained", training_state=True)
    return tmp_path / "plain", tmp_path / "trained"


def test_a_training_state_changes_nothing_that_is_proven(trained):
    plain, with_state = (run(path, "--json") for path in trained)
    assert (with_state.returncode, with_state.stderr) == (0, "")
    claims = [{**json.loads(result.stdout), "checksum": "", "model": ""} for result in (plain, with_state)]
    assert claims[0]["claims"] == claims[1]["claims"]


def test_a_changed_training_state_is_refused(trained):
    _, path = trained
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    first = 8 + size + json.loads(data[8 : 8 + size])["training.mean"]["data_offsets"][0]
    path.write_bytes(data[:first] + bytes([data[first] ^ 1]) + data[first + 1 :])
    refused(path, "its checksum does not fit")
