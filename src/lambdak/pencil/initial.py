r"""The start of training: A_0 with a gap around λ_k, feature matrices near multiples of the identity."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.linalg import hessenberg

from lambdak._checks import check_dim, check_dtype, check_int, check_non_negative, check_positive
from lambdak._types import Float64Array, FloatArray
from lambdak.eigen.packing import diagonal_indices, packed_size, unsym

Seed = int | np.random.Generator | None

_MAX_FEATURES = 2**31


def gapped(
    n_features: int,
    dim: int,
    eig_idx: int | None = None,
    *,
    random_state: Seed,
    bound: float = 5.0,
    jitter: float = 1.0,
    gap: float = 1.0,
    fan_in: int | None = None,
    monotonic_cst: Sequence[int] | None = None,
    dtype: DTypeLike = np.float32,
) -> FloatArray:
    r"""A_0 = Qᵀ diag(−1, …, 0, …, 1) Q and A_i = α_i I + diag(ε_i), packed (n_features + 1, D).

    Q is Haar-distributed and the zero stands at ``eig_idx``. With s = ``fan_in`` and R = ``bound``, α_i is
    uniform in ±1/√s and ε_ij in ±1/(4Rs), which keeps the gap γ_k(A(z)) ≥ 1/2 for ‖z‖_∞ ≤ R with at most s
    non-zero entries (the paper's lemma), while A_0 and A_i almost surely do not commute.

    Parameters
    ----------
    n_features, dim, eig_idx
        Shape of the pencil; ``eig_idx=None`` is ``dim // 2``.
    random_state
        Seed or generator; the global state of NumPy is never touched.
    bound
        R, the largest magnitude the features are expected to take.
    jitter, gap
        Factors on the ε_ij and on A_0. Without jitter, 0, the A_i are multiples of the identity.
    fan_in
        s, the number of active (non-zero) entries of a row; None is ``n_features``.
    monotonic_cst
        −1, 0 or +1 for each feature. With +1, α_i is uniform in [1/(2√s), 1/√s] and ε_ij also within
        ±1/(4√s), so that the eigenvalues of A_i are at least 1/(4√s); with −1 it is negated.
    dtype
        float32 or float64.

    Examples
    --------
    A constrained feature starts from the parameters that its constraint's right inverse finds:

    >>> from lambdak.pencil.constraints import DIAGONAL_PSD, FREE
    >>> start = gapped(2, 5, random_state=0, monotonic_cst=[0, 1], dtype=np.float64)
    >>> params = [c.right_inverse(a) for c, a in zip([FREE, FREE, DIAGONAL_PSD], start, strict=True)]
    >>> [len(p) for p in params]
    [15, 15, 5]
    >>> bool(np.allclose(DIAGONAL_PSD.forward(params[2]), start[2]))
    True
    """
    n = check_int(n_features, "n_features", 0, _MAX_FEATURES)
    d = check_dim(dim)
    index = d // 2 if eig_idx is None else check_int(eig_idx, "eig_idx", 0, d)
    active = max(n, 1) if fan_in is None else check_int(fan_in, "fan_in", 1, max(n, 1) + 1)
    rng = np.random.default_rng(random_state)
    packed = np.zeros((n + 1, packed_size(d)))
    packed[0] = check_positive(gap, "gap") * unsym(_gapped_constant(d, index, rng))
    cst, largest = check_monotonic_cst(monotonic_cst, n), check_non_negative(jitter, "jitter")
    largest /= 4 * check_positive(bound, "bound") * active
    packed[1:, diagonal_indices(d)] = _feature_diagonals(cst, d, largest, active, rng)
    return packed.astype(check_dtype(dtype))


def tridiagonal_gapped(dim: int, eig_idx: int, rng: np.random.Generator) -> Float64Array:
    """A random tridiagonal matrix with λ_k = 0 and no other eigenvalue within 1/2 of it, all of them simple, (d, d).

    Simple ones, because a tridiagonal matrix with repeated eigenvalues falls apart into blocks.
    """
    steps = np.arange(dim) - eig_idx
    spectrum = np.sign(steps) * (0.5 + 0.5 * np.abs(steps) / max(dim - 1, 1))
    basis = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    return np.asarray(hessenberg(basis * spectrum @ basis.T))


def _gapped_constant(dim: int, eig_idx: int, rng: np.random.Generator) -> Float64Array:
    """Qᵀ diag(−1, …, 0, …, 1) Q with the zero at ``eig_idx``."""
    basis, upper = np.linalg.qr(rng.standard_normal((dim, dim)))
    # QR leaves the signs to the algorithm; a positive diagonal of R makes Q uniform over the orthogonals.
    basis = basis * np.where(np.diag(upper) < 0, -1.0, 1.0)
    return np.asarray(basis.T * np.sign(np.arange(dim) - eig_idx) @ basis)


def _feature_diagonals(
    cst: NDArray[np.int8], dim: int, jitter: float, fan_in: int, rng: np.random.Generator
) -> Float64Array:
    """α_i + ε_ij, (n, d)."""
    constrained = cst != 0
    largest = 1 / sqrt(fan_in)
    alpha = rng.uniform(np.where(constrained, largest / 2, -largest), largest)
    # A small bound would let the jitter outgrow α: half of its smallest value keeps the matrix definite.
    width = np.where(constrained, min(jitter, largest / 4), jitter)[:, None]
    diagonal = alpha[:, None] + rng.uniform(-width, width, (len(cst), dim))
    return np.where(cst < 0, -1.0, 1.0)[:, None] * diagonal


def check_monotonic_cst(monotonic_cst: Sequence[int] | None, n_features: int) -> NDArray[np.int8]:
    """−1, 0 or +1 per feature; None is all zero."""
    if monotonic_cst is None:
        return np.zeros(n_features, np.int8)
    if len(monotonic_cst) != n_features:
        raise ValueError(f"monotonic_cst must have {n_features} entries; got {len(monotonic_cst)}")
    for i, item in enumerate(monotonic_cst):
        if item not in (-1, 0, 1):
            raise ValueError(f"monotonic_cst[{i}] must be -1, 0 or 1; got {item!r}")
    return np.asarray(monotonic_cst, np.int8)
