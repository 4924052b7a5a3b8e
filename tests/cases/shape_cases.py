"""Constraints of all kinds, alone and together, and a table on which they can be true."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak import shapes as s

CONSTRAINTS = {
    "ordered category": [s.Rising("grade", order=["low", "mid", "high"])],
    "order of the table": [s.Falling("size")],
    "rising and falling": [s.Rising("income"), s.Falling("age"), s.Falling("grade", order=["high", "mid", "low"])],
    "one convex column": [s.Convex("income")],
    "one concave column that rises": [s.Concave("income"), s.Rising("income")],
    "both kinds": [s.Convex("income", "dose"), s.Concave("age")],
    "both kinds, capped": [s.Convex("income"), s.Concave("age", "dose"), s.MaxInfluence("age", 0.7)],
    "a slope": [s.MaxSlope("income", 0.05), s.Rising("income")],
    "slopes of all columns": [s.MaxSlope(None, 0.04), s.Convex("dose")],
    "slope along a direction": [s.MaxSlope({"age": 1, "income": -0.1}, 0.02), s.MaxInfluence("dose", 0.3)],
    "a valley where the rows say": [s.Valley("age")],
    "a valley at a number": [s.Valley("age", at=45), s.Concave("income")],
    "a peak of levels": [s.Peak("size", at="M"), s.MaxInfluence("size", 0.5)],
    "a turn outside of the range": [s.Peak("age", at=1000.0)],
    "one outweighs the other": [s.Dominates("income", "dose")],
    "two rise, one outweighs the other": [s.Rising("income"), s.Rising("dose"), s.Dominates("income", "dose")],
    "a valley that is outweighed": [s.Valley("age"), s.Dominates("income", "age")],
    "a direction": [s.RisingAlong({"age": 1, "income": 2.5, "dose": -0.1})],
    "directions that overlap": [s.Dominates("income", "dose"), s.RisingAlong({"age": 1, "dose": -0.25, "income": 1})],
    "a convex column in a direction": [s.Convex("income"), s.RisingAlong({"income": 1, "dose": 1})],
    "limits of one of two that are compared": [
        s.Dominates("income", "dose"),
        s.MaxSlope("income", 0.05),
        s.MaxInfluence("dose", 0.2),
        s.MaxInfluence(("dose", "age"), 0.6),
    ],
    "complements": [s.Complements("age", "income"), s.Rising("income"), s.Falling("age"), s.Anchored("age", 45)],
    "substitutes of three": [s.Substitutes("age", "income", "dose"), s.MaxInfluence("age", 0.5)],
    "complements and substitutes": [s.Complements("age", "income"), s.Substitutes("dose", "age"), s.Convex("income")],
    "anchors": [s.Anchored("age", None), s.Anchored("grade", "mid"), s.Rising("age"), s.Anchored("income", 2.5)],
    "groups": [s.Interactions([["age", "income"], ["dose"]]), s.MaxInfluence(("age", "dose"), 1.0)],
}

TASKS = {
    "mean": (SpectralRegressor, lambda y: y),
    "counts": (lambda **own: SpectralRegressor("poisson", **own), lambda y: np.exp(y / 2).round()),
    "quantiles": (lambda **own: SpectralQuantileRegressor([0.1, 0.9], **own), lambda y: y),
    "classes": (SpectralClassifier, lambda y: (y > np.median(y)).astype(int)),
    "order": (SpectralOrdinalClassifier, lambda y: np.digitize(y, np.quantile(y, [0.3, 0.7]))),
}


def shaped_table(rows=240, seed=0):
    """Numbers, some of them missing, a category and an ordered one; and a target that most of the shapes fit."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.uniform(20, 80, rows),
            "income": rng.gamma(2.0, 2.0, rows),
            "dose": rng.normal(size=rows),
            "grade": rng.choice(["low", "mid", "high"], rows),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], rows), ["S", "M", "L"], ordered=True),
        }
    )
    target = np.abs(X["age"] - 45) / 20 + np.sqrt(X["income"]) + X["grade"].map({"low": 0, "mid": 0.5, "high": 1.0})
    X.loc[::11, "age"] = np.nan
    return X, (target + 0.1 * rng.normal(size=rows)).to_numpy()


def shaped(constraints, task="mean", **settings):
    """An estimator with these constraints, fitted to the table for a moment."""
    (make, target), (X, y) = TASKS[task], shaped_table()
    chosen = {"effort": "fast", "max_iter": 3, "n_estimators": 2, "random_state": 0} | settings
    return make(constraints=constraints, **chosen).fit(X, target(y)), X
