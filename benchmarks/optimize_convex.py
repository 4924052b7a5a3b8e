"""The least prediction of convex models: our interior-point method beside CVXPY with Clarabel and SCS, re-run here.

usage: python benchmarks/optimize_convex.py [--columns 5 10 20] [--models 3] [--repeats 5] [--rows 20000] [--gap 1e-4]
                                            [--threads 2]

Each model is SpectralRegressor(shape="convex") on rows uniform in [-1, 1]^d: ‖Bx‖² / d + Σ |x_i − c_i| with noise. All
columns are free within their training range; "budget" adds Σ x_i ≥ the sum at the optimum without it, plus a tenth of
d. Times are medians, in ms, of all of what a user waits for: ours from the model to the proven gap, CVXPY's from the
expression to its value, with default tolerances. "CPU" is the process's own time, which a busy machine changes little;
"solver" is the part that the solver itself reports. A gap is (value − bound) / |value|, with the model's own prediction
at the point that was found, moved into the box, as value: the proven one against the bound of the same run, the true
one against our proven bound at a hundredth of the gap, because neither solver proves one. "missed by" is what the point
itself misses box and budget by. Gaps are the worst of all models; value and bound are those of the first. Needs cvxpy.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import cvxpy as cp
import numpy as np

import lambdak
from lambdak import SpectralRegressor
from lambdak.model.readout import readouts
from lambdak.optimize.axes import make_axis
from lambdak.optimize.convex.cvxpy import to_cvxpy
from lambdak.optimize.convex.solver import minimize_convex
from lambdak.optimize.frontier import Clock
from lambdak.optimize.linear import LinearRows
from lambdak.optimize.scores import Score, restrict

NOISE = 0.1


class Case(NamedTuple):
    """A fitted model, its raw score over all columns, and constraints."""

    model: SpectralRegressor
    score: Score
    linear: LinearRows


class Answer(NamedTuple):
    """A point, a proven bound (NaN if there is none), seconds in all, on the CPU, and in the solver."""

    x: np.ndarray
    bound: float
    seconds: float
    cpu: float
    solver: float


def fitted(d: int, seed: int, rows: int) -> SpectralRegressor:
    rng = np.random.default_rng(seed)
    B, center, X = rng.normal(size=(d, d)), rng.uniform(-0.5, 0.5, d), rng.uniform(-1, 1, (rows, d))
    f = ((X @ B) ** 2).sum(axis=1) / d + np.abs(X - center).sum(axis=1)
    return SpectralRegressor(shape="convex", random_state=seed).fit(X, f + rng.normal(0, NOISE * f.std(), rows))


def restricted(model: SpectralRegressor) -> Score:
    axes = [make_axis([column], None, False) for column in model.model_.encoder.columns]
    return restrict(model.model_, readouts(model.model_)[0], axes, {})


def ours(case: Case, gap: float) -> Answer:
    began, cpu = time.perf_counter(), time.process_time()
    clock = Clock(lambda value, bound: value - bound <= gap * abs(value))
    found = minimize_convex(restricted(case.model), case.linear, clock)
    seconds = time.perf_counter() - began
    return Answer(found.x, found.bound, seconds, time.process_time() - cpu, seconds)


def through_cvxpy(case: Case, solver: str) -> Answer:
    began, cpu = time.perf_counter(), time.process_time()
    x, axes = cp.Variable(len(case.score.axes)), case.score.axes
    limits = [x >= [axis.low for axis in axes], x <= [axis.high for axis in axes]]
    limits += [case.linear.matrix @ x >= case.linear.low] if len(case.linear) else []
    problem = cp.Problem(cp.Minimize(to_cvxpy(case.model, x)), limits)
    problem.solve(solver=solver)
    seconds = time.perf_counter() - began
    return Answer(x.value, np.nan, seconds, time.process_time() - cpu, problem.solver_stats.solve_time)


def cases(d: int, arguments: argparse.Namespace) -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {"box": [], "budget": []}
    for seed in range(arguments.models):
        model = fitted(d, seed, arguments.rows)
        box = Case(model, restricted(model), LinearRows.none(d))
        least = ours(box, arguments.gap).x.sum() + 0.1 * d
        budget = LinearRows(np.ones((1, d)), np.array([least]), np.array([np.inf]), ("budget",))
        found["box"].append(box)
        found["budget"].append(box._replace(linear=budget))
    return found


def compare(d: int, kind: str, own: list[Case], arguments: argparse.Namespace) -> None:
    contestants: dict[str, Callable[[Case], Answer]] = {
        "lambdak": lambda case: ours(case, arguments.gap),
        "CVXPY, Clarabel": lambda case: through_cvxpy(case, "CLARABEL"),
        "CVXPY, SCS": lambda case: through_cvxpy(case, "SCS"),
    }
    bounds = [ours(case, arguments.gap / 100).bound for case in own]
    for name, solve in contestants.items():
        runs = [[solve(case) for _ in range(arguments.repeats)] for case in own]
        values = [case.model.predict(_inside(case, run[0].x)[None])[0] for case, run in zip(own, runs, strict=True)]
        gaps = [(value - bound) / abs(value) for value, bound in zip(values, bounds, strict=True)]
        proven = [(value - run[0].bound) / abs(value) for value, run in zip(values, runs, strict=True)]
        every = [run for each in runs for run in each]
        times = [np.median([1e3 * getattr(run, part) for run in every]) for part in ("seconds", "cpu", "solver")]
        missed = max(_missed(case, run[0].x) for case, run in zip(own, runs, strict=True))
        shown = f"{100 * max(proven):.4f} %" if np.isfinite(proven).all() else "none"
        cells = [f"{d}", kind, name, *(f"{ms:.0f}" for ms in times), shown, f"{100 * max(gaps):.4f} %", f"{missed:.0e}"]
        print("| " + " | ".join([*cells, f"{values[0]:.6f}", f"{bounds[0]:.6f}"]) + " |", flush=True)


def _inside(case: Case, x: np.ndarray) -> np.ndarray:
    return np.clip(x, [axis.low for axis in case.score.axes], [axis.high for axis in case.score.axes])


def _missed(case: Case, x: np.ndarray) -> float:
    """By how much a point misses the box or a constraint."""
    room = case.linear.matrix @ x - case.linear.low
    return max(np.abs(_inside(case, x) - x).max(), -room.min(initial=0.0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", nargs="+", type=int, default=[5, 10, 20])
    parser.add_argument("--models", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--gap", type=float, default=1e-4)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    lambdak.set_num_threads(arguments.threads)
    lambdak.show_config()
    print("\n| columns | constraints | | ms | CPU ms | solver ms | proven gap | true gap | missed by | value | bound |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for d in arguments.columns:
        for kind, own in cases(d, arguments).items():
            compare(d, kind, own, arguments)


if __name__ == "__main__":
    main()
