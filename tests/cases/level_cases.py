"""Tables with a category of many levels, whose effects are known."""

from __future__ import annotations

import numpy as np
import pandas as pd

FAST = {"effort": "fast", "random_state": 0, "n_jobs": 1}
QUICK = FAST | {"max_iter": 4, "n_estimators": 2, "dim": 5}


def many_levels(levels=300, rows=20, slope=0.0, seed=0):
    """Rows of levels with normal effects, and normal slopes along a number: training rows, then as many others."""
    rng = np.random.default_rng(seed)
    effect, steep = rng.standard_normal(levels), slope * rng.standard_normal(levels)
    code = rng.permutation(np.repeat(np.arange(levels), 2 * rows))
    x = rng.standard_normal((len(code), 2))
    y = effect[code] + steep[code] * x[:, 0] + 0.5 * x[:, 1] + 0.7 * rng.standard_normal(len(code))
    X = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "code": [f"level {i}" for i in code]})
    half = len(code) // 2
    return X[:half], y[:half], X[half:], y[half:]
