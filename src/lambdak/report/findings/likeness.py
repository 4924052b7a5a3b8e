"""Whether rows are those that a model was fitted to: by the rows themselves, or by what the model keeps of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lambdak.model import Model
from lambdak.table.column_cells import column_reader
from lambdak.table.column_contract import Column
from lambdak.table.content_hash import row_hashes
from lambdak.table.knots import median
from lambdak.table.rows import Rows
from lambdak.table.seen import SeenCells

SEEN = "These rows look like the training rows: the figures say how well the model remembers, not how well it predicts."


@dataclass(frozen=True)
class Likeness:
    """Whether rows look like those that the model was fitted to, and why.

    Attributes
    ----------
    seen : bool or None
        Whether the rows look like training rows; None if that cannot be said.
    words : str
        Why.
    """

    seen: bool | None
    words: str


def compared(model: Model, rows: Rows, training: Rows | None) -> Likeness:
    """Compare rows with those of training if they are given, otherwise with the ranges that the model keeps."""
    names = model.encoder.feature_names
    return _with_ranges(model, rows) if training is None else _with_rows(names, rows, training)


def _with_rows(names: Sequence[str], rows: Rows, training: Rows) -> Likeness:
    both = rows.y is not None and training.y is not None
    what = "in every column and the target" if both else "in every column"
    own, theirs = (row_hashes(each.X, each.y if both else None, names) for each in (rows, training))
    shared = int(np.isin(own, theirs).sum())
    repeated = len(theirs) - len(np.unique(theirs))
    usual = f"; {repeated:,} of {len(theirs):,} training rows repeat another one" if shared or repeated else ""
    words = f"{shared:,} of the {len(own):,} rows equal a training row {what}{usual}."
    return Likeness(2 * shared > len(own), words)


def _with_ranges(model: Model, rows: Rows) -> Likeness:
    read = column_reader(model.encoder, rows.X)
    numbers = [(i, own) for i, own in enumerate(model.encoder.columns) if own.is_number and own.n_steps]
    if not numbers:
        return Likeness(None, "The model keeps no ranges of numbers to compare these rows with.")
    same = [_same_range(own, SeenCells(read(i), rows.weight)) for i, own in numbers]
    what = f"of {sum(same)} of {len(same)} columns of numbers"
    words = f"The smallest, middle and largest number {what} are those that the model keeps of its training rows."
    return Likeness(all(same), words)


def _same_range(column: Column, seen: SeenCells) -> bool:
    own, kept = seen.numbers(), _range(column)
    return (float(own.values[0]), median(own.values, own.mass), float(own.values[-1])) == kept


def _range(column: Any) -> tuple[float, float, float]:
    return column.low, column.median, column.high
