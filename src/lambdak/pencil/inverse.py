r"""The inverse of λ_k(A + x B) in x for a definite B: λ_{d−k+1}(B^{-1/2} (value·I − A) B^{-1/2}), one eigenvalue."""

from __future__ import annotations

import numpy as np

from lambdak._types import Float64Array


def inverse_matrices(matrices: Float64Array, feature: int, tol: float) -> tuple[int, Float64Array]:
    """The sign of B, and the matrices (n + 1, d, d) of the pencil in (value, other features) that yields |x|.

    B is the matrix of ``feature``; eigenvalues below ``tol`` times its norm count as zero.
    """
    values, basis = np.linalg.eigh(matrices[feature + 1])
    sign = 1 if values[0] + values[-1] >= 0 else -1
    if np.min(sign * values) <= tol * np.abs(values).max():
        raise ValueError(
            f"matrices[{feature + 1}] must be positive or negative definite to invert feature {feature}; "
            f"got smallest eigenvalue {values[0]:.3g} and largest {values[-1]:.3g}: constrain it with "
            "constraints.SpectralSquareplus, or search for a root with scipy.optimize.brentq"
        )
    root = basis / np.sqrt(np.abs(values)) @ basis.T  # |B|^{-1/2}
    rest = root @ np.delete(matrices, feature + 1, axis=0) @ root
    return sign, np.concatenate([-rest[:1], [root @ root], -rest[1:]])
