"""Rows to search with for counterexamples, and what the model says about them through what users call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.certify.cells import Pool, Values, pool_of
from lambdak.certify.certificate import BOUNDS, Claim
from lambdak.eigen.lazy import cached_property
from lambdak.losses import Predicts
from lambdak.model import Model
from lambdak.model.readout import Readout, dense_rows, readouts
from lambdak.table.numeric_column import Numeric
from lambdak.table.read import Table, read_table

_BLOCK = 1 << 14


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to compare, whose cells (columns, rows) are written as their pools spell them."""

    columns: Values

    def __len__(self) -> int:
        return len(self.columns[0])

    def put(self, i: int | Sequence[int], values: Values) -> Rows:
        """The rows with other cells in column i, or in several."""
        columns = self.columns.copy()
        columns[i] = values
        return Rows(columns)

    def take(self, index: NDArray[Any]) -> Rows:
        """Rows that ``index`` selects, in its order and as often as it names them."""
        return Rows(self.columns[:, index])

    def where(self, better: NDArray[np.bool_], other: Rows) -> Rows:
        """Rows of the other where it is better."""
        return Rows(np.where(better, other.columns, self.columns))


Points = tuple[Rows, ...]  # rows that are compared with one another


@final
@dataclass(frozen=True, eq=False)
class Search:
    """A model, the cells of the rows to begin from, and how many comparisons to make."""

    model: Model
    pools: tuple[Pool, ...]
    n: int
    rng: np.random.Generator
    strongest: tuple[int, ...]  # the columns, those with the most influence first

    @classmethod
    def around(
        cls, model: Model, X: Any, n: int = 1, random_state: int = 0, strengths: Mapping[str, float] | None = None
    ) -> Search:
        """A search that begins from the rows of X, which must be a table that the model predicts."""
        table = read_table(dense_rows(X))
        if not len(model.encoder.transform(table)):
            raise ValueError("X must have at least one row to begin from; got none")
        positions = model.encoder.positions(table)
        pools = (pool_of(*own) for own in zip(model.encoder.columns, map(table.cells, positions), strict=True))
        return cls(model, tuple(pools), n, np.random.default_rng(random_state), _by_strength(model, strengths or {}))

    # ---- rows --------------------------------------------------------------------------------------------------

    def blocks(self) -> Iterator[int]:
        """Sizes of blocks of random rows, n together."""
        for first in range(0, self.n, _BLOCK):
            yield min(_BLOCK, self.n - first)

    def rows(self, count: int) -> Rows:
        """Random rows: half of them are rows of X, the others mix their cells, and half of these also those to try."""
        seen, rng = self._seen, self.rng
        columns = seen[:, rng.integers(seen.shape[1], size=count)]
        mixed, tried = columns[:, ::2], columns[:, 2::4]
        mixed[:] = np.take_along_axis(seen, rng.integers(seen.shape[1], size=mixed.shape), axis=1)
        np.copyto(tried, self._some_tried(tried.shape[1]), where=rng.random(tried.shape) < 0.5)
        return Rows(columns)

    @cached_property
    def _seen(self) -> Values:
        return np.array([pool.seen for pool in self.pools], np.float64)

    @cached_property
    def _tried(self) -> tuple[Values, NDArray[np.intp]]:
        """Cells to try of all columns, one column per line, and how many there are in each."""
        counts = np.array([len(pool.tried) for pool in self.pools])
        cells = np.zeros((len(counts), counts.max()))
        for own, pool in zip(cells, self.pools, strict=True):
            own[: len(pool.tried)] = pool.tried
        return cells, counts

    def _some_tried(self, count: int) -> Values:
        cells, counts = self._tried
        return np.take_along_axis(cells, self.rng.integers(counts[:, None], size=(len(counts), count)), axis=1)

    def some(self, values: Values, size: int | tuple[int, ...]) -> Values:
        """Random ones of these."""
        return np.asarray(values[self.rng.integers(len(values), size=size)])

    def position(self, name: str) -> int:
        """Position of the column with this name in the model."""
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
        with np.errstate(all="ignore"):
            return self.model.loss.classify(self.model.raw(self.table(rows)))

    # ---- rounding ----------------------------------------------------------------------------------------------

    def error(self, points: Sequence[Rows]) -> Float64Array:
        """(rows, 1): how far computed raw scores of these rows can be from the real function, at most."""
        with np.errstate(all="ignore"):
            errors = np.max([self._errors(rows) for rows in points], axis=0)
        return np.asarray(np.nan_to_num(errors, posinf=0.0))[:, None]  # what is not a number allows for nothing

    def _errors(self, rows: Rows) -> Float64Array:
        """(rows,): the largest of all outputs."""
        if all(pool.column.bounded for pool in self.pools):
            return np.full(len(rows), max(output.error for output in self._outputs))
        reach = self._outputs[0].reach(self.model.encoder.transform(self.table(rows), np.float64))
        return np.asarray(np.max([output.errors(reach) for output in self._outputs], axis=0))

    @cached_property
    def _outputs(self) -> tuple[Readout, ...]:
        return readouts(self.model)


def _by_strength(model: Model, strengths: Mapping[str, float]) -> tuple[int, ...]:
    known = np.array([strengths.get(name, 0.0) for name in model.encoder.feature_names])
    return tuple(np.argsort(-known, kind="stable").tolist())


def allowed(claim: Claim, search: Search, points: Sequence[Rows]) -> Float64Array:
    """(rows, 1): by how much computed raw scores may break a claim about the real function: by the errors of two.

    Bounds include that of two rows in the training range already.
    """
    included = (claim.margin or 0.0) if claim.kind in BOUNDS else 0.0
    return np.asarray(2.0 * np.maximum(search.error(points) - included, 0.0))
