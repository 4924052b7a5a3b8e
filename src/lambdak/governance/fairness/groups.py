"""Groups of a protected column: metrics of decisions as fairlearn computes them, and columns that stand in for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
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
        Proxy(name, cramers_v(codes[i], column_codes))
        for k, (name, column_codes) in enumerate(zip(names, codes, strict=True))
        if k != i
    ]
    return tuple(sorted(found, key=lambda proxy: -proxy.association))


def cramers_v(first: Codes, second: Codes) -> float:
    """Cramér's V of two lists of codes, corrected for chance.

    >>> codes = np.arange(100) % 2
    >>> round(cramers_v(codes, codes), 6), cramers_v(codes, np.arange(100) // 50)
    (1.0, 0.0)
    """
    rows, n = (np.unique(labels, return_inverse=True)[1] for labels in (first, second)), len(first)
    a, b = rows
    r, k = (int(ids.max(initial=-1)) + 1 for ids in (a, b))
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


@final
@dataclass(frozen=True, eq=False)
class GroupMetrics:
    """How decisions differ between groups.

    Attributes
    ----------
    by_group : pandas.DataFrame
        One line for each group: rows, selection rate, mean prediction; with targets also true and false positive rate,
        and the share that was positive, to compare with the mean prediction: calibration.
    demographic_parity_difference : float
        The largest selection rate minus the smallest one.
    equalized_odds_difference : float or None
        The larger of the differences of both rates; None without targets.
    """

    by_group: Any
    demographic_parity_difference: float
    equalized_odds_difference: float | None

    def __str__(self) -> str:
        lines = [self.by_group.to_string(float_format=lambda metric: f"{metric:.3f}")]
        lines.append(f"demographic parity difference {self.demographic_parity_difference:.3f}")
        if self.equalized_odds_difference is not None:
            lines.append(f"equalised odds difference {self.equalized_odds_difference:.3f}")
        return "\n".join(lines)


def group_metrics(
    groups: list[str], approved: NDArray[np.bool_], predictions: Float64Array, positive: NDArray[np.bool_] | None
) -> GroupMetrics:
    """The metrics of decisions, and of targets if they are known."""
    try:
        from fairlearn import metrics
    except ImportError:
        raise ImportError("group metrics need fairlearn: pip install 'lambdak[fairness]'") from None
    truth = approved if positive is None else positive
    functions: dict[str, Any] = {"rows": metrics.count, "selection rate": metrics.selection_rate}
    if positive is not None:
        functions |= {"true positive rate": metrics.true_positive_rate}
        functions |= {"false positive rate": metrics.false_positive_rate}
    common = {
        "y_true": truth.astype(int),
        "y_pred": approved.astype(int),
        "sensitive_features": np.array(groups, object),
    }
    frame = metrics.MetricFrame(metrics=functions, **common).by_group
    frame.index.name = "group"
    order = [[group == name for group in groups] for name in frame.index]
    if not np.isnan(predictions).any():
        frame["mean prediction"] = [float(predictions[rows].mean()) for rows in order]
    if positive is not None:
        frame["observed share"] = [float(positive[rows].mean()) for rows in order]
    odds = None if positive is None else float(metrics.equalized_odds_difference(**common))
    return GroupMetrics(frame, float(metrics.demographic_parity_difference(**common)), odds)
