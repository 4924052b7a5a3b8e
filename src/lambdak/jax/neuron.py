r"""The spectral neuron λ_k(A_0 + Σ x_i A_i) as pure functions: ``init`` makes parameters, ``apply`` evaluates them.

Settings are in an immutable object, parameters in a dictionary of arrays, which optimisers, ``jit``, ``grad`` and
``vmap`` take as it is. Coordinates, defaults and the start are those of :class:`lambdak.torch.SpectralNeuron`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike, DTypeLike

import jax
from jax import Array
from lambdak._checks import check_dim, check_int, check_positive
from lambdak.jax.eigen import EigenPair, coordinate_eigenpair, coordinate_eigenvalue, spectral_norm
from lambdak.jax.packing import as_floats, layout, sym
from lambdak.pencil.initial import check_monotonic_cst

_STRUCTURES = ("dense", "tridiagonal")
_CONSTRAINTS = ("factor", "diagonal")


@dataclass(frozen=True)
class SpectralNeuron:
    r"""f(x) = λ_k(A_0 + Σ x_i A_i), from (..., in_features) to (...).

    Parameters
    ----------
    in_features, dim
        Number of inputs, and the size of the matrices.
    eig_idx
        Zero-based position of the eigenvalue in ascending order; None is ``dim // 2``. The last makes f convex, the
        first concave.
    monotonic_cst
        −1, 0 or +1 per input, or one for all: f does not rise, is free, does not fall, whatever the parameters are.
    structure
        "dense", or "tridiagonal" with 2d − 1 parameters per matrix and O(d) work.
    constraint
        How matrices of monotone inputs are kept semidefinite: "factor", L Lᵀ, or "diagonal", diag(squareplus(θ)).
    max_influence
        Caps on ‖A_i‖₂, one for all inputs or one each; None is no cap.
    bound
        The largest magnitude that inputs are expected to have, for the start.

    Examples
    --------
    >>> neuron = SpectralNeuron(3, dim=5, monotonic_cst=(1, 0, 0))
    >>> params = neuron.init(jax.random.key(0))
    >>> {name: part.shape for name, part in params.items()}
    {'constant': (15,), 'free': (2, 15), 'bound': (1, 15)}
    >>> x = jax.random.normal(jax.random.key(1), (7, 3))
    >>> bool((neuron.apply(params, x.at[:, 0].add(1.0)) >= neuron.apply(params, x)).all())
    True
    """

    in_features: int
    dim: int
    eig_idx: int | None = None
    monotonic_cst: int | Sequence[int] | None = None
    structure: str = "dense"
    constraint: str = "factor"
    max_influence: float | Sequence[float] | None = None
    bound: float = 5.0

    def __post_init__(self) -> None:
        n, dim = check_int(self.in_features, "in_features", 0, 2**31), check_dim(self.dim)
        index = dim // 2 if self.eig_idx is None else check_int(self.eig_idx, "eig_idx", 0, dim)
        signs = [self.monotonic_cst] * n if isinstance(self.monotonic_cst, int) else self.monotonic_cst
        caps = self.max_influence
        if caps is not None:
            caps = (caps,) * n if isinstance(caps, (int, float)) else tuple(caps)
            if len(caps) != n:
                raise ValueError(f"max_influence must have {n} entries; got {len(caps)}")
            caps = tuple(check_positive(cap, f"max_influence[{i}]") for i, cap in enumerate(caps))
        for name, allowed in (("structure", _STRUCTURES), ("constraint", _CONSTRAINTS)):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {allowed}; got {getattr(self, name)!r}")
        object.__setattr__(self, "eig_idx", index)
        object.__setattr__(self, "monotonic_cst", tuple(check_monotonic_cst(signs, n).tolist()))
        object.__setattr__(self, "max_influence", caps)
        object.__setattr__(self, "bound", check_positive(self.bound, "bound"))

    def init(self, key: Array, dtype: DTypeLike | None = None) -> dict[str, Array]:
        """The paper's start: A_0 with a gap around λ_k, feature matrices near multiples of the identity.

        "constant" holds the coordinates of A_0, "free" those of the free A_i, and "bound" the parameters of the others.
        """
        kind = jnp.zeros((), dtype or float).dtype
        first, second, third = jax.random.split(key, 3)
        constant, signs = self._gapped(first), self._signs
        largest = 1 / sqrt(max(self.in_features, 1))
        spread = 1 / (4 * self.bound * max(self.in_features, 1))
        low = jnp.where(signs != 0, largest / 2, -largest)
        alpha = jax.random.uniform(second, signs.shape, minval=low, maxval=largest)
        width = jnp.where(signs != 0, min(spread, largest / 4), spread)[:, None]
        jitter = jax.random.uniform(third, (len(signs), self.dim), minval=-1.0, maxval=1.0) * width
        diagonals = alpha[:, None] + jitter  # of matrices that are definite where they have to be
        bound = self._parameters(diagonals[np.flatnonzero(signs)])
        free = self._diagonal(diagonals[np.flatnonzero(signs == 0)])
        return {"constant": constant.astype(kind), "free": free.astype(kind), "bound": bound.astype(kind)}

    def apply(self, params: dict[str, Array], x: ArrayLike) -> Array:
        """λ_k(A(x)) for x (..., in_features), of shape (...)."""
        return coordinate_eigenvalue(self._coords(params, x), self.dim, self._index, self._is_tridiagonal)

    def eigenpair(self, params: dict[str, Array], x: ArrayLike) -> EigenPair:
        """λ_k(A(x)) and its unit eigenvector, whose quadratic forms vᵀA_i v are the exact derivatives."""
        return coordinate_eigenpair(self._coords(params, x), self.dim, self._index, self._is_tridiagonal)

    def weight(self, params: dict[str, Array]) -> Array:
        """Coordinates of the A_i, (in_features, width), which satisfy constraints and caps."""
        signs = self._signs
        order = np.argsort(np.concatenate([np.flatnonzero(signs == 0), np.flatnonzero(signs)]))
        flips = signs[signs != 0][:, None].astype(params["bound"].dtype)
        rows = jnp.concatenate([params["free"], flips * self._definite(params["bound"])])[order]
        return rows if self.max_influence is None else self._capped(rows)

    def norms(self, params: dict[str, Array]) -> Array:
        """‖A_i‖₂ per input: no change of input i by t moves the output by more than |t| ‖A_i‖₂."""
        return spectral_norm(self.weight(params), self.dim, self._is_tridiagonal)

    def matrices(self, params: dict[str, Array]) -> Array:
        """A_0, …, A_n, (1 + in_features, d, d)."""
        rows = jnp.concatenate([params["constant"][None], self.weight(params)])
        return sym(rows, self.dim, self._is_tridiagonal)

    @property
    def _signs(self) -> np.ndarray:
        return np.asarray(self.monotonic_cst, np.int8)

    @property
    def _index(self) -> int:
        assert self.eig_idx is not None  # since it was made
        return self.eig_idx

    @property
    def _is_tridiagonal(self) -> bool:
        return self.structure == "tridiagonal"

    def _coords(self, params: dict[str, Array], x: ArrayLike) -> Array:
        """Coordinates of A(x), (..., width)."""
        rows = as_floats(x, "x")
        if rows.ndim == 0 or rows.shape[-1] != self.in_features:
            raise ValueError(f"x must have {self.in_features} entries on its last axis; got shape {rows.shape}")
        return params["constant"] + rows @ self.weight(params)

    def _gapped(self, key: Array) -> Array:
        """Coordinates of Qᵀ diag(−1, …, 0, …, 1) Q; of a tridiagonal matrix whose eigenvalues are simple, too."""
        steps = np.arange(self.dim) - self._index
        spectrum = np.sign(steps) * 1.0
        if self._is_tridiagonal:
            spectrum = spectrum * (0.5 + 0.5 * np.abs(steps) / max(self.dim - 1, 1))
        basis, upper = jnp.linalg.qr(jax.random.normal(key, (self.dim, self.dim)))
        basis = basis * jnp.where(jnp.diagonal(upper) < 0, -1.0, 1.0)
        full = basis.T * spectrum @ basis
        if self._is_tridiagonal and self.dim > 2:
            full = _tridiagonalised(full)
        row, column, factor = layout(self.dim, self._is_tridiagonal)
        return full[row, column] * factor

    def _diagonal(self, entries: Array) -> Array:
        """Coordinates of diagonal matrices (..., d)."""
        row, column, _ = layout(self.dim, self._is_tridiagonal)
        return jnp.where(row == column, entries[..., row], 0.0)

    def _parameters(self, diagonals: Array) -> Array:
        """Parameters of positive definite diagonal matrices."""
        if self.constraint == "diagonal":
            return diagonals - 0.25 / diagonals
        return self._diagonal(jnp.sqrt(diagonals))

    def _definite(self, theta: Array) -> Array:
        """Coordinates of semidefinite matrices."""
        row, column, factor = layout(self.dim, self._is_tridiagonal)
        if self.constraint == "diagonal":
            large = (jnp.where(theta < 0, -theta, theta) + jnp.hypot(theta, 1.0)) / 2  # smooth at 0, as |θ| is not
            return self._diagonal(jnp.where(theta < 0, 0.25 / large, large))
        lower = jnp.tril(sym(theta, self.dim, self._is_tridiagonal))
        return (lower @ lower.mT)[..., row, column] * factor.astype(theta.dtype)

    def _capped(self, rows: Array) -> Array:
        """A min(1, cap / ‖A‖₂), with a margin for rounding."""
        norm = spectral_norm(rows, self.dim, self._is_tridiagonal)
        caps = np.asarray(self.max_influence) * (1 - 8 * self.dim * float(np.finfo(rows.dtype).eps))
        caps = caps.astype(rows.dtype)
        capped: Array = rows * (caps / jnp.maximum(norm, caps))[:, None]
        return capped


def _tridiagonalised(full: Array) -> Array:
    """A tridiagonal matrix with the same eigenvalues, by Householder reflections."""
    dim = len(full)
    for i in range(dim - 2):
        column = jnp.where(np.arange(dim) > i, full[i], 0.0)
        length = jnp.linalg.norm(column)
        mirror = column.at[i + 1].add(jnp.where(column[i + 1] < 0, -length, length))
        mirror = mirror / jnp.maximum(jnp.linalg.norm(mirror), np.finfo(full.dtype).tiny)
        half = full - 2 * jnp.outer(mirror, mirror @ full)
        full = half - 2 * jnp.outer(half @ mirror, mirror)
    return full
