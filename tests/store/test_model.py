"""A model comes back from its file and from its text: the same predictions to the last bit, the same settings."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from fitted_models import changed
from safetensors import safe_open
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import lambdak
from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.store import ModelFileError
from lambdak.table.encoder import OTHER

QUICK = {"effort": "fast", "dim": 4, "max_iter": 2, "random_state": 0}
ROWS = 240


def frame():
    """Numbers with and without gaps, strings with rare levels and gaps, bools, categories of ints and floats."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "income": rng.gamma(2, 2, ROWS),
            "age": np.where(rng.random(ROWS) < 0.1, np.nan, rng.uniform(18, 80, ROWS)),
            'région "x"\n😀': rng.choice(["north", "south", ""], ROWS),
            "<b>": rng.random(ROWS) < 0.5,
            "children": pd.Categorical(rng.integers(0, 4, ROWS)),
            "size": pd.Categorical(rng.choice([0.5, 1.0, 2.25], ROWS)),
        }
    )
    table.loc[rng.random(ROWS) < 0.1, 'région "x"\n😀'] = None
    table.loc[:1, 'région "x"\n😀'] = "rare"
    return table


FRAME = frame()
NUMBERS = FRAME[["income", "age"]].to_numpy()
OBJECTS = np.column_stack([NUMBERS[:, 0].astype(object), np.where(NUMBERS[:, 0] > 4, "\ud800", "\x00").astype(object)])
LAW = np.sqrt(FRAME["income"].to_numpy()) + FRAME["<b>"].to_numpy()
THREE = np.digitize(LAW, [1.5, 2.5])
WORDS, CODES = np.array(["no", "so", "yes"])[THREE], np.array([-3, 0, 7], np.int8)[THREE]
CODE_WEIGHT = {-3: 1.0, 0: 2, 7: 1}
SPARSE = sparse.random_array((ROWS, 12), density=0.3, rng=np.random.default_rng(1), format="csr")

CASES = {
    "free float32": (SpectralRegressor(**QUICK), FRAME, LAW),
    "monotone": (SpectralRegressor(**QUICK, monotonic_cst={"income": 1, "age": -1}), FRAME, LAW),
    "monotone array": (SpectralRegressor(**QUICK, monotonic_cst=np.array([1, 0])), NUMBERS, LAW),
    "increasing": (SpectralRegressor(**QUICK, monotonic_cst="increasing"), FRAME, LAW),
    "convex": (SpectralRegressor(**QUICK, shape="convex", monotonic_cst=[1, 0]), NUMBERS, LAW),
    "concave": (SpectralRegressor(**QUICK, shape="concave"), FRAME, LAW),
    "capped": (SpectralRegressor(**QUICK, max_influence={"income": 0.5, "age": np.inf}), FRAME, LAW),
    "linear columns": (SpectralRegressor(**QUICK, n_knots=0, monotonic_cst={"income": -1}), FRAME, LAW),
    "vanishing columns": (SpectralRegressor(**QUICK, alpha=1.0, monotonic_cst={"age": 1}), FRAME, LAW),
    "huber": (SpectralRegressor("huber", **QUICK, n_estimators=3), FRAME, LAW),
    "tweedie": (SpectralRegressor("tweedie", power=1.7, **QUICK), FRAME, LAW),
    "quantile": (SpectralRegressor("quantile", quantile=0.8, **QUICK), FRAME, LAW),
    "listed categories": (SpectralRegressor(**QUICK, categorical_features=np.array([1])), NUMBERS.round(-1), LAW),
    "mask": (SpectralRegressor(**QUICK, categorical_features=(False, True)), NUMBERS.round(-1), LAW),
    "dim 1": (SpectralRegressor(**{**QUICK, "dim": 1}), FRAME, LAW),
    "constant column": (SpectralRegressor(**QUICK), np.column_stack([NUMBERS[:, 0], np.ones(ROWS)]), LAW),
    "all missing": (SpectralRegressor(**QUICK), np.column_stack([NUMBERS[:, 0], np.full(ROWS, np.nan)]), LAW),
    "numpy without names": (SpectralRegressor(**QUICK), NUMBERS, LAW),
    "surrogates as levels": (SpectralRegressor(**QUICK), OBJECTS, LAW),
    "polars": (SpectralRegressor(**QUICK), pl.DataFrame({"a": NUMBERS[:, 0], "b": FRAME["<b>"]}), LAW),
    "sparse": (SpectralRegressor(**QUICK), SPARSE, LAW),
    "sparse monotone": (SpectralRegressor(**QUICK, monotonic_cst="decreasing"), SPARSE, LAW),
    "quantiles": (SpectralQuantileRegressor((0.1, 0.5, 0.9), **QUICK, monotonic_cst={"income": 1}), FRAME, LAW),
    "quantiles as array": (SpectralQuantileRegressor(np.array([0.2, 0.9]), **QUICK), FRAME, LAW),
    "one quantile": (SpectralQuantileRegressor([0.3], **QUICK, shape="convex"), NUMBERS, LAW),
    "two classes, bools": (SpectralClassifier(**QUICK, monotonic_cst={"income": 1}), FRAME, LAW > 2),
    "classes, strings": (SpectralClassifier(**QUICK, class_weight="balanced"), FRAME, WORDS),
    "classes, objects": (SpectralClassifier(**QUICK), FRAME, np.array(["é", "b", "a"], object)[THREE]),
    "classes, ints": (SpectralClassifier(**QUICK, class_weight=CODE_WEIGHT), FRAME, CODES),
    "ordinal": (SpectralOrdinalClassifier(**QUICK, monotonic_cst={"income": 1}), FRAME, THREE),
    "ordinal, two floats": (SpectralOrdinalClassifier(**QUICK, shape="convex"), NUMBERS, (LAW > 2) + 0.0),
}  # fmt: skip


@pytest.fixture(scope="module", params=CASES)
def fitted(request):
    model, X, y = CASES[request.param]
    return clone(model).fit(X, y), X


def answers(model, X):
    """Everything that a model predicts."""
    names = ("predict", "predict_proba", "predict_quantiles", "decision_function")
    return {name: getattr(model, name)(X) for name in names if hasattr(model, name)}


def assert_same(model, other, X):
    for (name, ours), theirs in zip(answers(model, X).items(), answers(other, X).values(), strict=True):
        assert ours.dtype == theirs.dtype, name
        assert ours.tobytes() == theirs.tobytes() if ours.dtype != object else ours.tolist() == theirs.tolist(), name


def test_file_and_text_bring_back_the_same_predictions_to_the_last_bit(fitted, tmp_path):
    model, X = fitted
    model.save(tmp_path / "model.safetensors")
    for other in (lambdak.load(tmp_path / "model.safetensors"), lambdak.from_json(model.to_json())):
        assert type(other) is type(model)
        check_is_fitted(other)
        assert_same(model, other, X)
        assert_same(model, pickle.loads(pickle.dumps(other)), X)
        assert other.to_json() == model.to_json()
        np.testing.assert_array_equal(other.feature_strengths_, model.feature_strengths_)
        assert other.n_features_in_ == model.n_features_in_
        assert other.n_iter_ == model.n_iter_
        assert repr(clone(other).get_params()) == repr(clone(model).get_params())
        if hasattr(model, "feature_names_in_"):
            np.testing.assert_array_equal(other.feature_names_in_, model.feature_names_in_)
        else:
            assert not hasattr(other, "feature_names_in_")
        if hasattr(model, "classes_"):
            assert other.classes_.dtype == model.classes_.dtype


def test_columns_come_back_as_they_were(tmp_path):
    model = SpectralRegressor(**QUICK).fit(FRAME, LAW)
    model.save(tmp_path / "m")
    other = lambdak.load(tmp_path / "m")
    for ours, theirs in zip(model.model_.encoder.columns, other.model_.encoder.columns, strict=True):
        assert repr(ours) == repr(theirs)
        assert type(ours) is type(theirs)
        for name, value in vars(ours).items():
            other_value = getattr(theirs, name)
            assert type(value) is type(other_value)
            if isinstance(value, np.ndarray):
                assert value.tobytes() == other_value.tobytes()
            if isinstance(value, tuple):
                assert [type(level) for level in value] == [type(level) for level in other_value]
    assert model.model_.encoder.columns[2].levels == ("", "north", "south", None, OTHER)
    unseen = FRAME.head(3).assign(**{'région "x"\n😀': ["new", None, "rare"], "income": [-1.0, 1e9, np.nan]})
    assert_same(model, other, unseen)


def test_offsets_count_after_loading(tmp_path):
    exposure = np.random.default_rng(0).uniform(0.5, 2, ROWS)
    model = SpectralRegressor("poisson", **QUICK).fit(FRAME, np.floor(LAW * exposure), offset=np.log(exposure))
    model.save(tmp_path / "m")
    other = lambdak.load(tmp_path / "m")
    ours, theirs = (each.predict(FRAME, offset=np.log(exposure)) for each in (model, other))
    assert ours.tobytes() == theirs.tobytes()


@pytest.mark.slow
def test_the_same_predictions_in_another_process(tmp_path):
    model = SpectralQuantileRegressor(**QUICK).fit(NUMBERS, LAW)
    model.save(tmp_path / "m")
    np.save(tmp_path / "X.npy", NUMBERS)
    code = (
        "import sys, lambdak, numpy as np; print(lambdak.load('m').predict_quantiles(np.load('X.npy')).tobytes().hex())"
    )
    told = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert told.strip() == model.predict_quantiles(NUMBERS).tobytes().hex()


def test_settings_survive(tmp_path):
    given = {
        "monotonic_cst": {"income": np.int64(1)},
        "max_influence": [1.0, np.inf],
        "categorical_features": np.array([False, False]),
        "tol": np.float32(0.5),
        "n_jobs": 1,
        "random_state": np.int32(7),
    }
    model = SpectralRegressor(effort="fast", max_iter=1, dim=3, **given).fit(FRAME[["income", "age"]], LAW)
    model.save(tmp_path / "m")
    found = lambdak.load(tmp_path / "m").get_params()
    assert found["monotonic_cst"] == {"income": 1}
    assert found["max_influence"] == [1.0, np.inf]
    assert found["categorical_features"].dtype == bool
    assert (found["tol"], found["n_jobs"], found["random_state"]) == (0.5, 1, 7)
    assert {**model.get_params(), **given}.keys() == found.keys()


@pytest.mark.parametrize("state", [np.random.RandomState(0), np.random.mtrand._rand])
def test_a_generator_is_kept_as_none(tmp_path, state):
    SpectralRegressor(**{**QUICK, "random_state": state}).fit(NUMBERS, LAW).save(tmp_path / "m")
    assert lambdak.load(tmp_path / "m").random_state is None


def test_a_setting_that_json_cannot_hold_is_named(tmp_path):
    model = SpectralRegressor(**QUICK, warm_start=object()).fit(NUMBERS, LAW)
    with pytest.raises(TypeError, match=r"warm_start must be made of None, booleans, .* got object"):
        model.save(tmp_path / "m")
    assert os.listdir(tmp_path) == []


def test_loaded_models_can_be_fitted_again_but_cannot_continue(tmp_path):
    model = SpectralClassifier(**QUICK).fit(NUMBERS, THREE)
    model.save(tmp_path / "m")
    with pytest.raises(ValueError, match=r"training cannot continue.* warm_start=False"):
        lambdak.load(tmp_path / "m").partial_fit(NUMBERS, THREE)
    other = lambdak.load(tmp_path / "m").set_params(warm_start=True)
    with pytest.raises(ValueError, match="training cannot continue"):
        other.fit(NUMBERS, THREE)
    assert_same(model, other, NUMBERS)  # a failed fit changes nothing
    assert_same(model, other.set_params(warm_start=False).fit(NUMBERS, THREE), NUMBERS)


def test_files_are_plain_safetensors_and_always_the_same(tmp_path):
    model = SpectralQuantileRegressor(**QUICK).fit(FRAME, LAW)
    model.save(tmp_path / "a")
    lambdak.load(tmp_path / "a").save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with safe_open(tmp_path / "a", "numpy") as file:
        header = json.loads(file.metadata()["lambdak"])
        assert set(file.keys()) == {"coef", "start", "weights"}
        np.testing.assert_array_equal(file.get_tensor("coef"), model.model_.coef[..., :10])
    assert (header["format"], header["lambdak"]) == (1, lambdak.__version__)
    assert header["columns"][0]["knots"] == model.model_.encoder.columns[0].knots.tolist()


def test_text_is_strict_json_with_one_line_per_design_column():
    model = SpectralRegressor(**QUICK, max_influence=[np.inf, 1.0]).fit(NUMBERS, LAW)
    lines = model.to_json().splitlines()
    told = json.loads("\n".join(lines), parse_constant=pytest.fail)
    assert list(told) == sorted(told)
    for row in model.model_.coef[0, :, :10]:
        assert any(line.strip().rstrip(",") == json.dumps(row.tolist()) for line in lines)
    coef = model.model_.coef.copy()
    coef[0, 2, 0] += 1
    nudged = changed(model, coef=coef)
    differ = [a for a, b in zip(lines, nudged.to_json().splitlines(), strict=True) if a != b]
    assert len(differ) == 2  # the checksum and the one design column


def test_only_fitted_estimators_of_lambdak_are_saved(tmp_path):
    class Mine(SpectralRegressor):
        pass

    with pytest.raises(NotFittedError):
        SpectralRegressor().save(tmp_path / "m")
    with pytest.raises(TypeError, match=r"a model file holds one of .* got Mine: pickle it"):
        Mine(**QUICK).fit(NUMBERS, LAW).save(tmp_path / "m")


def test_what_is_set_after_the_fit_changes_nothing_that_is_saved(tmp_path):
    model = SpectralRegressor(**QUICK, monotonic_cst=[0, 1]).fit(NUMBERS, -LAW)
    before = model.to_json()
    model.set_params(monotonic_cst=[1, 0], max_influence=1e-9, shape="convex")
    assert model.to_json() == before
    model.save(tmp_path / "m")
    other = lambdak.load(tmp_path / "m")
    assert other.get_params()["monotonic_cst"] == [0, 1]
    assert other.certify() == model.certify()
    assert other.model_.promises == model.model_.promises


def test_parameters_changed_in_place_after_the_fit_change_nothing_that_is_saved():
    signs = [0, 1]
    model = SpectralRegressor(**QUICK, monotonic_cst=signs).fit(NUMBERS, -LAW)
    before = model.to_json()
    signs[0] = 1
    assert model.to_json() == before


def test_a_promise_that_the_matrices_break_is_not_saved(tmp_path):
    model = SpectralRegressor(**QUICK).fit(NUMBERS, -LAW)
    model._parameters["monotonic_cst"] = [1, 0]
    with pytest.raises(ModelFileError, match=r"cannot be saved.* break monotonic_cst=\+1 of column 'x0'"):
        model.save(tmp_path / "m")


def test_an_interrupted_save_leaves_the_old_model(tmp_path, monkeypatch):
    model = SpectralRegressor(**QUICK).fit(NUMBERS, LAW)
    model.save(tmp_path / "m")

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        clone(model).fit(NUMBERS, -LAW).save(tmp_path / "m")
    assert os.listdir(tmp_path) == ["m"]
    assert_same(model, lambdak.load(tmp_path / "m"), NUMBERS)


def test_absent_files_and_folders_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"cannot load '.*absent': there is no such file: give the path of"):
        lambdak.load(tmp_path / "absent")
    with pytest.raises(FileNotFoundError, match=r"does not exist: create .*absent first"):
        SpectralRegressor(**QUICK).fit(NUMBERS, LAW).save(tmp_path / "absent" / "m")


@pytest.mark.slow
def test_skops_keeps_fitted_models(fitted):
    skops = pytest.importorskip("skops.io")
    model, X = fitted
    data = skops.dumps(model)
    other = skops.loads(data, trusted=skops.get_untrusted_types(data=data))
    assert_same(model, other, X)
