"""Tables that together predict what a model does: as data, in print, in files and as a picture."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from lambdak._types import Float64Array
from lambdak.governance.tables import written
from lambdak.governance.tables.deviation import Deviation
from lambdak.governance.tables.factor_table import SEEN, FactorTable
from lambdak.governance.tables.layout import Layout, values_at
from lambdak.model.outward import downwards, upwards
from lambdak.table.close_names import asked
from lambdak.table.frames import MOST_ROWS, aligned, headed, make_frame, number
from lambdak.table.shown import Shown
from lambdak.table.visible import visible

MOST = 700.0  # of a logarithm: its exponential is still a float


def shown_tables(tables: TableSet) -> str:
    """The heading, the sentences about the deviation, and every table."""
    parts = [
        "\n".join(tables.heading()),
        *(shown_table(table, tables.value_name, tables.titles if tables.rows else {}) for table in tables),
    ]
    return "\n\n".join(parts)


def shown_table(table: FactorTable, what: str, titles: Mapping[str, str]) -> str:
    """One table, with what was seen under these titles; of two columns a matrix."""
    note = {1: "  (never falls)", -1: "  (never rises)", 0: ""}[table.sign]
    title = visible(table.name) + note
    if table.value.ndim == 2:
        return "\n".join([title, *_matrix(table)])
    names = [name for name in titles if not np.isnan(getattr(table, name)).all()]
    head = ["", what.replace("_", " "), *(titles[name] for name in names)]
    rows = [
        [visible(label), number(value), *(number(float(getattr(table, name)[i])) for name in names)]
        for i, (label, value) in enumerate(zip(table.labels, table.value.tolist(), strict=True))
    ]
    return "\n".join([title, *headed(head, rows)])


def _matrix(table: FactorTable) -> list[str]:
    head = ["", *(visible(row.label) for row in table.sides[1])]
    rows = [[visible(label), *map(number, row)] for label, row in zip(table.labels, table.value.tolist(), strict=True)]
    return aligned([row[: MOST_ROWS // 2] for row in [head, *rows][:MOST_ROWS]])


def factor_sentence(above: float, below: float, noun: str) -> str:
    """How far predictions are apart, as factors."""
    most = upwards(math.exp(above)) if above < MOST else "any number of"
    return f"the model gives {downwards(math.exp(-below))} to {most} times the {noun} of the tables"


_MOST_NAMED = 4  # columns in a sentence


def amount_sentence(above: float, below: float, noun: str) -> str:
    """How far predictions are apart, as amounts."""
    return f"the model's {noun} is at most {upwards(below)} below and {upwards(above)} above that of the tables"


def _named(columns: Sequence[str]) -> str:
    """Columns by name, if they are few."""
    return ", ".join(map(visible, columns)) if len(columns) <= _MOST_NAMED else f"{len(columns)} columns"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TableSet(Shown):
    """What relativities and scorecards share. Immutable.

    Attributes
    ----------
    output : str
        What is predicted, in words.
    base : float
        What every row begins with: a base rate, base odds, a base amount or base points.
    tables : tuple of FactorTable
        One for each column, in the order of the model; then those of two columns.
    deviation : Deviation
        How far the tables are from the model: proven for every possible row, and observed.
    rows : int
        Rows of X; 0 without them.
    """

    output: str
    base: float
    tables: tuple[FactorTable, ...]
    deviation: Deviation
    rows: int
    _layout: Layout = field(repr=False)
    _like: Any = field(repr=False, default=None)

    what: ClassVar[str]  # the name of a table's value
    titles: ClassVar[Mapping[str, str]] = {name: name for name in SEEN}  # of what was seen, in print

    def __getitem__(self, column: str | tuple[str, str]) -> FactorTable:
        wanted = (column,) if isinstance(column, str) else tuple(column)
        for table in self.tables:
            if table.columns in (wanted, wanted[::-1]):
                return table
        known = [table.name for table in self.tables]
        raise KeyError(f"column must be one of {known}; got {column!r}{asked(column, known)}")

    def __iter__(self) -> Iterator[FactorTable]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def __str__(self) -> str:
        from lambdak.governance.tables.table_set import shown_tables

        return shown_tables(self)

    @property
    def value_name(self) -> str:
        """The name of a table's value: relativity, odds_relativity, amount or points."""
        return self.what

    def heading(self) -> list[str]:
        """What the tables are and how far they are from the model, in sentences."""
        raise NotImplementedError

    def sheets(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """Names and lines of what else belongs into a workbook."""
        return []

    def summary(self) -> dict[str, Any]:
        """What is true of all tables together: the base, how they are combined, and the deviation from the model."""
        raise NotImplementedError

    def head(self) -> dict[str, Any]:
        """What a reader of the JSON document needs beside the tables."""
        raise NotImplementedError

    def _limits(self) -> str:
        """What a proof is limited to, in words."""
        limits = {"within the training range of": self.deviation.within_range,
                  "with whole numbers in": self.deviation.whole}  # fmt: skip
        return "".join(f", {words} {_named(names)}" for words, names in limits.items() if names)

    def _deviations(self) -> dict[str, float]:
        proof = self.deviation
        return {"proven": proof.proven, "above": proof.above, "below": proof.below, "attained": proof.attained,
                "observed": proof.observed, "mean": proof.mean}  # fmt: skip

    @staticmethod
    def _level(table: FactorTable, seen: dict[str, Float64Array], wanted: Float64Array) -> dict[str, Float64Array]:
        """What was seen in the rows of a table, moved so that the mean of what is expected is that of ``wanted``."""
        known = np.isfinite(seen["expected"]) & (table.exposure > 0)
        if not known.any():
            return {}
        shift = np.average((wanted - seen["expected"])[known], weights=table.exposure[known])
        return {name: np.where(np.isfinite(values), values + shift, np.nan) for name, values in seen.items()}

    def combined(self, X: Any) -> list[Float64Array]:
        """The value of every table for the rows of X, (rows,) each, in the order of ``tables``."""
        found = []
        for table, (ids, weights) in zip(self.tables, self._layout.entries(self._layout.code(X)), strict=True):
            if table.form == "knots":
                found.append(self._values_of(values_at(table.raw, ids, weights)))
            else:
                found.append(table.value.ravel()[ids[:, 0]])
        return found

    def _values_of(self, raw: Float64Array) -> Float64Array:
        """From parts of the raw score to values of a table."""
        raise NotImplementedError

    # ---- as data -------------------------------------------------------------------------------------------------

    def to_frame(self, column: str | tuple[str, str] | None = None) -> Any:
        """All tables of single columns in one frame, one line per row, or the table of one column or pair.

        It is of the library that X came from.
        """
        chosen = [table for table in self.tables if len(table.columns) == 1] if column is None else [self[column]]
        records = [record for table in chosen for record in table.records(self.value_name)]
        names = list(records[0])
        return make_frame({name: _column([record[name] for record in records]) for name in names}, self._like)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that JSON can hold; its schema is :func:`lambdak.governance.tables.schema`."""
        return written.as_document(self)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Everything as JSON text, which is also written to ``path`` if there is one."""
        return written.write_json(self, path)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """One CSV file with all tables, if the path ends with ``.csv``; otherwise a folder with a file for each."""
        written.write_csv(self, path)

    def to_excel(self, path: str | os.PathLike[str]) -> None:
        """A workbook: a summary with the proof, and a sheet for each table. Needs ``pip install 'lambdak[excel]'``."""
        from lambdak.governance.tables.excel import write_workbook

        write_workbook(self, path)

    def plot(self, column: str | tuple[str, str] | None = None, ax: Any = None) -> Any:
        """The table of a column on matplotlib Axes, or all on one figure; returns the Axes, or all of them."""
        from lambdak.governance.tables.plots import draw_all, draw_table

        if column is None:
            return draw_all(self)
        return draw_table(self[column], self.value_name, self.comparable(self[column]), ax)

    def comparable(self, table: FactorTable) -> dict[str, Float64Array]:
        """What was observed and expected in a table, in units of its values."""
        raise NotImplementedError


def _column(cells: list[Any]) -> Any:
    """Cells that a frame of any library takes: numbers with NaN, or objects."""
    if all(cell is None or isinstance(cell, float) for cell in cells):
        return np.array([np.nan if cell is None else cell for cell in cells], float)
    if len({type(cell) for cell in cells if cell is not None}) > 1:
        return [None if cell is None else str(cell) for cell in cells]
    printed = np.empty(len(cells), object)
    printed[:] = cells
    return printed
