"""The first look at a spectral neuron: the paper's gallery, a fitted curve, and how fast the eigenvalues are.

Everything here is data; :mod:`lambdak.plots` draws it and the command line shows it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from lambdak._checks import FloatArray
from lambdak.eigen import eigenpair, eigenvalue_vjp
from lambdak.initial import gapped
from lambdak.packing import packed_size, sym
from lambdak.pencil import Pencil
from lambdak.runtime import get_num_threads, set_num_threads

NOISE = 0.1
_X_RANGE = 4.0


@dataclass(frozen=True)
class Gallery:
    """λ_k(A + xB) for every k, (d, points), on a grid of x."""

    title: str
    x: FloatArray
    values: FloatArray


def gallery(dim: int, definite: bool, *, random_state: int = 0, points: int = 401) -> Gallery:
    """All eigenvalue curves of a random A + xB with entries in [0, 1]; ``definite`` clips the spectrum of B at 0.

    >>> curves = gallery(6, definite=True)
    >>> bool((np.diff(curves.values, axis=1) > -1e-9).all())
    True
    """
    rng = np.random.default_rng(random_state)
    raw = rng.uniform(0, 1, (2, dim, dim))
    A, B = np.tril(raw) + np.tril(raw, -1).transpose(0, 2, 1)
    if definite:
        values, basis = np.linalg.eigh(B)
        B = basis * np.maximum(values, 0) @ basis.T
    x = np.linspace(-5, 5, points)
    curves = [Pencil.from_matrices([A, B], k)(x[:, None]) for k in range(dim)]
    kind = "B positive semidefinite: every curve rises" if definite else "first concave, last convex"
    return Gallery(f"λₖ(A + xB), {dim} x {dim}, {kind}", x, np.array(curves))


@dataclass(frozen=True)
class CurveData:
    """A noisy sample of a known curve."""

    x: FloatArray
    y: FloatArray
    grid: FloatArray
    truth: FloatArray


def wave(x: FloatArray) -> FloatArray:
    """sin(2x) e^{-x²/12} + |x|/4, the curve to be found: smooth waves, and a kink at zero."""
    return np.asarray(np.sin(2 * x) * np.exp(-(x**2) / 12) + np.abs(x) / 4)


def noisy_curve(rows: int = 2000, *, random_state: int = 0) -> CurveData:
    """Sample :func:`wave` on [-4, 4] with normal noise of standard deviation 0.1."""
    rng = np.random.default_rng(random_state)
    x = rng.uniform(-_X_RANGE, _X_RANGE, rows)
    grid = np.linspace(-_X_RANGE, _X_RANGE, 801)
    return CurveData(x, wave(x) + NOISE * rng.standard_normal(rows), grid, wave(grid))


def fit_curve(
    data: CurveData, dim: int, *, steps: int = 3000, batch: int = 128, rate: float = 0.03, random_state: int = 0
) -> Iterator[Pencil]:
    """Fit λ_k(A₀ + xA₁) by plain Adam on the squared error; yields the pencil after every hundredth step.

    One step is one product, one eigenpair per row, and one packed gradient: dL/dA = Σ_rows (dL/dλ) v vᵀ.
    """
    rng = np.random.default_rng(random_state)
    packed = gapped(1, dim, random_state=rng, bound=_X_RANGE, dtype=np.float64)
    first, second = np.zeros_like(packed), np.zeros_like(packed)
    for step in range(1, steps + 1):
        rows = rng.integers(0, len(data.x), batch)
        design = np.column_stack([np.ones(batch), data.x[rows]])  # (batch, 2)
        value, vector = eigenpair(design @ packed, dim, dim // 2)
        slope = 2 * (value - data.y[rows]) / batch
        grad = design.T @ eigenvalue_vjp(vector, slope)  # (2, D)
        first += 0.1 * (grad - first)
        second += 0.001 * (grad**2 - second)
        size = rate * 0.5 * (1 + np.cos(np.pi * step / steps)) / (1 - 0.9**step)
        packed = packed - size * first / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        if step % 100 == 0:
            yield Pencil(packed)


@dataclass(frozen=True)
class Speed:
    """Seconds for one eigenpair of each of ``batch`` matrices: ours on one thread and on all, and NumPy's eigh."""

    dim: int
    dtype: str
    batch: int
    one_thread: float
    all_threads: float
    lapack: float


def kernel_speed(dim: int, dtype: type[np.floating], *, batch: int = 4096, repeats: int = 5) -> Speed:
    """Time the kernel against LAPACK (through NumPy) on the same random matrices."""
    packed = np.random.default_rng(0).standard_normal((batch, packed_size(dim))).astype(dtype)
    full = sym(packed)
    threads = get_num_threads()
    set_num_threads(1)
    one = _median_seconds(lambda: eigenpair(packed, dim, dim // 2), repeats)
    set_num_threads(threads)
    many = _median_seconds(lambda: eigenpair(packed, dim, dim // 2), repeats)
    peer = _median_seconds(lambda: np.linalg.eigh(full), max(1, repeats // 2))
    return Speed(dim, np.dtype(dtype).name, batch, one, many, peer)


def _median_seconds(call: Callable[[], object], repeats: int) -> float:
    call()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)
