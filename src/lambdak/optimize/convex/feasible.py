"""Whether linear constraints can be met at all, and points with whole numbers that meet them, both from HiGHS."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from lambdak._types import Float64Array
from lambdak.optimize.axes import Axis
from lambdak.optimize.convex.lifted import Lifted, sizes
from lambdak.optimize.convex.newton import Rows
from lambdak.optimize.linear import LinearRows
from lambdak.pencil.definite import SAFE, UNIT

_INSIDE = 1e-7  # less is no inside
_SECONDS = 1.0  # for a point with whole numbers: it is only a suggestion


def is_infeasible(axes: Sequence[Axis], linear: LinearRows) -> bool:
    """Whether it is proven that no point between the ends of the axes meets the constraints.

    The multipliers of the least excess are a proof if yᵀR x is beyond the limits for every x, those widened by what a
    constraint may be missed. That is computed here: HiGHS is not believed.
    """
    if not len(linear):
        return False
    low, high = np.array([axis.low for axis in axes]), np.array([axis.high for axis in axes])
    y = _multipliers(linear, low, high)
    slopes, (size, room) = y @ linear.matrix, sizes(axes, linear)
    active = y != 0
    allowed = y[active] * np.where(y > 0, linear.high + room, linear.low - room)[active]
    excess = np.minimum(slopes * low, slopes * high).sum() - allowed.sum()
    terms = 2 * (len(y) + len(low) + 8) * UNIT
    return bool(excess > SAFE * terms * (np.abs(y) @ size + np.abs(allowed).sum()))


def _multipliers(linear: LinearRows, low: Float64Array, high: Float64Array) -> Float64Array:
    """Multipliers of constraints in min e, R x ≤ high + e, R x ≥ low − e, with rows of size one; 0 if it fails."""
    if len(linear) == 1:  # HiGHS takes a millisecond to see it
        first, last = linear.matrix * low, linear.matrix * high
        least, most = np.minimum(first, last).sum(axis=1), np.maximum(first, last).sum(axis=1)
        return np.where(least > linear.high, 1.0, np.where(most < linear.low, -1.0, 0.0))
    size = np.abs(linear.matrix).max(axis=1, initial=0.0)
    scale = 1 / np.where(size > 0, size, 1.0)
    upper, lower = np.isfinite(linear.high), np.isfinite(linear.low)
    rows = np.concatenate([linear.matrix[upper] * scale[upper, None], -linear.matrix[lower] * scale[lower, None]])
    ends = np.concatenate([(linear.high * scale)[upper], -(linear.low * scale)[lower]])
    target, bounds = np.append(np.zeros(len(low)), 1.0), [*zip(low, high, strict=True), (0, None)]
    found = linprog(target, np.column_stack([rows, -np.ones(len(rows))]), ends, bounds=bounds, method="highs")
    y = np.zeros(len(linear))
    if found.status == 0:
        above = np.count_nonzero(upper)
        y[upper] -= np.minimum(found.ineqlin.marginals[:above], 0.0)
        y[lower] += np.minimum(found.ineqlin.marginals[above:], 0.0)
    return np.asarray(y * scale)


def inner_mix(rows: Rows, mu: Float64Array) -> Float64Array:
    """A mix that meets all constraints, far from their limits and not far from ``mu``; or that one, if there is none.

    The variables are μ' ≥ 0 and how much e of ``mu`` is added to it, which is also how far every limit is.
    """
    slack = rows.h - rows.G @ mu
    equal = np.abs(rows.E @ mu - rows.e).max(initial=0.0) <= 8 * UNIT
    if equal and (slack > 0).all():
        return mu
    if equal and len(rows.G) == 1 and (near := _towards(rows, mu)) is not None:
        return near
    away = rows.G @ mu + np.ptp(rows.G, axis=1)
    found = linprog(
        np.append(np.zeros(len(mu)), -1.0),
        A_ub=np.column_stack([rows.G, away]),
        b_ub=rows.h,
        A_eq=np.column_stack([rows.E, rows.E @ mu]),
        b_eq=rows.e,
        bounds=[(0, None)] * len(mu) + [(0, 1)],
        method="highs",
    )
    return mu if found.x is None or found.x[-1] < _INSIDE else np.asarray(found.x[:-1] + found.x[-1] * mu)


def _towards(rows: Rows, mu: Float64Array) -> Float64Array | None:
    """A mix of ``mu`` and the corner that is best for the only constraint, a fifth of the way beyond its limit."""
    simplex, corner = rows.E > 0, np.zeros(len(mu))
    corner[[np.flatnonzero(own)[rows.G[0, own].argmin()] for own in simplex]] = 1.0
    here, there = (float(rows.h[0] - rows.G[0] @ own) for own in (mu, corner))
    share = 0.2 - 0.8 * here / (there - here) if there > _INSIDE else 1.0
    return (1 - share) * mu + share * corner if share < 1 - _INSIDE else None


def cheapest(axes: Sequence[Axis], lifted: Lifted, packed: Float64Array) -> Float64Array | None:
    """A point that meets the constraints, with whole numbers and levels, where the tangent of W (members, D) is low.

    The variables are a mix μ and the coordinates of the axes that have several points: x − Σ_j μ_j p_j = 0.
    """
    own = [axis for axis in axes if len(axis.points) > 1]
    none, limits = np.zeros(len(own)), lifted.limits
    simplex = (lifted.owner == np.arange(len(own))[:, None]).astype(np.float64)
    equal = np.block([[simplex, np.zeros((len(own), len(own)))], [-simplex * lifted.points, np.eye(len(own))]])
    rows = np.column_stack([limits.rows, np.zeros((len(limits.rows), len(own)))])
    sums, half = np.repeat([1.0, 0.0], len(own)), 0.5 * limits.room
    ends = [np.array([getattr(axis, end) for axis in own]) for end in ("low", "high")]
    levels = np.array([bool(axis.levels) for axis in own], np.bool_)
    found = milp(
        np.concatenate([lifted.tangents(packed) + lifted.cost, none]),
        constraints=[
            LinearConstraint(equal, sums, sums),
            LinearConstraint(rows, limits.low + half, limits.high - half),
        ],
        bounds=Bounds(*(np.append(np.full(len(lifted.points), i), end) for i, end in enumerate(ends))),
        integrality=np.concatenate([levels[lifted.owner], [axis.whole for axis in own]]).astype(int),
        options={"time_limit": _SECONDS},
    )
    if found.x is None:
        return None
    x = np.array([axis.low for axis in axes])
    x[[len(axis.points) > 1 for axis in axes]] = found.x[len(lifted.points) :]
    return x
