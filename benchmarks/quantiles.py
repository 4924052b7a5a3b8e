"""Five quantiles from one pencil beside five boosted models, re-run in this script.

usage: python benchmarks/quantiles.py [--data DIR] [--splits 3] [--only power concrete] [--effort balanced] [--rows N]

Seven tables of numbers, one of them made here: noise whose spread depends on one column. Targets are in units of their
standard deviation. The last table has all of them: pinball loss, and the share of test rows between the outer
quantiles, of which 90 % are wanted. Splits as in estimators.py: a fifth of the rows is held out for the test. The peer
is one LightGBM model per quantile, with early stopping on a tenth of the training rows, and the five predictions of a
row are sorted: that repairs the
crossings and never makes the mean pinball loss worse. Crossings are counted before that. No column is constrained on
either side: LightGBM refuses monotone_constraints for this objective. A quantile τ is calibrated if a share τ of the
targets is at or below it. Needs lightgbm and pandas.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd

import lambdak
from lambdak import SpectralQuantileRegressor
from peers import Predict
from tables import DATA, Problem, categories, load

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
PEER = "LightGBM x 5, sorted"
TABLES = ("california", "bike", "power", "concrete", "kin8nm", "gss_wages", "synthetic")

Results = dict[str, dict[str, np.ndarray]]


def table(name: str, data: Path, most: int | None) -> Problem:
    """A table with its target in units of its spread, or at most so many of its rows."""
    problem = synthetic() if name == "synthetic" else load(name, data)
    rows = np.random.default_rng(12345).permutation(len(problem.y))[:most]
    y = problem.y[rows]
    return Problem(name, problem.task, problem.X.iloc[rows].reset_index(drop=True), (y - y.mean()) / y.std())


def synthetic(rows: int = 10_000) -> Problem:
    """Noise with a spread from 0.2 to 0.7 that depends on a column."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-1, 1, (rows, 5)), columns=list("abcde"))
    noise = (0.2 + 0.5 * X["d"].abs()) * rng.standard_normal(rows)
    return Problem("synthetic", "regression", X, (np.sin(3 * X["a"]) + X["b"] * X["c"] + noise).to_numpy())


def spectral(effort: str, seed: int) -> Callable[[Problem, np.ndarray], Predict]:
    def fit(problem: Problem, rows: np.ndarray) -> Predict:
        model = SpectralQuantileRegressor(QUANTILES, effort=effort, random_state=seed)
        model.fit(problem.X.iloc[rows], problem.y[rows])
        return lambda test: model.predict_quantiles(problem.X.iloc[test])

    return fit


def boosted(problem: Problem, rows: np.ndarray) -> Predict:
    """One LightGBM model per quantile: 2000 trees, rate 0.05, each stops early on its own pinball loss."""
    X = categories(problem.X)
    held, train = rows[: len(rows) // 10], rows[len(rows) // 10 :]
    models = []
    for quantile in QUANTILES:
        model = lightgbm.LGBMRegressor(objective="quantile", alpha=quantile, verbose=-1)
        model.set_params(n_estimators=2000, learning_rate=0.05)
        stop = lightgbm.early_stopping(50, verbose=False)
        pair = (X.iloc[held], problem.y[held])
        models.append(model.fit(X.iloc[train], problem.y[train], eval_set=[pair], callbacks=[stop]))
    return lambda test: np.stack([model.predict(X.iloc[test]) for model in models], axis=1)


def pinball(y: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """max(τ r, (τ − 1) r) with r = y − prediction, the mean over the rows for each τ, (quantiles,)."""
    residual, tau = y[:, None] - predicted, np.array(QUANTILES)
    return np.maximum(tau * residual, (tau - 1) * residual).mean(axis=0)


def with_error(values: np.ndarray, digits: int) -> str:
    """Mean ± standard error, as text."""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():,.{digits}f} ± {error:,.{digits}f}"


def measure(problem: Problem, splits: int, efforts: list[str]) -> Results:
    """For each contestant the figures of every split, in the rows of arrays."""
    results: dict[str, list[dict[str, object]]] = {}
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(problem.y))
        test, train = order[: len(order) // 5], order[len(order) // 5 :]
        y = problem.y[test]
        for name, fit in {**{f"lambdak {e}": spectral(e, seed) for e in efforts}, PEER: boosted}.items():
            began = time.perf_counter()
            predict = fit(problem, train)
            fitted = time.perf_counter()
            raw = predict(test)
            done = time.perf_counter()
            repaired = np.sort(raw, axis=1)  # changes nothing where no quantiles cross
            figures = {"pinball": pinball(y, repaired), "covered": (y[:, None] <= repaired).mean(axis=0)}
            figures |= {"crossed": (np.diff(raw, axis=1) < 0).any(axis=1).mean()}
            figures |= {"inside": ((repaired[:, 0] <= y) & (y <= repaired[:, -1])).mean()}
            figures |= {"width": (repaired[:, -1] - repaired[:, 0]).mean()}
            results.setdefault(name, []).append(figures | {"fit": fitted - began, "predict": done - fitted})
    return {name: {key: np.array([row[key] for row in rows]) for key in rows[0]} for name, rows in results.items()}


def compare(problem: Problem, results: Results, splits: int) -> None:
    peer = results[PEER]["pinball"]
    digits = 4 - int(np.ceil(np.log10(peer.mean())))  # four significant ones, whatever the unit of the target
    taus = [f"{tau:g}".lstrip("0") for tau in QUANTILES]
    print(f"\n## {problem.name}: {len(problem.y):,} rows, {problem.X.shape[1]} columns, {splits} splits\n")
    print("| | pinball loss | ratio | " + " | ".join(f"y ≤ q{tau}, %" for tau in taus), end="")
    print(" | worst, points | rows that cross, % | fit s | predict s |\n|" + "---|" * (len(taus) + 7))
    for name, figures in results.items():
        covered = 100 * figures["covered"].mean(axis=0)
        cells = [name, with_error(figures["pinball"].mean(axis=1), max(digits, 0))]
        cells += [with_error(figures["pinball"].mean(axis=1) / peer.mean(axis=1), 3)]
        cells += [f"{share:.1f}" for share in covered]
        cells += [f"{np.abs(covered - 100 * np.array(QUANTILES)).max():.1f}", f"{100 * figures['crossed'].mean():.2f}"]
        cells += [f"{np.median(figures['fit']):.2f}", f"{np.median(figures['predict']):.3f}"]
        print("| " + " | ".join(cells) + " |")
    print("\nRatio to LightGBM of the pinball loss of each quantile, and of the mean width between the outer two\n")
    print("| | " + " | ".join(taus) + " | width |\n|" + "---|" * (len(taus) + 2))
    for name, figures in results.items():
        ratios = [*(figures["pinball"] / peer).mean(axis=0), (figures["width"] / results[PEER]["width"]).mean()]
        print("| " + " | ".join([name, *(f"{ratio:.3f}" for ratio in ratios)]) + " |", flush=True)


def summary(found: dict[str, Results]) -> None:
    """One line per table: pinball loss and coverage of every contestant."""
    names = list(next(iter(found.values())))
    wanted = 100 * (QUANTILES[-1] - QUANTILES[0])
    print(f"\n## All tables: pinball loss; share between the outer quantiles, of which {wanted:g} % are wanted\n")
    print("| | " + " | ".join(f"{name} | inside, %" for name in names) + " |\n|" + "---|" * (2 * len(names) + 1))
    for table_name, results in found.items():
        cells = [table_name]
        for own in results.values():
            cells += [with_error(own["pinball"].mean(axis=1), 4), with_error(100 * own["inside"], 1)]
        print("| " + " | ".join(cells) + " |")
    off = [np.mean([abs(100 * own[name]["inside"].mean() - wanted) for own in found.values()]) for name in names]
    print("| points from it, mean | " + " | ".join(f"| {each:.1f}" for each in off) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the Parquet files")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--rows", type=int, help="of a table, at most")
    parser.add_argument("--effort", nargs="+", default=["balanced"])
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        parser.error(f"no folder {arguments.data}: give the folder with the Parquet files with --data")
    warnings.filterwarnings("ignore")
    lambdak.show_config()
    found = {}
    for name in arguments.only:
        problem = table(name, arguments.data, arguments.rows)
        found[name] = measure(problem, arguments.splits, arguments.effort)
        compare(problem, found[name], arguments.splits)
    summary(found)


if __name__ == "__main__":
    main()
