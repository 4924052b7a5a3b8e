r"""What modules share that read several eigenvalues λ_j(A_0 + Σ x_i A_i) of one matrix: the call, and the start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import hessenberg

import torch
from lambdak.pencil.initial import gapped
from lambdak.torch.autograd import EigenPair, coordinate_eigenpairs, coordinate_eigenvalues
from lambdak.torch.modules import _Spectral
from lambdak.torch.packing import sym, unsym
from torch import Tensor


class SeveralEigenvalues(_Spectral):
    """Modules whose ``eig_idx`` is a sequence of positions.

    A_0 starts with eigenvalues evenly spread over [−1, 1], so that there is a gap around each of them: twice what the
    A_i can take away for inputs within ``bound``.
    """

    eig_idx: Sequence[int]  # type: ignore[assignment]
    reads_one = False

    def _start(self, seed: list[int]) -> Tensor:
        """Coordinates of the matrices, (1 + in_features, width)."""
        rng, dim = np.random.default_rng(seed), self.dim
        gap = min(1.0, 2 / max(dim - 1, 1))  # a spread spectrum has no room for more
        packed = gapped(
            self.in_features, dim, random_state=rng, bound=self.bound, fan_in=self.fan_in, jitter=gap,
            monotonic_cst=self.monotonic_cst, dtype=np.float64,
        )  # fmt: skip
        basis = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
        constant = basis * np.linspace(-1, 1, dim) @ basis.T if dim > 1 else np.zeros((1, 1))
        first = torch.from_numpy(hessenberg(constant) if self._tridiagonal else constant)
        others = sym(torch.from_numpy(packed[1:]), dim)
        return unsym(torch.cat([first[None], others]), self._tridiagonal)

    def eigenvalues(self, x: Tensor) -> Tensor:
        """The eigenvalues of A(x) that are read, in ascending order, (..., m)."""
        return coordinate_eigenvalues(self._coords(x), self.dim, self.eig_idx, self._tridiagonal)

    def eigenpair(self, x: Tensor) -> EigenPair:
        """The eigenvalues that are read, (..., m), and their orthonormal eigenvectors, (..., m, d)."""
        return coordinate_eigenpairs(self._coords(x), self.dim, self.eig_idx, self._tridiagonal)
