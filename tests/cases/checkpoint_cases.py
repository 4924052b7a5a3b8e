"""Fits of all kinds that are killed after every save of their checkpoint, and their results to the last bit."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor, atomic


class Killed(BaseException):
    """Ends a fit as a signal would: nothing catches it."""


def table(rows=500, seed=0):
    """Numbers, one of them whole, a category of few levels, gaps, and one of many."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(-1, 1, (rows, 3)), columns=["a", "b", "c"])
    X["kind"] = pd.Categorical(rng.choice(["x", "y", "z"], rows))
    X["town"] = pd.Categorical([f"town {i}" for i in rng.integers(0, 60, rows)])
    X.loc[rng.random(rows) < 0.05, "b"] = np.nan
    y = X["a"] + X["c"] ** 2 + (X["kind"] == "x") * X["a"] + 0.1 * rng.standard_normal(rows)
    return X, y.to_numpy()


def classes(y, count):
    return np.digitize(y, np.quantile(y, np.linspace(0, 1, count + 1)[1:-1]))


FAST = {"effort": "fast", "random_state": 0}
FEW = FAST | {"max_iter": 3}

# name → estimator, and what makes its rows special
CASES = {
    "squared error": (lambda: SpectralRegressor(**FAST), {}),
    "noiseless, refined": (lambda: SpectralRegressor(**FAST), {"plain": True}),
    "trials of the capacity": (lambda: SpectralRegressor(effort="balanced", max_iter=2, random_state=0), {"rows": 700}),
    "monotone": (lambda: SpectralRegressor(monotonic_cst={"a": 1, "b": -1}, **FEW), {}),
    "convex": (lambda: SpectralRegressor(shape="convex", **FEW), {}),
    "convex and monotone": (lambda: SpectralRegressor(shape="convex", monotonic_cst={"a": 1}, **FEW), {}),
    "capped": (lambda: SpectralRegressor(max_influence={"a": 0.5, "town": 0.2, "kind": 0.1}, **FEW), {}),
    "capped and monotone": (lambda: SpectralRegressor(max_influence=0.4, monotonic_cst={"a": 1}, **FEW), {}),
    "groups": (lambda: SpectralRegressor(interaction_cst=[["a", "b"], ["b", "c"]], **FEW), {}),
    "no interactions": (lambda: SpectralClassifier(interaction_cst="no_interactions", **FEW), {"n_classes": 2}),
    "vanishing columns": (lambda: SpectralRegressor(alpha=1.0, **FEW), {}),
    "early stopping": (lambda: SpectralRegressor(early_stopping=True, n_iter_no_change=2, tol=0.01, **FAST), {}),
    "weights": (lambda: SpectralRegressor(**FEW), {"weights": True}),
    "validation rows": (lambda: SpectralRegressor(**FEW), {"validation": True}),
    "offset and log link": (lambda: SpectralRegressor("poisson", **FEW), {"offset": True}),
    "a loss in Python": (lambda: SpectralRegressor("huber", **FEW), {}),
    "two classes": (lambda: SpectralClassifier(**FEW), {"n_classes": 2}),
    "several classes": (lambda: SpectralClassifier(class_weight="balanced", **FEW), {"n_classes": 4}),
    "ordered classes": (lambda: SpectralOrdinalClassifier(**FEW), {"n_classes": 4}),
    "quantiles": (lambda: SpectralQuantileRegressor((0.1, 0.5, 0.9), **FEW), {}),
}


def arguments(rows=500, plain=False, n_classes=0, weights=False, validation=False, offset=False):
    """Positional and other arguments of fit."""
    X, y = table(rows)
    if plain:
        X, y = X[["a", "c"]], (X["a"] + X["c"] ** 2).to_numpy()
    y = np.exp(y) if offset else classes(y, n_classes) if n_classes else y
    weight = np.random.default_rng(1).uniform(0.5, 2, rows) if weights else None
    beside = {"offset": np.linspace(-1, 1, rows)} if offset else {}
    if validation:
        beside = {"X_val": X[:100], "y_val": y[:100]}
    return (X, y, weight), beside


def bits(estimator):
    """Everything that a fit leaves behind, to the last bit."""
    model, state = estimator.model_, estimator._state
    arrays = [model.coef, model.start, model.weights, estimator.loss_curve_, estimator.validation_curve_]
    arrays += [*state.theta, estimator.feature_importances_, np.array([model.scale, state.factor, model.dim])]
    return [(array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes()) for array in arrays]


def killed_after_every_save(monkeypatch, estimator, path, arguments, beside):
    """Fit in processes that end right after their first save, one after another; returns the last and their number."""
    writing, lives = atomic.write_bytes, 0

    def write_and_die(*of_file):
        writing(*of_file)
        raise Killed

    while True:
        lives += 1
        with monkeypatch.context() as patch:
            patch.setattr(atomic, "write_bytes", write_and_die)
            try:
                return estimator().fit(*arguments, **beside, checkpoint=path, checkpoint_every=0), lives
            except Killed:
                continue
