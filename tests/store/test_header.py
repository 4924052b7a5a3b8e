"""A model comes back from its file and from its text: the same predictions to the last bit.

Tests ``_fields`` and ``_losses``.
"""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from saved_cases import FRAME, LAW, NUMBERS, QUICK, ROWS, assert_same
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import lambdak
from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor

OBJECTS = np.column_stack([NUMBERS[:, 0].astype(object), np.where(NUMBERS[:, 0] > 4, "\ud800", "\x00").astype(object)])
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
    printed = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert printed.strip() == model.predict_quantiles(NUMBERS).tobytes().hex()


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


def test_only_fitted_estimators_of_lambdak_are_saved(tmp_path):
    class Mine(SpectralRegressor):
        pass

    with pytest.raises(NotFittedError):
        SpectralRegressor().save(tmp_path / "m")
    with pytest.raises(TypeError, match=r"a model file holds one of .* got Mine: pickle it"):
        Mine(**QUICK).fit(NUMBERS, LAW).save(tmp_path / "m")


@pytest.mark.slow
def test_skops_keeps_fitted_models(fitted):
    skops = pytest.importorskip("skops.io")
    model, X = fitted
    data = skops.dumps(model)
    other = skops.loads(data, trusted=skops.get_untrusted_types(data=data))
    assert_same(model, other, X)
