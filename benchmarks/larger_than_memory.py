"""A fit on more rows than fit in memory: rows/s, peak memory, where the time goes, and the score beside a sample's.

Rows are produced batch by batch by an object that can start again, so that no input file is needed; the cache of
encoded records goes to a folder (``--cache``, about 108 bytes per row). Run: python benchmarks/larger_than_memory.py
--rows 100000000.

With ``--levels`` the question is another: R² of a fit of a file beside one in memory and LightGBM, with and without a
category of many levels. Run: python benchmarks/larger_than_memory.py --levels 20000 --rows 400000 1000000 5000000.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.metrics import r2_score

from lambdak import SpectralRegressor

COLUMNS = 20
AT_ONCE = 1 << 17


def target(X):
    """Additive parts, products, a step and an absolute value of the first eleven columns."""
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return f + 6 * np.sin(9 * X[:, 5]) * X[:, 6] + 4 * np.abs(X[:, 7] - X[:, 8]) + 3 * (X[:, 9] > 0.6) * X[:, 10]


def drawn(seed, rows):
    rng = np.random.default_rng(seed)
    X = rng.random((rows, COLUMNS), dtype=np.float32)
    return X, target(X) + rng.standard_normal(rows, dtype=np.float32)


class Rows:
    """Batches of synthetic rows, the same in every pass; remembers when passes began and ended."""

    def __init__(self, rows):
        self.n_rows, self.passes, self.reading = rows, [], 0.0

    def __iter__(self):
        began = time.perf_counter()
        for number, first in enumerate(range(0, self.n_rows, AT_ONCE)):
            now = time.perf_counter()
            X, y = drawn([1, number], min(AT_ONCE, self.n_rows - first))
            names = [f"x{i}" for i in range(COLUMNS)]
            batch = pa.table({**{name: np.ascontiguousarray(X[:, i]) for i, name in enumerate(names)}, "y": y})
            self.reading += time.perf_counter() - now
            yield batch
        self.passes.append((began, time.perf_counter()))


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # kB to GB


def with_levels(seed, rows, levels):
    """Rows with a category whose levels have normal effects, and normal slopes along a number."""
    X, y = drawn([seed, 1], rows)
    X = X[:, :11]
    effects = np.random.default_rng(levels).standard_normal((2, levels))
    code = np.random.default_rng([seed, 2]).integers(0, levels, rows)
    y = y + 3 * effects[0, code] + 3 * effects[1, code] * (X[:, 3] - 0.5)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(11)])
    return frame.assign(code=pd.Categorical.from_codes(code, [f"level {i}" for i in range(levels)])), y


def lightgbm(X, y):
    """With early stopping on a tenth of the rows."""
    import lightgbm as lgb

    seen = np.random.default_rng(0).random(len(y)) > 0.1
    model = lgb.LGBMRegressor(n_estimators=2000, learning_rate=0.05, n_jobs=2, verbose=-1)
    stop = [lgb.early_stopping(50, verbose=False)]
    return model.fit(X[seen], y[seen], eval_set=[(X[~seen], y[~seen])], callbacks=stop)


def beside_memory(rows, levels, effort, folder):
    """Print a table: from a file, in memory and LightGBM, with and without the category."""
    print("| rows | category | from a file | in memory | LightGBM |\n|---|---|---|---|---|")
    for count in map(int, rows):
        X, y = with_levels(1, count, levels)
        other, unseen = with_levels(0, 200_000, levels)
        for names in (list(X), [name for name in X if name != "code"]):
            path = Path(folder) / "rows.parquet"
            X[names].assign(y=y).to_parquet(path)
            fits = (
                lambda path=path: SpectralRegressor(effort=effort, random_state=0).fit(path, "y"),
                lambda X=X[names], y=y: SpectralRegressor(effort=effort, random_state=0).fit(X, y),
                lambda X=X[names], y=y: lightgbm(X, y),
            )
            cells = []
            for fit in fits:
                began = time.perf_counter()
                try:
                    score = r2_score(unseen, fit().predict(other[names]))
                except ImportError:
                    cells.append("not installed")
                    continue
                cells.append(f"{score:.4f}, {time.perf_counter() - began:.0f} s")
            label = f"{levels:,} levels" if "code" in names else "none"
            print(f"| {count:,} | {label} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e7])
    parser.add_argument("--levels", type=int, default=0, help="compare with a fit in memory, with such a category")
    parser.add_argument("--effort", default="fast")
    parser.add_argument("--cache", default=None)
    parser.add_argument("--no-sample", action="store_true", help="do not fit a sample in memory afterwards")
    args = parser.parse_args()
    if args.levels:
        with tempfile.TemporaryDirectory(dir=args.cache) as folder:
            beside_memory(args.rows, args.levels, args.effort, folder)
        return
    for rows in args.rows:
        out_of_memory(int(rows), args)


def out_of_memory(rows, args):
    """One fit of rows that are produced batch by batch: where the time goes, and how good it is."""
    source, before = Rows(rows), peak()
    with tempfile.TemporaryDirectory(dir=args.cache) as folder:
        began = time.perf_counter()
        model = SpectralRegressor(effort=args.effort, random_state=0, verbose=1).fit(source, "y", cache=folder)
        ended = time.perf_counter()
    most = peak()
    X, y = drawn(0, 200_000)
    (a, b), (c, d) = source.passes[-2:]
    total = ended - began
    print(f"{source.n_rows:,} rows x {COLUMNS} columns, effort {args.effort}: {total:.0f} s,")
    print(f"{source.n_rows / total / 1e6:.2f} million rows/s, peak memory {most:.2f} GB (import {before:.2f} GB)")
    print("| part | s | share |\n|---|---|---|")
    reading = source.reading
    shares = {
        "producing batches (both passes)": reading,
        "summary": b - a - reading / 2,
        "pilot and trial models on the sample": c - b,
        "encoding and writing the cache": d - c - reading / 2,
        "training": ended - d,
    }
    for name, seconds in shares.items():
        print(f"| {name} | {seconds:.1f} | {seconds / total:.0%} |")
    print(f"training: {source.n_rows / (ended - d) / 1e6:.2f} million rows/s")
    print(f"R² on 200,000 fresh rows: {r2_score(y, model.predict(X)):.5f}; "
          f"of the noiseless target {r2_score(target(X), model.predict(X)):.5f}")  # fmt: skip
    if not args.no_sample:
        X_sample, y_sample = drawn(2, 200_000)
        own = SpectralRegressor(effort=args.effort, random_state=0).fit(X_sample, y_sample)
        print(f"in memory, a sample of 200,000 rows: {r2_score(y, own.predict(X)):.5f}; "
              f"{r2_score(target(X), own.predict(X)):.5f}")  # fmt: skip


if __name__ == "__main__":
    main()
