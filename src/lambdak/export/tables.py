"""Tables of a model straight to a file, whose ending says which kind."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lambdak.export.formula import frozen
from lambdak.governance.tables.relativity import relativities

ENDINGS = (".xlsx", ".csv", ".json")


def to_table(model: Any, path: str | os.PathLike[str], X: Any = None, y: Any = None, **options: Any) -> None:
    """Write the factor tables of a model to an Excel, CSV or JSON file.

    Parameters
    ----------
    model
        A fitted estimator, its frozen model, or the path of a saved one.
    path
        Ends with .xlsx, .csv or .json.
    X, y, **options
        As in :func:`~lambdak.governance.tables.relativities`.
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"path must end with one of {', '.join(ENDINGS)} for tables; got {os.fspath(path)!r}")
    tables = relativities(frozen(model), X, y, **options)
    writers: tuple[Callable[[Any], object], ...] = (tables.to_excel, tables.to_csv, tables.to_json)
    writers[ENDINGS.index(ending)](path)
