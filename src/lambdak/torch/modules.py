r"""The spectral neuron λ_k(A_0 + Σ x_i A_i) as modules: one neuron, and a layer of many.

Parameters are ``constant``, the coordinates of A_0, and ``weight``, one row of coordinates per input. Monotone inputs
and caps on their influence are parametrisations of ``weight`` (``torch.nn.utils.parametrize``): reading it gives
matrices that satisfy them, assigning to it finds the parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from torch.nn.utils import parametrize

import torch
from lambdak._checks import check_dim, check_int, check_positive
from lambdak.pencil import Pencil
from lambdak.pencil.initial import gapped, tridiagonal_gapped
from lambdak.shapes import Shape
from lambdak.torch.autograd import EigenPair, coordinate_eigenpair, coordinate_eigenvalue, spectral_norm
from lambdak.torch.constrained import Constrained, monotone_signs
from lambdak.torch.inputs import check_dtype, check_tensor
from lambdak.torch.linear_shapes import check_any_eigenvalue, linear_shapes
from lambdak.torch.packing import check_structure, sym, unsym, width
from lambdak.torch.promised import part_of
from lambdak.torch.shaped import ShapedRows
from lambdak.torch.slopes import SlopeCaps
from torch import Tensor, nn


class _Spectral(Constrained):
    """What a neuron and a layer share: ``outputs`` is (), or (out_features,)."""

    eig_idx: int
    reads_one = True  # eigenvalue of its matrix, which may have to be the last or the first

    def __init__(
        self,
        in_features: int,
        outputs: tuple[int, ...],
        dim: int,
        eig_idx: int | None,
        monotonic_cst: int | Sequence[int] | None,
        structure: str,
        constraint: str | None,
        max_influence: float | Sequence[float] | None,
        bound: float,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
        fan_in: int | None = None,
        diagonal_constant: bool = False,
        constraints: Sequence[Shape] | None = None,
        max_lipschitz: float | None = None,
    ) -> None:
        super().__init__()
        self.in_features, self.dim = check_int(in_features, "in_features", 0, 2**31), check_dim(dim)
        signs = monotone_signs(monotonic_cst, in_features)
        if not self.reads_one:
            check_any_eigenvalue(constraints, type(self).__name__)
        asked = linear_shapes(in_features, dim, eig_idx, signs, constraints)
        self.eig_idx = asked.eig_idx
        self.structure, self._tridiagonal = structure, check_structure(structure)
        self.bound = check_positive(bound, "bound")
        self.fan_in = None if fan_in is None else check_int(fan_in, "fan_in", 1, max(in_features, 1) + 1)
        shape = (*outputs, self._width())
        self.constant = nn.Parameter(torch.zeros(shape, device=device, dtype=dtype))
        self.weight = nn.Parameter(torch.zeros((in_features, *shape), device=device, dtype=dtype))
        self._constrain(asked, constraint, max_influence, max_lipschitz, diagonal_constant)
        self.reset_parameters()

    def _width(self) -> int:
        """Coordinates of one matrix."""
        return width(self.dim, self._tridiagonal)

    def reset_parameters(self) -> None:
        """The paper's start: A_0 with a gap around λ_k, feature matrices near multiples of the identity.

        Random numbers come from PyTorch's generator, one seed per call.
        """
        if self.constant.is_meta:
            return
        seed = int(torch.randint(2**31, (), device="cpu").item())
        count = self.constant.shape[:-1].numel()
        with torch.no_grad(), torch.device("cpu"):
            starts = torch.stack([self._start([seed, i]) for i in range(count)], 1)  # (1 + n, outputs, width)
            starts = starts.to(self.constant).reshape(self.in_features + 1, *self.constant.shape)
            self.set_constant_(starts[0])
            rows = part_of(self, ShapedRows)
            self.set_weight_(starts[1:] if rows is None else rows.lifted(starts[1:]))

    def _start(self, seed: list[int]) -> Tensor:
        """Coordinates of one neuron's matrices, (1 + in_features, width)."""
        rng, signs = np.random.default_rng(seed), self.monotonic_cst
        packed = gapped(
            self.in_features, self.dim, self.eig_idx, random_state=rng, bound=self.bound, fan_in=self.fan_in,
            monotonic_cst=signs, dtype=np.float64,
        )  # fmt: skip
        if self.diagonal_constant:
            packed = Pencil(packed, self.eig_idx).canonical().packed  # the same function
        if not self._tridiagonal:
            return torch.tensor(packed)
        constant = torch.from_numpy(tridiagonal_gapped(self.dim, self.eig_idx, rng))
        return unsym(torch.cat([constant[None], sym(torch.from_numpy(packed[1:]), self.dim)]), True)

    def set_constant_(self, constant: Tensor) -> None:
        """Take these coordinates as those of A_0, of which a diagonal one keeps the diagonal."""
        with torch.no_grad():
            if self.diagonal_constant:
                self.constant = constant.to(self.constant)
            else:
                self.constant.copy_(constant)

    def set_weight_(self, weight: Tensor) -> None:
        """Take these rows as the weight, or the nearest ones that constraints and caps allow."""
        check_tensor(weight, "weight")
        if weight.shape != self.weight.shape:
            raise ValueError(f"weight must have shape {tuple(self.weight.shape)}; got {tuple(weight.shape)}")
        with torch.no_grad():
            if parametrize.is_parametrized(self, "weight"):
                self.weight = weight  # through the right inverses
            else:
                self.weight.copy_(weight)

    def _coefficients(self) -> tuple[Tensor, Tensor]:
        """Coordinates of A_0 and of the A_i, as the eigenvalue is taken of them."""
        return self.constant, self.weight

    def _coords(self, x: Tensor) -> Tensor:
        """Coordinates of A(x), (..., *outputs, width)."""
        check_tensor(x, "x")
        if x.ndim == 0 or x.shape[-1] != self.in_features:
            raise ValueError(f"x must have {self.in_features} entries on its last axis; got shape {tuple(x.shape)}")
        check_dtype(x, "x", self.constant)
        constant, weight = self._coefficients()
        rows = x.reshape(prod(x.shape[:-1]), self.in_features)
        flat = torch.addmm(constant.flatten(), rows, weight.flatten(1))
        return flat.reshape(*x.shape[:-1], *constant.shape)

    def forward(self, x: Tensor) -> Tensor:
        """λ_k(A(x)) for x (..., in_features): (...), or (..., out_features) of a layer."""
        return coordinate_eigenvalue(self._coords(x), self.dim, self.eig_idx, self._tridiagonal)

    def eigenpair(self, x: Tensor) -> EigenPair:
        """λ_k(A(x)) and its unit eigenvector, whose quadratic forms vᵀA_i v are the exact derivatives."""
        return coordinate_eigenpair(self._coords(x), self.dim, self.eig_idx, self._tridiagonal)

    def _pencil(self, coords: Tensor) -> Pencil:
        """The pencil of these coordinates of A_0, …, A_n, (1 + n, width)."""
        coords = coords.detach()
        dense = unsym(sym(coords, self.dim, True)) if self._tridiagonal else coords
        wide = dense if dense.dtype == torch.float64 else dense.float()
        return Pencil(wide.cpu().numpy(), self.eig_idx)

    @property
    def norms(self) -> Tensor:
        """‖A_i‖₂ per input (and output): no change of input i by t moves the output by more than |t| ‖A_i‖₂."""
        return spectral_norm(self.weight, self.dim, self._tridiagonal)

    @property
    def matrices(self) -> Tensor:
        """A_0, …, A_n, (1 + in_features, *outputs, d, d)."""
        return sym(torch.cat([self.constant[None], self.weight]), self.dim, self._tridiagonal)

    def extra_repr(self) -> str:
        """The settings, as in the constructor."""
        names = ["in_features", *(["out_features"] if self.constant.ndim > 1 else []), "dim", "eig_idx"]
        shown = [f"{name}={getattr(self, name)}" for name in names]
        if part_of(self, ShapedRows) or part_of(self, SlopeCaps):
            shown.append(f"constraints={[own for own in self.constraints if own.keys]}")
        elif self.constraint is not None:
            shown += [f"monotonic_cst={list(self.monotonic_cst)}", f"constraint={self.constraint!r}"]
        caps = None if part_of(self, SlopeCaps) else self.max_influence
        if caps is not None:
            shown.append(f"max_influence={list(caps)}")
        shown += [] if self.max_lipschitz is None else [f"max_lipschitz={self.max_lipschitz}"]
        shown += [] if self.fan_in is None else [f"fan_in={self.fan_in}"]
        shown += ["diagonal_constant=True"] if self.diagonal_constant else []
        return ", ".join(shown + ([f"structure={self.structure!r}"] if self._tridiagonal else []))


class SpectralNeuron(_Spectral):
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
        How matrices of monotone inputs are kept semidefinite: "diagonal", "factor", "root" or "squareplus", see
        :mod:`lambdak.torch.constraints`. None is "factor": it learns faster than "diagonal", which would be no
        restriction for a single monotone input, and costs less than the others.
    constraints
        Shapes of :mod:`lambdak.shapes` by position of the inputs, such as ``[Dominates(0, 1), MaxSlope(2, 0.5)]``; what
        each asks of the matrices is in :mod:`lambdak.torch.linear_shapes`. With ``eig_idx=None`` they choose the last
        or the first eigenvalue where they need it.
    max_influence
        Caps on ‖A_i‖₂, one for all inputs or one each; None is no cap.
    max_lipschitz
        A cap on a bound of ‖f(x) − f(y)‖ / ‖x − y‖ in Euclidean norms, of a layer for all its neurons together.
    bound
        The largest magnitude that inputs are expected to have, for the start.
    fan_in
        s, how many inputs of a row are expected not to be zero, for the start: α_i is drawn from ±1/√s and the jitter
        from ±1/(4 bound s). None is all of them.
    diagonal_constant
        Keep A_0 diagonal, with d parameters instead of d(d + 1)/2. It loses no function: a change of basis makes any
        A_0 diagonal and changes no eigenvalue. Tridiagonal matrices and "diagonal" ones have no basis left to choose.
    device, dtype
        Of the parameters.

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> neuron = SpectralNeuron(3, dim=5, monotonic_cst=[1, 0, 0])
    >>> neuron.extra_repr()
    "in_features=3, dim=5, eig_idx=2, monotonic_cst=[1, 0, 0], constraint='factor'"
    >>> x = torch.randn(7, 3)
    >>> bool((neuron(x + torch.tensor([1.0, 0.0, 0.0])) >= neuron(x)).all())
    True
    """

    def __init__(
        self,
        in_features: int,
        dim: int,
        eig_idx: int | None = None,
        monotonic_cst: int | Sequence[int] | None = None,
        structure: str = "dense",
        constraint: str | None = None,
        *,
        constraints: Sequence[Shape] | None = None,
        max_influence: float | Sequence[float] | None = None,
        max_lipschitz: float | None = None,
        bound: float = 5.0,
        fan_in: int | None = None,
        diagonal_constant: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            in_features, (), dim, eig_idx, monotonic_cst, structure, constraint, max_influence, bound, device, dtype,
            fan_in, diagonal_constant, constraints, max_lipschitz,
        )  # fmt: skip

    def to_pencil(self) -> Pencil:
        """The neuron as it is now, as an immutable :class:`lambdak.Pencil` with the paper's mathematics on it."""
        return self._pencil(torch.cat([self.constant[None], self.weight]))


class SpectralLayer(_Spectral):
    r"""Many neurons on the same inputs, from (..., in_features) to (..., out_features).

    A drop-in for ``nn.Linear`` followed by a nonlinearity. Parameters are those of :class:`SpectralNeuron`, the same
    for all neurons. :func:`lambdak.torch.guarantees` reads off what a stack of layers guarantees.

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> network = nn.Sequential(SpectralLayer(4, 8, dim=3), SpectralLayer(8, 1, dim=3))
    >>> network(torch.randn(5, 4)).shape
    torch.Size([5, 1])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        dim: int,
        eig_idx: int | None = None,
        monotonic_cst: int | Sequence[int] | None = None,
        structure: str = "dense",
        constraint: str | None = None,
        *,
        constraints: Sequence[Shape] | None = None,
        max_influence: float | Sequence[float] | None = None,
        max_lipschitz: float | None = None,
        bound: float = 5.0,
        fan_in: int | None = None,
        diagonal_constant: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        outputs = (check_int(out_features, "out_features", 1, 2**31),)
        super().__init__(
            in_features, outputs, dim, eig_idx, monotonic_cst, structure, constraint, max_influence, bound, device,
            dtype, fan_in, diagonal_constant, constraints, max_lipschitz,
        )  # fmt: skip

    @property
    def out_features(self) -> int:
        """Number of neurons."""
        return int(self.constant.shape[0])

    def to_pencil(self, output: int | None = None) -> Pencil:
        """The neuron at position ``output`` as it is now, as an immutable :class:`lambdak.Pencil`."""
        if output is None:
            raise ValueError(f"output must say which of the layer's {self.out_features} neurons; got None")
        i = check_int(output, "output", 0, self.out_features)
        return self._pencil(torch.cat([self.constant[None], self.weight])[:, i])
