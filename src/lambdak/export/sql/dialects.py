"""What DuckDB, PostgreSQL and SQLite spell differently: numbers, text, names, missing cells, and their limits."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, final

TABLE = "lambdak_table"  # the user's table inside of the query, where a column of the same name would hide it


class Dialect(ABC):
    """How one database spells what a query needs.

    Attributes
    ----------
    title : str
        The database, as people call it.
    fence : str
        Ends a step of a query, so that its expressions are computed once and not copied into the next step.
    folds_case : bool
        Whether column names that differ in upper and lower case only are one column.
    most_name_bytes : int or None
        Bytes of a name that count; the rest is cut off.
    most_columns : int or None
        Columns that a step of a query can have.
    most_whole : int or None
        The largest whole number; a larger one would become a double.
    most_dim : pair of int, or None
        The largest matrices that it takes, without explanations and with them.
    fails_at_ends : bool
        Whether a product too small or too large for a double stops the query, instead of becoming 0 or infinity.
    lists : bool
        Whether it has lists and functions over them, which are planned faster than steps and literals.
    """

    title: ClassVar[str]
    fence: ClassVar[str] = ""
    folds_case: ClassVar[bool] = True
    most_name_bytes: ClassVar[int | None] = None
    most_columns: ClassVar[int | None] = None
    fails_at_ends: ClassVar[bool] = False
    lists: ClassVar[bool] = False
    most_dim: ClassVar[tuple[int, int] | None] = None
    most_whole: ClassVar[int | None] = None
    most_dim_reason: ClassVar[str] = ""
    _infinity: ClassVar[str] = "CAST('Infinity' AS double precision)"
    _character: ClassVar[str] = "chr"
    greatest_name: ClassVar[str] = "GREATEST"
    least_name: ClassVar[str] = "LEAST"

    # ---- literals and names ------------------------------------------------------------------------------------

    def name(self, text: str) -> str:
        """A name as a quoted identifier."""
        return '"' + _sayable(text, "the name").replace('"', '""') + '"'

    def text(self, value: str) -> str:
        """A string; carriage returns are spelled out, for programs that read a file as text change them."""
        pieces = [self._quoted(piece) for piece in _sayable(value, "the text").split("\r")]
        return pieces[0] if len(pieces) == 1 else f"({f' || {self._character}(13) || '.join(pieces)})"

    def _quoted(self, value: str) -> str:
        return "'" + value.replace("'", "''") + "'"

    def number(self, value: float) -> str:
        """A double, all of its digits; in brackets if it is negative, for two minus signs begin a comment."""
        if math.isinf(value):  # only levels
            return self._infinity if value > 0 else f"(-{self._infinity})"
        digits = repr(float(value))
        plain = self._double(digits if "e" in digits else f"{digits}e0")
        return f"({plain})" if digits.startswith("-") else plain

    def _double(self, digits: str) -> str:
        return digits

    def boolean(self, value: bool) -> str:
        """True or false."""
        return "TRUE" if value else "FALSE"

    # ---- cells -------------------------------------------------------------------------------------------------

    @abstractmethod
    def number_cell(self, column: str) -> str:
        """A cell as a double, NULL if it is missing."""

    @abstractmethod
    def text_cell(self, column: str) -> str:
        """A cell as text that is compared byte by byte, NULL if it is missing."""

    def boolean_cell(self, column: str) -> str:
        """A cell that is true or false, or 1 or 0, as a double."""
        return self.number_cell(column)

    def mixed_cell(self, column: str) -> tuple[str, str]:
        """A cell that may be a number or text: as a number, if the database can tell, and as text."""
        return "NULL", self.text_cell(column)

    # ---- arithmetic --------------------------------------------------------------------------------------------

    def greatest(self, values: Sequence[str]) -> str:
        """The largest of some numbers, none of them NULL."""
        return values[0] if len(values) == 1 else f"{self.greatest_name}({', '.join(values)})"

    def least(self, values: Sequence[str]) -> str:
        """The least of some numbers, none of them NULL."""
        return values[0] if len(values) == 1 else f"{self.least_name}({', '.join(values)})"

    def quotient(self, above: str, below: str) -> str:
        """One number over another, of a Sturm sequence; where ``below`` is zero, large and positive."""
        return f"COALESCE({above} / {below}, 1e100)"

    def settled(self, value: str) -> str:
        """Expression of a number; numbers below 1e-40 become 0 where their products would stop the query."""
        return value

    # ---- rows --------------------------------------------------------------------------------------------------

    @abstractmethod
    def keep_all(self) -> str | None:
        """All columns of a row of :data:`TABLE` as one value; None where the row is found again by its rowid."""

    @abstractmethod
    def unfold(self, kept: str) -> str:
        """The columns that :meth:`keep_all` has kept."""


@final
class DuckDB(Dialect):
    """DuckDB: columns are computed 2,048 rows at a time, and a step costs next to nothing."""

    title = "DuckDB"
    lists = True
    most_dim = (31, 18)
    most_dim_reason = "for planning the query takes it long beyond that"

    def number_cell(self, column: str) -> str:
        """NaN is missing."""
        return f"NULLIF(CAST({column} AS DOUBLE), CAST('NaN' AS DOUBLE))"

    def text_cell(self, column: str) -> str:
        """Text, whatever order the column or the session compares it by."""
        return f'(CAST({column} AS VARCHAR) COLLATE "C")'

    def keep_all(self) -> str | None:
        """Expression that keeps all columns of a row: the table's name, which is a struct."""
        return TABLE

    def unfold(self, kept: str) -> str:
        """The fields of the struct that :meth:`keep_all` has kept."""
        return f"UNNEST({kept})"


@final
class PostgreSQL(Dialect):
    """PostgreSQL: a decimal literal is numeric unless it is cast, and a product that underflows is an error."""

    title = "PostgreSQL"
    fence = " OFFSET 0"
    folds_case = False
    most_name_bytes = 63
    most_columns = 1600
    fails_at_ends = True

    def _quoted(self, value: str) -> str:
        """Text in quotes, which means the same whatever standard_conforming_strings says."""
        plain = super()._quoted(value)
        return "E" + plain.replace("\\", "\\\\") if "\\" in plain else plain

    def _double(self, digits: str) -> str:
        return f"{digits}::float8"

    def number_cell(self, column: str) -> str:
        """NaN is missing."""
        return f"NULLIF(CAST({column} AS float8), 'NaN'::float8)"

    def text_cell(self, column: str) -> str:
        """Text without a language's own order; that of char(n) has no spaces at its end."""
        return f'(CAST({column} AS text) COLLATE "C")'

    def boolean_cell(self, column: str) -> str:
        """By way of text, for a boolean cannot be cast to a double, and a double not to a boolean."""
        as_text = f"CAST({column} AS text)"
        return (
            f"CASE {as_text} WHEN 'true' THEN 1::float8 WHEN 'false' THEN 0::float8 "
            f"ELSE NULLIF(CAST({as_text} AS float8), 'NaN'::float8) END"
        )

    def quotient(self, above: str, below: str) -> str:
        """Within ±1e100, so that the next quotient does not underflow; LEAST ignores the NULL of a zero."""
        return f"GREATEST(LEAST({above} / NULLIF({below}, 0), 1e100::float8), -1e100::float8)"

    def settled(self, value: str) -> str:
        """A number below 1e-40 is lost in the sum."""
        return f"{value} + 1e-24::float8 - 1e-24::float8"

    def keep_all(self) -> str | None:
        """The row as a value."""
        return TABLE

    def unfold(self, kept: str) -> str:
        """The fields of the row that :meth:`keep_all` has kept."""
        return f"({kept}).*"


@final
class SQLite(Dialect):
    """SQLite: a cell of any column may hold a number or text."""

    title = "SQLite"
    fence = " LIMIT -1 OFFSET 0"
    most_columns = 2000
    most_whole = 2**63 - 1
    most_dim = (24, 12)
    most_dim_reason = "for the depths of expressions add up to 1,000 at most"
    _infinity = "9e999"
    _character = "char"
    greatest_name = "MAX"
    least_name = "MIN"

    def boolean(self, value: bool) -> str:
        """1 or 0, as SQLite stores them."""
        return str(int(value))

    def number_cell(self, column: str) -> str:
        """Text is missing, for a cast would read it as 0."""
        return f"CASE WHEN typeof({column}) IN ('integer', 'real') THEN CAST({column} AS REAL) END"

    def text_cell(self, column: str) -> str:
        """Expression of a cell as text that is compared byte by byte."""
        return f"CAST({column} AS TEXT) COLLATE BINARY"

    def mixed_cell(self, column: str) -> tuple[str, str]:
        """SQLite knows of every cell what it is."""
        return self.number_cell(column), f"CASE WHEN typeof({column}) = 'text' THEN {column} END COLLATE BINARY"

    def keep_all(self) -> str | None:
        """Nothing: SQLite has no rows as values."""
        return None

    def unfold(self, kept: str) -> str:
        """All columns of the table itself."""
        return f"{TABLE}.*"


def check_dim(dialect: Dialect, dim: int, explain: bool) -> None:
    """Refuse matrices that are too large for a database."""
    most = dialect.most_dim
    if most is not None and dim > most[explain]:
        smaller = f"without explain it takes {most[0]}" if explain and dim <= most[0] else "fit with a smaller dim"
        raise ValueError(
            f"{dialect.title} takes matrices of up to {most[explain]} rows{' with explain=True' if explain else ''}, "
            f"{dialect.most_dim_reason}; this model has dim={dim}: {smaller}, or export to C or ONNX"
        )


DIALECTS: dict[str, Dialect] = {"duckdb": DuckDB(), "postgresql": PostgreSQL(), "sqlite": SQLite()}


def dialect_of(name: str) -> Dialect:
    """The dialect of this name."""
    if not isinstance(name, str) or name not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(map(repr, DIALECTS))}; got {name!r}")
    return DIALECTS[name]


def _sayable(text: str, what: str) -> str:
    """Refuse what no database can store."""
    if not text and what == "the name":
        raise ValueError("a column has an empty name, which SQL cannot hold: rename it before the fit")
    if "\0" in text:
        raise ValueError(f"{what} {text!r} contains a NUL character, which SQL cannot hold: rename it before the fit")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"{what} {text!r} contains half of a surrogate pair, which SQL cannot hold: rename it before the fit"
        ) from None
    return text
