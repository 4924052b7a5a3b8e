"""Policies with exposure and claims, and models of them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from fitted_models import SMALL

from lambdak import SpectralClassifier, SpectralRegressor


def policies(rows=600, seed=0):
    """Ages with gaps, a category, whole numbers, exposure (some of it zero), claims and policy numbers."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": np.where(rng.random(rows) < 0.1, np.nan, rng.uniform(18, 80, rows)),
            "region": rng.choice(["north", "south", "west"], rows, p=[0.6, 0.3, 0.1]),
            "power": rng.integers(4, 9, rows),
        }
    )
    exposure = pd.Series(np.where(rng.random(rows) < 0.05, 0.0, rng.uniform(0.1, 1.0, rows)), name="years")
    rate = 0.3 + 0.8 * (X["region"] == "south") + 0.1 * (X["power"] - 4)
    claims = pd.Series(rng.poisson(rate * exposure), name="claims")
    return X, exposure, claims


POLICIES, YEARS, CLAIMS = policies()
LATE = (CLAIMS > 0).map({True: "yes", False: "no"})


@cache
def frequency():
    """A model of claims per year."""
    some = YEARS > 0
    return SpectralRegressor("poisson", **SMALL).fit(POLICIES[some], CLAIMS[some], offset=np.log(YEARS[some]))


@cache
def default():
    """A model of whether a policy has a claim."""
    return SpectralClassifier(**SMALL).fit(POLICIES, LATE)
