"""A problem in coordinates: minimise a goal over the axes, with linear and other limits.

Columns in which a score is monotone are pinned to their best end: nothing is to be searched there. A column that adds a
semidefinite matrix at every step never lowers an eigenvalue (Weyl). What a step lacks of that, by rounding, is charged
to the bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from scipy.linalg import null_space
from scipy.special import logit

from lambdak._types import Float64Array
from lambdak.eigen import eigenvalue
from lambdak.eigen.lazy import cached_property
from lambdak.eigen.rounding import eigenvalue_error
from lambdak.losses.links import EXPONENT_LIMIT, IDENTITY, LOG, LOGIT, Link
from lambdak.optimize.axes import Axis, cells_of
from lambdak.optimize.convex.solver import is_convex
from lambdak.optimize.linear import LinearRows, lowest_point
from lambdak.optimize.minimum.bounded import Factor, Goal, Prediction
from lambdak.optimize.minimum.expression import Limit, evaluate
from lambdak.optimize.relaxation import slack
from lambdak.optimize.scores import Score
from lambdak.pencil.definite import UNIT, frobenius

_NEGLIGIBLE = 1e-10  # of the size of the matrices: what the steps of a column may lack together
_FAR = 1e150  # a raw score that no model has
_UNDERFLOW = -745.0  # exp is 0 not far below
_LEAST = 1e-300  # predictions below it may be rounded to 0


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """The least value of ``goal`` where ``linear`` and ``limits`` hold.

    Attributes
    ----------
    axes : tuple of Axis
        The free columns.
    goal : Goal
        What is minimised: the user's objective, its negative, or the raw score behind it.
    linear : LinearRows
        Linear constraints.
    limits : tuple of Goal
        Each must be at most 0.
    requested : tuple of Limit
        The same as the user wrote them.
    seen : callable
        From values of the goal to those of the user's objective.
    row : mapping
        The cells of the fixed columns.
    """

    axes: tuple[Axis, ...]
    goal: Goal
    linear: LinearRows
    limits: tuple[Goal, ...]
    requested: tuple[Limit, ...]
    seen: Callable[[Any], Any]
    row: Mapping[str, Any]

    def values(self, x: Float64Array) -> Float64Array:
        """The goal at coordinates (n, axes), (n,); infinite where a limit does not hold, whatever rounding does."""
        found = self.goal.values(x)
        for limit in self.limits:
            found = np.where(limit.values(x) <= limit.errors(x), found, np.inf)
        return np.asarray(found)

    def meets(self, x: Float64Array) -> bool:
        """Whether what the models predict of a point (axes,) is within the limits."""
        row = {**self.row, **cells_of(self.axes, x)}
        return all(evaluate(own.expression, row) <= 0.0 for own in self.requested)

    def convex_score(self) -> Score | None:
        """The score that is minimised, up to linear terms, if that is all there is and it is convex."""
        score = self.only_score()
        return score if score is not None and is_convex(score) else None

    def only_score(self) -> Score | None:
        """The score that is minimised, up to linear terms, if that is all there is."""
        if self.limits or len(self.goal.factors) != 1:
            return None
        own = self.goal.factors[0]
        if not isinstance(own, Factor) or own.axis is not None or not own.offset:
            return None
        if own.prediction.link is not IDENTITY:
            return None
        score = (own.prediction.scores if own.offset > 0 else own.prediction.negatives)[0].scaled(abs(own.offset))
        return score.shifted(self.goal.constant, self.goal.begun)

    def pinned(self) -> tuple[Problem, float]:
        """The problem with monotone columns at their best end, and what to take off its bound."""
        if self.limits or len(self.goal.factors) != 1:
            return self, 0.0
        own = self.goal.factors[0]
        if not isinstance(own, Factor) or own.axis is not None or own.prediction.link is not IDENTITY:
            return self, 0.0
        used = (self.goal.linear != 0) | (self.linear.matrix != 0).any(axis=0)
        score, charge = pin((own.prediction.scores if own.offset > 0 else own.prediction.negatives)[0], used)
        prediction = Prediction((score,), (score.negative(),), IDENTITY)
        goal = replace(self.goal, factors=(Factor(prediction, abs(own.offset), None, 0.0),))
        return replace(self, axes=score.axes, goal=goal), abs(own.offset) * charge

    def costs(self) -> tuple[Float64Array, ...]:
        """The linear terms of the goal at the points of each axis; none if there are none."""
        if not self.goal.linear.any():
            return ()
        return tuple(a * axis.points for a, axis in zip(self.goal.linear.tolist(), self.axes, strict=True))

    @property
    def ends(self) -> tuple[Float64Array, Float64Array]:
        """The lowest and the highest point of every axis."""
        return np.array([axis.low for axis in self.axes]), np.array([axis.high for axis in self.axes])

    @property
    def whole(self) -> Any:
        """Which axes hold whole numbers only."""
        return np.array([axis.whole for axis in self.axes])

    @property
    def width(self) -> int:
        """Floats of all matrices at one point."""
        goals = (self.goal, *self.limits)
        scores = [score for goal in goals for own in goal.factors for score in own.prediction.scores]
        return max(1, sum(score.constant.size for score in scores))

    @cached_property
    def slack(self) -> float:
        """How far bounds of the goal stay from its values by rounding, in units of the error of a value."""
        scores = [score for own in self.goal.factors for score in (*own.prediction.scores, *own.prediction.negatives)]
        return max((slack(score) for score in scores), default=1.0)

    @cached_property
    def spread(self) -> float:
        """A natural change of the goal: between some points."""
        values = self.goal.values(self.anywhere(64, np.random.default_rng(0)))
        return float(np.ptp(values)) or 1.0

    def anywhere(self, count: int, rng: np.random.Generator) -> Float64Array:
        """Random points of the axes (count, axes), that need not meet any constraint."""
        return np.stack([rng.choice(axis.points, count) for axis in self.axes], axis=1)

    def starts(self, count: int, rng: np.random.Generator) -> Float64Array:
        """Points to begin from that meet the linear constraints."""
        points = self.anywhere(count, rng)
        if not len(self.linear):
            return points
        low, high = self.ends
        size = np.where(high > low, high - low, 1.0)
        costs = rng.standard_normal((min(count, 16), len(low))) / size
        found = [lowest_point(self.linear, cost, low, high, self.whole) for cost in costs]
        corners = np.array([own for own in found if own is not None]).reshape(-1, len(low))
        if not len(corners) or self.whole.any():
            return corners
        inside = rng.dirichlet(np.ones(len(corners)) / 2, count) @ corners
        return np.concatenate([corners, inside, points[self.linear.hold(points)]])

    def rounded(self, x: Float64Array) -> Float64Array:
        """Points within the bounds, whole where they must be."""
        return np.stack([axis.nearest(own) for axis, own in zip(self.axes, x.T, strict=True)], axis=1)

    def directions(self) -> Float64Array:
        """(n, axes): along each column, along two that keep a linear constraint, and that keep all equations."""
        low, high = self.ends
        size = np.where(self.whole, 4.0 * np.minimum(high - low, 1.0), high - low)
        found = list(np.diag(size))
        for row in self.linear.matrix:
            used = np.flatnonzero(row).tolist()
            found += [_exchange(row, size, i, j) for i in used for j in used if i < j]
        equal = self.linear.matrix[self.linear.low == self.linear.high]
        if len(equal):
            found += list((null_space(equal * size) * size[:, None]).T)
        return np.array(found)


def _exchange(row: Float64Array, size: Float64Array, i: int, j: int) -> Float64Array:
    """A step along two columns that a constraint does not notice."""
    step = np.zeros(len(row))
    step[i], step[j] = 1.0 / row[i], -1.0 / row[j]
    return np.asarray(step * min(size[i] * abs(row[i]), size[j] * abs(row[j])))


def raw_goal(goal: Goal, sign: float) -> tuple[Goal, Callable[[Any], Any]] | None:
    """The raw score behind a goal that is one prediction, if its link is monotone, and the way back to the objective.

    ``sign`` is −1 if the goal is the negative of the user's objective.
    """
    if goal.linear.any() or len(goal.factors) != 1:
        return None
    own = goal.factors[0]
    if not isinstance(own, Factor) or own.axis is not None or own.prediction.link.joint or not own.offset:
        return None
    link, factor, constant = own.prediction.link, own.offset, goal.constant
    plain = Prediction(own.prediction.scores, own.prediction.negatives, IDENTITY)
    direction = float(np.sign(factor))
    raw = Goal(0.0, goal.linear, (Factor(plain, direction, None, 0.0),))

    def seen(value: Any) -> Any:
        scores = np.asarray(direction * np.asarray(value, float))
        return sign * (constant + factor * link.predictions(scores[..., None])[..., 0])

    return raw, seen


def raw_limit(goal: Goal) -> Goal:
    """The limit on the raw score behind a limited prediction, where that is possible; else the limit as it is."""
    found = raw_goal(goal, 1.0)
    own = goal.factors[0] if found else None
    if found is None or not isinstance(own, Factor):
        return goal
    direction = float(np.sign(own.offset))
    threshold = -goal.constant / own.offset  # prediction ≤ it, or ≥ it if the factor is negative
    score = raw_threshold(own.prediction.link, threshold, direction)
    return Goal(-direction * score, goal.linear, found[0].factors)


def raw_threshold(link: Link, threshold: float, direction: float) -> float:
    """What a raw score is at most (``direction`` 1) or at least (-1), if its prediction is that, rounding included."""
    if link is not IDENTITY and direction < 0 and threshold <= _LEAST:
        return -_FAR  # a prediction that is 0 by underflow, of any raw score however low, may be at least that
    outwards = threshold * (1.0 + direction * float(np.sign(threshold)) * link.rounding)
    if link is LOG:
        least, most = float(np.exp(_UNDERFLOW)), float(np.exp(EXPONENT_LIMIT))
        if outwards >= most:
            return EXPONENT_LIMIT if direction < 0 and threshold <= most else _FAR
        return float(np.log(outwards)) if outwards > least else _UNDERFLOW if outwards >= 0 else -_FAR
    if link is LOGIT:
        if not 0.0 <= outwards < 1.0:
            return float(np.copysign(_FAR, outwards))
        return float(max(logit(outwards), _UNDERFLOW))
    return threshold


def pin(score: Score, used: Float64Array) -> tuple[Score, float]:
    """The score with monotone columns at the end where it is lowest, and what to take off a bound of it.

    ``used`` says which axes something else depends on.
    """
    axes, curves, charge = list(score.axes), list(score.curves), 0.0
    for i, axis in enumerate(score.axes):
        if axis.levels or used[i] or len(axis.points) == 1:
            continue
        lacks = [float(np.abs(score.weights) @ _lacks(score, i, sign)) for sign in (1.0, -1.0)]
        if min(lacks) > _NEGLIGIBLE * float(np.abs(score.weights) @ score.size):
            continue
        end = 0 if lacks[0] <= lacks[1] else len(axis.points) - 1
        axes[i] = Axis(axis.name, axis.points[[end]], (), axis.whole)
        curves[i] = score.curves[i][:, [end]]
        charge += min(lacks)
    return replace(score, axes=tuple(axes), curves=tuple(curves)), charge


def _lacks(score: Score, i: int, sign: float) -> Float64Array:
    """How far a way along column i, from any point to its end, can lower an eigenvalue, (members,)."""
    steps = sign * np.diff(score.curves[i], axis=1)
    error = eigenvalue_error(score.dim) * frobenius(steps) + 4 * UNIT * frobenius(score.curves[i]).max(axis=-1)[:, None]
    least = np.asarray(eigenvalue(steps, score.dim, 0)) - error
    return np.asarray(np.maximum(-least, 0.0).sum(axis=1))
