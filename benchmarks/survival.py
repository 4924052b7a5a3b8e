"""Times to an event: concordance, Brier score, calibration and CPU seconds beside Cox, forests and boosted trees.

    OMP_NUM_THREADS=1 python benchmarks/survival.py --results FILE [--splits 5] [--tables GBSG2 …] [--methods …]

Needs ``pip install scikit-survival SurvSet xgboost hazardous``; survival_tables.py has the tables, survival_peers.py
says how each contestant is set. Every split holds out a fifth of the rows, which nothing sees before the metrics:

- Uno's C of the risk scores, up to the 90 % quantile of the test rows' event times;
- the integrated Brier score at 50 times from their 5 % quantile to that one, weighted for censoring by Kaplan and
  Meier's curve of all rows, the same for everybody;
- D-calibration: whether survival at the rows' own times is uniform (χ² on ten bins, p > .05).

A contestant has one thread and a process of its own, in which fit and predictions may take ``--limit`` CPU seconds;
what takes more is a line that says so. All splits 0 come first, and of these the smaller tables. A result is a line of
JSON, and a run that was ended continues where it was. Ranks are of tables on which every contestant has a result.
Tables have at least a hundred events. ``--show`` measures nothing.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import resource
import sys
import time
import warnings
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import chi2, rankdata

from contest import parts, write_result
from standings import print_rows
from survival_peers import METHODS, versions
from survival_tables import Table, load, names, structured

UNIT = "boosting"  # whose CPU seconds are one
N_TIMES, N_BINS, N_OWN = 50, 10, 200
FEWEST_EVENTS = 100  # of a table, 20 of its test rows: below, metrics are noise


@dataclass(frozen=True)
class Outcome:
    """What was measured of a contestant on a split, or why it was not."""

    table: str
    split: int
    method: str
    rows: int = 0
    columns: int = 0
    events: int = 0
    c: float | None = None
    brier: float | None = None
    calibration: float | None = None  # p-value
    cpu: float | None = None  # seconds of the fit
    error: str = ""


# ---- metrics ------------------------------------------------------------------------------------------------------


def grid_of(table: Table, test: np.ndarray) -> np.ndarray:
    """The times of the Brier score."""
    low, high = np.quantile(table.time[test][table.event[test]], [0.05, 0.9])
    return np.linspace(low, min(high, table.time[test].max() * (1 - 1e-9)), N_TIMES)


def metrics(table: Table, test: np.ndarray, predict: Any) -> tuple[float, float, float]:
    """Uno's C, the integrated Brier score, and the p-value of D-calibration."""
    from sksurv.metrics import concordance_index_ipcw, integrated_brier_score

    grid = grid_of(table, test)
    own = np.quantile(table.time[test], np.linspace(0, 1, N_OWN))
    times = np.unique(np.concatenate([grid, own]))
    risk, survival = predict(table.X.iloc[test], times)
    if not np.isfinite(survival).all():
        raise ValueError("survival is not finite")
    everybody = structured(table.time, table.event)
    c = concordance_index_ipcw(everybody, everybody[test], risk, tau=grid[-1])[0]
    brier = integrated_brier_score(everybody, everybody[test], survival[:, np.searchsorted(times, grid)], grid)
    at_own = [np.interp(t, times, curve) for t, curve in zip(table.time[test], survival, strict=True)]
    return float(c), float(brier), d_calibration(np.array(at_own), table.event[test])


def d_calibration(survival: np.ndarray, event: np.ndarray) -> float:
    """The p-value that survival at the own times is uniform; a censored row spreads over what is below."""
    edges = np.arange(N_BINS) / N_BINS
    survival = np.clip(survival, 1e-12, 1.0)
    exact = np.bincount(np.minimum((survival[event] * N_BINS).astype(int), N_BINS - 1), minlength=N_BINS)
    later = survival[~event][:, None]
    spread = np.clip(later - edges, 0, 1 / N_BINS) / later
    expected = len(survival) / N_BINS
    found = ((exact + spread.sum(axis=0) - expected) ** 2 / expected).sum()
    return float(chi2.sf(found, N_BINS - 1))


# ---- what is measured ---------------------------------------------------------------------------------------------


def measure(table: Table, split: int, method: str) -> Outcome:
    """Fit and score; a contestant that fails says why."""
    warnings.filterwarnings("ignore")
    train, test = parts(len(table.time), split)
    about = Outcome(table.name, split, method, *table.X.shape, int(table.event.sum()))
    try:
        began = time.process_time()
        predict = METHODS[method](
            table.X.iloc[train].reset_index(drop=True), table.time[train], table.event[train], split
        )
        cpu = time.process_time() - began
        c, brier, calibration = metrics(table, test, predict)
    except Exception as failure:
        return Outcome(**{**asdict(about), "error": f"{type(failure).__name__}: {failure}"[:200]})
    return Outcome(**{**asdict(about), "c": c, "brier": brier, "calibration": calibration, "cpu": cpu})


def _in_child(limit: int, table: Table, split: int, method: str, connection: Any) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    connection.send(measure(table, split, method))


def within(limit: int, table: Table, split: int, method: str) -> Outcome:
    """Measure in a process of its own, which ends after so many CPU seconds."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_in_child, args=(limit, table, split, method, sender))
    child.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        return Outcome(table.name, split, method, *table.X.shape, error=f"more than {limit} CPU seconds")
    finally:
        child.join()


def known(file: Path) -> dict[tuple[str, int, str], Outcome]:
    """The results of a file, whose last line may be unfinished."""
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    found = [Outcome(**json.loads(line)) for line in lines if line.endswith("\n")]
    return {(own.table, own.split, own.method): own for own in found}


def contest(arguments: argparse.Namespace) -> None:
    """Measure what is not known."""
    for package in ("sksurv.ensemble", "sksurv.metrics", "sksurv.linear_model", "xgboost", "hazardous"):
        with suppress(ImportError):  # once for all children
            importlib.import_module(package)
    tables = sorted(filter(_is_usable(arguments.cells), map(load, arguments.tables)), key=lambda own: own.size)
    left_out = set(arguments.tables) - {own.name for own in tables}
    print(f"{versions()}; {len(tables)} tables, without {', '.join(sorted(left_out)) or 'none'}", flush=True)
    done = known(arguments.results)
    total = len(tables) * arguments.splits * len(arguments.methods)
    at = 0
    for split in range(arguments.splits):
        for table in tables:
            for method in arguments.methods:
                at += 1
                if (table.name, split, method) not in done:
                    own = within(arguments.limit, table, split, method)
                    write_result(arguments.results, own)
                    found = own.error or f"C {own.c:.4f}, Brier {own.brier:.4f}, CPU {own.cpu:.2f} s"
                    print(f"{at} of {total}: {own.table} {table.X.shape} split {split} {method}: {found}", flush=True)


def _is_usable(cells: int) -> Any:
    def usable(table: Table) -> bool:
        return table.event.sum() >= FEWEST_EVENTS and table.size <= cells

    return usable


# ---- what is printed ----------------------------------------------------------------------------------------------


def print_all(outcomes: Iterable[Outcome], methods: list[str]) -> None:
    """A row for each contestant: mean ranks, means, how often calibrated, and CPU seconds of fits."""
    outcomes = [own for own in outcomes if own.method in methods]
    cells: dict[tuple[str, str], list[Outcome]] = {}
    for own in outcomes:
        if not own.error:
            cells.setdefault((own.table, own.method), []).append(own)
    tables = [t for t in dict.fromkeys(o.table for o in outcomes) if all((t, m) in cells for m in methods)]
    if not tables:
        print("no table on which every contestant has a result")
        return
    c, brier, cpu = (_means(cells, tables, methods, field) for field in ("c", "brier", "cpu"))
    ranks = rankdata(-c, axis=1).mean(axis=0), rankdata(brier, axis=1).mean(axis=0)
    unit = cpu[:, methods.index(UNIT)] if UNIT in methods else np.ones(len(tables))
    lines = []
    for i in np.argsort(ranks[1]):
        own = [each for table in tables for each in cells[table, methods[i]]]
        calibrated = 100 * np.mean([each.calibration > 0.05 for each in own])
        times = f"{np.exp(np.mean(np.log(cpu[:, i] / unit))):.2f}", f"{np.median(cpu[:, i]):.2f}"
        line = [f"{ranks[0][i]:.2f}", f"{ranks[1][i]:.2f}", f"{c[:, i].mean():.4f}", f"{brier[:, i].mean():.4f}"]
        lines.append([methods[i], *line, f"{calibrated:.0f} %", *times])
    splits = sorted({own.split for own in outcomes})
    print(
        f"\n{len(tables)} tables on which all have a result, splits {splits[0]} to {splits[-1]}: {', '.join(tables)}\n"
    )
    heads = ["rank by C", "rank by Brier", "mean C", "mean Brier", "D-calibrated", f"CPU in {UNIT}'s", "median CPU s"]
    print_rows(["", *heads], lines)
    for own in outcomes:
        if own.error:
            print(f"\n{own.method} has no result on {own.table}, split {own.split}: {own.error}")


def _means(
    cells: dict[tuple[str, str], list[Outcome]], tables: list[str], methods: list[str], field: str
) -> np.ndarray:
    return np.array([[np.mean([getattr(own, field) for own in cells[t, m]]) for m in methods] for t in tables])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, required=True, help="file of results, one per line")
    parser.add_argument("--tables", nargs="+", default=None, help="default: all of survival_tables.py")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--limit", type=int, default=60, help="CPU seconds of a contestant on a split")
    parser.add_argument("--cells", type=int, default=2_000_000, help="rows times columns of a table at most")
    parser.add_argument("--show", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    if not arguments.show:
        arguments.tables = arguments.tables or names()
        if unknown := set(arguments.tables) - set(names()):
            parser.error(f"--tables must be some of {', '.join(names())}; got {', '.join(sorted(unknown))}")
        contest(arguments)
    print_all(known(arguments.results).values(), arguments.methods)


if __name__ == "__main__":
    sys.exit(main())
