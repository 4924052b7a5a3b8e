"""A model that was saved with its training state continues as the estimator that was never saved, bit for bit.

Tests ``store/_training``.
"""

from __future__ import annotations

import json
from copy import deepcopy

import numpy as np
import pytest
from checkpoint_cases import CASES, FEW, arguments, bits, killed_after_every_save, table
from saved_cases import assert_same
from scipy import sparse

import lambdak
from lambdak import SpectralQuantileRegressor, SpectralRegressor
from lambdak.store import ModelFileError
from lambdak.store._header import FORMAT, describe
from lambdak.store._tensors import as_safetensors, digest

QUICK = [case for case in CASES if case not in ("squared error", "trials of the capacity", "noiseless, refined")]


def reloaded(model, path):
    model.save(path, training_state=True)
    return lambdak.load(path)


def partial(model, rows, beside):
    """A partial fit on other rows."""
    X, y, weight = rows
    more = {"offset": beside["offset"][:200]} if "offset" in beside else {}
    return model.partial_fit(X[:200], y[:200], sample_weight=None if weight is None else weight[:200], **more)


@pytest.mark.parametrize("case", QUICK)
def test_partial_fit_after_load_is_that_of_the_estimator_that_was_never_saved(tmp_path, case):
    make, special = CASES[case]
    rows, beside = arguments(**special)
    model = make().fit(*rows, **beside)
    loaded = reloaded(model, tmp_path / "model")
    assert_same(loaded, model, rows[0])
    np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)
    for _ in range(2):
        assert bits(partial(loaded, rows, beside)) == bits(partial(model, rows, beside))
        loaded = reloaded(loaded, tmp_path / "model")


def test_a_warm_start_after_load_is_that_of_the_estimator_that_was_never_saved(tmp_path):
    X, y = table()
    model = SpectralRegressor(warm_start=True, monotonic_cst={"a": 1}, **FEW).fit(X, y)
    loaded = reloaded(model, tmp_path / "model")
    assert bits(loaded.fit(X, y)) == bits(model.fit(X, y))


def test_a_killed_warm_start_of_a_loaded_model_continues_from_its_checkpoint(tmp_path, monkeypatch):
    X, y = table()
    model = SpectralRegressor(warm_start=True, **FEW).fit(X, y)
    model.save(tmp_path / "model", training_state=True)
    killed, _ = killed_after_every_save(
        monkeypatch, lambda: lambdak.load(tmp_path / "model"), tmp_path / "fit", (X, y), {}
    )
    assert bits(killed) == bits(model.fit(X, y))


def test_columns_that_pilot_models_left_out_stay_out(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 30))
    model = SpectralRegressor(**FEW).fit(X, X[:, 0] + 0.1 * rng.standard_normal(600))
    assert model._state.plan.dropped
    loaded = reloaded(model, tmp_path / "model")
    assert loaded._state.plan.dropped == model._state.plan.dropped
    assert bits(loaded.partial_fit(X, X[:, 0])) == bits(model.partial_fit(X, X[:, 0]))


def test_a_table_with_too_many_columns_for_covariances_continues_too(tmp_path, monkeypatch):
    for module in ("training.coordinates", "estimators.saved_training"):
        monkeypatch.setattr(f"lambdak.{module}.MOST_COVARIANCES", 40)
    X = sparse.random_array((300, 60), density=0.1, format="csr", rng=np.random.default_rng(0))
    y = np.asarray(X.sum(axis=1)).ravel()
    model = SpectralRegressor(effort="fast", dim=3, max_iter=1, random_state=0).fit(X, y)
    assert model._state.plan.moments.covariance.ndim == 1
    loaded = reloaded(model, tmp_path / "model")
    assert bits(loaded.partial_fit(X, y)) == bits(model.partial_fit(X, y))


def test_a_file_without_training_state_is_what_it_was(tmp_path):
    X, y = table(120)
    model = SpectralRegressor(**FEW).fit(X, y)
    model.save(tmp_path / "model")
    header, _ = describe(model._saved())
    assert header["format"] == FORMAT
    assert "training" not in header
    loaded = lambdak.load(tmp_path / "model")
    with pytest.raises(ValueError, match=r"training cannot continue: .* save\(\.\.\., training_state=True\)"):
        loaded.partial_fit(X, y)
    with pytest.raises(ValueError, match="training_state=True needs an estimator whose training can continue"):
        loaded.save(tmp_path / "model", training_state=True)


def test_a_text_can_hold_the_training_state_that_a_file_holds(tmp_path):
    X, y = table(120)
    model = SpectralRegressor(**FEW).fit(X, y)
    text = lambdak.store.model_to_json(model._saved(training_state=True))
    assert bits(lambdak.from_json(text).partial_fit(X, y)) == bits(model.partial_fit(X, y))


# ---- what is refused -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def parts():
    """Header and tensors of a model with quantiles, a constraint, and a high-cardinality category."""
    X, y = table(240)
    model = SpectralQuantileRegressor((0.1, 0.5, 0.9), monotonic_cst={"a": 1}, **FEW).fit(X, y)
    return describe(model._saved(training_state=True))


def load(parts, path):
    """Load a file with these parts and a checksum that fits."""
    header, tensors = parts
    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    header = {**header, "sha256": digest(header, arrays)}
    path.write_bytes(as_safetensors(arrays, {"lambdak": json.dumps(header)}))
    return lambdak.load(path)


def test_the_parts_of_these_tests_make_a_model_that_continues(parts, tmp_path):
    assert load(parts, tmp_path / "model")._state is not None


VALUES = {
    "no factor": lambda values: values.pop("factor"),
    "a factor of two": lambda values: values.update(factor=2.0),
    "a factor below zero": lambda values: values.update(factor=-0.5),
    "a factor of text": lambda values: values.update(factor="1"),
    "an unknown value": lambda values: values.update(more=1),
    "too few members": lambda values: values["regularisations"].pop(),
    "a damping of zero": lambda values: values["regularisations"].__setitem__(0, [0.0, 1.0]),
    "a decay below zero": lambda values: values["regularisations"].__setitem__(0, [1.0, -1.0]),
    "a huge decay": lambda values: values["regularisations"].__setitem__(0, [1.0, 1e300]),
    "three numbers": lambda values: values["regularisations"].__setitem__(0, [1.0, 1.0, 1.0]),
    "no shift": lambda values: values.update(quantile_shift=None),
    "a falling shift": lambda values: values.update(quantile_shift=[0.1, 0.0, 0.2]),
    "a short shift": lambda values: values.update(quantile_shift=[0.1]),
    "a column that is none": lambda values: values.update(dropped=[99]),
    "a column twice": lambda values: values.update(dropped=[1, 1]),
    "another column dropped": lambda values: values.update(dropped=[0]),
    "a column of text": lambda values: values.update(dropped=["a"]),
    "no rewritten category": lambda values: values.update(rewritten=[]),
    "a rewritten number": lambda values: values["rewritten"][0].update(column=0),
    "a category twice": lambda values: values["rewritten"].append(values["rewritten"][0]),
    "knots that fall": lambda values: values["rewritten"][-1]["curves"][0].reverse(),
    "no knots": lambda values: values["rewritten"][-1]["curves"].__setitem__(0, []),
    "knots that are lists": lambda values: values["rewritten"][-1]["curves"].__setitem__(0, [[1]]),
    "no parts": lambda values: values["rewritten"][-1].update(curves=[], own=0),
    "more own matrices": lambda values: values["rewritten"][-1].update(own=values["rewritten"][-1]["own"] + 1),
    "a huge number of matrices": lambda values: values["rewritten"][-1].update(own=10**30),
    "many curves": lambda values: values["rewritten"][-1].update(curves=[[0.0]] * 10_000),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_forged_value_is_refused(parts, tmp_path, name):
    header, tensors = deepcopy(parts)
    VALUES[name](header["training"]["values"])
    with pytest.raises(ModelFileError, match="cannot load"):
        load((header, tensors), tmp_path / "model")


LEVELS = "training.levels 4"
ARRAYS = {
    "not finite": lambda name, array: array.__setitem__((0,) * array.ndim, np.nan),
    "huge": lambda name, array: array.__setitem__((0,) * array.ndim, 1e30),
    "of another shape": lambda name, array: array[:-1],
    "of another dtype": lambda name, array: array.astype(np.float64 if array.dtype == np.float32 else np.float32),
    "empty": lambda name, array: array[:0],
}
NAMES = ["theta 0", "theta 1", "mean", "covariance", "effects", "levels 4"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("how", ARRAYS)
def test_a_forged_array_is_refused(parts, tmp_path, name, how):
    header, tensors = deepcopy(parts)
    own = f"training.{name}"
    changed = ARRAYS[how](name, tensors[own])
    tensors[own] = tensors[own] if changed is None else changed
    header["training"]["arrays"][name] = {"dtype": tensors[own].dtype.name, "shape": list(tensors[own].shape)}
    with pytest.raises(ModelFileError, match="cannot load"):
        load((header, tensors), tmp_path / "model")


@pytest.mark.parametrize("entry", [-1.0, 0.5, 1e6, 1e14])
@pytest.mark.parametrize("place", [0, -1])
def test_levels_that_read_matrices_of_others_or_with_strange_weights_are_refused(parts, tmp_path, place, entry):
    if place == -1 and entry == 0.5:
        entry = -0.5
    header, tensors = deepcopy(parts)
    tensors[LEVELS][0, place] = entry
    with pytest.raises(ModelFileError, match="column 'town' of the training state must be positions and weights"):
        load((header, tensors), tmp_path / "model")


@pytest.mark.parametrize(
    "change",
    [
        lambda header, tensors: header.pop("training"),
        lambda header, tensors: header.update(format=2),
        lambda header, tensors: header.update(format=FORMAT + 1),
        lambda header, tensors: header.update(training=None),
        lambda header, tensors: header["training"].update(arrays=[]),
        lambda header, tensors: header["training"].update(values=7),
        lambda header, tensors: header["training"]["arrays"].pop("mean"),
        lambda header, tensors: header["training"]["arrays"].update(more={"dtype": "float32", "shape": [1]}),
        lambda header, tensors: header["training"]["arrays"]["mean"].update(dtype="int64"),
        lambda header, tensors: header["training"]["arrays"]["mean"].update(shape=[2**40]),
        lambda header, tensors: header["training"]["arrays"]["mean"].update(shape=[[1]]),
        lambda header, tensors: tensors.pop("training.theta 0"),
        lambda header, tensors: tensors.update({"training.more": np.zeros(3)}),
    ],
)
def test_a_forged_header_is_refused(parts, tmp_path, change):
    header, tensors = deepcopy(parts)
    change(header, tensors)
    with pytest.raises(ModelFileError, match="cannot load"):
        load((header, tensors), tmp_path / "model")


def test_an_array_that_nothing_reads_is_refused(parts, tmp_path):
    header, tensors = deepcopy(parts)
    header["training"]["arrays"]["more"] = {"dtype": "float64", "shape": [3]}
    tensors["training.more"] = np.zeros(3)
    with pytest.raises(ModelFileError, match="the training state has an unknown array 'more'"):
        load((header, tensors), tmp_path / "model")


def test_every_flipped_bit_of_the_training_state_is_noticed(parts, tmp_path):
    path = tmp_path / "model"
    load(parts, path)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    size = int.from_bytes(whole[:8], "little")
    outer = json.loads(whole[8 : 8 + size])
    for name in (name for name in outer if name.startswith("training.")):
        first, last = (8 + size + at for at in outer[name]["data_offsets"])
        place = int(rng.integers(first, last))
        path.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << int(rng.integers(8)))]) + whole[place + 1 :])
        with pytest.raises(ModelFileError):
            lambdak.load(path)
