"""How much other columns tell about a protected one: an association in [0, 1] for each, computed on given rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lambdak.model import Model
from lambdak.table.cells import Cells
from lambdak.table.read import Table

_BINS = 10  # of a column of numbers, with as many rows each
_MOST_LEVELS = 50  # of a category that count one by one

Codes = NDArray[np.intp]


class Proxy(NamedTuple):
    """A column and its association with the protected one: 0 if it tells nothing of it, 1 if it tells all."""

    column: str
    association: float


def proxies_of(model: Model, table: Table, i: int) -> tuple[Proxy, ...]:
    """All other columns, the strongest association first; ties in the order of the columns.

    It is Cramér's V, corrected for what chance alone would give (Bergsma, 2013), of levels, or of tenths of numbers.
    """
    names, positions = model.encoder.feature_names, model.encoder.positions(table)
    columns = zip(model.encoder.columns, map(table.cells, positions), strict=True)
    codes = [_codes(cells, column.is_number) for column, cells in columns]
    found = [
        Proxy(name, cramers_v(codes[i], own)) for k, (name, own) in enumerate(zip(names, codes, strict=True)) if k != i
    ]
    return tuple(sorted(found, key=lambda own: -own.association))


def cramers_v(first: Codes, second: Codes) -> float:
    """Cramér's V of two lists of codes, corrected for chance.

    >>> codes = np.arange(100) % 2
    >>> round(cramers_v(codes, codes), 6), cramers_v(codes, np.arange(100) // 50)
    (1.0, 0.0)
    """
    rows, n = (np.unique(own, return_inverse=True)[1] for own in (first, second)), len(first)
    a, b = rows
    r, k = (int(own.max(initial=-1)) + 1 for own in (a, b))
    if n < 2 or min(r, k) < 2:
        return 0.0
    counts = np.bincount(a * k + b, minlength=r * k).reshape(r, k).astype(np.float64)
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / n
    phi = float(((counts - expected) ** 2 / expected).sum() / n)
    phi = max(0.0, phi - (r - 1) * (k - 1) / (n - 1))
    least = min(r - (r - 1) ** 2 / (n - 1), k - (k - 1) ** 2 / (n - 1)) - 1
    return min(1.0, float(np.sqrt(phi / least))) if least > 0 else 0.0


def _codes(cells: Cells, is_number: bool) -> Codes:
    """Levels or tenths as codes; a missing cell is a level of its own, and rare levels of many are one."""
    if is_number:
        return _tenths(cells.numbers())
    codes, _ = cells.levels()
    count = np.bincount(codes) if len(codes) else np.zeros(0, int)
    if len(count) <= _MOST_LEVELS:
        return codes
    kept = np.zeros(len(count), np.intp)
    kept[np.argsort(-count, kind="stable")[:_MOST_LEVELS]] = np.arange(1, _MOST_LEVELS + 1)
    return np.asarray(kept[codes])


def _tenths(numbers: Any) -> Codes:
    """Numbers of few values as they are, of more in tenths with as many rows; 0 is missing."""
    seen = ~np.isnan(numbers)
    codes = np.zeros(len(numbers), np.intp)
    values = np.unique(numbers[seen])
    if len(values) > _BINS:
        values = np.unique(np.quantile(numbers[seen], np.arange(_BINS) / _BINS, method="lower"))
    codes[seen] = np.searchsorted(values, numbers[seen], side="right")
    return codes
