"""How far one column, or several within tolerances, can move a raw score: norms of matrix differences, in float64.

Changing column i from a to b moves every eigenvalue by at most ‖A_i(b) − A_i(a)‖₂, and between λ_1 and λ_d of that
difference (Weyl). The members' bounds add up with their weights. A_i is piecewise linear, so over a range the extremes
lie at its ends and at the knots between.

Bounds here are about the real function, and rounded outwards: they are true of it, to the last bit. What ``predict``
returns errs on top of that; :func:`of_outputs` adds it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.eigen.packing import packed_size
from lambdak.eigen.rounding import eigenvalue_error
from lambdak.model.model import Model
from lambdak.model.readout import Readout, readouts
from lambdak.pencil.definite import SAFE, UNIT, frobenius, norm_bound
from lambdak.pencil.diameter import diameter
from lambdak.pencil.spectrum import extremes
from lambdak.pencil.statements import combined
from lambdak.table.column_contract import Column

_FEW_CELLS = 128  # all pairs of which are tried; beyond, branch and bound chooses
_MOST_ROUNDING = 1e-4  # of the range of a raw score
_TINY = 1e-307  # covers underflow
OUTWARDS = 1 + 1e-14  # covers the rounding of a weighted sum of bounds
_MOST_CORNERS = 1 << 13  # of a box of tolerances; beyond, the columns' bounds are added up
_MOST_FLOATS = 1 << 24  # of the moves of a column, as combinations of its design columns


class Reach(NamedTuple):
    """A bound on how far a raw score can move, and the cells where it is attained (None: it is a relaxation)."""

    bound: float
    cells: tuple[str, str] | None


def weyl(readout: Readout, moves: Float64Array, i: int) -> tuple[Float64Array, Float64Array]:
    """Lowest and highest change of the raw score, each (moves,), under moves (moves, p) of column i."""
    if not readout.acts[i]:
        return np.zeros(len(moves)), np.zeros(len(moves))
    packed = moves @ readout.column(i)  # (members, moves, D)
    low, high = extremes(packed)
    relative = eigenvalue_error(readout.dim) + (len(readout.weights) + 4) * UNIT
    error = relative * frobenius(packed) + rounding_of_moves(readout, moves, i)
    return readout.over_members(low - SAFE * error), readout.over_members(high + SAFE * error)


def norms(readout: Readout, moves: Any, i: int) -> Float64Array:
    """Σ_m w_m ‖move · C_m‖₂ in units of the raw score, (moves,), never too small; moves (moves, p), also sparse."""
    if not readout.acts[i]:
        return np.zeros(moves.shape[0])
    found = norm_bound(combined(moves, readout.column(i))) + rounding_of_moves(readout, moves, i)
    return np.asarray(OUTWARDS * readout.over_members(found) + _TINY * _changes(readout, moves, i))


def _changes(readout: Readout, moves: Any, i: int) -> NDArray[np.bool_]:
    """Whether a move touches any matrix that is not zero, (moves,): only then can its bound be zero by underflow."""
    return np.asarray((moves != 0) @ (readout.column(i) != 0).any(axis=(0, 2)))


def rounding_of_moves(readout: Readout, moves: Any, i: int) -> Float64Array:
    """What rounding, that of the weights included, does to move · C_m, (members, moves)."""
    sizes = frobenius(readout.column(i))
    parts = (abs(moves) @ sizes.T).T
    found = (6 + (moves != 0).sum(axis=1)) * UNIT * parts
    column = readout.columns[i]
    if column.n_steps and not column.n_ramps:  # a line: its weights are rounded before their difference is taken
        found = found + _cancelled(readout, i)[:, None]
    return np.asarray(found)


def _cancelled(readout: Readout, i: int) -> Float64Array:
    """What rounding two weights of column i does to their difference, times its largest matrix, (members,)."""
    return np.asarray(16 * UNIT * readout.columns[i].reach * frobenius(readout.column(i)).max(axis=1, initial=0.0))


def of_outputs(readout: Readout, bound: float) -> float:
    """A bound on the change of computed raw scores, from one on that of the real function."""
    return float(bound + 2 * OUTWARDS * readout.error) if bound else 0.0


def any_change(readout: Readout, i: int, present_only: bool = False) -> Reach:
    """The bound on any change of column i; ``present_only`` ignores changes from and to "missing"."""
    column = readout.columns[i]
    if not readout.acts[i]:
        return Reach(0.0, None)
    if len(column.all_names()) > _FEW_CELLS:
        return _searched(readout, i, present_only)
    cells, names = column.all_cells()
    if present_only and column.missing >= 0:
        kept = np.arange(len(cells)) != cells[:, column.missing - column.start].argmax()
        cells, names = cells[kept], [name for name, keep in zip(names, kept, strict=True) if keep]
    first, second = np.triu_indices(len(cells), 1)
    if not len(first):
        return Reach(0.0, None)
    bounds = norms(readout, cells[second] - cells[first], i)
    worst = int(bounds.argmax())
    return Reach(float(bounds[worst]), (names[first[worst]], names[second[worst]]))


def changes(outputs: Sequence[Readout], i: int) -> list[Reach]:
    """The bound on any change of column i, for each output; outputs with the same matrices share it."""
    found = {id(output.coef): any_change(output, i) for output in apart(outputs)}
    return [found[id(output.coef)] for output in outputs]


def apart(outputs: Sequence[Readout]) -> list[Readout]:
    """The first output of each array of matrices: of hundreds of quantiles one, because constants change no bound."""
    return list({id(output.coef): output for output in reversed(outputs)}.values())[::-1]


def together(readout: Readout, columns: Sequence[int]) -> float:
    """A bound on any change of these columns at once: the sum of their own bounds."""
    return summed([any_change(readout, i) for i in columns])


def summed(reaches: Sequence[Reach]) -> float:
    """A bound on changes that have these bounds, at once."""
    total = math.fsum(reach.bound for reach in reaches)
    return total if len(reaches) == 1 else OUTWARDS * total


def _searched(readout: Readout, i: int, present_only: bool) -> Reach:
    """The bound on any change of a column with many cells, by branch and bound.

    Such a column has one matrix per cell, in the order of its design columns.
    """
    column, weights = readout.columns[i], readout.scale * readout.weights
    matrices, names = np.asarray(column.at_cells(readout.column(i)), np.float64), column.all_names()
    if present_only and column.missing >= 0:
        missing = column.missing - column.start
        matrices, names = np.delete(matrices, missing, axis=1), names[:missing] + names[missing + 1 :]
    bound, pair = diameter(matrices, weights)
    if pair is None:  # what training may have had to be content with, member by member
        alone = (diameter(own[None], weight[None]).bound for own, weight in zip(matrices, weights, strict=True))
        bound = min(bound, sum(alone))
    # Distances of pairs, and those to a centre that exclude pairs, are eigenvalues too.
    relative = 8 * (eigenvalue_error(readout.dim) + (64 + matrices.shape[1]) * UNIT)
    bound += relative * float(weights @ frobenius(matrices).max(axis=1))
    bound = OUTWARDS * bound + _TINY * bool(matrices.any())
    return Reach(bound, None if pair is None else (names[pair[0]], names[pair[1]]))


def strengths(model: Model) -> Float64Array:
    """The bound on any change of each column, over all outputs, (columns,)."""
    outputs = readouts(model)
    bounds = [
        [of_outputs(output, reach.bound) for output, reach in zip(outputs, changes(outputs, i), strict=True)]
        for i in range(len(outputs[0].columns))
    ]
    return np.asarray(np.max(bounds, axis=1))


def per_unit(readout: Readout, i: int) -> Reach:
    """The bound per unit of a column of numbers: its steepest piece."""
    column = readout.columns[i]
    if not column.n_steps or not readout.acts[i]:
        return Reach(0.0, None)
    slopes = OUTWARDS * norms(readout, column.increments(), i) / column.lengths()
    piece, names = int(slopes.argmax()), column.cell_names()
    return Reach(float(slopes[piece]), (names[piece], names[piece + 1]) if column.n_ramps else None)


def box(readout: Readout, tolerances: Mapping[int, float | None]) -> tuple[float, str]:
    """The bound on the change of the raw score when columns change within tolerances, and how it was found.

    A tolerance of None allows any change of a category.
    """
    moves = box_moves(readout, tolerances)
    if moves is None:
        return _added_up(readout, tolerances)
    packed = [some @ readout.column(i) for i, some in moves.items()]
    worst = 0.0
    for signs in product((1.0, -1.0), repeat=len(packed) - 1):
        total = np.zeros((len(readout.weights), 1, packed_size(readout.dim)))
        for sign, part in zip((1.0, *signs), packed, strict=True):
            total = (total[:, :, None] + sign * part[:, None]).reshape(len(total), -1, total.shape[-1])
        worst = max(worst, float(readout.over_members(norm_bound(total)).max(initial=0.0)))
    worst = OUTWARDS * (worst + box_rounding(readout, tolerances, moves))
    return worst, f"largest ‖Σ_i δ_i A_i‖₂ over all {corners_of(moves):.0f} corners of the box"


def box_moves(readout: Readout, tolerances: Mapping[int, float | None]) -> dict[int, Float64Array] | None:
    """The moves of each column within its tolerance, each in one of two directions; None if they are too many."""
    if any(_many_moves(readout.columns[i], tolerance) for i, tolerance in tolerances.items()):
        return None
    moves = {i: readout.columns[i].nearby(tolerance) for i, tolerance in tolerances.items()}
    return moves if corners_of(moves) <= _MOST_CORNERS else None


def corners_of(moves: Mapping[int, Float64Array]) -> float:
    """How many combinations of moves there are, up to a sign of all."""
    return float(np.prod([len(some) for some in moves.values()])) * 2.0 ** max(len(moves) - 1, 0)


def box_rounding(readout: Readout, tolerances: Mapping[int, float | None], moves: Mapping[int, Float64Array]) -> float:
    """What rounding of the moves, and of their sums, can do to the bound of a box."""
    parts = (readout.over_members(rounding_of_moves(readout, some, i)).max(initial=0.0) for i, some in moves.items())
    return len(moves) * float(sum(parts)) + _all_cancelled(readout, tolerances)


def _all_cancelled(readout: Readout, tolerances: Mapping[int, float | None]) -> float:
    """What rounding can hide of moves within tolerances: a tolerance below the last place of a knot is none to it."""
    moving = [i for i, tolerance in tolerances.items() if tolerance != 0]
    return float(sum(readout.over_members(_cancelled(readout, i)) + _TINY * readout.column(i).any() for i in moving))


def _many_moves(column: Column, tolerance: float | None) -> bool:
    """Whether the moves of a column are too many to be listed."""
    cells = len(column.all_names())
    pairs = cells * (cells + 3) // 2  # of a curve also from each knot in both directions
    return pairs > _MOST_CORNERS if tolerance is None else pairs * column.width > _MOST_FLOATS


def _added_up(readout: Readout, tolerances: Mapping[int, float | None]) -> tuple[float, str]:
    parts = [_alone(readout, i, tolerance) for i, tolerance in tolerances.items()]
    if len(parts) == 1 and parts[0].cells:
        return parts[0].bound, f"largest Σ w ‖A(b) − A(a)‖₂, between {' and '.join(parts[0].cells)}"
    bound = float(np.sum([part.bound for part in parts])) + _all_cancelled(readout, tolerances)
    return bound, "sum of the columns' own bounds, a relaxation: the box has too many corners"


def _alone(readout: Readout, i: int, tolerance: float | None) -> Reach:
    """The bound on the change of column i within its tolerance."""
    column = readout.columns[i]
    if tolerance is None:
        return any_change(readout, i)
    if not _many_moves(column, tolerance):
        return Reach(float(norms(readout, column.nearby(tolerance), i).max(initial=0.0)), None)
    steepest = tolerance * per_unit(readout, i).bound
    return Reach(min(steepest, any_change(readout, i, True).bound) if column.bounded else steepest, None)


def score_range(readout: Readout) -> float:
    """How far all columns together can move a raw score: at least half of it, at most all of it."""
    return float(sum(_column_ranges(readout)))


def rounding_matters(outputs: Sequence[Readout]) -> bool:
    """Whether computing raw scores errs by so much, next to their range, that no claim is worth its words."""
    enough = max(output.error for output in outputs) / _MOST_ROUNDING
    own = apart(outputs)
    return all(_falls_short(output, enough) for output in own) and any(map(score_range, own))


def _falls_short(readout: Readout, enough: float) -> bool:
    """Whether all columns together move a raw score, but by less than this; most often the first column does enough."""
    return not any(total >= enough for total in accumulate(_column_ranges(readout)))


def _column_ranges(readout: Readout) -> Iterator[float]:
    for i in readout.acting:
        column = readout.columns[i]
        cells = np.asarray(column.at_cells(readout.column(i)), np.float64)
        yield float(readout.over_members(norm_bound(cells - cells[:, :1])).max(initial=0.0))
