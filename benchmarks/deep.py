"""Deep networks of spectral layers beside ReLU networks of equal size, on the HIGGS sample and California housing.

usage: python benchmarks/deep.py [--data DIR] [--only higgs california] [--seeds 3] [--size 3000] [--steps 1500]
                                 [--jobs 2] [--picture PATH]

Depth is the number of nonlinear layers; all networks end in a linear layer, but for the one spectral neuron in the last
row. Widths are those at which networks have about --size parameters. Everything else is the same for all: AdamW with a
cosine schedule, the same batches of 256 rows, standardised inputs. Each seed is another split (60/20/20 %) and another
start. Rate, weight decay and the step at which to stop are chosen on the validation rows of that split, and only then
the test rows are scored. Times are CPU seconds of training on one thread. Needs lightgbm and pandas.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise, product
from math import cos, pi, sqrt
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score, roc_auc_score
from torch.nn.functional import binary_cross_entropy_with_logits, mse_loss

import lambdak
import torch
from lambdak.eigen.packing import packed_size
from lambdak.torch import SpectralLayer, SpectralNeuron
from tables import DATA, load
from torch import Tensor, nn

RATES, DECAYS = (1e-3, 3e-3, 1e-2), (0.0, 0.5)
BATCH = 256
LOOK = 100  # steps from one look at the validation rows to the next
FARTHEST = 5.0  # standard deviations at which inputs are cut


@dataclass(frozen=True)
class Net:
    """A kind of network: matrices of size ``dim``, or 1 for ReLU units; ``depth`` 0 is one neuron."""

    dim: int
    depth: int

    @property
    def name(self) -> str:
        """As in the table."""
        if not self.depth:
            return "one spectral neuron"
        return f"spectral, d = {self.dim}" if self.dim > 1 else "ReLU"


NETS = [*(Net(dim, depth) for dim, depth in product((1, 3, 5), (1, 2, 3))), Net(0, 0)]


@dataclass(frozen=True)
class Run:
    """One training, and what came out of it."""

    problem: str
    net: Net
    seed: int
    rate: float
    decay: float
    parameters: int = 0
    seconds: float = 0.0
    validation: float = np.inf
    test: tuple[float, float] = (np.nan, np.nan)  # log-loss and AUC, or RMSE and R²


# ---- networks ------------------------------------------------------------------------------------------------------


def build(net: Net, inputs: int, size: int) -> nn.Module:
    """A network with the number of parameters that is nearest to ``size``."""
    if not net.depth:
        dim = min(range(1, 64), key=lambda d: abs((inputs + 1) * packed_size(d) - size))
        return nn.Sequential(SpectralNeuron(inputs, dim), nn.Unflatten(0, (-1, 1)))
    width = min(range(1, size), key=lambda w: abs(count(net, inputs, w) - size))
    layers: list[nn.Module] = []
    for n, m in pairwise([inputs] + [width] * net.depth):
        layers += [SpectralLayer(n, m, net.dim)] if net.dim > 1 else [nn.Linear(n, m), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, 1))


def count(net: Net, inputs: int, width: int) -> int:
    units = (inputs + 1) * width + (net.depth - 1) * (width + 1) * width
    return units * packed_size(net.dim) + width + 1


# ---- data ----------------------------------------------------------------------------------------------------------


@cache
def table(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray, bool]:
    """Numbers, targets, and whether these are classes; categories as indicators, what is missing as the mean."""
    problem = load(name, folder)
    X = pd.get_dummies(problem.X).to_numpy(np.float64)
    return np.where(np.isnan(X), np.nanmean(X, axis=0), X), problem.y.astype(float), problem.task == "classification"


@dataclass(frozen=True)
class Split:
    """Rows to train on, to choose by and to test on; targets in units of ``scale``."""

    parts: list[tuple[Tensor, Tensor]]
    is_classes: bool
    scale: float

    @classmethod
    def of(cls, name: str, folder: Path, seed: int) -> Split:
        """The split of a seed."""
        X, y, is_classes = table(name, folder)
        order = np.random.default_rng(seed).permutation(len(y))
        test, validation, train = np.split(order, [len(y) // 5, 2 * len(y) // 5])
        X = np.clip((X - X[train].mean(axis=0)) / X[train].std(axis=0), -FARTHEST, FARTHEST)
        scale = 1.0 if is_classes else y[train].std()
        y = y if is_classes else (y - y[train].mean()) / scale
        parts = [
            tuple(torch.tensor(a[rows], dtype=torch.float32) for a in (X, y)) for rows in (train, validation, test)
        ]
        return cls(parts, is_classes, scale)

    def loss(self, score: Tensor, y: Tensor) -> Tensor:
        """Log-loss, or mean squared error."""
        return binary_cross_entropy_with_logits(score, y) if self.is_classes else mse_loss(score, y)

    def measures(self, score: Tensor, y: Tensor) -> tuple[float, float]:
        """Log-loss and AUC, or RMSE in the unit of the file and R²."""
        loss = self.loss(score, y).item()
        return (loss, roc_auc_score(y, score)) if self.is_classes else (sqrt(loss) * self.scale, r2_score(y, score))


# ---- training ------------------------------------------------------------------------------------------------------


def train(run: Run, folder: Path, size: int, steps: int) -> Run:
    """Train, keep the state that does best on the validation rows, and score it."""
    split = Split.of(run.problem, folder, run.seed)
    _, validation, test = split.parts
    torch.manual_seed(run.seed)
    net = build(run.net, validation[0].shape[1], size)
    best, state, began = np.inf, net.state_dict(), time.process_time()
    for _ in learn(net, split, run, steps):
        with torch.no_grad():
            found = split.loss(net(validation[0])[:, 0], validation[1]).item()
        if found < best:
            best, state = found, {name: value.clone() for name, value in net.state_dict().items()}
    seconds = time.process_time() - began
    net.load_state_dict(state)
    with torch.no_grad():
        measured = split.measures(net(test[0])[:, 0], test[1])
    parameters = sum(part.numel() for part in net.parameters())
    return replace(run, parameters=parameters, seconds=seconds, validation=best, test=measured)


def learn(net: nn.Module, split: Split, run: Run, steps: int) -> Iterator[None]:
    """Train, pausing now and then for a look at the validation rows."""
    X, y = split.parts[0]
    optimizer = torch.optim.AdamW(net.parameters(), lr=run.rate, weight_decay=run.decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: (1 + cos(pi * step / steps)) / 2)
    generator = torch.Generator().manual_seed(run.seed)
    for step in range(1, steps + 1):
        rows = torch.randint(len(y), (BATCH,), generator=generator)
        optimizer.zero_grad()
        split.loss(net(X[rows])[:, 0], y[rows]).backward()
        optimizer.step()
        schedule.step()
        if step % LOOK == 0 or step == steps:
            yield


def one_thread() -> None:
    torch.set_num_threads(1)
    lambdak.set_num_threads(1)


# ---- the table -----------------------------------------------------------------------------------------------------


def chosen(runs: list[Run]) -> list[Run]:
    """Of every seed the run that does best on its validation rows."""
    return [
        min((r for r in runs if r.seed == seed), key=lambda r: r.validation) for seed in sorted({r.seed for r in runs})
    ]


def report(name: str, rows: dict[Net, list[Run]]) -> None:
    measures = ("log-loss", "AUC") if name == "higgs" else ("RMSE, $", "R²")
    print(f"\n## {name}\n\n| | depth | parameters | {' | '.join(measures)} | CPU s | rates, decays |\n|{'---|' * 7}")
    digits = (4 if name == "higgs" else 0), 4
    for net, runs in rows.items():
        scores = [spread([run.test[i] for run in runs], digits[i]) for i in range(2)]
        settings = ", ".join(f"{run.rate:g}/{run.decay:g}" for run in runs)
        seconds = f"{np.median([run.seconds for run in runs]):.1f}"
        cells = [net.name, str(net.depth or 1), f"{runs[0].parameters:,}", *scores, seconds, settings]
        print(f"| {' | '.join(cells)} |")


def spread(values: list[float], digits: int) -> str:
    error = np.std(values, ddof=1) / sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{np.mean(values):,.{digits}f} ± {error:,.{digits}f}"


def draw(tables: dict[str, dict[Net, list[Run]]], path: Path) -> None:
    """Every chosen run as a point, the means of a kind joined over its depths."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(tables), figsize=(4.8 * len(tables), 3.6), layout="constrained", squeeze=False)
    for axis, (name, rows) in zip(axes[0], tables.items(), strict=True):
        for place, kind in enumerate(dict.fromkeys(net.name for net in rows)):
            found = {net.depth or 1: [run.test[0] for run in runs] for net, runs in rows.items() if net.name == kind}
            shift = (place - 1.5) * 0.08
            points = [(depth + shift, value) for depth, values in found.items() for value in values]
            axis.plot(*zip(*points, strict=True), ".", color=f"C{place}", alpha=0.5)
            means = [np.mean(values) for values in found.values()]
            axis.plot([depth + shift for depth in found], means, "o-", color=f"C{place}", label=kind)
        axis.set(xlabel="nonlinear layers", title=name, xticks=(1, 2, 3))
        axis.set_ylabel("test log-loss" if name == "higgs" else "test RMSE, $")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the Parquet files")
    parser.add_argument("--only", nargs="+", choices=("higgs", "california"), default=["higgs", "california"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--size", type=int, default=3000, help="parameters of a network")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--jobs", type=int, default=2, help="processes, of one thread each")
    parser.add_argument("--picture", type=Path)
    args = parser.parse_args()
    if not args.data.is_dir():
        parser.error(f"no folder {args.data}: give the folder with the Parquet files with --data")
    lambdak.show_config()
    job = partial(train, folder=args.data, size=args.size, steps=args.steps)
    tables: dict[str, dict[Net, list[Run]]] = {name: {} for name in args.only}
    with ProcessPoolExecutor(args.jobs, get_context("spawn"), one_thread) as pool:
        for name, net in product(args.only, NETS):
            runs = [Run(name, net, *rest) for rest in product(range(args.seeds), RATES, DECAYS)]
            tables[name][net] = chosen(list(pool.map(job, runs)))
            scores = ", ".join(f"{run.test[0]:.6g}" for run in tables[name][net])
            print(f"{name}: {net.name}, depth {net.depth or 1}: {scores}", flush=True)
    for name, rows in tables.items():
        report(name, rows)
    if args.picture:
        draw(tables, args.picture)


if __name__ == "__main__":
    main()
