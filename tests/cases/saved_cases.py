"""A table with cells of every kind for models to be saved, and whether two models predict the same bits."""

from __future__ import annotations

import numpy as np
import pandas as pd

QUICK = {"effort": "fast", "dim": 4, "max_iter": 2, "random_state": 0}
ROWS = 240


def frame():
    """Numbers with and without gaps, strings with rare levels and gaps, bools, categories of ints and floats."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "income": rng.gamma(2, 2, ROWS),
            "age": np.where(rng.random(ROWS) < 0.1, np.nan, rng.uniform(18, 80, ROWS)),
            'région "x"\n😀': rng.choice(["north", "south", ""], ROWS),
            "<b>": rng.random(ROWS) < 0.5,
            "children": pd.Categorical(rng.integers(0, 4, ROWS)),
            "size": pd.Categorical(rng.choice([0.5, 1.0, 2.25], ROWS)),
        }
    )
    table.loc[rng.random(ROWS) < 0.1, 'région "x"\n😀'] = None
    table.loc[:1, 'région "x"\n😀'] = "rare"
    return table


FRAME = frame()
NUMBERS = FRAME[["income", "age"]].to_numpy()
LAW = np.sqrt(FRAME["income"].to_numpy()) + FRAME["<b>"].to_numpy()


def answers(model, X):
    """Everything that a model predicts."""
    names = ("predict", "predict_proba", "predict_quantiles", "decision_function")
    return {name: getattr(model, name)(X) for name in names if hasattr(model, name)}


def assert_same(model, other, X):
    for (name, ours), theirs in zip(answers(model, X).items(), answers(other, X).values(), strict=True):
        assert ours.dtype == theirs.dtype, name
        assert ours.tobytes() == theirs.tobytes() if ours.dtype != object else ours.tolist() == theirs.tolist(), name
