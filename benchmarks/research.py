"""What mixtures, ordered outputs, generalised problems and Hermitian matrices buy, in small experiments.

usage: python benchmarks/research.py [--only mixture convex ordered metric masses hermitian] [--seeds 4] [--steps 1500]

Every model is trained in the same way: Adam from rate 0.02 down by a cosine, batches of 256 of 4,000 rows (or of all
there are), float32, one thread. Errors are on other rows: mean squared ones over the variance of the target, or pinball
losses. A cell is the median over seeds, and the worst in brackets; a seed is a target and a start. How fast they are is
measured by research_speed.py.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np
from sklearn.datasets import load_diabetes

import lambdak
import torch
from lambdak.torch import (
    GeneralizedSpectralNeuron,
    HermitianSpectralNeuron,
    OrderedSpectralLayer,
    SpectralLayer,
    SpectralMixture,
    SpectralNeuron,
    unsym,
)  # fmt: skip
from research_training import (
    LEVELS,
    ROWS,
    Data,
    cell,
    head,
    pinball,
    row,
    samples,
    scrambled,
    seeded,
    size,
    squared,
    trained,
    wave,
    wins,
)  # fmt: skip
from torch import Tensor, nn

RESTARTS = 3


# ---- a position or a number of eigenvalues that is learned ---------------------------------------------------------


def best(make: Callable[[], nn.Module], data: Data, steps: int) -> tuple[float, nn.Module]:
    """The error on other rows and the model, of the restart with the lowest loss on its own rows."""
    runs = []
    for _ in range(RESTARTS):
        model = make()
        error = trained(model, data, steps)
        with torch.no_grad():
            runs.append((squared(model(data[0][0]), data[0][1]).item(), error, model))
    return min(runs, key=lambda run: run[0])[1:]


def compare(makes: list[Callable[[], nn.Module]], draw: Callable[[], Data], seeds: int, steps: int) -> tuple:
    """Errors of every model by seed, and the positions of the largest share in the last one."""
    columns: list[list[float]] = [[] for _ in makes]
    positions = []
    for _ in seeded(seeds):
        data = draw()
        for column, make in zip(columns, makes, strict=True):
            error, model = best(make, data, steps)
            column.append(error)
        positions.append(int(model.logits.argmax()))
    return [cell(column) for column in columns], positions


def mixture(seeds: int, steps: int) -> None:
    dim, n = 5, 3
    head(
        f"An eigenvalue at an unknown position j of 5 (3 inputs), best of {RESTARTS} starts each",
        "j", "neuron at the other end", "neuron at the middle", "neuron at j", "mixture", "largest share at j",
    )  # fmt: skip
    for j in range(dim // 2 + 1):  # the others are these with the signs of A and f turned
        positions = (dim - 1 if j < dim - 1 else 0, dim // 2, j)
        makes = [*(partial(SpectralNeuron, n, dim, k) for k in positions), partial(SpectralMixture, n, dim)]
        shown, found = compare(makes, lambda j=j: samples(scrambled(SpectralNeuron(n, dim, j)), n), seeds, steps)
        row(j, *shown, f"{found.count(j)} of {seeds}")


def convex(seeds: int, steps: int) -> None:
    dim, n = 5, 3
    head(
        f"A sum of the k largest of 5, k unknown (3 inputs), best of {RESTARTS} starts each",
        "k", "λ_5 of 5", "λ_7 of 7", "convex mixture of 5", "largest share at k or 5 − k",
    )  # fmt: skip
    for k in range(1, dim // 2 + 1):  # k and 5 − k are the same functions
        makes = [*(partial(SpectralNeuron, n, d, d - 1) for d in (5, 7)), partial(SpectralMixture, n, dim, True)]

        def draw(k: int = k) -> Data:
            return samples(partial(largest, scrambled(SpectralNeuron(n, dim)), k), n)

        shown, found = compare(makes, draw, seeds, steps)
        row(k, *shown, f"{found.count(k - 1) + found.count(dim - k - 1)} of {seeds}")


def largest(teacher: SpectralNeuron, count: int, x: Tensor) -> Tensor:
    matrices = teacher.matrices
    matrix = matrices[0] + torch.einsum("bi,ijk->bjk", x, matrices[1:])
    return torch.linalg.eigvalsh(matrix)[:, -count:].sum(1)


# ---- outputs in order ----------------------------------------------------------------------------------------------


class Levels(nn.Module):
    """The way of the estimators: one eigenvalue, which rises in a further input, the level."""

    def __init__(self, inputs: int, dim: int) -> None:
        super().__init__()
        self.neuron = SpectralNeuron(inputs + 1, dim, monotonic_cst=[*[0] * inputs, 1])

    def forward(self, x: Tensor) -> Tensor:
        """Quantiles (rows, 5)."""
        levels = (2 * LEVELS - 1).expand(len(x), -1)
        return self.neuron(torch.cat([x[:, None].expand(-1, len(LEVELS), -1), levels[..., None]], -1))


def quantile_data(name: str, seed: int) -> Data:
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True, scaled=True)
        order = np.random.default_rng(seed).permutation(len(y))
        x, y = torch.tensor(X[order] * np.sqrt(len(y))).float(), torch.tensor((y[order] - y.mean()) / y.std()).float()
        return (x[:300], y[:300]), (x[300:], y[300:])
    x = torch.randn(400 + ROWS, 3)
    y = x[:, 0] + torch.sin(2 * x[:, 1]) + (0.2 + x[:, 2].abs()) * torch.randn(len(x))
    return (x[:400], y[:400]), (x[400:], y[400:])


def ordered(seeds: int, steps: int) -> None:
    head("Five quantiles", "rows", "model", "parameters", "pinball loss", "rows whose quantiles cross")
    for name in ("400 synthetic, 3 inputs", "300 of diabetes, 10 inputs"):
        makes: dict[str, Callable[[int], nn.Module]] = {
            "one eigenvalue each of five matrices": lambda n: SpectralLayer(n, 5, 4),
            "five eigenvalues of one matrix": lambda n: OrderedSpectralLayer(n, 5, 9),
            "one eigenvalue, rising with the level": lambda n: Levels(n, 9),
        }
        for label, make in makes.items():
            errors, crossed = [], []
            for seed in seeded(seeds):
                data = quantile_data("diabetes" if "diabetes" in name else "synthetic", seed)
                model = make(data[0][0].shape[1])
                errors.append(trained(model, data, steps // 3, pinball))
                with torch.no_grad():
                    crossed.append((model(data[1][0]).diff() < 0).any(1).float().mean().item())
            row(name, label, size(model), cell(errors), f"{np.mean(crossed):.1%}")


# ---- generalised problems ------------------------------------------------------------------------------------------


def metric(seeds: int, steps: int) -> None:
    n, narrow = 3, {"structure": "tridiagonal"}
    head(
        "With a learned B and without, ten waves (3 inputs)",
        "matrices", "λ_k(A(x))", "λ_k(A(x), B)", "λ_k(A(x)) as large as with B", "seeds in which B is better than that",
    )  # fmt: skip
    kinds: dict[str, list[Callable[[], nn.Module]]] = {
        "dense": [
            lambda: SpectralNeuron(n, 8), lambda: GeneralizedSpectralNeuron(n, 8), lambda: SpectralNeuron(n, 9),
        ],
        "tridiagonal": [
            lambda: SpectralNeuron(n, 17, **narrow), lambda: GeneralizedSpectralNeuron(n, 17, **narrow),
            lambda: SpectralNeuron(n, 21, **narrow),
        ],
    }  # fmt: skip
    for kind, makes in kinds.items():
        columns: list[list[float]] = [[] for _ in makes]
        for _ in seeded(seeds):
            data = samples(wave(n), n)
            for column, make in zip(columns, makes, strict=True):
                column.append(trained(make(), data, steps))
        shown = [f"{cell(column)}, {size(make())} numbers" for column, make in zip(columns, makes, strict=True)]
        row(kind, *shown, wins(columns[1], columns[2]))


def chain(index: int, metric: Tensor | None) -> GeneralizedSpectralNeuron:
    """A frequency squared of four masses (B) between five springs of strengths x; only B is trained."""
    stretch = torch.eye(5)[:, :4] - torch.eye(5).roll(1, 0)[:, :4]  # of each spring
    stretch[0] = torch.eye(4)[0]
    model = GeneralizedSpectralNeuron(5, 4, index, metric=metric, dtype=torch.float64)
    with torch.no_grad():
        model.constant.zero_()
        model.set_weight_(unsym(stretch[:, :, None] * stretch[:, None, :]).double())
    for tensor in (model.constant, model.weight):
        tensor.requires_grad_(False)
    return model


def masses(seeds: int, steps: int) -> None:
    """B from frequencies, by L-BFGS in float64."""
    names = [f"frequency {k + 1}" for k in range(4)]
    head("Largest relative error of a mass that is learned from one frequency of a chain", "rows", "noise", *names)
    for rows, noise in product((20, 200), (0.0, 1e-3)):
        row(rows, f"{noise:.1%}", *(cell([mass_error(k, rows, noise) for _ in seeded(seeds)]) for k in range(4)))


def mass_error(index: int, rows: int, noise: float) -> float:
    weights, x = 0.5 + 1.5 * torch.rand(4).double(), 0.5 + torch.rand(rows, 5).double()
    y = chain(index, torch.diag(weights))(x).detach() * (1 + noise * torch.randn(rows).double())
    model = chain(index, None)
    optimizer = torch.optim.LBFGS([model.factor], max_iter=500, line_search_fn="strong_wolfe")
    optimizer.step(partial(_closure, optimizer, model, x, y))
    return (model.metric.diagonal() / weights - 1).abs().max().item()


def _closure(optimizer: torch.optim.Optimizer, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    optimizer.zero_grad()
    loss = 1e4 * squared(model(x), y)  # far above the tolerances
    loss.backward()
    return loss


# ---- complex matrices ----------------------------------------------------------------------------------------------


def hermitian_targets() -> dict[str, tuple[Callable[[], Callable[[Tensor], Tensor]], int]]:
    return {
        "complex 4 x 4, 2 inputs": (lambda: scrambled(HermitianSpectralNeuron(2, 4)), 2),
        "complex 4 x 4, 4 inputs": (lambda: scrambled(HermitianSpectralNeuron(4, 4)), 4),
        "symmetric 6 x 6, 4 inputs": (lambda: scrambled(SpectralNeuron(4, 6)), 4),
        "ten waves, 2 inputs": (lambda: wave(2), 2),
    }


def complex_matrices(seeds: int, steps: int) -> None:
    makes: dict[str, Callable[[int], nn.Module]] = {
        "Hermitian 4 (16)": lambda n: HermitianSpectralNeuron(n, 4),
        "symmetric 5 (15)": lambda n: SpectralNeuron(n, 5),
        "symmetric 6 (21)": lambda n: SpectralNeuron(n, 6),
        "Hermitian 6 (36)": lambda n: HermitianSpectralNeuron(n, 6),
        "symmetric 8 (36)": lambda n: SpectralNeuron(n, 8),
    }
    head("Complex or real, numbers of a matrix in brackets", "target", *makes, "4 better than 5", "6 better than 8")
    for name, (draw, inputs) in hermitian_targets().items():
        columns: list[list[float]] = [[] for _ in makes]
        for _ in seeded(seeds):
            data = samples(draw(), inputs)
            for column, make in zip(columns, makes.values(), strict=True):
                column.append(trained(make(inputs), data, steps))
        row(name, *(cell(column) for column in columns), wins(columns[0], columns[1]), wins(columns[3], columns[4]))


EXPERIMENTS: dict[str, Callable[[int, int], None]] = {
    "mixture": mixture,
    "convex": convex,
    "ordered": ordered,
    "metric": metric,
    "masses": masses,
    "hermitian": complex_matrices,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS))
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=1500)
    options = parser.parse_args()
    torch.set_num_threads(1)
    lambdak.set_num_threads(1)
    for name in options.only:
        EXPERIMENTS[name](options.seeds, options.steps)


if __name__ == "__main__":
    main()
