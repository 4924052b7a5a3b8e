"""One table with cells of every kind, and whether two designs are the same."""

import numpy as np
import pandas as pd

ROWS = 60


def values(seed=0):
    rng = np.random.default_rng(seed)
    income = rng.normal(size=ROWS).round(1).astype(object)
    income[::7] = None
    city = rng.choice(["Rome", "Oslo", "Bern"], ROWS).astype(object)
    city[::9] = None
    return {
        "age": rng.integers(18, 80, ROWS).tolist(),
        "income": income.tolist(),
        "city": city.tolist(),
        "owner": rng.random(ROWS).__lt__(0.5).tolist(),
        "grade": rng.choice(["low", "mid", "high"], ROWS).tolist(),
    }


def as_pandas():
    return pd.DataFrame(values()).astype({"income": float, "grade": "category"})


def as_pandas_objects():
    return pd.DataFrame(values(), dtype=object)


def assert_same(design, other):
    np.testing.assert_array_equal(design.ids, other.ids)
    np.testing.assert_array_equal(design.weights, other.weights)
