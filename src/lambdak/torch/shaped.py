r"""Matrices that are bound to one another, as a parametrisation: statements Σ q_i A_i ⪰ 0, and shared matrices.

Statements with linearly independent q, the rows of Q, are satisfied by A = Q⁺ P + N F, with P ⪰ 0 for every statement
and a free F for every direction N that none of them speaks of: Q A = P, and every solution is one of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from scipy.linalg import null_space

import torch
from lambdak.torch.constraints import Definite
from lambdak.torch.coordinates import Coordinates
from lambdak.torch.inputs import check_tensor, is_autocast
from lambdak.torch.linear_shapes import LinearShapes
from torch import Tensor, nn

_SMALL = 1e-12  # relative: what rounding leaves of zeros in Q⁺ and N
_LEAST = 0.1  # of the usual size 1/√n of a multiple of the identity: P must not start at zero, where L Lᵀ has no slope


class ShapedRows(nn.Module):
    """Weights (in_features, ..., width) whose matrices satisfy what shapes ask of them.

    A parametrisation of four tensors: free rows, the parameters of semidefinite matrices, numbers p and q of inputs
    whose matrices are p t S + q I or q I, and the parameters of each shared S.
    """

    def __init__(self, asked: LinearShapes, in_features: int, definite: Definite, coordinates: Coordinates) -> None:
        super().__init__()
        self.asked, self.definite, self.coordinates = asked, definite, coordinates
        self.signs = asked.signs(in_features)
        self.straight = list(asked.straight)
        self.joint = [i for group in asked.joint for i in group.turns]
        others = {*self.straight, *self.joint}
        self.tied = sorted({i for own in asked.statements for i in own} - others)
        self.free = [i for i in range(in_features) if i not in {*self.tied, *others}]
        order = [*self.free, *self.tied, *self.straight, *self.joint]
        self._order = sorted(range(in_features), key=order.__getitem__)
        statements = [own for own in asked.statements if not others & {*own}]
        places = {i: place for place, i in enumerate(self.tied)}
        dense = np.zeros((len(statements), len(self.tied)))
        for row, own in zip(dense, statements, strict=True):
            row[[places[i] for i in own]] = [*own.values()]
        if np.linalg.matrix_rank(dense) < len(dense):
            raise ValueError(
                f"constraints cannot be trained together: {', '.join(map(repr, asked.shapes))}: some of them undo or "
                "overlap others: leave one out"
            )
        self._factors = torch.from_numpy(dense)
        self._spread, self._kernel = (torch.from_numpy(_cleaned(part)) for part in (_pinv(dense), _null(dense)))

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """How many rows each of the four tensors has, and how long they are; 0 stands for numbers."""
        width, groups = len(self.coordinates.identity()), len(self.asked.joint)
        return (
            (len(self.free) + self._kernel.shape[1], width),
            (len(self._factors), self.definite.size),
            (len(self.straight) + 2 * len(self.joint), 0),
            (groups, self.definite.size),
        )

    def forward(self, free: Tensor, bound: Tensor, levels: Tensor, shared: Tensor) -> Tensor:
        """All rows, in the order of the inputs."""
        device = bound.device.type
        if is_autocast(device):
            with torch.autocast(device, enabled=False):  # products in half precision would undo what they promise
                return self._rows(free, bound, levels, shared)
        return self._rows(free, bound, levels, shared)

    def _rows(self, free: Tensor, bound: Tensor, levels: Tensor, shared: Tensor) -> Tensor:
        parts = [free[: len(self.free)]] if self.free else []
        if self.tied:
            tied = _product(self._spread, self.definite(bound))
            rest = free[len(self.free) :]
            parts.append(tied + _product(self._kernel, rest) if len(rest) else tied)
        if self.straight:
            parts.append(self._straight_rows(levels[: len(self.straight)]))
        if self.joint:
            parts.append(self._joint_rows(levels[len(self.straight) :], shared))
        rows = torch.cat(parts)
        return rows.index_select(0, torch.tensor(self._order, device=rows.device))

    def _straight_rows(self, levels: Tensor) -> Tensor:
        """±|q| I for monotone inputs, q I for others."""
        identity = self.coordinates.identity().to(levels)
        signs = [self.signs[i] for i in self.straight]
        return torch.stack([_signed(q, s) for q, s in zip(levels, signs, strict=True)]).unsqueeze(-1) * identity

    def _joint_rows(self, levels: Tensor, shared: Tensor) -> Tensor:
        """Multiples t p S + q I with 0 ⪯ S ⪯ I: those of a rising input are p S + q I or p (I − S) + q I, q ≥ 0."""
        identity = self.coordinates.identity().to(levels)
        matrices = self.definite(shared)
        matrices = matrices / self.coordinates.norms(matrices).clamp_min(1).unsqueeze(-1)
        sizes, shifts = levels.chunk(2)
        rows, place = [], 0
        for group, matrix in zip(self.asked.joint, matrices, strict=True):
            for i, turn in group.turns.items():
                p, q, sign = _magnitude(sizes[place]), shifts[place], self.signs[i]
                base = matrix if turn * (sign or 1) > 0 else identity * (1 if sign else 0) - matrix
                bent = p.unsqueeze(-1) * base
                rows.append(bent * (sign or 1) + _signed(q, sign).unsqueeze(-1) * identity)
                place += 1
        return torch.stack(rows)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The parameters of these rows, or of rows near them that satisfy all that is asked."""
        check_tensor(weight, "weight")
        if len(weight) != len(self.signs):
            raise ValueError(f"weight must have {len(self.signs)} rows, one per input; got {len(weight)}")
        if weight.is_meta:
            outputs = weight.shape[1:-1]
            return tuple(weight.new_empty(n, *outputs, *[size][: bool(size)]) for n, size in self.sizes)  # type: ignore[return-value]
        wide = weight.detach().cpu().double()
        tied = wide[self.tied]
        bound = self.definite.right_inverse(_product(self._factors, tied))
        free = torch.cat([wide[self.free], _product(self._kernel.T, tied)])
        levels, shared = self._joint_parameters(wide)
        levels = torch.cat([self._levels(wide, self.straight), levels])
        found = (free, bound, levels, shared)
        return cast(tuple[Tensor, Tensor, Tensor, Tensor], tuple(part.to(weight).contiguous() for part in found))

    def _levels(self, rows: Tensor, inputs: Sequence[int]) -> Tensor:
        """The q for which q I is nearest to each matrix, not of another sign than that of a monotone input."""
        traces = rows[list(inputs)] @ self.coordinates.identity() / self.coordinates.dim
        signs = traces.new_tensor([self.signs[i] for i in inputs]).reshape(-1, *[1] * (traces.ndim - 1))
        return torch.where(signs == 0, traces, (traces * signs).clamp_min(0))

    def _joint_parameters(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """P and q of every input, p first, and the parameters of every S, whose spectrum is scaled to [0, 1]."""
        identity, dim = self.coordinates.identity(), self.coordinates.dim
        sizes, shifts, shared = [], [], [rows[:0, ..., : self.definite.size]]
        for group in self.asked.joint:
            own = {i: rows[i] for i in group.turns}
            bent = {i: row - (row @ identity / dim).unsqueeze(-1) * identity for i, row in own.items()}
            total = torch.stack([turn * bent[i] for i, turn in group.turns.items()]).sum(0)
            matrix = self._scaled(total)
            middle = matrix - (matrix @ identity / dim).unsqueeze(-1) * identity
            theta = self.definite.right_inverse(matrix)
            for i, turn in group.turns.items():
                p = turn * (bent[i] * middle).sum(-1) / middle.square().sum(-1).clamp_min(1e-300)
                sizes.append(p.clamp_min(0))
                shifts.append(self._shift(own[i], sizes[-1], matrix, turn, self.signs[i]))
            shared.append(theta[None])
        empty = rows[:0, ..., 0]
        both = torch.cat([torch.stack(part) if part else empty for part in (sizes, shifts)])
        return both, torch.cat(shared)

    def _shift(self, row: Tensor, size: Tensor, matrix: Tensor, turn: int, sign: int) -> Tensor:
        """Q of a matrix ±(p S + q I): not negative for a monotone input."""
        identity = self.coordinates.identity()
        base = matrix if turn * (sign or 1) > 0 else identity * (1 if sign else 0) - matrix
        left = row * (sign or 1) - size.unsqueeze(-1) * base
        shift = left @ identity / self.coordinates.dim
        return shift.clamp_min(0) if sign else shift

    def _scaled(self, coords: Tensor) -> Tensor:
        """Coordinates of matrices shifted and scaled so that their spectrum reaches from 0 to 1; never zero.

        In place of a multiple of the identity, which has no direction to grow in, there is a ramp.
        """
        values, vectors = torch.linalg.eigh(self.coordinates.matrices(coords))
        low, high = values[..., :1], values[..., -1:]
        flat = (high - low) <= _SMALL * values.abs().amax(-1, keepdim=True).clamp_min(1e-300)
        ramp = torch.linspace(0, 1, self.coordinates.dim, dtype=values.dtype)
        values = torch.where(flat, ramp, (values - low) / torch.where(flat, 1, high - low))
        return self.coordinates.back(vectors * values.unsqueeze(-2) @ vectors.mH)

    def lifted(self, weight: Tensor) -> Tensor:
        """Rows of a start, with multiples of the identity added for which no statement holds just barely.

        Otherwise P = L Lᵀ would be about zero, where it has no slope, and stay so.
        """
        identity = self.coordinates.identity().to(weight)
        tied = weight[self.tied]
        levels = tied @ identity / self.coordinates.dim  # (tied, ...)
        found = _product(self._factors, levels)
        sizes = self._factors.norm(dim=1).to(weight).reshape(-1, *[1] * (levels.ndim - 1))
        wanted = torch.maximum(found.abs(), _LEAST * sizes / max(len(weight), 1) ** 0.5)
        lifted = weight.clone()
        lifted[self.tied] = tied + _product(self._spread, wanted - found).unsqueeze(-1) * identity
        return lifted

    def extra_repr(self) -> str:
        """What is asked."""
        return ", ".join(map(repr, self.asked.shapes))


def _product(factors: Tensor, rows: Tensor) -> Tensor:
    """Σ_j factors_ij rows_j."""
    product: Tensor = torch.tensordot(factors.to(rows), rows, 1)
    return product


def _signed(number: Tensor, sign: int) -> Tensor:
    """±|x| with a sign, or x itself."""
    return sign * _magnitude(number) if sign else number


def _magnitude(number: Tensor) -> Tensor:
    """|x|, whose slope at 0 is 1, where that of ``abs`` is 0 and a parameter could not leave."""
    return torch.where(number < 0, -number, number)


def _pinv(factors: np.ndarray) -> np.ndarray:
    return np.linalg.pinv(factors) if factors.size else np.zeros(factors.shape[::-1])


def _null(factors: np.ndarray) -> np.ndarray:
    return np.asarray(null_space(factors)) if len(factors) else np.eye(factors.shape[1])


def _cleaned(matrix: np.ndarray) -> np.ndarray:
    largest = np.abs(matrix).max(initial=0.0)
    return np.where(np.abs(matrix) > _SMALL * largest, matrix, 0.0)
