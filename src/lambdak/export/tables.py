"""Tables of a model straight to a file, whose ending says which kind."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from lambdak.export.formula import frozen
from lambdak.export.targets import FACTOR_TABLES
from lambdak.governance.tables.relativity import relativities


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
    if ending not in FACTOR_TABLES:
        raise ValueError(f"path must end with one of {', '.join(FACTOR_TABLES)} for tables; got {os.fspath(path)!r}")
    getattr(relativities(frozen(model), X, y, **options), FACTOR_TABLES[ending])(path)
