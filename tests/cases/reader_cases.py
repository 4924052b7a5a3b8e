"""A table as people have them: many columns, an identifier, large numbers, a category; and models of it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

from lambdak import IdentifierWarning, SpectralRegressor

SMALL = {"max_iter": 15, "n_estimators": 2, "dim": 5, "random_state": 0, "n_jobs": 1}


@cache
def wide_table(rows=300):
    """30 columns: an identifier first, a category, and numbers of which the first ones matter most."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"customer_id": np.arange(50_000, 50_000 + rows), "region": rng.choice(["north", "south"], rows)})
    for i in range(28):
        X[f"amount_{i}"] = rng.normal(1000.0, 100.0, rows).round(1)
    weights = 100.0 * 0.95 ** np.arange(28)
    y = 190_000 + X.iloc[:, 2:].to_numpy() @ weights + 4e4 * (X["region"] == "north") + rng.normal(0, 100.0, rows)
    return X, pd.Series(y, name="price")


@cache
def wide_model():
    """Fitted to the first 200 rows."""
    X, y = wide_table()
    return _fitted(SpectralRegressor(monotonic_cst={"amount_0": 1}, **SMALL), X[:200], y[:200])


@cache
def other_model():
    """A rival without one of the columns."""
    X, y = wide_table()
    return _fitted(SpectralRegressor(**SMALL | {"dim": 3}), X[:200].drop(columns="amount_1"), y[:200])


def _fitted(model, X, y):
    """Fitted with a column that names customers, which the fit tells of, and a report later on."""
    with pytest.warns(IdentifierWarning, match="'customer_id'"):
        return model.fit(X, y)
