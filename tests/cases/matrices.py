"""Matrix factories shared by the tests: each gives n symmetric d x d matrices in float64, easy and hard ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Factory = Callable[[np.random.Generator, int, int], np.ndarray]


def symmetric(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    full = rng.standard_normal((n, d, d))
    return (full + full.transpose(0, 2, 1)) / 2


def rotation(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((n, d, d)))[0]


def with_spectrum(rng: np.random.Generator, spectrum: np.ndarray) -> np.ndarray:
    """Random eigenvectors for given eigenvalues (n, d)."""
    q = rotation(rng, *spectrum.shape)
    full = (q * spectrum[:, None, :]) @ q.transpose(0, 2, 1)
    return (full + full.transpose(0, 2, 1)) / 2


def diagonal(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.standard_normal((n, d))[:, :, None] * np.eye(d)


def identity_multiple(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.standard_normal((n, 1, 1)) * np.eye(d)


def zero(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return np.zeros((n, d, d))


def rank_one(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    u = rng.standard_normal((n, d))
    return np.sign(rng.standard_normal((n, 1, 1))) * u[:, :, None] * u[:, None, :]


def corner_entry(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    full = np.zeros((n, d, d))
    full[:, -1, 0] = full[:, 0, -1] = rng.standard_normal(n)
    return full


def repeated(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    levels = rng.standard_normal((n, max(1, d // 3)))
    return with_spectrum(rng, np.take_along_axis(levels, rng.integers(0, levels.shape[1], (n, d)), 1))


def nearly_repeated(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Clusters of three with relative gaps of 1e-12 … 1e-3."""
    gap = 10.0 ** rng.uniform(-12, -3, (n, 1))
    return with_spectrum(rng, np.arange(d) // 3 / max(1, d / 3) - 0.5 + gap * (np.arange(d) % 3))


def wilkinson(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    one = np.diag(np.abs(np.arange(d) - (d - 1) / 2)) + np.eye(d, k=1) + np.eye(d, k=-1)
    return one * (1 + rng.integers(0, 4, (n, 1, 1)))


def graded(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Rows that fall, or rise, over 30 orders of magnitude (15 on either side of the product)."""
    scale = 10.0 ** (-15.0 * np.arange(d) / max(1, d - 1))
    full = symmetric(rng, n, d) * scale[:, None] * scale
    full[::2] = full[::2, ::-1, ::-1]
    return full


def block_diagonal(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    block = rng.integers(0, 3, (n, d))
    block.sort(1)
    return symmetric(rng, n, d) * (block[:, :, None] == block[:, None, :])


def sparse(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Most off-diagonal entries are zero, in no order."""
    keep = np.triu(rng.random((n, d, d)) < 0.15, 1)
    return symmetric(rng, n, d) * (keep + keep.transpose(0, 2, 1) + np.eye(d))


def integers(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    full = np.tril(rng.integers(-3, 4, (n, d, d)))
    return (full + np.tril(full, -1).transpose(0, 2, 1)).astype(float)


def tridiagonal(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    near = np.abs(np.subtract.outer(np.arange(d), np.arange(d))) <= 1
    return symmetric(rng, n, d) * near


def split_tridiagonal(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Tridiagonal with some off-diagonals exactly zero and equal diagonal entries across the blocks."""
    full = tridiagonal(rng, n, d)
    cut = rng.random((n, max(0, d - 1))) < 0.4
    for shift in (1, -1):
        rows = np.arange(d - 1)
        full[:, rows + (shift < 0), rows + (shift > 0)] *= ~cut
    full[:, np.arange(d), np.arange(d)] = np.round(full[:, np.arange(d), np.arange(d)])
    return full


def zero_block(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """A block of zeros, on which the first trial point falls, beside a block whose trace is zero."""
    full = np.zeros((n, d, d))
    for matrix in full:
        cut = int(rng.integers(0, d + 1))
        k = d - cut
        matrix[range(cut, d), range(cut, d)] = np.where(np.arange(k) < k - k // 10, -1.0, 9.0)
        rows = np.arange(cut, d - 1)
        matrix[rows, rows + 1] = matrix[rows + 1, rows] = 0.25
    return full


def autoregressive(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """ρ^|i-j|: eigenvalues that crowd towards the lower end."""
    lag = np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    return rng.uniform(0.5, 0.999, (n, 1, 1)) ** lag


def brownian(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return np.minimum.outer(np.arange(1, d + 1), np.arange(1, d + 1)) * rng.uniform(0.1, 1, (n, 1, 1))


def geometric(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return with_spectrum(rng, rng.uniform(0.3, 0.9, (n, 1)) ** np.arange(d))


def wide_cluster(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """All but two eigenvalues within 1e-15 … 1e-4 of each other."""
    spectrum = 1 + 10.0 ** rng.uniform(-15, -4, (n, 1)) * rng.uniform(-1, 1, (n, d))
    spectrum[:, :2] = [-1, 2][:d]
    return with_spectrum(rng, spectrum)


FACTORIES: dict[str, Factory] = {
    function.__name__: function
    for function in (
        symmetric,
        diagonal,
        identity_multiple,
        zero,
        rank_one,
        corner_entry,
        repeated,
        nearly_repeated,
        wilkinson,
        graded,
        block_diagonal,
        sparse,
        integers,
        tridiagonal,
        split_tridiagonal,
        zero_block,
        autoregressive,
        brownian,
        geometric,
        wide_cluster,
    )
}

# Largest and smallest scales that the whole spectrum must survive, by dtype.
SCALES = {np.float32: (1e30, 1e-30, 1e-43), np.float64: (1e150, 1e-150, 1e-320)}
