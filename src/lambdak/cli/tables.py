"""Tables read from files: CSV, Parquet and JSON lines.

pyarrow reads and writes all of them, whatever else is installed, so that a file has the same types everywhere. It
does so without threads of its own: where it has some, the process now and then aborts at its end, when all is done
(apache/arrow#34314).
"""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Collection, Iterable
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import typer

from lambdak.cli.errors import InputError, listed, note
from lambdak.cli.outputs import check_output
from lambdak.cli.plain_files import STREAM, csv_reason, jsonl_reason, not_text, parquet_reason, plain_file, too_deep
from lambdak.table.close_names import meant

_SEPARATORS = (",", ";", "\t", "|")
_SUFFIXES = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet",
             ".jsonl": "jsonl", ".ndjson": "jsonl"}  # fmt: skip


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


def is_text_table(path: Path) -> bool:
    """Whether a file is a table of text by its name: CSV or JSON lines, perhaps compressed.

    >>> [is_text_table(Path(name)) for name in ("a.csv.gz", "a.jsonl", "a.parquet", "_SUCCESS")]
    [True, True, False, False]
    """
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    return _SUFFIXES.get(suffix, "parquet") != "parquet"


def read(path: str, given: Format | None = None, text: Collection[str] = ()) -> Any:
    """The pyarrow table in a file, or in standard input for "-"; the columns in ``text`` are read as text."""
    arrow()
    form = format_of(path, given)
    data = _bytes(path)
    check_beginning(data, path, form)
    if form is Format.JSONL and (reason := too_deep(data)) is not None:
        raise InputError(f"{path} cannot be read as {form.value}: {reason}")
    try:
        table = with_text({Format.CSV: _csv, Format.PARQUET: _parquet, Format.JSONL: _jsonl}[form](data, text), text)
    except Exception as error:  # whatever a library may say of bytes that are no table
        raise InputError(f"{path} cannot be read as {form.value}: {_reason(error, data, form)}") from error
    _check(table, path)
    return table


def check_beginning(data: bytes, path: str, form: Format) -> None:
    """Refuse data that are empty, or that should be text and are none."""
    if not data.strip():
        raise InputError(f"{path} is empty: a table needs a header and rows")
    reason = None if form is Format.PARQUET else not_text(data)
    if reason is not None:
        raise InputError(f"{path} cannot be read as {form.value}: {reason}")


def _reason(error: Exception, data: bytes, form: Format) -> str:
    if form is Format.CSV:
        return csv_reason(io.BytesIO(data), separator_of(data), error)
    return (jsonl_reason if form is Format.JSONL else parquet_reason)(data, error)


def made(columns: dict[str, Any]) -> Any:
    """A pyarrow table of these columns."""
    return arrow().table(columns)


def check_out(path: str) -> None:
    """Refuse a table that cannot be written to --out, before the work is done rather than after it."""
    if path != STREAM:
        format_of(path, way_out="")
        check_output(path, "--out")


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


def arrow(module: str = "pyarrow") -> Any:
    """A module of pyarrow, if that is installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError("reading and writing tables needs pyarrow: pip install 'lambdak[tables]'") from error


def _bytes(path: str) -> bytes:
    with plain_file(path) as file:
        return file.read()


def _csv(data: bytes, text: Collection[str]) -> Any:
    library, reader = arrow(), arrow("pyarrow.csv")
    convert = reader.ConvertOptions(strings_can_be_null=True, column_types=dict.fromkeys(text, library.string()))
    parse = reader.ParseOptions(delimiter=separator_of(data), newlines_in_values=True)
    alone = reader.ReadOptions(use_threads=False)
    return reader.read_csv(library.BufferReader(data), alone, parse, convert)


def separator_of(data: bytes) -> str:
    """The separator that the header has most of."""
    header = data.split(b"\n", 1)[0].decode("utf-8", "replace")
    return max(_SEPARATORS, key=header.count)


def _parquet(data: bytes, text: Collection[str]) -> Any:
    return arrow("pyarrow.parquet").read_table(arrow().BufferReader(data), use_threads=False, pre_buffer=False)


def _jsonl(data: bytes, text: Collection[str]) -> Any:
    reader = arrow("pyarrow.json")
    return reader.read_json(arrow().BufferReader(data), reader.ReadOptions(use_threads=False))


def with_text(table: Any, text: Collection[str]) -> Any:
    """The table with these of its columns as text."""
    library = arrow()
    for position, name in enumerate(table.column_names):
        if name in text:
            table = table.set_column(position, name, table.column(position).cast(library.string()))
    return table


def _check(table: Any, path: str) -> None:
    check_header(table.column_names, path)
    check_rows(table.num_rows, path)
    check_text(table.schema, path)


def check_header(names: Iterable[str], path: str) -> None:
    """Refuse a table in which a name occurs twice."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InputError(f"{path} has several columns called {listed(repeated)}: give each a name of its own")


def check_rows(rows: int, path: str) -> None:
    """Refuse a table without rows."""
    if not rows:
        raise InputError(f"{path} has a header but no rows")


def check_text(fields: Iterable[Any], path: str) -> None:
    """Refuse columns of bytes: text that is not UTF-8."""
    for field in fields:
        if "binary" in str(field.type):
            raise InputError(f"column {field.name!r} of {path} is not text in UTF-8: save the file as UTF-8")


LARGE = 1 << 30  # bytes of memory that a fit may take before rows are no longer all in memory: any machine has those
# Bytes of memory that a fit takes for each byte of a file, where all rows are in memory: measured on 20 columns, six of
# them text, were 3.0 of CSV, 3.2 of JSON lines, and 8.1 of Parquet that hardly compresses: most does twice as well.
_MEMORY_OF_A_BYTE = {Format.PARQUET: 16, Format.CSV: 4, Format.JSONL: 4}
_MEMORY_OF_A_CELL = 64  # the same for a cell of Parquet, however well it compresses: 51 measured of small whole numbers
_OF_GZIP = 5  # bytes that a byte of a compressed file stands for, at least
MEMORY = f"a fit that would take more than {LARGE >> 30} GiB of memory"


def is_large(path: str, given: Format | None, requested: bool | None) -> bool:
    """Whether a table is read batch by batch: as requested, or by its size; folders always are."""
    if Path(path).is_dir():
        if requested is False:
            raise InputError(f"{path} is a folder, whose files are never read as a whole: omit --no-large")
        return True
    if requested is not None or path == STREAM or not Path(path).is_file():
        return bool(requested)
    taken = _memory(path, format_of(path, given))
    if taken <= LARGE:
        return False
    note(
        f"{path} would take {taken / 1e9:,.1f} GB of memory: its rows are read in batches, and are not all in memory "
        "(or --no-large)"
    )
    return True


def _memory(path: str, form: Format) -> int:
    """Bytes that a fit takes where all rows of a file are in memory, estimated from its size and from what it says."""
    size = Path(path).stat().st_size
    if path.endswith(".gz"):
        return _MEMORY_OF_A_BYTE[form] * max(_OF_GZIP * size, _length_before_gzip(path))
    cells = _parquet_cells(path) if form is Format.PARQUET else 0
    return max(_MEMORY_OF_A_BYTE[form] * size, _MEMORY_OF_A_CELL * cells)


def _length_before_gzip(path: str) -> int:
    """What the end of a compressed file says of its length, modulo 2³²: some text is a hundred times as long."""
    with Path(path).open("rb") as file:
        file.seek(max(0, file.seek(0, io.SEEK_END) - 4))
        return int.from_bytes(file.read(), "little")


def _parquet_cells(path: str) -> int:
    """Rows times columns of a Parquet file; none of a file that is no such file, which is refused when it is read."""
    try:
        about = arrow("pyarrow.parquet").read_metadata(path)
    except (OSError, arrow().ArrowException):
        return 0
    return int(about.num_rows * about.num_columns)


def check_large_usage(large: bool, balance: bool, cache: Path | None) -> None:
    """Refuse options that do not belong to the way in which rows are read."""
    if large and balance:
        raise typer.BadParameter(
            "needs all rows in memory, and this table is read in batches: omit it, or add --no-large to a table that "
            "fits into memory",
            param_hint="--balance",
        )
    if cache is None:
        return
    if not large:
        raise typer.BadParameter("belongs to tables that are read in batches: add --large", param_hint="--cache")
    if not cache.is_dir() or not os.access(cache, os.W_OK):
        raise InputError(f"--cache must be a folder that exists and can be written to; got {cache}: mkdir -p {cache}")
