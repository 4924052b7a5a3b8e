"""A bar that appears where explanations take longer than people wait without a sign of life."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from time import monotonic
from typing import Any, TypeVar

_PATIENCE = 2.0  # seconds

Step = TypeVar("Step")


def watched(steps: Sequence[Step], what: str) -> Iterator[Step]:
    """Iterate over steps; after two seconds, a bar on stderr says how many are done, if that is a terminal.

    In a notebook it needs ipywidgets, as all bars of rich do.
    """
    bar, start = None, monotonic()
    try:
        for done, step in enumerate(steps):
            if bar is None and monotonic() - start > _PATIENCE:
                bar = _started(what, len(steps))
            if bar is not None:
                bar.update(bar.task_ids[0], completed=done)
            yield step
    finally:
        if bar is not None:
            bar.stop()


def _started(what: str, total: int) -> Any:
    """Return a bar that is shown."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    shown = console.is_terminal or (console.is_jupyter and find_spec("ipywidgets") is not None)
    parts = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*parts, console=console, transient=True, disable=not shown)
    bar.add_task(what, total=total)
    bar.start()
    return bar
