"""Which export a file wants: by its ending, or by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, final

from lambdak.export.c import to_c
from lambdak.export.javascript import to_javascript
from lambdak.export.onnx import to_onnx
from lambdak.export.sql import to_sql
from lambdak.export.tables import ENDINGS, to_table


@final
@dataclass(frozen=True)
class Target:
    """One kind of export: what writes it, and the endings of its files.

    Attributes
    ----------
    write
        ``write(model, path, **options)``.
    endings : tuple of str
        Of the files that it writes, the usual one first.
    """

    write: Callable[..., Any]
    endings: tuple[str, ...]

    def check_options(self, name: str, given: Iterable[str]) -> None:
        """Refuse what it cannot be asked for."""
        own = tuple(signature(self.write).parameters.values())[2:]
        known = [option.name for option in own if option.kind is not Parameter.VAR_KEYWORD]
        unknown = [option for option in given if option not in known]
        if unknown and len(known) == len(own):  # otherwise what it passes them to says so
            raise TypeError(f"an export to {name} takes {', '.join(known)}; got {unknown[0]!r}")


TARGETS = {
    "c": Target(to_c, (".c",)),
    "js": Target(to_javascript, (".mjs", ".js")),
    "onnx": Target(to_onnx, (".onnx",)),
    "sql": Target(to_sql, (".sql",)),
    "table": Target(to_table, ENDINGS),
}


def export_model(model: Any, path: str | os.PathLike[str], to: str | None = None, **options: Any) -> None:
    """Write a fitted model, or a saved one, as something that runs or is read elsewhere.

    Parameters
    ----------
    model : estimator, Model or path
        Fitted, or the file that ``save`` wrote.
    path : path
        The file; its ending says what it is to be: .c, .js or .mjs, .onnx, .sql, or .xlsx, .csv, .json for tables.
    to : {"c", "js", "onnx", "sql", "table"}, optional
        The same for a path with another ending, or for a folder.
    **options
        Of :func:`~lambdak.export.to_c`, :func:`~lambdak.export.to_javascript`, :func:`~lambdak.export.to_onnx`,
        :func:`~lambdak.export.to_sql` or :func:`~lambdak.export.to_table`, such as ``explain=True``.
    """
    if isinstance(model, str | os.PathLike) and os.path.realpath(model) == os.path.realpath(path):
        raise ValueError(f"path must not be the model itself, which would be lost; got {os.fspath(path)!r}")
    name = _named(to) if to is not None else _by_ending(path)
    target = TARGETS[name]
    target.check_options(name, options)
    target.write(model, path, **options)


def _named(to: object) -> str:
    if not isinstance(to, str) or to not in TARGETS:
        raise ValueError(f"to must be one of {list(TARGETS)}; got {to!r}")
    return to


def _by_ending(path: str | os.PathLike[str]) -> str:
    found = Path(path).suffix.lower()
    for name, target in TARGETS.items():
        if found in target.endings:
            return name
    known = ", ".join(ending for target in TARGETS.values() for ending in target.endings)
    raise ValueError(f"path must end with one of {known}, or to must say what is meant; got {os.fspath(path)!r}")
