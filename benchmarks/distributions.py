"""The whole distribution of a number beside the libraries that estimate it, re-run in this script.

usage: python benchmarks/distributions.py [--data DIR] [--tables concrete power] [--rows 12000] [--splits 1]
                                          [--only lambdak MAPIE] [--out distributions.jsonl]

A quarter of the rows is the test. CRPS is twice the mean pinball loss over the 99 percentiles, in units of the target's
standard deviation; contestants that answer at any level are asked for all of them, the others are fitted at nine levels
and interpolated between these. Intervals of 50, 80, 90 and 95 % are each library's own: calibrated for lambdak (by the
rows its members left out), MAPIE and crepes, two quantiles for the others. Crossings are percentiles below the one
before, as they come out. Violations are percentiles and interval ends of "lambdak, monotone" that move against the
constraint by more than rounding (1e-9) as the constrained column, the one with the strongest rank correlation in the
training rows, runs through 40 values in 100 test rows; the peers' models of quantiles take no such constraint, but for
HistGradientBoosting. Peers are as their users run them: 2,000 trees at rate 0.05 with early stopping for LightGBM and
CatBoost, defaults for all else; crepes and MAPIE are around HistGradientBoosting. Every result is a line of the file
``--out``; what is there is not computed again. Seconds are CPU time of fit and predict, one thread.
Needs lightgbm, catboost, ngboost, quantile-forest, mapie and crepes; what is not installed is left out.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.ensemble import HistGradientBoostingRegressor

import lambdak
from lambdak import SpectralQuantileRegressor
from tables import DATA, TASKS, Problem, categories, load

LEVELS = np.arange(1, 100) / 100
FITTED = np.array([0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975])
COVERAGES = (0.5, 0.8, 0.9, 0.95)
TREES, RATE, PATIENCE = 2000, 0.05, 50
TABLES = (*(name for name, task in TASKS.items() if task == "regression"), "california", "bike")
Answer = tuple[np.ndarray | None, dict[float, np.ndarray]]  # percentiles (rows, 99), intervals by coverage (rows, 2)
Fit = Callable[[pd.DataFrame, np.ndarray, pd.DataFrame, int], tuple[Answer, dict[str, Any]]]


def table(name: str, data: Path, most: int | None) -> tuple[pd.DataFrame, np.ndarray]:
    """A table with its target in units of its spread, or so many of its rows."""
    problem: Problem = load(name, data)
    rows = np.random.default_rng(12345).permutation(len(problem.y))[:most]
    y = problem.y[rows]
    return categories(problem.X.iloc[rows].reset_index(drop=True)), (y - y.mean()) / y.std()


def numbers(X: pd.DataFrame) -> np.ndarray:
    """Categories as codes and the median for what is missing, for libraries that take numbers only."""
    coded = X.apply(lambda column: column.cat.codes if isinstance(column.dtype, pd.CategoricalDtype) else column)
    return coded.astype(float).fillna(coded.astype(float).median()).to_numpy()


def of_levels(quantiles: np.ndarray) -> Answer:
    """Percentiles and intervals from quantiles at the nine fitted levels, sorted for the intervals as for the CRPS."""
    place = np.clip(np.searchsorted(FITTED, LEVELS, side="right") - 1, 0, len(FITTED) - 2)
    share = np.clip((LEVELS - FITTED[place]) / (FITTED[place + 1] - FITTED[place]), 0, 1)
    percentiles = quantiles[:, place] * (1 - share) + quantiles[:, place + 1] * share
    ends = {c: [np.abs(FITTED - end).argmin() for end in ((1 - c) / 2, (1 + c) / 2)] for c in COVERAGES}
    return percentiles, {c: np.sort(quantiles[:, pair], axis=1) for c, pair in ends.items()}


def spectral(X: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, seed: int) -> tuple[Answer, dict[str, Any]]:
    model = SpectralQuantileRegressor(random_state=seed, n_jobs=1).fit(X, y)
    intervals = {c: model.predict_interval(test, c) for c in COVERAGES}
    return (model.predict_quantiles(test, LEVELS), intervals), {}


def monotone(X: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, seed: int) -> tuple[Answer, dict[str, Any]]:
    """With one column constrained, and what a search for violations finds."""
    ranks = {c: float(spearmanr(X[c], y, nan_policy="omit")[0]) for c in X.select_dtypes("number")}
    column = max((c for c in ranks if np.isfinite(ranks[c])), key=lambda c: abs(ranks[c]))
    sign = int(np.sign(ranks[column]))
    model = SpectralQuantileRegressor(monotonic_cst={column: sign}, random_state=seed, n_jobs=1).fit(X, y)
    intervals = {c: model.predict_interval(test, c) for c in COVERAGES}
    some = test.iloc[:100]
    grid = np.linspace(X[column].min() - 1, X[column].max() + 1, 40)
    moved = pd.concat([some.assign(**{column: value}) for value in grid], ignore_index=True)
    ends = [model.predict_interval(moved, c) for c in (*COVERAGES, 0.99)]
    found = np.hstack([model.predict_quantiles(moved, np.linspace(0.001, 0.999, 199)), *ends])
    found = np.where(np.isfinite(found), found, 0.0).reshape(len(grid), len(some), -1)
    steps = sign * np.diff(found, axis=0)
    counts = {"violations": int((steps < -1e-9).sum()), "compared": int(steps.size), "worst": float(steps.min())}
    return (model.predict_quantiles(test, LEVELS), intervals), {"column": column, **counts}


def boosted(X: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, seed: int) -> tuple[Answer, dict[str, Any]]:
    import lightgbm

    held, rest, found = slice(0, len(y) // 10), slice(len(y) // 10, None), []
    for level in FITTED:
        model = lightgbm.LGBMRegressor(
            objective="quantile", alpha=level, n_estimators=TREES, learning_rate=RATE, n_jobs=1, verbose=-1,
            random_state=seed,
        )  # fmt: skip
        stop = lightgbm.early_stopping(PATIENCE, verbose=False)
        model.fit(X.iloc[rest], y[rest], eval_set=[(X.iloc[held], y[held])], callbacks=[stop])
        found.append(model.predict(test))
    return of_levels(np.stack(found, axis=1)), {}


def catboosted(X: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, seed: int) -> tuple[Answer, dict[str, Any]]:
    from catboost import CatBoostRegressor

    named = [c for c in X if isinstance(X[c].dtype, pd.CategoricalDtype)]
    X, test = (
        t.assign(**{c: t[c].astype(object).where(t[c].notna(), "missing").astype(str) for c in named})
        for t in (X, test)
    )
    held, rest = slice(0, len(y) // 10), slice(len(y) // 10, None)
    model = CatBoostRegressor(
        loss_function="MultiQuantile:alpha=" + ",".join(f"{level:g}" for level in FITTED), iterations=TREES,
        learning_rate=RATE, early_stopping_rounds=PATIENCE, thread_count=1, verbose=False, random_seed=seed,
        cat_features=named, allow_writing_files=False,
    )  # fmt: skip
    model.fit(X.iloc[rest], y[rest], eval_set=(X.iloc[held], y[held]))
    return of_levels(np.asarray(model.predict(test))), {}


def forest(X: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, seed: int) -> tuple[Answer, dict[str, Any]]:
    from quantile_forest import RandomForestQuantileRegressor

    model = RandomForestQuantileRegressor(n_jobs=1, random_state=seed).fit(numbers(X), y)
    levels = sorted({*LEVELS.tolist(), *FITTED.tolist()})
    found = np.asarray(model.predict(numbers(test), quantiles=levels))
    place = {round(level, 6): i for i, level in enumerate(levels)}
    intervals = {c: found[:, [place[round((1 - c) / 2, 6)], place[round((1 + c) / 2, 6)]]] for c in COVERAGES}
    return (found[:, [place[round(level, 6)] for level in LEVELS]], intervals), {}


def natural(X: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, seed: int) -> tuple[Answer, dict[str, Any]]:
    from ngboost import NGBRegressor

    model = NGBRegressor(verbose=False, random_state=seed).fit(numbers(X), y)
    known = model.pred_dist(numbers(test))
    intervals = {c: np.stack([known.ppf((1 - c) / 2), known.ppf((1 + c) / 2)], axis=1) for c in COVERAGES}
    return (np.stack([known.ppf(level) for level in LEVELS], axis=1), intervals), {}


def trees(seed: int, **options: Any) -> HistGradientBoostingRegressor:
    return HistGradientBoostingRegressor(categorical_features="from_dtype", random_state=seed, **options)


def quantile_conformal(X: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, seed: int) -> tuple[Answer, dict[str, Any]]:
    """Conformalised quantile regression of MAPIE: three fits for each coverage, a fifth of the rows to calibrate."""
    from mapie.regression import ConformalizedQuantileRegressor

    held, rest, found = slice(0, len(y) // 5), slice(len(y) // 5, None), {}
    for coverage in COVERAGES:
        model = ConformalizedQuantileRegressor(trees(seed, loss="quantile", quantile=0.5), coverage)
        model.fit(X.iloc[rest], y[rest]).conformalize(X.iloc[held], y[held])
        found[coverage] = model.predict_interval(test)[1][:, :, 0]
    return (None, found), {}


def cross_conformal(X: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, seed: int) -> tuple[Answer, dict[str, Any]]:
    """Cross-conformal intervals of MAPIE (CV+, five folds) around the mean."""
    from mapie.regression import CrossConformalRegressor

    model = CrossConformalRegressor(trees(seed), list(COVERAGES), cv=5, random_state=seed).fit_conformalize(X, y)
    parts = [model.predict_interval(test.iloc[i : i + 500])[1] for i in range(0, len(test), 500)]
    intervals = np.concatenate(parts)
    return (None, {c: intervals[:, :, i] for i, c in enumerate(COVERAGES)}), {}


def predictive_system(X: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, seed: int) -> tuple[Answer, dict[str, Any]]:
    """Conformal predictive system of crepes, whose spread follows the spread of nearest neighbours' residuals."""
    from crepes import WrapRegressor
    from crepes.extras import DifficultyEstimator

    held, rest = slice(0, len(y) // 5), slice(len(y) // 5, None)
    X, test = pd.DataFrame(numbers(X)), pd.DataFrame(numbers(test))
    model = WrapRegressor(HistGradientBoostingRegressor(random_state=seed))
    model.fit(X.iloc[rest].to_numpy(), y[rest])
    residuals = y[rest] - model.predict(X.iloc[rest].to_numpy())
    difficulty = DifficultyEstimator().fit(X=X.iloc[rest].to_numpy(), residuals=residuals, scaler=True)
    model.calibrate(X.iloc[held].to_numpy(), y[held], de=difficulty, cps=True, seed=seed)
    found = np.asarray(model.predict_percentiles(test.to_numpy(), lower_percentiles=list(100 * LEVELS)))
    ends = {
        c: np.asarray(model.predict_int(test.to_numpy(), confidence=c, seed=seed)).reshape(len(test), 2)
        for c in COVERAGES
    }
    return (found, ends), {}


CONTESTANTS: dict[str, Fit] = {
    "lambdak": spectral,
    "lambdak, monotone": monotone,
    "CatBoost MultiQuantile": catboosted,
    "LightGBM x 9": boosted,
    "quantile-forest": forest,
    "NGBoost": natural,
    "crepes": predictive_system,
    "MAPIE CQR": quantile_conformal,
    "MAPIE CV+": cross_conformal,
}


def measured(answer: Answer, y: np.ndarray) -> dict[str, Any]:
    """CRPS, crossings, coverage and width of one answer; infinite ends count as the widest finite ones."""
    percentiles, intervals = answer
    found: dict[str, Any] = {"rows": len(y)}
    if percentiles is not None:
        repaired = np.sort(percentiles, axis=1)
        error = y[:, None] - repaired
        found["crps"] = float(2 * np.maximum(LEVELS * error, (LEVELS - 1) * error).mean())
        found["crossed"] = float((np.diff(percentiles, axis=1) < 0).any(axis=1).mean())
    for coverage, ends in intervals.items():
        found[f"covered {coverage}"] = float(((ends[:, 0] <= y) & (y <= ends[:, 1])).mean())
        width = ends[:, 1] - ends[:, 0]
        found[f"width {coverage}"] = float(width[np.isfinite(width)].mean()) if np.isfinite(width).any() else np.inf
        found[f"infinite {coverage}"] = float(np.isinf(width).mean())
    return found


def run(name: str, arguments: argparse.Namespace, done: set[tuple[str, str, int]]) -> None:
    """All contestants on one table; every result is appended to the file."""
    X, y = table(name, arguments.data, arguments.rows)
    for seed in range(arguments.splits):
        order = np.random.default_rng(seed).permutation(len(y))
        test, train = order[: len(order) // 4], order[len(order) // 4 :]
        for contestant, fit in CONTESTANTS.items():
            if (name, contestant, seed) in done or not any(contestant.startswith(own) for own in arguments.only):
                continue
            began = time.process_time()
            try:
                answer, more = fit(X.iloc[train].reset_index(drop=True), y[train], X.iloc[test], seed)
            except ImportError as error:
                print(f"{contestant}: left out, {error}")
                continue
            spent = time.process_time() - began
            line = {"table": name, "contestant": contestant, "seed": seed, "train": len(train), "seconds": spent}
            line |= measured(answer, y[test]) | more
            with arguments.out.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(json.dumps(line), flush=True)


def report(lines: list[dict[str, Any]]) -> None:
    """One table of means over the tables that all contestants have, and one of CRPS by table."""
    frame = pd.DataFrame(lines)
    every = [own for own in CONTESTANTS if own in set(frame.contestant)]
    complete = frame.groupby("table").contestant.nunique() == len(every)
    frame = frame[frame.table.isin(complete.index[complete])]
    by = frame.groupby(["contestant", "table"]).mean(numeric_only=True)
    print(f"\nTables with all contestants: {', '.join(complete.index[complete])}\n")
    coverages = " | ".join(f"{100 * c:g} %" for c in COVERAGES)
    print(
        f"| | CRPS | {coverages} | off 90 %, mean | off 90 %, most (2,000 test rows) | width 90 % | crossed | CPU s |"
    )
    print("|" + "---|" * (len(COVERAGES) + 7))
    for own in every:
        rows = by.loc[own]
        off = (rows["covered 0.9"] - 0.9).abs()
        large = off[rows["rows"] >= 2000]
        cells = [own, "" if rows.crps.isna().all() else f"{rows.crps.mean():.4f}"]
        cells += [f"{100 * rows[f'covered {c}'].mean():.1f}" for c in COVERAGES]
        cells += [f"{100 * off.mean():.1f}", f"{100 * large.max():.1f}" if len(large) else ""]
        cells += [f"{rows['width 0.9'].mean():.3f}"]
        cells += ["" if rows.crps.isna().all() else f"{100 * rows.crossed.mean():.1f} %", f"{rows.seconds.mean():.1f}"]
        print("| " + " | ".join(cells) + " |")
    print("\nCRPS by table\n")
    names = sorted(set(frame.table))
    print("| | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 1))
    for own in [own for own in every if not by.loc[own].crps.isna().all()]:
        print(f"| {own} | " + " | ".join(f"{by.loc[own].crps[name]:.4f}" for name in names) + " |")
    kept = frame[frame.contestant == "lambdak, monotone"]
    if len(kept):
        counts = f"{kept.violations.sum():.0f} violations in {kept.compared.sum():,.0f} comparisons"
        print(f"\n{counts}, worst {kept.worst.min():.1e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the Parquet files")
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--only", nargs="+", default=list(CONTESTANTS), help="contestants whose names begin so")
    parser.add_argument("--rows", type=int, help="of a table, at most")
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("distributions.jsonl"), help="results, one per line")
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        parser.error(f"no folder {arguments.data}: give the folder with the Parquet files with --data")
    warnings.filterwarnings("ignore")
    lambdak.show_config()
    known = [json.loads(line) for line in arguments.out.read_text().splitlines()] if arguments.out.exists() else []
    done = {(line["table"], line["contestant"], line["seed"]) for line in known}
    for name in arguments.tables:
        run(name, arguments, done)
    report([json.loads(line) for line in arguments.out.read_text().splitlines()])


if __name__ == "__main__":
    main()
