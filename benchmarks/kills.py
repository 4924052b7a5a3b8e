"""Kill fits that have a checkpoint at random moments until they finish: the model is the same to the last bit.

usage: python benchmarks/kills.py [--kills 20] [--rows 30000] [--columns 20] [--every 0.2] [--seed 0]

Each trial is one fit in processes of its own: each is killed (SIGKILL) after a time that is uniform in the duration of
an undisturbed fit, and started again with the same call, until it ends before it is killed. Trials take turns among
estimators and constraints. A second table shows what checkpoints cost: seconds of a fit with and without them, by
turns in the same process, the size of the file and the milliseconds of a save; and beside it the size of the saved
model, without and with its training state.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor, atomic
from lambdak.training.checkpoint_file import CheckpointFile

CASES: dict[str, Callable[[], Any]] = {
    "regression": lambda: SpectralRegressor(random_state=0),
    "monotone and capped": lambda: SpectralRegressor(
        effort="fast", monotonic_cst={"x0": 1, "x1": -1}, max_influence={"x2": 0.5}, random_state=0
    ),
    "two classes, alpha = 1": lambda: SpectralClassifier(effort="fast", alpha=1.0, random_state=0),
    "ordered classes": lambda: SpectralOrdinalClassifier(effort="fast", random_state=0),
    "quantiles, convex": lambda: SpectralQuantileRegressor(effort="fast", shape="convex", random_state=0),
}


def rows_of(case: str, rows: int, columns: int) -> tuple[pd.DataFrame, Any]:
    """Numbers, a high-cardinality category, interactions and noise."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-1, 1, (rows, columns - 1)), columns=[f"x{i}" for i in range(columns - 1)])
    town = rng.integers(0, 400, rows)
    X["town"] = pd.Categorical([f"town {i}" for i in town])
    y = X["x0"] - X["x1"] + X["x2"] * X["x3"] + 0.3 * np.sin(town) + 0.3 * rng.standard_normal(rows)
    if "classes" not in case:
        return X, y.to_numpy()
    return X, np.digitize(y, np.quantile(y, [0.5] if "two" in case else [0.2, 0.5, 0.8]))


def digest(model: Any, X: pd.DataFrame) -> str:
    """Of everything that a fit leaves behind."""
    parts = [model.model_.coef, model.model_.start, *model._state.theta, model.loss_curve_, model.validation_curve_]
    return hashlib.sha256(b"".join(part.tobytes() for part in [*parts, np.asarray(model.predict(X))])).hexdigest()


def fit_here(options: argparse.Namespace) -> None:
    """What the processes do that are killed."""
    X, y = rows_of(options.case, options.rows, options.columns)
    print("begins", flush=True)
    model = CASES[options.case]().fit(X, y, checkpoint=options.path, checkpoint_every=options.every)
    print(digest(model, X), flush=True)


def trial(case: str, path: Path, seconds: float, options: argparse.Namespace, rng: np.random.Generator) -> Any:
    """The digest of the model in the end, and after how many seconds of its fit each process was killed."""
    sizes = [f"--{name}={getattr(options, name)}" for name in ("rows", "columns", "every")]
    killed: list[float] = []
    while True:
        command = [sys.executable, __file__, f"--case={case}", f"--path={path}", *sizes]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            child.stdout.readline()
            moment = rng.uniform(0, seconds)
            try:
                output, _ = child.communicate(timeout=moment)
                return output.strip(), killed
            except subprocess.TimeoutExpired:
                child.kill()
                killed.append(moment)


def cost(case: str, path: Path, options: argparse.Namespace, rounds: int = 3) -> list[float]:
    """Fastest seconds without and with, saves, megabytes, milliseconds of a save; megabytes of saved models."""
    X, y = rows_of(case, options.rows, options.columns)
    writing, sizes, spent = atomic.write_bytes, [], []
    saving = CheckpointFile._write

    def write(where: Any, data: bytes) -> None:
        sizes.append(len(data))
        writing(where, data)

    def timed(*given: Any) -> None:
        began = time.perf_counter()
        saving(*given)
        spent.append(time.perf_counter() - began)

    seconds: list[list[float]] = [[], []]
    atomic.write_bytes, CheckpointFile._write = write, timed
    for _ in range(rounds):
        for place, beside in enumerate(({}, {"checkpoint": path, "checkpoint_every": options.every})):
            began = time.perf_counter()
            model = CASES[case]().fit(X, y, **beside)
            seconds[place].append(time.perf_counter() - began)
    atomic.write_bytes, CheckpointFile._write = writing, saving
    saved = []
    for state in (False, True):
        model.save(path.with_name("model"), training_state=state)
        saved.append(path.with_name("model").stat().st_size / 1e6)
    return [*map(min, seconds), len(spent) / rounds, max(sizes) / 1e6, 1e3 * float(np.mean(spent)), *saved]


def main() -> None:
    """Kill, compare, and time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--every", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        fit_here(options)
        return
    with tempfile.TemporaryDirectory() as folder:
        run(options, Path(folder) / "fit.checkpoint")


def run(options: argparse.Namespace, path: Path) -> None:
    """Both tables."""
    rng, console, same, wanted = np.random.default_rng(options.seed), Console(), 0, {}
    table = Table("trial", "fit", "seconds undisturbed", "killed after seconds", "same bits")
    for number in range(options.kills):
        case = list(CASES)[number % len(CASES)]
        if case not in wanted:
            X, y = rows_of(case, options.rows, options.columns)
            began = time.perf_counter()
            model = CASES[case]().fit(X, y)
            wanted[case] = time.perf_counter() - began, digest(model, X)
        seconds, bits = wanted[case]
        killed: list[float] = []
        while not killed:  # a trial in which nothing was killed says nothing
            found, killed = trial(case, path, seconds, options, rng)
        same += found == bits
        table.add_row(str(number + 1), case, f"{seconds:.1f}", " ".join(f"{k:.1f}" for k in killed), str(found == bits))
    console.print(table)
    console.print(f"{same} of {options.kills} killed fits ended with the same bits as undisturbed ones")
    table = Table("fit", "s without", "s with", "saves", "MB", "ms per save", "model MB", "with state MB")
    for case in CASES:
        table.add_row(case, *(f"{value:.2f}" for value in cost(case, path, options)))
    console.print(table)


if __name__ == "__main__":
    main()
