r"""What shapes ask of the matrices of f(x) = λ_k(A_0 + Σ x_i A_i), whose inputs are linear: one matrix per input.

- Rising, Falling, Dominates and RisingAlong: Σ q_i A_i ⪰ 0 for some q, because a step along q adds that matrix.
- MaxSlope: ‖Σ v_i A_i‖₂ ≤ L, as eigenvalues move by no more than the norm of what is added.
- Convex: the last eigenvalue is convex in all inputs together, and the first concave. What is to bend the other way as
  well must be straight: A_i = p_i I, which adds p_i x_i to every eigenvalue.
- Complements and Substitutes: A_a = t_a p_a S + q_a I with one S, p ≥ 0 and t = ±1. For fixed other inputs f is
  Σ q_a x_a + g(Σ t_a p_a x_a), where g is convex for the last eigenvalue: a step in a then counts the more (if
  t_a = t_b) or the less (if t_a = −t_b), the larger b is. For the first eigenvalue, where g is concave, it is reversed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np

from lambdak._checks import check_int, check_positive
from lambdak.shapes import MaxSlope, Shape
from lambdak.shapes.ends import directions, end_of_spectrum, pattern_numbers
from lambdak.shapes.requested import listed, requested_shapes
from lambdak.table.linear_column import Linear
from lambdak.torch.implied import Direction, distinct, following

# Shapes of curves, which a linear input does not have: why, and the way out.
_REFUSED = {
    "Valley": "an input of a neuron has no turn at a given place: Convex({0}) falls before its lowest point, wherever "
    "that is, and rises after it",
    "Peak": "an input of a neuron has no turn at a given place: Concave({0}) rises before its highest point, wherever "
    "that is, and falls after it",
    "Anchored": "x A adds nothing at 0, and nowhere else: subtract the cell from the input",
    "OutputRange": "linear inputs move a neuron without end: put low + (high - low) * sigmoid behind it, as nn.Sigmoid "
    "and nn.Linear, which guarantees follows",
    "Interactions": "the inputs of a neuron share one matrix: add up neurons of the inputs of each group",
    "MaxInfluence": "the largest change of a linear input has no end: MaxSlope({0}, limit) bounds the change per unit, "
    "as max_influence of a neuron does",
}


@final
@dataclass(frozen=True)
class Joint:
    """Inputs whose matrices are t_a p_a S + q_a I with one S: each with its t, +1 or −1."""

    turns: Mapping[int, int]


@final
@dataclass(frozen=True)
class LinearShapes:
    """What a neuron's matrices must satisfy.

    Attributes
    ----------
    eig_idx : int
        The position of the eigenvalue.
    shapes : tuple of shapes
        What was requested, with positions, monotone inputs included.
    statements : list of directions
        Σ q_i A_i ⪰ 0 for each.
    limits : list of (direction, number)
        ‖Σ v_i A_i‖₂ is at most that.
    straight : tuple of ints
        Inputs whose matrices are multiples of the identity.
    joint : tuple of groups
        Inputs whose matrices are multiples of a shared one, but for multiples of the identity.
    """

    eig_idx: int
    shapes: tuple[Shape, ...] = ()
    statements: list[Direction] = field(default_factory=list)
    limits: list[tuple[Direction, float]] = field(default_factory=list)
    straight: tuple[int, ...] = ()
    joint: tuple[Joint, ...] = ()

    def signs(self, in_features: int) -> tuple[int, ...]:
        """−1, 0 or +1 per input: which way f moves with it, also where that follows from several statements."""
        touched = sorted({i for own in self.statements for i in own})
        single = [{i: sign} for sign in (1.0, -1.0) for i in touched]
        follow = following(single, self.statements)
        found = [0] * in_features
        for i, up, down in zip(touched, follow[: len(touched)], follow[len(touched) :], strict=True):
            found[i] = 1 if up else -1 if down else 0
        return tuple(found)

    @property
    def is_plain(self) -> bool:
        """Whether every statement is about one input, and no matrix is bound to another or to the identity."""
        return not self.straight and not self.joint and all(len(own) == 1 for own in self.statements)


def linear_shapes(
    in_features: int,
    dim: int,
    eig_idx: int | None,
    signs: Sequence[int],
    constraints: Sequence[Shape] | None,
) -> LinearShapes:
    """Return what monotone signs and shapes ask of a neuron's matrices, after a check for contradictions."""
    asked = listed(constraints)
    if not asked:
        position = dim // 2 if eig_idx is None else check_int(eig_idx, "eig_idx", 0, dim)
        return LinearShapes(position, statements=[{i: float(sign)} for i, sign in enumerate(signs) if sign])
    for shape in asked:
        check_shape(shape, in_features)
    columns = linear_columns(in_features)
    shapes = requested_shapes(columns, list(signs), constraints=asked)
    position = _position(shapes, dim, eig_idx)
    straight = _straight(shapes, dim, position)
    joint = _joint(shapes, 1 if position == dim - 1 else -1)
    statements = [{i: float(q) for i, q in own.items() if q} for shape in shapes for own in shape.statements(columns)]
    found = LinearShapes(position, shapes, distinct(statements), _limits(shapes, columns), straight, joint)
    _check_apart(found)
    return found


def linear_columns(in_features: int) -> list[Linear]:
    """Return the inputs as columns of a table: straight lines, each with one design column."""
    return [Linear(f"x{i}", i, low=-1.0, high=1.0, clamp=False) for i in range(in_features)]


def check_any_eigenvalue(constraints: Sequence[Shape] | None, what: str) -> None:
    """Refuse shapes that hold of the last or the first eigenvalue only."""
    for shape in listed(constraints):
        if shape.end or shape.joint:
            raise ValueError(
                f"{shape!r} holds of the last or the first eigenvalue, and {what} reads several: use a SpectralNeuron "
                "or a SpectralLayer"
            )


def check_shape(shape: Shape, in_features: int) -> None:
    """Refuse shapes that a linear input cannot have, and inputs that there are not."""
    name = type(shape).__name__
    for key in shape.keys:
        if isinstance(key, bool) or not isinstance(key, int | np.integer) or not 0 <= key < in_features:
            raise ValueError(
                f"constraints must name inputs by position, 0 to {in_features - 1}; got {key!r} in {shape!r}"
            )
    if name in _REFUSED:
        raise ValueError(f"{shape!r} cannot be a constraint here: {_REFUSED[name].format(*shape.keys[:1] or ('i',))}")


def _position(shapes: Sequence[Shape], dim: int, eig_idx: int | None) -> int:
    """Return the position of the eigenvalue that was given, or that bent and joint shapes need."""
    needing = [own for own in shapes if own.end or own.joint]
    if eig_idx is None:
        return {1: dim - 1, -1: 0, 0: dim // 2}[end_of_spectrum(shapes)]
    position = check_int(eig_idx, "eig_idx", 0, dim)
    here = [end for end, place in ((1, dim - 1), (-1, 0)) if position == place]
    kept = [own for own in needing if own.joint or own.end in here]
    if needing and not (here and kept):
        last = (needing[0].end or needing[0].joint) > 0
        raise ValueError(
            f"{needing[0]!r} needs eig_idx={dim - 1 if last else 0}, or None, which chooses it; got {eig_idx}"
        )
    return position


def _straight(shapes: Sequence[Shape], dim: int, position: int) -> tuple[int, ...]:
    """Return the inputs that are to bend against the eigenvalue's way, so that they cannot bend at all."""
    against = 0 if dim == 1 else -1 if position == dim - 1 else 1
    return tuple(sorted({i for own in shapes if own.end and own.end == against for i in own.positions}))


def _joint(shapes: Sequence[Shape], end: int) -> tuple[Joint, ...]:
    """Return groups of inputs that share a matrix, each with the sign that makes all pairs what they should be."""
    try:
        turns, groups = directions(shapes, end), pattern_numbers(shapes)
    except ValueError:
        named = ", ".join(repr(own) for own in shapes if own.joint)
        other = "the first, eig_idx=0" if end > 0 else "the last, eig_idx=dim - 1"
        raise ValueError(
            f"constraints {named} cannot all hold at this eigenvalue, where of three inputs only two can be that: "
            f"choose {other}, or name fewer inputs"
        ) from None
    numbers = sorted({*groups.values()})
    return tuple(Joint({i: turns[i] for i in sorted(groups) if groups[i] == number}) for number in numbers)


def _limits(shapes: Sequence[Shape], columns: Sequence[Linear]) -> list[tuple[Direction, float]]:
    """Return the directions along which slopes are limited."""
    found: list[tuple[Direction, float]] = []
    for shape in shapes:
        if isinstance(shape, MaxSlope):
            limit = check_positive(shape.limit, f"limit of {shape!r}")
            for own in shape.directions(columns):
                ((i, step),) = own if len(own) == 1 else ((0, 0.0),)
                found.append(({i: 1.0}, limit / abs(step)) if step else (dict(own), limit))
    return found


def _check_apart(asked: LinearShapes) -> None:
    """Refuse statements that compare a matrix of a kind of its own with others."""
    bound = {i for group in asked.joint for i in group.turns}
    both = sorted(bound & {*asked.straight})
    if both:
        raise ValueError(
            f"input {both[0]} is to be straight, as it bends both ways, and to share a matrix with others: leave one "
            f"of these out of constraints {', '.join(map(repr, asked.shapes))}"
        )
    for own in asked.statements:
        other = next((i for i in own if i in bound or i in asked.straight), None)
        if len(own) > 1 and other is not None:
            why = "shares its matrix with others" if other in bound else "is straight, as it bends both ways"
            raise ValueError(
                f"constraints compare the inputs {sorted(own)}, of which {other} {why}: leave one of them out of "
                f"{', '.join(map(repr, asked.shapes))}"
            )
