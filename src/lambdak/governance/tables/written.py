"""Tables in files: one JSON document with a published schema, and CSV."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lambdak.atomic import building, write_text
from lambdak.governance.tables.factor_table import SEEN, FactorTable
from lambdak.governance.tables.factors import Row
from lambdak.table.category_levels import OTHER
from lambdak.table.visible import inert

if TYPE_CHECKING:
    from lambdak.governance.tables.table_set import TableSet

FORMAT, VERSION = "lambdak factor tables", 1


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of what ``to_json`` writes."""
    found: dict[str, Any] = json.loads(files(__package__).joinpath("schema.json").read_text("utf-8"))
    return found


def as_document(tables: TableSet) -> dict[str, Any]:
    """Everything as plain data that JSON can hold; numbers that are not known are null."""
    single = [_table(table, tables.value_name) for table in tables if len(table.columns) == 1]
    double = [_pair(table, tables.value_name) for table in tables if len(table.columns) == 2]
    deviation = tables.deviation
    proof = {
        **{
            name: getattr(deviation, name)
            for name in ("proven", "above", "below", "attained", "observed", "mean", "how")
        },
        "within_range": list(deviation.within_range),
        "whole": list(deviation.whole),
        "worst_row": {name: plain_cell(cell) for name, cell in deviation.worst_row.items()},
    }
    head = {"format": FORMAT, "version": VERSION, "value": tables.value_name}
    found: dict[str, Any] = _finite({**head, **tables.head(), "tables": single, "two_way": double, "deviation": proof})
    return found


def _table(table: FactorTable, what: str) -> dict[str, Any]:
    rows = [
        {**_row(row), what: float(table.value[i]), **{name: float(getattr(table, name)[i]) for name in SEEN}}
        for i, row in enumerate(table.sides[0])
    ]
    return {
        "column": table.columns[0],
        "form": table.form,
        "beyond": table.beyond,
        "monotone": table.sign,
        "rows": rows,
    }


def _pair(table: FactorTable, what: str) -> dict[str, Any]:
    numbers = {what: table.value.tolist(), **{name: getattr(table, name).tolist() for name in SEEN}}
    sides = [list(map(_row, side)) for side in table.sides]
    return {"columns": list(table.columns), "rows": sides[0], "across": sides[1], **numbers}


def _row(row: Row) -> dict[str, Any]:
    ends = {"low": row.low, "high": row.high} if row.kind in ("band", "knot") else {}
    level = {"level": row.level} if row.kind == "level" else {}
    return {"kind": row.kind, "label": row.label, **ends, **level}


def plain_cell(cell: Any) -> Any:
    """A cell of a row as a file holds it: a number, text, None if it is missing."""
    return "any other level" if cell is OTHER else cell


def _finite(value: Any) -> Any:
    """Plain data with None instead of numbers that JSON does not have."""
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_json(tables: TableSet, path: str | os.PathLike[str] | None) -> str:
    """The document as text, and into a file if there is a path."""
    text = json.dumps(as_document(tables), indent=1, ensure_ascii=False, allow_nan=False)
    if path is not None:
        write_text(path, text + "\n")
    return text


def write_csv(tables: TableSet, path: str | os.PathLike[str]) -> None:
    """One file with all tables of single columns, or a folder with the summary and a file for each table."""
    target = Path(path)
    single = [record for table in tables if len(table.columns) == 1 for record in table.records(tables.value_name)]
    if target.suffix.lower() == ".csv":
        if any(len(table.columns) == 2 for table in tables):
            raise ValueError(
                f"one CSV file holds tables of single columns, and there are two-way tables: give a folder instead of "
                f"{os.fspath(path)!r}"
            )
        write_text(target, _csv(single))
        return
    with building(target) as folder:
        write_text(folder / "summary.csv", _csv([{"name": k, "value": v} for k, v in tables.summary().items()]))
        for name, table in zip(file_names(tables), tables, strict=True):
            write_text(folder / f"{name}.csv", _csv(table.records(tables.value_name)))


def file_names(tables: TableSet) -> list[str]:
    """A name for the file of each table that every system takes, and none twice: its position, then its letters."""
    return [f"{i:02d}-{re.sub(r'[^0-9A-Za-z]+', '-', table.name).strip('-')[:40]}" for i, table in enumerate(tables, 1)]


def _csv(records: list[dict[str, Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows([{name: _cell(cell) for name, cell in record.items()} for record in records])
    return buffer.getvalue()


def _cell(value: Any) -> Any:
    """Numbers with all their digits; what is not known is empty, and no text is a formula."""
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else inert(value)
