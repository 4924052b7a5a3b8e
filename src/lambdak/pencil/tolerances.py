"""Numerical tolerances behind everything that is compared or proven, each defined only here."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

# About √ε: eigenvalues closer than this, relative to ‖A(z)‖₂, have eigenvectors that rounding mixes.
REPEATED_TOL = 1.5e-8

# What the matrices in a file of the first format may break their promise by, relative to the steps of the column.
PROMISE_TOL = 1e-9

# How far the convex weights in a file may sum to something other than one.
WEIGHTS_TOL = 1e-9

# The test ratio ‖residual‖ / (‖A‖ d ε) that the eigenvalue kernel stays below on every matrix.
_ROUNDING_RATIO = 10.0


def rounding_tol(dim: int, dtype: DTypeLike) -> float:
    """10 d ε, the relative size of what rounding in ``dtype`` can do to an eigenvalue.

    >>> rounding_tol(4, np.float64) < 1e-14
    True
    """
    return float(_ROUNDING_RATIO * dim * np.finfo(dtype).eps)
