"""Parquet files of any size, in batches: one file, a folder of them, or a dataset of pyarrow."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lambdak.table.large.batches import ROWS_AT_ONCE, Batches, ChangedSourceError, ahead

_BUFFER = 1 << 16  # bytes of a column read at once: without it a whole row group, however long, is read
_SUFFIXES = (".parquet", ".pq", ".parq")
_UNNAMED_INDEX = re.compile(
    r"__index_level_\d+__"
)  # what pandas calls its index in a file, and reads as none of its columns


@dataclass(frozen=True)
class _File:
    """A file, and what the folders above it say about all of its rows."""

    path: str
    filesystem: Any
    partition: dict[str, Any]


class ParquetBatches(Batches):
    """The rows of Parquet files, one file after the other.

    A file that changes, or one that comes or goes in the ``folder``, ends a pass with an error.
    """

    def __init__(self, files: list[_File], schema: Any, folder: Path | None = None) -> None:
        super().__init__()
        self._files, self._schema, self._folder = files, schema, folder
        self._states = [_state(file) for file in files]
        self.column_names = tuple(name for name in schema.names if not _UNNAMED_INDEX.fullmatch(name))
        self._lengths: list[int] = []  # rows of each file, as it says
        for file in files:
            source = _opened(file)
            _check_schema(file, source.schema_arrow, schema, self.column_names)
            self._lengths.append(source.metadata.num_rows)
        self.n_rows = sum(self._lengths)
        self.fingerprint = _fingerprint(files, self._states, schema)

    def some_columns(self, names: Sequence[str]) -> ParquetBatches:
        """All rows with these columns only, of which alone the files are read."""
        other = copy(self)
        other.column_names = tuple(names)
        return other

    def read(self) -> Iterator[tuple[str, Any]]:
        """Batches of at most ROWS_AT_ONCE rows; the next one is read while one is used."""
        return ahead(self._read())

    def _read(self) -> Iterator[tuple[str, Any]]:
        import pyarrow as pa

        for file, state, length in zip(self._files, self._states, self._lengths, strict=True):
            _check_same(file, state)
            source, read = _opened(file), 0
            wanted = [name for name in self.column_names if name not in file.partition]
            with _readable(file.path):
                for batch in source.iter_batches(ROWS_AT_ONCE, columns=wanted, use_threads=False):
                    yield file.path, self._completed(pa.Table.from_batches([batch]), file)
                    read += batch.num_rows
            _check_same(file, state)
            if read != length:
                raise ValueError(f"{file.path} says that it has {length} rows, and holds {read}: write it again")
        if self._folder is not None:
            _check_listing(self._folder, [file.path for file in self._files])

    def _completed(self, table: Any, file: _File) -> Any:
        """The columns in their order, with those that the folders stand for."""
        import pyarrow as pa

        for name, value in file.partition.items():
            kind = self._schema.field(name).type
            table = table.append_column(name, pa.repeat(pa.scalar(value, kind), table.num_rows))
        return table.select(list(self.column_names))


class DatasetBatches(Batches):
    """Any other dataset of pyarrow, such as one with a filter: its row groups are read as a whole."""

    def __init__(self, dataset: Any) -> None:
        super().__init__()
        self._dataset, self.column_names = dataset, tuple(dataset.schema.names)
        self._files = [_File(path, dataset.filesystem, {}) for path in getattr(dataset, "files", ())]
        self._states = [_state(file) for file in self._files]

    def read(self) -> Iterator[tuple[str, Any]]:
        """Batches of at most ROWS_AT_ONCE rows; the next one is read while one is used."""
        return ahead(self._read())

    def _read(self) -> Iterator[tuple[str, Any]]:
        import pyarrow as pa

        scan = self._dataset.to_batches(
            batch_size=ROWS_AT_ONCE, batch_readahead=1, fragment_readahead=1, use_threads=False
        )
        self._check_same()
        try:
            with _readable("the dataset"):
                for number, batch in enumerate(scan):
                    yield f"batch {number} of the dataset", pa.Table.from_batches([batch])
        except ValueError:
            self._check_same()  # a file that was replaced cannot be read with what is known of the old one
            raise
        self._check_same()

    def _check_same(self) -> None:
        for file, state in zip(self._files, self._states, strict=True):
            _check_same(file, state)


def path_batches(path: str | os.PathLike[str]) -> ParquetBatches:
    """The batches of a Parquet file, or of all such files in a folder and the folders in it, sorted by name."""
    dataset, where = _arrow_dataset(), os.fspath(path)
    if "://" in where:
        with _readable(where):
            return _parquet_batches(dataset.dataset(where, format="parquet", partitioning="hive"))
    if not Path(where).exists():
        raise FileNotFoundError(f"X must be the path of a Parquet file or of a folder of them; {where} does not exist")
    if not Path(where).is_dir():
        with _readable(where):
            return _parquet_batches(dataset.dataset([where], format="parquet"))
    files = _listed(Path(where))
    if not files:
        raise ValueError(f"{where} must hold Parquet files (*.parquet); got none")
    with _readable(where):
        found = dataset.dataset(files, format="parquet", partitioning="hive", partition_base_dir=where)
    return _parquet_batches(found, Path(where))


def dataset_batches(dataset: Any) -> Batches:
    """The batches of a dataset of pyarrow."""
    plain = hasattr(dataset, "files") and getattr(dataset.format, "default_extname", "") == "parquet"
    if plain and not getattr(dataset, "_scan_options", None):
        return _parquet_batches(dataset)
    if type(dataset).__name__ not in ("FileSystemDataset", "UnionDataset"):
        raise TypeError(f"X is a dataset in memory ({type(dataset).__name__}): give X.to_table(), an ordinary table")
    return DatasetBatches(dataset)


def _listed(folder: Path) -> list[str]:
    """Return the Parquet files of a folder and of folders in it, sorted; what looks like one and is none is refused."""
    visible = [path for path in folder.rglob("*") if not _is_hidden(path, folder)]
    for path in visible:
        _check_followed(path, folder)
    return sorted(str(path) for path in visible if path.suffix.lower() in _SUFFIXES and path.is_file())


def _is_hidden(path: Path, folder: Path) -> bool:
    """Whether a name begins with _ or ., as those of metadata and of unfinished files do."""
    return any(part.startswith(("_", ".")) for part in path.relative_to(folder).parts)


def _check_followed(path: Path, folder: Path) -> None:
    """Refuse rows that would be missing without a word: those behind links, or of what is no file."""
    if path.is_symlink() and path.is_dir():
        advice = f"put its files into {folder}, or give a pyarrow.dataset of all of them"
        raise ValueError(f"{path} is a link to another folder, which is not followed: {advice}")
    if path.suffix.lower() in _SUFFIXES and not (path.is_file() or path.is_dir()) and os.path.lexists(path):
        what = "a link that leads nowhere" if path.is_symlink() else "no regular file"
        raise ValueError(f"{path} must be a Parquet file; it is {what}: remove it, or write it again")


def _parquet_batches(dataset: Any, folder: Path | None = None) -> ParquetBatches:
    keys = _arrow_dataset().get_partition_keys
    files = [
        _File(each.path, each.filesystem, dict(keys(each.partition_expression))) for each in dataset.get_fragments()
    ]
    return ParquetBatches(files, dataset.schema, folder)


def _arrow_dataset() -> Any:
    try:
        from pyarrow import dataset
    except ImportError as error:
        raise ImportError('reading Parquet needs pyarrow: pip install "lambdak[tables]"') from error
    return dataset


def _opened(file: _File) -> Any:
    from pyarrow.parquet import ParquetFile

    with _readable(file.path):
        return ParquetFile(file.filesystem.open_input_file(file.path), pre_buffer=False, buffer_size=_BUFFER)


@contextmanager
def _readable(path: str) -> Iterator[None]:
    """Name the file that cannot be read."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        advice = "write it as Parquet, or give batches of its rows"
        raise ValueError(f"{path} cannot be read as Parquet: {advice} ({reason})") from error


def _check_schema(file: _File, found: Any, wanted: Any, names: tuple[str, ...]) -> None:
    """Refuse a file that lacks columns of the first, has others, or has some that hold something else."""
    known, here = {*names}, {*found.names}  # of thousands of columns
    more = [name for name in found.names if name not in known and not _UNNAMED_INDEX.fullmatch(name)]
    if more:
        raise ValueError(f"{file.path} must have the columns of the first file; {more[0]!r} is not among {list(names)}")
    for name in names:
        if name in file.partition:
            continue
        if name not in here:
            raise ValueError(
                f"{file.path} must have the columns of the first file; {name!r} is not among {found.names}"
            )
        type_, first = found.field(name).type, wanted.field(name).type
        if None not in (_family(type_), _family(first)) and _family(type_) != _family(first):
            raise ValueError(
                f"column {name!r} of {file.path} must be {first}, as in the first file; got {type_}: write it again"
            )


def _family(kind: Any) -> str | None:
    """What a type holds: types that can be mixed are one family, and one without any cells is None."""
    from pyarrow import types

    if types.is_null(kind):
        return None
    if types.is_dictionary(kind):
        return _family(kind.value_type)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    numbers = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    return "number" if any(each(kind) for each in numbers) else str(kind)


def _state(file: _File) -> tuple[int | None, int | None]:
    """Size and time of change of a file."""
    found = file.filesystem.get_file_info(file.path)
    return found.size, found.mtime_ns


def _check_same(file: _File, state: tuple[int | None, int | None]) -> None:
    now = _state(file)
    if now != state:
        what = "was removed" if now == (None, None) else "was changed"
        raise ChangedSourceError(f"{file.path} {what} during the fit: fit again while nothing writes to it")


def _check_listing(folder: Path, known: list[str]) -> None:
    new = sorted({os.path.realpath(path) for path in _listed(folder)} - {os.path.realpath(path) for path in known})
    if new:
        raise ChangedSourceError(f"{new[0]} was added during the fit: fit again while nothing writes to {folder}")


def _fingerprint(files: list[_File], states: list[tuple[int | None, int | None]], schema: Any) -> str:
    """A digest of paths, sizes, times of change and columns."""
    digest = hashlib.sha256(schema.remove_metadata().to_string().encode())
    for file, state in zip(files, states, strict=True):
        where = os.path.realpath(file.path)
        digest.update(repr((where, *state, sorted(file.partition.items()))).encode())
    return digest.hexdigest()
