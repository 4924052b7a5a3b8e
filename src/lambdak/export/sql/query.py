"""The whole query: a table, its cells, the eigenvalues of its rows, raw scores, and what is predicted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from lambdak.atomic import write_text
from lambdak.export.formula import Formula
from lambdak.export.sql.cells import ColumnReading
from lambdak.export.sql.dialects import TABLE, Dialect, check_dim, dialect_of
from lambdak.export.sql.links import add_predictions
from lambdak.export.sql.names import check_columns, check_results, column_names, offset_name, result_names, table_name
from lambdak.export.sql.scores import add_effects, add_scores, used_readings
from lambdak.export.sql.script import Script, same
from lambdak.table.rows import LARGEST_NUMBER
from lambdak.table.visible import visible

RESULTS = ("prediction", "raw", "both")


def to_sql(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dialect: str = "duckdb",
    table: str | Sequence[str] = "rows",
    key: str | Sequence[str] | None = None,
    offset: str | None = None,
    result: str = "prediction",
    explain: bool = False,
    prefix: str = "",
) -> str:
    """Write a model as one SELECT that scores the rows of a table, in the database itself.

    Parameters
    ----------
    model : estimator, Model or path
        A fitted estimator, its frozen model, or a file that ``save`` wrote.
    path : path, optional
        Where to write the query; it is there as a whole or not at all.
    dialect : "duckdb", "postgresql" or "sqlite"
        The database.
    table : str or sequence of str
        The table or view to read, or its schema and its name. It has the columns of training, in any order.
    key : str or sequence of str, optional
        Columns of the table to return beside the results; None returns all of them. Of SQLite's views, and of its
        tables without a rowid, some have to be named.
    offset : str, optional
        A column that is added to the raw scores of each row, such as the logarithm of an exposure, where ``predict``
        takes an offset. Where it is missing or infinite, which Python refuses, results are NULL.
    result : "prediction", "raw" or "both"
        Predictions (or probabilities with the label, or quantiles), raw scores, or both.
    explain : bool
        Whether to add the influence of each column on the raw score, as ``explain_local(X).influence`` has it: of
        several classes on that of the predicted one, of quantiles and cut-points on the middle one. It is NULL where
        the eigenvalue is repeated.
    prefix : str
        Put before the names of the results.

    Returns
    -------
    str
        The query.

    Examples
    --------
    >>> import sqlite3
    >>> from lambdak import SpectralRegressor
    >>> X = [[float(i), float(i % 3)] for i in range(60)]
    >>> model = SpectralRegressor(dim=1, effort="fast", max_iter=3, random_state=0).fit(X, [row[0] for row in X])
    >>> database = sqlite3.connect(":memory:")
    >>> _ = database.execute("CREATE TABLE rows (id INTEGER, x0 REAL, x1 REAL)")
    >>> _ = database.execute("INSERT INTO rows VALUES (7, 30.0, 2.0), (8, NULL, 1.0)")
    >>> scores = dict(database.execute(to_sql(model, dialect="sqlite", key="id")))
    >>> bool(abs(scores[7] - model.predict([[30.0, 2.0]])[0]) < 1e-12)
    True
    """
    formula, language = Formula.of(model), dialect_of(dialect)
    if not isinstance(prefix, str):
        raise ValueError(f"prefix must be text; got {prefix!r}")
    added = offset_name(formula, offset)
    query = _Query(
        formula, language, table_name(language, table), column_names(key, "key"), added, result, bool(explain), prefix
    )
    text = query.text()
    if path is not None:
        write_text(path, text)
    return text


@final
@dataclass(frozen=True)
class _Query:
    formula: Formula
    dialect: Dialect
    table: str
    key: list[str] | None
    offset: str | None
    result: str
    explain: bool
    prefix: str

    def text(self) -> str:
        names = self._results()
        check_columns(self.dialect, [column.name for column in self.formula.columns])
        taken = self._columns if self.key is None else self.key
        check_results(self.dialect, list(names.values()), taken)
        check_dim(self.dialect, self.formula.model.dim, self.explain)
        script = Script(self.dialect)
        columns = used_readings(script, self.formula)
        self._read(script, columns)
        raw = [f"r{i}" for i in range(self.formula.n_outputs)]
        carried = self._carried if self._streams else ["lambdak_row"]
        offsets = ["lambdak_offset"] if self.offset is not None else []
        if self._streams:
            add_effects(script, self.formula, [*carried, *offsets], self.explain)
        else:
            add_scores(script, self.formula, columns, offsets, self.explain)
        if self.explain:
            carried = [*carried, "i0", *(f"i{reading.position}" for reading in columns)]
        if offsets:
            script.select("moved", same(carried) | {name: f"{name} + lambdak_offset" for name in raw})
        if self.result != "raw":
            add_predictions(script, self.formula, carried)
        return self._header() + script.text(self._final(script, names))

    @property
    def _columns(self) -> list[str]:
        """Names of columns that the table must have: those of the model, and of an offset."""
        return [*(column.name for column in self.formula.columns), *([] if self.offset is None else [self.offset])]

    @property
    def _streams(self) -> bool:
        """Whether rows pass through the steps one by one, with all that is kept of them."""
        return self.formula.model.dim == 1

    def _results(self) -> dict[str, str]:
        """Columns of the last step, and their names for the user."""
        if self.result not in RESULTS:
            raise ValueError(f"result must be one of {', '.join(map(repr, RESULTS))}; got {self.result!r}")
        raw = {f"r{i}": name for i, name in enumerate(self.formula.raw_names)}
        predictions = result_names(self.formula)
        chosen = {"raw": raw, "prediction": predictions, "both": predictions | raw}[self.result]
        columns = enumerate(self.formula.columns, 1) if self.explain else ()
        chosen |= {f"i{i}": f"influence_{column.name}" for i, column in columns}
        return {result: self.prefix + name for result, name in chosen.items()}

    # ---- what is kept of a row ---------------------------------------------------------------------------------

    @property
    def _by_rowid(self) -> bool:
        return self.key is None and self.dialect.keep_all() is None

    @property
    def _rowid(self) -> str:
        """A name of SQLite's rowid that is not that of a column."""
        taken = {name.lower() for name in self._columns}
        free = [name for name in ("_rowid_", "rowid", "oid") if name not in taken]
        if not free:
            raise ValueError(
                "key must name the columns to return, for SQLite finds rows again by _rowid_, rowid or oid, and all of "
                "these are names of columns: pass key, or rename one of them before the fit"
            )
        return free[0]

    @property
    def _kept(self) -> dict[str, str]:
        """What the source keeps of the user's columns."""
        if self.key is not None:
            return {f"lambdak_kept_{i}": f"{TABLE}.{self.dialect.name(name)}" for i, name in enumerate(self.key)}
        whole = self.dialect.keep_all()
        return {} if whole is None else {"lambdak_kept": whole}

    @property
    def _carried(self) -> list[str]:
        return ["lambdak_row"] if self._by_rowid else list(self._kept)

    def _read(self, script: Script, columns: Sequence[ColumnReading]) -> None:
        """Add the step that reads the table, and the one that brings numbers into their ranges."""
        number = f"{TABLE}.{self._rowid}" if self._by_rowid else "row_number() OVER ()"
        row = {"lambdak_row": number} if self._by_rowid or not self._streams else {}
        cells = {name: value for reading in columns for name, value in reading.read().items()}
        moved = {} if self.offset is None else {"lambdak_offset": self._offset}
        notes = {reading.x: f"column {visible(repr(reading.column.name))}" for reading in columns}
        script.select(
            "source", row | self._kept | cells | moved, source=f"{self.table} AS {TABLE}", stored=not self._streams,
            notes=notes,
        )  # fmt: skip
        passed = [*(self._carried if self._streams else row), *moved]
        both = [name for name in cells if name[0] == "n"]
        slopes = [each for each in columns if each.along() is not None] if self.explain else []
        moves = {f"g{each.position}": each.moves() for each in slopes}
        most = self.dialect.number(LARGEST_NUMBER)
        finite = {name: f"CASE WHEN abs({name}) <= {most} THEN {name} END" for name in moved}
        ranges = {each.x: each.settle() for each in columns}
        script.select("ranges", same(passed) | finite | ranges | same(both) | moves)

    @property
    def _offset(self) -> str:
        return self.dialect.number_cell(f"{TABLE}.{self.dialect.name(self.offset or '')}")

    # ---- the result --------------------------------------------------------------------------------------------

    def _header(self) -> str:
        model = self.formula.model
        proven = "".join(f"-- Proven: {visible(words)}\n" for words in self.formula.guarantees)
        return (
            f"-- {model.estimator} for {self.dialect.title}: members {len(model.weights)}, dim {model.dim}, loss "
            f"{model.loss.name}. NULL and NaN are missing.\n{proven}"
        )

    def _final(self, script: Script, names: dict[str, str]) -> str:
        without = {f"i{i}" for i in range(1, len(self.formula.columns) + 1)} - self._effective(script)
        results = [
            f"r.{'i0' if result in without else result} AS {self.dialect.name(name)}" for result, name in names.items()
        ]
        if self._by_rowid:
            tables = f"{script.last} AS r JOIN {self.table} AS {TABLE} ON {TABLE}.{self._rowid} = r.lambdak_row"
            kept = [self.dialect.unfold("")]
        else:
            home = "r" if self._streams else "k"
            tables = f"{script.last} AS r"
            tables += "" if self._streams else " JOIN lambdak_source AS k ON k.lambdak_row = r.lambdak_row"
            kept = self._unfolded(home)
        return f"SELECT {', '.join([*kept, *results])}\nFROM {tables}"

    def _effective(self, script: Script) -> set[str]:
        """The influences of columns that have an effect."""
        return {f"i{reading.position}" for reading in used_readings(script, self.formula)}

    def _unfolded(self, home: str) -> list[str]:
        if self.key is None:
            return [self.dialect.unfold(f"{home}.lambdak_kept")]
        return [f"{home}.{kept} AS {self.dialect.name(name)}" for kept, name in zip(self._kept, self.key, strict=True)]
