"""Reasons of declined rows: how many rows a second, how often one column is enough, and whether any claim is wrong.

usage: python benchmarks/reasons.py [--effort fast balanced] [--rows 4000] [--tried 300] [--data DIR]

No lender's table is at hand: adult stands for one, where a row is approved if a model predicts more than 50,000 a year.
Every claim about the first --tried declined rows is tried on ``predict`` and ``predict_proba``: a range at its ends, at
the knots in it and their neighbours, at random numbers and far beyond where it has no end; "no value alone" with all of
these and an unseen level. "wrong" must be 0. Rows a second are those of the whole call, approved ones included.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lambdak import SpectralClassifier
from tables import DATA

SIGNS = {"capital_gain": 1, "hours_per_week": 1, "education_num": 1}
PROTECTED = ["sex", "race"]


class Claim(NamedTuple):
    """Rows, and what must be true of each of them."""

    rows: pd.DataFrame
    approved: bool | None
    at_least: float


def adult(folder: Path, name: str) -> tuple[pd.DataFrame, np.ndarray]:
    frame = pd.read_parquet(folder / f"adult_{name}.parquet")
    return frame.drop(columns="income"), frame["income"].str.contains(">").to_numpy()


def inside(column: Any, low: float, high: float, rng: np.random.Generator) -> list[float]:
    first, last = sorted((max(low, column.low), min(high, column.high)))
    nodes = column.nodes()
    beside = [*np.nextafter(nodes, -np.inf), *np.nextafter(nodes, np.inf), -1e300, 1e300, first - 1, last + 1]
    return [x for x in (first, last, *rng.uniform(first, last, 16), *nodes, *beside) if low <= x <= high]


def claims(model: SpectralClassifier, X: pd.DataFrame, decision: Any, rng: np.random.Generator) -> Iterator[Claim]:
    """All that is said about one row."""
    columns, row = {column.name: column for column in model.model_.encoder.columns}, X.iloc[[decision.row]]
    for reason in decision.reasons:
        column = columns[reason.column]
        numbers = column.is_number and reason.low is not None
        cells = inside(column, reason.low, reason.high, rng) if numbers else reason.levels
        if len(cells):
            yield Claim(with_cells(row, reason.column, cells), True if reason.enough else None, reason.then)
        if reason.never_enough:
            levels = [] if column.is_number else [level for level in column.levels if isinstance(level, str)]
            every = inside(column, -np.inf, np.inf, rng) if column.is_number else [*levels, "never seen"]
            yield Claim(with_cells(row, reason.column, every), False, 0.0)
    if decision.together:
        yield Claim(row.assign(**decision.together), True, 0.0)


def with_cells(row: pd.DataFrame, name: str, cells: Any) -> pd.DataFrame:
    return row.loc[row.index.repeat(len(cells))].assign(**{name: list(cells)})


def broken(model: SpectralClassifier, claim: Claim) -> bool:
    label, probability = model.predict(claim.rows), model.predict_proba(claim.rows)[:, 1]
    wrong = claim.approved is not None and bool((label != claim.approved).any())
    return wrong or bool((probability < claim.at_least).any())


def line(effort: str, options: argparse.Namespace) -> str:
    model = SpectralClassifier(effort=effort, monotonic_cst=SIGNS, random_state=0).fit(*adult(options.data, "train"))
    X = adult(options.data, "test")[0].head(options.rows)
    request = {"target": True, "exclude": PROTECTED, "immutable": ["age"]}
    model.reasons(X.head(64), **request)
    began = time.perf_counter()
    found = model.reasons(X, **request)
    seconds = time.perf_counter() - began
    declined, rng = found.declined, np.random.default_rng(0)
    tried = [broken(model, claim) for own in declined[: options.tried] for claim in claims(model, X, own, rng)]
    alone = np.array([any(reason.enough for reason in own.reasons) for own in declined])
    joint = np.array([bool(own.together) for own in declined])
    size, rate = f"{len(model.model_.weights)} × {model.model_.dim}", len(X) / seconds
    return (
        f"| {effort} | {size} | {len(declined):,} of {len(X):,} | {rate:,.0f} | {100 * alone.mean():.0f} % | "
        f"{100 * joint.mean():.0f} % | {sum(tried)} of {len(tried):,} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--effort", nargs="+", default=["fast", "balanced"])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--tried", type=int, default=300)
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    print("| effort | members × dim | declined | rows/s | one column is enough | a few together | wrong claims |")
    print("|---|---|---|---|---|---|---|")
    for effort in options.effort:
        print(line(effort, options), flush=True)


if __name__ == "__main__":
    main()
