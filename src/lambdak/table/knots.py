"""Knots of a curve: where the rows are, with one knot for every value that holds many of them.

Everything is computed from the distinct values and their mass, so that neither the order of the rows matters nor
whether a row is repeated or weighs more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import check_int
from lambdak._types import Float64Array

MAX_KNOTS = 4096  # of one column, where the user says how many
_CLOSEST = 1e-6  # of its range, knots of a curve whose shape is promised

MOST_WHOLE = 2.0**52  # up to which every whole number is a float
_QUARTILE_KNOTS = 9  # seven of them are inside

# What n_knots="auto" stands for.
_ROWS_PER_KNOT = 40
_ALL_KNOTS = 450  # of all columns together
FEWEST_KNOTS, MOST_KNOTS = 4, 32  # of a column
FEWEST_TRAINED_KNOTS = 5  # where an estimator chooses; its effort says how many are the most


def check_n_knots(n_knots: int | str) -> int | str:
    """``n_knots`` if it is "auto", 0 for linear columns, or a number of knots."""
    if isinstance(n_knots, str):
        if n_knots != "auto":
            raise ValueError(f'n_knots must be "auto" or an int; got {n_knots!r}')
        return n_knots
    if check_int(n_knots, "n_knots", 0, MAX_KNOTS) == 1:
        raise ValueError("n_knots must be 0 (linear columns) or at least 2; got 1")
    return int(n_knots)


def auto_knots(rows: float, columns: float = 1, fewest: int = FEWEST_KNOTS, most: int = MOST_KNOTS) -> int:
    """clip(min(rows // 40, 450 // columns), fewest, most): fewer knots per column for short and for wide tables.

    Rows count by their weight.

    >>> [auto_knots(rows) for rows in (10, 400, 10_000)]
    [4, 10, 32]
    >>> [auto_knots(10_000, columns, most=36) for columns in (10, 30, 1_000)]
    [36, 15, 4]
    """
    return int(np.clip(min(rows // _ROWS_PER_KNOT, _ALL_KNOTS // max(columns, 0.5)), fewest, most))


def distinct(values: Float64Array, weights: Float64Array | None = None) -> tuple[Float64Array, Float64Array]:
    """Distinct values v_0 < v_1 < … and the mass of each: its rows, or their summed weights.

    >>> distinct(np.array([2.0, 1.0, 2.0]))
    (array([1., 2.]), array([1., 2.]))
    """
    mass: NDArray[Any]
    if weights is None:
        unique, mass = np.unique(values, return_counts=True)
    else:
        unique, inverse = np.unique(values, return_inverse=True)
        mass = np.bincount(inverse, weights, len(unique))
    return unique + 0.0, mass.astype(np.float64)  # -0.0 and 0.0 are one value: 0.0, whichever came first


def choose_knots(values: Float64Array, mass: Float64Array, n_knots: int) -> Float64Array:
    """κ_0 < … < κ_{K-1} out of the distinct ``values``: the ends, the spikes, and quantiles of what is left.

    A value is a spike, and so a knot, when it holds at least one share of the mass that is still to be divided by
    the knots that are still to be placed. Spikes are removed with their mass, which may reveal more of them; the last
    knots divide the remaining mass evenly and never meet in one value, so that exactly ``n_knots`` come out.

    >>> choose_knots(np.arange(9.0), np.ones(9), 5)
    array([0., 2., 4., 6., 8.])
    >>> choose_knots(np.arange(9.0), np.array([1, 900, 1, 1, 1, 1, 1, 1, 1]), 5)
    array([0., 1., 3., 6., 8.])
    """
    if len(values) <= n_knots:
        return values
    chosen = np.zeros(len(values), dtype=bool)
    chosen[[0, -1]] = True
    spikes = chosen
    while spikes.any() and (left := n_knots - int(chosen.sum())):
        rest = np.where(chosen, 0.0, mass)
        spikes = rest * left >= rest.sum()
        chosen = chosen | spikes
    if left := n_knots - int(chosen.sum()):
        edges = np.cumsum(np.where(chosen, 0.0, mass))
        chosen[np.searchsorted(edges, (np.arange(left) + 0.5) * (edges[-1] / left))] = True
    return values[chosen]


def quartiles(values: Float64Array, mass: Float64Array) -> tuple[float, float]:
    """Two numbers with about half of the rows between them, as knots see them: a spike counts no more than others.

    Of two distinct values they are these two.

    >>> quartiles(np.arange(101.0), np.ones(101)), quartiles(np.array([0.0, 1.0]), np.array([9.0, 1.0]))
    ((29.0, 71.0), (0.0, 1.0))
    """
    some = choose_knots(values, mass, _QUARTILE_KNOTS)
    if len(some) < 3:
        return float(some[0]), float(some[-1])
    low, high = np.quantile(some[1:-1], [0.25, 0.75])
    return float(low), float(high)


def are_whole(values: Float64Array) -> bool:
    """Whether all values are whole numbers, which a float holds exactly."""
    return bool((values == np.floor(values)).all() and np.abs(values).max(initial=0.0) < MOST_WHOLE)


def spaced(knots: Float64Array) -> Float64Array:
    """The knots without those too close to the one before: over a tiny piece rounding decides how a curve bends.

    >>> spaced(np.array([0.0, 1.0, 1.0 + 1e-9, 3.0 - 1e-9, 3.0]))
    array([0., 1., 3.])
    """
    least, kept = _CLOSEST * (knots[-1] - knots[0]), [knots[0]]
    for knot in knots[1:-1]:
        if knot - kept[-1] >= least and knots[-1] - knot >= least:
            kept.append(knot)
    return np.array([*kept, *knots[1:][-1:]])


def with_nodes(knots: Float64Array, nodes: Sequence[float], apart: bool = False) -> Float64Array:
    """The knots and those of the ``nodes`` that lie between them; with ``apart`` no other inner knot is close to one.

    >>> with_nodes(np.array([0.0, 1.0, 4.0]), [-1.0, 1.0, 2.0])
    array([0., 1., 2., 4.])
    """
    inside = np.array([node for node in nodes if knots[0] < node < knots[-1]], np.float64)
    if apart and len(inside):
        gaps = np.abs(knots[1:-1, None] - inside).min(axis=1)
        knots = np.concatenate([knots[:1], knots[1:-1][gaps >= _CLOSEST * (knots[-1] - knots[0])], knots[-1:]])
    return np.union1d(knots, inside + 0.0)  # −0.0 is 0.0


def median(values: Float64Array, mass: Float64Array) -> float:
    """The smallest of the distinct ``values`` that has half of the mass at or below it.

    >>> median(np.array([1.0, 2.0, 5.0]), np.array([1.0, 1.0, 3.0]))
    5.0
    """
    edges = np.cumsum(mass)
    return float(values[np.searchsorted(edges, edges[-1] / 2)])


def center_and_scale(values: Float64Array, mass: Float64Array) -> tuple[float, float]:
    """Mean and standard deviation of the distinct ``values``; the scale of a constant is 1.

    >>> center_and_scale(np.array([1.0, 3.0]), np.ones(2))
    (2.0, 1.0)
    """
    size = float(np.abs(values).max()) or 1.0  # squares of huge or tiny values would leave the range of a float
    share = mass / mass.sum()
    center = float((share * (values / size)).sum())  # a product of BLAS would depend on the number of threads
    scale = float(np.sqrt((share * (values / size - center) ** 2).sum()))
    if len(values) == 1 or scale * size < np.finfo(np.float64).tiny:
        return float(np.clip(center * size, values[0], values[-1])), 1.0
    return center * size, scale * size
