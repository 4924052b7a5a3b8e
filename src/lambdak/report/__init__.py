"""One HTML file in which a fitted model runs: no server, no network, nothing to install for its reader."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from lambdak.atomic import write_text
from lambdak.model import Model
from lambdak.report.html import page
from lambdak.report.payload import payload

__all__ = ["write_report"]


def write_report(
    model: Model,
    path: str | PathLike[str],
    X: Any = None,
    y: Any = None,
    certificate: Mapping[str, Any] | None = None,
) -> None:
    """Write the report of a model to ``path``.

    Parameters
    ----------
    path : path
        The HTML file; an older one is replaced only once the new one is complete.
    X, y : table and targets, optional
        Rows to start from, a summary of the columns and, with ``y``, how well the model does on them.
    certificate : mapping, optional
        What the model guarantees, as ``Certificate.to_dict()`` gives it.
    """
    write_text(path, page(payload(model, X, y, certificate)))
