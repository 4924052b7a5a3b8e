r"""Sums and mixtures of eigenvalues, Σ_j w_j λ_j(A), and a neuron that learns which ones to read.

With λ_1 ≤ … ≤ λ_d, the sum of the k largest (Ky Fan's) is S_k(A) = λ_{d−k+1} + … + λ_d = max tr(VᵀAV) over V with k
orthonormal columns, so that it is convex in A. A mixture Σ_k p_k S_k / k with p on the simplex is convex too, and it is
Σ_j w_j λ_j with weights on the simplex that do not fall from λ_1 to λ_d; every such w is one of them.

The derivative of Σ_j w_j λ_j is Σ_j w_j v_j v_jᵀ. Where eigenvalues with equal weights meet it exists, because the
kernel's vectors are orthonormal; where weights differ it is a Clarke subgradient, and a subgradient of a convex
mixture. Second derivatives lose digits like ε/gap where eigenvalues nearly meet, whatever their weights are.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from lambdak._checks import check_dim, check_int
from lambdak.shapes import Shape
from lambdak.torch.autograd import coordinate_eigenvalues, eigenvalue
from lambdak.torch.inputs import check_leading, check_tensor
from lambdak.torch.several import SeveralEigenvalues
from torch import Tensor, nn


def eigenvalue_sum(packed: Tensor, dim: int, weight: Tensor) -> Tensor:
    """Σ_j w_j λ_j of symmetric matrices in packed coordinates (..., D), of shape (...).

    ``weight`` (d,), or (..., d) for weights of their own, belongs to the eigenvalues in ascending order; nothing is
    required of its numbers.

    >>> packed = torch.tensor([2.0, 0.0, 5.0], requires_grad=True)
    >>> eigenvalue_sum(packed, 2, torch.tensor([0.25, 0.75])).backward()
    >>> packed.grad
    tensor([0.2500, 0.0000, 0.7500])
    """
    check_tensor(packed, "packed")
    check_tensor(weight, "weight")
    if weight.ndim == 0 or weight.shape[-1] != check_dim(dim):
        raise ValueError(f"weight must have {dim} entries on its last axis; got shape {tuple(weight.shape)}")
    check_leading(packed, weight, ("packed", "weight"))
    return (eigenvalue(packed, dim, list(range(dim))) * weight).sum(-1)


def ky_fan_sum(packed: Tensor, dim: int, count: int) -> Tensor:
    """S_k(A) = λ_{d−k+1} + … + λ_d, the sum of the ``count`` largest, of packed coordinates (..., D): convex in them.

    >>> ky_fan_sum(torch.tensor([2.0, 0.0, 5.0, 0.0, 0.0, -1.0]), 3, 2).round()
    tensor(7.)
    """
    largest = check_int(count, "count", 1, check_dim(dim) + 1)
    return eigenvalue(packed, dim, list(range(dim - largest, dim))).sum(-1)


def ky_fan_weights(mixture: Tensor) -> Tensor:
    """w_{d+1−r} = Σ_{k≥r} p_k / k, with which Σ_j w_j λ_j = Σ_k p_k S_k / k, from p (..., d).

    >>> ky_fan_weights(torch.tensor([0.0, 1.0, 0.0]))
    tensor([0.0000, 0.5000, 0.5000])
    """
    dim = mixture.shape[-1]
    return (mixture / torch.arange(1, dim + 1, device=mixture.device)).flip(-1).cumsum(-1)


class SpectralMixture(SeveralEigenvalues):
    r"""f(x) = Σ_j w_j λ_j(A_0 + Σ x_i A_i) with learned w ≥ 0, Σ w_j = 1, from (..., in_features) to (...).

    The position of the eigenvalue is learned by gradient steps: p = softmax(``logits``) is w itself or, with
    ``convex=True``, the shares of the Ky Fan means S_k/k, k = 1 … d, the means of the k largest eigenvalues; f is then
    convex in x whatever the parameters are. A share that becomes one makes f an eigenvalue, or a sum of the k largest
    of them: the factor 1/k belongs to the matrices.

    Parameters
    ----------
    in_features, dim
        Number of inputs, and the size of the matrices.
    convex
        Whether to mix Ky Fan means instead of eigenvalues.
    monotonic_cst, structure, constraint, constraints, max_influence, max_lipschitz, bound, fan_in, device, dtype
        As of :class:`lambdak.torch.SpectralNeuron`: signs and caps hold for every w.

    Notes
    -----
    Sums of the k and of the d − k largest eigenvalues are the same class of functions, as S_k(A) is S_{d−k} of
    tr A / (d − k) I − A, which is linear in x, too: data cannot tell k from d − k.

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> neuron = SpectralMixture(3, dim=5, convex=True)
    >>> neuron.extra_repr()
    'in_features=3, dim=5, convex=True'
    >>> x, y = torch.randn(2, 100, 3)
    >>> bool(((neuron(x) + neuron(y)) / 2 >= neuron((x + y) / 2) - 1e-6).all())
    True
    """

    def __init__(
        self,
        in_features: int,
        dim: int,
        convex: bool = False,
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
        super().__init__(
            in_features, (), dim, None, monotonic_cst, structure, constraint, max_influence, bound, device, dtype,
            fan_in, constraints=constraints, max_lipschitz=max_lipschitz,
        )  # fmt: skip
        self.convex, self.eig_idx = convex, range(dim)
        self.logits = nn.Parameter(torch.zeros(dim, device=device, dtype=dtype))

    def reset_parameters(self) -> None:
        """Matrices whose eigenvalues are spread evenly, and equal shares."""
        super().reset_parameters()
        if "logits" in self._parameters:  # not there yet when the constructor sets the matrices
            nn.init.zeros_(self.logits)

    @property
    def mixture(self) -> Tensor:
        """p, the shares of the eigenvalues in ascending order, or of S_1/1, …, S_d/d, (d,)."""
        return self.logits.softmax(-1)

    @property
    def weights(self) -> Tensor:
        """w, the share of every eigenvalue in ascending order, (d,)."""
        return ky_fan_weights(self.mixture) if self.convex else self.mixture

    def forward(self, x: Tensor) -> Tensor:
        """Σ_j w_j λ_j(A(x)), (...)."""
        return (self.eigenvalues(x) * self.weights).sum(-1)

    @property
    def norms(self) -> Tensor:
        """Σ_j w↑_j λ_j(±A_i) with sorted w, the larger: no change of input i by t moves f by more than |t| times it.

        That is Lidskii's inequality; it is at most ‖A_i‖₂, and for a mixture usually less.
        """
        values = coordinate_eigenvalues(self.weight, self.dim, self.eig_idx, self._tridiagonal)
        ascending = self.weights.sort().values
        return torch.maximum((values * ascending).sum(-1), -(values.flip(-1) * ascending).sum(-1))

    def extra_repr(self) -> str:
        """The settings, as in the constructor."""
        return super().extra_repr().replace(f"eig_idx={self.eig_idx}", f"convex={self.convex}")
