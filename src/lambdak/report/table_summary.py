"""What the report shows of a table: rows to start from, and each column in a few numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from lambdak.table.category_levels import shown
from lambdak.table.cells import Cells
from lambdak.table.column_contract import Column
from lambdak.table.encoder import TableEncoder
from lambdak.table.read import Table, read_table

_MOST_EXAMPLES = 50
_MOST_SUMMARIES = 500  # columns; a page with more is of no use to a reader
_BINS = 20
_TOP_LEVELS = 5

Reader = Callable[[int], Cells]


def describe(encoder: TableEncoder, X: Any, target: NDArray[Any] | None) -> dict[str, Any]:
    """Example rows in the page's coordinates, with their targets, and a summary of every column.

    ``X`` is a table that was read, or a sparse one.
    """
    some = X[:1] if issparse(X) else X
    encoder.transform(some)  # says what is wrong with a table that does not fit the model
    rows = int(X.shape[0])
    chosen = np.unique(np.linspace(0, max(rows - 1, 0), min(rows, _MOST_EXAMPLES)).astype(int))
    read = _reader(encoder, X)
    cells = _reader(encoder, X.tocsr()[chosen].toarray()) if issparse(X) else read
    picked = slice(None) if issparse(X) else chosen
    columns = encoder.columns
    values = [column.plain_cells(cells(i))[picked] for i, column in enumerate(columns)]
    examples = [{"row": row, "cells": [own[j] for own in values]} for j, row in enumerate(chosen.tolist())]
    if target is not None:
        for example, label in zip(examples, target[chosen].tolist(), strict=True):
            example["target"] = shown(label)
    summary = [_summary(column, read(i)) for i, column in enumerate(columns[:_MOST_SUMMARIES])]
    return {"rows": rows, "examples": examples, "summary": summary}


def _reader(encoder: TableEncoder, X: Any) -> Reader:
    """A function from the position of a column of training to its cells in this table."""
    if issparse(X):
        wide = X.tocsc()
        return lambda i: read_table(wide[:, [i]].toarray()).cells(0)
    table: Table = read_table(X)
    positions = encoder.positions(table)
    return lambda i: table.cells(positions[i])


def _summary(column: Column, cells: Cells) -> dict[str, Any]:
    return _numbers(cells) if column.is_number else _levels(cells)


def _numbers(cells: Cells) -> dict[str, Any]:
    x = cells.numbers()
    seen = x[~np.isnan(x)]
    if not len(seen):
        return {"missing": 1.0}
    counts, _ = np.histogram(seen, _BINS, _span(seen))
    return {
        "missing": 1 - len(seen) / len(x),
        "low": seen.min(),
        "median": np.median(seen),
        "high": seen.max(),
        "bins": counts.tolist(),
        "whole": bool((seen == np.floor(seen)).all()),
    }


def _span(seen: NDArray[np.float64]) -> tuple[float, float]:
    """A range that bins of positive width can cover, also where all numbers are (nearly) equal."""
    low, high = float(seen.min()), float(seen.max())
    return (low, high) if high - low > _BINS * 4 * np.spacing(max(abs(low), abs(high))) else (low - 0.5, high + 0.5)


def _levels(cells: Cells) -> dict[str, Any]:
    codes, levels = cells.levels()
    counts = np.bincount(codes, minlength=len(levels)).tolist()
    missing = sum(count for level, count in zip(levels, counts, strict=True) if level is None)
    known = [(count, shown(level)) for level, count in zip(levels, counts, strict=True) if level is not None]
    top = sorted(known, key=lambda pair: -pair[0])[:_TOP_LEVELS]
    rows = max(len(codes), 1)
    return {
        "missing": missing / rows,
        "top": [{"level": level, "share": count / rows} for count, level in top],
        "distinct": len(known),
        "bins": sorted((count for count, _ in known), reverse=True)[:_BINS],
    }
