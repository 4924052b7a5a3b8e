r"""A last eigenvalue over the points of its axes, where it is convex, and its dual, which proves lower bounds.

A coordinate is a mix of the points of its axis, x_i = Σ_j μ_ij p_ij with μ_i in a simplex, and

    F(μ) = start + Σ_m w_m λ_max(C_m + Σ_ij μ_ij A_m,i(p_ij)) + Σ_ij μ_ij cost_ij.

F is convex. Every x is a mix of two neighbouring points, where F(μ) = s(x): so min F ≤ min s for every curve, and no
convexity has to be believed for a lower bound. If the curves are convex, F(μ) ≥ s(x) elsewhere, and the two are equal.
For any positive semidefinite W_m of trace w_m, and multipliers y of the linear constraints low ≤ R x ≤ high,

    min s ≥ start + Σ_m ⟨W_m, C_m⟩ − Σ_k max_{low_k ≤ r ≤ high_k} y_k r + Σ_i min_j (Σ_m ⟨W_m, A_m,i(p_ij)⟩ + cost_ij + (yᵀR)_i p_ij),

which is evaluated here with its rounding: whatever a solver does wrong, the bound holds. Whether the constraints can be
met at all, and points with whole numbers that meet them, come from HiGHS.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from lambdak._types import Float64Array
from lambdak.eigen import eigenvalue
from lambdak.eigen.packing import packed_dim
from lambdak.optimize.axes import Axis
from lambdak.optimize.linear import FEASIBLE, LinearRows
from lambdak.optimize.scores import Score
from lambdak.pencil.definite import SAFE, UNIT

_EQUAL = 4.0  # limits this many rooms apart are one equation
_INSIDE = 1e-7  # less is no inside
_SECONDS = 1.0  # for a point with whole numbers: it is only a suggestion

Cost = Sequence[Float64Array]  # of each axis, at its points


class LiftedLimits(NamedTuple):
    """low ≤ rows μ ≤ high, (R, N) and (R,), as wide as :meth:`LinearRows.hold` allows; ``size`` bounds |rows μ|."""

    rows: Float64Array
    low: Float64Array
    high: Float64Array
    room: Float64Array
    size: Float64Array


@final
@dataclass(frozen=True, eq=False)
class Lifted:
    """F over the mixes μ (N,) of the points of all axes that have several.

    Attributes
    ----------
    start : float
    weights : array of shape (members,)
    constant : array of shape (members, D)
    packed : array of shape (members, N, D)
    cost, points : arrays of shape (N,)
    owner : array of shape (N,)
        Which axis a point belongs to, counted among those that have several.
    limits : LiftedLimits
    error : float
        What rounding can do to a bound without multipliers, and to a score.
    """

    start: float
    weights: Float64Array
    constant: Float64Array
    packed: Float64Array
    cost: Float64Array
    points: Float64Array
    owner: NDArray[np.intp]
    limits: LiftedLimits
    error: float

    @property
    def dim(self) -> int:
        """The matrices' number of rows."""
        return packed_dim(self.constant.shape[-1])

    @property
    def first(self) -> NDArray[np.intp]:
        """Where the points of each axis begin."""
        return np.flatnonzero(np.diff(self.owner, prepend=-1))

    def value(self, mu: Float64Array) -> float:
        """F(μ)."""
        found = eigenvalue(self.constant + np.matmul(mu, self.packed), self.dim, self.dim - 1)
        return float(self.start + self.weights @ found + self.cost @ mu)

    def coordinates(self, mu: Float64Array) -> Float64Array:
        """Σ_j μ_ij p_ij of each axis that has several points."""
        return np.add.reduceat(mu * self.points, self.first) if len(mu) else np.zeros(0)

    def tangents(self, packed: Float64Array) -> Float64Array:
        """Σ_m ⟨W_m, A_m⟩ at all points, (N,), for packed W (members, D)."""
        return np.asarray(np.matmul(self.packed, packed[:, :, None])[..., 0].sum(axis=0))

    def bound(self, packed: Float64Array, multipliers: Float64Array) -> float:
        """The proven lower bound that W (members, D), of rounding's distance to semidefinite ones, and y (R,) yield."""
        limits = self.limits
        y = np.where(np.isfinite(np.where(multipliers > 0, limits.high, limits.low)), multipliers, 0.0)
        paid = y * np.where(y > 0, limits.high, np.where(y < 0, limits.low, 0.0))
        slopes = self.tangents(packed) + self.cost + y @ limits.rows
        least = np.minimum.reduceat(slopes, self.first).sum() if len(slopes) else 0.0
        terms = 2 * (len(y) + len(self.first) + 8) * UNIT
        rounding = SAFE * terms * (np.abs(y) @ limits.size + np.abs(paid).sum())
        found = self.start + (packed * self.constant).sum() - paid.sum() + least
        return float(found - rounding - self.error)


def lift(score: Score, linear: LinearRows, cost: Cost = ()) -> Lifted:
    """The score over the points of its axes; an axis of one point is part of the constant."""
    several = [i for i, axis in enumerate(score.axes) if len(axis.points) > 1]
    single = [i for i, axis in enumerate(score.axes) if len(axis.points) == 1]
    own = tuple(cost) or tuple(np.zeros(len(axis.points)) for axis in score.axes)
    keep = score.weights > 0
    means = [curve.mean(axis=1) for curve in score.curves]  # what all points of an axis share is constant
    constant = score.constant + sum(means, np.zeros_like(score.constant))
    none = np.zeros((len(score.weights), 0, constant.shape[-1]))
    return Lifted(
        start=score.start + float(sum(own[i][0] for i in single)),
        weights=score.weights[keep],
        constant=constant[keep],
        packed=np.concatenate([none, *(score.curves[i] - means[i][:, None] for i in several)], axis=1)[keep],
        cost=np.concatenate([np.zeros(0), *(own[i] for i in several)]),
        points=np.concatenate([np.zeros(0), *(score.axes[i].points for i in several)]),
        owner=np.repeat(np.arange(len(several)), [len(score.axes[i].points) for i in several]),
        limits=_limits(score, linear, several, single),
        error=_error(score, own),
    )


def _limits(score: Score, linear: LinearRows, several: Sequence[int], single: Sequence[int]) -> LiftedLimits:
    size, room = sizes(score.axes, linear)
    fixed = linear.matrix[:, single] @ np.array([score.axes[i].low for i in single])
    rows = [np.outer(linear.matrix[:, i], score.axes[i].points) for i in several]
    every = np.concatenate([np.zeros((len(linear), 0)), *rows], axis=1)
    return LiftedLimits(every, linear.low - fixed - room, linear.high - fixed + room, room, size)


def sizes(axes: Sequence[Axis], linear: LinearRows) -> tuple[Float64Array, Float64Array]:
    """At least |R| |x|, and by how much :meth:`LinearRows.hold` allows to miss a constraint, (rows,) each."""
    size = np.abs(linear.matrix) @ np.array([np.abs(axis.points).max() for axis in axes])
    room = SAFE * FEASIBLE * (size + np.abs(np.where(np.isfinite(linear.low), linear.low, 0.0)))
    return np.asarray(size), np.asarray(room)


def _error(score: Score, cost: Cost) -> float:
    """Rounding of ⟨W, A⟩, of W = R Rᵀ and its trace, of the sums, and of the score itself."""
    size = float(np.abs(score.weights) @ score.size) + abs(score.start)
    size += float(sum(np.abs(prices).max() for prices in cost))
    terms = score.constant.shape[-1] + 4 * score.dim + len(score.weights) + len(score.axes) + 64
    return float(SAFE * (4 * terms * UNIT * size + score.error))


def narrow(score: Score, cost: Cost, low: Float64Array, high: Float64Array) -> tuple[Score, Cost]:
    """Score and cost on a smaller box."""
    axes, curves, costs = list(score.axes), list(score.curves), list(cost)
    for i, axis in enumerate(axes):
        if low[i] > axis.low or high[i] < axis.high:
            inside = axis.points[(axis.points > low[i]) & (axis.points < high[i])]
            points = np.unique(np.concatenate([[low[i]], inside, [high[i]]]))
            axes[i], curves[i] = replace(axis, points=points), score.curve_at(i, points)
            costs[i : i + 1] = [np.interp(points, axis.points, prices) for prices in costs[i : i + 1]]
    return replace(score, axes=tuple(axes), curves=tuple(curves)), tuple(costs)


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


class StandardForm(NamedTuple):
    """G μ ≤ h and E μ = e; rows are scaled. ``upper``, ``lower``, ``equal`` say which constraints G and E hold."""

    G: Float64Array
    h: Float64Array
    E: Float64Array
    e: Float64Array
    upper: NDArray[np.bool_]
    lower: NDArray[np.bool_]
    equal: NDArray[np.bool_]
    scale: Float64Array


def standard_rows(lifted: Lifted) -> StandardForm:
    """The constraints of a lifted problem in standard form."""
    limits, axes = lifted.limits, len(lifted.first)
    size = np.abs(limits.rows).max(axis=1, initial=0.0)
    scale = 1 / np.where(size > 0, size, 1.0)
    rows, low, high = limits.rows * scale[:, None], limits.low * scale, limits.high * scale
    half = 0.5 * limits.room * scale  # in the middle of what may be missed, so that there is an interior
    equal = (high - low <= _EQUAL * 2 * half) & (size > 0)
    upper, lower = (np.isfinite(end) & ~equal & (size > 0) for end in (high, low))
    simplex = (lifted.owner == np.arange(axes)[:, None]).astype(np.float64)
    return StandardForm(
        G=np.concatenate([rows[upper], -rows[lower]]),
        h=np.concatenate([(high - half)[upper], -(low + half)[lower]]),
        E=np.concatenate([simplex, rows[equal]]),
        e=np.concatenate([np.ones(axes), 0.5 * (low[equal] + high[equal])]),
        upper=upper,
        lower=lower,
        equal=equal,
        scale=scale,
    )


def inner_mix(rows: StandardForm, mu: Float64Array) -> Float64Array:
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


def _towards(rows: StandardForm, mu: Float64Array) -> Float64Array | None:
    """A mix of ``mu`` and the corner that is best for the only constraint, a fifth of the way beyond its limit."""
    simplex, corner = rows.E > 0, np.zeros(len(mu))
    corner[[np.flatnonzero(vertices)[rows.G[0, vertices].argmin()] for vertices in simplex]] = 1.0
    here, there = (float(rows.h[0] - rows.G[0] @ point) for point in (mu, corner))
    share = 0.2 - 0.8 * here / (there - here) if there > _INSIDE else 1.0
    return (1 - share) * mu + share * corner if share < 1 - _INSIDE else None


def cheapest(axes: Sequence[Axis], lifted: Lifted, packed: Float64Array) -> Float64Array | None:
    """A point that meets the constraints, with whole numbers and levels, where the tangent of W (members, D) is low.

    The variables are a mix μ and the coordinates of the axes that have several points: x − Σ_j μ_j p_j = 0.
    """
    free = [axis for axis in axes if len(axis.points) > 1]
    none, limits = np.zeros(len(free)), lifted.limits
    simplex = (lifted.owner == np.arange(len(free))[:, None]).astype(np.float64)
    equal = np.block([[simplex, np.zeros((len(free), len(free)))], [-simplex * lifted.points, np.eye(len(free))]])
    rows = np.column_stack([limits.rows, np.zeros((len(limits.rows), len(free)))])
    sums, half = np.repeat([1.0, 0.0], len(free)), 0.5 * limits.room
    ends = [np.array([getattr(axis, end) for axis in free]) for end in ("low", "high")]
    levels = np.array([bool(axis.levels) for axis in free], np.bool_)
    found = milp(
        np.concatenate([lifted.tangents(packed) + lifted.cost, none]),
        constraints=[
            LinearConstraint(equal, sums, sums),
            LinearConstraint(rows, limits.low + half, limits.high - half),
        ],
        bounds=Bounds(*(np.append(np.full(len(lifted.points), i), end) for i, end in enumerate(ends))),
        integrality=np.concatenate([levels[lifted.owner], [axis.whole for axis in free]]).astype(int),
        options={"time_limit": _SECONDS},
    )
    if found.x is None:
        return None
    x = np.array([axis.low for axis in axes])
    x[[len(axis.points) > 1 for axis in axes]] = found.x[len(lifted.points) :]
    return x
