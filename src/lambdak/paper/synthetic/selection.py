"""From the errors of all models to the curves of the paper: test data select nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.paper.synthetic.sweep import CellResult


@dataclass(frozen=True, eq=False)
class Curve:
    """At each checkpoint, the rate that won, and the quartiles of its models' test errors."""

    rate: NDArray[np.intp]  # position in the grid's rates
    low: Float64Array
    median: Float64Array
    high: Float64Array


def select(result: CellResult) -> Curve:
    """Test errors at the best checkpoints so far by validation, for the rate with the lowest median validation error.

    Errors are (targets, seeds, rates, checkpoints); a model that has diverged counts as infinitely bad.
    """
    rates, steps = result.validation.shape[2:]
    validation, test = (
        np.where(np.isnan(part), np.inf, np.asarray(part, np.float64)).reshape(-1, rates, steps)
        for part in (result.validation, result.test)
    )
    best = np.zeros(validation.shape, np.intp)
    for step in range(1, steps):
        last = best[..., step - 1]
        better = validation[..., step] < np.take_along_axis(validation, last[..., None], -1)[..., 0]
        best[..., step] = np.where(better, step, last)
    offered = np.median(np.take_along_axis(validation, best, -1), axis=0)  # (rates, checkpoints)
    winner = offered.argmin(axis=0)
    errors = np.take_along_axis(test, best, -1)[:, winner, np.arange(steps)]
    return Curve(winner, *quartiles(errors))


def quartiles(errors: Float64Array) -> Float64Array:
    """(3, ...) along the first axis, as np.quantile has them, except that infinity may be among the errors."""
    ordered, position = np.sort(errors, axis=0), np.array([0.25, 0.5, 0.75]) * (len(errors) - 1)
    low, high = ordered[np.floor(position).astype(int)], ordered[np.ceil(position).astype(int)]
    share = np.reshape(position % 1, (3, *[1] * (errors.ndim - 1)))
    with np.errstate(invalid="ignore"):  # inf − inf where both are lost, which is not taken
        between = low + (high - low) * share
    return np.asarray(np.where(low == high, low, between))
