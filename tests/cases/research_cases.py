"""Modules beyond the neuron and the layer, each with three inputs and any of the settings that all of them share."""

from __future__ import annotations

import torch
from lambdak.torch import GeneralizedSpectralNeuron, HermitianSpectralNeuron, OrderedSpectralLayer, SpectralMixture

B = torch.eye(4, dtype=torch.float64) + 0.3

MODULES = {
    "mixture": lambda **k: SpectralMixture(3, 4, **k),
    "convex mixture": lambda **k: SpectralMixture(3, 4, convex=True, **k),
    "tridiagonal mixture": lambda **k: SpectralMixture(3, 4, structure="tridiagonal", **k),
    "ordered": lambda **k: OrderedSpectralLayer(3, 2, 4, **k),
    "tridiagonal ordered": lambda **k: OrderedSpectralLayer(3, 3, 5, structure="tridiagonal", **k),
    "learned metric": lambda **k: GeneralizedSpectralNeuron(3, 4, **k),
    "fixed metric": lambda **k: GeneralizedSpectralNeuron(3, 4, metric=B, learned=False, **k),
    "tridiagonal metric": lambda **k: GeneralizedSpectralNeuron(3, 4, structure="tridiagonal", **k),
    "hermitian": lambda **k: HermitianSpectralNeuron(3, 4, **k),
}
SETTINGS = {
    "free": {},
    "monotone": {"monotonic_cst": [1, 0, -1]},
    "capped": {"max_influence": 0.3},
    "both": {"max_influence": [0.3, 0.2, 0.1], "monotonic_cst": [1, 0, -1]},
}
