"""A problem in coordinates: minimise a function over the axes, with linear and other limits.

Columns are restricted to the points where a score can be lowest: an end of a monotone one, the turn of a valley.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from scipy.linalg import null_space
from scipy.special import logit

from lambdak._types import Float64Array
from lambdak.eigen.lazy import cached_property
from lambdak.losses.links import CLOGLOG, EXPONENT_LIMIT, IDENTITY, LOG, LOGIT, LOGLOG, Link
from lambdak.optimize.axes import Axis, cells_of
from lambdak.optimize.convex.solver import is_convex
from lambdak.optimize.linear import LinearRows, lowest_point
from lambdak.optimize.minimum.bounded import BoundedSum, Prediction, ScaledPrediction
from lambdak.optimize.minimum.expression import Limit, evaluate
from lambdak.optimize.minimum.pinning import pin
from lambdak.optimize.relaxation import slack
from lambdak.optimize.scores import Score

_FAR = 1e150  # a raw score that no model has
_UNDERFLOW = -745.0  # exp is 0 not far below
_LEAST = 1e-300  # predictions below it may be rounded to 0


@final
@dataclass(frozen=True, eq=False)
class Minimization:
    """The least value of ``objective`` where ``linear`` and ``limits`` hold.

    Attributes
    ----------
    axes : tuple of Axis
        The free columns.
    objective : BoundedSum
        What is minimised: what the user wrote, its negative, or the raw score behind it.
    linear : LinearRows
        Linear constraints.
    limits : tuple of BoundedSum
        Each must be at most 0.
    requested : tuple of Limit
        The same as the user wrote them.
    seen : callable
        From values of the objective here to those of what the user wrote.
    row : mapping
        The cells of the fixed columns.
    """

    axes: tuple[Axis, ...]
    objective: BoundedSum
    linear: LinearRows
    limits: tuple[BoundedSum, ...]
    requested: tuple[Limit, ...]
    seen: Callable[[Any], Any]
    row: Mapping[str, Any]

    def values(self, x: Float64Array) -> Float64Array:
        """Return the objective at coordinates (n, axes), (n,); infinite where a limit does not hold for certain."""
        found = self.objective.values(x)
        for limit in self.limits:
            found = np.where(limit.values(x) <= limit.errors(x), found, np.inf)
        return np.asarray(found)

    def meets(self, x: Float64Array) -> bool:
        """Whether what the models predict of a point (axes,) is within the limits."""
        row = {**self.row, **cells_of(self.axes, x)}
        return all(evaluate(limit.expression, row) <= 0.0 for limit in self.requested)

    def convex_score(self) -> Score | None:
        """The score that is minimised, up to linear terms, if that is all there is and it is convex."""
        score = self.only_score()
        return score if score is not None and is_convex(score) else None

    def only_score(self) -> Score | None:
        """The score that is minimised, up to linear terms, if that is all there is."""
        if self.limits or len(self.objective.terms) != 1:
            return None
        term = self.objective.terms[0]
        if not isinstance(term, ScaledPrediction) or term.axis is not None or not term.offset:
            return None
        if term.prediction.link is not IDENTITY:
            return None
        score = (term.prediction.scores if term.offset > 0 else term.prediction.negatives)[0].scaled(abs(term.offset))
        return score.shifted(self.objective.constant, self.objective.begun)

    def pinned(self) -> tuple[Minimization, float]:
        """The problem over the points of its columns where it can be lowest, and what to take off its bound."""
        if self.limits or len(self.objective.terms) != 1:
            return self, 0.0
        term = self.objective.terms[0]
        if not isinstance(term, ScaledPrediction) or term.axis is not None or term.prediction.link is not IDENTITY:
            return self, 0.0
        used = (self.objective.linear != 0) | (self.linear.matrix != 0).any(axis=0)
        score, charge = pin((term.prediction.scores if term.offset > 0 else term.prediction.negatives)[0], used)
        prediction = Prediction((score,), (score.negative(),), IDENTITY)
        objective = replace(self.objective, terms=(ScaledPrediction(prediction, abs(term.offset), None, 0.0),))
        return replace(self, axes=score.axes, objective=objective), abs(term.offset) * charge

    def costs(self) -> tuple[Float64Array, ...]:
        """The linear terms of the objective at the points of each axis; none if there are none."""
        if not self.objective.linear.any():
            return ()
        return tuple(a * axis.points for a, axis in zip(self.objective.linear.tolist(), self.axes, strict=True))

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
        scores = [score for function in (self.objective, *self.limits) for score in function.scores]
        return max(1, sum(score.constant.size for score in scores) // 2)  # each is there with either sign

    @cached_property
    def slack(self) -> float:
        """How far bounds of the objective stay from its values by rounding, in units of the error of a value."""
        return max((slack(score) for score in self.objective.scores), default=1.0)

    @cached_property
    def spread(self) -> float:
        """A natural change of the objective: between some points."""
        values = self.objective.values(self.anywhere(64, np.random.default_rng(0)))
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
        corners = np.array([point for point in found if point is not None]).reshape(-1, len(low))
        if not len(corners) or self.whole.any():
            return corners
        inside = rng.dirichlet(np.ones(len(corners)) / 2, count) @ corners
        return np.concatenate([corners, inside, points[self.linear.hold(points)]])

    def rounded(self, x: Float64Array) -> Float64Array:
        """Points within the bounds, whole where they must be."""
        return np.stack([axis.nearest(coordinates) for axis, coordinates in zip(self.axes, x.T, strict=True)], axis=1)

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


def raw_objective(function: BoundedSum, sign: float) -> tuple[BoundedSum, Callable[[Any], Any]] | None:
    """Return the raw score behind a function that is one prediction, if its link is monotone, and the way back from it.

    ``sign`` is −1 if the function is the negative of the user's objective.
    """
    if function.linear.any() or len(function.terms) != 1:
        return None
    term = function.terms[0]
    if not isinstance(term, ScaledPrediction) or term.axis is not None or term.prediction.link.joint or not term.offset:
        return None
    link, factor, constant = term.prediction.link, term.offset, function.constant
    plain = Prediction(term.prediction.scores, term.prediction.negatives, IDENTITY)
    direction = float(np.sign(factor))
    raw = BoundedSum(0.0, function.linear, (ScaledPrediction(plain, direction, None, 0.0),))

    def seen(value: Any) -> Any:
        scores = np.asarray(direction * np.asarray(value, float))
        return sign * (constant + factor * link.predictions(scores[..., None])[..., 0])

    return raw, seen


def raw_limit(function: BoundedSum) -> BoundedSum:
    """The limit on the raw score behind a limited prediction, where that is possible; else the limit as it is."""
    found = raw_objective(function, 1.0)
    term = function.terms[0] if found else None
    if found is None or not isinstance(term, ScaledPrediction):
        return function
    direction = float(np.sign(term.offset))
    threshold = -function.constant / term.offset  # prediction ≤ it, or ≥ it if the factor is negative
    score = raw_threshold(term.prediction.link, threshold, direction)
    return BoundedSum(-direction * score, function.linear, found[0].terms)


def raw_threshold(link: Link, threshold: float, direction: float) -> float:
    """What a raw score is at most (``direction`` 1) or at least (-1), if its prediction is that, rounding included."""
    least, most = (link.low, link.high)[:: int(direction)]  # of what is at most, or at least, the threshold
    if direction * threshold >= direction * most or direction * threshold < direction * least:
        return direction * (_FAR if direction * threshold >= direction * most else -_FAR)  # all reach it, or none
    link = link.free
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
    if link in (CLOGLOG, LOGLOG):
        if not 0.0 < outwards < 1.0:
            return float(np.copysign(_FAR, outwards - 0.5))
        hazard = np.log(-np.log1p(-outwards)) if link is CLOGLOG else -np.log(-np.log(outwards))
        return float(max(hazard, _UNDERFLOW))
    return threshold
