"""A query as a chain of steps: each is a SELECT from the one before, named in WITH."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lambdak._types import Float64Array
from lambdak.export.sql.dialects import Dialect

PREFIX = "lambdak_"  # of all names inside of the query, so that they are not the user's
_MOST_TERMS = 8  # of a sum without brackets: SQLite counts the depth of an expression
_MOST_TEXT = 400_000_000  # of numbers


class Script:
    """A query that is written step by step, and the name of its last step."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.last = ""
        self._steps: list[str] = []
        self._size = 0

    def select(
        self,
        name: str,
        columns: Mapping[str, str],
        *,
        join: str = "",
        end: str = "",
        source: str | None = None,
        stored: bool = False,
        notes: Mapping[str, str] | None = None,
    ) -> None:
        """Add a step: its columns are expressions over those of the last step, or of ``source``.

        ``stored`` steps are read more than once; ``notes`` are comments above a column.
        """
        self._check_width(len(columns))
        notes = notes or {}
        lines = [
            (f"-- {notes[alias]}\n    " if alias in notes else "")
            + (alias if alias == value else f"{value} AS {alias}")
            for alias, value in columns.items()
        ]
        body = f"SELECT\n    {_wrapped(lines)}\n  FROM {self.last if source is None else source}{join}{end}"
        fence = "" if stored else self.dialect.fence
        how = "AS MATERIALIZED" if stored else "AS"
        self._steps.append(f"{PREFIX}{name} {how} (\n  {body}{fence}\n)")
        self.last = PREFIX + name

    def repeat(self, name: str, first: Mapping[str, str], again: Mapping[str, str], condition: str) -> None:
        """Add a step that begins with the last one, and is repeated on its own rows while the condition is true."""
        self._check_width(len(first))
        parts = [", ".join(f"{value} AS {alias}" for alias, value in each.items()) for each in (first, again)]
        table = PREFIX + name
        body = (
            f"SELECT {parts[0]}\n  FROM {self.last}\n  UNION ALL\n  SELECT {parts[1]}\n  FROM {table} WHERE {condition}"
        )
        self._steps.append(f"{table} AS (\n  {body}\n)")
        self.last = table

    def values(self, name: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
        """Add a table of literals, and return its name; the last step stays the last one."""
        self._check_width(len(columns))
        lines = ["(" + ", ".join(row) + ")" for row in rows]
        self._size += sum(map(len, lines))
        if self._size > _MOST_TEXT:
            raise ValueError(
                f"the query would hold more than {_MOST_TEXT // 1_000_000:,} MB of numbers: fit with fewer members "
                "(n_estimators), a smaller dim, or fewer levels (max_categories)"
            )
        self._steps.append(f"{PREFIX}{name}({', '.join(columns)}) AS (VALUES\n  " + ",\n  ".join(lines) + "\n)")
        return PREFIX + name

    def numbers(
        self, name: str, keys: Sequence[str], columns: Sequence[str], rows: Iterable[tuple[Sequence[int], Float64Array]]
    ) -> str:
        """Add a table of whole numbers and of numbers, and return its name."""
        say = self.dialect.number
        if not self.dialect.lists or not columns:
            plain = ([*map(str, keys), *map(say, numbers.tolist())] for keys, numbers in rows)
            return self.values(name, [*keys, *columns], plain)
        # One text is parsed in a fraction of the time that literals take.
        packed = ([*map(str, keys), f"'{numbers.tolist()}'"] for keys, numbers in rows)
        texts = self.values(f"{name}_text", [*keys, "numbers"], packed)
        entries = [f"numbers[{i}]" for i in range(1, len(columns) + 1)]
        read = f"SELECT * REPLACE (CAST(numbers AS DOUBLE[]) AS numbers) FROM {texts}"
        self._steps.append(
            f"{PREFIX}{name}({', '.join([*keys, *columns])}) AS (\n  SELECT\n    {_wrapped([*keys, *entries])}\n"
            f"  FROM ({read})\n)"
        )
        return PREFIX + name

    def text(self, final: str) -> str:
        """The whole query."""
        return "WITH RECURSIVE\n" + ",\n".join(self._steps) + f"\n{final}\n"

    def _check_width(self, width: int) -> None:
        most = self.dialect.most_columns
        if most is not None and width > most:
            raise ValueError(
                f"a step of the query would have {width:,} columns, more than the {most:,} that {self.dialect.title} "
                "takes: fit with a smaller dim or fewer columns, or export to C or ONNX"
            )


def same(names: Iterable[str]) -> dict[str, str]:
    """Columns that pass through a step."""
    return {name: name for name in names}


def total(terms: Sequence[str]) -> str:
    """A sum that is not deep, however long it is; of nothing, 0."""
    while len(terms) > _MOST_TERMS:
        groups = [terms[i : i + _MOST_TERMS] for i in range(0, len(terms), _MOST_TERMS)]
        terms = ["(" + " + ".join(group) + ")" for group in groups]
    return " + ".join(terms) or "0"


def _wrapped(lines: list[str], width: int = 110) -> str:
    """Short columns share a line."""
    text, used = "", 0
    for i, line in enumerate(lines):
        comma = "," if i < len(lines) - 1 else ""
        alone = "\n" in line
        if text and (alone or used + len(line) > width):
            text, used = f"{text.rstrip()}\n    ", 0
        text, used = f"{text}{line}{comma} ", used + len(line) + 2
        if alone:
            used = width
    return text.rstrip()
