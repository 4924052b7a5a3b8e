"""Targets, training and tables that the experiments of research.py share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median

import torch
from torch import Tensor, nn

RATE, BATCH, ROWS = 0.02, 256, 4000
LEVELS = torch.tensor([0.1, 0.3, 0.5, 0.7, 0.9])
Loss = Callable[[Tensor, Tensor], Tensor]
Data = tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]  # rows to train on, and others


def squared(prediction: Tensor, y: Tensor) -> Tensor:
    return (prediction - y).square().mean()


def pinball(prediction: Tensor, y: Tensor) -> Tensor:
    over = y[:, None] - prediction
    return torch.maximum(LEVELS * over, (LEVELS - 1) * over).mean()


def trained(model: nn.Module, data: Data, steps: int, loss: Loss = squared) -> float:
    """The loss on the other rows, after training."""
    (x, y), (unseen, truth) = data
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(steps):
        rows = torch.randint(len(y), (min(BATCH, len(y)),))
        optimizer.zero_grad()
        loss(model(x[rows]), y[rows]).backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        return loss(model(unseen), truth).item()


def samples(target: Callable[[Tensor], Tensor], inputs: int) -> Data:
    """Rows of a target that is scaled to mean 0 and variance 1."""
    x = torch.randn(2 * ROWS, inputs)
    with torch.no_grad():
        y = target(x)
    y = ((y - y.mean()) / y.std()).float()
    return (x[:ROWS], y[:ROWS]), (x[ROWS:], y[ROWS:])


def size(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def cell(errors: list[float]) -> str:
    return f"{median(errors):.4f} ({max(errors):.4f})"


def wins(ours: list[float], theirs: list[float]) -> str:
    """In how many seeds, each a target of its own, the first error is the lower one."""
    return f"{sum(a < b for a, b in zip(ours, theirs, strict=True))} of {len(ours)}"


def row(*cells: object) -> None:
    print("|", " | ".join(str(each) for each in cells), "|", flush=True)


def head(title: str, *names: str) -> None:
    print(f"\n{title}\n")
    row(*names)
    row(*["---"] * len(names))


def seeded(seeds: int) -> Iterator[int]:
    for seed in range(seeds):
        torch.manual_seed(seed)
        yield seed


def wave(inputs: int) -> Callable[[Tensor], Tensor]:
    """A random smooth function: ten waves."""
    frequency, phase = torch.randn(inputs, 10), torch.rand(10) * 6.3
    return lambda x: (x @ frequency + phase).sin().sum(1)


def scrambled(module: nn.Module) -> nn.Module:
    """A teacher: random matrices, whose eigenvalues do meet."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return module
