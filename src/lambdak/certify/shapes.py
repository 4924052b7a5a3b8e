"""Attacks on convex and concave models: the two ends of a line through several columns, and its middle."""

from __future__ import annotations

import numpy as np

from lambdak._types import Float64Array
from lambdak.certify.attack import Attack, Margins
from lambdak.certify.cells import Values, moves, random_numbers, readable, scale_of
from lambdak.certify.certificate import Claim
from lambdak.certify.search import Points, Rows, Search

_ULPS = 4 * float(np.finfo(np.float64).eps)  # of the mean of two raw scores, and of its difference from a third
_SHORTEST = 1e-3  # of the range of a column, half a line around a number


class Shape(Attack):
    """Points are the two ends of a line; all that are not numbers are the same at both."""

    def __init__(self, search: Search, claim: Claim) -> None:
        super().__init__(search, claim)
        self._sign = 1.0 if claim.kind == "convex" else -1.0
        self._columns = {i: column for i, column in search.numeric().items() if moves(column)}

    @property
    def hopeless(self) -> bool:
        """Whether no number can change."""
        return not self._columns

    @property
    def first(self) -> tuple[int, ...]:
        """A single column has no others to be changed with."""
        return tuple(self._columns) if len(self._columns) == 1 else ()

    def begin(self, count: int) -> Points:
        """Lines in all directions; half of them through some of the columns only."""
        rows, own = self.search.rows(count), list(self._columns)
        first, last = np.stack([self._ends(j, count) for j in own], axis=1)
        fixed = (np.arange(count) % 2 == 0) & (self.search.rng.random(first.shape) < 0.5)
        return rows.put(own, first), rows.put(own, np.where(fixed, first, last))

    def cells(self, j: int, count: int) -> tuple[Values, ...]:
        """Two ends, or one cell for both."""
        cells = self.any_cell(j, count)
        if j not in self._columns:
            return cells, cells
        fixed = self.search.rng.random(count) < 0.25
        return tuple(np.where(fixed, cells, end) for end in self._ends(j, count))

    def margins(self, points: Points) -> Margins:
        """How far the middle is below the mean of the ends; above for a concave model."""
        middle = self._middle(points)
        first, last, inner = self.raw((*points, middle))
        rounding = _ULPS * (np.abs(first) + np.abs(last) + np.abs(inner))
        return Margins(self._sign * (0.5 * (first + last) - inner), self.rounding(points) + rounding)

    def near(self, points: Points) -> Float64Array:
        """The margin, relative to the length of the line: a short one would be near whatever the model."""
        width, margins = self._width(points), self.margins(points).values.min(axis=1)
        return np.where(width > 0, margins / np.where(width > 0, width, 1.0), np.inf)

    def _ends(self, j: int, count: int) -> Float64Array:
        """Two random numbers, or the same distance to both sides of a number to try."""
        column, rng = self._columns[j], self.search.rng
        ends = np.array([random_numbers(rng, column, count) for _ in range(2)])
        centre = self.search.some(self.search.pools[j].tried, count)[::2]
        half = scale_of(column) * _SHORTEST ** rng.random(len(centre))
        ends[:, ::2] = readable(np.stack([centre - half, centre + half]))
        return _with_exact_middle(ends)

    def _middle(self, points: Points) -> Rows:
        first, last = points
        own = list(self._columns)
        return first.put(own, 0.5 * first.columns[own] + 0.5 * last.columns[own])

    def _width(self, points: Points) -> Float64Array:
        """(rows,): the length of the line in units of the columns' ranges; along a missing number it is zero."""
        first, last = (rows.columns[list(self._columns)] for rows in points)
        ranges = np.array([scale_of(column) for column in self._columns.values()])
        return np.asarray(np.nan_to_num(np.abs(last - first) / ranges[:, None]).max(axis=0))


def _with_exact_middle(ends: Float64Array) -> Float64Array:
    """Ends with one bit less, so that rounding does not move the middle of a line off it."""
    grid = 2.0 * np.spacing(np.abs(ends).max(axis=0))
    return np.asarray(np.rint(ends / grid) * grid)
