"""What rounding can do to an eigenvalue: a bound on the error of the kernel, for every matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike


def eigenvalue_error(dim: int, dtype: DTypeLike = np.float64) -> float:
    """E with |computed λ_k − λ_k(A)| ≤ E ‖A‖_F for every symmetric A in the range of ``dtype``, packed.

    >>> eigenvalue_error(9) < 1e-12
    True
    """
    unit = float(np.finfo(dtype).eps) / 2
    return (12 * dim * dim + 60 * dim + 60) * unit
