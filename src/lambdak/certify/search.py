"""Rows to search with for counterexamples, and what the model says about them through what users call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lambdak.certify.cells import Pool, Values, pool_of
from lambdak.certify.certificate import Claim
from lambdak.losses import Predicts
from lambdak.model import Model
from lambdak.model.readout import dense_rows, readouts
from lambdak.pencil.spectrum import Float64Array, spectral_norm
from lambdak.pencil.tolerances import rounding_tol
from lambdak.table.numeric_column import Numeric
from lambdak.table.read import Table, read_table

_SIZED = 100  # rows that the size of the matrices is measured on
_BLOCK = 1 << 14


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """Cells of every column, as their pools spell them."""

    columns: tuple[Values, ...]

    def __len__(self) -> int:
        return len(self.columns[0])

    def put(self, i: int, values: Values) -> Rows:
        """The rows with other cells in column i."""
        return Rows((*self.columns[:i], values, *self.columns[i + 1 :]))

    def take(self, index: NDArray[Any]) -> Rows:
        """Some of the rows, each as often as it is named."""
        return Rows(tuple(column[index] for column in self.columns))

    def where(self, better: NDArray[np.bool_], other: Rows) -> Rows:
        """Rows of the other where it is better."""
        pairs = zip(self.columns, other.columns, strict=True)
        return Rows(tuple(np.where(better, new, old) for old, new in pairs))


Points = tuple[Rows, ...]  # rows that are compared with one another


@final
@dataclass(frozen=True, eq=False)
class Search:
    """A model, the cells of the rows to begin from, and how many comparisons to make."""

    model: Model
    pools: tuple[Pool, ...]
    n: int
    rng: np.random.Generator

    @classmethod
    def around(cls, model: Model, X: Any, n: int = 1, random_state: int = 0) -> Search:
        """A search that begins from the rows of X, which must be a table that the model predicts."""
        table = read_table(dense_rows(X))
        if not len(model.encoder.transform(table)):
            raise ValueError("X must have at least one row to begin from; got none")
        positions = model.encoder.positions(table)
        pools = (pool_of(*own) for own in zip(model.encoder.columns, map(table.cells, positions), strict=True))
        return cls(model, tuple(pools), n, np.random.default_rng(random_state))

    # ---- rows --------------------------------------------------------------------------------------------------

    def blocks(self) -> Iterator[int]:
        """Sizes of blocks of random rows, n together."""
        for first in range(0, self.n, _BLOCK):
            yield min(_BLOCK, self.n - first)

    def rows(self, count: int) -> Rows:
        """Random rows: half of them are rows of X, the others mix their cells, and half of these also those to try."""
        row = self.rng.integers(len(self.pools[0].seen), size=count)
        return Rows(tuple(self._column(pool, row) for pool in self.pools))

    def _column(self, pool: Pool, row: NDArray[np.intp]) -> Values:
        values = pool.seen[row]
        mixed, tried = values[::2], values[2::4]
        mixed[:] = pool.seen[self.rng.integers(len(pool.seen), size=len(mixed))]
        other = self.rng.random(len(tried)) < 0.5
        tried[other] = self.some(pool.tried, int(other.sum()))
        return values

    def some(self, values: Values, size: int | tuple[int, ...]) -> Values:
        """Random ones of these."""
        return np.asarray(values[self.rng.integers(len(values), size=size)])

    def position(self, name: str) -> int:
        """Of the column with this name."""
        return self.model.encoder.feature_names.index(name)

    def numeric(self) -> dict[int, Numeric]:
        """Position of each column of numbers, and the column."""
        return {i: pool.column for i, pool in enumerate(self.pools) if isinstance(pool.column, Numeric)}

    # ---- what users see ----------------------------------------------------------------------------------------

    def table(self, rows: Rows) -> Table:
        """The rows as a table that every method of an estimator takes."""
        names, pools, values = self.model.encoder.feature_names, self.pools, rows.columns
        return Table(names, True, (len(rows), len(names)), lambda i, own: pools[i].cells(values[i][own]), keep=False)

    def raw(self, rows: Rows) -> Float64Array:
        """Raw scores, (rows, outputs)."""
        with np.errstate(all="ignore"):  # what is not a number is counted
            return np.asarray(self.model.raw(self.table(rows)), np.float64).reshape(len(rows), -1)

    def predict(self, rows: Rows) -> Float64Array:
        """Means, quantiles or probabilities, (rows, …)."""
        with np.errstate(all="ignore"):
            return np.asarray(self.model.predict(self.table(rows)), np.float64).reshape(len(rows), -1)

    def ordered(self, rows: Rows) -> Float64Array:
        """What rises or falls with a monotone column: predictions, P(second class), or P(y > j) for each class j."""
        seen, predicts = self.predict(rows), self.model.loss.predicts
        if predicts is Predicts.ORDERED_CLASSES:
            return np.cumsum(seen[:, :0:-1], axis=1)[:, ::-1]
        return seen[:, 1:] if predicts is Predicts.CLASSES else seen

    def labels(self, rows: Rows) -> NDArray[np.intp]:
        """Codes of the predicted classes."""
        return self.model.loss.classify(self.model.raw(self.table(rows)))

    # ---- rounding ----------------------------------------------------------------------------------------------

    @cached_property
    def slack(self) -> float:
        """What rounding can do to a difference of two raw scores of the model, at the size of its matrices."""
        some = Rows(tuple(pool.seen[:_SIZED] for pool in self.pools))
        design = self.model.encoder.transform(self.table(some), self.model.coef.dtype)
        sizes = np.array([spectral_norm(output.packed(design)) for output in readouts(self.model)])
        size = float(sizes[np.isfinite(sizes)].max(initial=0.0))
        return 8.0 * self.model.scale * rounding_tol(self.model.dim, self.model.coef.dtype) * size

    def stretch(self, points: Sequence[Rows]) -> Float64Array:
        """(rows, 1): how many times larger the matrices may be beyond the range of columns that continue straight."""
        factor = np.ones(len(points[0]))
        for i, column in self.numeric().items():
            if not column.clamp and column.n_steps:
                factor += 2.0 * _steps_beyond(column, np.stack([rows.columns[i] for rows in points])).max(axis=0)
        return factor[:, None]


def _steps_beyond(column: Numeric, x: Float64Array) -> Float64Array:
    """How far numbers are beyond the range of a column, in units of its first or last step."""
    lengths = column.lengths()
    below, above = (column.low - x) / lengths[0], (x - column.high) / lengths[-1]
    return np.asarray(np.fmax(np.fmax(below, above), 0.0))


def allowed(claim: Claim, search: Search) -> float:
    """How far rounding may take two computed raw scores from a claim, for rows in the range of all columns."""
    return search.slack
