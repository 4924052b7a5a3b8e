"""What is said of a table: each column in a few numbers, checksums, rows to start from, and which one is typical."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from lambdak.eigen.lazy import cached_property
from lambdak.table.category_levels import shown
from lambdak.table.cells import Cells
from lambdak.table.column_contract import Column
from lambdak.table.content_hash import content_hash, target_hash
from lambdak.table.doubtful_columns import identifier_reason
from lambdak.table.encoder import TableEncoder
from lambdak.table.matching import Reader, column_reader
from lambdak.table.numeric_column import Numeric
from lambdak.table.rows import Rows, spread_rows

_MOST_ROWS = 400  # that the typical row is chosen from: all pairs of them are compared
_MOST_EXAMPLES = 200
_MOST_CELLS = 8_000  # of all examples together, so that a wide table makes no large file
_FEWEST_EXAMPLES = 50
_MOST_SUMMARIES = 500  # columns; a page with more is of no use to a reader
_MOST_COUNTS = 200  # levels whose rows are counted
_BINS = 20
_TOP_LEVELS = 5
_CHOICES = 2  # numbers that people choose between, as 0 and 1, instead of moving a slider


@dataclass(frozen=True, eq=False)
class Described:
    """A table that documents speak of: summaries of the model's columns in it, and checksums."""

    rows: Rows
    encoder: TableEncoder

    @cached_property
    def columns(self) -> list[dict[str, Any]]:
        """Summaries of the columns of the model."""
        read = column_reader(self.encoder, self.rows.X)
        return [summarise(column, read(i)) for i, column in enumerate(self.encoder.columns)]

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the content of the model's columns."""
        return content_hash(self.rows.X, self.encoder.feature_names)

    @cached_property
    def target_sha256(self) -> str | None:
        """SHA-256 of the target, if there is one."""
        return None if self.rows.y is None else target_hash(self.rows.y)


def describe(encoder: TableEncoder, X: Any, target: NDArray[Any] | None, names: list[str] | None) -> dict[str, Any]:
    """Rows to start from in the page's coordinates, one of them typical, and a summary of every column.

    ``X`` is a table that was read, or a sparse one; ``names`` are those of its rows.
    """
    some = X[:1] if issparse(X) else X
    encoder.transform(some)  # says what is wrong with a table that does not fit the model
    read, columns, rows = column_reader(encoder, X), encoder.columns[:_MOST_SUMMARIES], int(X.shape[0])
    identifiers = [i for i, column in enumerate(columns) if identifier_reason(replace(read(i), name=column.name))]
    typical = 0 if issparse(X) else _typical(encoder, read, identifiers)
    chosen = np.unique([typical, *_spread(rows, len(encoder.columns))])
    return {
        "rows": rows,
        "examples": _examples(encoder, X, chosen, target, names, identifiers),
        "typical": None if issparse(X) else int(np.searchsorted(chosen, typical)),
        "identifiers": identifiers,
        "summary": [summarise(column, read(i)) | _counts(column, read(i)) for i, column in enumerate(columns)],
    }


def _examples(
    encoder: TableEncoder, X: Any, chosen: NDArray[np.intp], target: NDArray[Any] | None, names: list[str] | None,
    identifiers: list[int],
) -> list[dict[str, Any]]:  # fmt: skip
    """Return some rows: their cells, what they are called, and their targets."""
    cells = column_reader(encoder, X.tocsr()[chosen].toarray() if issparse(X) else X)
    picked = slice(None) if issparse(X) else chosen
    values = [column.plain_cells(cells(i))[picked] for i, column in enumerate(encoder.columns)]
    named = [encoder.columns[i].shown_cells(cells(i))[picked] for i in identifiers]
    examples = [
        {"row": row, "cells": [column_cells[j] for column_cells in values], "name": _name(row, j, names, named)}
        for j, row in enumerate(chosen.tolist())
    ]
    for example, label in zip(examples, [] if target is None else target[chosen].tolist(), strict=target is not None):
        example["target"] = label if isinstance(label, int | float) else shown(label)
    return examples


def _spread(rows: int, columns: int) -> NDArray[np.intp]:
    """Rows from the first to the last, evenly spread."""
    most = min(rows, _MOST_EXAMPLES, max(_MOST_CELLS // max(columns, 1), _FEWEST_EXAMPLES))
    return np.linspace(0, max(rows - 1, 0), most).astype(np.intp)


def _typical(encoder: TableEncoder, read: Reader, identifiers: list[int]) -> int:
    pairs = [(column, read(i)) for i, column in enumerate(encoder.columns) if i not in identifiers]
    return medoid([(column, column.plain_cells(cells), column.spread) for column, cells in pairs])


def _name(row: int, j: int, names: list[str] | None, named: list[NDArray[Any]]) -> str:
    """What a row is called: by the table, by a column that names rows, or by its position."""
    if names is not None:
        return names[row]
    return ", ".join(str(column_cells[j]) for column_cells in named) or f"row {row}"


def _counts(column: Column, cells: Cells) -> dict[str, Any]:
    """Rows of each level of training, in the order of the model."""
    many = len(column.known_levels)
    if column.is_number or not 0 < many <= _MOST_COUNTS:
        return {}
    places = np.asarray(column.plain_cells(cells), np.intp)
    return {"counts": np.bincount(places[places >= 0], minlength=many).tolist()}


def summarise(column: Column, cells: Cells) -> dict[str, Any]:
    """A column in a few numbers: its range and its middle, or its levels, and the share of missing cells."""
    return _numbers(column, cells) if isinstance(column, Numeric) else _levels(cells)


def _numbers(column: Numeric, cells: Cells) -> dict[str, Any]:
    x = cells.numbers()
    seen = x[~np.isnan(x)]
    if not len(seen):
        return {"missing": 1.0}
    even = column.axis_scale.is_even
    counts, edges = np.histogram(
        seen, np.linspace(*_span(seen), _BINS + 1) if even else column.axis_scale.even(_BINS + 1)
    )
    return {
        "missing": 1 - len(seen) / len(x),
        "low": seen.min(),
        "median": np.median(seen),
        "high": seen.max(),
        "bins": counts.tolist(),
        "edges": edges.tolist(),
        "whole": bool((seen == np.floor(seen)).all()),
    } | _two(seen)


def _two(seen: NDArray[np.float64]) -> dict[str, Any]:
    """The two numbers of a column that has no others, and the rows of each."""
    values, counts = np.unique(seen, return_counts=True)
    return {"values": values.tolist(), "counts": counts.tolist()} if len(values) == _CHOICES else {}


def _span(seen: NDArray[np.float64]) -> tuple[float, float]:
    """A range that bins of positive width can cover, also where all numbers are (nearly) equal."""
    low, high = float(seen.min()), float(seen.max())
    return (low, high) if high - low > _BINS * 4 * np.spacing(max(abs(low), abs(high))) else (low - 0.5, high + 0.5)


def _levels(cells: Cells) -> dict[str, Any]:
    codes, levels = cells.levels()
    counts = np.bincount(codes, minlength=len(levels)).tolist()
    missing = sum(count for level, count in zip(levels, counts, strict=True) if level is None)
    level_counts = [(count, shown(level)) for level, count in zip(levels, counts, strict=True) if level is not None]
    top = sorted(level_counts, key=lambda pair: -pair[0])[:_TOP_LEVELS]
    rows = max(len(codes), 1)
    return {
        "missing": missing / rows,
        "top": [{"level": level, "share": count / rows} for count, level in top],
        "distinct": len(level_counts),
        "bins": sorted((count for count, _ in level_counts), reverse=True)[:_BINS],
    }


def row_names(X: Any) -> list[str] | None:
    """The names of the rows of a table, if its library gives them names and they are not just numbered."""
    index = getattr(X, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex" or len(index) != len(X):
        return None
    return [f"row {label}" if isinstance(label, int) else shown(label) for label in index.tolist()]


def medoid(columns: Sequence[tuple[Column, NDArray[Any], float]]) -> int:
    """The row whose cells are the least far from those of all others, on average: a real row.

    Columns come with their plain cells and their spread. Numbers are apart by their difference in spreads, at most 1,
    and other cells by 1 unless they are the same.
    """
    rows = len(columns[0][1]) if columns else 1
    chosen = spread_rows(rows, _MOST_ROWS)
    total = np.zeros(len(chosen))
    for column, cells, width in columns:
        chosen_cells = cells[chosen]
        if not column.is_number:
            total += (chosen_cells[:, None] != chosen_cells[None]).sum(axis=1)
            continue
        x = np.array([np.nan if cell is None else cell for cell in chosen_cells], np.float64)
        apart = np.minimum(np.abs(x[:, None] - x[None]) / (2 * width or 1.0), 1.0)
        same = np.isnan(x)[:, None] & np.isnan(x)[None]
        total += np.where(np.isnan(apart), ~same, apart).sum(axis=1)
    return int(chosen[np.argmin(total)])
