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
from collections import Counter
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import typer

from lambdak.atomic import write_bytes
from lambdak.cli.errors import InputError, listed, meant
from lambdak.cli.outputs import check_output

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
    arrow, data = _pyarrow(), _bytes(path)
    form = format_of(path, given)
    if not data.strip():
        raise InputError(f"{path} is empty: a table needs a header and rows")
    try:
        table = {Format.CSV: _csv, Format.PARQUET: _parquet, Format.JSONL: _jsonl}[form](data, text)
    except (arrow.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as {form.value}: {_reason(error, data, form)}") from error
    _check(table, path)
    return _with_text(table, text)


def made(columns: dict[str, Any]) -> Any:
    """A pyarrow table of these columns."""
    return _pyarrow().table(columns)


def check_out(path: str) -> None:
    """Refuse a table that cannot be written to --out, before the work is done rather than after it."""
    if path != STREAM:
        format_of(path, way_out="")
        check_output(path, "--out")


def write(table: Any, path: str) -> None:
    """Write a table of any library to a file, as a whole or not at all, or to standard output for "-"."""
    form = format_of(path)
    arrow = nw.from_native(table, eager_only=True).to_arrow()
    data = {Format.CSV: _to_csv, Format.PARQUET: _to_parquet, Format.JSONL: _to_jsonl}[form](arrow)
    if path == STREAM:
        stream = typer.get_binary_stream("stdout")
        stream.write(data)
        stream.flush()
    else:
        write_bytes(path, gzip.compress(data, mtime=0) if path.endswith(".gz") else data)


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
    if path == STREAM:
        data = typer.get_binary_stream("stdin").read()
    else:
        try:
            data = Path(path).read_bytes()
        except FileNotFoundError as error:
            raise InputError(f"there is no file {path}{_neighbour(path)}") from error
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def _neighbour(path: str) -> str:
    """The file of the same folder whose name is closest."""
    folder = Path(path).parent
    names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
    close = get_close_matches(Path(path).name, names, n=1, cutoff=_CLOSE)
    return f". Did you mean {folder / close[0]}?" if close else ""


def _csv(data: bytes, text: Collection[str]) -> Any:
    arrow, reader = _pyarrow(), _pyarrow("pyarrow.csv")
    if data[:2] in _UTF16:
        data = data.decode("utf-16").encode()
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


def _reason(error: Exception, data: bytes, form: Format) -> str:
    """What is wrong, with the line if it can be found."""
    if form is Format.CSV:
        return _broken_row(data) or str(error)
    if form is Format.JSONL:
        return _broken_object(data) or str(error).removeprefix("JSON parse error: ")
    return str(error).replace(" '<Buffer>'", "")


def _broken_row(data: bytes) -> str | None:
    reader = csv.reader(io.StringIO(data.decode("utf-8", "replace")), delimiter=_separator(data))
    header = next(reader)
    for cells in reader:
        if cells and len(cells) != len(header):
            counted = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
            return f"line {reader.line_num} has {counted}, but the header has {len(header)}"
    return None


def _broken_object(data: bytes) -> str | None:
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        try:
            if line.strip() and not isinstance(json.loads(line), dict):
                return f"line {number} is not an object such as " + '{"age": 31, "income": 52000}'
        except json.JSONDecodeError as error:
            return f"line {number} is not JSON: {error.msg} at column {error.colno}"
    return None


def csv_text(names: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Rows below the names of their columns; a missing cell is empty.

    >>> csv_text(["x", "y"], [[1, "a,b"], [None, 2.5]]).splitlines()
    ['x,y', '1,"a,b"', ',2.5']
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue()


def _to_csv(table: Any) -> bytes:
    cells = (each.to_pylist() for each in table.columns)
    return csv_text(table.column_names, zip(*cells, strict=True)).encode()


def _to_parquet(table: Any) -> bytes:
    sink = io.BytesIO()
    _pyarrow("pyarrow.parquet").write_table(table, sink)
    return sink.getvalue()


def _to_jsonl(table: Any) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows(table)).encode()
