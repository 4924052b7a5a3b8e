"""What monotone columns cost: constrained less free, of lambdak and of boosted trees, on the same folds.

usage: python benchmarks/constraints.py [--data DIR] [--only adult ...] [--models "lambdak fast" ...] [--repeats 2]
                                        [--rows 10000]

Every table has columns with signs that its domain suggests, so a constraint is knowledge, and should not cost anything.
Repeated 5-fold cross-validation with partitions of its own, on at most ``--rows`` rows of a table (a sample; counts of
claims get five times as many). LightGBM and XGBoost stop early on a tenth of the training rows. The table shows the
mean metric of the free model (R², AUC, or Poisson deviance), and by how much the constrained one is better, positive
for a gain whatever the metric, with a standard error that counts that the training rows of folds overlap (as in
monotone.py). Needs lightgbm, xgboost and pandas.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import RepeatedKFold

import lambdak
from monotone import (
    FOLDS,
    NATURAL,
    TABLES,
    Fit,
    Signs,
    boosted,
    extreme,
    load_split,
    paired,
    print_table,
    spectral,
    subset,
)
from tables import DATA, MEASURE, SMALLER_IS_BETTER, Problem, categories, load, score

SEED = 12345  # of the partitions
CLAIMS = 5  # times as many rows where there are few events
SIGNS = {  # of tables.py; concrete: cement and age; winered: alcohol and volatile acidity; power: temperature
    **NATURAL,
    # Small capital gains go with low incomes, so the sign of that column is wrong, and costs trees as much as us.
    "adult-work": {"hours_per_week": 1, "education_num": 1},
    "concrete": {"x0": 1, "x7": 1},
    "winered": {"x10": 1, "x1": -1},
    "power": {"x0": -1},
}
MODELS: dict[str, Fit] = {
    "lambdak fast": partial(spectral, effort="fast"),
    "lambdak balanced": spectral,
    "LightGBM": boosted,
    "XGBoost": extreme,
}

# ---- functions that rise with x0, x1 and x2, whatever the other columns are ------------------------------------------


def added(x: np.ndarray) -> np.ndarray:
    """No interactions: a bend, a flat middle, a jump, and a wave in a free column."""
    return np.tanh(3 * x[0]) + x[1] ** 3 + (x[2] > 0) + np.sin(3 * x[3])


def multiplied(x: np.ndarray) -> np.ndarray:
    """Slopes that depend on other columns, one of them free."""
    return (x[0] + 1) * (x[1] + 1) * (1 + np.sin(3 * x[3])) + np.maximum(x[2], x[4])


def gated(x: np.ndarray) -> np.ndarray:
    """Columns that matter in a part of the table only."""
    return 2 * np.minimum(x[0], x[1]) + np.exp(x[2] * x[3].clip(0)) + (x[4] > 0) * (x[2] + 1)


FUNCTIONS = {"added": added, "multiplied": multiplied, "gated": gated}


def synthetic(f: Callable[[np.ndarray], np.ndarray], rows: int = 2000) -> Problem:
    """Six columns, and half as much noise as signal."""
    rng = np.random.default_rng(SEED)
    x = rng.uniform(-1, 1, (6, rows))
    y = f(x) + rng.normal(0, 0.5 * f(x).std(), rows)
    return Problem(f.__name__, "regression", pd.DataFrame(x.T, columns=[f"x{i}" for i in range(6)]), y)


# ---- tables ----------------------------------------------------------------------------------------------------------


def table(name: str, folder: Path) -> tuple[Problem, Signs]:
    """A table with the signs of its monotone columns."""
    if name in FUNCTIONS:
        return synthetic(FUNCTIONS[name]), {"x0": 1, "x1": 1, "x2": 1}
    if name in SIGNS:
        problem = load(name.partition("-")[0], folder)
        return replace(problem, X=categories(problem.X)), SIGNS[name]
    train, test = load_split(name, folder)
    X = pd.concat([train.X, test.X], ignore_index=True)
    return replace(train, X=X, y=np.concatenate([train.y, test.y])), TABLES[name][-1]


def sampled(problem: Problem, rows: int) -> Problem:
    """At most so many rows."""
    most = CLAIMS * rows if problem.task == "poisson" else rows
    return subset(problem, np.random.default_rng(SEED).permutation(len(problem.y))[:most])


def measured(problem: Problem, fit: Fit, signs: Signs, repeats: int) -> np.ndarray:
    """The metric of every fold."""
    folds = RepeatedKFold(n_splits=FOLDS, n_repeats=repeats, random_state=SEED).split(problem.y)
    scores = []
    for seed, (rows, held) in enumerate(folds):
        predicted = fit(subset(problem, rows), signs, seed)(problem.X.iloc[held])
        exposure = 1 if problem.exposure is None else problem.exposure[held]
        scores.append(score(problem, held, predicted * exposure))
    return np.array(scores)


def compared(problem: Problem, fit: Fit, signs: Signs, repeats: int) -> list[str]:
    """Two cells: the free model, and what the constraint adds."""
    free, constrained = (measured(problem, fit, own, repeats) for own in ({}, signs))
    gain = free - constrained if problem.task in SMALLER_IS_BETTER else constrained - free
    return [f"{free.mean():.4f}", paired(gain)]


def main() -> None:
    names = [*SIGNS, *TABLES, *FUNCTIONS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the Parquet files")
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--repeats", type=int, default=2, help="partitions into folds")
    parser.add_argument("--rows", type=int, default=10_000, help="largest number of rows of a table")
    arguments = parser.parse_args()
    if not arguments.data.is_dir() and not set(arguments.only) <= set(FUNCTIONS):
        parser.error(f"no folder {arguments.data}: give the folder with the Parquet files with --data")
    warnings.filterwarnings("ignore")
    lambdak.show_config()
    print(f"\n## Constrained less free, {FOLDS} folds, {arguments.repeats} repeats\n")
    cells: dict[str, list[str]] = {}
    for name in arguments.only:
        problem, signs = table(name, arguments.data)
        problem = sampled(problem, arguments.rows)
        row = cells.setdefault(f"{name} {MEASURE[problem.task]}", [f"{len(problem.y):,}", str(len(signs))])
        for model in arguments.models:
            print(f"{name}: {model}", file=sys.stderr)
            row += compared(problem, MODELS[model], signs, arguments.repeats)
    headers = [header for model in arguments.models for header in (f"{model}, free", "constrained")]
    print_table(["rows", "monotone columns", *headers], cells)


if __name__ == "__main__":
    main()
