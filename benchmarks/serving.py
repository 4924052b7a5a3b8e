"""Serving: time of one row by a predictor against the estimator and LightGBM, and `lambdak predict` on large files.

usage: python benchmarks/serving.py [--columns 10 20 50] [--seconds 1.0]
       python benchmarks/serving.py --stream [--rows 2000000] [--formats parquet csv]

One row: tables of numbers (two thirds, one of them with gaps) and strings, models with the size of balanced effort;
LightGBM with 300 trees on the same rows, strings as categories. "eigenvalues" is the bare call of the kernel on the
matrices of the row, so what the predictor adds to it can be read off; "training step" is the call that predict makes,
with the ids and weights of the row at hand. All sides of a line take turns, and the fastest of many short rounds
counts, as other programs' load spoils means.

--stream: rows per second of `lambdak predict`, its peak memory, the cores that it got (CPU seconds per second), and the
cores that it wanted: seconds that its threads ran or waited for a core, per second, so that load by others counts, too.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from lambdak import SpectralClassifier, SpectralRegressor
from lambdak.eigen.runtime import native
from lambdak.model.model import evaluate

TRAIN = 4000
CALLS = 50  # of a round
LEVELS = [f"level {i}" for i in range(12)]
STREAM_COLUMNS = 20
ROWS_AT_ONCE = 250_000  # of a file that is written
BATCHES = 10  # of a small file, to see that memory does not depend on the rows


def frame(rows: int, columns: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    made: dict[str, Any] = {}
    for i in range(columns):
        made[f"c{i}"] = rng.choice(LEVELS, rows) if i % 3 == 2 else rng.normal(size=rows).round(4)
    made["c0"] = np.where(rng.random(rows) < 0.05, np.nan, made["c0"])
    return pd.DataFrame(made)


def target(X: pd.DataFrame) -> np.ndarray:
    rng = np.random.default_rng(7)
    return (X.c1 * X.c3 + (X.c2 == LEVELS[0]) + 0.3 * rng.normal(size=len(X))).to_numpy()


# ---- one row ----------------------------------------------------------------------------------------------------


def fastest(calls: dict[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """Microseconds of the fastest round of each side; they take turns."""
    best = dict.fromkeys(calls, np.inf)
    end = time.perf_counter() + seconds * len(calls)
    while time.perf_counter() < end:
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(CALLS):
                call()
            best[name] = min(best[name], (time.perf_counter() - start) / CALLS * 1e6)
    return best


def sides(columns: int) -> dict[str, Callable[[], object]]:
    import lightgbm

    X = frame(TRAIN, columns, 0)
    y, typed = target(X), X.astype({name: "category" for name in X if X[name].dtype.kind not in "fi"})
    settings: dict[str, Any] = {"max_iter": 5, "random_state": 0}
    model, classes = SpectralRegressor(**settings).fit(X, y), SpectralClassifier(**settings).fit(X, y > 0)
    theirs = lightgbm.LGBMRegressor(n_estimators=300, n_jobs=1, verbose=-1).fit(typed, y)
    predictor, labels = model.predictor(), classes.predictor()
    one, one_typed = X[7:8].copy(), typed[7:8].copy()
    row = one.to_dict("records")[0]
    cells, rows = tuple(row.values()), [list(row.values())]
    encoded = model.model_
    design = encoded.encoder.transform(one, np.float64)
    coef, dim, index = encoded.coef, encoded.dim, encoded.outputs.indices
    packed = np.stack([design.to_sparse(coef.shape[1]) @ own for own in encoded.matrices])
    value, kernel = np.empty((len(coef), 1)), native()
    assert kernel is not None
    assert predictor(row) == predictor(cells) == model.predict(one)[0]
    print(f"{columns} columns: {len(coef)} members, dim {dim}, {design.ids.shape[1]} active entries")
    return {
        "dict": lambda: predictor(row),
        "tuple": lambda: predictor(cells),
        "class of dict": lambda: labels(row),
        "probabilities": lambda: labels.predict_proba(row),
        "eigenvalues": lambda: kernel.solve_plain(packed, dim, index[0], value, None, 1),
        "training step": lambda: evaluate(coef, dim, index, design, None, 1),
        "predict, list": lambda: model.predict(rows),
        "predict, pandas": lambda: model.predict(one),
        "LightGBM, pandas": lambda: theirs.predict(one_typed),
    }


def print_one_row(columns: list[int], seconds: float) -> None:
    measured = {count: fastest(sides(count), seconds) for count in columns}
    shown = Table(title="one row, microseconds", title_justify="left")
    shown.add_column("")
    for count in columns:
        shown.add_column(f"{count} columns", justify="right")
    for name in next(iter(measured.values())):
        shown.add_row(name, *(f"{measured[count][name]:.1f}" for count in columns))
        if name in ("dict", "tuple", "class of dict", "probabilities"):
            beyond = (f"{measured[count][name] - measured[count]['eigenvalues']:.1f}" for count in columns)
            shown.add_row("  beyond the eigenvalues", *beyond)
    Console().print(shown)


# ---- streams ----------------------------------------------------------------------------------------------------


def batches(rows: int) -> Iterator[pd.DataFrame]:
    for first in range(0, rows, ROWS_AT_ONCE):
        yield frame(min(ROWS_AT_ONCE, rows - first), STREAM_COLUMNS, 1 + first)


def write_table(path: Path, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    writer: Any = None
    for batch in batches(rows):
        data = pa.Table.from_pandas(batch, preserve_index=False)
        if writer is None:
            writer = {".csv": pa.csv.CSVWriter, ".parquet": pa.parquet.ParquetWriter}[path.suffix](path, data.schema)
        writer.write_table(data)
    writer.close()


def run(model: Path, source: Path, out: Path) -> tuple[float, float, float, float]:
    """Seconds, cores it got, cores it wanted, and peak megabytes of one command."""
    command = [
        sys.executable,
        "-c",
        "from lambdak.cli import main; main()",
        "predict",
        str(source),
        "--model",
        str(model),
        "--out",
        str(out),
    ]
    before, start = os.times(), time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        peak, wanted = 0.0, dict[str, float]()
        while process.poll() is None:
            peak = max(peak, highest(process.pid))
            wanted |= running_or_waiting(process.pid)
            time.sleep(0.02)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    seconds, after = time.perf_counter() - start, os.times()
    cpu = after.children_user - before.children_user + after.children_system - before.children_system
    return seconds, cpu / seconds, sum(wanted.values()) / seconds, peak


def running_or_waiting(pid: int) -> dict[str, float]:
    """Seconds that each thread of a process ran or waited for a core until now."""
    found = {}
    for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            ran, waited, _ = map(int, task.read_text().split())
        except (OSError, ValueError):
            continue
        found[task.parent.name] = (ran + waited) / 1e9
    return found


def highest(pid: int) -> float:
    """The most memory that a process had until now, in megabytes; that of the process it came from does not count."""
    try:
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        found = None
    return int(found[1]) / 1024 if found else 0.0


def print_streams(rows: int, formats: list[str]) -> None:
    shown = Table(title=f"lambdak predict, {STREAM_COLUMNS} columns", title_justify="left")
    for title in ("format", "rows", "file MB", "seconds", "rows/s", "cores", "wanted", "peak MB"):
        shown.add_column(title, justify="left" if title == "format" else "right")
    with tempfile.TemporaryDirectory() as folder:
        X = frame(TRAIN, STREAM_COLUMNS, 0)
        model = Path(folder) / "model.safetensors"
        SpectralRegressor(max_iter=5, random_state=0).fit(X, target(X)).save(model)
        for form in formats:
            for count in (rows // BATCHES, rows):
                source, out = Path(folder) / f"in.{form}", Path(folder) / f"out.{form}"
                write_table(source, count)
                seconds, cores, wanted, peak = run(model, source, out)
                size = source.stat().st_size / 1e6
                numbers = (f"{cores:.2f}", f"{wanted:.2f}", f"{peak:.0f}")
                shown.add_row(form, f"{count:,}", f"{size:.0f}", f"{seconds:.1f}", f"{count / seconds:,.0f}", *numbers)
    Console().print(shown)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, nargs="+", default=[10, 20, 50])
    parser.add_argument("--seconds", type=float, default=1.0, help="per side and number of columns")
    parser.add_argument("--stream", action="store_true", help="measure lambdak predict instead")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--formats", nargs="+", default=["parquet", "csv"])
    arguments = parser.parse_args()
    if arguments.stream:
        print_streams(arguments.rows, arguments.formats)
    else:
        print_one_row(arguments.columns, arguments.seconds)


if __name__ == "__main__":
    main()
