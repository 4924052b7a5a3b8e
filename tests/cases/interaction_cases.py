"""A table with numbers, missing cells, few and many levels, every estimator on it, and mixed differences."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor

ROWS = 400
FEW = {"effort": "fast", "max_iter": 3, "n_knots": 6, "random_state": 0}
GROUPS = [["a", "b"], {"b", "kind"}, ("gaps",)]  # and the rest: town


def table():
    rng = np.random.default_rng(0)
    gaps = np.where(rng.random(ROWS) < 0.2, np.nan, rng.normal(size=ROWS))
    frame = pd.DataFrame({"a": rng.normal(size=ROWS), "b": rng.normal(size=ROWS), "kind": rng.choice([*"uvw"], ROWS)})
    return frame.assign(gaps=gaps, town=rng.integers(0, 60, ROWS).astype(str))


X = table()
Y = (X["a"] * X["b"] + (X["kind"] == "u") * X["b"] + np.nan_to_num(X["gaps"])).to_numpy()
CLASSES = np.digitize(Y, [-0.5, 0.5])
LOSSES = ("absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie")

MODELS = {
    "regressor": lambda **more: SpectralRegressor(**FEW | more).fit(X, Y),
    **{loss: lambda loss=loss, **more: SpectralRegressor(loss, **FEW | more).fit(X, np.exp(Y / 4)) for loss in LOSSES},
    "two classes": lambda **more: SpectralClassifier(**FEW | more).fit(X, Y > 0),
    "three classes": lambda **more: SpectralClassifier(**FEW | more).fit(X, CLASSES),
    "quantiles": lambda **more: SpectralQuantileRegressor(**FEW | more).fit(X, Y),
    "ordered classes": lambda **more: SpectralOrdinalClassifier(**FEW | more).fit(X, CLASSES),
}
SETTINGS = {
    "groups": {"interaction_cst": GROUPS, "dim": 4},
    "no interactions": {"interaction_cst": "no_interactions"},
    "pairs": {"interaction_cst": "pairwise", "dim": 3, "n_estimators": 2},
    "monotone and capped": {
        "interaction_cst": GROUPS, "monotonic_cst": {"b": 1, "gaps": -1},
        "max_influence": {"b": 0.5, "town": 0.2, ("a", "gaps"): 0.1},
        "dim": 3,
    },
    "convex": {"interaction_cst": GROUPS, "shape": "convex", "dim": 4},
    "linear": {"interaction_cst": GROUPS, "n_knots": 0, "dim": 3},
    "tiny": {"interaction_cst": GROUPS, "dim": 1},
}  # fmt: skip


@cache
def fitted(kind, how="groups"):
    return MODELS[kind](**SETTINGS[how])


def mixed_difference(model, columns, seed=0):
    """Largest |Σ (−1)^|U| raw score with other cells in U|, over the subsets U of some columns, of random rows."""
    rng = np.random.default_rng(seed)
    first, last = (X.iloc[rng.integers(ROWS, size=100)].reset_index(drop=True) for _ in range(2))
    total = 0.0
    for size in range(len(columns) + 1):
        for changed in combinations(columns, size):
            rows = first.assign(**{name: last[name] for name in changed})
            total = total + (-1) ** size * model.model_.raw(rows)
    return float(np.abs(total).max())
