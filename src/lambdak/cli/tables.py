"""Tables as files: CSV, Parquet and JSON lines, in and out.

pyarrow reads and writes all of them, whatever else is installed, so that a file has the same types everywhere. It
does so without threads of its own: where it has some, the process now and then aborts at its end, when all is done
(apache/arrow#34314).
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections import Counter
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from enum import StrEnum
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import typer

from lambdak.atomic import write_bytes
from lambdak.cli.broken_tables import csv_reason, jsonl_reason, not_text, parquet_reason
from lambdak.cli.errors import InputError, listed, meant
from lambdak.cli.formulas import inert
from lambdak.cli.outputs import check_output
from lambdak.table.visible import visible_lines

STREAM = "-"
_SEPARATORS = (",", ";", "\t", "|")
_SUFFIXES = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet",
             ".jsonl": "jsonl", ".ndjson": "jsonl"}  # fmt: skip
_CLOSE = 0.75  # how alike the names of files must be
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Format(StrEnum):
    """How a table is written down."""

    CSV = "csv"
    PARQUET = "parquet"
    JSONL = "jsonl"


def format_of(path: str, given: Format | None = None, way_out: str = ", or --format csv") -> Format:
    """The requested format, or that of the suffix; a stream is CSV.

    >>> format_of("rows.csv.gz").value
    'csv'
    """
    if given or path == STREAM:
        return given or Format.CSV
    suffix = Path(path.removesuffix(".gz")).suffix.lower()
    if suffix not in _SUFFIXES:
        raise typer.BadParameter(
            f"{path!r} does not show its format: use a name that ends in {', '.join(_SUFFIXES)}{way_out}"
        )
    return Format(_SUFFIXES[suffix])


def read(path: str, given: Format | None = None, text: Collection[str] = ()) -> Any:
    """The pyarrow table in a file, or in standard input for "-"; the columns in ``text`` are read as text."""
    _pyarrow()
    form = format_of(path, given)
    data = _bytes(path)
    if not data.strip():
        raise InputError(f"{path} is empty: a table needs a header and rows")
    reason = None if form is Format.PARQUET else not_text(data)
    if reason is not None:
        raise InputError(f"{path} cannot be read as {form.value}: {reason}")
    try:
        table = _with_text({Format.CSV: _csv, Format.PARQUET: _parquet, Format.JSONL: _jsonl}[form](data, text), text)
    except Exception as error:  # whatever a library may say of bytes that are no table
        raise InputError(f"{path} cannot be read as {form.value}: {_reason(error, data, form)}") from error
    _check(table, path)
    return table


def _reason(error: Exception, data: bytes, form: Format) -> str:
    if form is Format.CSV:
        return csv_reason(data, _separator(data), error)
    return (jsonl_reason if form is Format.JSONL else parquet_reason)(data, error)


def made(columns: dict[str, Any]) -> Any:
    """A pyarrow table of these columns."""
    return _pyarrow().table(columns)


def check_out(path: str) -> None:
    """Refuse a table that cannot be written to --out, before the work is done rather than after it."""
    if path != STREAM:
        format_of(path, way_out="")
        check_output(path, "--out")


def write(table: Any, path: str, *, raw_text: bool = False) -> None:
    """Write a table of any library to a file, as a whole or not at all, or to standard output for "-".

    In CSV, text that a spreadsheet would run as a formula begins with an apostrophe, unless ``raw_text`` is set.
    """
    form = format_of(path)
    arrow = nw.from_native(table, eager_only=True).to_arrow()
    if form is Format.CSV:
        data = _to_csv(arrow, raw_text)
    else:
        data = {Format.PARQUET: _to_parquet, Format.JSONL: _to_jsonl}[form](arrow)
    if path == STREAM:
        _print(data)
    else:
        write_bytes(path, gzip.compress(data, mtime=0) if path.endswith(".gz") else data)


def _print(data: bytes) -> None:
    """Text to standard output: as it is for a program, and without what it would obey for a terminal."""
    stream = typer.get_binary_stream("stdout")
    stream.write(visible_lines(data.decode()).encode() if stream.isatty() else data)
    stream.flush()


def check_names(names: Iterable[str], table: Any, path: str, option: str) -> None:
    """Refuse names of columns that the table does not have, and say which it has."""
    known = table.column_names
    for name in names:
        if name not in known:
            raise InputError(
                f"{path} has no column {name!r}, which {option} names. {meant(name, known)}It has {listed(known)}"
            )


def rows(table: Any) -> Iterable[dict[str, Any]]:
    """The rows of a table as plain values, None where a cell is missing or not a number."""
    for row in nw.from_native(table, eager_only=True).iter_rows(named=True):
        yield {name: None if value != value else value for name, value in row.items()}


def _pyarrow(module: str = "pyarrow") -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError("reading and writing tables needs pyarrow: pip install 'lambdak[tables]'") from error


def _bytes(path: str) -> bytes:
    try:
        data = typer.get_binary_stream("stdin").read() if path == STREAM else Path(path).read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"there is no file {path}{_neighbour(path)}") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder: give the path of a table in it") from error
    try:
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be decompressed ({error}): compress it again") from error
    try:
        return data.decode("utf-16").encode() if data[:2] in _UTF16 else data
    except UnicodeDecodeError as error:
        raise InputError(f"{path} cannot be read: it begins as UTF-16, but is not: save it in UTF-8") from error


def _neighbour(path: str) -> str:
    """The file of the same folder whose name is closest."""
    folder = Path(path).parent
    names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
    close = get_close_matches(Path(path).name, names, n=1, cutoff=_CLOSE)
    return f". Did you mean {folder / close[0]}?" if close else ""


def _csv(data: bytes, text: Collection[str]) -> Any:
    arrow, reader = _pyarrow(), _pyarrow("pyarrow.csv")
    convert = reader.ConvertOptions(strings_can_be_null=True, column_types=dict.fromkeys(text, arrow.string()))
    parse = reader.ParseOptions(delimiter=_separator(data), newlines_in_values=True)
    alone = reader.ReadOptions(use_threads=False)
    return reader.read_csv(arrow.BufferReader(data), alone, parse, convert)


def _separator(data: bytes) -> str:
    """The separator that the header has most of."""
    header = data.split(b"\n", 1)[0].decode("utf-8", "replace")
    return max(_SEPARATORS, key=header.count)


def _parquet(data: bytes, text: Collection[str]) -> Any:
    return _pyarrow("pyarrow.parquet").read_table(_pyarrow().BufferReader(data), use_threads=False, pre_buffer=False)


def _jsonl(data: bytes, text: Collection[str]) -> Any:
    reader = _pyarrow("pyarrow.json")
    return reader.read_json(_pyarrow().BufferReader(data), reader.ReadOptions(use_threads=False))


def _with_text(table: Any, text: Collection[str]) -> Any:
    """The table with these of its columns as text."""
    arrow = _pyarrow()
    for position, name in enumerate(table.column_names):
        if name in text:
            table = table.set_column(position, name, table.column(position).cast(arrow.string()))
    return table


def _check(table: Any, path: str) -> None:
    repeated = [name for name, count in Counter(table.column_names).items() if count > 1]
    if repeated:
        raise InputError(f"{path} has several columns called {listed(repeated)}: give each a name of its own")
    if not table.num_rows:
        raise InputError(f"{path} has a header but no rows")
    for field in table.schema:
        if "binary" in str(field.type):
            raise InputError(f"column {field.name!r} of {path} is not text in UTF-8: save the file as UTF-8")


def csv_text(names: Iterable[str], rows: Iterable[Iterable[Any]], *, raw_text: bool = False) -> str:
    """Rows below the names of their columns; a missing cell is empty, and no text is a formula unless ``raw_text``.

    >>> csv_text(["x", "=y"], [[1, "a,b"], [None, 2.5]]).splitlines()
    ["x,'=y", '1,"a,b"', ',2.5']
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in chain([names], rows):
        writer.writerow(row if raw_text else map(inert, row))
    return text.getvalue()


def _to_csv(table: Any, raw_text: bool) -> bytes:
    cells = (each.to_pylist() for each in table.columns)
    return csv_text(table.column_names, zip(*cells, strict=True), raw_text=raw_text).encode()


def _to_parquet(table: Any) -> bytes:
    sink = io.BytesIO()
    _pyarrow("pyarrow.parquet").write_table(table, sink)
    return sink.getvalue()


def _to_jsonl(table: Any) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows(table)).encode()
