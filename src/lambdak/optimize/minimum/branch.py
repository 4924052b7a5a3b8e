r"""Branch and bound: boxes of the free columns, those with the lowest bound first, each halved in one column.

A box is dropped once no point of it can be better than the best point by more than the gap. Constraints come in by
Lagrange's multipliers: for every y ≥ 0, goal + Σ y_r limit_r ≤ goal wherever the limits hold, and the sum is separable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.optimize.frontier import Clock, Solution, Status
from lambdak.optimize.linear import LinearRows, propagate
from lambdak.optimize.minimum.bounded import Relaxed
from lambdak.optimize.minimum.descent import Incumbent, descend_by_majorants, straight_score
from lambdak.optimize.minimum.problem import Problem
from lambdak.optimize.relaxation import Boxes, Separable, linear
from lambdak.optimize.scores import Score

_AT_ONCE = 1 << 18  # floats of one relaxation: how many boxes are halved together
_MOST_AT_ONCE = 256
_DUAL_STEPS = 12
_FIRST_SEARCH = 1024  # boxes, after which points are looked for once more
_MOST_JOINT = 512  # combinations of vertices
_UNUSED = 1e-3  # how much a limit that has no multiplier counts where a box is halved
_MOST_OPEN = 4_000_000  # boxes, so that memory stays bounded
_SLACK = 8.0  # so many times what rounding does to a bound: nothing is halved for less
_METHOD = "branch and bound"


@final
@dataclass(eq=False)
class Open:
    """Boxes that may hold a better point: ends (n, axes), bounds (n,), looseness (n, axes), multipliers (n, R)."""

    low: Float64Array
    high: Float64Array
    bound: Float64Array
    loose: Float64Array
    duals: Float64Array

    def __len__(self) -> int:
        return len(self.bound)

    def take(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> Open:
        """Boxes at these positions, or where a mask is true."""
        return Open(self.low[rows], self.high[rows], self.bound[rows], self.loose[rows], self.duals[rows])

    def joined(self, other: Open) -> Open:
        """Boxes of this set and of another one."""
        own = (np.concatenate([getattr(self, name), getattr(other, name)]) for name in vars(self))
        return Open(*own)


@final
@dataclass(eq=False)
class Search:
    """The state of one run of branch and bound."""

    problem: Problem
    clock: Clock
    best: Incumbent
    rng: np.random.Generator
    work: int = 0
    milestone: int = _FIRST_SEARCH
    unsplit: float = np.inf  # the lowest bound of boxes too small to be halved
    most: float = np.inf  # boxes, after which the search ends
    went_down: float = np.inf  # the value from which no convex majorant leads lower
    rows: LinearRows = field(init=False)
    score: Score | None = field(init=False)

    def __post_init__(self) -> None:
        self.rows = self.problem.linear.one_sided()
        self.score = straight_score(self.problem)

    def run(self) -> Solution:
        """Until the gap is closed, the time is over, or the user interrupts."""
        status, bound = Status.INTERRUPTED, -np.inf
        try:
            if self.best.x is None:
                self.best.begin(self.rng)
            boxes = self._root()
            while True:
                bound = self._lowest(boxes)
                self.clock.note(self.best.value, bound, self.work)
                status = self._status(boxes, bound)
                if status is not Status.INTERRUPTED:
                    break
                boxes = self._step(boxes)
                self._search_again()
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return Solution(self.best.x, self.best.value, bound, status, _METHOD, tuple(self.clock.trace))

    def _search_again(self) -> None:
        """Look for a better point from other starts, whenever the work has doubled."""
        if self.work >= self.milestone:
            self.best.begin(self.rng)
            if self.score is not None and self.best.x is not None and self.best.value < self.went_down:
                self.best.offer(*descend_by_majorants(self.problem, self.score, self.best.x, self.clock))
                self.went_down = self.best.value
            self.milestone *= 2

    def _status(self, boxes: Open, bound: float) -> Status:
        """Why the search ends now; INTERRUPTED if it does not."""
        if self.best.x is not None and self.clock.is_close(self.best.value, bound):
            return Status.OPTIMAL
        if not len(boxes):
            return Status.INFEASIBLE if self.best.x is None and self.unsplit == np.inf else Status.STALLED
        if self.work >= self.most:
            return Status.LOCAL
        return Status.TIME_LIMIT if self.clock.is_over or len(boxes) > _MOST_OPEN else Status.INTERRUPTED

    def _lowest(self, boxes: Open) -> float:
        """No point has a value below this."""
        own = float(min(boxes.bound.min(initial=np.inf), self.unsplit))
        return min(own, self.best.value)

    def _root(self) -> Open:
        low, high = (np.array([[getattr(axis, end) for axis in self.problem.axes]]) for end in ("low", "high"))
        return self._bounded(low, high, np.full(1, -np.inf), np.zeros((1, len(self.rows) + len(self.problem.limits))))

    def _step(self, boxes: Open) -> Open:
        """Halve the boxes with the lowest bounds."""
        count = min(len(boxes), self._batch())
        first = np.argpartition(boxes.bound, count - 1)[:count]
        rest = np.ones(len(boxes), bool)
        rest[first] = False
        low, high, parent = self._halves(boxes.take(first))
        new = self._bounded(low, high, parent.bound, parent.duals)
        return self._worth(boxes.take(rest).joined(new))

    def _batch(self) -> int:
        points = max(len(axis.points) for axis in self.problem.axes)
        return int(np.clip(_AT_ONCE // (points * self.problem.width), 8, _MOST_AT_ONCE))

    def _halves(self, boxes: Open) -> tuple[Float64Array, Float64Array, Open]:
        """Low and high ends of the two halves of each box, and the boxes, once for each half."""
        axis = boxes.loose.argmax(axis=1)
        low, high = (np.concatenate([end, end]) for end in (boxes.low, boxes.high))
        for i in np.unique(axis):
            own = np.flatnonzero(axis == i)
            end, begin = self.problem.axes[i].split(boxes.low[own, i], boxes.high[own, i])
            high[own, i], low[own + len(boxes), i] = end, begin
        return low, high, boxes.joined(boxes)

    def _bounded(self, low: Float64Array, high: Float64Array, above: Float64Array, duals: Float64Array) -> Open:
        """Bounds of boxes, not below those of the boxes that they are part of; their best points are tried."""
        whole = np.array([axis.whole for axis in self.problem.axes])
        low, high, kept = propagate(self.rows, low, high, whole)
        low, high, above, duals = low[kept], high[kept], above[kept], duals[kept]
        self.work += len(kept)
        if not len(low):
            return Open(low, high, above, low, duals)
        found = Open(low, high, above, np.zeros(low.shape), duals)
        self._tighten_(found, np.arange(len(low)), joint=False)
        few = np.flatnonzero(self._has_few_vertices(found) & self._is_open(found))
        if len(few):
            self._tighten_(found, few, joint=True)
        return self._splittable(found)

    def _tighten_(self, boxes: Open, rows: NDArray[np.intp], joint: bool) -> None:
        """Raise the bounds of some boxes, and try the points where these are reached."""
        low, high = boxes.low[rows], boxes.high[rows]
        relaxed = Relaxed(Boxes.between(self.problem.axes, low, high, joint))
        goal = self.problem.goal.relaxed(relaxed)
        rooms = self.rows.rooms(low, high).T
        limits = [
            linear(relaxed.boxes, -most, row).shifted(-room)
            for row, most, room in zip(self.rows.matrix, self.rows.high, rooms, strict=True)
        ]
        limits += [own.relaxed(relaxed) for own in self.problem.limits]
        for limit in limits[len(self.rows) :]:
            goal.base[limit.lowest() > 0.0] = np.inf  # no point of the box meets the limit
        bound, duals, places = self._dual(goal, limits, boxes.duals[rows])
        self.best.try_points(relaxed.boxes.points(places))
        boxes.bound[rows], boxes.duals[rows] = np.maximum(boxes.bound[rows], bound), duals
        if not joint:
            used = (own.loose * (y + _UNUSED)[:, None] for own, y in zip(limits, duals.T, strict=True))
            boxes.loose[rows] = goal.loose + sum(used)

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
        return _SLACK * self.problem.slack * float(self.problem.goal.errors(x[None])[0])

    def _dual(
        self, goal: Separable, limits: list[Separable], duals: Float64Array
    ) -> tuple[Float64Array, Float64Array, list[NDArray[np.intp]]]:
        """The best bound of some steps over the multipliers, with these and the lowest vertices."""
        best = np.full(len(goal.base), -np.inf)
        kept, y = duals.copy(), duals.copy()
        places: list[NDArray[np.intp]] = []
        for _ in range(_DUAL_STEPS if limits else 1):
            total = _weighted(goal, limits, y)
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
        slope = np.stack([_value_at(own, at) for own in limits], axis=1)
        slope = np.where((y <= 0.0) & (slope < 0.0), 0.0, slope)
        finite = np.isfinite(value)
        aim = self.best.value if np.isfinite(self.best.value) else value + self.problem.spread
        room = np.where(finite, np.maximum(aim - np.where(finite, value, 0.0), 0.0), 0.0)
        step = room / np.maximum((slope * slope).sum(axis=1), 1e-300)
        return np.asarray(np.maximum(y + step[:, None] * slope, 0.0))

    def _splittable(self, boxes: Open) -> Open:
        """Boxes that can be halved; ``unsplit`` keeps the lowest bound of the others."""
        narrow = np.array([_least_width(axis.low, axis.high) for axis in self.problem.axes])
        splits = np.asarray(boxes.high - boxes.low > narrow)
        boxes.loose[~splits] = -np.inf
        wide = np.flatnonzero(splits.any(axis=1))
        small = np.flatnonzero(~splits.any(axis=1))
        self.unsplit = min(self.unsplit, float(boxes.bound[small].min(initial=np.inf)))
        return boxes.take(wide)

    def _worth(self, boxes: Open) -> Open:
        """Boxes that are open; ``unsplit`` keeps the lowest bound of the others, if it is below the best value."""
        is_open = self._is_open(boxes)
        close = boxes.bound[~is_open & (boxes.bound < self.best.value)]
        self.unsplit = min(self.unsplit, float(close.min(initial=np.inf)))
        return boxes.take(np.flatnonzero(is_open))


def _least_width(low: float, high: float) -> float:
    """What is not halved any more."""
    return 1e-12 * max(abs(low), abs(high), high - low)


def _weighted(goal: Separable, limits: list[Separable], y: Float64Array) -> Separable:
    total = goal
    for r, limit in enumerate(limits):
        if y[:, r].any():
            total = total + limit * y[:, r]
    return total


def _value_at(function: Separable, at: list[NDArray[np.intp]]) -> Float64Array:
    rows = np.arange(len(function.base))
    return np.asarray(function.base + sum(part[rows, own] for part, own in zip(function.parts, at, strict=True)))


def branch_and_bound(problem: Problem, clock: Clock, rng: np.random.Generator) -> Solution:
    """The least value of a problem, with a proven bound."""
    return Search(problem, clock, Incumbent(problem), rng).run()
