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
