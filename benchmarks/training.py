"""Training speed against plain PyTorch, both sides of every ratio in one run.

usage: python benchmarks/training.py [--seconds 3] [--rounds 3] [--uniform]

HIGGS-style: batch 4096 of 28 memory-mapped features, dim 11, log-loss, Adam. Criteo-style: batch 4096 of 39 active ids
of a million, dim 7, Adam on the active rows; ids are skewed as real categories are, or uniform, which is the worst.
Sweep: 768 models of one input at once, batch 32, against one model at a time. PyTorch runs with one thread and with
all of them, and the faster one counts. Tridiagonal sweep: the step in one call of the kernel, against NumPy around the
kernel's eigenpairs, which is the reference of that call. The sides take turns round by round, and the median round
counts. Other programs' load spoils the figures, so it is printed, and so are figures per second of CPU time, which it
spoils less.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

import lambdak
import torch
from lambdak.eigen import steps as reference
from lambdak.paper.data.rows import DenseData, SparseBatch, Stream
from lambdak.paper.real.baselines import dense_reference, sparse_reference
from lambdak.paper.real.learners import DenseSpectral, SparseSpectral
from lambdak.paper.synthetic import stacks
from lambdak.paper.synthetic.grid import Cell, Grid
from lambdak.paper.synthetic.stacks import Stack

BATCH = 4096
N_IDS = 1_000_000
PAUSE = 0.25  # seconds: OpenMP's threads spin for up to 0.2 after a parallel region
BARS = {"HIGGS": 15, "Criteo": 8, "sweep": 60}

Step = Callable[[], object]


def rates(sides: list[Step], seconds: float, rounds: int) -> np.ndarray:
    """Steps per second, and per second of CPU time, of each side (sides, 2): medians over rounds."""
    found: list[list[tuple[float, float]]] = [[] for _ in sides]
    for _ in range(rounds):
        for side, rate in zip(sides, found, strict=True):
            time.sleep(PAUSE)
            side()
            start, cpu, steps = time.perf_counter(), time.process_time(), 0
            while (taken := time.perf_counter() - start) < seconds or steps < 3:
                side()
                steps += 1
            rate.append((steps / taken, steps / (time.process_time() - cpu)))
    return np.median(found, axis=1)


def with_threads(sides: list[Step]) -> list[Step]:
    """Our side, and PyTorch's with one thread and with all of them."""
    ours, theirs = sides

    def limited(threads: int) -> Step:
        def step() -> None:
            torch.set_num_threads(threads)
            theirs()

        return step

    return [ours, limited(1), limited(os.cpu_count() or 1)]


def higgs_sides(folder: Path) -> list[Step]:
    rows, rng = 2_000_000, np.random.default_rng(0)
    features = np.lib.format.open_memmap(folder / "features.npy", "w+", np.float32, (rows, 28))
    for start in range(0, rows, 100_000):
        features[start : start + 100_000] = rng.standard_normal((100_000, 28), np.float32)
    labels = (features[:, 0] * features[:, 1] > 0).astype(np.float32)
    data = DenseData(labels, {"train": (0, rows)}, "", np.load(folder / "features.npy", mmap_mode="r"))
    stream = iter(Stream(rows, BATCH, 0))
    models = DenseSpectral(28, 11, 1e-2, 0), dense_reference(28, 11, 1e-2, 0)
    return [lambda model=model: model.step(data.batch(next(stream))) for model in models]


def skewed(rng: np.random.Generator) -> np.ndarray:
    """Ids of 13 columns with 60 levels and 26 with 4 to 190,000, whose ranks are log-uniform."""
    sizes = np.concatenate([np.full(13, 60), np.geomspace(4, 190_000, 26).astype(int)])
    rank = (sizes ** rng.random((BATCH, 39)) - 1).astype(np.int64)
    return 1 + np.concatenate([[0], np.cumsum(sizes)[:-1]]) + rank


def uniform(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(1, N_IDS, (BATCH, 39))


def criteo_sides(draw: Callable[[np.random.Generator], np.ndarray]) -> list[Step]:
    rng = np.random.default_rng(0)
    ours = SparseSpectral(N_IDS, 7, 1e-2, 0)
    theirs = sparse_reference(ours.coef, 7, 1e-2)
    batches = cycle([_sparse_batch(draw(rng), rng) for _ in range(16)])
    return [lambda model=model: model.step(next(batches)) for model in (ours, theirs)]


def _sparse_batch(drawn: np.ndarray, rng: np.random.Generator) -> SparseBatch:
    ids = np.zeros((BATCH, 40), np.int32)
    ids[:, 1:] = drawn
    return SparseBatch(ids, np.ones(ids.shape, np.float32), (rng.random(BATCH) < 0.25).astype(np.float32))


def sweep_sides(dim: int) -> list[Step]:
    grid, rng = Grid(1, (10,)), np.random.default_rng(0)
    stack = Stack(Cell(1, "general", 10, 0.0, dim), grid, (), rng)
    streams = grid.targets * grid.seeds
    x = rng.uniform(-4, 4, (streams, grid.batch, 1)).astype(np.float32)
    y = np.sin(x[..., 0])
    return [lambda: stack.step(x, y), plain_loop(dim, torch.from_numpy(x[0]), torch.from_numpy(y[0]))]


def plain_loop(dim: int, x: torch.Tensor, y: torch.Tensor) -> Step:
    """One model of the sweep, as one would train it in PyTorch."""
    matrices = torch.randn(2, dim, dim).requires_grad_()
    optimizer = torch.optim.Adam([matrices], lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        symmetric = (matrices + matrices.mT) / 2
        value = torch.linalg.eigvalsh(symmetric[0] + x[:, :, None] * symmetric[1])[:, dim // 2]
        torch.nn.functional.mse_loss(value, y).backward()
        optimizer.step()

    return step


def band_sides(inputs: int, dim: int) -> list[Step]:
    """The step of tridiagonal models by the kernel, and by the reference of its gradient."""
    grid, rng = Grid(inputs, (10,)), np.random.default_rng(0)
    stack = stacks.BandStack(Cell(inputs, "tridiagonal", 10, 0.0, dim), grid, (), rng)
    x = rng.uniform(-4, 4, (grid.targets * grid.seeds, grid.batch, inputs)).astype(np.float32)
    kernel = reference.step_engine()

    def by(gradient: Callable[..., None]) -> Step:
        engine = SimpleNamespace(band_gradient=gradient, adam=kernel.adam)

        def step() -> None:
            stacks.step_engine = lambda: engine
            stack.step(x, np.sin(x[..., 0]))

        return step

    return [by(kernel.band_gradient), by(reference.band_gradient)]


def contests(folder: Path, with_uniform: bool) -> Iterator[tuple[str, list[Step], float, float, str, str]]:
    """Name, sides, what a step of ours and of theirs counts for, the unit, and the bar's name."""
    yield "HIGGS-style, dim 11", higgs_sides(folder), BATCH, BATCH, "samples/s", "HIGGS"
    yield "Criteo-style, dim 7", criteo_sides(skewed), BATCH, BATCH, "samples/s", "Criteo"
    if with_uniform:
        yield "Criteo-style, dim 7, uniform ids", criteo_sides(uniform), BATCH, BATCH, "samples/s", "Criteo"
    for dim in (5, 9, 15):
        yield f"sweep, dim {dim}", sweep_sides(dim), Grid(1, (10,)).models, 1, "model-steps/s", "sweep"


def print_bands(seconds: float, rounds: int) -> None:
    table = Table(title="steps of 768 tridiagonal models, batch 32")
    for name in ("inputs", "dim", "kernel/s", "NumPy/s", "ratio", "per CPU-second", "", "ratio"):
        table.add_column(name, justify="right")
    for inputs in (1, 2):
        for dim in (5, 9, 15, 31):
            ours, theirs = rates(band_sides(inputs, dim), seconds, rounds)
            wall, cpu = ([f"{a:,.0f}", f"{b:,.0f}", f"{a / b:.1f}x"] for a, b in zip(ours, theirs, strict=True))
            table.add_row(str(inputs), str(dim), *wall, *cpu)
    Console(width=100).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--uniform", action="store_true")
    options = parser.parse_args()
    table = Table(title=f"training, {lambdak.get_num_threads()} threads, load before {os.getloadavg()[0]:.1f}")
    for name in ("", "unit", "lambdak", "PyTorch", "ratio", "bar", "per CPU-second", "", "ratio"):
        table.add_column(name, justify="left" if name == "unit" else "right")
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1, "blas"):
        for name, sides, ours, theirs, unit, bar in contests(Path(folder), options.uniform):
            found = rates(with_threads(sides), options.seconds, options.rounds)
            mine, peer = found[0] * ours, found[1:].max(axis=0) * theirs
            wall, cpu = ([f"{a:,.0f}", f"{b:,.0f}", f"{a / b:.1f}x"] for a, b in zip(mine, peer, strict=True))
            table.add_row(name, unit, *wall, f"{BARS[bar]}x", *cpu)
        print_bands(options.seconds, options.rounds)
    Console(width=130).print(table)
    print(f"load after: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
