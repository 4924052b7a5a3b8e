"""Where results go: one JSON object on stdout, or files that can be written."""

from __future__ import annotations

import json
import math
import os
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from lambdak.atomic import write_bytes
from lambdak.cli.errors import InputError
from lambdak.table.visible import visible, visible_lines

_BOUNDS = ("proven", "per_unit")  # columns that are rounded upwards
_LONGEST = 30  # characters of a name
_ROOM = 1_000  # characters of a line in a file


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
    say(json_text(plain(answer)))


def json_text(answer: Any) -> str:
    r"""A value as JSON, in which what a terminal might obey is an escape; it reads as the same value.

    >>> print(json_text(["é", "\x9b2J"]))
    [
      "é",
      "\u009b2J"
    ]
    """
    lines = json.dumps(answer, indent=2, ensure_ascii=False, default=str).split("\n")
    return "\n".join(line if visible(line) == line else "".join(map(_json_escape, line)) for line in lines)


def _json_escape(char: str) -> str:
    if visible(char) == char:
        return char
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def say(text: str) -> None:
    """Print results to stdout."""
    typer.echo(visible_lines(text))


def plain(value: Any) -> Any:
    """A value with null for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def plotting() -> ModuleType:
    """The drawing functions."""
    try:
        return import_module("lambdak.explain.plots")
    except ImportError as error:
        raise InputError("pictures need matplotlib: pip install 'lambdak[plot]'") from error


def save_picture(ax: Any, path: str | os.PathLike[str]) -> None:
    """Write the figure that the Axes are on to a PNG file, as a whole or not at all."""
    write_bytes(path, plotting().png(ax))


def print_columns(columns: dict[str, list[Any]], legend: str) -> None:
    """Print a table, numbers with three digits, without columns that are empty."""
    shown = {name: [_shown(cell, name in _BOUNDS) for cell in cells] for name, cells in columns.items()}
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False, caption=legend, caption_justify="left")
    for name, cells in shown.items():
        if any(cells):
            text = any(isinstance(cell, str) for cell in columns[name])
            layout: dict[str, Any] = {"no_wrap": True, "max_width": _LONGEST} if text else {"justify": "right"}
            table.add_column(visible(name.replace("_", " ")), **layout)
    for row in zip(*(each for each in shown.values() if any(each)), strict=True):
        table.add_row(*map(visible, row))
    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:  # a file has room
        console.width = max(console.width, console.measure(table, options=console.options.update(width=_ROOM)).maximum)
    console.print(table)


def _shown(cell: object, bound: bool) -> str:
    from lambdak.model.outward import separated, upwards

    if cell is None or cell != cell:
        return ""
    if not isinstance(cell, float):
        return str(cell)
    return separated(upwards(cell, 3) if bound else f"{cell:.3g}")
