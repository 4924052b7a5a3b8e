"""Tables that are drawn: noise columns, many levels, few positives, and sizes to time a fit on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from tables import Problem
from weakness.line import Case, split_of

REAL = 10  # columns that matter
RATE, POSITIVES, FEW_POSITIVE_ROWS = 0.002, 4, 2_000
SPARSE_ROWS, SPARSE_COLUMNS, TEST_ROWS = 500, 200, 5_000
CLASSES = 6


def frame(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X).add_prefix("x")


def smooth_and_crossed(X: np.ndarray) -> np.ndarray:
    """A function of the first ten columns: products, waves, kinks and lines."""
    x = X[:, :REAL].T
    crossed = x[0] * x[1] + np.abs(x[3]) * x[4] + np.tanh(3 * x[6]) * x[7]
    return crossed + np.sin(2 * x[2]) + x[5] ** 2 / 2 + x[8] + x[9]


def drawn(rows: int, columns: int, noise: float, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal columns, and the function above with noise in units of its standard deviation."""
    rng = np.random.default_rng(split)
    X = rng.standard_normal((rows, columns), dtype=np.float32)
    wide = np.pad(X, ((0, 0), (0, max(REAL - columns, 0))))
    exact = smooth_and_crossed(wide.astype(float))
    return X, exact + noise * exact.std() * rng.standard_normal(rows)


def with_noise_columns(columns: int, _: Path, split: int) -> Case:
    """10,000 rows, ten real columns and so many of noise; a perfect model has R² .94."""
    X, y = drawn(10_000, REAL + columns, 0.25, split)
    return split_of(Problem("noise", "regression", frame(X), y), split)


def sparse_line(_: Path, split: int) -> Case:
    """500 rows, 200 columns, y = x₀ + noise; scored on 5,000 more, where a perfect model has R² .92."""
    rng = np.random.default_rng(split)
    X = rng.standard_normal((SPARSE_ROWS + TEST_ROWS, SPARSE_COLUMNS))
    y = X[:, 0] + 0.3 * rng.standard_normal(len(X))
    rows = np.arange(len(X))
    return Problem("sparse", "regression", frame(X), y), rows[:SPARSE_ROWS], rows[SPARSE_ROWS:]


def levels(count: int, _: Path, split: int) -> Case:
    """One column of so many levels with 20 rows each; a model that knew all effects has R² .8."""
    rng = np.random.default_rng(split)
    level = np.repeat(np.arange(count), 20)
    y = rng.standard_normal(count)[level] + 0.5 * rng.standard_normal(len(level))
    X = pd.DataFrame({"level": pd.Categorical.from_codes(level, [f"level {i}" for i in range(count)])})
    return split_of(Problem("levels", "regression", X, y), split)


def skewed_levels(_: Path, split: int) -> Case:
    """2,972 levels of very different counts with weak effects, and three weak columns: most levels are rare."""
    rng, count = np.random.default_rng(split), 2_972
    weight = 1 / np.arange(1, count + 1) ** 0.8
    level = rng.choice(count, 30_000, p=weight / weight.sum())
    X = rng.standard_normal((len(level), 3))
    y = 0.4 * rng.standard_normal(count)[level] + X @ [0.2, 0.1, 0.05] + rng.standard_normal(len(level))
    names = pd.Categorical.from_codes(level, [f"level {i}" for i in range(count)])
    return split_of(Problem("skewed", "regression", frame(X).assign(level=names), y), split)


def few_positives(_: Path, split: int) -> Case:
    """Four positives in 2,000 rows for training, the same rate in 20,000 for the test; one of 20 columns matters."""
    rng = np.random.default_rng(split)
    X = rng.standard_normal((100_000, 20))
    y = (rng.random(len(X)) < RATE * np.exp(X[:, 0] - 0.5)).astype(int)  # E exp(x − ½) = 1
    positive, negative = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    cut = FEW_POSITIVE_ROWS - POSITIVES
    train = rng.permutation(np.r_[positive[:POSITIVES], negative[:cut]])
    test = np.r_[positive[POSITIVES:][: 10 * POSITIVES], negative[cut:][: 10 * cut]]
    # As several classes, because these are scored by log-loss.
    return Problem("positives", "classes", frame(X), y), train, test


def sized(rows: int, columns: int, task: str, _: Path, split: int) -> Case:
    """A table of a size, for the time of a fit; rows of the training, with a quarter as many for the test."""
    X, y = drawn(rows * 5 // 4, columns, 0.5, split)
    if task == "classification":
        y = (y > np.quantile(y, 0.8)).astype(int)
    if task == "classes":
        y = np.digitize(y, np.quantile(y, np.arange(1, CLASSES) / CLASSES))
    return split_of(Problem("sized", task, frame(X), y), split)


def million(_: Path, split: int) -> Case:
    """10⁶ rows for training, 15 columns, little noise."""
    X, y = drawn(1_250_000, 15, 0.05, split)
    return split_of(Problem("million", "regression", frame(X), y), split)
