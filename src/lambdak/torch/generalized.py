r"""Generalised eigenvalues λ_k(A(x), B), the k-th λ with A(x) v = λ B v, for a positive definite B, fixed or learned.

With B = L Lᵀ they are ordinary ones, λ_k(A, B) = λ_k(L⁻¹ A L⁻ᵀ), and L⁻¹ A(x) L⁻ᵀ is linear in the matrices: a module
reduces its n + 1 matrices, not those of every row, and costs what a plain neuron does. What survives:

- monotone: A_i ⪰ 0 makes L⁻¹ A_i L⁻ᵀ ⪰ 0, so that signs are those of the A_i, whatever B is;
- convex (last eigenvalue, max vᵀAv / vᵀBv) and concave (first): in A and in x, for every B;
- bounds, with another constant: no change of input i by t moves the value by more than |t| ‖L⁻¹ A_i L⁻ᵀ‖₂, the largest
  |λ(A_i, B)|, which is at most ‖A_i‖₂ / λ_1(B);
- in B itself the value is neither convex nor monotone, but where it is positive a larger B lowers it.

For dense matrices that are free, every L⁻¹ A_i L⁻ᵀ is some dense matrix: λ_k(A(x), B) with a constant B is then the
same class of functions as λ_k(A(x)), in other coordinates. B adds functions where the A_i are restricted: tridiagonal
ones, diagonal ones of monotone inputs, or matrices that are given, as stiffness and mass are in mechanics.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from lambdak._checks import check_dim, check_index
from lambdak.shapes import MaxSlope, Shape
from lambdak.torch.autograd import (
    EigenPair,
    coordinate_eigenpair,
    coordinate_eigenvalue,
    eigenpair,
    eigenvalue,
    spectral_norm,
)  # fmt: skip
from lambdak.torch.constraints import Cap
from lambdak.torch.coordinates import Coordinates
from lambdak.torch.inputs import check_leading, check_tensor, narrowed, widened
from lambdak.torch.linear_shapes import LinearShapes
from lambdak.torch.modules import _Spectral
from lambdak.torch.packing import sym, unsym, width
from lambdak.torch.slopes import bound_groups, lipschitz_bound
from torch import Tensor, nn


def generalized_eigenvalue(packed: Tensor, metric: Tensor, dim: int, index: int | Sequence[int]) -> Tensor:
    """λ_k(A, B) of symmetric matrices A in packed coordinates (..., D) and definite B, also packed; (...) or (..., m).

    One B may serve many A, or each has its own: leading shapes are broadcast. Both can be differentiated.

    >>> packed, metric = torch.tensor([6.0, 0.0, 5.0]), torch.tensor([2.0, 0.0, 1.0])
    >>> generalized_eigenvalue(packed, metric, 2, [0, 1]).round(decimals=4)
    tensor([3., 5.])
    """
    _check_pair(packed, metric, dim)
    value = eigenvalue(_reduced(packed, _cholesky(metric, dim), dim), dim, index)
    return narrowed(value, packed, metric)


def generalized_eigenpair(packed: Tensor, metric: Tensor, dim: int, index: int | Sequence[int]) -> EigenPair:
    """λ_k(A, B) and an eigenvector with A v = λ B v and vᵀ B v = 1; see :func:`generalized_eigenvalue`.

    The derivative of the value is v vᵀ with respect to A and −λ v vᵀ with respect to B.
    """
    _check_pair(packed, metric, dim)
    indices, single = check_index(index, dim)
    factor = _cholesky(metric, dim)
    value, vector = eigenpair(_reduced(packed, factor, dim), dim, indices)
    pair = narrowed(value, packed, metric), narrowed(_returned(vector, factor), packed, metric)
    return EigenPair(pair[0].squeeze(-1), pair[1].squeeze(-2)) if single else EigenPair(*pair)


def _check_pair(packed: Tensor, metric: Tensor, dim: int) -> None:
    """Refuse what are no packed coordinates of two matrices, or of stacks of them that fit together."""
    wanted = width(check_dim(dim))
    for name, tensor in (("packed", packed), ("metric", metric)):
        check_tensor(tensor, name)
        if tensor.ndim == 0 or tensor.shape[-1] != wanted:
            raise ValueError(
                f"{name} must have {wanted} entries on its last axis for dim={dim}, as unsym gives them; "
                f"got shape {tuple(tensor.shape)}"
            )
        if not tensor.is_floating_point():
            raise TypeError(f"{name} must be a tensor of floats; got {tensor.dtype}")
    check_leading(packed, metric, ("packed", "metric"))


def _cholesky(metric: Tensor, dim: int) -> Tensor:
    """L of B = L Lᵀ, from packed coordinates of B."""
    try:
        return torch.linalg.cholesky(sym(widened(metric), dim))  # type: ignore[no-any-return]
    except torch.linalg.LinAlgError:  # type: ignore[attr-defined]
        raise ValueError("metric must be positive definite, every matrix of it; got one that is not") from None


def _reduced(coords: Tensor, factor: Tensor, dim: int, tridiagonal: bool = False) -> Tensor:
    """Packed coordinates of L⁻¹ A L⁻ᵀ, in float32 at least."""
    factor = widened(factor)
    half = torch.linalg.solve_triangular(factor, sym(widened(coords), dim, tridiagonal), upper=False)
    return unsym(torch.linalg.solve_triangular(factor, half.mT, upper=False))


def _returned(vector: Tensor, factor: Tensor) -> Tensor:
    """L⁻ᵀ v for vectors in rows (..., m, d), in float32 at least."""
    solution: Tensor = torch.linalg.solve_triangular(widened(factor), widened(vector), upper=False, left=False)
    return solution


class GeneralizedSpectralNeuron(_Spectral):
    r"""f(x) = λ_k(A_0 + Σ x_i A_i, B) with a positive definite B, from (..., in_features) to (...).

    Parameters
    ----------
    in_features, dim, eig_idx, monotonic_cst, structure, constraint
        As of :class:`lambdak.torch.SpectralNeuron`. With ``structure="tridiagonal"`` B is tridiagonal, too, and has
        2d − 1 parameters; the eigenvalue is then that of a dense matrix, and costs as much.
    constraints
        As of :class:`lambdak.torch.SpectralNeuron`, without limits of slopes and shared matrices, which B would change.
    metric
        B, (d, d), to begin with; None is the identity.
    learned
        Whether B is trained, through L with a positive diagonal, or stays as it is.
    max_influence
        Caps on ‖L⁻¹ A_i L⁻ᵀ‖₂, the influence itself, one for all inputs or one each; None is no cap.
    bound, fan_in, device, dtype
        As of :class:`lambdak.torch.SpectralNeuron`.

    Examples
    --------
    Two masses on springs, of which the second is learned to be heavier or lighter; x scales the first spring:

    >>> springs = torch.tensor([[[1.0, -1.0], [-1.0, 1.0]], [[1.0, 0.0], [0.0, 0.0]]])
    >>> neuron = GeneralizedSpectralNeuron(1, dim=2, eig_idx=1, metric=torch.diag(torch.tensor([1.0, 4.0])))
    >>> with torch.no_grad():
    ...     _ = neuron.constant.copy_(unsym(springs[0])), neuron.weight.copy_(unsym(springs[1:]))
    >>> neuron(torch.tensor([[0.0], [1.0]]))  # squared frequencies
    tensor([1.2500, 2.1328], grad_fn=<SqueezeBackward1>)
    """

    factor: Tensor

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
        metric: Tensor | None = None,
        learned: bool = True,
        max_influence: float | Sequence[float] | None = None,
        bound: float = 5.0,
        fan_in: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            in_features, (), dim, eig_idx, monotonic_cst, structure, constraint, max_influence, bound, device, dtype,
            fan_in, constraints=constraints,
        )  # fmt: skip
        self.learned = learned
        identity = torch.eye(dim, device="cpu")
        self._given = self._log_factor(identity if metric is None else metric)
        factor = self._given.to(self.constant, copy=True)
        if learned:
            self.factor = nn.Parameter(factor)
        else:
            self.register_buffer("factor", factor)
        if metric is not None:
            self.reset_parameters()

    def _log_factor(self, metric: Tensor) -> Tensor:
        """Coordinates of L with the logarithm of its diagonal, from B."""
        check_tensor(metric, "metric")
        if metric.shape != (self.dim, self.dim):
            raise ValueError(f"metric must have shape {(self.dim, self.dim)}; got {tuple(metric.shape)}")
        if metric.is_complex() or metric.is_meta:
            kind = metric.dtype if metric.is_complex() else "one on the meta device: make it with device='cpu'"
            raise TypeError(f"metric must hold real numbers; got {kind}")
        given = metric.detach().cpu().double()
        coords = unsym(given, self._tridiagonal)
        if not torch.allclose(sym(coords, self.dim, self._tridiagonal), given):
            raise ValueError(f"metric must be a symmetric {self.structure} matrix; got another one")
        lower = _cholesky(unsym(given), self.dim)
        return unsym(2 * lower.tril(-1) + torch.diag(lower.diagonal().log()), self._tridiagonal)

    @property
    def lower(self) -> Tensor:
        """L, (d, d), of which B is L Lᵀ."""
        full = sym(self.factor, self.dim, self._tridiagonal)
        return full.tril(-1) + torch.diag_embed(full.diagonal(dim1=-2, dim2=-1).exp())

    @property
    def metric(self) -> Tensor:
        """B, (d, d)."""
        return self.lower @ self.lower.mT

    def _cap(self, asked: LinearShapes, max_influence: float | Sequence[float] | None) -> None:
        caps = self._caps(max_influence)
        named = next((own for own in asked.shapes if isinstance(own, MaxSlope) or own.joint), None)
        if named is None and asked.straight:
            named = next(own for own in asked.shapes if own.end and {*own.positions} & {*asked.straight})
        if named is not None or (caps and any(len(group) > 1 for group in bound_groups(asked))):
            raise ValueError(
                f"{named or asked.shapes[0]!r} cannot be a constraint here, as B changes what it says of L⁻¹ A_i L⁻ᵀ: "
                + ("use max_influence" if isinstance(named, MaxSlope) else "use a SpectralNeuron")
            )
        if caps:
            self._register_caps(tuple(caps))

    @property
    def lipschitz(self) -> Tensor:
        """A bound on |f(x) − f(y)| / ‖x − y‖ in Euclidean norms."""
        with torch.no_grad():
            return lipschitz_bound(self._coefficients()[1].double(), Coordinates(self.dim))

    def _register_caps(self, caps: tuple[float, ...]) -> None:
        """Keep ‖L⁻¹ A_i L⁻ᵀ‖₂ within its cap, where the matrices are reduced."""
        self.cap = Cap(caps, self.dim)

    @property
    def max_influence(self) -> tuple[float, ...] | None:
        """The caps on ‖L⁻¹ A_i L⁻ᵀ‖₂, if any."""
        return self.cap.caps if hasattr(self, "cap") else None

    def reset_parameters(self) -> None:
        """The paper's start, and B as it was given."""
        if hasattr(self, "factor"):  # not there yet when the constructor sets the matrices
            with torch.no_grad():
                self.factor.copy_(self._given)
        super().reset_parameters()

    def _start(self, seed: list[int]) -> Tensor:
        """The paper's start for L⁻¹ A_i L⁻ᵀ; for the A_i themselves if they are tridiagonal, as L Ã Lᵀ is not."""
        start = super()._start(seed)
        if self._tridiagonal or not hasattr(self, "factor"):
            return start
        lower = self.lower.detach().cpu().double()
        return unsym(lower @ sym(start, self.dim) @ lower.mT)

    def _coefficients(self) -> tuple[Tensor, Tensor]:
        """Packed coordinates of the reduced matrices."""
        rows = torch.cat([self.constant[None], self.weight])
        reduced = _reduced(rows, self.lower, self.dim, self._tridiagonal).to(rows.dtype)
        return reduced[0], reduced[1:] if self.max_influence is None else self.cap(reduced[1:])

    def forward(self, x: Tensor) -> Tensor:
        """λ_k(A(x), B), (...)."""
        return coordinate_eigenvalue(self._coords(x), self.dim, self.eig_idx, False)

    def eigenpair(self, x: Tensor) -> EigenPair:
        """λ_k(A(x), B) and v with vᵀBv = 1, whose quadratic forms vᵀA_i v are the exact derivatives."""
        value, vector = coordinate_eigenpair(self._coords(x), self.dim, self.eig_idx, False)
        returned = _returned(vector.unsqueeze(-2), self.lower).squeeze(-2)
        return EigenPair(value, returned.to(vector.dtype))

    @property
    def norms(self) -> Tensor:
        """‖L⁻¹ A_i L⁻ᵀ‖₂ per input: no change of input i by t moves the output by more than |t| times it."""
        return spectral_norm(self._coefficients()[1], self.dim)

    @property
    def matrices(self) -> Tensor:
        """A_0, …, A_n, (1 + in_features, d, d), scaled down where a cap is reached."""
        constant, weight = self._coefficients()
        lower = self.lower
        return lower @ sym(torch.cat([constant[None], weight]), self.dim) @ lower.mT

    def extra_repr(self) -> str:
        """The settings, as in the constructor."""
        return f"{super().extra_repr()}, learned={self.learned}"
