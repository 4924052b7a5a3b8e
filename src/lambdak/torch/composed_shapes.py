r"""Which shapes of its inputs a composition of modules keeps.

- A step along a direction that raises every value between two layers raises what does not fall in these values.
- The slope along a direction is at most the sum of those of the values between, times their influence.
- Complements stay so in sums with weights that are not negative, and under a convex function that does not fall if both
  rise or both fall: the second derivative of g(f) is g″ f_a f_b + g′ f_ab. Others follow by turning signs round.
- Lipschitz constants multiply; the norm of the table of influences is a bound, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import combinations

import torch
from lambdak.shapes import MaxSlope, Shape
from lambdak.table.linear_column import Linear
from lambdak.torch.autograd import spectral_norm
from lambdak.torch.generalized import GeneralizedSpectralNeuron
from lambdak.torch.linear_shapes import check_shape, follows, linear_columns
from lambdak.torch.parts import ACTIVATIONS, Part, Spectral, part_of_network, then
from lambdak.torch.promised import bound_now
from torch import Tensor, nn


class Composed:
    """Modules one after the other, ``whole`` of which is known input by input."""

    def __init__(self, modules: Sequence[nn.Module], whole: Part) -> None:
        self.modules, self.whole = list(modules), whole
        self.in_features = len(whole.up)

    def holding(self, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
        """Return those of the first layer's constraints and of other shapes that hold of every output."""
        for shape in shapes:
            check_shape(shape, self.in_features)
        first = self.modules[0]
        candidates = [*(first.constraints if isinstance(first, Spectral) else ()), *shapes]
        columns = linear_columns(self.in_features)
        placed = dict.fromkeys(shape.placed(columns) for shape in candidates)
        return tuple(shape for shape in placed if self._holds(shape, columns))

    def lipschitz(self) -> float:
        """Return a bound on ‖f(x) − f(y)‖ / ‖x − y‖."""
        table = float(torch.linalg.matrix_norm(self.whole.influence.double(), 2)) if self.in_features else 0.0
        return min(table, reduce(lambda bound, module: bound * _lipschitz(module), self.modules, 1.0))

    def _holds(self, shape: Shape, columns: Sequence[Linear]) -> bool:
        if shape.end:
            part = self.whole.convex if shape.end > 0 else self.whole.concave
            return bool(part[list(shape.positions or range(self.in_features))].all())
        if shape.joint:
            return all(self._work_together(a, b, shape.joint) for a, b in combinations(shape.positions, 2))
        if isinstance(shape, MaxSlope):
            influence = self._along([dict(own) for own in shape.directions(columns)]).influence
            return bool((influence <= shape.limit).all())
        statements = [{i: float(q) for i, q in own.items()} for own in shape.statements(columns)]
        return bool(self._along(statements).up.all())

    def _along(self, directions: Sequence[dict[int, float]]) -> Part:
        """Return what happens along directions of the inputs: a part whose rows these are."""
        rows = torch.zeros(len(directions), self.in_features, dtype=torch.float64)
        for row, direction in zip(rows, directions, strict=True):
            for i, step in direction.items():
                row[i] = step
        part: Part | None = None
        for module in self.modules:
            if part is not None:
                part = then(part, part_of_network(module, part.up.shape[1]))
            elif isinstance(module, nn.Linear):
                rows = rows @ module.weight.double().cpu().T
            else:
                part = _first_along(module, rows)
        return _straight(rows) if part is None else part

    def _work_together(self, a: int, b: int, joint: int) -> bool:
        """Return whether two inputs are complements (1) or substitutes (−1) in every output."""
        steps = torch.eye(self.in_features, dtype=torch.float64)[[a, b]]
        signs: Tensor | None = None  # (2, values): whether the two are complements, and substitutes
        before: Part | None = None
        for module in self.modules:
            part = part_of_network(module, None if before is None else before.up.shape[1])
            if signs is not None and before is not None:
                signs = _further(signs, before, module, a, b)
            elif isinstance(module, Spectral):
                signs = _first_together(module, steps).expand(2, part.up.shape[1])
            elif isinstance(module, nn.Linear):
                steps = steps @ module.weight.double().cpu().T
            else:
                return False
            before = then(before, part)
        return signs is None or bool(signs[0 if joint > 0 else 1].all())


def _straight(rows: Tensor) -> Part:
    """Return what an affine map, or an activation, does along directions given by what they do to each value."""
    every = torch.ones_like(rows, dtype=torch.bool)
    return Part(rows >= 0, rows <= 0, every, every, rows.abs())


def _first_along(module: nn.Module, rows: Tensor) -> Part:
    """Return what a module does along directions of its own inputs."""
    if not isinstance(module, Spectral):
        return _straight(rows)
    norms, used = _slopes(module, rows), module.norms.reshape(module.in_features, -1).amax(1) > 0
    statements = bound_now(module).statements
    own = [{i: step for i, step in enumerate(row) if step and used[i]} for row in rows.tolist()]
    up, down = (
        torch.tensor([[follows({i: sign * step for i, step in row.items()}, statements)] for row in own])
        for sign in (1, -1)
    )
    outputs = part_of_network(module, None).up.shape[1]
    never = torch.zeros(len(rows), outputs, dtype=torch.bool)
    return Part(up.expand(-1, outputs), down.expand(-1, outputs), never, never, norms.expand(-1, outputs))


def _slopes(module: Spectral, rows: Tensor) -> Tensor:
    """Return ‖Σ v_i A_i‖₂ for every direction (rows) and output, (rows, outputs) or (rows, 1)."""
    weight = module._coefficients()[1] if isinstance(module, GeneralizedSpectralNeuron) else module.weight
    moved = torch.tensordot(rows, weight.double().cpu(), 1)
    reduced = isinstance(module, GeneralizedSpectralNeuron)
    norms = spectral_norm(moved, module.dim) if reduced else module.coordinates.norms(moved)
    return norms.reshape(len(rows), -1)


def _first_together(module: Spectral, steps: Tensor) -> Tensor:
    """Return whether two inputs, each of which moves one value, are complements, and substitutes: (2, 1)."""
    bound, end = bound_now(module), 1 if module.eig_idx == module.dim - 1 else -1
    moved = [torch.where(step != 0)[0].tolist() for step in steps]
    idle = (module.norms.reshape(module.in_features, -1).amax(1) == 0).tolist()
    loose = [[i for i in own if not idle[i] and i not in bound.straight] for own in moved]
    if not all(loose):
        return torch.ones(2, 1, dtype=torch.bool)
    found = 0
    if len(loose[0]) == len(loose[1]) == 1:
        (i,), (j,) = loose
        turns = next((group.turns for group in bound.joint if i in group.turns and j in group.turns), None)
        if turns is not None and i != j:
            found = int(turns[i] * turns[j] * end * steps[0, i].sign() * steps[1, j].sign())
    return torch.tensor([[found > 0], [found < 0]])


def _further(signs: Tensor, before: Part, module: nn.Module, a: int, b: int) -> Tensor:
    """Return whether two inputs are complements, and substitutes, in what a module makes of such values."""
    more, less = signs
    if isinstance(module, nn.Linear):
        weight = module.weight.cpu()
        plus, minus = weight >= 0, weight <= 0
        return torch.stack([(plus & own | minus & other).all(1) for own, other in ((more, less), (less, more))])
    bend = ACTIVATIONS.get(type(module))
    if bend is None:  # a layer mixes values: only of an input on which nothing depends anything is known
        outputs = part_of_network(module, None).up.shape[1]
        return (before.idle[a].all() | before.idle[b].all()).cpu().expand(2, outputs)
    idle = before.idle[a] | before.idle[b]
    same = before.up[a] & before.up[b] | before.down[a] & before.down[b]
    opposite = before.up[a] & before.down[b] | before.down[a] & before.up[b]
    never = torch.zeros_like(same)
    kept = {1: (same, opposite), -1: (opposite, same), 0: (never, never)}[bend]
    return torch.stack([more & kept[0] | idle, less & kept[1] | idle])


def _lipschitz(module: nn.Module) -> float:
    """Return a bound on ‖f(x) − f(y)‖ / ‖x − y‖ of one module."""
    if isinstance(module, nn.Linear):
        return float(torch.linalg.matrix_norm(module.weight.double(), 2))
    if not isinstance(module, Spectral):
        return 1.0  # slopes of activations are within [0, 1]
    influence = part_of_network(module, None).influence.double()
    table = float(torch.linalg.matrix_norm(influence, 2)) if influence.numel() else 0.0
    several = influence.shape[1] ** 0.5 if module.constant.ndim == 1 else 1.0  # of one matrix
    return min(table, float(module.lipschitz) * several)
