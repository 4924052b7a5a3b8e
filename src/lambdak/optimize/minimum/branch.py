r"""Branch and bound: boxes of the free columns, those with the lowest bound first, each halved in one column.

A box is dropped once no point of it can be better than the best point by more than the gap. Constraints come in by
Lagrange's multipliers: for every y ≥ 0, objective + Σ y_r limit_r ≤ objective wherever the limits hold, and the sum is
separable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.optimize.frontier import Clock, Frontier, Open, Solution, Status
from lambdak.optimize.linear import LinearRows, propagate
from lambdak.optimize.minimum.bounded import Relaxed
from lambdak.optimize.minimum.descent import Incumbent, descend_by_majorants, straight_score
from lambdak.optimize.minimum.problem import Minimization
from lambdak.optimize.relaxation import MOST_STEPS, STEPS, Boxes, Separable, linear
from lambdak.optimize.scores import Score

_AT_ONCE = 1 << 18  # floats of one relaxation: how many boxes are halved together
_MOST_AT_ONCE = 256
_FIRST_BOXES = 3  # the first one and its halves, on whose bounds more work is spent
_DUAL_STEPS = 12
_FIRST_SEARCH = 1024  # boxes, after which points are looked for once more
_MOST_JOINT = 512  # combinations of vertices
_UNUSED = 1e-3  # how much a limit that has no multiplier counts where a box is halved
_SLACK = 8.0  # so many times what rounding does to a bound: nothing is halved for less
_METHOD = "branch and bound"


@final
@dataclass(eq=False)
class BranchAndBound:
    """The state of one run of branch and bound."""

    problem: Minimization
    clock: Clock
    best: Incumbent
    rng: np.random.Generator
    milestone: int = _FIRST_SEARCH
    most: float = np.inf  # boxes, after which the search ends
    went_down: float = np.inf  # the value from which no convex majorant leads lower
    rows: LinearRows = field(init=False)
    score: Score | None = field(init=False)
    frontier: Frontier = field(init=False)

    def __post_init__(self) -> None:
        self.rows = self.problem.linear.one_sided()
        self.score = straight_score(self.problem)
        root = Open.root(self.problem.axes, len(self.rows) + len(self.problem.limits))
        self.frontier = Frontier(root, self.clock, self.best, most=self.most)

    def run(self) -> Solution:
        """Until the gap is closed, the time is over, or the user interrupts."""
        frontier, status = self.frontier, None
        try:
            if self.best.x is None:
                self.best.begin(self.rng)
            frontier.open = self._bounded(frontier.open)
            frontier.note()
            while (status := frontier.status()) is None:
                frontier.open = self._halved()
                self._search_again()
                frontier.note()
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return frontier.solution(status, _METHOD)

    def _search_again(self) -> None:
        """Look for a better point from other starts, whenever the work has doubled."""
        if self.frontier.work >= self.milestone:
            self.best.begin(self.rng)
            if self.score is not None and self.best.x is not None and self.best.value < self.went_down:
                self.best.offer(*descend_by_majorants(self.problem, self.score, self.best.x, self.clock))
                self.went_down = self.best.value
            self.milestone *= 2

    def _halved(self) -> Open:
        """Return the open boxes after those with the lowest bounds were halved."""
        boxes = self.frontier.open
        count = min(boxes.size, self._batch())
        first = np.argpartition(boxes.bound, count - 1)[:count]
        chosen = boxes.take(first)
        axis = chosen.effects.argmax(axis=1)
        halves = chosen.halved(axis, lambda i, low, high: self.problem.axes[i].split(low, high))
        return self._worth(boxes.without(first).joined(self._bounded(halves[0].joined(halves[1]))))

    def _batch(self) -> int:
        points = max(len(axis.points) for axis in self.problem.axes)
        return int(np.clip(_AT_ONCE // (points * self.problem.width), 8, _MOST_AT_ONCE))

    def _bounded(self, boxes: Open) -> Open:
        """Return boxes, whose bounds are those of what they are part of, with bounds of their own.

        The points where these are attained are tried.
        """
        whole = np.array([axis.whole for axis in self.problem.axes])
        low, high, kept = propagate(self.rows, boxes.low, boxes.high, whole)
        boxes = boxes._replace(low=low, high=high).take(kept)
        self.frontier.work += len(kept)
        if not boxes.size:
            return boxes
        boxes = boxes._replace(effects=np.zeros(boxes.low.shape))
        self._tighten_(boxes, np.arange(boxes.size), joint=False)
        few = np.flatnonzero(self._has_few_vertices(boxes) & self._is_open(boxes))
        if len(few):
            self._tighten_(boxes, few, joint=True)
        return self._splittable(boxes)

    def _tighten_(self, boxes: Open, rows: NDArray[np.intp], joint: bool) -> None:
        """Raise the bounds of some boxes, and try the points where these are reached."""
        low, high = boxes.low[rows], boxes.high[rows]
        steps = MOST_STEPS if self.frontier.work <= _FIRST_BOXES else STEPS
        relaxed = Relaxed(Boxes.between(self.problem.axes, low, high, joint), steps)
        objective = self.problem.objective.relaxed(relaxed)
        rooms = self.rows.rooms(low, high).T
        limits = [
            linear(relaxed.boxes, -most, row).shifted(-room)
            for row, most, room in zip(self.rows.matrix, self.rows.high, rooms, strict=True)
        ]
        limits += [limit.relaxed(relaxed) for limit in self.problem.limits]
        for limit in limits[len(self.rows) :]:
            objective.base[limit.lowest() > 0.0] = np.inf  # no point of the box meets the limit
        bound, duals, places = self._dual(objective, limits, boxes.duals[rows])
        self.best.try_points(relaxed.boxes.points(places))
        boxes.bound[rows], boxes.duals[rows] = np.maximum(boxes.bound[rows], bound), duals
        if not joint:
            used = (limit.loose * (y + _UNUSED)[:, None] for limit, y in zip(limits, duals.T, strict=True))
            boxes.effects[rows] = objective.loose + sum(used)

    def _has_few_vertices(self, boxes: Open) -> NDArray[np.bool_]:
        """Whether all combinations of vertices of a box can be looked at."""
        most = int((_MOST_JOINT + 0.5) ** (1.0 / len(self.problem.axes)))
        ends = zip(self.problem.axes, boxes.low.T, boxes.high.T, strict=True)
        few = [axis.count_between(low, high) + 2 <= most for axis, low, high in ends]
        return np.asarray(np.all(few, axis=0))

    def _is_open(self, boxes: Open) -> NDArray[np.bool_]:
        """Whether a box may hold a point that is better by more than the gap allows."""
        if self.best.x is None:
            return np.asarray(boxes.bound < np.inf)
        is_lower = boxes.bound < self.best.value - self._slack(self.best.x)
        return np.asarray(is_lower & ~self.clock.is_close(self.best.value, boxes.bound))

    def _slack(self, x: Float64Array) -> float:
        """About how far rounding keeps every bound from a value: halving boxes does not gain that."""
        return _SLACK * self.problem.slack * float(self.problem.objective.errors(x[None])[0])

    def _dual(
        self, objective: Separable, limits: list[Separable], duals: Float64Array
    ) -> tuple[Float64Array, Float64Array, list[NDArray[np.intp]]]:
        """The best bound of some steps over the multipliers, with these and the lowest vertices."""
        best = np.full(len(objective.base), -np.inf)
        kept, y = duals.copy(), duals.copy()
        places: list[NDArray[np.intp]] = []
        for _ in range(_DUAL_STEPS if limits else 1):
            total = _weighted(objective, limits, y)
            at = [part.argmin(axis=1) for part in total.parts]
            value = total.lowest()
            better = value > best
            places = [np.where(better, new, old) for new, old in zip(at, places or at, strict=True)]
            best, kept = np.where(better, value, best), np.where(better[:, None], y, kept)
            if limits:
                y = self._next_duals(limits, y, at, value)
        return best, kept, places

    def _next_duals(
        self, limits: list[Separable], y: Float64Array, at: list[NDArray[np.intp]], value: Float64Array
    ) -> Float64Array:
        """A step of Polyak's towards the value that would drop the box."""
        slope = np.stack([_value_at(limit, at) for limit in limits], axis=1)
        slope = np.where((y <= 0.0) & (slope < 0.0), 0.0, slope)
        finite = np.isfinite(value)
        aim = self.best.value if np.isfinite(self.best.value) else value + self.problem.spread
        room = np.where(finite, np.maximum(aim - np.where(finite, value, 0.0), 0.0), 0.0)
        step = room / np.maximum((slope * slope).sum(axis=1), 1e-300)
        return np.asarray(np.maximum(y + step[:, None] * slope, 0.0))

    def _splittable(self, boxes: Open) -> Open:
        """Return the boxes that can be halved; the others are settled."""
        narrow = np.array([_least_width(axis.low, axis.high) for axis in self.problem.axes])
        splits = np.asarray(boxes.high - boxes.low > narrow)
        boxes.effects[~splits] = -np.inf
        self.frontier.settle(boxes.bound[~splits.any(axis=1)])
        return boxes.take(np.flatnonzero(splits.any(axis=1)))

    def _worth(self, boxes: Open) -> Open:
        """Return the boxes that are open; the others are settled, if their bounds are below the best value."""
        is_open = self._is_open(boxes)
        self.frontier.settle(boxes.bound[~is_open & (boxes.bound < self.best.value)])
        return boxes.take(np.flatnonzero(is_open))


def _least_width(low: float, high: float) -> float:
    """What is not halved any more."""
    return 1e-12 * max(abs(low), abs(high), high - low)


def _weighted(objective: Separable, limits: list[Separable], y: Float64Array) -> Separable:
    total = objective
    for r, limit in enumerate(limits):
        if y[:, r].any():
            total = total + limit * y[:, r]
    return total


def _value_at(function: Separable, at: list[NDArray[np.intp]]) -> Float64Array:
    rows = np.arange(len(function.base))
    return np.asarray(function.base + sum(part[rows, place] for part, place in zip(function.parts, at, strict=True)))


def branch_and_bound(problem: Minimization, clock: Clock, rng: np.random.Generator) -> Solution:
    """The least value of a problem, with a proven bound."""
    return BranchAndBound(problem, clock, Incumbent(problem=problem), rng).run()
