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
from lambdak.table.column_contract import Column
from lambdak.torch.autograd import spectral_norm
from lambdak.torch.generalized import GeneralizedSpectralNeuron
from lambdak.torch.implied import following
from lambdak.torch.linear_shapes import check_shape, linear_columns
from lambdak.torch.parts import ACTIVATIONS, Part, Spectral, part_of_network, then
from lambdak.torch.promised import bound_now
from torch import Tensor, nn


class Composed:
    """Modules one after the other.

    Attributes
    ----------
    modules : list of modules
    parts : list of parts
        What each module does to each of its own inputs.
    until : list of parts
        What the modules up to each do together to each input; the last is the ``whole``.
    """

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        self.modules = list(modules)
        self.parts: list[Part] = []
        self.until: list[Part] = []
        for module in modules:
            before = self.until[-1] if self.until else None
            self.parts.append(part_of_network(module, None if before is None else before.up.shape[1]))
            self.until.append(then(before, self.parts[-1]))
        self.whole = self.until[-1]
        self.in_features = len(self.whole.up)

    def holding(self, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
        """Return those of the first layer's constraints and of other shapes that hold of every output."""
        for shape in shapes:
            check_shape(shape, self.in_features)
        first = self.modules[0]
        candidates = [*(first.constraints if isinstance(first, Spectral) else ()), *shapes]
        columns = linear_columns(self.in_features)
        placed = list(dict.fromkeys(shape.placed(columns) for shape in candidates))
        asked = [_directions(shape, columns) for shape in placed]
        along = self._along([own for rows in asked for own in rows])
        pairs = [list(combinations(shape.positions, 2)) if shape.joint else [] for shape in placed]
        together = self._work_together([pair for own in pairs for pair in own])
        held, row, pair = [], 0, 0
        for shape, rows, own in zip(placed, asked, pairs, strict=True):
            here = slice(row, row + len(rows))
            if self._holds(shape, along.up[here], along.influence[here], together[:, pair : pair + len(own)]):
                held.append(shape)
            row, pair = row + len(rows), pair + len(own)
        return tuple(held)

    def lipschitz(self) -> float:
        """Return a bound on ‖f(x) − f(y)‖ / ‖x − y‖."""
        table = float(torch.linalg.matrix_norm(self.whole.influence.double(), 2)) if self.in_features else 0.0
        own = map(_lipschitz, self.modules, self.parts)
        return min(table, reduce(lambda bound, factor: bound * factor, own, 1.0))

    def _holds(self, shape: Shape, up: Tensor, influence: Tensor, together: Tensor) -> bool:
        """Return whether a shape holds, by what happens along its directions and to its pairs of inputs."""
        if shape.end:
            part = self.whole.convex if shape.end > 0 else self.whole.concave
            return bool(part[list(shape.positions or range(self.in_features))].all())
        if shape.joint:
            return bool(together[0 if shape.joint > 0 else 1].all())
        return bool((influence <= shape.limit).all() if isinstance(shape, MaxSlope) else up.all())

    def _along(self, directions: Sequence[dict[int, float]]) -> Part:
        """Return what happens along directions of the inputs: a part whose rows these are."""
        rows = torch.zeros(len(directions), self.in_features, dtype=torch.float64)
        for row, direction in zip(rows, directions, strict=True):
            for i, step in direction.items():
                row[i] = step
        found: Part | None = None
        for module, part in zip(self.modules, self.parts, strict=True):
            if found is not None:
                found = then(found, part)
            elif isinstance(module, nn.Linear):
                rows = rows @ module.weight.double().cpu().T
            else:
                found = _first_along(module, part, rows)
        return _straight(rows) if found is None else found

    def _work_together(self, pairs: Sequence[tuple[int, int]]) -> Tensor:
        """Return of pairs of inputs whether they are complements, and substitutes, in every output: (2, pairs)."""
        if not pairs:
            return torch.ones(2, 0, dtype=torch.bool)
        a, b = torch.tensor(pairs).T
        steps = torch.eye(self.in_features, dtype=torch.float64)
        signs: Tensor | None = None  # (2, pairs, values)
        for place, (module, part) in enumerate(zip(self.modules, self.parts, strict=True)):
            if signs is not None:
                signs = _further(signs, self.until[place - 1], module, part, a, b)
            elif isinstance(module, nn.Linear):
                steps = steps @ module.weight.double().cpu().T
            elif isinstance(module, Spectral):
                signs = _first_together(module, part, steps, a, b)
            else:
                return torch.zeros(2, len(pairs), dtype=torch.bool)
        return torch.ones(2, len(pairs), dtype=torch.bool) if signs is None else signs.all(2)


def _directions(shape: Shape, columns: Sequence[Column]) -> list[dict[int, float]]:
    """Return the directions of the inputs that a shape speaks of; none, if it bends or is about pairs."""
    if shape.end or shape.joint:
        return []
    if isinstance(shape, MaxSlope):
        return [dict(own) for own in shape.directions(columns)]
    return [{i: float(q) for i, q in own.items()} for own in shape.statements(columns)]


def _straight(rows: Tensor) -> Part:
    """Return what an affine map, or an activation, does along directions given by what they do to each value."""
    every = torch.ones_like(rows, dtype=torch.bool)
    return Part(rows >= 0, rows <= 0, every, every, rows.abs())


def _first_along(module: nn.Module, part: Part, rows: Tensor) -> Part:
    """Return what a module does along directions of its own inputs."""
    if not isinstance(module, Spectral):
        return _straight(rows)
    used = (part.influence.amax(1) > 0).tolist()
    own = [{i: step for i, step in enumerate(row) if step and used[i]} for row in rows.tolist()]
    back = [{i: -step for i, step in direction.items()} for direction in own]
    follow = following([*own, *back], bound_now(module).statements)
    up, down = torch.tensor(follow, dtype=torch.bool).reshape(2, -1, 1)
    outputs = part.up.shape[1]
    never = torch.zeros(len(rows), outputs, dtype=torch.bool)
    slopes = _slopes(module, rows).expand(-1, outputs)
    return Part(up.expand(-1, outputs), down.expand(-1, outputs), never, never, slopes)


def _slopes(module: Spectral, rows: Tensor) -> Tensor:
    """Return ‖Σ v_i A_i‖₂ for every direction (rows) and output, (rows, outputs) or (rows, 1)."""
    weight = module._coefficients()[1] if isinstance(module, GeneralizedSpectralNeuron) else module.weight
    moved = torch.tensordot(rows, weight.double().cpu(), 1)
    reduced = isinstance(module, GeneralizedSpectralNeuron)
    norms = spectral_norm(moved, module.dim) if reduced else module.coordinates.norms(moved)
    return norms if norms.ndim > 1 else norms[:, None]


def _first_together(module: Spectral, part: Part, steps: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Return whether pairs of a network's inputs are complements, and substitutes: (2, pairs, outputs).

    ``steps`` say by how much each of the network's inputs (rows) moves each of the module's.
    """
    bound, end = bound_now(module), 1 if module.eig_idx == module.dim - 1 else -1
    bent = (part.influence.amax(1) > 0).cpu()
    bent[list(bound.straight)] = False
    loose = (steps != 0) & bent
    turns, groups = torch.zeros(2, len(bent), dtype=torch.int64)
    for number, group in enumerate(bound.joint, start=1):
        for i, turn in group.turns.items():
            turns[i], groups[i] = turn, number
    single = loose.sum(1) == 1
    place = loose.int().argmax(1)
    turn = single * turns[place] * steps.gather(1, place[:, None])[:, 0].sign()
    shared = (groups[place[a]] == groups[place[b]]) & (place[a] != place[b])
    found = turn[a] * turn[b] * end * shared
    idle = ~(loose[a].any(1) & loose[b].any(1))
    return torch.stack([idle | (found > 0), idle | (found < 0)])[:, :, None].expand(-1, -1, part.up.shape[1])


def _further(signs: Tensor, before: Part, module: nn.Module, part: Part, a: Tensor, b: Tensor) -> Tensor:
    """Return whether pairs of inputs are complements, and substitutes, in what a module makes of such values."""
    more, less = signs
    if isinstance(module, nn.Linear):
        weight = module.weight.double().cpu()
        # Numbers of values that would have to be what they are not: a NaN asks for both.
        plus, minus = ((~(own <= 0)).T.double() for own in (weight, -weight))
        missing = [(~own).double() for own in (more, less)]
        return torch.stack([one @ plus + two @ minus == 0 for one, two in (missing, missing[::-1])])
    bend = ACTIVATIONS.get(type(module))
    up, down, idle = (flags.cpu() for flags in (before.up, before.down, before.idle))
    if bend is None:  # a layer mixes values: only of an input on which nothing depends anything is known
        still = idle[a].all(1) | idle[b].all(1)
        return still[:, None].expand(2, -1, part.up.shape[1])
    same, opposite = up[a] & up[b] | down[a] & down[b], up[a] & down[b] | down[a] & up[b]
    never = torch.zeros_like(same)
    kept = {1: (same, opposite), -1: (opposite, same), 0: (never, never)}[bend]
    either = idle[a] | idle[b]
    return torch.stack([more & kept[0] | either, less & kept[1] | either])


def _lipschitz(module: nn.Module, part: Part) -> float:
    """Return a bound on ‖f(x) − f(y)‖ / ‖x − y‖ of one module."""
    if isinstance(module, nn.Linear):
        return float(torch.linalg.matrix_norm(module.weight.double(), 2))
    if not isinstance(module, Spectral):
        return 1.0  # slopes of activations are within [0, 1]
    influence = part.influence.double()
    table = float(torch.linalg.matrix_norm(influence, 2)) if influence.numel() else 0.0
    several = influence.shape[1] ** 0.5 if module.constant.ndim == 1 else 1.0  # of one matrix
    return min(table, float(module.lipschitz) * several)
