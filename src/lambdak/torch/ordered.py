r"""Several eigenvalues of one matrix as outputs that never cross: λ_{k_1}(A(x)) ≤ … ≤ λ_{k_m}(A(x))."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from lambdak._checks import check_dim, check_index, check_int
from lambdak.shapes import Shape
from lambdak.torch.several import SeveralEigenvalues
from torch import Tensor


def spread_indices(count: int, dim: int) -> tuple[int, ...]:
    """``count`` positions among ``dim`` eigenvalues, as evenly as they can be.

    >>> spread_indices(3, 7), spread_indices(1, 4)
    ((1, 3, 5), (2,))
    """
    return tuple((2 * i + 1) * dim // (2 * count) for i in range(count))


class OrderedSpectralLayer(SeveralEigenvalues):
    r"""f_j(x) = λ_{k_j}(A_0 + Σ x_i A_i), from (..., in_features) to (..., out_features); f_1 ≤ … ≤ f_m everywhere.

    All outputs are eigenvalues of the same matrix, where a :class:`lambdak.torch.SpectralLayer` has one matrix for each
    output. They are in order for every x and every value of the parameters, to the last bit, and one call of the kernel
    computes them all. What holds of one neuron holds of each output: the signs of ``monotonic_cst``, the bounds
    ``norms``; the last eigenvalue is convex in x and the first concave.

    Parameters
    ----------
    in_features, out_features, dim
        Numbers of inputs and of outputs, at most ``dim``, the size of the matrices. As all outputs share the
        matrices, leave some eigenvalues unread: with ``dim == out_features`` their sum is linear in x.
    eig_idx
        Increasing zero-based positions, one per output; None spreads them evenly.
    monotonic_cst, structure, constraint, constraints, max_influence, max_lipschitz, bound, fan_in, device, dtype
        As of :class:`lambdak.torch.SpectralNeuron`; what is asked holds for all outputs, each on its own.

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> layer = OrderedSpectralLayer(4, 3, dim=7)
    >>> layer.extra_repr()
    'in_features=4, out_features=3, dim=7, eig_idx=(1, 3, 5)'
    >>> quantiles = layer(torch.randn(100, 4))
    >>> quantiles.shape, bool((quantiles.diff() >= 0).all())
    (torch.Size([100, 3]), True)
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        dim: int,
        eig_idx: Sequence[int] | None = None,
        monotonic_cst: int | Sequence[int] | None = None,
        structure: str = "dense",
        constraint: str | None = None,
        *,
        constraints: Sequence[Shape] | None = None,
        max_influence: float | Sequence[float] | None = None,
        max_lipschitz: float | None = None,
        bound: float = 5.0,
        fan_in: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        indices = _check_indices(out_features, dim, eig_idx)
        super().__init__(
            in_features, (), dim, None, monotonic_cst, structure, constraint, max_influence, bound, device, dtype,
            fan_in, constraints=constraints, max_lipschitz=max_lipschitz,
        )  # fmt: skip
        self.eig_idx = indices

    @property
    def out_features(self) -> int:
        """Number of outputs."""
        return len(self.eig_idx)

    def forward(self, x: Tensor) -> Tensor:
        """The eigenvalues in ascending order, (..., out_features)."""
        return self.eigenvalues(x)

    def extra_repr(self) -> str:
        """The settings, as in the constructor."""
        first, rest = super().extra_repr().split(", ", 1)
        return f"{first}, out_features={self.out_features}, {rest}"


def _check_indices(out_features: int, dim: int, eig_idx: Sequence[int] | None) -> tuple[int, ...]:
    """One position per output, in ascending order."""
    count = check_int(out_features, "out_features", 1, check_dim(dim) + 1)
    if eig_idx is None:
        return spread_indices(count, dim)
    indices, single = check_index(eig_idx, dim, "eig_idx")
    if single or len(indices) != count:
        raise ValueError(f"eig_idx must hold {count} increasing positions, one per output; got {eig_idx!r}")
    return tuple(indices)
