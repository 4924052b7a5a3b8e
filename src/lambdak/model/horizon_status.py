"""Whether rows had their event by a horizon, and how much each counts where some were censored before it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.table.event_times import EXACT, RIGHT
from lambdak.table.rows import rows_shown


def status_at(lines: Float64Array, horizon: float) -> tuple[NDArray[np.bool_], Float64Array]:
    """Return for each row whether its event was by the horizon, and its weight, (rows,) each.

    A row that was censored before says nothing, and counts 0; the others count 1 / G, with the share G of rows that are
    not censored by then, by Kaplan and Meier: just before its event, or at the horizon. So weighted means over rows are
    those of all rows, if censoring says nothing about the event.
    """
    code, entry, _, time = lines.T
    other = ~np.isin(code, (EXACT, RIGHT)) | (entry > 0)
    if other.any():
        raise ValueError(
            "y must hold events and right-censored rows without late entry, to know who had an event by a horizon; "
            f"got others at {rows_shown(other)}: drop these rows"
        )
    happened = (code == EXACT) & (time <= horizon)
    later = time > horizon
    share = _uncensored(time, code == RIGHT, np.where(later, horizon, time), later)
    weight = np.where(happened | later, 1 / np.where(share > 0, share, 1.0), 0.0)
    return happened, np.asarray(weight * (share > 0))


def _uncensored(
    time: Float64Array, censored: NDArray[np.bool_], at: Float64Array, including: NDArray[np.bool_]
) -> Float64Array:
    """The share of rows that are not censored before a time (rows,), or also not at it."""
    moments, counts = np.unique(time[censored], return_counts=True)
    at_risk = len(time) - np.searchsorted(np.sort(time), moments, side="left")
    alive = np.concatenate([[1.0], np.cumprod(1 - counts / at_risk)])
    before = np.searchsorted(moments, at, side="left")
    return np.asarray(alive[np.where(including, np.searchsorted(moments, at, side="right"), before)])
