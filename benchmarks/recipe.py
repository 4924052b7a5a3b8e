"""The study behind the defaults in training/effort.py: what changing one of them does to cross-validated metrics.

usage: python benchmarks/recipe.py [--data DIR] [--only california ...] [--folds 3] [--seeds 4] [--max-rows 100000]
                                   [--effort balanced] [--variants dim ...] [--list]

No test metric of ranks.py is looked at: the rows are cut into folds of their own, and the mean over the folds is
reported. The default is fitted with several seeds; every variant changes one setting and is compared with the mean of
these fits, fold by fold.

Gains are in units of the standard error that such a difference has from the seeds alone, and positive where the
variant is better. Where a variant does nothing, the mean gain over n tables is off zero by 1/√n (one standard
deviation), 0.23 for nineteen. "Won" counts the folds of all tables in which the variant beats the default; "time" is
the geometric mean, over the tables, of its fit time divided by the default's.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np

import lambdak
from contest import MAX_ROWS, limited
from lambdak.training import effort, factor, pilots, whitening
from lambdak.training.effort import RECIPES
from peers import spectral
from tables import DATA, MEASURE, NAMES, SMALLER_IS_BETTER, Problem, load, score

SEED = 12345  # of the partition into folds; ranks.py uses 0, 1, ...
THREADS = 2

Variants = dict[str, AbstractContextManager[Any]]

# ---- the variants: context managers inside which one setting is another -------------------------------------------

VALUES = {"dim": (5, 7, 9, 13, 17, 23), "members": (1, 3, 6, 12), "knots": (16, 32, 48), "pilot_dim": (3, 5, 7)}
FACTORS = {"row_steps": (0.5, 2), "pilot_steps": (0.5, 2)}
CONSTANTS: list[tuple[str, ModuleType, str, tuple[float, ...]]] = [
    ("whitening by column", whitening, "MOST_JOINT", (0,)),
    ("rate", effort, "_RATE", (0.03, 0.045, 0.09)),
    ("epochs of any table", effort, "_EPOCHS_OF_ANY_TABLE", (4, 18)),
    ("most epochs", effort, "_MOST_EPOCHS", (40, 160)),
    ("warm-up", effort, "_WARM_UP", (0.0, 0.2)),
    ("knots of many classes", effort, "_FEW_KNOTS", (5, 32)),
    ("classes of pilots", pilots, "_PILOT_CLASSES", (3,)),
    ("largest factor", factor, "_LARGEST", (1.0,)),
]


def field(level: str, name: str, value: float) -> AbstractContextManager[Any]:
    """One field of the recipe."""
    recipe: Any = RECIPES[level]
    return patch.dict(RECIPES, {level: replace(recipe, **{name: type(getattr(recipe, name))(value)})})


def fields(level: str) -> Variants:
    """Of the fields above those that the recipe has."""
    values = VALUES | {name: tuple(f * getattr(RECIPES[level], name, 0) for f in fs) for name, fs in FACTORS.items()}
    pairs = [(name, v) for name, vs in values.items() for v in vs if getattr(RECIPES[level], name, v) != v]
    return {f"{name} {value:g}": field(level, name, value) for name, value in pairs}


def constants() -> Variants:
    """Of the constants above those that the modules have."""
    there = [(label, module, name, v) for label, module, name, vs in CONSTANTS if hasattr(module, name) for v in vs]
    return {f"{label} {value:g}": patch.object(module, name, value) for label, module, name, value in there}


def variants(level: str) -> Variants:
    return fields(level) | constants()


# ---- cross-validation ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """Of every fold of a table: metric, larger if better, and seconds of the fit."""

    scores: np.ndarray  # (folds,), or (seeds, folds)
    seconds: np.ndarray


@dataclass(frozen=True)
class Study:
    """What is cross-validated, and how."""

    level: str
    folds: int
    seeds: int

    def cross_validate(self, problem: Problem, change: AbstractContextManager[Any], seed: int = 0) -> Outcome:
        """Fit and score each fold; ``seed`` counts repetitions: no two fits of a table have the same random state."""
        parts = np.array_split(np.random.default_rng(SEED).permutation(len(problem.y)), self.folds)
        sign, rows = -1 if problem.task in SMALLER_IS_BETTER else 1, []
        for fold, test in enumerate(parts):
            others = np.concatenate([part for i, part in enumerate(parts) if i != fold])
            began = time.perf_counter()
            with change:
                predict = spectral(problem, others, seed * self.folds + fold, THREADS, self.level)
            seconds = time.perf_counter() - began
            rows.append((sign * score(problem, test, predict(test)), seconds))
        return Outcome(*np.array(rows).T)

    def repeated(self, problem: Problem) -> Outcome:
        """The default with several seeds."""
        outcomes = [self.cross_validate(problem, nullcontext(), seed) for seed in range(self.seeds)]
        return Outcome(np.stack([o.scores for o in outcomes]), np.stack([o.seconds for o in outcomes]))


def noise(default: Outcome) -> float:
    """Standard error, from the seeds alone, of one fit's mean over the folds less the default's mean."""
    seeds, folds = default.scores.shape
    return float(np.sqrt(default.scores.var(axis=0, ddof=1).mean() * (1 + 1 / seeds) / folds))


def gain(outcome: Outcome, default: Outcome) -> float:
    difference = float((outcome.scores - default.scores.mean(axis=0)).mean())
    return difference / noise(default) if difference else 0.0


# ---- the tables ---------------------------------------------------------------------------------------------------


def print_defaults(problems: list[Problem], defaults: list[Outcome]) -> None:
    print("| table | metric | default | unit of gains | fit s |\n|---|---|---|---|---|")
    for problem, outcome in zip(problems, defaults, strict=True):
        cells = [problem.name, MEASURE[problem.task], f"{abs(outcome.scores.mean()):.5f}", f"{noise(outcome):.5f}"]
        print(f"| {' | '.join(cells)} | {outcome.seconds.mean():.2f} |", flush=True)


def heading(problems: list[Problem]) -> str:
    names = " | ".join(problem.name for problem in problems)
    return f"\n| variant | mean gain | won | time | {names} |\n|{'---|' * (len(problems) + 4)}"


def line(name: str, outcomes: list[Outcome], defaults: list[Outcome]) -> str:
    """A variant beside the default: over all tables, and the gain on each."""
    pairs = list(zip(outcomes, defaults, strict=True))
    gains = [gain(*pair) for pair in pairs]
    won = sum(int((outcome.scores > default.scores.mean(axis=0)).sum()) for outcome, default in pairs)
    ratio = np.exp(np.mean([np.log(outcome.seconds.mean() / default.seconds.mean()) for outcome, default in pairs]))
    counts = f"{won}/{sum(outcome.scores.size for outcome in outcomes)}"
    return (
        f"| {name} | {np.mean(gains):+.2f} | {counts} | {ratio:.2f} | " + " | ".join(f"{g:+.1f}" for g in gains) + " |"
    )


def progress(name: str, problem: Problem, outcome: Outcome) -> Outcome:
    scores = np.array2string(outcome.scores, precision=6, max_line_width=200).replace("\n", "")
    print(f"{time.strftime('%X')} {name}, {problem.name}: {scores}", file=sys.stderr, flush=True)
    return outcome


def run(study: Study, problems: list[Problem], chosen: Variants) -> None:
    """Print the tables, every row as soon as it is known."""
    defaults = [progress("default", problem, study.repeated(problem)) for problem in problems]
    print_defaults(problems, defaults)
    print(heading(problems))
    for name, change in chosen.items():
        outcomes = [progress(name, problem, study.cross_validate(problem, change)) for problem in problems]
        print(line(name, outcomes, defaults), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the Parquet files")
    parser.add_argument("--only", nargs="+", default=NAMES, choices=NAMES, metavar="TABLE")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=4, help="fits of the default per fold, at least 2")
    parser.add_argument("--max-rows", type=int, default=MAX_ROWS, help="of longer tables, so many random rows")
    parser.add_argument("--effort", default="balanced", choices=RECIPES)
    parser.add_argument("--variants", nargs="+", default=[""], help="names, or how they begin")
    parser.add_argument("--list", action="store_true", help="print the names of the variants and stop")
    arguments = parser.parse_args()
    known = variants(arguments.effort)
    if arguments.list:
        return print(*known, sep="\n")
    if not arguments.data.is_dir():
        parser.error(f"no folder {arguments.data}: give the folder with the Parquet files with --data")
    if min(arguments.folds, arguments.seeds) < 2:
        parser.error("--folds and --seeds must be at least 2")
    chosen = {name: change for name, change in known.items() if name.startswith(tuple(arguments.variants))}
    if not chosen:
        parser.error(f"no variant begins with {arguments.variants}; there are {', '.join(known)}")
    warnings.filterwarnings("ignore")
    lambdak.show_config()
    print(f"\n{RECIPES[arguments.effort]}, {arguments.folds} folds, default over {arguments.seeds} seeds\n")
    problems = [limited(load(name, arguments.data), arguments.max_rows) for name in arguments.only]
    return run(Study(arguments.effort, arguments.folds, arguments.seeds), problems, chosen)


if __name__ == "__main__":
    main()
