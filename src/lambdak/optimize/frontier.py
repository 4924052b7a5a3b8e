"""The frontier of a search: the best point, the boxes that may hold a better one, the bound, the gap and the time.

No point of a box is below its bound. A search splits the boxes with the lowest bounds and bounds their parts; so the
lowest bound rises until the gap to the best point is closed. What a box is bounded by, and how it is split, is what
searches differ in: :mod:`lambdak.optimize.minimum.branch`, :mod:`lambdak.optimize.changes.nearest` and
:mod:`lambdak.optimize.convex.solver`. It ends as a ``Solution``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.optimize.axes import Axis

_MOST_OPEN = 4_000_000  # boxes, so that memory stays bounded


class Status(Enum):
    """Why a solver ended."""

    OPTIMAL = "optimal"  # within the gap that was asked for
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"
    INFEASIBLE = "infeasible"  # proven: no point meets the constraints
    STALLED = "stalled"  # rounding allows no smaller gap
    LOCAL = "local"  # no step of a local method improves the point


class Moment(NamedTuple):
    """Where a solver stood: seconds since its begin, the best value, the proven bound, boxes or cuts so far."""

    seconds: float
    value: float
    bound: float
    work: int


@final
@dataclass(frozen=True, eq=False)
class Solution:
    """The least value found, at x (axes,), or None if no point was found; none is below ``bound``."""

    x: Float64Array | None
    value: float
    bound: float
    status: Status
    method: str
    trace: tuple[Moment, ...]


@final
@dataclass
class Clock:
    """Time, target and progress of one solver run.

    Attributes
    ----------
    is_close : callable
        Whether (value, bound) are as close as was asked for; bounds may be an array.
    time_limit : float
        Seconds; infinite if there is none.
    report : callable
        Told every new moment.
    floor : float
        A value closer to zero than this counts as this far from it, where gaps are relative.
    """

    is_close: Callable[[float, Any], Any]
    time_limit: float = np.inf
    report: Callable[[Moment], None] = lambda moment: None
    floor: float = 0.0
    started: float = field(default_factory=time.perf_counter)
    trace: list[Moment] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Since the solver began."""
        return time.perf_counter() - self.started

    @property
    def is_over(self) -> bool:
        """Whether the time limit has passed."""
        return self.seconds >= self.time_limit

    def note(self, value: float, bound: float, work: int) -> None:
        """Add a moment to the trace."""
        self.trace.append(Moment(self.seconds, value, bound, work))
        self.report(self.trace[-1])


class Open(NamedTuple):
    """Boxes that may hold a better point than the best one; they are replaced as a whole, so an interrupt loses none.

    Attributes
    ----------
    low, high : arrays of shape (n, axes)
        The ends of the boxes.
    bound : array of shape (n,)
        No point of a box has a lower value.
    effects : array of shape (n, axes)
        About how much of the distance between bound and value comes from each axis: where a box is split.
    duals : array of shape (n, R)
        The multipliers of limits that proved the bound, which those of its parts begin with.
    """

    low: Float64Array
    high: Float64Array
    bound: Float64Array
    effects: Float64Array
    duals: Float64Array

    @classmethod
    def root(cls, axes: Sequence[Axis], limits: int = 0) -> Open:
        """Return the one box of all points, of which nothing is known."""
        low, high = (np.array([[getattr(axis, end) for axis in axes]]) for end in ("low", "high"))
        return cls.of(low, high, np.full(1, -np.inf), limits)

    @classmethod
    def of(cls, low: Float64Array, high: Float64Array, bound: Float64Array, limits: int = 0) -> Open:
        """Return boxes with these ends and bounds, whose axes all count alike."""
        return cls(low, high, bound, np.ones(low.shape), np.zeros((len(low), limits)))

    @property
    def size(self) -> int:
        """How many boxes there are."""
        return len(self.bound)

    @property
    def least(self) -> float:
        """The lowest bound; infinite without boxes."""
        return float(self.bound.min(initial=np.inf))

    def take(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Open:
        """Return the boxes at these positions, or where a mask is true."""
        return Open(*(part[which] for part in self))

    def without(self, rows: NDArray[np.intp]) -> Open:
        """Return all boxes but those at these positions."""
        rest = np.ones(self.size, bool)
        rest[rows] = False
        return self.take(rest)

    def joined(self, other: Open) -> Open:
        """Return these boxes and then those of another set."""
        return Open(*(np.concatenate(parts) for parts in zip(self, other, strict=True)))

    def halved(
        self,
        axis: NDArray[np.intp],
        split: Callable[[int, Float64Array, Float64Array], tuple[Float64Array, Float64Array]],
    ) -> tuple[Open, Open]:
        """Return the first and the second halves of all boxes, each cut along its ``axis`` (n,).

        ``split`` gives the high ends of the first halves and the low ends of the second ones, of intervals of an axis.
        """
        high, low = self.high.copy(), self.low.copy()
        for i in np.unique(axis).tolist():
            rows = np.flatnonzero(axis == i)
            high[rows, i], low[rows, i] = split(i, self.low[rows, i], self.high[rows, i])
        return self._replace(high=high), self._replace(low=low)


@dataclass(eq=False)
class Best:
    """The best point so far: x (axes,) or None, and its value."""

    x: Float64Array | None = None
    value: float = np.inf

    def offer(self, x: Float64Array, value: float) -> None:
        """Keep a point that is valid if it is better."""
        if value < self.value:
            self.x, self.value = x, value


@final
@dataclass(eq=False)
class Frontier:
    """The state of a search: what is open, what was found, and what may still be reached.

    Attributes
    ----------
    open : Open
    clock : Clock
    best : Best
    settled : float
        The lowest bound of boxes that are not split any more, because they are too small or cannot gain enough.
    work : int
        Boxes that were bounded so far.
    most : float
        Work after which the search ends.
    """

    open: Open
    clock: Clock
    best: Best = field(default_factory=Best)
    settled: float = np.inf
    work: int = 0
    most: float = np.inf

    @property
    def bound(self) -> float:
        """No point has a value below this."""
        return float(min(self.open.least, self.settled, self.best.value))

    def settle(self, bounds: Float64Array) -> None:
        """Note that boxes with these bounds are not split any more."""
        self.settled = min(self.settled, float(bounds.min(initial=np.inf)))

    def is_closed(self, bound: Any) -> Any:
        """Whether a bound, or each of several, is as close to the best value as was requested."""
        return self.best.x is not None and self.clock.is_close(self.best.value, bound)

    def note(self) -> None:
        """Add where the search stands to the trace."""
        self.clock.note(self.best.value, self.bound, self.work)

    def status(self) -> Status | None:
        """Return why the search ends now; None if it does not."""
        if self.is_closed(self.bound):
            return Status.OPTIMAL
        if not self.open.size:
            return Status.INFEASIBLE if self.best.x is None and self.settled == np.inf else Status.STALLED
        if self.work >= self.most:
            return Status.LOCAL
        return Status.TIME_LIMIT if self.clock.is_over or self.open.size > _MOST_OPEN else None

    def solution(self, status: Status, method: str) -> Solution:
        """Return how the search ended."""
        return Solution(self.best.x, self.best.value, self.bound, status, method, tuple(self.clock.trace))
