r"""Integrated gradients of a pencil: f(z) − f(b) shared out among the features along the line from b to z.

Feature i gets δ_i ∫₀¹ ∂f/∂z_i (b + tδ) dt = δ_i ⟨A_i, ∫₀¹ v vᵀ dt⟩ with δ = z − b: one integral for all features, whose
parts add up to the change because f is λ_k along the line (:mod:`lambdak.pencil.paths`).
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from lambdak._types import Float64Array
from lambdak.pencil.blocks import affine
from lambdak.pencil.paths import shared_out

_BLOCK_FLOATS = 1 << 19  # of the matrices of some rows: 4 MB
_FEWEST_ROWS = 32


class Attributions(NamedTuple):
    """Parts of f(z) − f(baseline), one per feature."""

    parts: Float64Array
    """δ_i ∫ vᵀ A_i v dt, (..., n); their sum is f(z) − f(baseline)."""
    error: Float64Array
    """An estimate of how far the largest part, or their sum, can be off, (...,)."""


def integrated_gradients(z: Float64Array, baseline: Float64Array, packed: Float64Array, index: int) -> Attributions:
    """Attributions of the rows z (..., n) from baselines of a shape that broadcasts; nan where a row is not finite."""
    try:
        shape = np.broadcast_shapes(z.shape, baseline.shape)
    except ValueError as reason:
        said = f"baseline must have one row, or one for each of Z {z.shape}; got {baseline.shape}"
        raise ValueError(said) from reason
    lead, n = prod(shape[:-1]), shape[-1]
    ends = [np.broadcast_to(part, shape).reshape(lead, n) for part in (z, baseline)]
    parts, error = np.full((lead, n), np.nan), np.full(lead, np.nan)
    good = np.flatnonzero(np.isfinite(ends).all(axis=(0, 2)))
    step = max(_FEWEST_ROWS, _BLOCK_FLOATS // packed.shape[1])
    for start in range(0, len(good), step):
        own = good[start : start + step]
        parts[own], error[own] = _shares(ends[0][own], ends[1][own], packed, index)
    return Attributions(parts.reshape(shape), error.reshape(shape[:-1]))


def _shares(
    z: Float64Array, baseline: Float64Array, packed: Float64Array, index: int
) -> tuple[Float64Array, Float64Array]:
    delta = z - baseline
    largest = (np.abs(delta) * np.linalg.norm(packed[1:], axis=1)).max(axis=1, initial=0.0)
    # Eigenvectors do not depend on the scale: with the largest part at one, every row is as exact as its size allows.
    scale = np.where(largest > 0, largest, 1.0)
    first, path = affine(baseline, packed) / scale[:, None], (delta @ packed[1:]) / scale[:, None]
    mean, error = shared_out(first, path, index, largest / scale)
    return delta * (mean @ packed[1:].T) + 0.0, scale * error
