"""What a certificate says in plain words is true of what is predicted, however far a row is from those of training.

Tests ``summary``.
"""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.certify.summary import plain_statement
from lambdak.cli.certify import checked

FAR = (0, 1, 50, 100, 1e3, 1e6)  # times the range of training, around its middle
END = np.exp(40.0)
FLOOR = 1e-290  # below it a float64 has not all its digits, or is zero
SMALL = {"effort": "fast", "max_iter": 30, "n_estimators": 2, "dim": 4, "random_state": 0, "n_jobs": 1}
LOSSES = {
    **{loss: lambda s, own=loss: SpectralRegressor(own, **SMALL, **s)
       for loss in ("squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie")},
    "binary": lambda s: SpectralClassifier(**SMALL, **s),
    "classes": lambda s: SpectralClassifier(**SMALL, **s),
    "ordinal": lambda s: SpectralOrdinalClassifier(**SMALL, **s),
    "quantiles": lambda s: SpectralQuantileRegressor((0.1, 0.5, 0.9), **SMALL, **s),
}  # fmt: skip
SHAPES = {
    "free": {}, "linear": {"n_knots": 0},
    "rising": {"monotonic_cst": {"a": 1}}, "falling": {"monotonic_cst": {"a": -1}},
    "capped": {"max_influence": {"a": 0.5, "c": 0.5}}, "convex": {"shape": "convex"}, "concave": {"shape": "concave"},
    "convex and rising": {"shape": "convex", "monotonic_cst": {"a": 1}},
    "concave and falling": {"shape": "concave", "monotonic_cst": {"a": -1}},
}  # fmt: skip
CASES = [
    (loss, shape) for loss in LOSSES for shape in SHAPES
    if not (loss == "classes" and "monotonic_cst" in SHAPES[shape])
    and not (loss in ("ordinal", "quantiles") and "shape" in SHAPES[shape])
]  # fmt: skip


def table(rows=200):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(-1, 1, rows), "b": rng.normal(size=rows), "c": rng.choice(["x", "y"], rows)})
    return X, np.exp(0.8 * X["a"] + 0.3 * X["b"] ** 2 * (X["c"] == "x") + rng.normal(0, 0.1, rows))


def fitted(loss, shape):
    X, y = table()
    y = y if loss not in ("binary", "classes", "ordinal") else np.digitize(y, [1.0] if loss == "binary" else [0.8, 1.5])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LOSSES[loss](SHAPES[shape]).fit(X, y)


def extreme_rows(X):
    """A grid of both numbers, evenly spaced at every size, and both levels: (sizes, 9, 9, 2) rows."""
    parts = []
    for far in FAR:
        middle, half = (
            (X[["a", "b"]].max() + X[["a", "b"]].min()) / 2,
            far * (X[["a", "b"]].max() - X[["a", "b"]].min()) / 2,
        )
        ends = [(middle[j] - half[j], middle[j] + half[j]) for j in "ab"]
        a, b, c = np.meshgrid(*(np.linspace(*end, 9) for end in ends), [0, 1], indexing="ij")
        parts.append(pd.DataFrame({"a": a.ravel(), "b": b.ravel(), "c": np.array(["x", "y"])[c.ravel()]}))
    return pd.concat(parts, ignore_index=True)


def outputs(model, rows):
    """(sizes, 9, 9, 2, outputs): what users get."""
    if hasattr(model, "predict_proba"):
        found = model.predict_proba(rows)
        if isinstance(model, SpectralOrdinalClassifier):
            found = 1.0 - np.cumsum(found, axis=1)[:, :-1]  # P(y > j)
        elif found.shape[1] == 2:
            found = found[:, 1:]
    else:
        found = model.predict_quantiles(rows) if hasattr(model, "predict_quantiles") else model.predict(rows)
    assert np.isfinite(found).all()
    return found.reshape(len(FAR), 9, 9, 2, -1)


def as_said(model, words, rows, found):
    """Outputs in the units in which a sentence speaks of them, where those exist, and what rounding does to them."""
    raw = model.model_.raw(rows).reshape((*found.shape[:4], -1))
    blur = 1e-9 * np.maximum(np.abs(raw).max(axis=(1, 2, 3, 4), keepdims=True), 1.0)
    if "logarithm of the prediction" in words:
        known = found >= FLOOR
        known &= (found < END) | ("up to 40" not in words)
        return np.where(known, np.log(np.maximum(found, FLOOR)), np.nan), blur
    if "log-odds" in words:
        known = (found >= FLOOR) & (found < 1 - 1e-6)  # nearer to one a probability has too few digits
        return np.where(known, logit(np.clip(found, FLOOR, 1 - 1e-9)), np.nan), blur + 1e-9
    return (raw if "raw score" in words else found), blur


def lines(values):
    """Ends and middles of all lines on the grid of both numbers, along its axes and diagonals: thrice (sizes, n, …)."""
    triples = [
        ((i - da * half, j - db * half), (i, j), (i + da * half, j + db * half))
        for i, j, half in product(range(9), range(9), range(1, 5))
        for da, db in ((1, 0), (0, 1), (1, 1), (1, -1))
    ]
    inside = np.array([own for own in triples if all(0 <= k < 9 for point in own for k in point)])
    return [values[:, inside[:, end, 0], inside[:, end, 1]] for end in range(3)]


def check(claim, words, said, blur):
    """The claim, against all pairs and lines of the rows."""
    if claim.kind == "monotone":
        axis = 1 + "ab".index(claim.subject)
        rise = np.diff(said, axis=axis) * claim.details["sign"]
        assert (rise >= -1e-9 * np.abs(said).max() * (said.max() > 1) - 1e-12).all(), words
    elif claim.kind in ("convex", "concave"):
        first, middle, last = lines(said)
        bend = (first / 2 + last / 2 - middle) * (1 if claim.kind == "convex" else -1)
        assert not (bend < -blur[:, 0]).any(), words
    elif claim.kind == "influence":
        axis = 1 + "abc".index(claim.subject)
        inside = said[:2] if "within the training range" in words else said
        reach = np.nanmax(inside, axis=axis) - np.nanmin(inside, axis=axis)
        assert not (reach > claim.value * (1 + 1e-9) + 1e-9).any(), words
    elif claim.kind in ("quantiles", "cut-points"):
        step = np.diff(said, axis=-1) * (1 if claim.kind == "quantiles" else -1)
        assert (step >= -blur).all(), words


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:All-NaN slice:RuntimeWarning")
@pytest.mark.parametrize(("loss", "shape"), CASES)
def test_every_proven_sentence_is_true_of_predictions_at_extreme_rows(loss, shape):
    model = fitted(loss, shape)
    rows, certificate = extreme_rows(table()[0]), model.certify()
    found, tried = outputs(model, rows), 0
    for claim in certificate.claims:
        if claim.proven:
            words = plain_statement(claim, certificate.score)
            check(claim, words, *as_said(model, words, rows, found))
            tried += claim.requested
    assert tried == sum(claim.requested for claim in certificate.claims)


def test_predictions_of_a_convex_rate_are_convex_as_far_as_its_claim_says():
    model = fitted("poisson", "convex and rising")
    said = [plain_statement(own, "the logarithm of the prediction") for own in model.certify().claims]
    assert "the logarithm of the prediction is convex for any fixed categories, up to 40, where predictions end" in said
    far = model.predict(pd.DataFrame({"a": [0.0, 1e3, 2e3], "b": 0.0, "c": "x"}))
    assert far[1] == far[2] == END  # not convex beyond, so that the sentence needs its end
    assert "2.354e+17" in model.certify().to_text(details=True)


@pytest.mark.parametrize("loss", ["poisson", "squared_error"])
def test_the_checker_says_where_predictions_of_a_convex_rate_end(loss, tmp_path):
    fitted(loss, "convex").save(tmp_path / "model.safetensors")
    words = checked(tmp_path / "model.safetensors").words
    assert "every raw score is convex for any fixed categories" in words
    assert ("predictions end at exp(40)" in words) == (loss == "poisson")
