"""Fits on a Dask cluster beside one process and LightGBM's Dask estimator: time, R² and differences, on the same rows.

usage: python benchmarks/dask_fit.py [--rows 5e6] [--effort fast] [--partitions 16] [--more-workers 4 8] [--no-peers]

The contestants, one after the other:

one process          the same shards in one process with two threads: the same algorithm without a cluster
two workers          lambdak.dask on 2 processes with one thread each
N workers            the same on more processes than cores: for the bits, not for the time
in memory            the usual fit of lambdak with two threads, which sees more epochs
LightGBM             lightgbm.dask.DaskLGBMRegressor on the two workers, with its defaults and with 300 trees

Partitions are persisted before the time starts; R² is that of 100,000 rows that nobody was fitted to.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster, wait
from rich.console import Console
from rich.table import Table

import lambdak
from lambdak.dask import SpectralRegressor, worker
from lambdak.dask.driver import FAN_IN, shards_of
from lambdak.dask.parts import drawn
from lambdak.training.checkpoint import Laps
from lambdak.training.large.choice import choose
from lambdak.training.large.fit import summarised, train_members
from lambdak.training.large.shards import MemoryShard
from lambdak.training.large.transport import Alone

TEST = 100_000
THREADS = 2
FEATURES = [f"x{i}" for i in range(10)] + ["group"]


def part(index: int, rows: int) -> pd.DataFrame:
    """Friedman's function with five more columns, a category and noise."""
    rng = np.random.default_rng([0, index])
    frame = pd.DataFrame(rng.random((rows, 10)), columns=FEATURES[:10])
    frame["group"] = rng.choice(["u", "v", "w"], rows)
    a, b, c, d, e = (frame[f"x{i}"] for i in range(5))
    mean = 10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e + 2 * (frame["group"] == "u")
    frame["y"] = mean + rng.standard_normal(rows)
    return frame


def collection(rows: int, partitions: int) -> Any:
    sizes = [len(own) for own in np.array_split(np.empty(rows), partitions)]
    return dd.from_map(part, range(partitions), sizes, meta=part(0, 0))


def on_cluster(workers: int, options: argparse.Namespace, fit: Callable[[Any, Any], Any]) -> tuple[Any, float]:
    """What a fit returns on a new cluster, and its seconds."""
    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        frame = collection(options.rows, options.partitions).persist()
        wait(frame)
        began = time.perf_counter()
        model = fit(frame[FEATURES], frame["y"])
        return model, time.perf_counter() - began


def merged(level: list[Any]) -> Any:
    """Summaries merged in the order of a cluster, which decides about the last bits of knots."""
    while len(level) > 1:
        level = [worker.merge(*level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
    return level[0]


def in_one_process(options: argparse.Namespace, parts: list[pd.DataFrame]) -> tuple[Any, float]:
    """The same algorithm with the same shards, by one process with two threads."""
    began = time.perf_counter()
    model = SpectralRegressor(effort=options.effort, random_state=0, n_jobs=THREADS)
    request = model._large_request()
    pieces = [drawn(index, (own[FEATURES], own["y"], None, None)) for index, own in enumerate(parts)]
    batches = [request.read(piece) for piece in pieces if piece is not None]
    choice = choose(request, merged([summarised(request, [batch]) for batch in batches]))
    records = [choice.packed(batch, THREADS) for batch in batches]
    shards = shards_of([len(own) for own in records])
    own = {k: MemoryShard([records[i] for i in each], (choice.seed, k)) for k, each in enumerate(shards)}
    lengths = [shard.rows for shard in own.values()]
    model._keep(train_members(choice, own, lengths, Alone(), Laps(), THREADS), request.parameters)
    return model, time.perf_counter() - began


def lightgbm(trees: int) -> Callable[[Any, Any], Any]:
    from lightgbm.dask import DaskLGBMRegressor

    def fit(X: Any, y: Any) -> Any:
        X = X.assign(group=X["group"].astype("category").cat.set_categories(["u", "v", "w"]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return DaskLGBMRegressor(n_estimators=trees, verbosity=-1, time_out=5).fit(X, y).to_local()

    return fit


def run(options: argparse.Namespace) -> None:
    test = part(10**6, TEST)
    parts = [part(i, len(own)) for i, own in enumerate(np.array_split(np.empty(options.rows), options.partitions))]
    shown = Table("fit", "seconds", "R²", "largest difference to one process", "same bits")
    first: list[Any] = []

    def add(name: str, model: Any, seconds: float) -> None:
        X = test[FEATURES]
        if not isinstance(model, lambdak.SpectralRegressor):
            X = X.assign(group=pd.Categorical(X["group"], categories=["u", "v", "w"]))
        found = np.asarray(model.predict(X))
        first.append((found, getattr(getattr(model, "model_", None), "coef", None)))
        score = 1 - ((found - test["y"]) ** 2).mean() / test["y"].var()
        same = "" if first[-1][1] is None else str(np.array_equal(first[0][1], first[-1][1]))
        shown.add_row(name, f"{seconds:.1f}", f"{score:.5f}", f"{np.abs(found - first[0][0]).max():.2g}", same)
        print(f"{name}: {seconds:.1f} s, R² {score:.5f}", flush=True)

    def on_dask(X: Any, y: Any) -> Any:
        return SpectralRegressor(effort=options.effort, random_state=0).fit(X, y, timeout=300)

    add("one process, 2 threads", *in_one_process(options, parts))
    for workers in (2, *options.more_workers):
        add(f"{workers} workers, 1 thread", *on_cluster(workers, options, on_dask))
    if not options.no_peers:
        began, frame = time.perf_counter(), pd.concat(parts, ignore_index=True)
        model = lambdak.SpectralRegressor(effort=options.effort, random_state=0, n_jobs=THREADS)
        add("in memory, 2 threads", model.fit(frame[FEATURES], frame["y"]), time.perf_counter() - began)
        for trees in (100, 300):
            add(f"LightGBM, {trees} trees, 2 workers", *on_cluster(2, options, lightgbm(trees)))
    Console(width=110).print(shown)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=5_000_000)
    parser.add_argument("--effort", default="fast")
    parser.add_argument("--partitions", type=int, default=16)
    parser.add_argument("--more-workers", type=int, nargs="*", default=[4, 8])
    parser.add_argument("--no-peers", action="store_true")
    run(parser.parse_args())


if __name__ == "__main__":
    main()
