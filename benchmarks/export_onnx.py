"""Rows per second, latency, size and error of ONNX files, beside LightGBM through onnxmltools, in one run.

usage: python benchmarks/export_onnx.py [--rounds 5] [--threads 0]

A table of ten columns of numbers; a lambdak model of default settings and some of fixed sizes, and LightGBM with early
stopping. All are run by onnxruntime, in turns, and the fastest call counts, as the load of other programs spoils means.
CPU is the least time of all threads together for one of many rows, which load spoils less.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from pathlib import Path

import lightgbm
import numpy as np
import onnx
import onnxruntime
from onnxmltools import convert_lightgbm
from onnxmltools.convert.common.data_types import FloatTensorType
from rich.console import Console
from rich.table import Table
from sklearn.metrics import r2_score

from lambdak import SpectralRegressor
from lambdak.export.onnx import to_onnx

TRAIN, COLUMNS = 20_000, 10
SIZES = (1, 100, 10_000, 100_000)
FIXED = ((5, 1), (9, 4), (15, 8))  # dim and members


def table(rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, COLUMNS))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + 0.5 * X[:, 4] + 0.3 * rng.normal(size=rows)
    return X, y


def theirs(X, y):
    cut = len(X) * 9 // 10
    model = lightgbm.LGBMRegressor(n_estimators=2000, verbose=-1, n_jobs=2)
    stop = lightgbm.early_stopping(50, verbose=False)
    return model.fit(X[:cut], y[:cut], eval_set=[(X[cut:], y[cut:])], callbacks=[stop])


def contestants(folder, X, y):
    """Name, path of the file, dtype, its own predictions and the sizes that are said of it."""
    found = []
    chosen = {"lambdak, default": SpectralRegressor(random_state=0).fit(X, y)}
    for dim, members in FIXED:
        name = f"lambdak, dim {dim}, {members} members"
        chosen[name] = SpectralRegressor(dim=dim, n_estimators=members, max_iter=3, random_state=0).fit(X, y)
    for name, model in chosen.items():
        for dtype, explain in (("float64", False), ("float32", False), ("float64", True)):
            if explain and name != "lambdak, default":
                continue
            path = folder / f"{len(found)}.onnx"
            to_onnx(model, path, dtype=dtype, explain=explain, inputs="matrix")
            what = f"dim {model.model_.dim}, {len(model.model_.weights)} members"
            own = f"{name}{'' if name != 'lambdak, default' else f' ({what})'}, {dtype}{', slopes' if explain else ''}"
            found.append((own, path, dtype, model.predict))
    trees = theirs(X, y)
    path = folder / "trees.onnx"
    file = convert_lightgbm(trees.booster_, initial_types=[("X", FloatTensorType([None, COLUMNS]))], target_opset=15)
    path.write_bytes(file.SerializeToString())
    found.append((f"LightGBM ({trees.best_iteration_} trees), float32", path, "float32", trees.predict))
    return found


def opened(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def least(call, clock, calls):
    best = np.inf
    for _ in range(calls):
        start = clock()
        call()
        best = min(best, clock() - start)
    return best


def nodes(graph):
    inner = (own.g for node in graph.node for own in node.attribute if own.HasField("g"))
    return len(graph.node) + sum(map(nodes, inner))


def measured(found, X, rounds, threads):
    """(contestants, sizes) of seconds, and seconds of all threads for a row of many."""
    sessions = [opened(path, threads) for _, path, _, _ in found]
    seconds, cpu = np.full((len(found), len(SIZES)), np.inf), np.full(len(found), np.inf)
    for _ in range(rounds):
        for i, (_, _, dtype, _) in enumerate(found):
            for j, size in enumerate(SIZES):
                rows = X[:size].astype(dtype)
                calls = max(1, min(200, 2000 // size))
                own = least(lambda s=sessions[i], r=rows: s.run(None, {"X": r}), time.perf_counter, calls)
                seconds[i, j] = min(seconds[i, j], own)
            many = X[:10_000].astype(dtype)
            used = least(lambda s=sessions[i], r=many: s.run(None, {"X": r}), time.process_time, 1)
            cpu[i] = min(cpu[i], used / 10_000)
    return seconds, cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0, help="of onnxruntime; 0: its default")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    (X, y), (rows, truth) = table(TRAIN, 0), table(max(SIZES), 1)
    printed = Table("model", "R²", *(f"{size:,} rows/s" for size in SIZES), "one row ms", "CPU µs/row", "KB", "nodes",
                    "error")  # fmt: skip
    print(f"load before: {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        found = contestants(Path(folder), X, y)
        seconds, cpu = measured(found, rows, given.rounds, given.threads)
        for (name, path, dtype, predict), own, used in zip(found, seconds, cpu, strict=True):
            some = rows[:20_000].astype(dtype)
            answer = opened(path, 1).run(None, {"X": some})[0].ravel()
            wanted = predict(some.astype(np.float64))
            error, size = np.abs(answer - wanted).max() / np.ptp(wanted), path.stat().st_size // 1024
            printed.add_row(
                name, f"{r2_score(truth[:20_000], wanted):.3f}",
                *(f"{many / each:,.0f}" for many, each in zip(SIZES, own, strict=True)), f"{own[0] * 1e3:.3f}",
                f"{used * 1e6:.1f}", str(size), str(nodes(onnx.load(path).graph)), f"{error:.0e}",
            )  # fmt: skip
    Console(width=200).print(printed)
    print(f"load after: {os.getloadavg()[0]:.1f}; error relative to the range of predictions")


if __name__ == "__main__":
    main()
