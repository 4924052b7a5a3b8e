"""What every shape costs, in accuracy and in time, where it is true and where it is false; peers in the same run.

usage: python benchmarks/shapes.py [--data DIR] [--only concrete Valley ...] [--splits 3] [--rows 2000] [--effort fast]
                                   [--models lambdak LightGBM ...] [--lattice PYTHON]

Each line is one constraint on one table: the mean metric of the free model (R², AUC, or Poisson deviance), that of the
constrained one on the same splits, by how much it is better (positive is a gain whatever the metric) ± the standard
deviation of that over the splits, and how many times the CPU seconds of the free fit it took. Synthetic tables are
exactly what the shape says, with 200 and with 1,000 training rows; on real ones its truth is a judgement. Each table
has the opposite of a shape, too, which is false.

Peers get the same constraint where they have one, and stop early as their users let them: LightGBM with 2000 trees at
rate 0.05 on a tenth of the training rows, EBM by its default; glum and pyGAM have a penalty that they choose or none.
``--lattice`` names an interpreter that has tensorflow-lattice, which needs versions of its own: its calibrated lattices
are then fitted there, to numbers only; what is convex in them is the calibrator, not the prediction. At the end stands
what of the aim is met: true shapes cost no more than 0.001 of R² or AUC with 1,000 rows or more, gain with 200, and
take at most twice the time.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import ShuffleSplit

import lambdak
from lambdak import SpectralClassifier, SpectralRegressor
from lambdak import shapes as s
from shape_peers import PEERS, installed, lattice
from shape_tables import CASES, Case
from tables import DATA, MEASURE, SMALLER_IS_BETTER, Problem, score

SEED = 31  # of the splits
MOST_TEST = 5000  # rows
NOISE = 0.001  # of R² or AUC: what a true shape may cost
MOST_TIME = 2.0  # of a constrained fit, in units of the free one


@dataclass(frozen=True)
class Result:
    """One constraint on one table, by one model: metrics and CPU seconds of every split, free and constrained."""

    case: str
    task: str
    rows: int
    label: str
    true: bool
    model: str
    free: tuple[float, ...]
    constrained: tuple[float, ...]
    seconds: tuple[float, float]

    @property
    def gains(self) -> np.ndarray:
        """By how much the constrained model is better, split by split."""
        sign = -1.0 if self.task in SMALLER_IS_BETTER else 1.0
        return sign * (np.array(self.constrained) - np.array(self.free))

    @property
    def ratio(self) -> float:
        """CPU seconds of the constrained fits over those of the free ones."""
        return self.seconds[1] / self.seconds[0]

    def line(self) -> str:
        """Return it as a row of the table."""
        gains = self.gains
        cells = [
            f"{self.case}, {self.rows:,} rows", self.label, "true" if self.true else "false", self.model,
            f"{MEASURE[self.task]} {np.mean(self.free):.4f}", f"{np.mean(self.constrained):.4f}",
            f"{gains.mean():+.4f} ± {gains.std(ddof=1):.4f}", f"{self.ratio:.2f}",
        ]  # fmt: skip
        return f"| {' | '.join(cells)} |"


def spectral(problem: Problem, rows: np.ndarray, constraints: Sequence[s.Shape], seed: int, effort: str) -> Any:
    """Fit lambdak, and return predictions of rows."""
    settings = {"effort": effort, "random_state": seed, "n_jobs": 1, "constraints": list(constraints) or None}
    if problem.task == "classification":
        model = SpectralClassifier(**settings).fit(problem.X.iloc[rows], problem.y[rows])
        return lambda test: model.predict_proba(problem.X.iloc[test])[:, 1]
    if problem.task != "poisson":
        model = SpectralRegressor(**settings).fit(problem.X.iloc[rows], problem.y[rows])
        return lambda test: model.predict(problem.X.iloc[test])
    offset = np.log(problem.exposure)
    model = SpectralRegressor("poisson", **settings).fit(problem.X.iloc[rows], problem.y[rows], offset=offset[rows])
    return lambda test: model.predict(problem.X.iloc[test], offset=offset[test])


Fit = Callable[[Problem, np.ndarray, Sequence[s.Shape], int], Any]


def measured(problem: Problem, fit: Fit, constraints: Sequence[s.Shape], splits: Any) -> tuple[list[float], float]:
    """Metrics of all splits, and CPU seconds of all fits."""
    found, seconds = [], 0.0
    for seed, (rows, test) in enumerate(splits):
        began = time.process_time()
        predict = fit(problem, rows, constraints, seed)
        seconds += getattr(predict, "seconds", time.process_time() - began)
        found.append(score(problem, test, np.asarray(predict(test))))
    return found, seconds


def answers(case: Case, arguments: argparse.Namespace) -> list[Result]:
    """All constraints on a table, by all models that have them."""
    problem, results = case.problem(arguments.data), []
    train = min(case.rows or arguments.rows, int(0.8 * len(problem.y)))
    splitter = ShuffleSplit(
        arguments.splits, train_size=train, test_size=min(5000, len(problem.y) - train), random_state=SEED
    )
    splits = list(splitter.split(problem.y))
    for name, fit in models(arguments).items():
        free: tuple[list[float], float] | None = None
        for question in case.questions:
            if name != "lambdak" and not PEERS[name].has(problem, question.constraints):
                continue
            print(f"{case.name} {train}: {name} {question.label}", file=sys.stderr, flush=True)
            free = measured(problem, fit, (), splits) if free is None else free
            own = measured(problem, fit, question.constraints, splits)
            result = Result(
                case.name, problem.task, train, question.label, question.true, name,
                tuple(free[0]), tuple(own[0]), (free[1], own[1]),
            )  # fmt: skip
            print(result.line(), flush=True)
            results.append(result)
    return results


def models(arguments: argparse.Namespace) -> dict[str, Fit]:
    """Name → fit of all that are wanted and installed."""
    found: dict[str, Fit] = {"lambdak": partial(spectral, effort=arguments.effort)}
    found |= {name: peer.fit for name, peer in PEERS.items() if installed(name)}
    if arguments.lattice:
        found["TF-Lattice"] = lattice(arguments.lattice)
    return {name: fit for name, fit in found.items() if name in arguments.models}


def summary(results: list[Result]) -> None:
    """What of the aim is met, by lambdak, and what is not."""
    own = [result for result in results if result.model == "lambdak" and result.true]
    measured_in_noise = [result for result in own if result.task in ("regression", "classification")]
    many = [result for result in measured_in_noise if result.rows >= 1000]
    few = [result for result in measured_in_noise if result.rows < 1000]
    aims = (
        (f"true shapes with 1,000 rows or more that cost at most {NOISE}", many, lambda r: r.gains.mean() >= -NOISE),
        ("true shapes with 200 rows that gain", few, lambda r: r.gains.mean() > 0),
        (f"true shapes that take at most {MOST_TIME:g} times the free fit", own, lambda r: r.ratio <= MOST_TIME),
    )
    print("\n| aim | met | not met |\n|---|---|---|")
    for words, among, holds in aims:
        missed = [
            f"{r.case} {r.rows:,}: {r.label} ({r.gains.mean():+.4f}, {r.ratio:.1f}x)" for r in among if not holds(r)
        ]
        print(f"| {words} | {len(among) - len(missed)} of {len(among)} | {'; '.join(missed) or '-'} |")


def main() -> None:
    names = list(dict.fromkeys(case.name for case in CASES))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the Parquet files")
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--models", nargs="+", choices=["lambdak", *PEERS], default=["lambdak", *PEERS])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=2000, help="training rows of real tables, counts of claims apart")
    parser.add_argument("--effort", default="fast", choices=["fast", "balanced", "best"])
    parser.add_argument("--lattice", help="an interpreter that has tensorflow-lattice")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    lambdak.set_num_threads(1)
    lambdak.show_config()
    missing = [name for name in arguments.models if name in PEERS and name not in models(arguments)]
    print(f"not installed: {', '.join(missing) or 'none'}\n")
    print(
        "| table | constraint | it is | model | free | constrained | gain | time |\n|---|---|---|---|---|---|---|---|"
    )
    results = [result for case in CASES if case.name in arguments.only for result in answers(case, arguments)]
    summary(results)


if __name__ == "__main__":
    main()
