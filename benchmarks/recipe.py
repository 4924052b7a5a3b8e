"""The study behind the defaults in training/effort.py: what changing one of them does to cross-validated scores.

usage: python benchmarks/recipe.py [--data DIR] [--only california ...] [--folds 3] [--seeds 4] [--variants dim ...]

No test score of estimators.py is looked at: the rows are cut into folds of their own, and the mean over the folds is
reported: R² (california, bike), AUC (adult, higgs), mean Poisson deviance (fremtpl2, smaller is better). The default is
fitted with several seeds; every variant changes one setting and is compared with the mean of these fits, fold by fold.

Gains, in parentheses, are in units of the standard error that such a difference has from the seeds alone, and positive
where the variant is better. Where a variant does nothing, the mean gain over five tables is off zero by 0.45 (one
standard deviation). "Won" counts the folds of all tables in which the variant beats the default.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import lambdak
from estimators import spectral
from lambdak.training import effort, trainer, whitening
from lambdak.training.effort import GRID, RECIPES, Recipe
from tables import DATA, MEASURE, Problem, load, score

SEED = 12345  # of the partition into folds; estimators.py uses 0, 1, ...
EFFORT = "balanced"
DEFAULT = RECIPES[EFFORT]

# ---- the variants: context managers inside which one setting is another -------------------------------------------


def field(name: str, value: float) -> AbstractContextManager[Any]:
    """One field of the recipe."""
    return patch.dict(RECIPES, {EFFORT: replace(DEFAULT, **{name: int(value)})})


def fixed_strength(strength: int) -> AbstractContextManager[Any]:
    """The pilot models run, so that the random numbers stay the same, but their choice is ignored."""
    original = Recipe.regularisations
    return patch.object(Recipe, "regularisations", lambda recipe, _: original(recipe, strength))


def batch_times(factor: float) -> AbstractContextManager[Any]:
    original = effort._batch
    return patch.object(effort, "_batch", lambda rows: int(factor * original(rows)))


def fields() -> dict[str, AbstractContextManager[Any]]:
    values = {"dim": (5, 7, 9, 13, 17), "members": (1, 3, 6, 12), "knots": (16, 32, 48), "pilot_dim": (3, 5, 7)}
    found = {f"{name} {v}": field(name, v) for name, vs in values.items() for v in vs if v != getattr(DEFAULT, name)}
    for name in ("row_steps", "pilot_steps"):
        found |= {f"{name} x{factor}": field(name, factor * getattr(DEFAULT, name)) for factor in (0.5, 2)}
    return found


def constants() -> dict[str, AbstractContextManager[Any]]:
    found = {"whitening by column": patch.object(whitening, "MOST_JOINT", 0)}
    found |= {f"rate x{factor}": patch.object(effort, "_RATE", factor * effort._RATE) for factor in (0.5, 0.75, 1.5)}
    found |= {f"batch x{factor}": batch_times(factor) for factor in (0.5, 2)}
    found |= {f"epochs of any table {n}": patch.object(effort, "_EPOCHS_OF_ANY_TABLE", n) for n in (4, 18)}
    found |= {f"warm-up {share}": patch.object(trainer, "_WARM_UP", share) for share in (0.0, 0.2)}
    found |= {f"curves {knots}": patch.object(effort, "_CURVES", knots) for knots in (300, 650)}
    return found


def variants() -> dict[str, AbstractContextManager[Any]]:
    strengths = {f"strength {strength}": fixed_strength(strength) for strength in range(len(GRID))}
    return fields() | strengths | constants()


# ---- cross-validation ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """Of every fold of a table: score (larger is better), seconds of the fit, regularisation that pilots chose."""

    scores: np.ndarray  # (folds,), or (seeds, folds)
    seconds: np.ndarray
    strengths: np.ndarray


def cross_validate(problem: Problem, change: AbstractContextManager[Any], folds: int, seed: int = 0) -> Outcome:
    """Fit and score each fold; ``seed`` counts repetitions, and no two fits of a table have the same random state."""
    parts = np.array_split(np.random.default_rng(SEED).permutation(len(problem.y)), folds)
    rows = []
    for fold, test in enumerate(parts):
        others = np.concatenate([part for i, part in enumerate(parts) if i != fold])
        with (
            change,
            patch.object(Recipe, "regularisations", autospec=True, side_effect=Recipe.regularisations) as chosen,
        ):
            began = time.perf_counter()
            predict = spectral(EFFORT, seed * folds + fold)(problem, others)
            seconds = time.perf_counter() - began
        sign = -1 if problem.task == "poisson" else 1
        rows.append((sign * score(problem, test, predict(test)), seconds, chosen.call_args.args[1]))
    scores, times, strengths = np.array(rows).T
    return Outcome(scores, times, strengths.astype(int))


def repeated(problem: Problem, folds: int, seeds: int) -> Outcome:
    """The default with several seeds."""
    outcomes = [cross_validate(problem, nullcontext(), folds, seed) for seed in range(seeds)]
    return Outcome(*(np.stack([getattr(o, name) for o in outcomes]) for name in ("scores", "seconds", "strengths")))


def noise(default: Outcome) -> float:
    """Standard error, from the seeds alone, of one fit's mean over the folds less the default's mean."""
    seeds, folds = default.scores.shape
    return float(np.sqrt(default.scores.var(axis=0, ddof=1).mean() * (1 + 1 / seeds) / folds))


def gain(outcome: Outcome, default: Outcome) -> float:
    return float((outcome.scores - default.scores.mean(axis=0)).mean() / noise(default))


# ---- the table ----------------------------------------------------------------------------------------------------


def heading(problems: list[Problem]) -> str:
    names = "".join(f" {p.name} {MEASURE[p.task]} | s |" for p in problems)
    line = f"|---|{'---|---|' * len(problems)}---|---|---|"
    return f"| variant |{names} strengths chosen by the pilots | won | mean gain |\n{line}"


def line(name: str, outcomes: list[Outcome], defaults: list[Outcome]) -> str:
    """A row of the table; of the default itself, the unit of the gains in place of a gain."""
    own = outcomes is defaults
    pairs = list(zip(outcomes, defaults, strict=True))
    cells = []
    for outcome, default in pairs:
        aside = f"± {noise(default):.5f}" if own else f"({gain(outcome, default):+.1f})"
        cells.append(f"{abs(outcome.scores.mean()):.5f} {aside} | {outcome.seconds.mean():.2f}")
    strengths = " ".join("".join(map(str, outcome.strengths.ravel())) for outcome in outcomes)
    won = sum(int((outcome.scores > default.scores.mean(axis=0)).sum()) for outcome, default in pairs)
    total = np.mean([gain(*pair) for pair in pairs])
    last = "| | |" if own else f"| {won}/{sum(o.scores.size for o in outcomes)} | {total:+.2f} |"
    return f"| {name} | {' | '.join(cells)} | {strengths} {last}"


def progress(name: str, problem: Problem, outcome: Outcome) -> None:
    scores = np.array2string(outcome.scores, precision=6, max_line_width=200).replace("\n", "")
    print(f"{time.strftime('%X')} {name}, {problem.name}: {scores}", file=sys.stderr, flush=True)


def study(problems: list[Problem], chosen: dict[str, AbstractContextManager[Any]], folds: int, seeds: int) -> None:
    """Print the table, every row as soon as it is known."""
    defaults = []
    for problem in problems:
        defaults.append(repeated(problem, folds, seeds))
        progress("default", problem, defaults[-1])
    print(heading(problems))
    print(line("default", defaults, defaults), flush=True)
    for name, change in chosen.items():
        outcomes = []
        for problem in problems:
            outcomes.append(cross_validate(problem, change, folds))
            progress(name, problem, outcomes[-1])
        print(line(name, outcomes, defaults), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the Parquet files")
    parser.add_argument("--only", nargs="+", default=["california", "bike", "adult", "higgs", "fremtpl2"])
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=4, help="fits of the default per fold, at least 2")
    parser.add_argument("--variants", nargs="+", default=[""], help="names, or how they begin")
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        parser.error(f"no folder {arguments.data}: give the folder with the Parquet files with --data")
    if min(arguments.folds, arguments.seeds) < 2:
        parser.error("--folds and --seeds must be at least 2")
    chosen = {name: change for name, change in variants().items() if name.startswith(tuple(arguments.variants))}
    if not chosen:
        parser.error(f"no variant begins with {arguments.variants}; there are {', '.join(variants())}")
    warnings.filterwarnings("ignore")
    lambdak.show_config()
    print(f"\n{DEFAULT}, {arguments.folds} folds, default over {arguments.seeds} seeds\n")
    study([load(name, arguments.data) for name in arguments.only], chosen, arguments.folds, arguments.seeds)


if __name__ == "__main__":
    main()
