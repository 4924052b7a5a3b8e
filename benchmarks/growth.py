"""Fit time and memory against rows and columns, beside LightGBM, each fit in a process of its own; draws a picture.

usage: python benchmarks/growth.py [--most-rows 1e7] [--most-columns 3000] [--out docs/pictures/growth.png]

Rows grow at 20 columns, columns at 10,000 rows; ten columns matter, all others are noise. Both have two threads.
LightGBM has 2000 trees at rate 0.05 and stops early on a tenth of the rows, as in peers.py. "from a file" reads a
Parquet file that need not fit in memory. Memory is what the peak of the process grows by during the fit, beside the
table itself.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.metrics import r2_score

THREADS = 2
TEST_ROWS = 50_000
MOST_BALANCED = 1_000_000  # rows, and …
MOST_BALANCED_COLUMNS = 300  # … columns: more take long


def table(rows, columns, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((rows, columns), dtype=np.float32)
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    f += 6 * np.sin(9 * X[:, 5]) * X[:, 6] + 4 * np.abs(X[:, 7] - X[:, 8])
    return X, f + rng.standard_normal(rows, dtype=np.float32)


def in_memory(effort, X, y, folder):
    from lambdak import SpectralRegressor

    return SpectralRegressor(effort=effort, random_state=0, n_jobs=THREADS).fit(X, y)


def from_file(effort, X, y, folder):
    from lambdak import SpectralRegressor

    return SpectralRegressor(effort=effort, random_state=0, n_jobs=THREADS).fit(f"{folder}/table.parquet", "y")


def boosted(X, y, folder):
    from lightgbm import LGBMRegressor, early_stopping

    cut = len(y) // 10
    model = LGBMRegressor(n_estimators=2000, learning_rate=0.05, n_jobs=THREADS, random_state=0, verbose=-1)
    return model.fit(X[cut:], y[cut:], eval_X=X[:cut], eval_y=y[:cut], callbacks=[early_stopping(50, verbose=False)])


METHODS = {
    "lambdak, fast": partial(in_memory, "fast"),
    "lambdak, balanced": partial(in_memory, "balanced"),
    "lambdak, fast, from a file": partial(from_file, "fast"),
    "LightGBM": boosted,
}


def written(folder, rows, columns):
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = table(rows, columns, 0)
    np.save(f"{folder}/X.npy", X)
    np.save(f"{folder}/y.npy", y)
    pq.write_table(pa.table({**{f"x{i}": X[:, i].copy() for i in range(columns)}, "y": y}), f"{folder}/table.parquet")


def memory(what):
    """Of this process, in kB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{what}:"))


def forget_peak():
    """Let the peak be what is in use now, and return that."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


def measured(name, rows, columns, folder, queue):
    import lightgbm  # noqa: F401  # both, so that no side pays for its import

    X, y = (None, None) if "file" in name else (np.load(f"{folder}/{own}.npy") for own in "Xy")
    before = forget_peak()
    began = time.perf_counter()
    model = METHODS[name](X, y, folder)
    seconds = time.perf_counter() - began
    peak = (memory("VmHWM") - before) / 2**20
    X_test, y_test = table(TEST_ROWS, columns, 1)
    if "file" in name:
        import pandas as pd

        X_test = pd.DataFrame(X_test, columns=[f"x{i}" for i in range(columns)])
    queue.put((seconds, peak, r2_score(y_test, model.predict(X_test))))


def one(name, rows, columns, folder):
    """Seconds, GB and R² of one fit."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=measured, args=(name, rows, columns, folder, queue))
    process.start()
    found = queue.get()
    process.join()
    return found


def picture(found, path):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained")
    for column, (axis, title) in enumerate((("rows", "rows (20 columns)"), ("columns", "columns (10,000 rows)"))):
        for row, (what, unit) in enumerate(((0, "fit time, s"), (1, "memory of the fit, GB"))):
            panel = axes[row][column]
            for color, name in enumerate(METHODS):
                points = [
                    (size, max(values[what], 1e-3)) for kind, size, own, values in found if (kind, own) == (axis, name)
                ]
                if points:
                    panel.loglog(*zip(*points, strict=True), "o-", color=f"C{color}", label=name)
            panel.set(xlabel=title, ylabel=unit)
            panel.grid(alpha=0.3)
    axes[0][0].legend(frameon=False)
    figure.savefig(path, dpi=130)


def _is_left_out(name, rows, columns, most):
    if columns != 20 and "file" in name:
        return True
    long = "balanced" in name and (rows > MOST_BALANCED or columns > MOST_BALANCED_COLUMNS)
    return long or (rows > most and "file" not in name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most-rows", type=float, default=1e7)
    parser.add_argument("--most-rows-in-memory", type=float, default=1e7, help="also of LightGBM")
    parser.add_argument("--most-columns", type=int, default=3000)
    parser.add_argument("--out", type=Path, default=Path("growth.png"))
    args = parser.parse_args()
    sizes = [("rows", rows, 20) for rows in (10**4, 10**5, 10**6, 10**7) if rows <= args.most_rows]
    sizes += [("columns", 10**4, own) for own in (10, 30, 100, 300, 1000, 3000) if own <= args.most_columns]
    print("| rows | columns | method | fit s | memory GB | R² |\n|---|---|---|---|---|---|")
    found = []
    for axis, rows, columns in sizes:
        with tempfile.TemporaryDirectory() as folder:
            written(folder, rows, columns)
            for name in METHODS:
                if _is_left_out(name, rows, columns, args.most_rows_in_memory):
                    continue
                seconds, peak, r2 = one(name, rows, columns, folder)
                found.append((axis, rows if axis == "rows" else columns, name, (seconds, peak, r2)))
                print(f"| {rows:,} | {columns:,} | {name} | {seconds:.2f} | {peak:.2f} | {r2:.4f} |", flush=True)
    picture(found, args.out)


if __name__ == "__main__":
    main()
