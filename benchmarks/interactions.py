"""Which columns may interact: lambdak and HistGradientBoosting with the same interaction_cst, on the same splits.

usage: python benchmarks/interactions.py [--data DIR] [--tables bike concrete ...] [--seeds 3] [--effort balanced]

Every seed is another split: four fifths to train on, one to test on. The constraint is none, groups that someone who
knows the table could name, "pairwise", or "no_interactions". HistGradientBoosting has 2000 trees at rate 0.05 and stops
early on a tenth of the training rows, and beside it its defaults; the better one of both, on the mean over the splits,
is shown: that favours it. Seconds are those of the fit on one thread, both sides in one run. Needs pandas.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from lambdak import SpectralClassifier, SpectralRegressor
from peers import hist_boosting, is_classes, output
from tables import DATA, MEASURE, SMALLER_IS_BETTER, Problem, categories, load, score

GROUPS = {
    "california": [["longitude", "latitude", "ocean_proximity", "median_income"]],
    "bike": [["hr", "holiday", "weekday", "workingday"], ["season", "mnth", "temp", "atemp", "hum", "weathersit"]],
    "adult": [["education", "education_num", "occupation", "workclass"], ["capital_gain", "capital_loss"]],
    "fremtpl2": [["DrivAge", "BonusMalus"], ["VehPower", "VehAge", "VehBrand", "VehGas"]],
    "concrete": [["x0", "x1", "x2", "x3", "x7"], ["x4", "x5", "x6"]],
    "power": [["x0", "x1"], ["x2", "x3"]],
    "kin8nm": [["x0", "x1", "x2", "x3"], ["x4", "x5", "x6", "x7"]],
    "magic": [["x0", "x1", "x2", "x8"], ["x3", "x4", "x5"]],
    "ausauto": [["VehValue", "VehAge", "VehBody"]],
    "contraceptive": [["x0", "x1", "x2", "x3"]],
}
TREES = {"max_iter": 2000, "learning_rate": 0.05, "early_stopping": True, "n_iter_no_change": 50}
CONSTRAINTS = ("none", "groups", "pairwise", "no_interactions")


def spectral(problem: Problem, rows: np.ndarray, seed: int, constraint: Any, effort: str) -> Any:
    """lambdak, with the exposure of a Poisson model as offset."""
    settings = {"effort": effort, "random_state": seed, "interaction_cst": constraint, "n_jobs": 1}
    X = problem.X
    if problem.task != "poisson":
        kind = SpectralClassifier if is_classes(problem) else SpectralRegressor
        model = kind(**settings).fit(X.iloc[rows], problem.y[rows])
        return lambda test: output(model, problem, X.iloc[test])
    offset = np.log(problem.exposure)
    model = SpectralRegressor("poisson", **settings).fit(X.iloc[rows], problem.y[rows], offset=offset[rows])
    return lambda test: model.predict(X.iloc[test], offset=offset[test])


def trees(problem: Problem, rows: np.ndarray, seed: int, constraint: Any, more: dict[str, Any]) -> Any:
    """HistGradientBoosting, with rates weighted by exposure in a Poisson model."""
    X, names = categories(problem.X), list(problem.X)
    if isinstance(constraint, list):
        constraint = [[names.index(name) for name in group] for group in constraint]
    model = hist_boosting(problem.task).set_params(random_state=seed, interaction_cst=constraint, **more)
    if problem.task == "poisson":
        assert isinstance(model, HistGradientBoostingRegressor)
        exposure = problem.exposure
        model.fit(X.iloc[rows], problem.y[rows] / exposure[rows], exposure[rows])
        return lambda test: model.predict(X.iloc[test]) * exposure[test]
    model.fit(X.iloc[rows], problem.y[rows])
    return lambda test: output(model, problem, X.iloc[test])


def measured(problem: Problem, seed: int, constraint: Any, effort: str) -> np.ndarray:
    """Metric and seconds of lambdak, of trees that stop early, and of trees by default, (3, 2)."""
    order = np.random.default_rng(seed).permutation(len(problem.y))
    test, train = np.split(order, [len(order) // 5])
    found = []
    for fit, how in ((spectral, effort), (trees, TREES), (trees, {})):
        began = time.perf_counter()
        with threadpool_limits(1):
            predict = fit(problem, train, seed, constraint, how)
        seconds = time.perf_counter() - began
        found.append((score(problem, test, predict(test)), seconds))
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tables", nargs="+", choices=list(GROUPS), default=list(GROUPS))
    parser.add_argument("--constraints", nargs="+", choices=CONSTRAINTS, default=list(CONSTRAINTS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--effort", default="balanced")
    arguments = parser.parse_args()
    print(f"{'table':<14}{'metric':<10}{'interaction_cst':<17}{'lambdak':>9}{'trees':>9}{'better':>9}{'s':>8}{'s':>8}")
    won = 0
    for name in arguments.tables:
        problem = load(name, arguments.data)
        sign = -1 if problem.task in SMALLER_IS_BETTER else 1
        for word in arguments.constraints:
            constraint = {"none": None, "groups": GROUPS[name]}.get(word, word)
            each = [measured(problem, seed, constraint, arguments.effort) for seed in range(arguments.seeds)]
            own, *peers = np.mean(each, axis=0).tolist()
            peer = max(peers, key=lambda pair: sign * pair[0])
            won += sign * own[0] > sign * peer[0]
            better = "lambdak" if sign * own[0] > sign * peer[0] else "trees"
            head = f"{name:<14}{MEASURE[problem.task]:<10}{word:<17}"
            print(f"{head}{own[0]:>9.4f}{peer[0]:>9.4f}{better:>9}{own[1]:>8.1f}{peer[1]:>8.1f}", flush=True)
    print(f"lambdak is better in {won} of {len(arguments.tables) * len(arguments.constraints)} rows", file=sys.stderr)


if __name__ == "__main__":
    main()
