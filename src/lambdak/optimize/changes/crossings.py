"""Where one column alone first changes a decision, to its left and to its right: pieces that cannot are proven so."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.optimize.changes.decisions import Region
from lambdak.optimize.relaxation import Boxes

_PARTS = 8  # into which a piece is divided
_ROUNDS = 60
_CLOSE = 1e-9  # relative to the range of the column


class Crossing(NamedTuple):
    """No coordinate before ``safe`` reaches the goal, and ``found`` does, or is None.

    ``safe`` is infinite if no coordinate does on this side.
    """

    safe: float
    found: float | None


def first_crossing(region: Region, start: float, way: int) -> Crossing:
    """The first coordinate that reaches the goal, from ``start`` on in one direction (1 or -1)."""
    points = region.axes[0].points
    ends = points[points >= start] if way > 0 else points[points <= start][::-1]
    if len(ends) < 2:
        return Crossing(way * np.inf, None)
    pieces = _Pieces(region, way)
    near, far = ends[:-1], ends[1:]
    may, does = pieces.look(near, far)
    for _ in range(_ROUNDS):
        if not may.any():
            return Crossing(way * np.inf, None)
        k = int(np.argmax(may))
        near, far, may, does = near[k:], far[k:], may[k:], does[k:]  # nothing is reached before
        if does[0] and abs(far[0] - near[0]) <= _CLOSE * (points[-1] - points[0]):
            break
        inner = np.linspace(near[0], far[0], _PARTS + 1)
        if not (np.diff(inner) * way > 0).all():
            break
        more, there = pieces.look(inner[:-1], inner[1:])
        near, far = np.append(inner[:-1], near[1:]), np.append(inner[1:], far[1:])
        may, does = np.append(more, may[1:]), np.append(there, does[1:])
    return Crossing(float(near[0]), float(far[np.argmax(does)]) if does.any() else None)


class _Pieces(NamedTuple):
    """Pieces of a column: whether they may reach a goal anywhere, and whether they do at their far end."""

    region: Region
    way: int

    def look(self, near: Float64Array, far: Float64Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether pieces may reach the goal anywhere, (n,), and whether they do at their far end, (n,)."""
        low, high = (near, far) if self.way > 0 else (far, near)
        does = self.region.excess(far[:, None]) >= 0
        return may_reach(self.region, low[:, None], high[:, None]) | does, np.asarray(does)


def may_reach(region: Region, low: Float64Array, high: Float64Array) -> NDArray[np.bool_]:
    """Which boxes (n, axes) may hold a point that reaches the goal."""
    uppers = region.uppers(Boxes.between(region.axes, low, high))
    most = [upper.base + sum(part.max(axis=1) for part in upper.parts) for upper in uppers]
    return np.asarray((np.minimum.reduce(most) if region.every else np.maximum.reduce(most)) >= 0)
