"""Tables with a line for each column: a section shows the most important ones, the appendix all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lambdak.report.dossier.document import Table

MOST_LINES = 12  # of a table with one line per column
_FEW = 20  # that are all shown


def shortened(table: Table, order: Sequence[int] | None = None) -> tuple[Table, tuple[Table, ...]]:
    """A table to show, and the whole one for the appendix if it is long; ``order`` says which lines come first."""
    lines = [table.rows[i] for i in order] if order is not None else list(table.rows)
    whole = replace(table, rows=tuple(lines))
    if len(lines) <= _FEW:
        return whole, ()
    caption = f"{table.caption}: the first {MOST_LINES} of {len(lines)}; all of them are in the appendix"
    return replace(table, caption=caption, rows=tuple(lines[:MOST_LINES])), (whole,)
