"""The reference engine: the kernel's functions with the kernel's signatures, one LAPACK call per matrix.

It is the oracle of the tests, the fallback without a compiled kernel, and the faster choice for large matrices.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import eigh_tridiagonal, lapack

from lambdak._types import FloatArray
from lambdak.eigen.engine import Gradient, Matrices, Pair, Solution
from lambdak.eigen.packing import sym, unsym


def solve(matrices: Matrices, index: Sequence[int], out: Solution, threads: int) -> None:
    """Fill value (rows, m) and, unless it is None, vector (rows, m, d)."""
    matrix, off, _ = matrices
    value, vector = out
    low, high = index[0], index[-1]
    chosen = [k - low for k in index]
    for row in range(len(matrix)):
        values, vectors = _range_of_one(matrix[row], None if off is None else off[row], low, high, vector is not None)
        value[row] = values[chosen]
        if vector is not None:
            vector[row] = vectors[:, chosen].T


def outer(vector: FloatArray, grad_value: FloatArray, out: Gradient, threads: int) -> None:
    """Fill grad with Σ_m g_m v_m v_mᵀ in the coordinates of the input."""
    for row in range(len(vector)):
        _store(np.einsum("m,mi,mj->ij", grad_value[row], vector[row], vector[row]), row, out)


def vjp(matrices: Matrices, pair: Pair, grads: Pair, near: float, out: Gradient, threads: int) -> None:
    """Fill grad with the reverse derivative through value and vector."""
    matrix, off, dim = matrices
    _, vector = pair
    grad_value, grad_vector = grads
    for row in range(len(matrix)):
        values, vectors = _range_of_one(matrix[row], None if off is None else off[row], 0, dim - 1, True)
        total = np.zeros((dim, dim), matrix.dtype)
        for m, v in enumerate(vector[row]):
            here = int(np.argmax(np.abs(vectors.T @ v)))
            gaps = values[here] - values
            gaps[np.abs(gaps) <= near * _norm(values)] = np.inf  # the pseudo-inverse leaves the eigenspace out
            w = vectors @ ((vectors.T @ grad_vector[row, m]) / gaps)
            total += np.outer(grad_value[row, m] * v + w, v)
        _store((total + total.T) / 2, row, out)


def _norm(values: FloatArray) -> float:
    """‖A‖_F from the eigenvalues of A, whose squares might overflow."""
    largest = float(np.abs(values).max())
    return largest * float(np.linalg.norm(values / largest)) if largest > 0 else 0.0


def _range_of_one(
    row: FloatArray, off: FloatArray | None, low: int, high: int, vectors: bool
) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues low..high of one matrix and, if requested, their vectors as columns; NaN for a bad matrix."""
    dim = len(row) if off is not None else (int(np.sqrt(8 * len(row) + 1)) - 1) // 2
    count = high - low + 1
    if not (np.isfinite(row).all() and (off is None or np.isfinite(off).all())):
        return np.full(count, np.nan, row.dtype), np.full((dim, count), np.nan, row.dtype)
    if off is None:
        syevr = lapack.ssyevr if row.dtype == np.float32 else lapack.dsyevr
        w, z, _, _, info = syevr(sym(row), compute_v=vectors, range="I", il=low + 1, iu=high + 1, overwrite_a=True)
        if info:
            raise np.linalg.LinAlgError(f"LAPACK's syevr did not converge (info={info})")
        return w[:count], z
    if dim == 1:
        return row.copy(), np.ones((1, 1), row.dtype)
    # One power of two, so that LAPACK sees neither huge nor denormal entries.
    scale = np.ldexp(row.dtype.type(1), -int(np.frexp(max(np.abs(row).max(), np.abs(off).max()))[1]) // 2)
    result = eigh_tridiagonal(
        row * scale * scale, off * scale * scale, eigvals_only=not vectors, select="i", select_range=(low, high)
    )
    w, z = result if vectors else (result, np.empty((dim, 0), row.dtype))
    return w / scale / scale, z


def _store(matrix: FloatArray, row: int, out: Gradient) -> None:
    """Write a symmetric gradient in packed coordinates, or as diagonal and off-diagonal."""
    grad, grad_off = out
    if grad_off is None:
        grad[row] = unsym(matrix)
        return
    grad[row] = np.diagonal(matrix)
    grad_off[row] = 2 * np.diagonal(matrix, 1)
