"""Fits on tables that are not in memory, or of which other processes have a part: how ``fit`` gets there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from lambdak._types import PathLike
from lambdak.table.large.batches import Batches, Drawn, as_batches, drawn
from lambdak.table.large.cache import cache_place
from lambdak.table.rows import read_rows
from lambdak.training.checkpoint import NoCheckpoint
from lambdak.training.fit import Fit
from lambdak.training.large.choice import LargeRequest
from lambdak.training.large.fit import Source, fit_alone, fit_together
from lambdak.training.large.transport import Transport


def opened(X: Any) -> Any:
    """A large table as batches, and any other as it is."""
    batches = as_batches(X)
    return X if batches is None else batches


def is_elsewhere(X: Any, cache: PathLike | None = None, transport: Transport | None = None) -> bool:
    """Whether not all rows are in the memory of this process; X was :func:`opened`."""
    return cache is not None or transport is not None or isinstance(X, Batches)


def fit_elsewhere(
    request: LargeRequest, X: Any, beside: Mapping[str, Any], cache: PathLike | None, transport: Transport | None
) -> Fit:
    """The fit of batches of rows, or of the rows of all processes of a transport; ``beside`` is what comes with X."""
    if transport is not None:
        if not isinstance(request.checkpoint, NoCheckpoint):
            raise ValueError("checkpoint cannot be given with a transport: give one of them")
        parts = drawn if isinstance(X, Batches) else _in_memory
        return fit_together(request, parts(X, **beside), transport)
    if not isinstance(X, Batches):
        raise TypeError(f"cache can be given only with a large table, such as a Parquet file; got {type(X).__name__}")
    return fit_alone(request, Source(X, **beside, place=_place(X, cache)))


def _place(batches: Batches, cache: PathLike | None) -> Path | None:
    """Where the cache is: beside a file or folder, in a folder that is given, or temporary."""
    if batches.path is not None:
        return cache_place(batches.path, cache)
    name = "table" if batches.fingerprint is None else batches.fingerprint[:16]
    return None if cache is None else Path(cache) / f"{name}.lambdak-cache"


def _in_memory(X: Any, **beside: Any) -> Iterator[Drawn]:
    """A table in memory as one batch."""
    if issparse(X):
        raise TypeError("X must not be sparse with a transport: its rows have no fixed length; convert it to a table")
    rows = read_rows(X, **beside, positive=True, keep=False)
    if len(rows):
        offset = rows.offset if rows.exposure is None else np.log(rows.exposure)
        yield Drawn(rows.X, rows.target, rows.weight, offset)
