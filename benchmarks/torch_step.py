"""A training step of ``SpectralNeuron`` against the same module written with ``torch.linalg.eigvalsh``, in one run.

usage: python benchmarks/torch_step.py [--seconds 1] [--rounds 3]

A step is forward, backward and Adam on a log-loss; 28 features, dims 5, 9, 15, 31, batches 32, 256, 4096. PyTorch runs
with one thread and with all of them, and the faster one counts, for each side. Then networks of two layers, compiled
against eager: ours, and one of ``nn.Linear`` and tanh, which shows what the compiler itself costs. The sides take turns
round by round, and the median round counts. Other programs' load spoils the figures, so it is printed.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

import lambdak
import torch
from lambdak.torch import SpectralLayer, SpectralNeuron
from torch import Tensor, nn

FEATURES = 28
DIMS, BATCHES = (5, 9, 15, 31), (32, 256, 4096)
BAR = {(15, 4096): 20.0}  # elsewhere: never slower

Step = Callable[[], object]


class Plain(nn.Module):
    """λ_k(A_0 + Σ x_i A_i) as one would write it in PyTorch."""

    def __init__(self, features: int, dim: int) -> None:
        super().__init__()
        self.matrices = nn.Parameter(torch.randn(features + 1, dim, dim) / features**0.5)

    def forward(self, x: Tensor) -> Tensor:
        """λ_k of A(x)."""
        symmetric = (self.matrices + self.matrices.mT) / 2
        flat = torch.addmm(symmetric[0].flatten(), x, symmetric[1:].flatten(1))
        return torch.linalg.eigvalsh(flat.unflatten(-1, symmetric.shape[1:]))[:, symmetric.shape[-1] // 2]


def step_of(model: nn.Module, batch: int, threads: int) -> Step:
    x = torch.randn(batch, FEATURES)
    y = (x[:, 0] * x[:, 1] > 0).float()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step() -> None:
        torch.set_num_threads(threads)
        optimizer.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(model(x).reshape(-1), y).backward()
        optimizer.step()

    return step


def rates(sides: list[Step], seconds: float, rounds: int) -> np.ndarray:
    """Steps per second of each side, the median over rounds."""
    found: list[list[float]] = [[] for _ in sides]
    for _ in range(rounds):
        for side, rate in zip(sides, found, strict=True):
            side()
            start, steps = time.perf_counter(), 0
            while (taken := time.perf_counter() - start) < seconds or steps < 3:
                side()
                steps += 1
            rate.append(steps / taken)
    return np.median(found, axis=1)


def contest(models: list[nn.Module], batch: int, options: argparse.Namespace, threads: tuple[int, ...]) -> list[float]:
    """Steps per second of each model with the best number of threads."""
    sides = [step_of(model, batch, count) for model in models for count in threads]
    return rates(sides, options.seconds, options.rounds).reshape(len(models), -1).max(axis=1).tolist()


def spectral() -> nn.Module:
    return nn.Sequential(SpectralLayer(FEATURES, 16, dim=5), SpectralLayer(16, 1, dim=5))


def linear() -> nn.Module:
    return nn.Sequential(nn.Linear(FEATURES, 240), nn.Tanh(), nn.Linear(240, 1))


def columns(title: str, *names: str) -> Table:
    table = Table(title=title)
    for name in names:
        table.add_column(name, justify="right")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.manual_seed(0)
    cpus = os.cpu_count() or 1
    title = f"steps per second, {lambdak.get_num_threads()} threads, load before {os.getloadavg()[0]:.1f}"
    table = columns(title, "dim", "batch", "lambdak", "eigvalsh", "ratio", "bar")
    for dim in DIMS:
        for batch in BATCHES:
            models = [SpectralNeuron(FEATURES, dim), Plain(FEATURES, dim)]
            ours, plain = contest(models, batch, options, (1, cpus))
            bar = BAR.get((dim, batch), 1.0)
            table.add_row(str(dim), str(batch), f"{ours:,.0f}", f"{plain:,.1f}", f"{ours / plain:.1f}x", f"{bar:.0f}x")
    compiled = columns("two layers", "network", "batch", "compiled", "eager", "ratio")
    for make in (spectral, linear):
        for batch in BATCHES:
            eager, faster = contest([make(), torch.compile(make())], batch, options, (cpus,))
            compiled.add_row(make.__name__, str(batch), f"{faster:,.0f}", f"{eager:,.0f}", f"{faster / eager:.2f}x")
    console = Console(width=100)
    console.print(table)
    console.print(compiled)
    print(f"load after: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
