"""What one pass over a large table learns: a sketch of every column, a uniform sample of rows, and labels.

Summaries of different batches can be merged, so that workers each read their part. Rows of weight zero count as none,
all others as one row each: whether weights are counts of rows can be known only when all of them were seen.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import check_int
from lambdak._types import Float64Array
from lambdak.table.category_levels import OTHER
from lambdak.table.cells import EVERY_ROW, Cells, RowIndex, factorise, is_missing
from lambdak.table.column_contract import Column
from lambdak.table.encoder import TableEncoder
from lambdak.table.large.batches import Drawn
from lambdak.table.large.sample import (
    BATCH_ROWS,
    RowSample,
    SampledPart,
    SampledRows,
    Seal,
    as_numbers,
    cells_table,
    row_keys,
)
from lambdak.table.large.sketches import LevelCounts, NumberSketch
from lambdak.table.matching import listed_columns
from lambdak.table.read import Table
from lambdak.table.seen import SeenNumbers

SAMPLE_ROWS = 200_000
_WORDS = {"number": "numbers", "bool": "booleans", "level": "a category of numbers", "text": "text"}


class ColumnSketch:
    """One column over all batches: its kind, and a sketch of its numbers or counts of its levels.

    Batches in which all cells are missing do not count for its kind. Booleans and numbers together are numbers, as they
    would be in one table. Text and numbers together are refused unless the column is listed in categorical_features: in
    one table they would become a category of both, but in batches it is a file that was read wrongly.
    """

    def __init__(self, name: str, template: TableEncoder, listed: bool, share: float = 1.0) -> None:
        self.name, self._share = name, share
        self._template, self._listed = template, listed
        self._kind: str | None = None
        self._unknown: str | None = None  # kind of the cells where all were missing so far
        self._since = ""  # where its kind was seen first
        self._numbers: NumberSketch | None = None
        self._levels = LevelCounts(name)
        self._orders: dict[tuple[object, ...], None] = {}  # those of its batches

    @property
    def order(self) -> tuple[object, ...]:
        """Levels from the lowest to the highest, if all batches say the same."""
        return next(iter(self._orders)) if len(self._orders) == 1 else ()

    @property
    def kind(self) -> str:
        """What its cells are."""
        return self._kind or self._unknown or "text"

    @property
    def is_category(self) -> bool:
        """Whether it becomes a category, as far as is known."""
        return not self._template.column_type(self.name, self.kind, self._listed).is_number

    def add_(self, cells: Cells, keys: Float64Array, place: str) -> None:
        """Take in the cells of a batch."""
        as_levels = not self._template.column_type(self.name, cells.kind, self._listed).is_number
        self._orders[cells.order] = None
        if _all_missing(cells, as_levels):
            self._add_missing_(cells)
            return
        self._become_(cells.kind, place)
        if self._numbers is None:
            self._levels.add_(*cells.levels())
        else:
            self._numbers.add_(cells, keys)

    def merge_(self, other: ColumnSketch) -> None:
        """Take in another sketch of the same column."""
        self._orders |= other._orders
        if other._kind is not None:
            self._become_(other._kind, other._since)
        self._unknown = _either(self._unknown, other._unknown)
        if self._numbers is not None:
            self._numbers.merge_(other._numbers or NumberSketch.of_counts(other._levels.counts, self._share))
        else:
            self._levels.merge_(other._levels)

    def _add_missing_(self, cells: Cells) -> None:
        rows = len(cells.values if cells.factors is None else cells.factors[0])
        self._unknown = _either(self._unknown, cells.kind)
        if self._numbers is None:
            self._levels.add_(np.zeros(rows, np.intp), [None])
        else:
            self._numbers.add_missing_(rows)

    def _become_(self, kind: str, place: str) -> None:
        """Take on a kind that agrees with all batches before, or refuse this one."""
        known, now = self._kind, self._joined_kind(kind, place)
        self._kind = now
        if known is None:
            self._since = place
        if not self.is_category and self._numbers is None:
            self._numbers = NumberSketch.of_counts(self._levels.counts, self._share)
            self._levels = LevelCounts(self.name)

    def _joined_kind(self, kind: str, place: str) -> str:
        if self._kind in (None, kind):
            return kind
        both = {self._kind, kind}
        if both == {"bool", "number"}:
            return "number"
        if len({self._template.column_type(self.name, kind, self._listed).is_number for kind in both}) == 1:
            return next(each for each in ("text", "number", "level") if each in both)
        raise ValueError(
            f"column {self.name!r} must hold the same in all batches; got {_WORDS[str(self._kind)]} in "
            f"{self._since} and {_WORDS[kind]} in {place}: convert it, or list it in categorical_features"
        )

    def sampled(self, cells: Cells, rows: NDArray[np.intp]) -> NDArray[Any]:
        """Some cells as the sample keeps them: float64 numbers, or levels."""
        if self._numbers is not None:
            return cells.numbers()[rows]
        codes, levels = cells.levels()
        plain = np.empty(len(levels), object)
        plain[:] = levels
        return plain[codes[rows]]

    def facts(self) -> list[Any]:
        """Numbers that change with any of its cells."""
        counts = sorted(self._levels.counts.items(), key=repr)
        return [self.name, self.kind, counts, None if self._numbers is None else self._numbers.facts()]

    def numbers(self) -> SeenNumbers:
        """Cells of the column as numbers."""
        return (self._numbers or NumberSketch.of_counts(self._levels.counts, self._share)).numbers()

    def level_counts(self) -> dict[object, float]:
        """Rows of each level."""
        return self._levels.counts


class TableSummary:
    """What batches of a table hold together.

    Parameters
    ----------
    template : TableEncoder
        How columns are to be read: its categorical_features and linear decide which are categories.
    sample_rows : int
        Rows of the sample.
    seed : int
        Of the sample.
    labels : bool
        Whether the target has labels to be counted, as classes have.
    share : float
        Of the rows, whose numbers are looked at where a column has many of them: less than 1 saves time where the rows
        are known to be many.

    Attributes
    ----------
    names : tuple of str
        The columns of the table; empty before the first batch.
    rows : int
        Rows of positive weight.
    seals : dict
        The number of each batch with such rows, see :class:`lambdak.table.large.sample.Seal`.
    """

    def __init__(
        self,
        template: TableEncoder,
        *,
        sample_rows: int = SAMPLE_ROWS,
        seed: int = 0,
        labels: bool = False,
        share: float = 1.0,
    ) -> None:
        self._template, self._share = replace(template, columns=()), share
        self.seed, self.rows = check_int(seed, "seed", 0, 1 << 63), 0
        self.seals: dict[int, int] = {}
        self.names: tuple[str, ...] = ()
        self.named = True  # whether the names are the user's
        self._columns: list[ColumnSketch] = []
        self._sample = RowSample(check_int(sample_rows, "sample_rows", 1, 1 << 31))
        self._beside = np.zeros(6)  # sums of targets, weights and offsets, and of their products with a row's key
        self._labels: LevelCounts | None = LevelCounts("y") if labels else None

    def add_(self, batch: Drawn) -> None:
        """Take in a batch."""
        if not self.names:
            self._begin_(batch.X)
        keys = row_keys(self.seed, batch.index, len(batch))
        rows: RowIndex = EVERY_ROW if batch.weight is None else np.flatnonzero(batch.weight > 0)
        keys = keys[rows]
        if not len(keys):
            return
        self.rows += len(keys)
        chosen = np.flatnonzero(keys <= self._sample.limit)
        columns, seal = [], Seal(batch)
        for i, sketch in enumerate(self._columns):
            cells = batch.X.cells(i, rows)
            seal.add_(i, cells)
            sketch.add_(cells, keys, batch.place)
            columns.append(sketch.sampled(cells, chosen))
        self.seals[batch.index] = seal.number
        beside = tuple(None if each is None else each[rows] for each in (batch.y, batch.weight, batch.offset))
        self._beside += _sums(beside, keys)
        if self._labels is not None:
            self._labels.add_(*_label_codes(np.asarray(beside[0])))
        places = batch.index * BATCH_ROWS + np.arange(len(batch))[rows][chosen]
        kept = tuple(None if each is None else each[chosen] for each in beside)
        self._sample.add_(SampledPart(keys[chosen], places, tuple(columns), kept))

    def _begin_(self, table: Table) -> None:
        listed = listed_columns(self._template.categorical_features, table)
        self.names, self.named = table.names, table.named
        self._columns = [
            ColumnSketch(name, self._template, bool(own), self._share)
            for name, own in zip(table.names, listed, strict=True)
        ]

    def merge_(self, other: TableSummary) -> None:
        """Take in the summary of other batches, with the same settings."""
        if not other.names:
            return
        if not self.names:
            self.names, self.named, self._columns = (
                other.names,
                other.named,
                [ColumnSketch(each.name, self._template, each._listed, self._share) for each in other._columns],
            )
        if self.names != other.names:
            raise ValueError(f"all parts of X must have the same columns; got {self.names} and {other.names}")
        for own, new in zip(self._columns, other._columns, strict=True):
            own.merge_(new)
        self._sample.merge_(other._sample)
        self.rows += other.rows
        self.seals |= other.seals
        self._beside += other._beside
        if self._labels is not None and other._labels is not None:
            self._labels.merge_(other._labels)

    @property
    def label_counts(self) -> dict[Any, float]:
        """Rows of each label, sorted by labels; missing ones, and labels of different types, are refused."""
        counts = {} if self._labels is None else self._labels.counts
        if None in counts:
            raise ValueError(f"y must have a label in every row; got {int(counts[None])} rows without: leave them out")
        try:
            return {label: counts[label] for label in sorted(counts)}  # type: ignore[type-var]
        except TypeError:
            kinds = sorted({type(label).__name__ for label in counts})
            raise TypeError(f"labels must be of one type; got {kinds}: convert y to strings") from None

    def level_rows(self, column: Column) -> Float64Array:
        """Rows of each of the levels of a column."""
        counts, levels = self._columns[self.names.index(column.name)].level_counts(), column.known_levels
        rows = np.array([counts.get(level, 0.0) for level in levels])
        if OTHER in levels:
            rows[levels.index(OTHER)] = sum(counts.values()) - rows.sum()
        return rows

    def digest(self) -> str:
        """A digest of facts about all rows; it changes with any cell, target, weight or offset."""
        columns = [column.facts() for column in self._columns]
        labels = None if self._labels is None else sorted(self._labels.counts.items(), key=repr)
        return hashlib.sha256(repr((self.rows, columns, labels, self._beside.tolist())).encode()).hexdigest()

    def encoder(self, template: TableEncoder | None = None) -> TableEncoder:
        """The encoder for all rows; a ``template`` may have other settings, but the same columns must be categories."""
        if not self.rows:
            raise ValueError("X must have rows of positive weight; got none")
        return (template or self._template).fit_seen(self._named_table(), self._columns)

    def _named_table(self) -> Table:
        """A table that has the names of the columns, and no rows."""
        return cells_table(self.names, ["text"] * len(self.names), [np.empty(0, object)] * len(self.names), self.named)

    def sample(self) -> SampledRows:
        """The sample, with cells of the kinds that they have in the whole table."""
        part = self._sample.smallest()
        if part is None:
            raise ValueError("X must have rows of positive weight; got none")
        pairs = zip(self._columns, part.columns, strict=True)
        columns = [cells if own.is_category else as_numbers(cells) for own, cells in pairs]
        orders = [own.order for own in self._columns]
        table = cells_table(self.names, [own.kind for own in self._columns], columns, self.named, orders)
        y, weight, offset = part.beside
        return SampledRows(table, np.asarray(y), weight, offset, part.keys, part.places)


def _sums(beside: tuple[NDArray[Any] | None, ...], keys: Float64Array) -> Float64Array:
    """Σ v and Σ v · key of targets, weights and offsets that are numbers; in units that cannot overflow."""
    sums = np.zeros((3, 2))
    for i, values in enumerate(beside):
        if values is not None and values.dtype.kind in "fiub" and len(values):
            units = np.ldexp(values.astype(np.float64), -64)
            sums[i] = units.sum(), units @ keys
    return sums.ravel()


def _all_missing(cells: Cells, as_levels: bool) -> bool:
    if as_levels or cells.values.dtype.kind not in "fiub":
        return all(is_missing(level) for level in cells.levels()[1])
    return cells.values.dtype.kind == "f" and bool(np.isnan(cells.values).all())


def _either(one: str | None, other: str | None) -> str | None:
    """The kind of a column without any cells: numbers, if some batch says so."""
    return "number" if "number" in (one, other) else one or other


def _label_codes(y: NDArray[Any]) -> tuple[NDArray[np.intp], list[object]]:
    """Codes (rows,) and the labels they point at, as plain Python objects, None for missing ones."""
    codes, labels = factorise(y)
    return codes, [None if is_missing(label) else label for label in labels]
