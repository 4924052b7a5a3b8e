"""What a solver found: a point, its value, a proven bound, and how both came closer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, final

import numpy as np

from lambdak._types import Float64Array


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
