"""Two starts by two optimisers on the paper's univariate targets: test RMSE after the same CPU time.

Starts: the paper's gap, or the best of 200 convex fits of random shapes (``lambdak.torch.convex_start_``). Optimisers:
Adam with batches of 128 and a cosine schedule, or full-batch L-BFGS with weak Wolfe steps (``WeakWolfeLBFGS``), which
begins again from another start when it has converged; of several ends the one with the lowest training error counts.
Both train on 1,000 points, whitened, for the same CPU time, starts included, Adam in float32 and L-BFGS in float64.
Test points are a regular lattice without noise. Medians over targets and seeds.

    OMP_NUM_THREADS=1 python benchmarks/starts.py [--seconds 0.5] [--seeds 3]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import product
from statistics import median

import numpy as np

import torch
from lambdak.paper.synthetic.targets import HIGH, LOW, lattice, make_targets
from lambdak.torch import SpectralNeuron, WeakWolfeLBFGS, Whitening, convex_start_
from torch import Tensor

COMPLEXITIES, DIMS, NOISES = (5, 10, 20), (5, 9, 15), (0.0, 0.1)
ROWS, BATCH, TEST = 1000, 128, 10_000
RATE = 0.1  # of 0.02, 0.05 and 0.1 the best one for both starts
STARTS, OPTIMIZERS = ("gap", "convex"), ("Adam", "L-BFGS")
Data = tuple[Tensor, Tensor]


def data(complexity: int, noise: float, seed: int) -> tuple[Data, Data]:
    target, rng = make_targets("general", 1, complexity, [seed]), np.random.default_rng(seed)

    def values(x: np.ndarray) -> np.ndarray:
        return target(np.zeros(len(x), int), x)

    x, test = rng.uniform(LOW, HIGH, (ROWS, 1)), lattice(1, TEST)
    y = values(x) + noise * rng.standard_normal(ROWS)
    return (torch.tensor(x), torch.tensor(y)), (torch.tensor(test), torch.tensor(values(test)))


def started(start: str, dim: int, x: Tensor, y: Tensor) -> SpectralNeuron:
    neuron = SpectralNeuron(1, dim, dtype=x.dtype)
    if start == "convex":
        convex_start_(neuron, x, y)
    return neuron


def error(neuron: SpectralNeuron, x: Tensor, y: Tensor) -> float:
    with torch.no_grad():
        return float((neuron(x) - y).square().mean().sqrt())


def adam(start: str, dim: int, x: Tensor, y: Tensor, end: float) -> SpectralNeuron:
    begun, x, y = time.process_time(), x.float(), y.float()
    neuron = started(start, dim, x, y)
    optimizer = torch.optim.Adam(neuron.parameters(), lr=RATE)
    while (now := time.process_time()) < end:
        optimizer.param_groups[0]["lr"] = RATE * 0.5 * (1 + np.cos(np.pi * (now - begun) / (end - begun)))
        rows = torch.randint(len(y), (BATCH,))
        optimizer.zero_grad()
        (neuron(x[rows]) - y[rows]).square().mean().backward()
        optimizer.step()
    return neuron


def lbfgs(start: str, dim: int, x: Tensor, y: Tensor, end: float) -> SpectralNeuron:
    ends = []
    while not ends or time.process_time() < end:
        neuron = started(start, dim, x, y)
        optimizer = WeakWolfeLBFGS(neuron.parameters(), max_iter=5, tolerance_change=1e-7)

        def closure(neuron: SpectralNeuron = neuron, optimizer: WeakWolfeLBFGS = optimizer) -> Tensor:
            optimizer.zero_grad()
            loss = (neuron(x) - y).square().mean()
            loss.backward()
            return loss

        while not optimizer.converged and time.process_time() < end:
            optimizer.step(closure)
        ends.append((error(neuron, x, y), len(ends), neuron))
    return min(ends)[2]


TRAIN: dict[str, Callable[..., SpectralNeuron]] = {"Adam": adam, "L-BFGS": lbfgs}


def trial(start: str, optimizer: str, dim: int, train: Data, test: Data, seconds: float) -> float:
    white = Whitening(train[0])
    end = time.process_time() + seconds
    neuron = TRAIN[optimizer](start, dim, white(train[0]), train[1], end).double()
    white.fold_(neuron)
    return error(neuron, *test)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.5, help="CPU time of one training run")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    ways = list(product(STARTS, OPTIMIZERS))
    print("|", " | ".join(["complexity", "noise", "dim", *(f"{start}, {own}" for start, own in ways)]), "|")
    print("|", " | ".join(["---"] * (3 + len(ways))), "|")
    wins = dict.fromkeys(ways, 0)
    for complexity, noise, dim in product(COMPLEXITIES, NOISES, DIMS):
        errors: dict[tuple[str, str], list[float]] = {way: [] for way in ways}
        for seed in range(options.seeds):
            train, test = data(complexity, noise, seed)
            for way in ways:
                torch.manual_seed(seed)
                errors[way].append(trial(*way, dim, train, test, options.seconds))
        medians = {way: median(own) for way, own in errors.items()}
        wins[min(medians, key=medians.__getitem__)] += 1
        print(
            "|",
            " | ".join([str(complexity), f"{noise:g}", str(dim), *(f"{m:.4f}" for m in medians.values())]),
            "|",
            flush=True,
        )
    print("\nlowest in so many of the cells:", ", ".join(f"{a}, {b}: {n}" for (a, b), n in wins.items()))


if __name__ == "__main__":
    main()
