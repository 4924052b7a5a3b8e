"""The attack on any shape: rows that it speaks of, and the sum of their outputs that it bounds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lambdak._types import Float64Array
from lambdak.certify.attack import Attack, Margins, together
from lambdak.certify.cells import Values, nodes_of, random_numbers, readable, scale_of
from lambdak.certify.certificate import Claim
from lambdak.certify.monotone import rounding_of_predictions
from lambdak.certify.search import Points, Rows, Search
from lambdak.model.influence import per_unit
from lambdak.model.readout import readouts
from lambdak.shapes.contract import Draw, Shape
from lambdak.table.numeric_column import Numeric

_ULPS = 8 * float(np.finfo(np.float64).eps)  # of each raw score in a sum
_NARROW = 1e-3  # of the range: over less, a difference is rounding


class ShapeAttack(Attack):
    """Points are the rows of a comparison, drawn by the shape; the guided search draws them again as a whole."""

    def __init__(self, search: Search, claim: Claim, shape: Shape) -> None:
        super().__init__(search, claim)
        self._shape, self._columns = shape, search.model.encoder.columns
        self._sign = search.model.loss.sign if shape.ordered else 1
        self._about = sorted({i for point in shape.points(self._columns, self._draw(1)) for i in point})

    @property
    def hopeless(self) -> bool:
        """Whether the shape compares no rows."""
        return not self._about

    @property
    def first(self) -> tuple[int, ...]:
        """The columns of the shape."""
        return tuple(self._about)

    def begin(self, count: int) -> Points:
        """Random rows with the cells of random comparisons."""
        return self._with_trial((self.search.rows(count),) * len(self._shape.factors))

    def tried(self, points: Points, j: int) -> Points:
        """A whole new comparison, or one cell of another column for all points."""
        if j in self._about:
            return self._with_trial(points)
        cells = self.any_cell(j, len(points[0]))
        return tuple(rows.put(j, cells) for rows in points)

    def near(self, points: Points) -> Float64Array:
        """The sum for raw scores, relative to how far apart the points are."""
        total = self._sums(self.raw(points), points).min(axis=1)
        return np.asarray(total / np.maximum(self._width(points), _NARROW))

    def margins(self, points: Points) -> Margins:
        """The sums of raw scores; of two rows in order the predictions, too."""
        raw = self.raw(points)
        sums = self._sums(raw, points)
        size = np.abs(self._shape.factors) @ np.ones(len(points))
        rounding = 0.5 * size * self.rounding(points) + _ULPS * np.abs(raw).sum(axis=0)
        if self._shape.ordered and len(points) == 2 and not np.any(self._shape.slack(self._cells(points))):
            low, high = self.search.ordered(together(points)).reshape(2, len(points[0]), -1)
            rise = np.where(high == low, 0.0, self._shape.factors[1] * (high - low))
            steep = rounding_of_predictions(self.search.model.loss.link, self.rounding(points), low, high)
            return Margins(np.column_stack([sums, rise]), np.column_stack([rounding, steep]), sums)
        return Margins(sums, rounding)

    def _sums(self, raw: Float64Array, points: Points) -> Float64Array:
        """(rows, outputs): what must not be negative."""
        slack = np.broadcast_to(self._shape.slack(self._cells(points)), len(points[0]))[:, None]
        return np.asarray(self._sign * np.tensordot(self._shape.factors, raw, 1) + slack)

    def _with_trial(self, points: Points) -> Points:
        trial = self._shape.points(self._columns, self._draw(len(points[0])))
        return tuple(self._put(rows, cells) for rows, cells in zip(points, trial, strict=True))

    def _put(self, rows: Rows, cells: Mapping[int, Float64Array]) -> Rows:
        """The rows with these cells; levels come as positions among those of their column."""
        for i, values in cells.items():
            column, pool = self._columns[i], self.search.pools[i]
            if not column.is_number:
                codes = np.array([pool.levels.index(level) for level in column.known_levels if level in pool.levels])
                values = codes[values.astype(np.intp)]
            rows = rows.put(i, values)
        return rows

    def _cells(self, points: Points) -> tuple[Mapping[int, Float64Array], ...]:
        return tuple({i: rows.columns[i] for i in self._about} for rows in points)

    def _width(self, points: Points) -> Float64Array:
        """(rows,): how far apart the points are, in units of the columns' ranges."""
        cells = np.array([rows.columns[self._about] for rows in points])  # (points, columns, rows)
        ranges = [scale_of(c) if isinstance(c := self._columns[i], Numeric) else 1.0 for i in self._about]
        return np.asarray((np.ptp(cells, axis=0) / np.array(ranges)[:, None]).max(axis=0))

    def _draw(self, count: int) -> Draw:
        """Return a source of numbers of a column: from all over its range, at and beside knots, and far away."""

        def numbers(i: int) -> Values:
            column, rng = self._columns[i], self.search.rng
            if not isinstance(column, Numeric):
                return rng.integers(1 << 20, size=count).astype(np.float64)
            drawn = random_numbers(rng, column, count)
            pool = self.search.pools[i].tried[:-1]
            drawn[::3] = self.search.some(pool, len(drawn[::3]))
            drawn[1::6] = self.search.some(nodes_of(column), len(drawn[1::6]))
            return readable(drawn)

        return numbers


class SlopeAttack(ShapeAttack):
    """The attack on the slope along a column or a direction, in which no two cells are exactly where they should be."""

    def rounding(self, points: Points) -> Float64Array:
        """(rows, 1): also what the rounding of cells does to the raw score, as steep as its columns are."""
        own = super().rounding(points)
        if len(self._shape.positions) < 2:
            return own
        for i in self._about:
            steepest = max(per_unit(output, i).bound for output in readouts(self.search.model))
            ends = np.array([rows.columns[i] for rows in points])
            own = own + 4 * steepest * np.spacing(np.abs(ends).max(axis=0))[:, None]
        return own
