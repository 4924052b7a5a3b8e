r"""How far one column, or several within tolerances, can move a raw score: norms of matrix differences, in float64.

Changing column i from a to b moves every eigenvalue by at most ‖A_i(b) − A_i(a)‖₂, and between λ_1 and λ_d of that
difference (Weyl). The members' bounds add up with their weights. A_i is piecewise linear, so over a range the extremes
lie at its ends and at the knots between.

Bounds here are about the real function, and rounded outwards: they are true of it, to the last bit. What ``predict``
returns errs on top of that; :func:`of_outputs` adds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, product
from typing import NamedTuple

import numpy as np

from lambdak.eigen.packing import packed_size
from lambdak.eigen.rounding import eigenvalue_error
from lambdak.model.model import Model
from lambdak.model.readout import Readout, readouts
from lambdak.pencil.definite import UNIT, frobenius, norm_bound
from lambdak.pencil.spectrum import Float64Array, extremes

_MOST_CELLS = 128  # beyond, pairs of cells are bounded by way of their mean
_SAFE = 1.01  # covers second-order terms, and the rounding of the bounds themselves
_MOST_ROUNDING = 1e-6  # of the range of a raw score
_OUTWARDS = 1 + 1e-14  # covers the rounding of a weighted sum of bounds
_MOST_CORNERS = 1 << 13  # of a box of tolerances; beyond, the columns' bounds are added up


class Reach(NamedTuple):
    """A bound on how far a raw score can move, and the cells where it is attained (None: it is a relaxation)."""

    bound: float
    cells: tuple[str, str] | None


def weyl(readout: Readout, moves: Float64Array, i: int) -> tuple[Float64Array, Float64Array]:
    """Lowest and highest change of the raw score, each (moves,), under moves (moves, p) of column i."""
    packed = moves @ readout.column(i)  # (members, moves, D)
    low, high = extremes(packed)
    relative = eigenvalue_error(readout.dim) + (len(readout.weights) + 4) * UNIT
    error = relative * frobenius(packed) + _rounding(readout, moves, i)
    return readout.over_members(low - _SAFE * error), readout.over_members(high + _SAFE * error)


def norms(readout: Readout, moves: Float64Array, i: int) -> Float64Array:
    """Σ_m w_m ‖move · C_m‖₂ in units of the raw score, (moves,), never too small."""
    found = norm_bound(moves @ readout.column(i)) + _rounding(readout, moves, i)
    return np.asarray(_OUTWARDS * readout.over_members(found))


def _rounding(readout: Readout, moves: Float64Array, i: int) -> Float64Array:
    """What rounding, that of the weights included, does to move · C_m, (members, moves)."""
    parts = (np.abs(moves) @ frobenius(readout.column(i))[..., None])[..., 0]
    return np.asarray((6 + np.count_nonzero(moves, axis=1)) * UNIT * parts)


def of_outputs(readout: Readout, bound: float) -> float:
    """A bound on the change of computed raw scores, from one on that of the real function."""
    return float(bound + 2 * _OUTWARDS * readout.error) if bound else 0.0


def any_change(readout: Readout, i: int, present_only: bool = False) -> Reach:
    """The bound on any change of column i; ``present_only`` ignores changes from and to "missing"."""
    column = readout.columns[i]
    cells, names = column.all_cells()
    if present_only and column.missing >= 0:
        kept = np.arange(len(cells)) != cells[:, column.missing - column.start].argmax()
        cells, names = cells[kept], [name for name, keep in zip(names, kept, strict=True) if keep]
    if len(cells) > _MOST_CELLS:
        radius = np.sort(norms(readout, cells - cells.mean(axis=0), i))
        return Reach(float(radius[-1] + radius[-2]), None)
    first, second = np.triu_indices(len(cells), 1)
    if not len(first):
        return Reach(0.0, None)
    bounds = norms(readout, cells[second] - cells[first], i)
    worst = int(bounds.argmax())
    return Reach(float(bounds[worst]), (names[first[worst]], names[second[worst]]))


def strengths(model: Model) -> Float64Array:
    """The bound on any change of each column, over all outputs, (columns,)."""
    outputs = readouts(model)
    bounds = [
        [of_outputs(output, any_change(output, i).bound) for i in range(len(output.columns))] for output in outputs
    ]
    return np.asarray(np.max(bounds, axis=0))


def per_unit(readout: Readout, i: int) -> Reach:
    """The bound per unit of a column of numbers: its steepest piece."""
    column = readout.columns[i]
    if not column.n_steps:
        return Reach(0.0, None)
    slopes = _OUTWARDS * norms(readout, column.increments(), i) / column.lengths()
    piece, names = int(slopes.argmax()), column.cell_names()
    return Reach(float(slopes[piece]), (names[piece], names[piece + 1]) if column.n_ramps else None)


def box(readout: Readout, tolerances: Mapping[int, float | None]) -> tuple[float, str]:
    """The bound on the change of the raw score when columns change within tolerances, and how it was found.

    A tolerance of None allows any change of a category.
    """
    moves = [readout.columns[i].nearby(tolerance) for i, tolerance in tolerances.items()]
    corners = float(np.prod([len(some) for some in moves])) * 2.0 ** max(len(moves) - 1, 0)
    if corners > _MOST_CORNERS:
        parts = [norms(readout, some, i).max(initial=0.0) for i, some in zip(tolerances, moves, strict=True)]
        return float(np.sum(parts)), "sum of the columns' own bounds, a relaxation: the box has too many corners"
    packed = [some @ readout.column(i) for i, some in zip(tolerances, moves, strict=True)]
    worst = 0.0
    for signs in product((1.0, -1.0), repeat=len(packed) - 1):
        total = np.zeros((len(readout.weights), 1, packed_size(readout.dim)))
        for sign, part in zip((1.0, *signs), packed, strict=True):
            total = (total[:, :, None] + sign * part[:, None]).reshape(len(total), -1, total.shape[-1])
        worst = max(worst, float(readout.over_members(norm_bound(total)).max(initial=0.0)))
    rounding = sum(float(readout.over_members(_rounding(readout, some, i)).max(initial=0.0))
                   for i, some in zip(tolerances, moves, strict=True))  # fmt: skip
    worst = _OUTWARDS * (worst + len(moves) * rounding) if worst else 0.0
    return worst, f"largest ‖Σ_i δ_i A_i‖₂ over all {corners:.0f} corners of the box"


def score_range(readout: Readout) -> float:
    """How far all columns together can move a raw score: at least half of it, at most all of it."""
    return float(sum(_column_ranges(readout)))


def rounding_matters(outputs: Sequence[Readout]) -> bool:
    """Whether computing raw scores errs by so much, next to their range, that no claim is worth its words."""
    enough = max(output.error for output in outputs) / _MOST_ROUNDING
    return all(_falls_short(output, enough) for output in outputs) and any(map(score_range, outputs))


def _falls_short(readout: Readout, enough: float) -> bool:
    """Whether all columns together move a raw score, but by less than this; most often the first column does enough."""
    return not any(total >= enough for total in accumulate(_column_ranges(readout)))


def _column_ranges(readout: Readout) -> Iterator[float]:
    for i, column in enumerate(readout.columns):
        cells, _ = column.all_cells()
        yield float(norms(readout, cells - cells[:1], i).max(initial=0.0))
