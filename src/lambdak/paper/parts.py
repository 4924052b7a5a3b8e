"""A study on disk: what its folder holds, and one Parquet part per piece of work, written whole or not at all.

A study that was stopped continues with the parts that are missing. The folder holds ``study.json`` (its configuration),
``parts/`` and, once all parts are there, ``results.parquet`` with all their rows and the configuration as metadata.
"""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lambdak.atomic import write_bytes, write_text
from lambdak.paper.profiles import PROFILES
from lambdak.paper.protocols import study_command
from lambdak.paper.workers import run_calls

_CONFIG, _RESULTS = "study.json", "results.parquet"
_LONGEST_WRITE = 600.0  # seconds


@dataclass(frozen=True)
class Piece:
    """What becomes one part: its name, the number of its rows, and how they are made, in whichever process.

    ``make`` takes the number of threads of every call of the kernel; 0 is the process's setting.
    """

    name: str
    rows: int
    make: Callable[[int], pa.Table]


def run_pieces(
    folder: Path, config: Mapping[str, Any], pieces: Iterable[Piece], workers: int = 1, dask: str | None = None
) -> Iterator[tuple[int, int]]:
    """Make the parts that are missing, yielding (parts done, parts) whenever one is finished; then merge them all.

    Parameters
    ----------
    folder
        Of the study.
    config
        What the study is; a folder that holds something else is refused.
    pieces
        All of them, in the order of the results.
    workers
        Processes; each makes one part at a time with one thread, or with all of them if there is one worker.
    dask
        Address of a Dask scheduler whose workers do it instead. They must see the same files.
    """
    folder, pieces = folder.absolute(), list(pieces)
    yield from make_parts(folder, config, pieces, workers, dask)
    write_table(read_parts(folder, pieces), folder / _RESULTS)


def make_parts(
    folder: Path, config: Mapping[str, Any], pieces: Sequence[Piece], workers: int = 1, dask: str | None = None
) -> Iterator[tuple[int, int]]:
    """Make the parts that are missing, yielding (parts done, parts) whenever one is finished, without merging them.

    For a study whose further pieces depend on the results of these.
    """
    folder = folder.absolute()  # for workers who run elsewhere
    prepare_folder(folder, config)
    missing = [piece for piece in pieces if not is_whole(part_path(folder, piece.name), piece.rows)]
    done = len(pieces) - len(missing)
    yield done, len(pieces)
    threads = 1 if workers > 1 or dask else 0
    for _ in run_calls(_make_part, ((piece, folder, threads) for piece in missing), workers, dask):
        done += 1
        yield done, len(pieces)


def _make_part(piece: Piece, folder: Path, threads: int) -> None:
    write_table(piece.make(threads), part_path(folder, piece.name))


def study_folder(results: Path, name: str, profile: str | None) -> Path:
    """Where a study of this profile is, among all; with None, of the largest that is finished, or else begun."""
    if profile is not None:
        return results / f"{name}-{profile}"
    largest = [results / f"{name}-{each}" for each in reversed(PROFILES)]
    there = [folder for file in (_RESULTS, _CONFIG) for folder in largest if (folder / file).exists()]
    return (there or largest)[0]


def find_studies(results: Path, profile: str | None = None) -> list[Path]:
    """The folders of all studies that are there, of one profile each, as :func:`study_folder` chooses it."""
    names = {path.parent.name.rpartition("-")[0] for path in results.glob(f"*-*/{_CONFIG}")}
    folders = (study_folder(results, name, profile) for name in sorted(names))
    return [folder for folder in folders if (folder / _CONFIG).exists()]


def read_config(folder: Path) -> dict[str, Any]:
    """What the study in a folder is."""
    path = folder / _CONFIG
    if not path.exists():
        raise FileNotFoundError(f"{folder} holds no study: run `lambdak reproduce` first")
    return _parse_config(path)


def _parse_config(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text()))
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error}): remove the folder to run the study again") from error


def read_results(folder: Path) -> pa.Table:
    """All rows of a finished study of real data."""
    path = folder / _RESULTS
    if not path.exists():
        name, _, profile = folder.name.rpartition("-")
        command = f"{study_command(name)} --profile {profile}"
        raise FileNotFoundError(f"{folder} holds no finished study: run `{command}` to its end")
    return pq.read_table(path)


def prepare_folder(folder: Path, config: Mapping[str, Any]) -> None:
    """Write what the folder holds, with the library's version, or refuse to mix it with something else."""
    text = json.dumps({**config, "version": version("lambdak")}, indent=2)
    path = folder / _CONFIG
    if path.exists() and _parse_config(path) != json.loads(text):
        raise ValueError(
            f"{folder} holds another study, other data or another version's: choose another folder, or remove it"
        )
    (folder / "parts").mkdir(parents=True, exist_ok=True)
    _remove_leftovers(folder)
    write_text(path, text)


def _remove_leftovers(folder: Path) -> None:
    """Remove what writes that were killed have left, but not what another process may still write."""
    for path in [*folder.glob(".*.part"), *folder.glob("parts/.*.part")]:
        with suppress(FileNotFoundError):  # another process was faster
            if time.time() - path.stat().st_mtime > _LONGEST_WRITE:
                path.unlink()


def part_path(folder: Path, name: str) -> Path:
    """Where the part of this name is."""
    return folder / "parts" / f"{name}.parquet"


def is_whole(path: Path, rows: int) -> bool:
    """Whether a part is there, with all its rows."""
    try:
        return bool(pq.read_metadata(path).num_rows == rows)
    except (OSError, pa.ArrowInvalid):
        return False


def read_parts(folder: Path, pieces: Iterable[Piece]) -> pa.Table:
    """The rows of all parts, in this order, with the configuration as metadata."""
    table = pa.concat_tables([pq.read_table(part_path(folder, piece.name)) for piece in pieces])
    return table.replace_schema_metadata({"lambdak": (folder / _CONFIG).read_text()})


def write_table(table: pa.Table, path: Path) -> None:
    """Write a Parquet file as a whole or not at all."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    write_bytes(path, sink.getvalue().to_pybytes())


def csv_text(lines: Sequence[Mapping[str, object]]) -> str:
    """Rows of the same keys as CSV, floats to six digits."""
    text = StringIO()
    writer = csv.DictWriter(text, list(lines[0]) if lines else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in line.items()} for line in lines)
    return text.getvalue()
