r"""Names in C, and the row that has them.

Names and texts in C: identifiers that compile, and literals and comments that nothing in them can end.

A row in C: a structure with one field per column, and how its fields become cells.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

from lambdak.eigen.lazy import cached_property
from lambdak.export.formula import is_double
from lambdak.table.category_levels import OTHER, shown
from lambdak.table.cell_rules import NumberRule
from lambdak.table.column_contract import Column
from lambdak.table.visible import visible

_LONGEST = 4095  # bytes of a string literal that C99 promises
_MOST = 40  # characters of an identifier: C99 promises that 63 count

# Words of C and C++, macros of their headers and of compilers, and what the generated files use themselves.
_TAKEN = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl complex concept const
    const_cast consteval constexpr constinit continue co_await co_return co_yield decltype default delete do double
    dynamic_cast else enum explicit export extern false far float for friend goto huge if imaginary inline int interface
    linux long mutable namespace near new noexcept not not_eq nullptr operator or or_eq private protected public
    register reinterpret_cast requires restrict return short signed sizeof small static static_assert static_cast struct
    switch template this thread_local throw true try typedef typeid typename typeof union unix unsigned using virtual
    void volatile wchar_t while xor xor_eq assert errno i386 math_errhandling max min offsetof signbit stderr stdin
    stdout BIG_ENDIAN BUFSIZ BYTE_ORDER DOMAIN EDOM EILSEQ EOF ERANGE FALSE HUGE INFINITY LITTLE_ENDIAN NAN NDEBUG NULL
    OVERFLOW PI PLOSS SING TLOSS TRUE UNDERFLOW I char8_t char16_t char32_t
    ALONE AT BLOCKS CATEGORY COLUMNS CURVE DIM EACH_LANE EPSILON EXPONENT_LIMIT GROUPS HIGHEST JOINT LANES LARGEST
    LARGEST_OFFSET LAST_STEP LAYERS LINE LOWEST MEMBERS MOST_PASSES MOST_READS NEAR OUTPUTS REPEATED RESCALE_EVERY
    RESULTS SCALE SIZE TINY TOLERANCE WIDTH
"""
_PREFIXES = r"(M|MATH|FP|FE|HUGE|DBL|FLT|LDBL|S?CHAR|UCHAR|U?SHRT|U?INT\w*|U?LONG|S?SIZE|SIG|W[A-Z]+|PTRDIFF)_"


def identifier(text: str) -> str:
    """A valid identifier that looks like the text.

    >>> [identifier(text) for text in ("median income", "9 lives", "int", "é", "__proto__")]
    ['median_income', 'x9_lives', 'int_', 'x', 'proto']
    """
    plain = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")[:_MOST].strip("_")
    plain = plain if plain[:1].isalpha() else f"x{plain}"
    taken = plain in _TAKEN.split() or (plain.isupper() and re.match(_PREFIXES, plain))
    return f"{plain}_" if taken else plain


def identifiers(texts: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """One for each, and no two of them equal, nor any of those that are taken.

    >>> identifiers(["a b", "a.b", "a_b_2", "a?b"])
    ['a_b', 'a_b_2', 'a_b_2_2', 'a_b_3']
    """
    found, used = [], set(taken)
    for text in texts:
        name, number = identifier(text), 1
        unique = name
        while unique in used:
            number += 1
            unique = f"{name}_{number}"
        used.add(unique)
        found.append(unique)
    return found


def literal(text: str) -> str:
    r"""A string literal of its UTF-8 bytes; octal escapes end after three digits, whatever follows.

    >>> print(literal('a"b\n1??/é'))
    "a\"b\0121\?\?/\303\251"
    """
    if "\0" in text:
        raise ValueError(
            f"the text {text!r} has a zero character, at which text in C ends: rename the column, the level or the "
            "class before the fit"
        )
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) > _LONGEST:
        raise ValueError(
            f"the text {text[:20]!r}… has {len(encoded):,} bytes, and C compilers need not take more than "
            f"{_LONGEST:,}: shorten the name or the level before the fit"
        )
    return '"' + "".join(map(_byte, encoded)) + '"'


def _byte(code: int) -> str:
    char = chr(code)
    if char in '"\\?':
        return f"\\{char}"
    return char if 32 <= code < 127 else f"\\{code:03o}"


def comment(text: str) -> str:
    """Text that neither ends a comment, nor begins one, nor is a trigraph.

    >>> print(comment("a */ b /* c ??/"))
    a * / b / * c ? ?/
    """
    shown = visible(text).encode("utf-8", "backslashreplace").decode("utf-8")
    return re.sub(r"(?<=\*)(?=/)|(?<=/)(?=\*)|(?<=\?)(?=\?)", " ", shown)


_LEVELS_SHOWN = 5


@final
@dataclass(frozen=True, eq=False)
class RowStructure:
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
        return (f"  {self.name.upper()}_COLUMN_{field} = {i}" for i, field in enumerate(self.names))

    def fields(self) -> Iterator[str]:
        """The fields, each with a comment."""
        for field, column in zip(self.names, self.columns, strict=True):
            kind = {"cell": f"{self.name}_cell ", "text": "const char *", "number": "double "}[_kind(column)]
            yield f"  {kind}{field}; /* {comment(f'{column.name!r}: {_meaning(column)}')} */"

    def reading(self) -> Iterator[str]:
        """The statements that turn a row into cells."""
        for i, (field, column) in enumerate(zip(self.names, self.columns, strict=True)):
            cell = f"row->{field}"
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
    levels = [repr(shown(level)) for level in rule.levels if level is not None and level is not OTHER]
    more = f" and {len(levels) - _LEVELS_SHOWN} more" if len(levels) > _LEVELS_SHOWN else ""
    others = "the rare ones" if OTHER in rule.levels else "their average"
    missing = "" if rule.missing != rule.unseen else ", and counts as another"
    return f"a level: {', '.join(levels[:_LEVELS_SHOWN])}{more}; others count as {others}; {gap} is missing{missing}"
