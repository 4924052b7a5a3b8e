"""Tables as an Excel workbook: a summary, and a sheet for each table. Names and levels are text, never formulas."""

from __future__ import annotations

import io
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lambdak.atomic import write_bytes
from lambdak.governance.tables.factor_table import SEEN, FactorTable
from lambdak.governance.tables.written import plain_cell
from lambdak.table.visible import visible

if TYPE_CHECKING:
    from lambdak.governance.tables.table_set import TableSet

_FORBIDDEN = re.compile(r"[\[\]:*?/\\\x00-\x1f]")
_LONGEST_NAME = 31  # characters of the name of a sheet
_LONGEST_TEXT = 32_767  # of a cell
_MOST_WHOLE = 10**15  # a number with more digits is rounded by Excel, and is written as text
_WIDEST = 48  # characters of a column of a sheet
_HEAD = "FF0072B2"
_FORMATS = {"exposure": "#,##0.0", "observed": "0.0000", "expected": "0.0000", "model": "0.0000", "points": "0.##"}


def write_workbook(tables: TableSet, path: str | os.PathLike[str]) -> None:
    """Write the workbook, as a whole or not at all."""
    try:
        from openpyxl import Workbook
    except ImportError as error:
        raise ImportError("an Excel file needs openpyxl: pip install 'lambdak[excel]'") from error
    book = Workbook()
    book.remove(book.active)
    names = sheet_names([table.name for table in tables], taken=["Summary", *(name for name, _ in tables.sheets())])
    _summary(book.create_sheet("Summary"), tables, names)
    for table, name in zip(tables, names, strict=True):
        _table(book.create_sheet(name), table, tables.value_name, tables.titles)
    for name, records in tables.sheets():
        _write(book.create_sheet(name), [list(records[0]), *(list(record.values()) for record in records)], {})
    buffer = io.BytesIO()
    book.save(buffer)
    write_bytes(path, buffer.getvalue())


def sheet_names(wanted: Sequence[str], taken: Iterable[str] = ()) -> list[str]:
    """Names that Excel takes, none of them twice: it does not tell upper from lower case.

    >>> sheet_names(["a/b", "A_b", "History"])
    ['a_b', 'A_b (2)', 'History_']
    """
    used, found = {"", *(name.lower() for name in taken)}, []
    for name in wanted:
        plain = _FORBIDDEN.sub("_", visible(name))[:_LONGEST_NAME].strip("' ")
        plain = f"{plain}_" if plain.lower() == "history" else plain
        chosen, count = plain, 1
        while chosen.lower() in used:
            count += 1
            chosen = f"{plain[: _LONGEST_NAME - 6]} ({count})".strip()
        used.add(chosen.lower())
        found.append(chosen)
    return found


def _summary(sheet: Any, tables: TableSet, names: Sequence[str]) -> None:
    """How to use the tables, the base, the proof, and where each table is."""
    lines: list[list[Any]] = [[line.strip()] for line in tables.heading()]
    lines += [[], ["name", "value"], *([name, value] for name, value in tables.summary().items())]
    lines += [[], ["a row with the largest deviation found", ""]]
    worst = tables.deviation.worst_row.items()
    lines += [[name, "missing" if cell is None else plain_cell(cell)] for name, cell in worst]
    lines += [[], ["table", "sheet"], *([table.name, name] for table, name in zip(tables, names, strict=True))]
    heads = {i for i, line in enumerate(lines, 1) if i > 1 and not lines[i - 2]}
    _write(sheet, lines, {}, heads)
    sheet.column_dimensions["A"].width = _WIDEST
    sheet.freeze_panes = None


def _table(sheet: Any, table: FactorTable, what: str, titles: Mapping[str, str]) -> None:
    if table.value.ndim == 1:
        names = ["row", "from", "to below", what, *SEEN]
        if table.form != "bands":
            names = ["row", what, *SEEN]
        rows = [_line(table, i, names, what) for i in range(len(table.value))]
        heads = [titles.get(name, name) for name in names]
        formats = {at: _format(name) for at, name in enumerate(names, 1)}
        _write(sheet, [[visible(table.name)], heads, *rows], formats, {2})
        return
    lines: list[list[Any]] = [[visible(table.name)]]
    marked = set()
    for name, values in ((what, table.value), *((titles[name], getattr(table, name)) for name in SEEN)):
        if np.isnan(values).all():
            continue
        marked.add(len(lines) + 1)
        lines.append([name, *(row.label for row in table.sides[1])])
        lines += [[label, *values_of_row] for label, values_of_row in zip(table.labels, values.tolist(), strict=True)]
        lines.append([])
    _write(sheet, lines, dict.fromkeys(range(2, 2 + len(table.sides[1])), "0.0000"), marked)


def _line(table: FactorTable, i: int, names: Sequence[str], what: str) -> list[Any]:
    row = table.sides[0][i]
    record = {"row": row.label, "from": row.low, "to below": row.high, what: float(table.value[i])}
    return [record[name] if name in record else float(getattr(table, name)[i]) for name in names]


def _format(name: str) -> str:
    return _FORMATS.get(name, "0.0000" if name not in ("row", "from", "to below") else "General")


def _write(sheet: Any, lines: Sequence[Sequence[Any]], formats: dict[int, str], heads: set[int] | None = None) -> None:
    from openpyxl.styles import Font, PatternFill

    heads = {1} if heads is None else heads
    for at, line in enumerate(lines, 1):
        for column, value in enumerate(line, 1):
            cell = sheet.cell(at, column)
            _set_(cell, value)
            if isinstance(value, float):
                cell.number_format = formats.get(column, "General")
            if at in heads:
                cell.font, cell.fill = Font(bold=True, color="FFFFFFFF"), PatternFill("solid", fgColor=_HEAD)
            elif at == 1:
                cell.font = Font(bold=True, size=13)
    _fit_(sheet, lines, heads)


def _set_(cell: Any, value: Any) -> None:
    """A number, or text that stays text: what begins with '=' is no formula."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return
    if isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < _MOST_WHOLE):
        cell.value = value
        return
    text = visible(str(value))[:_LONGEST_TEXT]
    cell.value = text
    cell.data_type = "s"
    if text[:1] in ("=", "+", "-", "@", "'"):
        cell.quotePrefix = True


def _fit_(sheet: Any, lines: Sequence[Sequence[Any]], heads: set[int]) -> None:
    """Columns as wide as what is in them, and headings that stay in sight."""
    from openpyxl.utils import get_column_letter

    body = [line for line in lines if len(line) > 1]
    for column in range(1, 1 + max(map(len, body), default=1)):
        cells = [line[column - 1] for line in body if len(line) >= column]
        width = max(len(f"{cell:.6g}" if isinstance(cell, float) else str(cell)) for cell in cells)
        sheet.column_dimensions[get_column_letter(column)].width = min(_WIDEST, 3 + width)
    if heads:
        sheet.freeze_panes = f"B{min(heads) + 1}"
