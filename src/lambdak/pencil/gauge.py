r"""The gauge: Qᵀ A_0 Q, …, Qᵀ A_n Q is the same function for every orthogonal Q, so one Q can be fixed.

Diagonalising one matrix with ascending eigenvalues leaves, when they are simple, only the signs of the basis
vectors; the off-diagonal entries of the other matrices fix those.
"""

from __future__ import annotations

import numpy as np

from lambdak._types import Float64Array


def fix_gauge(matrices: Float64Array, index: int, tol: float) -> Float64Array:
    """Qᵀ A_j Q for every j; Q makes matrix ``index`` diagonal and ascending, and its signs are fixed.

    Entries below ``tol`` max |A_j| count as zero when signs are chosen.

    >>> pair = np.array([[[2.0, 0.0], [0.0, 1.0]], [[3.0, -1.0], [-1.0, 4.0]]])
    >>> fix_gauge(pair, 0, 1e-8)
    array([[[1., 0.],
            [0., 2.]],
    <BLANKLINE>
           [[4., 1.],
            [1., 3.]]])
    """
    values, basis = np.linalg.eigh(matrices[index])
    rotated = basis.T @ matrices @ basis
    rotated[index] = np.diag(values)
    signs = _linking_signs(rotated, tol)
    return np.asarray(rotated * signs[:, None] * signs + 0.0)


def _linking_signs(matrices: Float64Array, tol: float) -> Float64Array:
    """Signs s that make positive each entry s_a s_b A_j[a, b] that first links a and b.

    Entries are visited matrix by matrix, row by row. Only s_a s_b within linked groups has an effect, so the
    sign of a whole group is free, and the result does not depend on the signs that came in.
    """
    dim = matrices.shape[-1]
    group, signs = np.arange(dim), np.ones(dim)
    for matrix in matrices:
        link = np.tril(np.abs(matrix) > tol * np.abs(matrix).max(), -1)
        for a, b in np.argwhere(link):
            if group[a] != group[b]:
                joined = group == group[b]
                signs[joined] *= np.sign(matrix[a, b]) * signs[a] * signs[b]
                group[joined] = group[a]
        if (group == group[0]).all():
            break
    return signs
