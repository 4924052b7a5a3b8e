r"""A last eigenvalue over the points of its axes, where it is convex, and its dual, which proves lower bounds.

A coordinate is a mix of the points of its axis, x_i = Σ_j μ_ij p_ij with μ_i in a simplex, and

    F(μ) = start + Σ_m w_m λ_max(C_m + Σ_ij μ_ij A_m,i(p_ij)) + Σ_ij μ_ij cost_ij.

F is convex. Every x is a mix of two neighbouring points, where F(μ) = s(x): so min F ≤ min s for every curve, and no
convexity has to be believed for a lower bound. If the curves are convex, F(μ) ≥ s(x) elsewhere, and the two are equal.
For any positive semidefinite W_m of trace w_m, and multipliers y of the linear constraints low ≤ R x ≤ high,

    min s ≥ start + Σ_m ⟨W_m, C_m⟩ − Σ_k max_{low_k ≤ r ≤ high_k} y_k r + Σ_i min_j (Σ_m ⟨W_m, A_m,i(p_ij)⟩ + cost_ij + (yᵀR)_i p_ij),

which is evaluated here with its rounding: whatever a solver does wrong, the bound holds.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.eigen import eigenvalue
from lambdak.eigen.packing import packed_dim
from lambdak.optimize.axes import Axis
from lambdak.optimize.linear import FEASIBLE, LinearRows
from lambdak.optimize.scores import Score
from lambdak.pencil.definite import SAFE, UNIT

Cost = Sequence[Float64Array]  # of each axis, at its points


class Limits(NamedTuple):
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
    limits : Limits
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
    limits: Limits
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


def _limits(score: Score, linear: LinearRows, several: Sequence[int], single: Sequence[int]) -> Limits:
    size, room = sizes(score.axes, linear)
    fixed = linear.matrix[:, single] @ np.array([score.axes[i].low for i in single])
    rows = [np.outer(linear.matrix[:, i], score.axes[i].points) for i in several]
    every = np.concatenate([np.zeros((len(linear), 0)), *rows], axis=1)
    return Limits(every, linear.low - fixed - room, linear.high - fixed + room, room, size)


def sizes(axes: Sequence[Axis], linear: LinearRows) -> tuple[Float64Array, Float64Array]:
    """At least |R| |x|, and by how much :meth:`LinearRows.hold` allows to miss a constraint, (rows,) each."""
    size = np.abs(linear.matrix) @ np.array([np.abs(axis.points).max() for axis in axes])
    room = SAFE * FEASIBLE * (size + np.abs(np.where(np.isfinite(linear.low), linear.low, 0.0)))
    return np.asarray(size), np.asarray(room)


def _error(score: Score, cost: Cost) -> float:
    """Rounding of ⟨W, A⟩, of W = R Rᵀ and its trace, of the sums, and of the score itself."""
    size = float(np.abs(score.weights) @ score.size) + abs(score.start)
    size += float(sum(np.abs(own).max() for own in cost))
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
            costs[i : i + 1] = [np.interp(points, axis.points, own) for own in costs[i : i + 1]]
    return replace(score, axes=tuple(axes), curves=tuple(curves)), tuple(costs)
