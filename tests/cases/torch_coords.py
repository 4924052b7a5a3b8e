"""Random coordinates of dense and tridiagonal matrices."""

from __future__ import annotations

import torch
from lambdak.torch.packing import width

FORMS = [(1, False), (2, False), (2, True), (4, False), (4, True)]


def random_coords(dim, tridiagonal, rows=3, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, width(dim, tridiagonal), dtype=dtype, generator=generator)
