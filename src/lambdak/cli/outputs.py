"""Where results go: one JSON object on stdout, or files that can be written."""

from __future__ import annotations

import json
import math
import os
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import narwhals.stable.v2 as nw
import typer
from rich import box
from rich.console import Console
from rich.table import Table

from lambdak.atomic import write_bytes
from lambdak.cli.errors import InputError


def check_output(path: str | os.PathLike[str], option: str) -> None:
    """Refuse a file that cannot be written, before the work is done rather than after it."""
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{option} must be a file; got the folder {path}")
    if not target.parent.is_dir():
        raise InputError(f"{option} must be in a folder that exists; got {path}: mkdir -p {target.parent}")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"{option} must be in a folder that can be written to; got {path}")


def print_json(answer: dict[str, Any]) -> None:
    """Print one JSON object; a number that JSON does not have is null."""
    typer.echo(json.dumps(_plain(answer), indent=2, ensure_ascii=False, default=str))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def plotting() -> ModuleType:
    """The drawing functions."""
    try:
        return import_module("lambdak.plots")
    except ImportError as error:
        raise InputError("pictures need matplotlib: pip install 'lambdak[plot]'") from error


def save_picture(ax: Any, path: str | os.PathLike[str]) -> None:
    """Write the figure that the Axes are on to a PNG file, as a whole or not at all."""
    write_bytes(path, plotting().png(ax))


def print_frame(frame: Any, legend: str = "") -> None:
    """Print a table of any library, numbers with four digits, without columns that are empty."""
    data = nw.from_native(frame, eager_only=True)
    cells = {name: [_shown(cell) for cell in data[name].to_list()] for name in data.columns}
    cells = {name: texts for name, texts in cells.items() if any(texts)}
    table = Table(box=box.SIMPLE, pad_edge=False, caption=legend, caption_justify="left")
    for name in cells:
        table.add_column(name.replace("_", " "), justify="right" if data[name].dtype.is_numeric() else "left")
    for texts in zip(*cells.values(), strict=True):
        table.add_row(*texts)
    Console(markup=False, highlight=False).print(table)


def _shown(cell: object) -> str:
    if cell is None or cell != cell:
        return ""
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
