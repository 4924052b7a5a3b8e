"""A hyper-network with random parameters."""

from __future__ import annotations

import torch
from lambdak.torch import HyperSpectralNeuron
from torch import nn


def scrambled(dtype=torch.float64, inputs=3, dim=4, **settings):
    """A hyper-network far from its start."""
    encoder = nn.Sequential(nn.Linear(2, 6, dtype=dtype), nn.Tanh())
    model = HyperSpectralNeuron(encoder, inputs, dim, **settings, encoder_features=6, dtype=dtype)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return model
