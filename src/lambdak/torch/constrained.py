"""What is asked of the matrices of a neuron or layer, registered as parametrisations, and read off them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch.nn.utils import parametrize

import torch
from lambdak._checks import check_positive
from lambdak.pencil.initial import check_monotonic_cst
from lambdak.shapes import Shape
from lambdak.torch.constraints import Cap, Definite, Diagonal, SignedRows, check_diagonal_constant, constrain_rows
from lambdak.torch.coordinates import Coordinates
from lambdak.torch.linear_shapes import LinearShapes
from lambdak.torch.promised import limits_now, part_of, shapes_now
from lambdak.torch.shaped import ShapedRows
from lambdak.torch.slopes import LipschitzCap, SlopeCaps, bound_groups, lipschitz_bound
from lambdak.torch.states import ReadsEigenvalues
from torch import Tensor


def monotone_signs(monotonic_cst: int | Sequence[int] | None, in_features: int) -> tuple[int, ...]:
    """−1, 0 or +1 per input, from one for all of them, one each, or None.

    >>> monotone_signs(1, 3)
    (1, 1, 1)
    """
    one = isinstance(monotonic_cst, (int, np.integer))
    signs = [int(monotonic_cst)] * in_features if one else monotonic_cst  # type: ignore[arg-type]
    return tuple(check_monotonic_cst(signs, in_features).tolist())  # type: ignore[arg-type]


class Constrained(ReadsEigenvalues):
    """A module with matrices A_0, its ``constant``, and A_i, its ``weight``, whose constraints are parametrisations."""

    in_features: int
    dim: int
    structure: str
    constant: Tensor
    weight: Tensor
    _tridiagonal: bool

    def _constrain(
        self,
        asked: LinearShapes,
        constraint: str | None,
        max_influence: float | Sequence[float] | None,
        max_lipschitz: float | None,
        diagonal_constant: bool,
    ) -> None:
        """Register what keeps the constraints: of A_0, of signs and bound matrices, of slopes, of all together."""
        definite = self._definite("factor" if constraint is None else constraint)
        if diagonal_constant:
            bound = asked.statements or asked.joint
            check_diagonal_constant(self.structure, definite.constraint if bound else None)
            parametrize.register_parametrization(self, "constant", Diagonal(self.dim))
        if not asked.is_plain:
            constrain_rows(self, ShapedRows(asked, self.in_features, definite, self.coordinates))
        elif asked.statements:
            constrain_rows(self, SignedRows(asked.signs(self.in_features), definite))
        self._cap(asked, max_influence)
        if max_lipschitz is not None:
            limit = check_positive(max_lipschitz, "max_lipschitz")
            parametrize.register_parametrization(self, "weight", LipschitzCap(limit, self.coordinates))

    def _definite(self, constraint: str) -> Definite:
        """How matrices are kept semidefinite."""
        return Definite(constraint, self.dim, self._tridiagonal)

    @property
    def coordinates(self) -> Coordinates:
        """From coordinates to matrices and back."""
        return Coordinates(self.dim, self._tridiagonal)

    def _cap(self, asked: LinearShapes, max_influence: float | Sequence[float] | None) -> None:
        """Limit slopes: input by input where all have a limit of their own, and along directions otherwise."""
        caps = self._caps(max_influence)
        limits = [*asked.limits, *(({i: 1.0}, cap) for i, cap in enumerate(caps))]
        groups = bound_groups(asked)
        alone = {i: cap for own, cap in limits for i in own if len(own) == 1}
        is_bound = any(len(group) > 1 for group in groups)
        if limits and not is_bound and len(limits) == len(alone) == self.in_features:
            self._register_caps(tuple(alone[i] for i in range(self.in_features)))
        elif limits:
            caps_along = SlopeCaps(self.in_features, limits, groups, self.coordinates)
            parametrize.register_parametrization(self, "weight", caps_along)

    def _caps(self, max_influence: float | Sequence[float] | None) -> list[float]:
        if max_influence is None:
            return []
        values = (
            [float(max_influence)] * self.in_features
            if isinstance(max_influence, (int, float, np.number))
            else max_influence
        )
        if len(values) != self.in_features:
            raise ValueError(f"max_influence must have {self.in_features} entries; got {len(values)}")
        return [check_positive(cap, f"max_influence[{i}]") for i, cap in enumerate(values)]

    @property
    def monotonic_cst(self) -> tuple[int, ...]:
        """−1, 0 or +1 per input, as the weight is constrained now."""
        rows = self._rows
        return (0,) * self.in_features if rows is None else rows.signs

    @property
    def constraint(self) -> str | None:
        """How matrices are kept semidefinite; None if none is."""
        rows = self._rows
        return None if rows is None else rows.definite.constraint

    @property
    def _rows(self) -> SignedRows | ShapedRows | None:
        """The parametrisation that binds matrices, if any."""
        signed: SignedRows | None = part_of(self, SignedRows)
        shaped: ShapedRows | None = part_of(self, ShapedRows)
        return shaped if signed is None else signed

    @property
    def constraints(self) -> tuple[Shape, ...]:
        """All shapes that hold now, by position of the inputs: monotone ones, limits of slopes, how f bends."""
        return shapes_now(self)

    @property
    def max_lipschitz(self) -> float | None:
        """The cap on the Lipschitz constant that holds now, if any."""
        cap = part_of(self, LipschitzCap)
        return None if cap is None else cap.limit

    @property
    def lipschitz(self) -> Tensor:
        """A bound on ‖f(x) − f(y)‖ / ‖x − y‖ in Euclidean norms."""
        with torch.no_grad():
            return lipschitz_bound(self.weight.double(), self.coordinates)

    @property
    def diagonal_constant(self) -> bool:
        """Whether A_0 is diagonal, and stays so."""
        return parametrize.is_parametrized(self, "constant")

    @property
    def max_influence(self) -> tuple[float, ...] | None:
        """The caps on ‖A_i‖₂ that hold now, if all inputs have one."""
        caps: dict[int, float] = {}
        for direction, limit in limits_now(self):
            for i in direction if len(direction) == 1 else ():
                caps[i] = min(limit, caps.get(i, limit))
        return tuple(caps[i] for i in range(self.in_features)) if len(caps) == self.in_features > 0 else None

    def _register_caps(self, caps: tuple[float, ...]) -> None:
        """Keep ‖A_i‖₂ within its cap."""
        parametrize.register_parametrization(self, "weight", Cap(caps, self.dim, self._tridiagonal))
