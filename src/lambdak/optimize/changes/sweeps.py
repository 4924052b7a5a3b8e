r"""What one column alone can do to many rows: bounds on their raw scores while it moves and all else stays.

A column of numbers is cut into pieces at its knots and between them. On each, the raw score lies within a saw tooth
between the values at both ends (see :mod:`lambdak.explain.what_if`); a level of a category is a piece of its own. What
must hold for an approval is then proven, refuted or left open, piece by piece. All sums go member by member and row by
row, so that nothing depends on the other rows.

What each column of declined rows adds towards the decline is counted against the middle of the approvals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.eigen import eigenvalue
from lambdak.explain.rows import RowWork
from lambdak.explain.what_if import saw_tooth
from lambdak.model import Model
from lambdak.model.influence import weyl
from lambdak.model.readout import Readout, slots_of
from lambdak.model.rows import given_table
from lambdak.optimize.changes.targets import Approval
from lambdak.pencil.definite import UNIT
from lambdak.table.category_levels import OTHER
from lambdak.table.cells import Cells
from lambdak.table.column_contract import Column
from lambdak.table.design import Design
from lambdak.table.numeric_column import Numeric
from lambdak.table.read import Table, one_row

_PIECES = 24  # of a column, at least
_WHOLES = 64  # whole numbers that are looked at one by one
_OUTWARDS = 1 + 1e-12  # covers the rounding of the share of a piece
_NODES_AT_ONCE = 1 << 15

Rates = Sequence[tuple[Float64Array, Float64Array]]  # of each output, how far it can fall and rise along pieces
_DIGITS = 1e-9  # of the largest contribution of a row: what differs by less is a tie


class Bounds(NamedTuple):
    """What is proven on pieces of a column, each (…, rows, pieces).

    ``surplus``, (rows, pieces): by how much all that an approval needs is exceeded, at least: not negative if proven.
    ``shortfall``, (rows, pieces): the same at most: negative if an approval is impossible.
    ``low`` and ``high``, (outputs, rows, pieces): where raw scores stay.
    ``ends``: the same at the ends of the pieces, the points of the column; None of a category, and of themselves.
    """

    surplus: Float64Array
    shortfall: Float64Array
    low: Float64Array
    high: Float64Array
    ends: Bounds | None = None


@final
@dataclass(frozen=True, eq=False)
class Sweep:
    """One column that moves over all its values in some rows, while all else stays.

    Attributes
    ----------
    column : Column
    i : int
        Its position.
    points : array of shape (N,)
        Its numbers, increasing, or the positions of its levels.
    levels : tuple
        Those of a category, at last any unseen one; None is never among them.
    outputs : sequence of Readout
        Those that decide, in the order of ``approval.outputs``.
    others : list of arrays of shape (members, rows, D)
        The matrices of all other columns, of each output.
    rounding : array of shape (outputs, rows)
        What rounding can do here and in ``predict``.
    offset : array of shape (rows,)
    rates : Rates
        Along whole pieces, each (N − 1,).
    whole : bool
        Whether only whole numbers are meant: a piece from one to the next holds no other.
    """

    column: Column
    i: int
    points: Float64Array
    levels: tuple[Any, ...]
    approval: Approval
    outputs: Sequence[Readout]
    others: Sequence[Float64Array]
    rounding: Float64Array
    offset: Float64Array
    rates: Rates
    whole: bool = False

    @classmethod
    def of(
        cls, approval: Approval, outputs: Sequence[Readout], design: Design, offset: Float64Array, i: int,
        whole: bool = False,
    ) -> Sweep:  # fmt: skip
        """The column at position ``i`` of design rows."""
        used = [outputs[k] for k in approval.outputs]
        column = used[0].columns[i]
        points, levels = _points(column, whole)
        still = Design(design.ids, design.weights.copy())
        still.weights[:, list(slots_of(used[0].columns)[i])] = 0.0
        cells = column.cell_rows(levels if levels else points) if len(points) else np.zeros((0, column.width))
        moves = np.zeros((0, column.width)) if levels else np.diff(cells, axis=0)
        found = [_still(output, still, i, cells) for output in used]
        return cls(
            column, i, points, levels, approval, used, [others for others, _ in found],
            np.stack([rounding for _, rounding in found]) + 8 * UNIT * np.abs(offset), offset,
            [_rates(output, moves, i, points, whole) for output in used], whole,
        )  # fmt: skip

    def take(self, rows: NDArray[Any]) -> Sweep:
        """Sweep of the column over these rows only."""
        others = [other[:, rows] for other in self.others]
        return Sweep(
            self.column, self.i, self.points, self.levels, self.approval, self.outputs, others, self.rounding[:, rows],
            self.offset[rows], self.rates, self.whole,
        )  # fmt: skip

    def bounds(self) -> Bounds:
        """The bounds on all pieces of all rows."""
        values = self.values(self.points[None])
        ends = self._bounds(values, values, values, None)
        if self.levels:
            return ends
        return self._on_pieces(values, self.rates)._replace(ends=ends)

    def within(self, piece: NDArray[np.intp], x: Float64Array) -> Bounds:
        """The bounds between numbers (rows, n), all of a row within one piece of it, (rows,)."""
        width = self.points[piece + 1] - self.points[piece]
        share = _OUTWARDS * np.abs(np.diff(x, axis=1)) / width[:, None]
        rates = [(down[piece, None] * share, up[piece, None] * share) for down, up in self.rates]
        return self._on_pieces(self.values(x), rates)

    def values(self, x: Float64Array) -> Float64Array:
        """Raw scores (outputs, rows, n) with the column at numbers, or positions of levels, (rows, n) or (1, n)."""
        count, step = len(self.offset), max(1, _NODES_AT_ONCE // max(1, x.shape[1]))
        found = np.empty((len(self.outputs), count, x.shape[1]))
        for first in range(0, count, step):
            rows = slice(first, first + step)
            found[:, rows] = self._values(rows, x if len(x) == 1 else x[rows])
        return found

    def _values(self, rows: slice, x: Float64Array) -> Float64Array:
        ids, weights = entries(self.column, x.ravel(), self.levels)
        found = []
        for output, fixed in zip(self.outputs, self.others, strict=True):
            total: Any = 0.0
            for w, coef, others in zip(output.weights.tolist(), output.coef, fixed, strict=True):
                matrices = sum(weights[:, [slot]] * coef[ids[:, slot]] for slot in range(ids.shape[1]))
                packed = others[rows, None] + np.reshape(matrices, (*x.shape, -1))
                total = total + w * eigenvalue(packed, output.dim, output.index)
            found.append(output.start + output.scale * total + self.offset[rows, None])
        return np.stack(found)

    def _on_pieces(self, values: Float64Array, rates: Rates) -> Bounds:
        """From values at the nodes, (outputs, rows, n), and rates of the pieces between them."""
        tips = [saw_tooth(value, *some) for value, some in zip(values, rates, strict=True)]
        low, high = (np.stack(tip) for tip in zip(*tips, strict=True))
        return self._bounds(values, low, high, rates)

    def _bounds(self, values: Float64Array, low: Float64Array, high: Float64Array, rates: Rates | None) -> Bounds:
        """From values at the nodes and the tips of each output; without rates pieces are nodes."""
        error = (self.rounding + 8 * UNIT * np.abs(values).max(axis=2, initial=0.0))[:, :, None]
        places, surplus, shortfall = self.approval.outputs, [], []
        for term, limit in zip(self.approval.goal.terms, self.approval.limits(), strict=True):
            parts = [(places.index(k), sign) for k, sign in term.parts]
            least, most = _of_term(parts, values, low, high, rates)
            wrong = sum(error[k] for k, _ in parts)
            surplus.append(least - wrong - limit)
            shortfall.append(most + wrong - term.possible)
        return Bounds(np.min(surplus, axis=0), np.min(shortfall, axis=0), low - error, high + error)


def _of_term(
    parts: Sequence[tuple[int, int]], values: Float64Array, low: Float64Array, high: Float64Array, rates: Rates | None
) -> tuple[Float64Array, Float64Array]:
    """Least and most of Σ ± raw score on pieces, (rows, pieces); of two outputs by a saw tooth of their own."""
    if len(parts) == 1:
        (k, sign), *_ = parts
        return (low[k], high[k]) if sign > 0 else (-high[k], -low[k])
    total = np.sum([sign * values[k] for k, sign in parts], axis=0)
    if rates is None:
        return total, total
    ends = [rates[k] if sign > 0 else (-rates[k][1], -rates[k][0]) for k, sign in parts]
    down, up = (np.sum(some, axis=0) for some in zip(*ends, strict=True))
    return saw_tooth(total, down, up)


def entries(column: Column, x: Float64Array, levels: Sequence[Any]) -> tuple[NDArray[np.int32], Float64Array]:
    """The active entries (n, slots) of numbers, or of positions of levels, as ``predict`` reads them."""
    ids, weights = np.zeros((len(x), column.n_slots), np.int32), np.zeros((len(x), column.n_slots))
    if levels:
        codes = x.astype(np.intp)
        column.write_(Cells(column.name, codes, "text", factors=(codes, list(levels))), ids, weights)
    else:
        column.write_(Cells(column.name, np.ascontiguousarray(x), "number"), ids, weights)
    return ids, weights


def moved(
    design: Design, columns: Sequence[Column], cells: Mapping[int, Float64Array], levels: Sequence[Sequence[Any]]
) -> Design:
    """Design rows with other cells: column → numbers or positions of levels, (rows,), NaN where a row keeps its own."""
    ids, weights, slots = design.ids.copy(), np.array(design.weights, np.float64), slots_of(columns)
    for i, x in cells.items():
        rows, places = np.flatnonzero(~np.isnan(x)), slice(slots[i].start, slots[i].stop)
        ids[rows, places], weights[rows, places] = entries(columns[i], x[rows], levels[i])
    return Design(ids, weights)


def _rates(
    output: Readout, moves: Float64Array, i: int, points: Float64Array, whole: bool
) -> tuple[Float64Array, Float64Array]:
    """How far a raw score can fall and rise along pieces; not at all within one that holds nothing to choose."""
    if not len(moves):
        return np.zeros(0), np.zeros(0)
    within = np.diff(points) > 1.0 if whole else np.ones(len(moves), bool)
    down, up = weyl(output, moves, i)
    return np.where(within, down, 0.0), np.where(within, up, 0.0)


def _points(column: Column, whole: bool) -> tuple[Float64Array, tuple[Any, ...]]:
    """Where pieces begin and end, or the levels, at last all that are pooled or unseen."""
    if isinstance(column, Numeric) and whole:
        return column.whole_grid(_WHOLES, _PIECES), ()
    if isinstance(column, Numeric):
        return np.unique(column.grid(column.low, column.high, _PIECES)), ()
    levels = (*(level for level in column.known_levels if level is not None and level is not OTHER), OTHER)
    return np.arange(float(len(levels))), levels


def _still(output: Readout, still: Design, i: int, cells: Float64Array) -> tuple[Float64Array, Float64Array]:
    """The matrices of all columns but i, (members, rows, D), and what rounding can do to raw scores, (rows,)."""
    reach = output.reach(still)
    reach[:, i] = np.abs(cells).sum(axis=1).max(initial=1.0)
    return output.packed(still), 2 * output.errors(reach)


def contributions(
    model: Model, approval: Approval, table: Table, rows: Any, raw: Float64Array, baseline: Any
) -> Float64Array:
    """(rows, columns): how far each column moves the decisive raw scores of some rows away from an approval.

    They add up to the distance to the baseline. Ties are exact: numbers are whole multiples of a unit of their row.
    """
    work = RowWork.read(model, table, baseline, None).take(rows)
    binding, total, error = approval.binding(raw), np.zeros((len(raw), len(model.encoder.columns))), np.zeros(len(raw))
    for t, term in enumerate(approval.goal.terms):
        own = np.flatnonzero(binding == t)
        for k, sign in term.parts if own.size else ():
            parts = replace(work.take(own.tolist()), chosen=np.full(len(own), k)).explain()
            total[own] -= sign * parts["attribution"]
            error[own] += parts["error"]
    unit = np.maximum(_DIGITS * np.abs(total).max(axis=1, initial=0.0), np.finfo(np.float64).tiny)[:, None]
    total[np.abs(total) <= np.maximum(error[:, None], unit)] = 0.0
    return np.asarray(np.round(total / unit) * unit)


def middle_approval(model: Model, approval: Approval, baseline: Any) -> Any:
    """One row to compare with: a single one as it is; of several the medians and most frequent levels of the approved.

    None stays None, the baseline of explanations.
    """
    if baseline is None:
        return None
    table = given_table(model, baseline)
    if table.shape[0] == 1:
        return table
    approved = np.flatnonzero(approval.reached(model.raw(table)))
    if not approved.size:
        raise ValueError(f"baseline must have rows that are approved; got {table.shape[0]} rows, none of them")
    pairs = zip(model.encoder.columns, model.encoder.positions(table), strict=True)
    cells = [_middle(column.is_number, table.cells(position), approved) for column, position in pairs]
    return one_row(cells, model.encoder.feature_names)


def _middle(is_number: bool, cells: Any, rows: Any) -> Any:
    if is_number:
        numbers = cells.numbers()[rows]
        seen = np.sort(numbers[~np.isnan(numbers)])
        return float(seen[len(seen) // 2]) if seen.size else None
    codes, levels = cells.levels()
    return levels[int(np.bincount(codes[rows]).argmax())]
