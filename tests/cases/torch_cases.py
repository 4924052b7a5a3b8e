"""Neurons and layers of every kind, with random parameters."""

from __future__ import annotations

import torch
from lambdak.torch import SpectralLayer

KINDS = {
    "free": {},
    "monotone": {"monotonic_cst": [1, 0, -1]},
    "all rise": {"monotonic_cst": 1},
    "factor": {"monotonic_cst": [1, 0, -1], "constraint": "factor"},
    "root": {"monotonic_cst": [1, 0, -1], "constraint": "root"},
    "squareplus": {"monotonic_cst": [1, 0, -1], "constraint": "squareplus"},
    "diagonal": {"monotonic_cst": [1, 0, -1], "constraint": "diagonal"},
    "tridiagonal": {"structure": "tridiagonal"},
    "monotone tridiagonal": {"structure": "tridiagonal", "monotonic_cst": [1, 0, -1]},
    "capped": {"max_influence": 0.3},
    "capped and monotone": {"max_influence": [0.3, 0.2, 0.1], "monotonic_cst": [1, 0, -1]},
    "convex": {"eig_idx": 4},
}


def scrambled(module):
    """The same module with random parameters, far from the start."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return module


def layer(n_in, n_out, seed, **settings):
    torch.manual_seed(seed)
    module = SpectralLayer(n_in, n_out, 3, dtype=torch.float64, **settings)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return module


def violation(module, asked, rows=300):
    """How far a module is from what shapes say of its outputs, on random rows: at most rounding."""
    like = next(module.parameters())
    inputs, steps = torch.randn(rows, 4).to(like) * 3, torch.rand(rows, 2).to(like) * 4
    unit = torch.eye(4).to(like)

    def value(x):
        return module(x).reshape(rows, -1)

    def moved(direction):
        return value(inputs + steps[:, :1] * direction) - value(inputs)

    def across(a, b):
        one, other = steps[:, :1] * unit[a], steps[:, 1:] * unit[b]
        return value(inputs + one + other) - value(inputs + one) - value(inputs + other) + value(inputs)

    def bent(positions):
        other = inputs + torch.randn_like(inputs) * unit[list(positions) or list(range(4))].sum(0)
        return (value(inputs) + value(other)) / 2 - value((inputs + other) / 2)

    found = []
    for shape in asked:
        name, keys = type(shape).__name__, shape.keys
        if name in ("Rising", "Falling"):
            found.append(-moved(unit[keys[0]]) * (1 if name == "Rising" else -1))
        elif name in ("Dominates", "RisingAlong"):
            weights = (1.0, -1.0) if name == "Dominates" else shape.weights
            found.append(-moved(sum(weight * unit[i] for i, weight in zip(keys, weights, strict=True))))
        elif name == "MaxSlope":
            weights = dict(shape.columns) if isinstance(shape.columns, tuple) else {shape.columns: 1.0}
            slope = moved(sum(weight * unit[i] for i, weight in weights.items())).abs()
            found.append(slope - shape.limit * steps[:, :1])
        elif name in ("Convex", "Concave"):
            found.append(-bent(keys) * (1 if name == "Convex" else -1))
        else:
            sign = 1 if name == "Complements" else -1
            found += [-sign * across(a, b) for a in keys for b in keys if a < b]
    return torch.stack([part.detach().max() for part in found]).max().clamp_min(0).item()
