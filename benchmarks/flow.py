"""Normalising flows of spectral transforms beside zuko's neural spline flow, all re-run in this script.

usage: python benchmarks/flow.py [--data DIR] [--only moons pinwheel california] [--seeds 5] [--steps 1500]
                                 [--dim 5] [--structure dense] [--passes N] [--threads 1]
                                 [--pictures DIR]

Both flows have three autoregressive transforms (coupling ones with --passes 2). The spline flow has zuko's defaults,
the hidden layers of ours are made as wide as its number of parameters allows. Both see the same batches, by the same
optimiser. A seed draws the points, or the split of the California table, and everything else. Round trips are the
largest |x − g⁻¹(g(x))| over all test rows and seeds. The inverse is timed on rows of the base distribution against
zuko's neural autoregressive flow, which inverts by bisection, and against zuko's bisection of our own function.
Needs zuko, pandas and pyarrow; pictures need matplotlib.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import zuko
from sklearn.datasets import make_moons

import lambdak
import torch
from lambdak.torch.flow import SpectralTransform, spectral_autoregressive
from lambdak.torch.packing import STRUCTURES, width
from torch import Tensor, nn

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
POINTS = 20_000
TRANSFORMS = 3
BATCH, RATE, CLIP = 256, 2e-3, 5.0
INVERTED_ROWS, REPEATS = 256, 3


# Data.


def pinwheel(points: int, seed: int, arms: int = 5) -> np.ndarray:
    """Five noisy arms, the further out the more twisted."""
    rng = np.random.default_rng(seed)
    along, across = 1 + 0.3 * rng.standard_normal(points), 0.1 * rng.standard_normal(points)
    angle = rng.integers(0, arms, points) * 2 * np.pi / arms + 0.25 * np.exp(along)
    return np.stack([np.cos(angle) * along + np.sin(angle) * across, np.cos(angle) * across - np.sin(angle) * along], 1)


def california(folder: Path) -> np.ndarray:
    """The eight numeric columns beside the target, where none is missing."""
    frame = pd.read_parquet(folder / "california_housing.parquet").drop(columns="median_house_value")
    return frame.select_dtypes("number").dropna().to_numpy(float)


def load(name: str, folder: Path, seed: int) -> tuple[Tensor, Tensor]:
    """Training and test rows, standardised by the training rows."""
    if name == "california":
        X = california(folder)
    else:
        X = pinwheel(POINTS, seed) if name == "pinwheel" else make_moons(POINTS, noise=0.1, random_state=seed)[0]
    X = X[np.random.default_rng(seed).permutation(len(X))]
    train, test = np.split(X, [len(X) * 4 // 5])
    return tuple(torch.tensor((part - train.mean(0)) / train.std(0), dtype=torch.float32) for part in (train, test))


# Flows.


def count(flow: nn.Module) -> int:
    return sum(parameter.numel() for parameter in flow.parameters())


def spline(features: int, options: argparse.Namespace) -> nn.Module:
    return zuko.flows.NSF(features, transforms=TRANSFORMS, passes=options.passes)


def spectral(features: int, options: argparse.Namespace) -> nn.Module:
    """Our flow with at most as many parameters as the spline flow."""
    most, hidden = count(spline(features, options)), 64
    settings = {"dim": options.dim, "structure": options.structure, "passes": options.passes}

    def build(hidden: int) -> nn.Module:
        return spectral_autoregressive(features, transforms=TRANSFORMS, hidden_features=(hidden, hidden), **settings)

    while count(build(hidden)) > most:
        hidden -= 1
    while count(build(hidden + 1)) <= most:
        hidden += 1
    return build(hidden)


def train(flow: nn.Module, rows: Tensor, steps: int, seed: int) -> None:
    random = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.Adam(flow.parameters(), RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        loss = -flow().log_prob(rows[torch.randint(len(rows), (BATCH,), generator=random)]).mean()
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(flow.parameters(), CLIP)
        optimiser.step()
        schedule.step()


@torch.no_grad()
def round_trip(flow: nn.Module, rows: Tensor, dtype: torch.dtype) -> float:
    transform, rows = flow.to(dtype)().transform, rows.to(dtype)
    error = (transform.inv(transform(rows)) - rows).abs().max().item()
    flow.float()
    return error


@dataclass
class Results:
    """What one flow did, a number per seed."""

    parameters: int = 0
    likelihood: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    single: list[float] = field(default_factory=list)
    double: list[float] = field(default_factory=list)

    def add(self, flow: nn.Module, train_rows: Tensor, test_rows: Tensor, steps: int, seed: int) -> None:
        """Train the flow, test it, and note both."""
        start = time.perf_counter()
        train(flow, train_rows, steps, seed)
        self.seconds.append(time.perf_counter() - start)
        self.parameters = count(flow)
        with torch.no_grad():
            self.likelihood.append(flow().log_prob(test_rows).mean().item())
        self.single.append(round_trip(flow, test_rows, torch.float32))
        self.double.append(round_trip(flow, test_rows, torch.float64))


# How long an inverse takes.


def fastest(functions: list[Callable[[], object]]) -> list[float]:
    """The shortest of several times of each function, in turn, in milliseconds."""
    times = np.full((REPEATS, len(functions)), np.inf)
    for repeat in range(REPEATS):
        for column, function in enumerate(functions):
            start = time.perf_counter()
            function()
            times[repeat, column] = 1e3 * (time.perf_counter() - start)
    return times.min(0).tolist()


@torch.no_grad()
def inverse_times(flow: nn.Module, features: int, passes: int | None) -> list[float]:
    """Ours, and that of the neural autoregressive flow of as many transforms."""
    z = torch.randn(INVERTED_ROWS, features, generator=torch.Generator().manual_seed(0))
    neural = zuko.flows.NAF(features, transforms=TRANSFORMS, passes=passes).eval()
    return fastest([lambda flow=flow: flow().transform.inv(z) for flow in (flow, neural)])


@torch.no_grad()
def same_function_times(dim: int, structure: str) -> list[float]:
    """Our inverse of one transform of many rows, and zuko's bisection of it."""
    random = torch.Generator().manual_seed(0)
    sizes = width(dim, structure == "tridiagonal"), dim, 1
    matrix, slopes, y = (torch.randn(10_000, size, generator=random) for size in sizes)
    ours, y = SpectralTransform(matrix, slopes, structure=structure), y.squeeze(-1)
    theirs = zuko.transforms.MonotonicTransform(ours)
    return fastest([lambda: ours.inv(y), lambda: theirs.inv(y)])


# Pictures.


@torch.no_grad()
def draw_density(ax: object, flow: nn.Module, limit: float = 2.6) -> None:
    line = torch.linspace(-limit, limit, 300)
    grid = torch.cartesian_prod(line, line)
    density = flow().log_prob(grid).exp().reshape(300, 300).T
    ax.imshow(density, origin="lower", extent=[-limit, limit] * 2, cmap="magma")


def draw_points(ax: object, points: Tensor, limit: float | None = 2.6) -> None:
    ax.scatter(*points.T, s=1, alpha=0.4, color="tab:blue", linewidths=0, rasterized=True)
    ax.set_aspect("equal")
    if limit:
        ax.set(xlim=(-limit, limit), ylim=(-limit, limit))


@torch.no_grad()
def draw(folder: Path, name: str, test: Tensor, ours: nn.Module, theirs: nn.Module) -> None:
    import matplotlib.pyplot as plt

    torch.manual_seed(0)
    fig, axes = plt.subplots(1, 3 if name == "california" else 4, figsize=(11, 3.1), layout="constrained")
    drawn = [flow().sample((len(test),)) for flow in (ours, theirs)]
    if name == "california":
        titles = ["test rows", "spectral flow: samples", "spline flow: samples"]
        for ax, points in zip(axes, (test, *drawn), strict=True):
            draw_points(ax, points[:, :2], limit=None)
            ax.set(xlim=(-2.8, 3.0), ylim=(-1.8, 3.2), xlabel="longitude", ylabel="latitude")
    else:
        titles = ["test rows", "spectral flow: density", "spectral flow: samples", "spline flow: density"]
        for ax, points in zip(axes[::2], (test, drawn[0]), strict=True):
            draw_points(ax, points)
        for ax, flow in zip(axes[1::2], (ours, theirs), strict=True):
            draw_density(ax, flow)
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title, fontsize=10)
        ax.set(xticks=[], yticks=[])
    fig.savefig(folder / f"flow-{name}.png", dpi=110)
    plt.close(fig)


# The table.


def study(name: str, options: argparse.Namespace) -> tuple[Results, Results, list[float]]:
    """Both flows over all seeds, and the times of inverses."""
    ours, theirs = Results(), Results()
    for seed in range(options.seeds):
        train_rows, test_rows = load(name, options.data, seed)
        features = train_rows.shape[1]
        flows = []
        for build, results in ((spectral, ours), (spline, theirs)):
            torch.manual_seed(seed)
            flows.append(build(features, options))
            results.add(flows[-1], train_rows, test_rows, options.steps, seed)
        print(f"{name}, seed {seed}: ours {ours.likelihood[-1]:.3f}, spline {theirs.likelihood[-1]:.3f}", flush=True)
        if options.pictures and seed == 0:
            draw(options.pictures, name, test_rows, *flows)
    return ours, theirs, inverse_times(flows[0], features, options.passes)


def cells(name: str, ours: Results, theirs: Results, times: list[float]) -> list[str]:
    def spread(values: list[float], digits: int) -> str:
        return f"{np.mean(values):.{digits}f} ± {np.std(values):.{digits}f}"

    both = ours, theirs
    return [
        name,
        " / ".join(str(flow.parameters) for flow in both),
        *(spread(flow.likelihood, 3) for flow in both),
        f"{np.mean(ours.likelihood) - np.mean(theirs.likelihood):+.3f}",
        " / ".join(f"{np.mean(flow.seconds):.0f}" for flow in both),
        " / ".join(f"{max(flow.single):.1e}" for flow in both),
        " / ".join(f"{max(flow.double):.1e}" for flow in both),
        " / ".join(f"{time:.1f}" for time in times),
        f"{times[1] / times[0]:.0f}x",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--only", nargs="+", default=["moons", "pinwheel", "california"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--dim", type=int, default=5)
    parser.add_argument("--structure", choices=STRUCTURES, default="dense")
    parser.add_argument("--passes", type=int)
    parser.add_argument("--threads", type=int, default=1, help="batches are too small to gain from more")
    parser.add_argument("--pictures", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    lambdak.set_num_threads(options.threads)
    header = ["data", "parameters", "log-likelihood", "spline flow", "difference", "training, s", "round trip, float32"]
    header += ["round trip, float64", "inverse, ms: ours / bisection", "ratio"]
    rows = [header, ["---"] * len(header)]
    rows += [cells(name, *study(name, options)) for name in options.only]
    print(f"\nour flow / zuko's, {options.steps} steps, {options.seeds} seeds, nats per row\n")
    print("\n".join(f"| {' | '.join(row)} |" for row in rows))
    exact, bisected = same_function_times(options.dim, options.structure)
    print(f"\n10,000 inverses of one transform: {exact:.1f} ms; by zuko's bisection of it: {bisected:.1f} ms", end="")
    print(f", {bisected / exact:.0f}x")


if __name__ == "__main__":
    main()
