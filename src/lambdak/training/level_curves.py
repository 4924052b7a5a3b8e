r"""A high-cardinality category: A(level) = Σ_j curve_j(t_j(level)) + own(level), with the means t of its levels.

A level with many rows has a matrix of its own beside the curves. Its rows get the means of all its rows, in which no
single target shows: with a matrix of the level, what a fold adds to them would tell the targets of that fold.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lambdak._types import Float64Array
from lambdak.table.category_column import Category
from lambdak.table.cells import Cells
from lambdak.table.curve_column import Curve
from lambdak.table.knots import choose_knots, distinct
from lambdak.training.level_means import FOLDS, Codes, LevelMeans
from lambdak.training.trained_columns import Entries, Rewriting

ENOUGH_ROWS = 100  # of a level that has a matrix of its own
_MOST_OWN = 128  # levels of one category that have one
_KNOTS = 8  # of a curve


def places(count: Float64Array) -> Codes:
    """The levels with enough rows for matrices of their own, numbered in order; -1 for others, and an unseen one."""
    often = np.zeros(len(count) + 1, bool)
    most = np.argsort(-count, kind="stable")[:_MOST_OWN]
    often[most] = count[most] >= ENOUGH_ROWS
    return np.where(often, np.cumsum(often) - 1, -1).astype(np.intp)


def level_curves(column: Category, start: int, means: LevelMeans, place: Codes) -> Rewriting:
    """Curves with knots where the means of the rows are, and matrices for the levels that have a place."""
    numbers = np.where(place[:, None, None] >= 0, means.whole[:, None], means.unseen)  # (levels + 1, FOLDS, n)
    numbers = numbers.reshape(len(place) * FOLDS, -1)
    curves = _curves(column.name, start, numbers, means.rows.ravel())
    kept = tuple(level for level, at in zip(column.levels, place[:-1], strict=True) if at >= 0)
    own = [Category(column.name, curves[-1].stop, levels=kept)] if kept else []
    levels = _entries(curves, own, means.whole, place)
    return Rewriting((*curves, *own), levels, _entries(curves, own, numbers, np.repeat(place, FOLDS)))


def _curves(name: str, start: int, numbers: Float64Array, rows: Float64Array) -> list[Curve]:
    curves: list[Curve] = []
    there = rows > 0
    for some in numbers[there].T:
        curves.append(Curve(name, start, knots=choose_knots(*distinct(some, rows[there]), _KNOTS)))
        start = curves[-1].stop
    return curves


def _entries(curves: Sequence[Curve], own: Sequence[Category], numbers: Float64Array, place: Codes) -> Entries:
    """Entries of levels with these means (n, means) and places (n,)."""
    parts = [_on(curve, some) for curve, some in zip(curves, numbers.T, strict=True)]
    return Entries.joined([*parts, *(Entries.single(category.start, place) for category in own)])


def _on(curve: Curve, numbers: Float64Array) -> Entries:
    shape = (len(numbers), curve.n_slots)
    entries = Entries(np.zeros(shape, np.int32), np.zeros(shape, np.float32))
    curve.write_(Cells(curve.name, np.ascontiguousarray(numbers), "number"), entries.ids, entries.weights)
    return entries
