"""Classes: those in order beside a rounded regression, calibration of probabilities, and rare positives.

usage: python benchmarks/classes.py [--data DIR] [--splits 3] [--rows N] [--only ordered calibration rare]

Peers are re-run in this script, with defaults (CatBoost) or early stopping on a tenth of the training rows (LightGBM).
A fifth of the rows is the test, which nothing sees before the scores. Ordered classes are red wine quality, and targets
of regression tables cut at quantiles into classes of unequal size; kappa has quadratic weights; a rounded regression
predicts the code of the class. The calibration error is the mean over ten bins of equal size of |mean probability −
share of positives|. Rare positives are 4, 20 or 100 of 2,000 rows, with and without signal, beside their base rate.
Needs catboost, lightgbm and pandas.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
from catboost import CatBoostRegressor
from sklearn.metrics import cohen_kappa_score, log_loss

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralRegressor
from tables import DATA, Problem, categories, load

CUTS = {
    "concrete": (0.03, 0.15, 0.5, 0.8, 0.95),
    "kin8nm": (0.1, 0.3, 0.7, 0.9),
    "california": (0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95),
    "power": (0.1, 0.25, 0.5, 0.75, 0.9),
}
TWO_CLASSES = ("adult", "magic", "spambase", "higgs", "cells")
BINS = 10
RARE_ROWS = 2_000

Scores = dict[str, list[tuple[float, ...]]]


def split(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(12345 + seed).permutation(rows)
    return order[: rows // 5], order[rows // 5 :]


def some(problem: Problem, most: int | None) -> Problem:
    """At most so many of its rows."""
    rows = np.random.default_rng(12345).permutation(len(problem.y))[:most]
    return Problem(problem.name, problem.task, problem.X.iloc[rows].reset_index(drop=True), problem.y[rows])


def printed(title: str, names: list[str], scores: Scores) -> None:
    """Means over the splits, with standard errors where there are several."""
    print(f"\n## {title}\n\n| | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 1))
    for label, rows in scores.items():
        mean, count = np.mean(rows, axis=0), len(rows)
        error = np.std(rows, axis=0, ddof=1) / np.sqrt(count) if count > 1 else np.full_like(mean, np.nan)
        print(f"| {label} | " + " | ".join(f"{m:.4f} ± {e:.4f}" for m, e in zip(mean, error, strict=True)) + " |")
    print(flush=True)


# ---- classes in order ------------------------------------------------------------------------------------------------


def ordered_table(name: str, data: Path, most: int | None) -> Problem:
    """A table whose target is the code of one of several classes in order."""
    problem = some(load(name, data), most)
    inner = np.quantile(problem.y, CUTS[name]) if name in CUTS else np.unique(problem.y)[1:] - 0.5
    return Problem(name, "ordered", problem.X, np.searchsorted(inner, problem.y))


def kappa(y: np.ndarray, predicted: np.ndarray) -> float:
    codes = np.clip(np.rint(predicted), y.min(), y.max()).astype(int)
    return float(cohen_kappa_score(y, codes, weights="quadratic"))


def catboost(X: pd.DataFrame, y: np.ndarray) -> CatBoostRegressor:
    names = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    return CatBoostRegressor(verbose=0, allow_writing_files=False, cat_features=names).fit(X, y)


def ordered(data: Path, splits: int, most: int | None) -> None:
    for name in ("winered", *CUTS):
        problem, scores = ordered_table(name, data, most), {}
        X, y, every = problem.X, problem.y, np.unique(problem.y)
        for seed in range(splits):
            test, train = split(len(y), seed)
            for effort in ("fast", "balanced"):
                model = SpectralOrdinalClassifier(effort=effort, random_state=seed).fit(X.iloc[train], y[train])
                shares = log_loss(y[test], model.predict_proba(X.iloc[test]), labels=every)
                own = kappa(y[test], model.predict(X.iloc[test])), shares
                scores.setdefault(f"SpectralOrdinalClassifier {effort}", []).append(own)
                numbers = SpectralRegressor(effort=effort, random_state=seed).fit(X.iloc[train], y[train])
                rounded = kappa(y[test], numbers.predict(X.iloc[test])), np.nan
                scores.setdefault(f"SpectralRegressor {effort}, rounded", []).append(rounded)
            rounded = kappa(y[test], catboost(X.iloc[train], y[train]).predict(X.iloc[test])), np.nan
            scores.setdefault("CatBoost regression, rounded", []).append(rounded)
        title = f"{name}: {len(y):,} rows, {len(every)} classes in order, {splits} splits"
        printed(title, ["kappa", "log-loss"], scores)


# ---- calibration -----------------------------------------------------------------------------------------------------


def calibration_error(y: np.ndarray, chance: np.ndarray) -> float:
    parts = np.array_split(np.argsort(chance), BINS)
    return float(np.mean([abs(chance[part].mean() - y[part].mean()) for part in parts]))


def slope(y: np.ndarray, chance: np.ndarray) -> float:
    """The factor on log-odds with the least log-loss: below one, probabilities are too sure; above, not sure enough."""
    odds, factors = np.log(chance / (1 - chance)), np.linspace(0.5, 1.5, 101)
    return float(factors[np.argmin([np.logaddexp(0, f * odds).mean() - (y * f * odds).mean() for f in factors])])


def boosted(X: pd.DataFrame, y: np.ndarray) -> Callable[[pd.DataFrame], np.ndarray]:
    held = len(y) // 10
    model = lightgbm.LGBMClassifier(n_estimators=2000, learning_rate=0.05, verbose=-1)
    stop = lightgbm.early_stopping(50, verbose=False)
    model.fit(X.iloc[held:], y[held:], eval_set=[(X.iloc[:held], y[:held])], callbacks=[stop])
    return lambda rows: model.predict_proba(rows)[:, 1]


def calibration(data: Path, splits: int, most: int | None) -> None:
    scores: Scores = {}
    for name in TWO_CLASSES:
        problem = some(load(name, data), most)
        wide, y = categories(problem.X), problem.y
        for seed in range(splits):
            test, train = split(len(y), seed)
            found = {"LightGBM": boosted(wide.iloc[train], y[train])(wide.iloc[test])}
            for effort in ("fast", "balanced"):
                model = SpectralClassifier(effort=effort, random_state=seed).fit(problem.X.iloc[train], y[train])
                found[effort] = model.predict_proba(problem.X.iloc[test])[:, 1]
            for label, chance in found.items():
                chance = np.clip(chance, 1e-12, 1 - 1e-12)
                own = log_loss(y[test], chance), calibration_error(y[test], chance), slope(y[test], chance)
                scores.setdefault(f"{name}, {label}", []).append(own)
    printed(f"calibration, {splits} splits", ["log-loss", "calibration error", "best factor on log-odds"], scores)


# ---- rare positives --------------------------------------------------------------------------------------------------


def rare_table(positives: int, signal: float, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Training rows and as many test rows, with this many positives each."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((2 * RARE_ROWS, 8)), columns=list("abcdefgh"))
    likely = signal * X["a"].to_numpy() + rng.gumbel(size=2 * RARE_ROWS)
    y = np.zeros(2 * RARE_ROWS, int)
    for half in (slice(None, RARE_ROWS), slice(RARE_ROWS, None)):
        y[half][np.argsort(-likely[half])[:positives]] = 1
    return X, y


def rare(data: Path, splits: int, most: int | None) -> None:
    scores: Scores = {}
    for positives in (4, 20, 100):
        for signal in (0.0, 3.0):
            for seed in range(splits):
                X, y = rare_table(positives, signal, seed)
                train, test = slice(None, RARE_ROWS), slice(RARE_ROWS, None)
                found = [np.full(RARE_ROWS, y[train].mean())]
                for effort in ("fast", "balanced"):
                    model = SpectralClassifier(effort=effort, random_state=seed).fit(X[train], y[train])
                    found.append(model.predict_proba(X[test])[:, 1])
                found.append(np.clip(boosted(X[train], y[train])(X[test]), 1e-12, 1 - 1e-12))
                own = tuple(float(log_loss(y[test], chance)) for chance in found)
                words = f"{positives} positives of {RARE_ROWS:,}, {'signal' if signal else 'no signal'}"
                scores.setdefault(words, []).append(own)
    printed(f"log-loss, {splits} tables each", ["base rate", "fast", "balanced", "LightGBM"], scores)


PARTS = {"ordered": ordered, "calibration": calibration, "rare": rare}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the Parquet files")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, help="of a table, at most")
    parser.add_argument("--only", nargs="+", default=list(PARTS), choices=PARTS)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    for name in arguments.only:
        PARTS[name](arguments.data, arguments.splits, arguments.rows)


if __name__ == "__main__":
    main()
