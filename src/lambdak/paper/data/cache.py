"""A folder of raw arrays and ``meta.json``: there as a whole or not at all, and memory-mapped when it is used.

A cache is written into a temporary folder beside it, see :func:`lambdak.atomic.building`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak import atomic

FORMAT = 1
_META = "meta.json"


@dataclass(frozen=True, eq=False)
class Cache:
    """What ``meta.json`` says, and the arrays by name."""

    meta: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


class Writer:
    """Arrays that grow block by block, in the folder of a cache to be."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._shapes: dict[str, tuple[str, list[int]]] = {}

    def append(self, name: str, rows: NDArray[Any]) -> None:
        """Add rows to the end of an array."""
        dtype, shape = self._shapes.setdefault(name, (rows.dtype.str, [0, *rows.shape[1:]]))
        if rows.dtype.str != dtype or list(rows.shape[1:]) != shape[1:]:
            raise ValueError(f"{name} must be {dtype} with rows of shape {shape[1:]}; got {rows.dtype}, {rows.shape}")
        with (self.folder / name).open("ab") as file:
            np.ascontiguousarray(rows).tofile(file)
        shape[0] += len(rows)

    def array(self, name: str) -> NDArray[Any]:
        """What has been written so far, mapped for reading and writing."""
        dtype, shape = self._shapes[name]
        return _map(self.folder / name, dtype, shape, "r+")

    def finish(self, meta: dict[str, Any]) -> None:
        """Write ``meta.json``."""
        arrays = {name: {"dtype": dtype, "shape": shape} for name, (dtype, shape) in self._shapes.items()}
        text = json.dumps({"format": FORMAT, **meta, "arrays": arrays}, indent=2)
        (self.folder / _META).write_text(text, encoding="utf-8")


@contextmanager
def building(folder: Path) -> Iterator[Writer]:
    """A writer whose folder takes the place of ``folder`` when it is finished, and vanishes when it is not."""
    with atomic.building(folder) as beside:
        yield Writer(beside)
        if not (beside / _META).exists():
            raise RuntimeError("the cache was not finished: call Writer.finish")


def open_cache(folder: Path, wanted: dict[str, Any]) -> Cache | None:
    """The cache of a folder, or None if there is none with these entries of ``meta.json``."""
    try:
        meta = json.loads((folder / _META).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    if meta.get("format") != FORMAT or any(meta.get(key) != value for key, value in wanted.items()):
        return None
    arrays = {name: _map(folder / name, entry["dtype"], entry["shape"]) for name, entry in meta["arrays"].items()}
    return Cache(meta, arrays)


def identity(path: Path) -> dict[str, Any]:
    """By what a source is known to be the one that was read, without reading it again."""
    found = path.stat()
    return {"name": path.name, "bytes": found.st_size, "changed": found.st_mtime_ns}


def check_unchanged(path: Path, known: dict[str, Any]) -> None:
    """Refuse a source that is no longer the one whose :func:`identity` is known."""
    if identity(path) != known:
        raise ValueError(f"{path} was changed while it was read: run again when it is whole")


def _map(path: Path, dtype: str, shape: list[int], mode: str = "r") -> NDArray[Any]:
    wanted, found = int(np.prod(shape)) * np.dtype(dtype).itemsize, path.stat().st_size
    if found != wanted:
        raise ValueError(f"{path} must have {wanted} bytes; got {found}: remove the folder to build it again")
    if wanted == 0:
        return np.zeros(shape, dtype)
    return np.memmap(path, dtype, mode, shape=tuple(shape))  # type: ignore[call-overload, no-any-return]
