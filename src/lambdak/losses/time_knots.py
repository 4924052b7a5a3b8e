"""Knots of time, and the cumulative hazard of all rows together, from which a fit starts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.table.event_times import EXACT, LEFT, RIGHT

# Knots grow with the number of events to this power, and are at most so many.
_POWER, _MOST_KNOTS, _FEWEST_KNOTS = 0.4, 16, 3
_CLOSEST = 0.01  # of the range of log time between first and last knot: closer ones are left out
_SHORTEST = 1.001  # ratio of the last event time to the first: with less, there is as good as one time
_LONE = 2.0  # a single event time has knots at it, divided and multiplied by this
_LEAST_RISE = 1e-3  # of the logarithm of the cumulative hazard, from knot to knot
_HALF = 0.5  # of an event, that counts where no event was seen before a knot


def spread_knots(lines: Float64Array, mass: Float64Array, count: int = 0) -> tuple[float, ...]:
    """So many times at quantiles of those of the events, the first and the last among them."""
    when, happened = _moments(lines)
    counted = happened & (mass > 0)
    times = when[counted]
    if not len(times):
        raise ValueError(
            "y must hold at least one event; got none: all rows are right-censored, so that nothing is known of when "
            "events happen"
        )
    events = float(mass[counted].sum() / mass[mass > 0].mean())
    wanted = count or int(np.clip(events**_POWER + 1, _FEWEST_KNOTS, _MOST_KNOTS))
    chances = np.linspace(0, 1, max(wanted, 2))
    knots = np.unique(np.quantile(times, chances, weights=mass[counted], method="inverted_cdf")).tolist()
    apart = (knots[-1] / knots[0]) ** _CLOSEST
    if knots[-1] < _SHORTEST * knots[0]:
        return knots[0] / _LONE, knots[0] * _LONE
    kept = knots[:1]
    for time in knots[1:-1]:
        if time >= apart * kept[-1] and knots[-1] >= apart * time:
            kept.append(time)
    return (*kept, knots[-1])


def baseline(lines: Float64Array, mass: Float64Array, times: tuple[float, ...]) -> Float64Array:
    """The cumulative hazard of all rows at these times, by Nelson and Aalen, positive and rising.

    An event within an interval counts at its middle; a row counts from its entry to its end.
    """
    when, happened = _moments(lines)
    entry = lines[:, 1]
    moments = np.unique(when[happened & (mass > 0)])
    order, entries = np.argsort(when), np.argsort(entry)
    leaving = np.concatenate([[0.0], np.cumsum(mass[order])])[np.searchsorted(when[order], moments, side="left")]
    entering = np.concatenate([[0.0], np.cumsum(mass[entries])])[np.searchsorted(entry[entries], moments, side="left")]
    events = np.zeros(len(moments))
    np.add.at(events, np.searchsorted(moments, when[happened & (mass > 0)]), mass[happened & (mass > 0)])
    at_risk = np.maximum(entering - leaving, events)
    hazard = np.concatenate([[0.0], np.cumsum(events / at_risk)])
    unit = float(_HALF * mass[mass > 0].mean() / mass.sum())
    found = np.maximum(hazard[np.searchsorted(moments, times, side="right")], unit)
    rising = np.maximum.accumulate(np.log(found)) + _LEAST_RISE * np.arange(len(times))
    return np.asarray(np.exp(rising))


def _moments(lines: Float64Array) -> tuple[Float64Array, NDArray[np.bool_]]:
    """When each row ended, and whether by an event; an interval has it at its middle, also one that begins at zero."""
    code, _, lower, upper = lines.T
    middle = (np.where(code == LEFT, 0.0, lower) + upper) / 2
    return np.where((code == EXACT) | (code == RIGHT), upper, middle), code != RIGHT
