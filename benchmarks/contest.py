"""One result of the comparison: a contestant, fitted and scored on one split of a table; and files of results."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from peers import METHODS
from tables import MEASURE, Problem, categories, load, score

MAX_ROWS = 100_000  # birthdays and flights have more
REPEATS, ENOUGH = 5, 1.0  # a fit is repeated until it took so many seconds in all: its time is the median
SUBSAMPLE_SEED = 2024


@dataclass(frozen=True)
class Entry:
    """What is to be measured."""

    table: str
    split: int
    method: str
    rows: int  # of the table, perhaps cut
    threads: int
    version: str


@dataclass(frozen=True)
class Result(Entry):
    """What was measured, or why it was not."""

    task: str = ""
    score: float | None = None
    fit: float | None = None  # seconds, wall
    predict: float | None = None  # seconds for all test rows
    load: float = 0.0  # average of the machine over a minute, before the fit
    error: str = ""
    cpu: float | None = None  # seconds of the processor for the fit; None where only wall seconds were taken

    @property
    def entry(self) -> Entry:
        """What was to be measured."""
        return Entry(self.table, self.split, self.method, self.rows, self.threads, self.version)


def limited(problem: Problem, max_rows: int) -> Problem:
    """Of a longer table always the same random rows; names and booleans as categories, for all contestants alike."""
    problem = replace(problem, X=categories(problem.X))
    if len(problem.y) <= max_rows:
        return problem
    rows = np.sort(np.random.default_rng(SUBSAMPLE_SEED).permutation(len(problem.y))[:max_rows])
    exposure = None if problem.exposure is None else problem.exposure[rows]
    return replace(problem, X=problem.X.iloc[rows].reset_index(drop=True), y=problem.y[rows], exposure=exposure)


def parts(rows: int, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Training rows, and a fifth of all rows for the test."""
    order = np.random.default_rng(split).permutation(rows)
    return order[rows // 5 :], order[: rows // 5]


def median_times(call: Callable[[], Any], repeats: int) -> tuple[Any, float, float]:
    """The first result, and the median wall and CPU seconds of several calls where they are short."""
    results, wall, cpu = [], [], []
    while len(wall) < repeats and sum(wall) < ENOUGH:
        began, used = time.perf_counter(), time.process_time()
        results.append(call())
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - used)
    return results[0], statistics.median(wall), statistics.median(cpu)


def median_seconds(call: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    """The first result, and the median wall seconds of several calls where they are short."""
    result, seconds, _ = median_times(call, repeats)
    return result, seconds


def measure(problem: Problem, entry: Entry, repeats: int = REPEATS) -> Result:
    """Fit and score; a contestant that fails says why."""
    warnings.filterwarnings("ignore")
    train, test = parts(len(problem.y), entry.split)
    method, about = METHODS[entry.method], {"task": problem.task, "load": round(os.getloadavg()[0], 2)}
    try:
        method.prepare()
        with threadpool_limits(entry.threads):
            fit = partial(method.fit, problem, train, entry.split, entry.threads)
            predict, fit_seconds, cpu = median_times(fit, repeats)
            predicted, predict_seconds = median_seconds(partial(predict, test), repeats)
        metric = score(problem, test, predicted)
    except Exception as failure:
        return Result(**asdict(entry), **about, error=f"{type(failure).__name__}: {failure}"[:300])
    return Result(**asdict(entry), **about, score=metric, fit=fit_seconds, predict=predict_seconds, cpu=cpu)


def _in_child(folder: Path, entry: Entry, connection: Any) -> None:
    os.setsid()  # so that what the child starts ends with it
    connection.send(measure(limited(load(entry.table, folder), entry.rows), entry))


def measure_within(seconds: float, folder: Path, entry: Entry) -> Result:
    """The same in a process of its own, which is ended after so many seconds."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_in_child, args=(folder, entry, sender))
    child.start()
    sender.close()
    try:
        if receiver.poll(seconds):
            return receiver.recv()
        return Result(**asdict(entry), error=f"not ended after {seconds:g} s")
    except EOFError:
        return Result(**asdict(entry), error="the process ended without a result")
    finally:
        _end(child)


def _end(child: Any) -> None:
    child.join(5)
    if child.is_alive():
        os.killpg(child.pid, signal.SIGKILL)
        child.join()


def measured(problem: Problem, entry: Entry, folder: Path, limit: float, repeats: int, file: Path | None) -> Result:
    """Measure, print a line and add it to a file; an optional contestant has a process of its own, and ``limit``."""
    optional = METHODS[entry.method].optional
    result = measure_within(limit, folder, entry) if optional else measure(problem, entry, repeats)
    found = result.error
    if result.score is not None:
        found = f"{MEASURE[result.task]} {result.score:.5f}, fit {result.fit:.3f} s (CPU {result.cpu:.3f} s)"
    print(f"{result.table} split {result.split} {result.method}: {found}, load {result.load}", flush=True)
    write_result(file, result)
    return result


def read_results(file: Path | None) -> list[Result]:
    """All results of a file, oldest first; the end of a line that a killed run did not finish is none."""
    if file is None or not file.exists():
        return []
    return [Result(**json.loads(line)) for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]


def write_result(file: Path | None, result: Result) -> None:
    """Add a line to a file, after its last whole line."""
    if file is None:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a+b") as stream:
        stream.seek(0)
        stream.truncate(stream.read().rfind(b"\n") + 1)
        stream.write(f"{json.dumps(asdict(result))}\n".encode())
