"""Harrell's concordance of risk scores with what was observed: the share of pairs of known order that are in it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.table.event_times import RIGHT

_PAIRS_AT_ONCE = 1 << 22


def concordance(lines: Float64Array, risk: Float64Array, weight: Float64Array | None = None) -> float:
    """Return the weighted share of pairs (i, j), i first, with risk_i > risk_j; equal risks count half.

    Row i was first if its event came before j's time, or at the same time and j was censored then, and j had entered;
    of intervals i's upper end and j's lower one count. Without ties and late entry this is scikit-survival's
    ``concordance_index_censored``. NaN where no order is known.
    """
    code, entry, lower, upper = lines.T
    mass = np.ones(len(lines)) if weight is None else np.asarray(weight, np.float64)
    first = np.flatnonzero((code != RIGHT) & (mass > 0))
    right = total = 0.0
    step = max(_PAIRS_AT_ONCE // max(len(lines), 1), 1)
    for part in (first[i : i + step] for i in range(0, len(first), step)):
        ends = upper[part, None]
        known = ((lower > ends) | ((lower == ends) & (code == RIGHT))) & (entry < ends)
        ranked = _ranked(risk[part, None], risk) * known
        right += float(mass[part] @ ranked @ mass)
        total += float(mass[part] @ known @ mass)
    return right / total if total else np.nan


def _ranked(first: Float64Array, second: Float64Array) -> NDArray[np.float64]:
    """1 where the first is larger, a half where both are equal, else 0."""
    return np.asarray((first > second) + 0.5 * (first == second), np.float64)
