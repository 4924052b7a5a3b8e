"""Proven optima against brute force: random models of all kinds, up to three free columns, every point of fine grids.

usage: python benchmarks/optimize_brute.py [--models 500] [--seed 0] [--time-limit 10]

Each problem has random free columns, a random row for the others, and perhaps a linear constraint, a limit on the
prediction, a product with a column, or whole numbers. It fails if any row of the grid, as ``predict`` sees it, is
better than the proven bound, if the value is not what ``predict`` says of the row, if the row breaks a constraint, or
if a problem that has a solution on the grid is called infeasible. A problem is found again by --seed N --models 1.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lambdak.model import Model
from lambdak.optimize import column, minimize, predicted
from lambdak.optimize.minimum.expression import evaluate
from lambdak.table.category_levels import OTHER
from random_models import random_subject

GAP = 1e-3
NUMBERS = ("income", "age", "steps")


@dataclass(frozen=True)
class Case:
    """A problem as the user writes it."""

    model: Model
    objective: Any
    free: list[str]
    fixed: dict[str, Any]
    options: dict[str, Any]


def random_case(rng: np.random.Generator) -> Case:
    model = random_subject(rng).model
    own = {each.name: each for each in model.encoder.columns}
    free = [str(name) for name in rng.choice(list(own), rng.integers(1, 4), replace=False)]
    fixed = {name: _cell(rng, each) for name, each in own.items()}
    labels = None if model.classes is None or len(model.output_names) == 1 else list(model.classes.tolist())
    output = None
    if labels is not None:
        output = labels[int(rng.integers(len(model.output_names)))]
    objective = predicted(model, output)
    numbers = [name for name in free if name in NUMBERS]
    options: dict[str, Any] = {"maximize": bool(rng.random() < 0.5)}
    if numbers and rng.random() < 0.25:
        name = str(rng.choice(numbers))
        objective = (column(name) - float(_cell(rng, own[name], whole_range=True))) * objective
    constraints: list[Any] = []
    if numbers and rng.random() < 0.4:
        terms = [f"{rng.normal() / max(_width(own[name]), 1e-9)!r}*`{name}`" for name in numbers]
        middle = sum(
            float(t.split("*")[0]) * _cell(rng, own[n], whole_range=True) for t, n in zip(terms, numbers, strict=True)
        )
        constraints.append(f"{' + '.join(terms)} <= {middle!r}")
    if rng.random() < 0.3:
        level = evaluate(predicted(model, output), {**fixed, **_other(rng, own)})
        constraints.append(
            predicted(model, output) <= level if rng.random() < 0.5 else predicted(model, output) >= level
        )
    if "steps" in free and rng.random() < 0.5:
        options["whole"] = ["steps"]
    options["constraints"] = constraints
    return Case(model, objective, free, fixed, options)


def _width(own: Any) -> float:
    return float(own.high - own.low)


def _other(rng: np.random.Generator, own: dict[str, Any]) -> dict[str, Any]:
    return {name: _cell(rng, each, whole_range=True) for name, each in own.items()}


def _cell(rng: np.random.Generator, own: Any, whole_range: bool = False) -> Any:
    if own.is_number:
        x = float(own.low + rng.random() * (own.high - own.low))
        return x if whole_range or rng.random() < 0.9 else np.nan
    known = [level for level in own.levels if level is not OTHER]
    return (
        str(rng.choice([level for level in known if level is not None])) if whole_range or rng.random() < 0.8 else None
    )


def grid(case: Case, most: int) -> pd.DataFrame:
    """Knots, numbers evenly between, and all levels, of the free columns."""
    share = max(3, int(most ** (1 / len(case.free))))
    axes = [
        _grid_axis(own, share, own.name in case.options.get("whole", ()))
        for own in case.model.encoder.columns
        if own.name in case.free
    ]
    names = [own.name for own in case.model.encoder.columns if own.name in case.free]
    rows = pd.DataFrame(list(itertools.product(*axes)), columns=names)
    for name, cell in case.fixed.items():
        if name not in names:
            rows[name] = pd.Series([cell] * len(rows), dtype=object if not isinstance(cell, float) else float)
    return rows[[own.name for own in case.model.encoder.columns]]


def _grid_axis(own: Any, share: int, whole: bool) -> list[Any]:
    if not own.is_number:
        return [level for level in own.levels if level is not None and level is not OTHER]
    numbers = np.unique([*own.nodes(), *np.linspace(own.low, own.high, share)])
    numbers = np.unique(np.clip(np.rint(numbers), np.ceil(own.low), np.floor(own.high))) if whole else numbers
    return numbers.tolist()


def seen(case: Case, expression: Any, rows: pd.DataFrame) -> np.ndarray:
    """An expression at all rows, from what the model predicts."""
    total = np.full(len(rows), expression.constant)
    for name, a in expression.linear.items():
        total += a * rows[name].to_numpy(float)
    for own in expression.products:
        raw = np.asarray(case.model.raw(rows)).reshape(len(rows), len(case.model.output_names))
        prediction = case.model.loss.link.predictions(raw)[:, own.predicted.output]
        total += (own.offset + (0 if own.column is None else own.slope * rows[own.column].to_numpy(float))) * prediction
    return total


def allowed(case: Case, rows: pd.DataFrame) -> np.ndarray:
    kept = np.ones(len(rows), bool)
    for limit in case.options["constraints"]:
        if isinstance(limit, str):
            kept &= rows.rename(columns=str).eval(limit.replace("`", "")).to_numpy()
        else:
            kept &= seen(case, limit.expression, rows) <= 0
    return kept


def check(case: Case, most: int, time_limit: float) -> tuple[str, str, float]:
    """What is wrong ("" if nothing), the status, and the gap."""
    found = minimize(case.objective, case.free, fixed=case.fixed, gap=GAP, time_limit=time_limit, **case.options)
    rows = grid(case, most)
    values = seen(case, case.objective, rows)
    kept = allowed(case, rows)
    rows, values = rows[kept], values[kept]
    sign = -1.0 if case.options["maximize"] else 1.0
    best = float((sign * values).min(initial=np.inf))
    if best < sign * found.bound:
        return f"a row has {sign * best!r}, beyond the bound {found.bound!r}", found.status, found.gap
    if found.row is None:
        return (
            (
                ""
                if not len(rows)
                else f"{len(rows)} rows of the grid are feasible"
                if found.status == "infeasible"
                else ""
            ),
            found.status,
            found.gap,
        )
    own = pd.DataFrame([found.row])[list(rows.columns)]
    if not allowed(case, own).all() and not _nearly(case, own):
        return "the row breaks a constraint", found.status, found.gap
    if float(seen(case, case.objective, own)[0]) != found.value:
        return (
            f"the value is {found.value!r}, predicted is {seen(case, case.objective, own)[0]!r}",
            found.status,
            found.gap,
        )
    if (
        found.status == "optimal"
        and sign * found.value
        > best + GAP * max(abs(found.value), abs(found.value - found.bound) / max(found.gap, 1e-300)) * 1.001
    ):
        return f"not optimal: {found.value!r}, the grid has {sign * best!r}", found.status, found.gap
    return "", found.status, found.gap


def _nearly(case: Case, own: pd.DataFrame) -> bool:
    """Whether linear constraints are met up to rounding, and all others exactly."""
    for limit in case.options["constraints"]:
        if isinstance(limit, str):
            left, right = limit.split("<=")
            terms = [(float(t.split("*")[0]), t.split("*")[1].strip(" `")) for t in left.split(" + ")]
            parts = [a * float(own[name].iloc[0]) for a, name in terms]
            if sum(parts) > float(right) + 2e-9 * (sum(map(abs, parts)) + abs(float(right))):
                return False
        elif seen(case, limit.expression, own)[0] > 0:
            return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--grid", type=int, default=20_000)
    parser.add_argument("--time-limit", type=float, default=10.0)
    args = parser.parse_args()
    statuses: Counter[str] = Counter()
    wrong, slowest, start = 0, (0.0, 0), time.perf_counter()
    for seed in range(args.seed, args.seed + args.models):
        case = random_case(np.random.default_rng(seed))
        began = time.perf_counter()
        try:
            problem, status, gap = check(case, args.grid, args.time_limit)
        except Exception as error:
            problem, status, gap = f"{type(error).__name__}: {error}", "error", np.nan
        slowest = max(slowest, (time.perf_counter() - began, seed))
        statuses[status] += 1
        if problem or status not in ("optimal", "infeasible"):
            wrong += bool(problem)
            print(f"seed {seed}: {problem or status} (gap {gap:.2g}; free {case.free}, {case.options})", flush=True)
    seconds = time.perf_counter() - start
    print(f"{args.models} problems in {seconds:.0f} s: {wrong} wrong; {dict(statuses)}")
    print(f"slowest {slowest[0]:.1f} s, seed {slowest[1]}")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
