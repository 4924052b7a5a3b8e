r"""A row in C: a structure with one field per column, and how its fields become cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from lambdak.eigen.lazy import cached_property
from lambdak.export.c.names import comment, identifiers
from lambdak.export.formula import is_double
from lambdak.table.category_levels import OTHER, shown
from lambdak.table.cell_rules import NumberRule
from lambdak.table.column_contract import Column

_LEVELS_SHOWN = 5


@final
@dataclass(frozen=True, eq=False)
class Row:
    """The structure of a row, for a model of this name."""

    name: str
    columns: Sequence[Column]

    @cached_property
    def names(self) -> list[str]:
        """Names of the fields in C, one per column."""
        guard = f"{self.name.upper()}_H"  # the macro of the header
        return identifiers((column.name for column in self.columns), [guard])

    def positions(self) -> Iterator[str]:
        """An enumeration of the columns."""
        return (f"  {self.name.upper()}_COLUMN_{own} = {i}" for i, own in enumerate(self.names))

    def fields(self) -> Iterator[str]:
        """The fields, each with a comment."""
        for own, column in zip(self.names, self.columns, strict=True):
            kind = {"cell": f"{self.name}_cell ", "text": "const char *", "number": "double "}[_kind(column)]
            yield f"  {kind}{own}; /* {comment(f'{column.name!r}: {_meaning(column)}')} */"

    def reading(self) -> Iterator[str]:
        """The statements that turn a row into cells."""
        for i, (own, column) in enumerate(zip(self.names, self.columns, strict=True)):
            cell = f"row->{own}"
            text, number = f"{self.name}_level({i}, {cell}", f"{self.name}_number_level({i}, {cell}"
            if not column.is_number:
                cell = {
                    "text": f"{text})",
                    "number": f"{number})",
                    "cell": f"{cell}.text ? {text}.text) : {number}.number)",
                }[_kind(column)]
            yield f"  cells[{i}] = {cell};"


def check_levels(columns: Sequence[Column]) -> None:
    """Refuse levels that C cannot tell from others."""
    for column in columns:
        for level in column.known_levels:
            if isinstance(level, str) and "\0" in level:
                raise ValueError(
                    f"column {column.name!r} has the level {level!r}, but text in C ends at its first zero: rename the "
                    "level before the fit"
                )
            if isinstance(level, int) and not is_double(level):
                raise ValueError(
                    f"column {column.name!r} has the level {level}, which no double equals: convert the column to "
                    "strings before the fit"
                )


def _kind(column: Column) -> str:
    """What its cells are: "number", "text", or "cell" if some are text and some are numbers."""
    rule = column.rule
    if isinstance(rule, NumberRule):
        return "number"
    return "cell" if rule.take_numbers and rule.take_text else "number" if rule.take_numbers else "text"


def _meaning(column: Column) -> str:
    """What may be in a column, and what becomes of the rest."""
    gap, rule = "NULL" if _kind(column) == "text" else "NAN", column.rule
    if isinstance(rule, NumberRule):
        seen = f"a number, {rule.low:g} to {rule.high:g} in training"
        return f"{seen}; {gap} is missing" + ("" if rule.has_missing else f", and counts as {rule.median:g}")
    own = [repr(shown(level)) for level in rule.levels if level is not None and level is not OTHER]
    more = f" and {len(own) - _LEVELS_SHOWN} more" if len(own) > _LEVELS_SHOWN else ""
    others = "the rare ones" if OTHER in rule.levels else "their average"
    missing = "" if rule.missing != rule.unseen else ", and counts as another"
    return f"a level: {', '.join(own[:_LEVELS_SHOWN])}{more}; others count as {others}; {gap} is missing{missing}"
