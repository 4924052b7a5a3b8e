r"""How steep raw scores are along a column, or a direction of several: scale Σ_m w_m max ‖Σ_i w_i A_i'(x_i)‖₂.

The slope of a column is (C_{j+1} − C_j) / (κ_{j+1} − κ_j) between two knots, and zero at an end where it is flat. By
the mean value theorem along a segment no two rows are further apart than the steepest slope times their distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from lambdak._types import Float64Array
from lambdak.model.influence import OUTWARDS, Reach, per_unit, rounding_of_moves
from lambdak.model.readout import Readout
from lambdak.pencil.definite import UNIT, frobenius, norm_bound
from lambdak.shapes.slope import Direction
from lambdak.table.column_contract import Column

MOST_CHOICES = 1 << 13  # of a piece of each column of a direction; beyond, the columns' slopes are added up
_TINY = 1e-307  # covers underflow


def steepest_slope(readout: Readout, direction: Direction) -> Reach:
    """A bound on the slope along a direction, and between which cells it is attained, if that is one piece."""
    alone = [per_unit(readout, i) for i, _ in direction]
    if len(direction) == 1:
        return Reach(OUTWARDS * abs(direction[0][1]) * alone[0].bound, alone[0].cells)
    parts = [pieces_of(readout.columns[i], weight, True) for i, weight in direction]
    if choices_of(parts) > MOST_CHOICES:
        bounds = (abs(weight) * own.bound for own, (_, weight) in zip(alone, direction, strict=True))
        return Reach(OUTWARDS * float(sum(bounds)), None)
    columns = [(own, part @ readout.column(i)) for own, part, (i, _) in zip(parts, parts, direction, strict=True)]
    error = sum(_error(readout, own, i) for (own, _), (i, _) in zip(columns, direction, strict=True))
    bound = float(readout.over_members(_summed([packed for _, packed in columns])).max(initial=0.0))
    return Reach(OUTWARDS * (bound + float(error)), None)


def pieces_of(column: Column, weight: float, ends: bool) -> Float64Array:
    """(pieces, p): weight · slope of each piece of a column; with ``ends`` also zero, if its ends are flat."""
    moves = column.increments().toarray() * (weight / column.lengths())[:, None]
    flat = ends and (column.bounded or not len(moves))
    return np.concatenate([moves, np.zeros((1, column.width))]) if flat else moves


def choices_of(pieces: Sequence[Float64Array]) -> int:
    """How many choices of one piece of each column there are."""
    return prod(map(len, pieces))


def _summed(parts: Sequence[Float64Array]) -> Float64Array:
    """Bounds on the norms (members, choices) of all sums of one of (members, pieces, D) of each column."""
    total = parts[0]
    for part in parts[1:]:
        total = (total[:, :, None] + part[:, None]).reshape(len(total), -1, total.shape[-1])
    sizes = sum(frobenius(part).max(axis=1, initial=0.0) for part in parts)  # (members,)
    return np.asarray(norm_bound(total) + (len(parts) + 2) * UNIT * np.asarray(sizes)[:, None])


def _error(readout: Readout, pieces: Float64Array, i: int) -> float:
    """What rounding does to the slopes of a column, in units of the raw score."""
    found = readout.over_members(rounding_of_moves(readout, pieces, i)).max(initial=0.0)
    return float(found) + _TINY * bool(readout.column(i).any())
