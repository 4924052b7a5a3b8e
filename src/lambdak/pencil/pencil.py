r"""The spectral neuron f(z) = λ_k(A_0 + Σ z_i A_i) as an immutable object with the paper's mathematics on it.

A feature is a column of Z, counted from zero; feature i owns ``matrices[i + 1]``, the paper's A_{i+1}.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from lambdak._checks import check_finite, check_floats, check_int, check_non_negative, check_shape, check_width, frozen
from lambdak._types import Float64Array, FloatArray
from lambdak.eigen import eigenpair, eigenvalue, eigenvalue_vjp
from lambdak.eigen.lazy import cached_property
from lambdak.eigen.packing import packed_dim, sym, unsym
from lambdak.pencil.attribution import Attributions, integrated_gradients
from lambdak.pencil.blocks import affine, over_rows
from lambdak.pencil.gauge import fix_gauge
from lambdak.pencil.inverse import inverse_matrices
from lambdak.pencil.spectrum import eigengap, eigenspace_norms, repeated, semidefinite_sign, spectral_norm
from lambdak.pencil.tolerances import REPEATED_TOL, rounding_tol
from lambdak.pencil.variational import ConvexParts, Game, courant_fischer, ky_fan


class ChangeBound(NamedTuple):
    """Bounds on |f(z + δ) − f(z)| for every z."""

    tight: Float64Array
    """‖Σ δ_i A_i‖₂, (...,)."""
    loose: Float64Array
    """Σ |δ_i| ‖A_i‖₂, (...,)."""


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Pencil:
    """f(z) = λ_k(A_0 + Σ z_i A_i), from packed matrices (n + 1, D), with k = ``eig_idx`` + 1.

    Parameters
    ----------
    packed
        Packed coordinates of A_0, …, A_n, float32 or float64; :meth:`from_matrices` takes full matrices.
    eig_idx
        Zero-based position of the eigenvalue in ascending order; None is ``dim // 2``.

    Examples
    --------
    >>> f = Pencil.from_matrices([[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, -1.0]]])
    >>> f
    Pencil(dim=2, eig_idx=1, n_features=1, dtype=float64)
    >>> f([[0.0], [1.0]])  # √(1 + z²)
    array([1.        , 1.41421356])
    """

    packed: FloatArray
    eig_idx: int

    def __init__(self, packed: ArrayLike, eig_idx: int | None = None) -> None:
        array = check_finite(check_floats(packed, "packed"), "packed")
        if array.ndim != 2 or len(array) == 0:
            raise ValueError(f"packed must have shape (n_features + 1, D); got {array.shape}")
        dim = packed_dim(array.shape[-1])
        # Adding zero copies and turns −0 into 0, so that equal pencils hash alike.
        object.__setattr__(self, "packed", frozen(array + array.dtype.type(0)))
        index = dim // 2 if eig_idx is None else check_int(eig_idx, "eig_idx", 0, dim)
        object.__setattr__(self, "eig_idx", index)

    @classmethod
    def from_matrices(cls, matrices: ArrayLike, eig_idx: int | None = None) -> Pencil:
        """f(z) = λ_k(A_0 + Σ z_i A_i), from full symmetric matrices (n + 1, d, d)."""
        full = check_finite(check_floats(matrices, "matrices"), "matrices")
        if full.ndim != 3 or full.shape[-1] != full.shape[-2]:
            raise ValueError(f"matrices must have shape (n_features + 1, d, d); got {full.shape}")
        skew = np.abs(full - np.swapaxes(full, -1, -2)).max(axis=(-1, -2), initial=0.0)
        allowed = rounding_tol(full.shape[-1], full.dtype) * np.abs(full).max(axis=(-1, -2), initial=0.0)
        for i in np.flatnonzero(skew > allowed):
            raise ValueError(
                f"matrices[{i}] must be symmetric; got mirrored entries that differ by {skew[i]:.3g}: "
                "symmetrise with (A + A.T) / 2"
            )
        return cls(unsym(full), eig_idx)

    def __repr__(self) -> str:
        shape = f"dim={self.dim}, eig_idx={self.eig_idx}, n_features={self.n_features}"
        return f"Pencil({shape}, dtype={self.packed.dtype})"

    def __eq__(self, other: object) -> bool:
        return self._identity() == other._identity() if isinstance(other, Pencil) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._identity())

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickled arrays are writable: going through the constructor keeps the object immutable.
        return Pencil, (self.packed, self.eig_idx)

    def _identity(self) -> tuple[int, str, tuple[int, ...], bytes]:
        return self.eig_idx, self.packed.dtype.str, self.packed.shape, self.packed.tobytes()

    @property
    def dim(self) -> int:
        """The matrices' number of rows, d."""
        return packed_dim(self.packed.shape[-1])

    @property
    def n_features(self) -> int:
        """The number of columns of Z, n."""
        return len(self.packed) - 1

    @cached_property
    def matrices(self) -> FloatArray:
        """A_0, …, A_n as full matrices (n + 1, d, d), read-only."""
        return frozen(sym(self.packed))

    @cached_property
    def norms(self) -> Float64Array:
        """‖A_i‖₂ of the features, (n,): |f(z + t e_i) − f(z)| ≤ |t| ‖A_i‖₂ for every z and t."""
        return _f64(frozen(spectral_norm(self.packed[1:])))

    def __call__(self, Z: ArrayLike) -> FloatArray:
        """λ_k(A(z)) for the rows of Z (..., n), of shape (...,); a row that is not finite yields nan."""
        return self._over_rows(Z, lambda rows: (eigenvalue(rows, self.dim, self.eig_idx),))[0]

    def gradient(self, Z: ArrayLike) -> FloatArray:
        """∂f/∂z_i = vᵀ A_i v, the signed local influence of each feature, (..., n).

        Where λ_k is repeated v is one of its eigenvectors; :meth:`influence_bound` covers all of them.

        >>> Pencil(np.array([[0.0, 0.0, 1.0], [3.0, 0.0, 5.0]])).gradient([[0.0]])
        array([[5.]])
        """

        def local(rows: FloatArray) -> tuple[FloatArray]:
            _, vector = eigenpair(rows, self.dim, self.eig_idx)
            outer = eigenvalue_vjp(vector, np.ones(len(rows), rows.dtype))  # (rows, D)
            return (outer @ self.packed[1:].T.astype(rows.dtype),)

        return self._over_rows(Z, local)[0]

    def integrated_gradients(self, Z: ArrayLike, baseline: ArrayLike | None = None) -> Attributions:
        """δ_i ∫ ∂f/∂z_i along the line from the baseline to z, δ = z − baseline: f(z) − f(baseline) shared out.

        The parts add up to the change, to about 1e-7 of the largest |δ_i| ‖A_i‖, and each is right to about 1e-6 of it;
        ``error`` estimates what was reached. Where eigenvalues cross on the way the parts change sides, and where λ_k
        stays repeated its whole eigenspace counts. ``baseline`` (..., n) broadcasts with Z; None is zero.

        >>> f = Pencil.from_matrices([[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, -1.0]]])  # √(1 + z²)
        >>> np.round(f.integrated_gradients([[3.0]], baseline=[1.0]).parts, 9)  # √10 − √2
        array([[1.7480641]])
        """
        z = check_width(check_floats(Z, "Z"), "Z", self.n_features, "one per feature").astype(np.float64)
        given = np.zeros(self.n_features) if baseline is None else check_floats(baseline, "baseline")
        base = check_width(given, "baseline", self.n_features, "one per feature").astype(np.float64)
        return integrated_gradients(z, base, self.packed.astype(np.float64), self.eig_idx)

    def influence_bound(self, Z: ArrayLike, tol: float = REPEATED_TOL) -> Float64Array:
        """‖Vᵀ A_i V‖₂ with V a basis of the eigenspace of λ_k(A(z)), (..., n): the lemma of the paper.

        limsup |f(z + t e_i) − f(z)| / |t| for t → 0 is at most this, which is at most ``norms[i]``.
        Eigenvalues within ``tol`` ‖A(z)‖₂ of λ_k count as equal to it; a larger ``tol`` raises the bound.
        """
        check_non_negative(tol, "tol")
        matrices = self.matrices[1:].astype(np.float64)

        def local(rows: FloatArray) -> tuple[FloatArray]:
            values, vectors = map(_f64, eigenpair(rows, self.dim, range(self.dim)))
            return (eigenspace_norms(matrices, vectors, repeated(values, self.eig_idx, tol)),)

        return _f64(self._over_rows(Z, local, np.float64, self.dim * (self.dim + self.n_features))[0])

    def change_bound(self, delta: ArrayLike) -> ChangeBound:
        """|f(z + δ) − f(z)| ≤ ‖Σ δ_i A_i‖₂ ≤ Σ |δ_i| ‖A_i‖₂ for every z; ``delta`` is (..., n).

        >>> f = Pencil(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
        >>> np.round(f.change_bound([1.0, 1.0]), 12)
        array([1., 2.])
        """
        shift = check_width(check_floats(delta, "delta"), "delta", self.n_features, "one per feature")
        linear = Pencil(np.concatenate([np.zeros_like(self.packed[:1]), self.packed[1:]]))
        (tight,) = linear._over_rows(shift, lambda rows: (spectral_norm(rows),), np.float64)
        return ChangeBound(_f64(tight), _f64(np.abs(shift) @ self.norms))

    def gap(self, Z: ArrayLike, tol: float = REPEATED_TOL) -> Float64Array:
        """γ_k(A(z)), the distance from λ_k to the nearest different eigenvalue, (...,); inf if there is none.

        Eigenvalues within ``tol`` ‖A(z)‖₂ of λ_k count as equal to it.
        """
        check_non_negative(tol, "tol")

        def local(rows: FloatArray) -> tuple[FloatArray]:
            values = _f64(eigenvalue(rows, self.dim, range(self.dim)))
            return (eigengap(values, self.eig_idx, tol),)

        return _f64(self._over_rows(Z, local, np.float64)[0])

    def canonical(self, matrix: int = 0) -> Pencil:
        """λ_k(Qᵀ A(z) Q), the same function; Q makes QᵀA_jQ diagonal and ascending for j = ``matrix``.

        Matrix 0 is A_0. Signs are fixed by making positive the first entry that links two basis vectors, in
        the order of the matrices and their rows. When matrix j has simple eigenvalues, pencils that differ by
        a change of basis have one canonical form; a repeated one leaves the basis of its eigenspace open.
        """
        index = check_int(matrix, "matrix", 0, self.n_features + 1)
        zero = float(np.sqrt(np.finfo(self.packed.dtype).eps))
        fixed = fix_gauge(self.matrices.astype(np.float64), index, zero)
        return Pencil(unsym(fixed).astype(self.packed.dtype), self.eig_idx)

    def convex_parts(self, Z: ArrayLike) -> ConvexParts:
        """f(z) = Λ_k − Λ_{k+1} with Λ_k = λ_k + … + λ_d, both convex in z (Ky Fan), and their subgradients.

        >>> f = Pencil(np.array([[0.0, 0.0, 2.0], [1.0, 0.0, -1.0]]), eig_idx=0)
        >>> parts = f.convex_parts([3.0])  # eigenvalues 3 and 2 - 3
        >>> np.round([parts.plus, parts.minus, f([3.0])], 12)
        array([ 2.,  3., -1.])
        """
        coefficients = self.packed[1:].astype(np.float64)
        parts = self._over_rows(Z, lambda rows: ky_fan(rows, self.eig_idx, coefficients), np.float64, self.dim**2)
        return ConvexParts(*map(_f64, parts))

    def game(self, z: ArrayLike) -> Game:
        """λ_k(A(z)) = max_C min_u {uᵀ A(z) u : ‖u‖ = 1, C u = 0}, with the C and u that attain it.

        C holds the k − 1 lower eigenvectors in its rows (none for k = 1) and u is the k-th: given C no u pays
        less, and no other C makes the best u pay more.
        """
        row = check_finite(check_shape(check_floats(z, "z"), "z", (self.n_features,)), "z")
        return courant_fischer(affine(row.astype(np.float64), self.packed.astype(np.float64)), self.eig_idx)

    def inverse(self, value: ArrayLike, feature: int, Z: ArrayLike | None = None) -> Float64Array:
        """λ_{d−k+1}(B^{-1/2} (value·I − A) B^{-1/2}), the only x with λ_k(A + x B) = value, (...,).

        B is the feature's definite matrix and A the rest of the pencil at the other columns of Z (..., n);
        column ``feature`` of Z is ignored, and Z may be None when there is one feature. ``value`` (...,) and
        the rows of Z broadcast. A negative-definite B works through −B at −x.

        >>> f = Pencil(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0]]))
        >>> round(float(f(f.inverse(3.0, 0)[..., None])), 12)
        3.0
        """
        i = check_int(feature, "feature", 0, self.n_features)
        if Z is None and self.n_features > 1:
            raise ValueError(f"Z must hold the other {self.n_features - 1} features; got None")
        given = np.zeros(1) if Z is None else check_floats(Z, "Z")
        others = np.delete(check_width(given, "Z", self.n_features, "one per feature"), i, axis=-1)
        wanted = np.asarray(value, np.float64)[..., None]
        lead = np.broadcast_shapes(wanted.shape[:-1], others.shape[:-1])
        columns = [np.broadcast_to(part, (*lead, part.shape[-1])) for part in (wanted, others)]
        tol = rounding_tol(self.dim, self.packed.dtype)
        sign, matrices = inverse_matrices(self.matrices.astype(np.float64), i, tol)
        solver = Pencil(unsym(matrices), self.dim - 1 - self.eig_idx)
        return _f64(sign * solver(np.concatenate(columns, axis=-1)))

    def is_monotone(self, feature: int, tol: float | None = None) -> int:
        """+1 if A_i ⪰ 0 (f cannot fall as z_i rises), −1 if A_i ⪯ 0 (f cannot rise), 0 if neither.

        A zero matrix (f does not depend on the feature) yields +1. ``tol`` is relative to ‖A_i‖₂; None allows
        the rounding of the pencil's dtype.

        >>> Pencil(np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, -2.0]])).is_monotone(0)
        -1
        """
        i = check_int(feature, "feature", 0, self.n_features)
        return int(semidefinite_sign(self.packed[i + 1], tol))

    @property
    def is_convex(self) -> bool:
        """Whether k = d: the largest eigenvalue is convex in z by construction (enough, not necessary)."""
        return self.eig_idx == self.dim - 1

    @property
    def is_concave(self) -> bool:
        """Whether k = 1: the smallest eigenvalue is concave in z by construction (enough, not necessary)."""
        return self.eig_idx == 0

    def _over_rows(
        self,
        Z: ArrayLike,
        function: Callable[[FloatArray], tuple[FloatArray, ...]],
        dtype: DTypeLike | None = None,
        width: int = 0,
    ) -> tuple[FloatArray, ...]:
        """Apply ``function`` to A(z), packed (rows, D), see :func:`over_rows`."""
        z = check_width(check_floats(Z, "Z"), "Z", self.n_features, "one per feature")
        packed = self.packed.astype(np.result_type(z, self.packed) if dtype is None else dtype)
        return over_rows(z, packed, function, width)


def _f64(array: FloatArray) -> Float64Array:
    return np.asarray(array, np.float64)
