"""Predictions in balance add up to the targets of the training rows, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor, load

ROWS = 300
FAST = {"effort": "fast", "max_iter": 2, "n_estimators": 2, "random_state": 0, "n_jobs": 1}
RNG = np.random.default_rng(0)
X = pd.DataFrame({"age": RNG.normal(size=ROWS), "size": RNG.normal(size=ROWS), "kind": RNG.choice(list("ab"), ROWS)})
WEIGHT, EXPOSURE = RNG.random(ROWS) + 0.1, RNG.random(ROWS) + 0.1
COUNTS = RNG.poisson(3 * EXPOSURE * np.exp(0.5 * X["age"]))


class Parts:
    """A table in batches."""

    def __iter__(self):
        yield X.assign(n=COUNTS)


def fitted(loss, y, **settings):
    offset = np.log(EXPOSURE) if loss != "squared_error" else EXPOSURE
    model = SpectralRegressor(loss, **FAST, **settings).fit(X, y, WEIGHT, offset=offset)
    return model, model.predict(X, offset=offset)


@pytest.mark.parametrize(
    ("loss", "y"),
    [("squared_error", COUNTS), ("poisson", COUNTS), ("tweedie", COUNTS), ("gamma", COUNTS + 0.5)],
)
def test_predictions_add_up_to_the_targets(loss, y):
    model, found = fitted(loss, y, balance=True)
    assert WEIGHT @ found == pytest.approx(WEIGHT @ y, rel=1e-13)
    other, _ = fitted(loss, y)
    np.testing.assert_array_equal(model.model_.coef, other.model_.coef)  # the start alone has moved


def test_totals_are_right_although_a_cap_made_matrices_smaller():
    settings = {"max_influence": {"age": 0.05}, "monotonic_cst": {"size": 1}, "balance": True}
    model, found = fitted("poisson", COUNTS, **settings)
    assert WEIGHT @ found == pytest.approx(WEIGHT @ COUNTS, rel=1e-13)
    assert all(claim.proven for claim in model.certify().claims if claim.requested)


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_add_up_class_by_class(classes):
    y = np.array(list("xyz"))[np.clip(COUNTS, 0, classes - 1)]
    model = SpectralClassifier(**FAST, balance=True).fit(X, y, WEIGHT)
    wanted = [WEIGHT @ (y == label) for label in model.classes_]
    np.testing.assert_allclose(WEIGHT @ model.predict_proba(X), wanted, rtol=1e-12)


def test_rows_that_validate_count_unless_they_are_given_apart():
    settings = {"early_stopping": True, "validation_fraction": 0.3, "balance": True}
    _, found = fitted("poisson", COUNTS, **settings)
    assert WEIGHT @ found == pytest.approx(WEIGHT @ COUNTS, rel=1e-13)
    model = SpectralRegressor("poisson", **FAST, balance=True)
    model.fit(X[:200], COUNTS[:200], X_val=X[200:], y_val=COUNTS[200:])
    assert model.predict(X[:200]).sum() == pytest.approx(COUNTS[:200].sum(), rel=1e-13)


def test_a_saved_model_stays_in_balance(tmp_path):
    model, found = fitted("poisson", COUNTS, balance=True)
    model.save(tmp_path / "model.safetensors")
    other = load(tmp_path / "model.safetensors")
    assert other.balance
    np.testing.assert_array_equal(other.predict(X, offset=np.log(EXPOSURE)), found)


def test_another_fit_is_in_balance_with_its_own_rows_and_partial_fit_leaves_the_start():
    model = SpectralRegressor("poisson", **FAST, balance=True, warm_start=True).fit(X, COUNTS)
    model.fit(X[:100], COUNTS[:100])
    assert model.predict(X[:100]).sum() == pytest.approx(COUNTS[:100].sum(), rel=1e-13)
    model.partial_fit(X[:20], np.zeros(20))  # no start has predictions that add up to zero


def test_what_cannot_be_in_balance_is_refused():
    ordered, classes = SpectralOrdinalClassifier(**FAST, balance=True), np.clip(COUNTS, 0, 2)
    for model, words in (
        (SpectralRegressor("absolute_error", **FAST, balance=True), "'absolute_error', which predicts a median"),
        (SpectralRegressor("huber", **FAST, balance=True), "'huber', which predicts means that outliers cannot pull"),
        (SpectralQuantileRegressor(**FAST, balance=True), "which predicts a median or other quantiles"),
    ):
        with pytest.raises(ValueError, match=f"balance must be False for loss=.*{words}"):
            model.fit(X, COUNTS)
    with pytest.raises(ValueError, match="which predicts classes in order"):
        ordered.fit(X, classes)
    with pytest.raises(ValueError, match="balance must be False where all targets are zero"):
        SpectralRegressor("poisson", **FAST, balance=True).fit(X, np.zeros(ROWS))
    with pytest.raises(ValueError, match="balance must be True or False; got 'yes'"):
        SpectralRegressor("poisson", **FAST, balance="yes").fit(X, COUNTS)
    with pytest.raises(ValueError, match="balance must be False with a large table"):
        SpectralRegressor("poisson", **FAST, balance=True).fit(Parts(), "n")
