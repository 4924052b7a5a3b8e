"""All 678,013 rows of freMTPL2: time and peak memory of a fit, each contestant in a process of its own.

usage: python benchmarks/large.py [--data DIR] [--effort balanced]

The peak includes Python, the libraries and the table itself (also printed alone). A fifth of the rows is the test.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from functools import partial
from pathlib import Path

import numpy as np

import tables
from peers import METHODS, Fit
from tables import DATA, load, score

THREADS = 2


def measure(fit: Fit | None, folder: Path, queue: multiprocessing.Queue[tuple[float, ...]]) -> None:
    problem = load("fremtpl2", folder)
    order = np.random.default_rng(0).permutation(len(problem.y))
    test, train = order[: len(order) // 5], order[len(order) // 5 :]
    began = time.perf_counter()
    predict = None if fit is None else fit(problem, train, 0, THREADS)
    fitted = time.perf_counter()
    deviance = np.nan if predict is None else score(problem, test, predict(test))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    queue.put((deviance, fitted - began, time.perf_counter() - fitted, peak))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the Parquet files")
    parser.add_argument("--effort", nargs="+", default=["fast", "balanced"])
    arguments = parser.parse_args()
    tables.FREMTPL2_ROWS = 678_013
    names = [*(f"lambdak-{effort}" for effort in arguments.effort), "LightGBM"]
    contestants: dict[str, Fit | None] = {"the table alone": None} | {name: METHODS[name].fit for name in names}
    print("| | deviance | fit s | predict s | peak GB |\n|---|---|---|---|---|")
    context = multiprocessing.get_context("fork")
    for name, fit in contestants.items():
        queue = context.Queue()
        process = context.Process(target=partial(measure, fit, arguments.data, queue))
        process.start()
        deviance, fitting, predicting, peak = queue.get()
        process.join()
        print(f"| {name} | {deviance:.4f} | {fitting:.1f} | {predicting:.2f} | {peak:.2f} |", flush=True)


if __name__ == "__main__":
    main()
