"""A table that the tests of all estimators share."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def table():
    """A mixed table with a known law: an interaction, a category, gaps, and a rising column."""
    rng = np.random.default_rng(0)
    n = 3000
    frame = pd.DataFrame(
        {
            "income": rng.gamma(2, 2, n),
            "age": rng.uniform(18, 80, n),
            "noise": rng.standard_normal(n),
            "region": pd.Categorical(rng.choice(["north", "south", "west"], n)),
        }
    )
    lift = frame["region"].map({"north": 0.0, "south": 1.0, "west": -1.0}).astype(float).to_numpy()
    law = np.sqrt(frame["income"]) * (1 + lift) + np.sin(frame["age"] / 8)
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    y = (law + 0.2 * rng.standard_normal(n)).to_numpy()
    return frame, y
