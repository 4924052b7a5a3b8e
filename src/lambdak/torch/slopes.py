r"""Limits of slopes as parametrisations: ‖Σ v_i A_i‖₂ ≤ L along directions v, and a Lipschitz constant for all inputs.

Nothing but scaling is done to matrices, which keeps all cones of semidefinite matrices:

- inputs that are bound to one another are scaled together, by the smallest factor that one of their limits asks for;
- of other inputs only what lies along the directions is scaled: with the directions as rows of a D of full rank,
  A + D⁺ (s − 1) D A has D (…) = s D A, and what lies across them stays.

For the Lipschitz constant, Σ_i (uᵀA_i u)² ≤ uᵀ(Σ_i A_i²)u for every unit vector u, so that |f(x) − f(y)| is at most
‖Σ A_i²‖₂^{1/2} ‖x − y‖ for one neuron; for a layer also the norm of the table of all ‖A_i‖₂ bounds it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from lambdak.torch.coordinates import Coordinates
from lambdak.torch.implied import Direction
from lambdak.torch.inputs import check_tensor
from lambdak.torch.linear_shapes import LinearShapes
from torch import Tensor, nn


class SlopeCaps(nn.Module):
    """‖Σ v_i A_i‖₂ ≤ L for several directions, whatever the parameters are.

    ``groups`` are inputs that are bound to one another, or whose own matrix is bound to a cone.
    """

    def __init__(
        self,
        in_features: int,
        limits: Sequence[tuple[Direction, float]],
        groups: Sequence[frozenset[int]],
        coordinates: Coordinates,
    ) -> None:
        super().__init__()
        self.limits, self.coordinates = list(limits), coordinates
        self._directions = torch.zeros(len(limits), in_features, dtype=torch.float64, device="cpu")
        for row, (direction, _) in zip(self._directions, limits, strict=True):
            for i, step in direction.items():
                row[i] = step
        self.together: list[tuple[list[int], list[int]]] = []  # inputs, limits: scaled as a whole
        self.across: list[tuple[list[int], list[int]]] = []  # inputs, limits: scaled along the directions
        for inputs in connected([frozenset(own) for own, _ in limits], groups):
            which = [j for j, (own, _) in enumerate(limits) if inputs & {*own}]
            kept = self._directions[which]
            alone = not any(inputs & group for group in groups)
            is_split = alone and len(inputs) > 1 and int(torch.linalg.matrix_rank(kept)) == len(which)
            (self.across if is_split else self.together).append((sorted(inputs), which))

    @property
    def is_separate(self) -> bool:
        """Whether every input is scaled on its own."""
        return not self.across and all(len(inputs) == 1 for inputs, _ in self.together)

    def forward(self, weight: Tensor) -> Tensor:
        """The rows, scaled where a slope is too large."""
        wide = weight if weight.dtype == torch.float64 else weight.float()
        directions = self._directions.to(wide)
        moved = (directions @ wide.flatten(1)).reshape(len(directions), *wide.shape[1:])
        norms = self.coordinates.norms(moved)
        limits, rounding = self._margins(wide, directions, weight.dtype)
        rows = list(wide.unbind(0))
        for inputs, which in self.together:
            bound = norms[which] + rounding[which]
            scale = (limits[which] / torch.maximum(bound, limits[which])).amin(0).unsqueeze(-1)
            for i in inputs:
                rows[i] = rows[i] * scale
        for inputs, which in self.across:
            room = (limits[which] - rounding[which]).clamp_min(0)
            excess = room / torch.maximum(norms[which], torch.where(room > 0, room, 1)) - 1
            back = torch.linalg.pinv(self._directions[which][:, inputs]).to(wide)
            change = (back @ (excess.unsqueeze(-1) * moved[which]).flatten(1)).reshape(len(inputs), *wide.shape[1:])
            for i, own in zip(inputs, change, strict=True):
                rows[i] = rows[i] + own
        return torch.stack(rows).to(weight.dtype)

    def _margins(self, wide: Tensor, directions: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Limits (limits, 1…) with room for rounding of a norm, and what rounding of the rows may add to each."""
        units = 8 * self.coordinates.dim * torch.finfo(wide.dtype).eps + torch.finfo(dtype).eps
        limits = wide.new_tensor([limit for _, limit in self.limits]) * (1 - units)
        several = (directions != 0).sum(1, keepdim=True) > 1  # of a single row the margin is enough
        sizes = wide.detach().square().sum(-1).sqrt()
        added = units * torch.where(several, directions.abs(), 0) @ sizes.reshape(len(wide), -1)
        return limits.reshape(-1, *[1] * (wide.ndim - 2)), added.reshape(len(directions), *wide.shape[1:-1])

    def right_inverse(self, weight: Tensor) -> Tensor:
        """The rows themselves, scaled where a slope is too large."""
        check_tensor(weight, "weight")
        return weight if weight.is_meta else self.forward(weight).contiguous()

    def extra_repr(self) -> str:
        """The limits."""
        return f"limits={self.limits}"


class LipschitzCap(nn.Module):
    """A weight whose Lipschitz bound is at most ``limit``: all matrices are scaled by one factor."""

    def __init__(self, limit: float, coordinates: Coordinates) -> None:
        super().__init__()
        self.limit, self.coordinates = limit, coordinates

    def forward(self, weight: Tensor) -> Tensor:
        """The rows, scaled if their bound is too large."""
        wide = weight if weight.dtype == torch.float64 else weight.float()
        bound = lipschitz_bound(wide, self.coordinates)
        units = 16 * self.coordinates.dim * torch.finfo(wide.dtype).eps + torch.finfo(weight.dtype).eps
        limit = bound.new_tensor(self.limit * (1 - units))
        return (wide * (limit / torch.maximum(bound, limit))).to(weight.dtype)

    def right_inverse(self, weight: Tensor) -> Tensor:
        """The rows themselves, scaled if their bound is too large."""
        check_tensor(weight, "weight")
        return weight if weight.is_meta else self.forward(weight).contiguous()

    def extra_repr(self) -> str:
        """The limit."""
        return f"limit={self.limit}"


def lipschitz_bound(weight: Tensor, coordinates: Coordinates) -> Tensor:
    """Return a bound on ‖f(x) − f(y)‖ / ‖x − y‖ of neurons with these matrices A_i, (in_features, ..., width)."""
    if not len(weight):
        return weight.new_zeros(())
    full = coordinates.matrices(weight)
    squares = (full @ full.mH).sum(0)  # (..., d, d)
    largest = coordinates.largest(squares).sum()  # over neurons, each bound squared
    alone = largest.clamp_min(torch.finfo(largest.dtype).tiny).sqrt()  # whose slope at 0 is infinite
    if weight.ndim == 2:
        return alone
    table = torch.linalg.matrix_norm(coordinates.norms(weight).flatten(1), 2)
    return torch.minimum(alone, table)


def connected(first: Sequence[frozenset[int]], others: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """Return the unions of ``first`` with all sets that share an element with them, directly or by others.

    >>> connected([frozenset({0}), frozenset({1, 2})], [frozenset({0, 3}), frozenset({5, 6})])
    [frozenset({0, 3}), frozenset({1, 2})]
    """
    found: list[set[int]] = []
    for own in [*first, *others]:
        merged, apart = set(own), []
        for group in found:
            if group & merged:
                merged |= group
            else:
                apart.append(group)
        found = [*apart, merged]
    touched = {i for own in first for i in own}
    return sorted((frozenset(group) for group in found if group & touched), key=min)


def bound_groups(asked: LinearShapes) -> list[frozenset[int]]:
    """Return sets of inputs whose matrices are bound to one another, to a sign or to the identity."""
    own = [frozenset(statement) for statement in asked.statements]
    return own + [frozenset(group.turns) for group in asked.joint] + [frozenset({i}) for i in asked.straight]
