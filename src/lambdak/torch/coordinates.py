"""The coordinates of one kind of matrices: from numbers to matrices and back, norms, and those of the identity."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from lambdak.torch.autograd import eigenvalue, spectral_norm
from lambdak.torch.packing import sym, unsym
from torch import Tensor


@dataclass(frozen=True)
class Coordinates:
    """Real symmetric matrices of size ``dim``, dense or tridiagonal, see :mod:`lambdak.torch.packing`."""

    dim: int
    tridiagonal: bool = False

    def matrices(self, coords: Tensor) -> Tensor:
        """Matrices (..., d, d) from coordinates (..., width)."""
        return sym(coords, self.dim, self.tridiagonal)

    def back(self, matrices: Tensor) -> Tensor:
        """Coordinates (..., width) of matrices (..., d, d)."""
        return unsym(matrices, self.tridiagonal)

    def norms(self, coords: Tensor) -> Tensor:
        """‖A‖₂ of every matrix, (...)."""
        return spectral_norm(coords, self.dim, self.tridiagonal)

    def largest(self, matrices: Tensor) -> Tensor:
        """The last eigenvalue of dense matrices (..., d, d), (...)."""
        return eigenvalue(unsym(matrices), self.dim, self.dim - 1)

    def identity(self) -> Tensor:
        """Coordinates of I, (width,), in float64 on the host."""
        return self.back(torch.eye(self.dim, dtype=torch.float64, device="cpu"))
