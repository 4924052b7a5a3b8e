"""Where the segments of a table come from: a column of the model, another column, or an array beside the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from lambdak._types import Float64Array
from lambdak.governance.performance.bands import BANDS, Codes, Kind, banding
from lambdak.governance.performance.periods import periods
from lambdak.governance.performance.scored import name_of
from lambdak.table.cells import Cells, array_cells
from lambdak.table.close_names import asked
from lambdak.table.column_contract import Column
from lambdak.table.encoder import TableEncoder
from lambdak.table.matching import column_reader
from lambdak.table.read import read_table

_SHOWN = 10  # names in a message


@final
@dataclass(frozen=True, eq=False)
class Split:
    """The segment of each row that counts: a position among the names."""

    about: str
    kind: Kind
    names: tuple[str, ...]
    codes: Codes


@final
@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table to split its rows by, which are read when they are needed.

    Attributes
    ----------
    counted : array of shape (n,)
        Positions of the rows that count.
    exposure : array of shape (n,)
        Of these rows: bands hold about the same.
    table_rows : int
        All rows.
    """

    encoder: TableEncoder
    X: Any
    counted: NDArray[np.intp]
    exposure: Float64Array
    table_rows: int

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the model's columns."""
        return self.encoder.feature_names

    def split(self, by: Any, bands: int = BANDS) -> Split:
        """Bands or levels of a column, given by its name, or of an array with one entry per row; dates by periods."""
        if isinstance(by, str) and by not in self.names and self._dates(by) is not None:
            return self.split_time(by)
        name, column, cells = self._cells(by)
        weight = np.zeros(self.table_rows)
        weight[self.counted] = self.exposure
        groups = banding(cells, column, weight, bands)
        return Split(name, groups.kind, groups.names, groups.codes(cells)[self.counted])

    def split_time(self, time: Any, period: str = "auto") -> Split:
        """Periods of a column of dates, given by its name, or of an array with one entry per row."""
        values = self.raw(time, "time") if isinstance(time, str) else time
        found = periods(values, self.table_rows, period)
        name = time if isinstance(time, str) else name_of(time, "time")
        return Split(name, "periods", found.names, found.codes[self.counted])

    def _cells(self, by: Any) -> tuple[str, Column | None, Cells]:
        if not isinstance(by, str):
            values = np.asarray(by)
            if values.shape != (self.table_rows,):
                raise ValueError(
                    f"by must be the name of a column, or have shape ({self.table_rows},), an entry for each row of X; "
                    f"got shape {values.shape}"
                )
            return name_of(by, "segment"), None, array_cells("by", values)
        if by in self.names:
            position = self.names.index(by)
            return by, self.encoder.columns[position], column_reader(self.encoder, self.X)(position)
        table = None if issparse(self.X) else read_table(self.X, keep=False)
        if table is None or by not in table.names:
            self._refuse(by, "by")
        return by, None, table.cells(table.names.index(by))

    def _dates(self, name: str) -> NDArray[Any] | None:
        """A column of dates; None for any other, and where there is none."""
        try:
            values = np.asarray(self.X[name])
        except Exception:  # whatever a library says of a name that it does not know
            return None
        return values if values.dtype.kind == "M" else None

    def raw(self, name: str, argument: str) -> NDArray[Any]:
        """A column of X as it is; ``argument`` is what it was named by."""
        try:
            return np.asarray(self.X[name])
        except Exception:
            self._refuse(name, argument)

    def _refuse(self, name: str, argument: str) -> NoReturn:
        table = () if issparse(self.X) else read_table(self.X, keep=False).names
        known = list(dict.fromkeys([*self.names, *table]))
        shown = ", ".join(map(repr, known[:_SHOWN])) + (", …" if len(known) > _SHOWN else "")
        raise ValueError(
            f"{argument} must name a column of X, {shown}, or be an array with one entry per row; got {name!r}"
            f"{asked(name, known)}"
        )
