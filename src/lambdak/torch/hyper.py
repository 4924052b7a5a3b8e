r"""A network that predicts the matrices of a spectral neuron: f(y, x) = λ_k(A_0(y) + Σ x_i A_i(y)).

The context y may be anything an encoder understands. The inputs x are those whose shape matters: the matrix of a
monotone one is semidefinite whatever is predicted, so that every context has a monotone curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from lambdak._checks import check_int
from lambdak.shapes import Shape
from lambdak.torch.autograd import coordinate_eigenpair, coordinate_eigenvalue
from lambdak.torch.constrained import monotone_signs
from lambdak.torch.constraints import Cap, Definite, SignedRows
from lambdak.torch.inputs import check_dtype, check_tensor
from lambdak.torch.modules import SpectralNeuron
from lambdak.torch.packing import sym
from lambdak.torch.promised import part_of
from lambdak.torch.shaped import ShapedRows
from lambdak.torch.slopes import SlopeCaps
from lambdak.torch.states import ReadsEigenvalues
from torch import Tensor, nn

_SMALL = 0.1  # of the usual weights of a linear map: the first predictions stay near the start, gaps stay open


@dataclass(frozen=True)
class Neurons:
    """One spectral neuron per context: what :meth:`HyperSpectralNeuron.at` predicts, to be read at many inputs.

    ``constant`` (*contexts, width) and ``weight`` (*contexts, in_features, width) are the coordinates of the matrices.
    Inputs are (*contexts, in_features), or (*contexts, points, in_features) for many of them per context.
    """

    constant: Tensor
    weight: Tensor
    dim: int
    eig_idx: int
    tridiagonal: bool

    def __call__(self, x: Tensor) -> Tensor:
        """λ_k(A_0 + Σ x_i A_i): (*contexts), or (*contexts, points)."""
        value = coordinate_eigenvalue(self._coords(x), self.dim, self.eig_idx, self.tridiagonal)
        return value.reshape(x.shape[:-1])

    def value_and_slopes(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The value and its exact derivatives vᵀA_i v, of the shape of x."""
        value, vector = coordinate_eigenpair(self._coords(x), self.dim, self.eig_idx, self.tridiagonal)
        vector = vector.unsqueeze(-3)  # (*contexts, 1, points, d)
        forms = (vector @ sym(self.weight, self.dim, self.tridiagonal) * vector).sum(-1)
        return value.reshape(x.shape[:-1]), forms.mT.reshape(x.shape)

    def double(self) -> Neurons:
        """Neurons in float64, whose values differ from exact ones by rounding of that precision only."""
        return replace(self, constant=self.constant.double(), weight=self.weight.double())

    @property
    def matrices(self) -> Tensor:
        """A_0, …, A_n of every context, (*contexts, 1 + in_features, d, d)."""
        return sym(torch.cat([self.constant.unsqueeze(-2), self.weight], -2), self.dim, self.tridiagonal)

    def _coords(self, x: Tensor) -> Tensor:
        """Coordinates of A(x), (*contexts, points, width)."""
        check_tensor(x, "x")
        contexts, inputs = self.constant.shape[:-1], self.weight.shape[-2]
        if x.shape[-1:] != (inputs,) or contexts not in (x.shape[:-1], x.shape[:-2]):
            sizes = "".join(f"{size}, " for size in contexts)
            raise ValueError(f"x must have shape ({sizes}{inputs}) or ({sizes}points, {inputs}); got {tuple(x.shape)}")
        check_dtype(x, "x", self.weight)
        points = x.unsqueeze(-2) if x.ndim == self.constant.ndim else x
        return self.constant.unsqueeze(-2) + points @ self.weight


class HyperSpectralNeuron(ReadsEigenvalues):
    r"""f(y, x) = λ_k(A_0(y) + Σ x_i A_i(y)), where a network predicts the matrices from the context y.

    Parameters
    ----------
    encoder
        A module from contexts to features (*contexts, features). A linear map, ``head``, leads from there to the
        parameters of the matrices.
    in_features, dim
        Number of inputs x, and the size of the matrices.
    eig_idx
        Zero-based position of the eigenvalue in ascending order; None is ``dim // 2``. The last makes f convex in x,
        the first concave.
    monotonic_cst
        −1, 0 or +1 per input, or one for all: in every context f does not rise, is free, does not fall.
    structure, constraint
        As of :class:`lambdak.torch.SpectralNeuron`, but None is "diagonal" for a single monotone input, which costs
        the network fewer outputs.
    constraints
        As of :class:`lambdak.torch.SpectralNeuron`: they hold in every context, ``Convex`` in all inputs x together.
    encoder_features
        Number of features of the encoder; None finds out in the first call.
    bound
        The largest magnitude that x is expected to have, for the start.
    fan_in
        How many entries of x are expected not to be zero, for the start; None is all of them.
    device, dtype
        Of the parameters that are not the encoder's.

    Notes
    -----
    Training starts from one and the same neuron for all contexts, the paper's, plus a little of the encoder's.

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> encoder = nn.Sequential(nn.Linear(3, 16), nn.ReLU())
    >>> model = HyperSpectralNeuron(encoder, 1, dim=5, monotonic_cst=[1], encoder_features=16)
    >>> context, bids = torch.randn(4, 3), torch.linspace(-2, 2, 50)[:, None]
    >>> curves = model(context, bids.expand(4, 50, 1))
    >>> curves.shape, bool((curves.diff() > 0).all())
    (torch.Size([4, 50]), True)
    """

    def __init__(
        self,
        encoder: nn.Module,
        in_features: int,
        dim: int,
        eig_idx: int | None = None,
        monotonic_cst: int | Sequence[int] | None = None,
        structure: str = "dense",
        constraint: str | None = None,
        *,
        constraints: Sequence[Shape] | None = None,
        encoder_features: int | None = None,
        bound: float = 5.0,
        fan_in: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if not callable(encoder):
            raise TypeError(f"encoder must be an nn.Module or a function; got {type(encoder).__name__}")
        signs = monotone_signs(monotonic_cst, in_features)
        given = constraint or ("diagonal" if sum(sign != 0 for sign in signs) == 1 and not constraints else "factor")
        self._settings = in_features, dim, eig_idx, signs, structure, given
        self.bound, self.fan_in, self._asked = bound, fan_in, constraints
        start = self._neuron()  # which checks the settings
        self.in_features, self.dim, self.eig_idx = start.in_features, start.dim, start.eig_idx
        self.monotonic_cst, self.structure, self.constraint = start.monotonic_cst, structure, start.constraint
        self.constraints = start.constraints
        self._tridiagonal, self._width = structure == "tridiagonal", start.constant.shape[-1]
        self.encoder = encoder
        definite = Definite(given, dim, self._tridiagonal)
        self.rows = part_of(start, ShapedRows) or SignedRows(self.monotonic_cst, definite)
        self.caps = nn.ModuleList(part for part in (part_of(start, Cap), part_of(start, SlopeCaps)) if part)
        self._parts = [part.shape for part in self.rows.right_inverse(start.weight.detach())]
        sizes = [self._width, *(shape.numel() for shape in self._parts)]
        self._sizes = sizes
        self.bias = nn.Parameter(torch.empty(sum(sizes), device=device, dtype=dtype))
        self.head = _LazySmall(sum(sizes), bias=False, device=device, dtype=dtype)
        if encoder_features is not None:
            self.head(self.bias.new_empty(0, check_int(encoder_features, "encoder_features", 1, 2**31)))
        self.rows.to(device)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """The paper's start for every context, plus a little of the encoder's features; the encoder stays as it is."""
        self.head.reset_parameters()
        start = self._neuron(torch.float64)
        with torch.no_grad():
            start.to(self.bias.device)
            parts = start.constant, *self.rows.right_inverse(start.weight)
            self.bias.copy_(torch.cat([part.flatten() for part in parts]))

    def _neuron(self, dtype: torch.dtype | None = None) -> SpectralNeuron:
        """A neuron with the settings of every context."""
        return SpectralNeuron(
            *self._settings, constraints=self._asked, bound=self.bound, fan_in=self.fan_in, dtype=dtype
        )

    def at(self, context: Any) -> Neurons:
        """The neurons of these contexts, which are whatever the encoder takes: a tensor, a tuple of them, texts."""
        features = self.encoder(context)
        check_tensor(features, "features")
        check_dtype(features, "features of the encoder", self.bias)
        params = self.head(features) + self.bias  # (*contexts, sizes)
        constant, *parts = params.split(self._sizes, -1)
        rows = [
            part.unflatten(-1, shape).movedim(-len(shape), 0) for part, shape in zip(parts, self._parts, strict=True)
        ]
        weight = self.rows(*rows)
        for cap in self.caps:
            weight = cap(weight)
        weight = weight.movedim(0, -2)
        return Neurons(constant, weight, self.dim, self.eig_idx, self._tridiagonal)

    def forward(self, context: Any, x: Tensor) -> Tensor:
        """λ_k for x (*contexts, in_features) or, many per context, (*contexts, points, in_features)."""
        return self.at(context)(x)

    def value_and_slopes(self, context: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        """The value and its exact derivatives vᵀA_i v with respect to x, which have the shape of x."""
        return self.at(context).value_and_slopes(x)

    def slopes(self, context: Any, x: Tensor) -> Tensor:
        """The exact derivatives vᵀA_i v with respect to x, of its shape."""
        return self.value_and_slopes(context, x)[1]

    def extra_repr(self) -> str:
        """The settings, as in the constructor."""
        shown = f"in_features={self.in_features}, dim={self.dim}, eig_idx={self.eig_idx}"
        if isinstance(self.rows, ShapedRows) or self.caps:
            shown += f", constraints={[own for own in self.constraints if own.keys]}"
        elif self.constraint is not None:
            shown += f", monotonic_cst={list(self.monotonic_cst)}, constraint={self.constraint!r}"
        return shown + (f", structure={self.structure!r}" if self._tridiagonal else "")


class _Small(nn.Linear):
    """A linear map that starts with small weights."""

    def reset_parameters(self) -> None:
        super().reset_parameters()
        with torch.no_grad():
            self.weight.mul_(_SMALL)


class _LazySmall(nn.LazyLinear, _Small):
    """A linear map that starts with small weights, of a number of features that the first call determines."""

    cls_to_become = _Small
