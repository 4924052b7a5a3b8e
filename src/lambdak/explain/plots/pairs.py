"""What two columns do together, as a map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes

from lambdak.explain.plots.canvas import (
    DARK,
    distinct_names,
    factors,
    legend_above,
    separated,
    short_name,
    side_by_side,
)

if TYPE_CHECKING:
    from lambdak.explain.pair_surface import PairSurface

_COLOURS = "RdBu"  # red falls, blue rises, told apart by people of every colour vision
_LONGEST = 18  # characters of a level below the map


def draw_pair(surface: PairSurface, ax: Axes | None = None, joint_only: bool = False) -> Axes:
    """The mean change over a grid of two columns, in colours, with dots where rows lie."""
    ax = ax or side_by_side(1, (7.0, 5.2))[0]
    values = surface.joint if joint_only else surface.effect
    most = float(np.abs(values).max()) or 1.0
    places = [_places(own, kind) for own, kind in zip((surface.x, surface.y), surface.kinds, strict=True)]
    mesh = ax.pcolormesh(*places, values.T, cmap=_COLOURS, vmin=-most, vmax=most, shading="nearest")
    _dots(surface, ax)
    for axis, own, kind, name, hidden in zip(
        (ax.xaxis, ax.yaxis), (surface.x, surface.y), surface.kinds, surface.columns, surface.hidden, strict=True
    ):
        _label(axis, own, kind, name, hidden)
    log = surface.link == "log"
    what = "factor of the prediction" if log else f"change in {short_name(surface.words, 44)}"
    against = "\nand ".join(short_name(own, 44) for own in surface.references)
    added = " that only both have" if joint_only else ""
    bar = ax.figure.colorbar(mesh, ax=ax, label=f"{what}{added}\nagainst {against}")
    (factors if log else separated)(bar.ax.yaxis)
    ax.set_title(f"{short_name(surface.columns[0])} and {short_name(surface.columns[1])} together")
    legend_above(ax, columns=1)
    return ax


def _places(points: tuple[Any, ...], kind: str) -> Any:
    return np.asarray(points, float) if kind == "number" else np.arange(len(points))


def _dots(surface: PairSurface, ax: Axes) -> None:
    """Rows of X; those of levels are spread a little, so that they do not hide each other."""
    seen = surface.seen[np.isfinite(surface.seen).all(axis=1)]
    if not len(seen):
        return
    shift = np.random.default_rng(0).uniform(-0.3, 0.3, seen.shape)
    at = [seen[:, k] + (shift[:, k] if surface.kinds[k] == "category" else 0.0) for k in (0, 1)]
    limits = ax.get_xlim(), ax.get_ylim()
    ax.plot(*at, ".", color=DARK, markersize=3, alpha=0.6, label="rows")
    ax.set(xlim=limits[0], ylim=limits[1])


def _label(axis: Any, points: tuple[Any, ...], kind: str, name: str, hidden: int) -> None:
    if kind == "number":
        separated(axis, cells=True)
    else:
        turned = {"rotation": 60, "ha": "right", "rotation_mode": "anchor"} if axis.axis_name == "x" else {}
        axis.set_ticks(np.arange(len(points)), distinct_names(points, _LONGEST), **turned)
    axis.set_label_text(short_name(name) + (f"\n({hidden:,} more levels are not shown)" if hidden else ""))
