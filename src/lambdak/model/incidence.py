"""Cumulative incidences of competing causes from their cumulative hazards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lambdak._types import Float64Array
from lambdak.model.event_curves import EventCurves

_PARTS = 8  # of the way between neighbouring knots: within a part the hazards of all causes keep their proportions


def cumulative_incidence(curves: Sequence[EventCurves], times: Float64Array) -> Float64Array:
    """Return the probability (rows, causes, times) that an event of a cause is the first, and by a time.

    What survival S = exp(−Σ H_c) falls by from one point of a grid to the next belongs to the causes in proportion to
    the growth of their hazards: no incidence falls or is negative, and together they are 1 − S.
    """
    grid = _grid(curves, times)
    growth = np.maximum(np.diff(np.stack([own.hazard(grid) for own in curves], axis=1), axis=2), 0.0)
    together = growth.sum(axis=1)
    before = np.exp(-np.cumsum(together, axis=1) + together)
    share = growth / np.where(together > 0, together, 1.0)[:, None]
    incidence = np.cumsum(share * (before * -np.expm1(-together))[:, None], axis=2)
    whole = np.concatenate([np.zeros((*incidence.shape[:2], 1)), incidence], axis=2)
    return whole[..., np.searchsorted(grid, times)]


def _grid(curves: Sequence[EventCurves], times: Float64Array) -> Float64Array:
    """Zero, all times, the knots of all causes, and times between these."""
    knots = np.unique(np.concatenate([own.loss.times for own in curves]))
    steps = np.linspace(0, 1, _PARTS, endpoint=False)
    between = np.exp((np.log(knots[:-1, None]) + steps * np.diff(np.log(knots))[:, None]).ravel())
    first = knots[0] * np.linspace(0, 1, _PARTS)[1:]
    return np.unique(np.concatenate([[0.0], times, knots, between, first]))
