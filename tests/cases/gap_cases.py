"""Matrices of which λ_k has one neighbour at a chosen distance, and the width within which that one counts as equal."""

from __future__ import annotations

import matrices
import numpy as np

from lambdak.eigen.rounding import equal_within

APART = 0.5  # of every other eigenvalue from λ_k, at least


def spectra(rng: np.random.Generator, n: int, dim: int, gap: float) -> np.ndarray:
    """Eigenvalues (n, d) around λ_k, k = d // 2; the lower neighbour is gap ‖A‖_F below it, at most APART."""
    k = dim // 2
    values = np.arange(dim) - k + rng.uniform(0, 0.3, (n, dim))
    values[:, k] = 0.1
    norm = np.linalg.norm(np.delete(values, k - 1, axis=1), axis=1)
    values[:, k - 1] = values[:, k] - np.minimum(gap * norm, APART)
    return values


def neighbours(rng: np.random.Generator, n: int, dim: int, gap: float) -> np.ndarray:
    """Symmetric matrices (n, d, d) of :func:`spectra`, with random eigenvectors."""
    return matrices.with_spectrum(rng, spectra(rng, n, dim, gap))


def tolerance(matrix: np.ndarray, dim: int, gap: float, dtype: type[np.floating]) -> np.ndarray:
    """What rounding of A can do to (λ_k − A)⁺ h, |h| about 1: some ε ‖A‖ / gap², the gap that counts; (n,)."""
    epsilon, norm = float(np.finfo(dtype).eps), np.linalg.norm(matrix, axis=(1, 2))
    counted = np.where(gap > equal_within(dim, epsilon), np.minimum(gap * norm, APART), APART)
    return 40 * epsilon * norm / counted**2


def gaps(dim: int, dtype: type[np.floating]) -> list[float]:
    """From 1e-16 to 1, without those so near the width that rounding decides on which side of it they are."""
    width = equal_within(dim, float(np.finfo(dtype).eps))
    return [gap for gap in 10.0 ** np.arange(-16, 0.1, 0.5) if not width / 2 < gap < 2 * width]
