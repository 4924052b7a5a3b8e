r"""Eigenvalues of complex Hermitian matrices, λ_k(H_0 + Σ x_i H_i), by the kernel for real symmetric ones.

A matrix H = X + iY, X symmetric and Y skew, has d² real coordinates: X packed, then √2 Y below the diagonal, row by
row, so that the norm of the coordinates is ‖H‖_F. Its real form M = [[X, −Y], [Y, X]] has every eigenvalue of H twice,
as with u also iu is an eigenvector, and the vector of a doubled eigenvalue has no derivative. A constant of rank one
separates the two: eigenvalues of M and of M + c g gᵀ alternate, for all c ≥ 0 and all g, so the lower of a pair stays::

    λ_k(H) = λ_{2k}(M) = λ_{2k+1}(M) = λ_{2k}(M + c g gᵀ)                     k = 0, …, d − 1

Derivatives of any order are those of this eigenvalue, which is simple if λ_k(H) is and g is not orthogonal to the plane
of u and iu; g is chosen such that no structure of H is likely to make it so. The first derivative is right in any case,
because all unit vectors of the plane have the same v vᵀ in the coordinates of H.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
from torch.nn.utils import parametrize

import torch
from lambdak._checks import MAX_DIM, check_index, check_int
from lambdak.pencil.initial import gapped
from lambdak.shapes import Shape
from lambdak.torch.autograd import (
    EigenPair,
    coordinate_eigenpair,
    coordinate_eigenvalue,
    eigenpair,
    eigenvalue,
    spectral_norm,
)
from lambdak.torch.constraints import Cap, Definite
from lambdak.torch.coordinates import Coordinates
from lambdak.torch.inputs import check_tensor, narrowed, widened
from lambdak.torch.modules import _Spectral
from lambdak.torch.packing import check_square, sym, unsym, width
from torch import Tensor, nn


def hermitian(coords: Tensor, dim: int) -> Tensor:
    """Complex Hermitian matrices (..., d, d) from real coordinates (..., d²); complex64 if these have half precision.

    >>> full = hermitian(torch.tensor([1.0, 0.0, 3.0, 2.0**0.5]), 2)
    >>> full.real.round(), full.imag.round()
    (tensor([[1., 0.],
            [0., 3.]]), tensor([[ 0., -1.],
            [ 1.,  0.]]))
    """
    check_tensor(coords, "coords")
    real, skew = _parts(widened(coords), dim)
    return torch.complex(real, skew)


def unhermitian(matrix: Tensor) -> Tensor:
    """Real coordinates (..., d²) of complex Hermitian matrices (..., d, d), whose Hermitian part is taken.

    >>> unhermitian(torch.tensor([[1, -1j], [1j, 3]]))
    tensor([1.0000, 0.0000, 3.0000, 1.4142])
    """
    check_square(matrix)
    return _joined(matrix.real, matrix.imag) if matrix.is_complex() else _joined(matrix, torch.zeros_like(matrix))


def hermitian_eigenvalue(coords: Tensor, dim: int, index: int | Sequence[int]) -> Tensor:
    """λ_k of complex Hermitian matrices in real coordinates (..., d²), of shape (...) or, for m indices, (..., m).

    >>> round(hermitian_eigenvalue(torch.tensor([0.0, 0.0, 0.0, 2.0**0.5]), 2, 1).item(), 4)
    1.0
    """
    check_tensor(coords, "coords")
    value = eigenvalue(_separated(widened(coords), dim), 2 * dim, _doubled(index, dim))
    return narrowed(value, coords)


def hermitian_eigenpair(coords: Tensor, dim: int, index: int | Sequence[int]) -> EigenPair:
    """λ_k and a complex unit eigenvector u_k, (..., d) or (..., m, d).

    Its phase is arbitrary but reproducible. Vectors of several indices are orthogonal where their eigenvalues differ.
    There are no complex numbers of half precision: vectors are then complex64.
    """
    check_tensor(coords, "coords")
    value, vector = eigenpair(_separated(widened(coords), dim), 2 * dim, _doubled(index, dim))
    return EigenPair(narrowed(value, coords), _complex(vector, dim))


def real_form(coords: Tensor, dim: int) -> Tensor:
    """Packed coordinates (..., d(2d + 1)) of M = [[X, −Y], [Y, X]], from (..., d²).

    >>> real_form(torch.tensor([1.0, 2.0, 3.0, 4.0]), 2)
    tensor([ 1.,  2.,  3.,  0., -4.,  1.,  4.,  0.,  2.,  3.])
    """
    _check_coords(coords, dim)
    row, column = torch.tril_indices(2 * dim, 2 * dim, device=coords.device)
    i, j = row % dim, column % dim  # where in H
    low, high = torch.minimum(i, j), torch.maximum(i, j)
    skew = (row >= dim) & (column < dim)
    entry = torch.where(skew, width(dim) + high * (high - 1) // 2 + low, high * (high + 1) // 2 + low)
    sign = torch.where(skew, (i - j).sign(), 1)
    return coords.index_select(-1, torch.where(sign == 0, 0, entry)) * sign.to(coords.dtype)


def _separated(coords: Tensor, dim: int) -> Tensor:
    """Packed coordinates of M + c g gᵀ with c = ‖H‖_F, whose derivative does not matter as the eigenvalue has none."""
    form, constant = real_form(coords, dim), coords.detach()
    largest = constant.abs().amax(-1, keepdim=True).clamp_min(torch.finfo(constant.dtype).tiny)
    # Squares of the entries themselves might overflow.
    norm: Tensor = largest * torch.linalg.vector_norm(constant / largest, dim=-1, keepdim=True)
    return form + norm * _separator(dim).to(coords)


def _separator(dim: int) -> Tensor:
    """G gᵀ packed, for a unit vector g = (0, w) with w_j ∝ 1 + the fractional part of j times the golden ratio."""
    w = 1 + torch.arange(dim, dtype=torch.float64, device="cpu").mul((1 + sqrt(5.0)) / 2).frac()
    g = nn.functional.pad(w / w.norm(), (dim, 0))
    return unsym(torch.outer(g, g))


def _check_coords(coords: Tensor, dim: int) -> None:
    if not coords.is_floating_point():
        raise TypeError(f"coords must be real floats; got {coords.dtype}: unhermitian(matrix) gives them")
    if coords.ndim == 0 or coords.shape[-1] != _check_half_dim(dim) ** 2:
        raise ValueError(
            f"coords must have {dim**2} entries on its last axis, as unhermitian gives them; "
            f"got shape {tuple(coords.shape)}"
        )


def _check_half_dim(dim: int) -> int:
    return check_int(dim, "dim", 1, MAX_DIM // 2 + 1)  # the real form is twice as large


def _parts(coords: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """X and Y."""
    _check_coords(coords, dim)
    row, column = torch.tril_indices(dim, dim, -1, device=coords.device)
    below = coords.new_zeros(*coords.shape[:-1], dim * dim)
    below = below.index_copy(-1, row * dim + column, coords[..., width(dim) :] * sqrt(0.5))
    lower = below.reshape(*coords.shape[:-1], dim, dim)
    return sym(coords[..., : width(dim)], dim), lower - lower.mT


def _joined(real: Tensor, skew: Tensor) -> Tensor:
    """Coordinates from X and Y, of which the symmetric and the skew part are taken."""
    dim = real.shape[-1]
    row, column = torch.tril_indices(dim, dim, -1, device=real.device)
    below = ((skew - skew.mT) / 2).flatten(-2).index_select(-1, row * dim + column)
    return torch.cat([unsym(real), below * sqrt(2.0)], -1)


def _doubled(index: int | Sequence[int], dim: int) -> int | list[int]:
    """Positions in the real form."""
    indices, single = check_index(index, dim)
    return 2 * indices[0] if single else [2 * position for position in indices]


def _complex(vector: Tensor, dim: int) -> Tensor:
    """The vector u from (Re u, Im u)."""
    wide = widened(vector)
    return torch.complex(wide[..., :dim], wide[..., dim:])


class HermitianFactor(Definite):
    """F Fᴴ with a complex lower triangle F: from the parameters of F to coordinates of semidefinite matrices."""

    def __init__(self, dim: int) -> None:
        super().__init__("factor", dim)
        self.size = dim**2

    def _coords(self, theta: Tensor) -> Tensor:
        real, skew = (part.tril() for part in _parts(theta, self.dim))
        return _joined(real @ real.mT + skew @ skew.mT, skew @ real.mT - real @ skew.mT)

    def right_inverse(self, coords: Tensor) -> Tensor:
        """Parameters of these matrices, or of the nearest semidefinite ones."""
        if coords.is_meta:
            return torch.empty_like(coords)
        values, vectors = torch.linalg.eigh(hermitian(coords.detach().cpu().double(), self.dim))
        root = vectors * values.clamp_min(0).sqrt().unsqueeze(-2)
        lower = torch.linalg.qr(root.mH).R.mH
        diagonal = lower.diagonal(dim1=-2, dim2=-1)
        lower = lower * torch.where(diagonal == 0, 1, diagonal.sgn().conj()).unsqueeze(-2)  # a real diagonal
        both = lower + lower.tril(-1).mH  # Hermitian, with the lower triangle of F as its own
        return unhermitian(both).to(coords)


class HermitianCoordinates(Coordinates):
    """Complex Hermitian matrices of size ``dim``."""

    def matrices(self, coords: Tensor) -> Tensor:
        """Complex matrices (..., d, d) from coordinates (..., d²)."""
        return hermitian(coords, self.dim)

    def back(self, matrices: Tensor) -> Tensor:
        """Coordinates (..., d²) of matrices (..., d, d)."""
        return unhermitian(matrices)

    def norms(self, coords: Tensor) -> Tensor:
        """‖H‖₂ of every matrix, (...)."""
        return spectral_norm(real_form(coords, self.dim), 2 * self.dim)

    def largest(self, matrices: Tensor) -> Tensor:
        """The last eigenvalue of matrices (..., d, d), (...)."""
        return hermitian_eigenvalue(unhermitian(matrices), self.dim, self.dim - 1)


class HermitianCap(Cap):
    """H min(1, cap / ‖H‖₂) for coordinates (in_features, d²)."""

    def __init__(self, caps: Sequence[float], dim: int) -> None:
        super().__init__(caps, 2 * dim)

    def forward(self, weight: Tensor) -> Tensor:
        """The rows, scaled where they are too large."""
        size = self.dim // 2
        capped = sym(super().forward(real_form(weight, size)), self.dim)
        return _joined(capped[..., :size, :size], capped[..., size:, :size])


class HermitianSpectralNeuron(_Spectral):
    r"""f(x) = λ_k(H_0 + Σ x_i H_i) with complex Hermitian matrices, from (..., in_features) to (...).

    What holds of :class:`lambdak.torch.SpectralNeuron` holds here with the same constants: semidefinite H_i make f
    monotone, the last eigenvalue is convex and the first concave, and ‖H_i‖₂ bounds the influence of input i. A
    Hermitian matrix has d² parameters, where a symmetric one has d(d + 1)/2; symmetric ones of size 2d express the same
    functions. Two eigenvalues of a Hermitian matrix meet where three equations hold, those of a symmetric one where two
    do: as a function of two inputs f has, in general, no kinks.

    Parameters
    ----------
    in_features, dim, eig_idx, monotonic_cst, constraints, max_influence, max_lipschitz, bound, fan_in, device, dtype
        As of :class:`lambdak.torch.SpectralNeuron`. Matrices of monotone inputs are F Fᴴ with a lower triangle F.

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> neuron = HermitianSpectralNeuron(3, dim=4, monotonic_cst=[1, 0, 0])
    >>> neuron.extra_repr()
    "in_features=3, dim=4, eig_idx=2, monotonic_cst=[1, 0, 0], constraint='factor'"
    >>> neuron.matrices.shape, neuron.matrices.dtype
    (torch.Size([4, 4, 4]), torch.complex64)
    """

    def __init__(
        self,
        in_features: int,
        dim: int,
        eig_idx: int | None = None,
        monotonic_cst: int | Sequence[int] | None = None,
        *,
        constraints: Sequence[Shape] | None = None,
        max_influence: float | Sequence[float] | None = None,
        max_lipschitz: float | None = None,
        bound: float = 5.0,
        fan_in: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        _check_half_dim(dim)
        super().__init__(
            in_features, (), dim, eig_idx, monotonic_cst, "dense", None, max_influence, bound, device, dtype,
            fan_in, constraints=constraints, max_lipschitz=max_lipschitz,
        )  # fmt: skip

    def _width(self) -> int:
        return self.dim**2

    def _definite(self, constraint: str) -> Definite:
        return HermitianFactor(self.dim)

    @property
    def coordinates(self) -> Coordinates:
        """From coordinates to matrices and back."""
        return HermitianCoordinates(self.dim)

    def _register_caps(self, caps: tuple[float, ...]) -> None:
        parametrize.register_parametrization(self, "weight", HermitianCap(caps, self.dim))

    def _start(self, seed: list[int]) -> Tensor:
        """The paper's start, with a unitary matrix in place of the orthogonal one."""
        rng, dim = np.random.default_rng(seed), self.dim
        packed = torch.from_numpy(
            gapped(
                self.in_features, dim, self.eig_idx, random_state=rng, bound=self.bound, fan_in=self.fan_in,
                monotonic_cst=self.monotonic_cst, dtype=np.float64,
            )
        )  # fmt: skip
        parts = rng.standard_normal((2, dim, dim))
        basis = torch.from_numpy(np.linalg.qr(parts[0] + 1j * parts[1])[0])
        spectrum = torch.arange(dim).sub(self.eig_idx).sign()
        constant = unhermitian((basis * spectrum) @ basis.mH)
        others = torch.cat([packed[1:], packed.new_zeros(self.in_features, dim**2 - width(dim))], 1)
        return torch.cat([constant[None], others])

    def _coefficients(self) -> tuple[Tensor, Tensor]:
        """Packed coordinates of the real forms, the first with the constant that separates pairs."""
        return _separated(self.constant, self.dim), real_form(self.weight, self.dim)

    def forward(self, x: Tensor) -> Tensor:
        """λ_k(H(x)), (...)."""
        return coordinate_eigenvalue(self._coords(x), 2 * self.dim, 2 * self.eig_idx, False)

    def eigenpair(self, x: Tensor) -> EigenPair:
        """λ_k(H(x)) and its complex unit eigenvector, whose quadratic forms uᴴH_i u are the exact derivatives."""
        value, vector = coordinate_eigenpair(self._coords(x), 2 * self.dim, 2 * self.eig_idx, False)
        return EigenPair(value, _complex(vector, self.dim))

    @property
    def norms(self) -> Tensor:
        """‖H_i‖₂ per input: no change of input i by t moves the output by more than |t| ‖H_i‖₂."""
        return spectral_norm(real_form(self.weight, self.dim), 2 * self.dim)

    @property
    def matrices(self) -> Tensor:
        """H_0, …, H_n, complex, (1 + in_features, d, d)."""
        return hermitian(torch.cat([self.constant[None], self.weight]), self.dim)
