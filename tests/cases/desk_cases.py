"""A table as at a desk: columns of whole numbers, of two values, a ratio and an amount with far tails; its model."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from lambdak import SpectralClassifier

WHOLE = ["late", "lines", "owner"]
SMALL = {"effort": "fast", "max_iter": 6, "n_estimators": 2, "dim": 3, "random_state": 0, "n_jobs": 1}


def desk_table(rows=400, seed=0):
    """Rows and whether they were repaid."""
    rng = np.random.default_rng(seed)
    ratio = np.where(rng.random(rows) < 0.02, np.exp(rng.uniform(2, 10, rows)), rng.beta(0.8, 1.2, rows))
    X = pd.DataFrame(
        {
            "late": rng.choice([-2, -1, 0, 1, 2, 3, 8], rows, p=[0.1, 0.2, 0.4, 0.15, 0.1, 0.04, 0.01]),
            "lines": rng.poisson(8, rows).astype(float),  # whole, though not by its dtype
            "owner": rng.integers(0, 2, rows),
            "ratio": ratio,
            "income": np.round(np.exp(rng.normal(8, 0.5, rows)), 2),
        }
    )
    risk = 0.9 * X["late"] + 2 * np.minimum(ratio, 1.0) - 0.5 * X["owner"] - np.log(X["income"] / 3000)
    return X, np.where(risk + rng.logistic(size=rows) > 1.2, "no", "yes")


X, Y = desk_table()


@cache
def desk_model():
    """A classifier of the table with one promise and one column that letters must not name."""
    return SpectralClassifier(monotonic_cst={"late": -1}, protected_features=["owner"], **SMALL).fit(X, Y)
