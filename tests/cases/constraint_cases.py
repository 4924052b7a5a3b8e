"""Every constraint, and parameters of it."""

from __future__ import annotations

import numpy as np
import pytest

from lambdak.pencil.constraints import (
    DiagonalPSD,
    Factor,
    Free,
    Negative,
    RootFactor,
    SpectralSquareplus,
    Tridiagonal,
)

POSITIVE = [Factor(), RootFactor(), SpectralSquareplus(), DiagonalPSD()]
CONSTRAINTS = [Free(), Tridiagonal(), *POSITIVE, *(Negative(c) for c in POSITIVE)]
SIZES = {Tridiagonal(): lambda d: 2 * d - 1, DiagonalPSD(): lambda d: d}
every_constraint = pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
every_dim = pytest.mark.parametrize("dim", [1, 2, 5])
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def draws(constraint, dim, *lead, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).standard_normal((*lead, constraint.size(dim))).astype(dtype)


def inner(constraint):
    return constraint.constraint if isinstance(constraint, Negative) else constraint
