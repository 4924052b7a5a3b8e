"""Columns of every type, and A(x) of each, written down by hand as a dense row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from lambdak.table.category_column import Category
from lambdak.table.category_levels import OTHER
from lambdak.table.cells import Cells
from lambdak.table.column_contract import Column
from lambdak.table.curve_column import Curve
from lambdak.table.linear_column import Linear

NAN = float("nan")
KNOTS = (-2.0, 0.0, 0.5, 4.0)
NUMBERS = (-7.0, -2.0, -1.25, 0.0, 0.3, 0.5, 0.75, 2.5, 4.0, 9.0, NAN)
LEVELS = ("Oslo", "Bern", 3, True, None, "never seen")


# ---- A(x) by hand ----------------------------------------------------------------------------------------------


def curve_at(x, knots, clamp):
    """Weights of the knots: a line through the two knots nearest to x, the last of them if x is beyond."""
    if len(knots) == 1:
        return [1.0]
    x = min(max(x, knots[0]), knots[-1]) if clamp else x
    j = max([j for j in range(len(knots) - 1) if knots[j] <= x], default=0)
    share = (x - knots[j]) / (knots[j + 1] - knots[j])
    return [{j: 1 - share, j + 1: share}.get(i, 0.0) for i in range(len(knots))]


def line_at(x, center, scale, ends, clamp):
    return [((min(max(x, ends[0]), ends[1]) if clamp else x) - center) / scale]


def with_gaps(at, median, has_missing):
    """A(x) of numbers, with an entry of their own for missing ones, or the median in their place."""

    def row(x):
        if not has_missing:
            return np.array(at(median if x != x else x))
        return np.array([*(0.0 * np.array(at(median)) if x != x else at(x)), float(x != x)])

    return row


def level_at(level, levels):
    found = level if level in levels else OTHER
    return np.array([float(own is found or own == found) for own in levels])


@dataclass(frozen=True)
class Case:
    column: Column
    dense: Callable  # from a cell to (p,)
    cells: tuple


def curve(knots=KNOTS, clamp=True, has_missing=False, median=0.3):
    column = Curve("x", 5, knots=np.array(knots), median=median, has_missing=has_missing, clamp=clamp)
    return Case(column, with_gaps(lambda x: curve_at(x, knots, clamp), median, has_missing), NUMBERS)


def line(clamp=True, has_missing=False, center=1.5, scale=0.5, ends=(-2.0, 4.0), median=0.3):
    column = Linear(
        "x", 5, center=center, scale=scale, low=ends[0], high=ends[1], median=median, has_missing=has_missing,
        clamp=clamp,
    )  # fmt: skip
    return Case(column, with_gaps(lambda x: line_at(x, center, scale, ends, clamp), median, has_missing), NUMBERS)


def category(*levels):
    return Case(Category("x", 5, levels=levels), lambda level: level_at(level, levels), LEVELS)


CASES = {
    "a curve": curve(),
    "a curve with missing cells": curve(has_missing=True),
    "a curve that continues": curve(clamp=False),
    "a curve that continues, with missing cells": curve(clamp=False, has_missing=True),
    "a curve of two knots": curve(knots=(-1.0, 3.0)),
    "a curve of one knot": curve(knots=(7.0,), median=7.0),
    "a line": line(),
    "a line with missing cells": line(has_missing=True),
    "a line that continues": line(clamp=False),
    "a line that continues, with missing cells": line(clamp=False, has_missing=True),
    "a category": category(3, "Bern", "Oslo"),
    "a category with missing cells": category(3, "Bern", "Oslo", None),
    "a category with pooled levels": category("Oslo", OTHER),
    "a category of all kinds": category(True, 3, "Bern", None, OTHER),
    "a category of one level": category("Bern"),
}
NUMERIC = [name for name, case in CASES.items() if case.column.is_number]
contract = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
numeric = pytest.mark.parametrize("case", [CASES[name] for name in NUMERIC], ids=NUMERIC)


def cells_of(column, values):
    dtype, kind = (float, "number") if column.is_number else (object, "text")
    return Cells(column.name, np.array(values, dtype), kind)


def written(column, values, how="write_", dtype=np.float64, **settings):
    """The rows (n, p) that a column writes, from a corner of larger arrays."""
    ids = np.full((len(values), column.n_slots + 2), -1, np.int32)
    weights = np.full(ids.shape, np.nan, dtype)
    own = np.s_[:, 1:-1]
    getattr(column, how)(cells_of(column, values), ids[own], weights[own], **settings)
    assert (ids[:, [0, -1]] == -1).all()
    assert np.isnan(weights[:, [0, -1]]).all()
    assert (ids[own] >= column.start).all()
    assert (ids[own] < column.stop).all()
    rows = np.zeros((len(values), column.width))
    np.add.at(rows, (np.arange(len(values))[:, None], ids[own] - column.start), weights[own])
    return rows


def dense(case, values):
    return np.array([case.dense(value) for value in values])


def inside_hull(rows, cells, seed=0):
    """Whether no linear function is larger on the rows than on all cells."""
    directions = np.random.default_rng(seed).normal(size=(200, cells.shape[1]))
    return ((directions @ rows.T).max(axis=1) <= (directions @ cells.T).max(axis=1) + 1e-12).all()
