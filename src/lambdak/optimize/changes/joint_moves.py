"""Where no column alone is enough: few columns that are together, checked by what ``predict`` computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.model import Model
from lambdak.optimize.changes.approvals import Approval
from lambdak.optimize.changes.short_numbers import seems_whole, short_end
from lambdak.optimize.changes.sweeps import moved
from lambdak.table.column_types import Column
from lambdak.table.design import Design

_MOST = 6  # columns of a row that are combined
_HALVINGS = 10


@final
@dataclass(frozen=True, eq=False)
class Moving:
    """Declined rows, and columns of them that may move.

    Attributes
    ----------
    design : Design
    offset : array of shape (rows,)
    best : array of shape (rows, columns)
        The number, or the position of the level, that gains most in each column; NaN where it may not move.
    gain : array of shape (rows, columns)
        How much.
    start : array of shape (rows, columns)
        The numbers of the rows; NaN where there is none to begin from.
    levels : sequence of tuple
        The levels of each column that may be named.
    """

    model: Model
    approval: Approval
    design: Design
    offset: Float64Array
    best: Float64Array
    gain: Float64Array
    start: Float64Array
    levels: Sequence[tuple[Any, ...]]

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns of the model."""
        return self.model.encoder.columns

    def approved(self, rows: NDArray[np.intp], cells: Mapping[int, Float64Array]) -> NDArray[np.bool_]:
        """Whether rows are approved with other cells, column → (rows,), NaN where a row keeps its own."""
        own = moved(self.design.take(rows), self.columns, cells, self.levels)
        raw = self.model.scores(own, self.offset[rows] if self.offset.any() else None)
        return self.approval.reached(raw)

    def together(self) -> list[dict[int, float]]:
        """Cells by column, row by row, that get rows approved: the fewest columns, of those that gain most.

        Numbers are moved back towards the row as far as they stay enough.

        A row for which none were found has an empty dict.
        """
        rows = np.arange(len(self.design))
        gain = np.where(np.isnan(self.best), -np.inf, self.gain)
        order = np.argsort(-gain, axis=1, kind="stable")[:, :_MOST]
        usable = np.take_along_axis(gain, order, axis=1) > 0
        chosen = np.full((len(rows), len(self.columns)), np.nan)
        waiting = rows
        for size in range(2, order.shape[1] + 1):
            for places in combinations(range(order.shape[1]), size):
                tried = waiting[usable[waiting][:, list(places)].all(axis=1)]
                cells = self._moved(tried, order[tried][:, list(places)])
                good = self.approved(tried, dict(enumerate(cells.T))) if tried.size else np.zeros(0, bool)
                chosen[tried[good]] = cells[good]
                waiting = np.setdiff1d(waiting, tried[good])
        return self._as_dicts(self._rounded(self._closer(chosen)))

    def _moved(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Float64Array:
        cells = np.full((len(rows), len(self.columns)), np.nan)
        np.put_along_axis(cells, columns, np.take_along_axis(self.best[rows], columns, axis=1), axis=1)
        return cells

    def _closer(self, chosen: Float64Array) -> Float64Array:
        """Cells with all numbers moved back towards the rows by the same share, as far as it stays enough."""
        start, moves = self.start, ~np.isnan(chosen) & ~np.isnan(self.start)
        rows = np.flatnonzero(moves.any(axis=1))
        enough, less, found = np.ones(len(rows)), np.zeros(len(rows)), chosen.copy()
        for _ in range(_HALVINGS):
            share = 0.5 * (enough + less)
            cells = np.where(moves, start + _at(share, rows, len(start)) * (chosen - start), chosen)
            good = self.approved(rows, dict(enumerate(cells[rows].T)))
            found[rows[good]] = cells[rows[good]]
            enough, less = np.where(good, share, enough), np.where(good, less, share)
        return found

    def _rounded(self, chosen: Float64Array) -> Float64Array:
        """Cells with numbers of few digits, rounded towards those that gain most, where that is still enough."""
        short = chosen.copy()
        for row, i in np.argwhere(~np.isnan(chosen) & ~np.isnan(self.start)).tolist():
            start, own, best = self.start[row, i], chosen[row, i], self.best[row, i]
            short[row, i] = short_end(float(own), float(best), float(start), seems_whole(self.columns[i], start))
        rows = np.flatnonzero((short != chosen).any(axis=1) & ~np.isnan(chosen).all(axis=1))
        good = rows[self.approved(rows, dict(enumerate(short[rows].T)))]
        found = chosen.copy()
        found[good] = short[good]
        return found

    def _as_dicts(self, chosen: Float64Array) -> list[dict[int, float]]:
        return [{int(i): float(own[i]) for i in np.flatnonzero(~np.isnan(own))} for own in chosen]


def _at(share: Float64Array, rows: NDArray[np.intp], count: int) -> Float64Array:
    """(count, 1): shares of some rows."""
    found = np.zeros((count, 1))
    found[rows, 0] = share
    return found
