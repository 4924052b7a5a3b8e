"""lambdak beside LightGBM, XGBoost, CatBoost, EBM and a GLM: free and monotone, metric, CPU seconds, and falls.

usage: python benchmarks/side_by_side.py [--data DIR] [--only concrete ...] [--methods LightGBM ...] [--splits 3]
                                         [--rows 20000] [--pairs 20000] [--results FILE]

All have the same rows, a fifth of them for the test, and one thread. LightGBM, XGBoost and CatBoost have up to 2,000
trees at rate 0.05 and stop early on a tenth of the training rows; EBM and lambdak have their defaults; the GLM (glum)
has one slope per column, one-hot levels and next to no penalty, and gets its constraint as bounds on the slopes. Nobody
is tuned. Seconds are CPU seconds of one fit, which other work on the machine changes less than it changes wall time.
Falls are counted as in monotone.py. Every result is printed and added to --results; what is there is not run again.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before any library starts its threads

import argparse
import json
import time
import warnings
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import lambdak
from constraints import SIGNS, sampled, table
from monotone import Fit, Predict, Signs, additive, boosted, count_violations, extreme, spectral, subset, tenth
from peers import as_text
from standings import print_rows
from tables import DATA, MEASURE, SMALLER_IS_BETTER, Problem, score

FAMILY = {"regression": "normal", "classification": "binomial", "poisson": "poisson"}
PENALTY = 1e-5  # enough for columns that are copies of each other


def ordered(train: Problem, signs: Signs, seed: int) -> Predict:
    """CatBoost with the trees and the early stopping of the others."""
    from catboost import CatBoostClassifier, CatBoostRegressor, Pool

    def pool(part: Problem) -> Pool:
        X, words = as_text(part.X)
        baseline = None if part.exposure is None else np.log(part.exposure)
        return Pool(X, part.y, cat_features=words, baseline=baseline)

    fitted, held = tenth(train, seed)
    kind = CatBoostClassifier if train.task == "classification" else CatBoostRegressor
    model = kind(n_estimators=2000, learning_rate=0.05, early_stopping_rounds=50, random_seed=seed, thread_count=1)
    model.set_params(verbose=False, allow_writing_files=False, monotone_constraints=signs)
    if train.task == "poisson":
        model.set_params(loss_function="Poisson")
    model.fit(pool(fitted), eval_set=pool(held))
    if train.task == "poisson":
        return lambda X: np.exp(model.predict(as_text(X)[0], prediction_type="RawFormulaVal"))
    return lambda X: model.predict(as_text(X)[0], prediction_type="RawFormulaVal")


def generalised(train: Problem, signs: Signs, seed: int) -> Predict:
    """A GLM of glum; a sign bounds the slope of its column."""
    from glum import GeneralizedLinearRegressor

    numbers = make_column_selector(dtype_include="number")
    encode = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", min_frequency=5, sparse_output=False), make_column_selector(
            dtype_exclude="number")),
    )  # fmt: skip
    Z = encode.fit_transform(train.X)
    kinds = [signs.get(name.partition("__")[2], 0) for name in encode.get_feature_names_out()]
    bounds: dict[str, Any] = {}
    if signs:
        bounds["lower_bounds"] = np.array([0.0 if sign == 1 else -np.inf for sign in kinds])
        bounds["upper_bounds"] = np.array([0.0 if sign == -1 else np.inf for sign in kinds])
    model = GeneralizedLinearRegressor(family=FAMILY[train.task], alpha=PENALTY, max_iter=1000, **bounds)
    model.fit(Z, train.y, offset=None if train.exposure is None else np.log(train.exposure))
    if train.task == "poisson":
        return lambda X: model.predict(encode.transform(X))
    return lambda X: model.linear_predictor(encode.transform(X))


METHODS: dict[str, Fit] = {
    "lambdak fast": partial(spectral, effort="fast"),
    "lambdak balanced": spectral,
    "LightGBM": boosted,
    "XGBoost": extreme,
    "CatBoost": ordered,
    "EBM": partial(additive, threads=1),
    "GLM": generalised,
}


@dataclass(frozen=True)
class Result:
    """What one contestant did on one split of a table."""

    table: str
    task: str
    rows: int
    method: str
    monotone: bool
    split: int
    metric: float
    seconds: float
    falls: int


def measured(problem: Problem, signs: Signs, method: str, monotone: bool, split: int, pairs: int) -> Result:
    """Fit on four fifths of the rows, score the others, and look for falls."""
    order = np.random.default_rng(split).permutation(len(problem.y))
    held, rows = order[: len(order) // 5], order[len(order) // 5 :]
    began = time.process_time()
    predict = METHODS[method](subset(problem, rows), signs if monotone else {}, split)
    seconds = time.process_time() - began
    test = subset(problem, held)
    metric = score(problem, held, predict(test.X) * (1 if test.exposure is None else test.exposure))
    _, falls, _ = count_violations(predict, test, signs, pairs)
    return Result(problem.name, problem.task, len(problem.y), method, monotone, split, metric, seconds, int(falls))


def shown(results: list[Result], kind: bool) -> tuple[str, float, str]:
    """Metric with its standard error over splits, mean seconds, and falls of one kind of model."""
    own = [result for result in results if result.monotone == kind]
    metrics = np.array([result.metric for result in own])
    error = f" ± {metrics.std(ddof=1) / np.sqrt(len(own)):.3f}" if len(own) > 1 else ""
    falls = f"{np.mean([result.falls for result in own]):,.0f}"
    return f"{metrics.mean():.3f}{error}", float(np.mean([result.seconds for result in own])), falls


def print_results(results: list[Result], pairs: int) -> None:
    """One Markdown table for each table."""
    for name in dict.fromkeys(result.table for result in results):
        here = [result for result in results if result.table == name]
        measure = MEASURE[here[0].task] + (" ↓" if here[0].task in SMALLER_IS_BETTER else "")
        signs = ", ".join(f"{'+' if sign > 0 else '-'}{column}" for column, sign in SIGNS[name].items())
        print(f"\n## {name}: {here[0].rows:,} rows, {measure}; {signs}\n")
        lines = []
        for method in dict.fromkeys(result.method for result in here):
            own = [result for result in here if result.method == method]
            (free, seconds, falls), (bound, more, none) = shown(own, False), shown(own, True)
            lines.append([method, free, bound, f"{seconds:.2f}", f"{more:.2f}", falls, none])
        headers = ["free", "monotone", "CPU s, free", "CPU s, monotone", f"falls of {pairs:,}, free", "monotone"]
        print_rows(["", *headers], lines)


def read(file: Path | None) -> list[Result]:
    lines = file.read_text().splitlines() if file and file.exists() else []
    return [Result(**json.loads(line)) for line in lines]


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the Parquet files")
    parser.add_argument("--only", nargs="+", choices=SIGNS, default=["concrete", "winered", "california", "fremtpl2"])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=20_000, help="most rows of a table; five times as many of claims")
    parser.add_argument("--pairs", type=int, default=20_000, help="pairs of rows that are tried for falls")
    parser.add_argument("--results", type=Path, help="file of results, one per line")
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        parser.error(f"no folder {arguments.data}: give the folder with the Parquet files with --data")
    return arguments


def main() -> None:
    arguments = parsed()
    warnings.filterwarnings("ignore")
    lambdak.set_num_threads(1)
    known = {(r.table, r.rows, r.method, r.monotone, r.split): r for r in read(arguments.results)}
    results = []
    for name in arguments.only:
        problem, signs = table(name, arguments.data)
        problem = sampled(problem, arguments.rows)
        wanted = [(m, k, s) for m in arguments.methods for k in (False, True) for s in range(arguments.splits)]
        for method, monotone, split in wanted:
            result = known.get((problem.name, len(problem.y), method, monotone, split))
            if result is None:
                result = measured(problem, signs, method, monotone, split, arguments.pairs)
                print(result, flush=True)
                if arguments.results:
                    with arguments.results.open("a") as stream:
                        stream.write(json.dumps(asdict(result)) + "\n")
            results.append(result)
    print_results(results, arguments.pairs)


if __name__ == "__main__":
    main()
