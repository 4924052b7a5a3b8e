"""What :func:`lambdak.optimize.minimize` returns: a row, its value, and a proof of how good it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from lambdak.optimize.frontier import Moment, Status
from lambdak.table.frames import make_frame
from lambdak.table.shown import Shown

_WHY = {
    Status.OPTIMAL: "within the gap that was asked for",
    Status.TIME_LIMIT: "when the time was over",
    Status.INTERRUPTED: "when it was interrupted",
    Status.STALLED: "where rounding allows no smaller gap",
    Status.LOCAL: "where no step improves the row",
}


@final
@dataclass(frozen=True, eq=False, repr=False)
class Optimum(Shown):
    """The best row found, and a proven bound on the best one.

    Attributes
    ----------
    row : dict or None
        The whole row, free and fixed columns, as a row of the user's table; None if no row meets the constraints.
    chosen : dict or None
        Its free columns alone.
    value : float
        The objective at this row, from what ``predict`` returns; NaN if there is none.
    bound : float
        Proven: no row within the bounds and constraints has a lower value (a higher one, if maximised).
    gap : float
        |value − bound|, relative to |value|, or to a thousandth of the objective's spread if that is larger.
    status : str
        "optimal" (the gap is reached), "time limit", "interrupted", "stalled" (rounding allows no smaller gap),
        "local" (no step of the convex–concave procedure improves the row) or "infeasible".
    conflict : tuple of str
        If no row meets the constraints, those that exclude each other, as they were written.
    method : str
    maximize : bool
    seconds : float
    trace : tuple of Moment
        (seconds, value, bound, work) as the search went on: boxes or cuts.
    """

    row: Mapping[str, Any] | None
    chosen: Mapping[str, Any] | None
    value: float
    bound: float
    gap: float
    status: str
    conflict: tuple[str, ...]
    method: str
    maximize: bool
    seconds: float
    trace: tuple[Moment, ...]

    def __str__(self) -> str:
        if self.row is None or self.chosen is None:
            return self._nothing()
        chosen = ", ".join(f"{name} = {_shown(cell)}" for name, cell in self.chosen.items())
        side = "above" if self.maximize else "below"
        how = "highest" if self.maximize else "lowest"
        return (
            f"{how} value found: {self.value:.6g} at {chosen}\n"
            f"proven: no value {side} {self.bound:.6g} (gap {self.gap:.2g})\n"
            f"ended {_WHY[Status(self.status)]}: {self.method}, {self.seconds:.2g} s"
        )

    def _nothing(self) -> str:
        if self.status != Status.INFEASIBLE.value:
            return f"no row was found that meets the constraints: {self.status}, {self.seconds:.2g} s"
        return "no row meets " + (" and ".join(map(repr, self.conflict)) or "the constraints") + ": proven"

    def to_frame(self, like: Any = None) -> Any:
        """The row as a table of one row; ``like`` is a table of the library to use."""
        if self.row is None:
            raise ValueError(str(self))
        return make_frame({name: [cell] for name, cell in self.row.items()}, like)

    def plot(self, ax: Any = None) -> Any:
        """Draw the best value found and the proven bound over time; returns Matplotlib's axes."""
        from lambdak.explain.plots import BLUE, RED, side_by_side

        ax = ax or side_by_side(1, (6.4, 4.2))[0]
        seconds, value, bound = (np.array([moment[i] for moment in self.trace], float) for i in range(3))
        value, bound = (np.where(np.isfinite(curve), curve, np.nan) for curve in (value, bound))
        ax.plot(seconds, value, color=BLUE, drawstyle="steps-post", label="best row found")
        ax.plot(seconds, bound, color=RED, drawstyle="steps-post", label="proven bound")
        ax.fill_between(seconds, value, bound, step="post", color=RED, alpha=0.12, linewidth=0)
        late = bound[len(bound) // 4 :]  # first bounds may be far away
        shown = np.concatenate([late, value])[np.isfinite(np.concatenate([late, value]))]
        if len(shown) and np.ptp(shown):
            ax.set_ylim(shown.min() - 0.05 * np.ptp(shown), shown.max() + 0.05 * np.ptp(shown))
        ax.set_xlabel("seconds")
        ax.set_ylabel("value of the objective")
        ax.set_title(f"{self.status}: {self.value:.5g}, gap {100 * self.gap:.2g} %")
        ax.legend(frameon=False, loc="best")
        ax.spines[["top", "right"]].set_visible(False)
        return ax


def _shown(cell: Any) -> str:
    return f"{cell:.6g}" if isinstance(cell, float) else repr(cell)
