"""``--constraint "Valley(age, at=45)"``: shapes as they are typed, and what a shell completes them to."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from lambdak.shapes import Shape

OPTION = "--constraint"
_MOST_HEADER = 1 << 20  # bytes of a file that its header is looked for in
_LAST = re.compile(
    r"""(.*?[\[({,:])\s*(['"]?)([^][(){},:='"]*)""", re.DOTALL
)  # what is open, a quote, a word's beginning


def read_constraints(values: Iterable[str]) -> list[Shape]:
    """Return the shapes of the option, in order."""
    from lambdak.shapes.spelling import read_shape

    found = []
    for value in values:
        try:
            found.append(read_shape(value))
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint=OPTION) from None
    return found


def named_columns(shapes: Iterable[Shape]) -> list[str]:
    """Return the columns that shapes name by name."""
    return [key for key in chain(*(shape.keys for shape in shapes)) if isinstance(key, str)]


def complete_constraint(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return what a constraint may become: names of shapes, then columns of the table if that is typed already.

    A shell closes the quotes of what can only become one thing: so that is a whole shape where possible.
    """
    from lambdak.shapes.registry import SHAPES

    known = column_names(_table(ctx))
    begun = [f"{name}(" for name in SHAPES if name.startswith(incomplete)]
    if len(begun) > 1 or (begun and not known):
        return begun
    inside = _LAST.fullmatch(*begun or (incomplete,))
    if inside is None:
        return []
    before, quote, word = inside.groups()
    return [_closed(before + _quoted(name, quote)) for name in known if name.startswith(word)]


def _closed(text: str) -> str:
    """Return a constraint with its last bracket, if it then is one."""
    from lambdak.shapes.spelling import read_shape

    try:
        read_shape(f"{text})")
    except ValueError:
        return text
    return f"{text})"


def _table(ctx: typer.Context) -> str:
    """Return the table of an unfinished command; it is left over where the last option has no value yet."""
    return str(ctx.params.get("table") or next(iter(ctx.args), ""))


def _quoted(name: str, quote: str) -> str:
    """Return the name as a constraint may hold it."""
    from lambdak.shapes.spelling import is_plain

    if quote and quote not in name and "\\" not in name:
        return f"{quote}{name}{quote}"
    return name if is_plain(name) and not quote else repr(name)


def column_names(path: str) -> Sequence[str]:
    """Return the columns of a file, read off its beginning; none if it cannot be read, which is no error here."""
    from lambdak.cli.tables import Format, arrow, format_of, separator_of

    try:
        if not Path(path).is_file():
            return []
        form = format_of(path)
        if form is Format.PARQUET:
            return list(arrow("pyarrow.parquet").read_schema(path).names)
        header = _first_line(path)
        if form is Format.JSONL:
            return list(json.loads(header))
        return next(csv.reader(io.StringIO(header.decode("utf-8-sig")), delimiter=separator_of(header)))
    except Exception:  # whatever a file may be: while somebody types, there is nothing to say about it
        return []


def _first_line(path: str) -> bytes:
    opened: Any = gzip.open if path.endswith(".gz") else open
    with opened(path, "rb") as file:
        line: bytes = file.readline(_MOST_HEADER)
        return line
