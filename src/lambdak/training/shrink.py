r"""The proximal step of the spectral-norm group penalty: whole columns become exactly zero.

In coordinates that are whitened column by column, a column is a group of matrices Θ_1 … Θ_r, and Σ_j Θ_j² is the mean
square of what it contributes. Its penalty is the spectral norm of the stacked group, ‖(Σ_j Θ_j²)^{1/2}‖₂, which for a
single matrix is ‖Θ‖₂. The proximal step lowers the largest singular values of the group to a common value; the group
becomes zero exactly when its nuclear norm is at most the threshold.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lambdak._types import Float64Array, FloatArray
from lambdak.eigen.packing import packed_size, sym, unsym

# Of the threshold at which noise just vanishes. With alpha = 1 columns of pure noise vanish, on tables with a hundred
# of them, and few others do (benchmarks/noise.py).
_NOISE = 0.75


class Shrinkage:
    """Proximal steps on groups of rows of θ; ``alpha`` is relative to how far Adam lets a group of pure noise drift.

    In n steps of rate η a single number drifts by about η √n. A step is taken once in an epoch: a signal has then
    moved by n steps, and noise by their root.
    """

    def __init__(self, groups: Sequence[slice], dim: int, alpha: float) -> None:
        self._groups, self._width = groups, packed_size(dim)
        sizes = np.array([group.stop - group.start for group in groups])
        self._thresholds = _NOISE * alpha * np.sqrt(sizes * self._width * dim)

    def apply_(self, theta: FloatArray, drift: float) -> None:
        """Shrink the groups of θ (models, size, width), whose numbers drift by this much if they are noise."""
        for group, threshold in zip(self._groups, drift * self._thresholds, strict=True):
            rows = theta[:, group, : self._width]
            rows[...] = prox(rows, float(threshold))


def prox(rows: FloatArray, threshold: float | FloatArray) -> FloatArray:
    """The proximal step on groups (models, r, D); exact for r = 1, and exact in what becomes zero for any r.

    ``threshold`` is one for all groups, or one each, (models,).
    """
    matrices = sym(rows).astype(np.float64)  # (models, r, d, d)
    values, basis = np.linalg.eigh(np.einsum("mrij,mrjk->mik", matrices, matrices))
    singular = np.sqrt(np.maximum(values, 0))
    factor = _lowered(singular, threshold) / np.maximum(singular, 1e-300)
    keep = basis * factor[:, None, :] @ basis.transpose(0, 2, 1)
    product = matrices @ keep[:, None]
    shrunk = unsym((product + product.transpose(0, 1, 3, 2)) / 2).astype(rows.dtype)
    return np.where((singular.sum(axis=1) <= threshold)[:, None, None], rows.dtype.type(0), shrunk)


def _lowered(values: Float64Array, threshold: float | FloatArray) -> Float64Array:
    """min(values, c) along the last axis, with the c ≥ 0 that takes ``threshold`` away in total."""
    taken = np.asarray(threshold)[..., None]
    descending = np.sort(values, axis=-1)[..., ::-1]
    levels = (np.cumsum(descending, axis=-1) - taken) / np.arange(1, values.shape[-1] + 1)
    return np.asarray(np.minimum(values, np.maximum(levels.max(axis=-1, keepdims=True), 0)))
