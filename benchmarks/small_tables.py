"""A few hundred rows: the default beside straight lines (n_knots=0), sums of curves (dim=1) and peers, in one run.

    python benchmarks/small_tables.py --data DIR --repeats 4

R² on test rows, over five folds, repeated: the mean, and the standard error of the difference from the default over
repetitions. Every model sees the same folds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lambdak import SpectralRegressor

MODELS = {
    "default": SpectralRegressor(random_state=0),
    "n_knots=0": SpectralRegressor(n_knots=0, random_state=0),
    "dim=1": SpectralRegressor(dim=1, random_state=0),
    "n_knots=0, dim=1": SpectralRegressor(n_knots=0, dim=1, random_state=0),
    "ridge regression": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 25))),
    "HistGradientBoosting": HistGradientBoostingRegressor(random_state=0),
}


def tables(folder):
    """Name, columns and target of each table; the second is left out where its file is missing."""
    yield "diabetes", *load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    if folder is not None:
        halves = [pd.read_parquet(folder / f"monotone_auto_mpg_{part}.parquet") for part in ("train", "test")]
        cars = pd.concat(halves, ignore_index=True)
        yield "auto mpg", cars.iloc[:, :-1].astype(float), cars.iloc[:, -1].astype(float)


def by_repetition(model, X, y, repeats):
    """Mean R² of each repetition."""
    folds = (KFold(5, shuffle=True, random_state=seed) for seed in range(repeats))
    return np.array([cross_val_score(model, X, y, cv=each).mean() for each in folds])


def main():
    """Print one table for each data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--repeats", type=int, default=4)
    given = parser.parse_args()
    for name, X, y in tables(given.data):
        print(f"{name}: {X.shape[0]} rows, {X.shape[1]} columns")
        default = None
        for setting, model in MODELS.items():
            found = by_repetition(model, X, y, given.repeats)
            default = found if default is None else default
            error = np.std(found - default, ddof=1) / np.sqrt(given.repeats)
            print(
                f"  {setting:<22} {found.mean():.3f}  difference {np.mean(found - default):+.3f} ± {error:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
