"""Decisions from noisy rows where the best one is known: what is lost by trusting a model, ours beside LightGBM.

usage: python benchmarks/regret.py [--problems concave_budget ...] [--rows 500 2000] [--seeds 20] [--noise 0.5]
                                   [--seconds 3] [--effort balanced] [--threads 1]

Every seed draws rows uniform in the box and targets f(x) + noise of --noise standard deviations of f; models are
fitted, the largest prediction is sought, and the true f at that point is compared with the true optimum. Regret is
(best f − f(x)) / (best f − mean f): 0 is the best decision, 1 is as good as a random one, and more is worse than that.
Lines: SpectralRegressor(shape="concave"), on problems where that is true, and without a shape, each maximised by
lambdak.optimize (gap 1 %, at most --seconds); LightGBM (stops early on a fifth of the rows) maximised by
differential_evolution for as long as ours took, a second at least; both models' best training row, for those who do not
trust a model far from its rows; and the row with the largest target. Needs lightgbm; it is left out if missing.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize as local_minimize

import lambdak
from lambdak import SpectralRegressor
from lambdak.optimize import minimize
from optimize_searches import evolve

Function = Callable[[np.ndarray], np.ndarray]  # of points (n, columns)


class Problem(NamedTuple):
    """A function to maximise over [0, 1]^columns."""

    columns: int
    concave: bool
    f: Function


# ---- problems -------------------------------------------------------------------------------------------------------


def budget(X: np.ndarray) -> np.ndarray:
    """Revenue of five channels with saturation, less what they cost: concave, its best spends differ."""
    gain, speed, price = np.array([3.0, 2, 2, 1, 1]), np.array([4.0, 8, 2, 10, 5]), np.array([2.0, 1.5, 1, 1.2, 0.4])
    return (gain * np.log1p(speed * X) - price * 2 * X).sum(axis=1)


def quadratic(X: np.ndarray) -> np.ndarray:
    """Six columns that interact: −(x − c)ᵀ Q (x − c), concave."""
    rng = np.random.default_rng(1)
    B, center = rng.normal(size=(6, 6)), rng.uniform(0.2, 0.8, 6)
    return -np.square((X - center) @ B).sum(axis=1)


HARTMANN_A = np.array([[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8],
                       [17, 8, 0.05, 10, 0.1, 14]])  # fmt: skip
HARTMANN_P = np.array([[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
                       [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381]]) / 1e4  # fmt: skip


def hartmann(X: np.ndarray) -> np.ndarray:
    """The usual six columns with six local maxima."""
    away = (HARTMANN_A * np.square(X[:, None, :] - HARTMANN_P)).sum(axis=2)
    return np.exp(-away) @ np.array([1.0, 1.2, 3.0, 3.2])


def waves(X: np.ndarray) -> np.ndarray:
    """Four columns, a bowl with two or three hills in each: 81 local maxima or less."""
    center = np.array([0.3, 0.7, 0.45, 0.6])
    return (0.3 * np.cos(4 * np.pi * (X - center)) - 2 * np.square(X - center - 0.08)).sum(axis=1)


def price(X: np.ndarray) -> np.ndarray:
    """Price times demand, which falls in the price faster where quality is low and rises with advertising."""
    own = 1 + 9 * X[:, 0]
    demand = 1 / (1 + np.exp(1.2 * (own - 3 - 4 * X[:, 1]))) * (0.4 + 0.6 * np.sqrt(X[:, 2])) * (0.7 + 0.3 * X[:, 3])
    return own * demand - 1.5 * X[:, 1] ** 2 - 0.8 * X[:, 2]


PROBLEMS = {
    "concave_budget": Problem(5, True, budget),
    "concave_quadratic": Problem(6, True, quadratic),
    "price": Problem(4, False, price),
    "hartmann": Problem(6, False, hartmann),
    "waves": Problem(4, False, waves),
}


def best_and_mean(problem: Problem) -> tuple[float, float]:
    """The true optimum, by local searches from the best of many rows, and the mean."""
    X = np.random.default_rng(0).random((200_000, problem.columns))
    values = problem.f(X)
    starts, box = X[np.argsort(-values)[:50]], [(0.0, 1.0)] * problem.columns
    ends = [local_minimize(lambda x: -problem.f(x[None])[0], x, bounds=box, tol=1e-12) for x in starts]
    return max(-end.fun for end in ends), float(values.mean())


# ---- decisions ------------------------------------------------------------------------------------------------------


def decide(problem: Problem, X: np.ndarray, y: np.ndarray, args: argparse.Namespace, seed: int) -> Iterator[Any]:
    """(Name, the point that was chosen, seconds) of everyone."""
    seconds = 1.0
    for shape in ["concave", None] if problem.concave else [None]:
        own = f"lambdak, {shape or 'free'}"
        model = SpectralRegressor(shape=shape, effort=args.effort, random_state=seed, n_jobs=args.threads).fit(X, y)
        x, took = ours(model, problem, args.seconds)
        yield own, x, took
        seconds = max(took, 1.0)
    yield "lambdak, free: best row", X[np.argmax(model.predict(X))], 0.0
    yield from of_trees(X, y, seconds, seed)
    yield "row with the largest target", X[np.argmax(y)], 0.0


def ours(model: SpectralRegressor, problem: Problem, seconds: float) -> tuple[np.ndarray, float]:
    names = [f"x{i}" for i in range(problem.columns)]
    began = time.perf_counter()
    found = minimize(model, names, bounds=dict.fromkeys(names, (0.0, 1.0)), maximize=True, gap=0.01, time_limit=seconds)
    return np.array([found.row[name] for name in names]), time.perf_counter() - began


def of_trees(X: np.ndarray, y: np.ndarray, seconds: float, seed: int) -> Iterator[Any]:
    try:
        import lightgbm
    except ImportError:
        return
    cut = len(X) // 5
    model = lightgbm.LGBMRegressor(n_estimators=2000, learning_rate=0.05, verbose=-1, n_jobs=1, random_state=seed)
    stop = lightgbm.early_stopping(50, verbose=False)
    model.fit(X[cut:], y[cut:], eval_set=[(X[:cut], y[:cut])], callbacks=[stop])
    x = evolve(lambda points: -model.predict(points), [(0.0, 1.0)] * X.shape[1], seconds)
    yield "LightGBM, differential_evolution", x, seconds
    yield "LightGBM: best row", X[np.argmax(model.predict(X))], 0.0


def regrets(problem: Problem, rows: int, args: argparse.Namespace) -> dict[str, list[tuple[float, float]]]:
    """(Regret, seconds) of everyone in all seeds."""
    best, mean = best_and_mean(problem)
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in range(args.seeds):
        rng = np.random.default_rng(seed)
        X = rng.random((rows, problem.columns))
        f = problem.f(X)
        y = f + rng.normal(0, args.noise * f.std(), rows)
        for name, x, seconds in decide(problem, X, y, args, seed):
            lost = (best - problem.f(np.asarray(x)[None])[0]) / (best - mean)
            found.setdefault(name, []).append((float(lost), seconds))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--rows", nargs="+", type=int, default=[500, 2000])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--noise", type=float, default=0.5)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--effort", default="balanced")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    lambdak.set_num_threads(args.threads)
    warnings.filterwarnings("ignore")
    print(f"{args.seeds} seeds, effort {args.effort}, noise {args.noise} standard deviations\n")
    print("| problem | rows | decision by | mean regret | ± s.e. | median | worst | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name in args.problems:
        for rows in args.rows:
            for who, pairs in regrets(PROBLEMS[name], rows, args).items():
                lost, seconds = np.array(pairs).T
                error = lost.std(ddof=1) / np.sqrt(len(lost)) if len(lost) > 1 else np.nan
                numbers = f"{lost.mean():.4f} | {error:.4f} | {np.median(lost):.4f} | {lost.max():.4f}"
                print(f"| {name} | {rows} | {who} | {numbers} | {seconds.mean():.2f} |", flush=True)


if __name__ == "__main__":
    main()
