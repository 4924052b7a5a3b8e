"""Pictures of a model: effects of its columns and of pairs of them, and the history of its fit."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes

from lambdak.explain import MOST_BARS
from lambdak.explain.plots.canvas import (
    BLUE,
    DARK,
    GREEN,
    GREY,
    RED,
    SKY,
    distinct_names,
    factors,
    legend_above,
    not_shown,
    scaled,
    separated,
    short_name,
    side_by_side,
    wide,
)
from lambdak.explain.wording import reference_words

if TYPE_CHECKING:
    from lambdak.explain.column_effect import ColumnEffect
    from lambdak.explain.global_explanation import GlobalExplanation

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lambdak.explain.pair_surface import PairSurface

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lambdak.explain.learning_curves import LearningCurves

_ARROWS = {1: " ↑", -1: " ↓", 0: ""}
_PROMISES = {1: ": never falls", -1: ": never rises", 0: ""}
_MOST_PROMISES, _LINE, _LINE_HEIGHT = 2, 52, 0.18  # sentences below a picture; characters of its lines, and inches
_DENSITY = 0.13  # of the picture, kept free for the rows
_ROUNDING = 1e-9  # of the largest joint effect: what is smaller is none
_PROVEN, _MOST, _MEAN, _ROWS = "proven: no row can leave", "90 % of the rows", "mean of the rows", "where the rows are"


def draw_effect(effect: ColumnEffect, ax: Axes | None = None) -> Axes:
    """The mean change along a column, that of most rows, the region that no row can leave, and where the rows are."""
    levels = min(len(effect.x), MOST_BARS)
    height = 4.2 if effect.kind == "number" else max(4.2, 1.9 + 0.26 * levels)
    promised = _promised_lines(effect)
    ax = ax or side_by_side(1, (4.6 if effect.kind == "number" else 6.4, height + _LINE_HEIGHT * len(promised)))[0]
    draw = _draw_curve if effect.kind == "number" else _draw_levels
    draw(effect, ax)
    ax.set_title(short_name(effect.column) + _PROMISES[effect.sign])
    ax.set_xlabel("\n".join([ax.get_xlabel(), *promised]))
    legend_above(ax, columns=2)
    return ax


def _promised_lines(effect: ColumnEffect) -> list[str]:
    """Return what was promised of a column, in lines that fit below its picture."""
    found = [f"promised: {words}" for words in effect.promised[:_MOST_PROMISES]]
    more = len(effect.promised) - len(found)
    return [line for words in found for line in wrap(words, _LINE)] + ([f"and {more} more"] if more else [])


def change_label(effect: ColumnEffect, name: str) -> str:
    """What an axis of changes shows, against what: in the reader's words, on two lines."""
    what = "factor of the prediction" if effect.link == "log" else f"change in {short_name(effect.words, 44)}"
    return f"{what}\nagainst {reference_words(name, effect.reference)}"


def _draw_curve(effect: ColumnEffect, ax: Axes) -> None:
    compressed = scaled(ax.xaxis, effect.scale)
    ax.fill_between(effect.x, effect.low, effect.high, color=SKY, alpha=0.25, lw=0, label=_PROVEN)
    ax.plot(effect.x, np.array([effect.low, effect.high]).T, color=SKY, linewidth=1)
    ax.fill_between(effect.x, effect.observed_low, effect.observed_high, color=GREY, alpha=0.4, lw=0, label=_MOST)
    ax.plot(effect.x, effect.effect, color=BLUE, linewidth=2.5, label=_MEAN)
    if np.isfinite(effect.missing):
        ax.axhline(effect.missing, color=RED, linestyle=":", linewidth=1.5, label="mean if the cell is missing")
    for i, number in enumerate(number for number in effect.named if effect.x[0] <= number <= effect.x[-1]):
        label = "_" if i else "named by the promise"
        ax.axvline(number, color=GREEN, linestyle="--", linewidth=1.5, zorder=0.6, label=label)
    ax.axhline(0, color=DARK, linewidth=0.6, zorder=0.5)
    if effect.counts.any():
        ax.set_ylim(_with_room(*ax.get_ylim()), auto=False)
        height = effect.counts / effect.counts.max() * _DENSITY * 0.85
        place: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "color": DARK, "alpha": 0.45, "lw": 0}
        ax.bar(effect.edges[:-1], height, np.diff(effect.edges), align="edge", label=_ROWS, **place)
    name = short_name(effect.column)
    ax.set(xlabel=f"{name}{compressed}", ylabel=change_label(effect, name))
    (factors if effect.link == "log" else separated)(ax.yaxis)


def _with_room(low: float, high: float) -> tuple[float, float]:
    """Limits with room for the rows below what is drawn."""
    return low - (high - low) * _DENSITY / (1 - _DENSITY), high


def _draw_levels(effect: ColumnEffect, ax: Axes) -> None:
    strongest = np.argsort(-np.abs(effect.effect), kind="stable")[:MOST_BARS]
    kept = strongest[np.argsort(effect.effect[strongest], kind="stable")]
    positions = np.arange(len(kept))
    reach = np.array([effect.effect - effect.low, effect.high - effect.effect])[:, kept].clip(0)  # up to rounding
    ax.errorbar(effect.effect[kept], positions, xerr=reach, fmt="none", ecolor=SKY, elinewidth=6, alpha=0.5,
                label=_PROVEN)  # fmt: skip
    seen = (effect.observed_low[kept], effect.observed_high[kept])
    ax.hlines(positions, *seen, color=GREY, linewidth=2, label=_MOST)
    ax.plot(effect.effect[kept], positions, "o", color=BLUE, label=_MEAN)
    ax.axvline(0, color=DARK, linewidth=0.8)
    if effect.counts.any():
        ax.set_xlim(_with_room(*ax.get_xlim()), auto=False)
        width = effect.counts[kept] / effect.counts.max() * _DENSITY * 0.85
        place: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "color": DARK, "alpha": 0.45, "lw": 0}
        ax.barh(positions, width, 0.7, label=_ROWS, **place)
    ax.set_yticks(positions, distinct_names([effect.x[i] for i in kept]))
    ax.set_ylim(-0.8, len(kept) - 0.2)
    hidden = not_shown(len(effect.x) - len(kept), "levels")
    ax.set_xlabel(change_label(effect, short_name(effect.column)) + hidden)
    (factors if effect.link == "log" else separated)(ax.xaxis)


def draw_strengths(explanation: GlobalExplanation, ax: Axes | None = None) -> Axes:
    """Draw mean effects and proven bounds of all columns, the most important on top; dots are the largest seen."""
    acting = [effect for effect in explanation.effects if effect.proven] or list(explanation.effects)
    shown = acting[:MOST_BARS][::-1]
    ax = ax or wide(len(shown))
    positions = np.arange(len(shown))
    limit = " within the training range" if any(effect.within_range for effect in shown) else ""
    proven = f"proven: no change does more{limit}"
    ax.barh(positions, [effect.proven for effect in shown], color=SKY, alpha=0.5, height=0.7, label=proven)
    if explanation.rows:
        ax.barh(
            positions, [effect.importance for effect in shown], color=BLUE, height=0.4, label="mean effect on the rows"
        )
    seen = "largest change that was seen" if explanation.rows else "change seen at the baseline"
    ax.plot([effect.observed for effect in shown], positions, "o", color=RED, markersize=5, label=seen)
    names = distinct_names([effect.column for effect in shown])
    ax.set_yticks(positions, [name + _ARROWS[effect.sign] for name, effect in zip(names, shown, strict=True)])
    ax.set_ylim(-0.6, len(shown) - 0.4)
    silent = len(explanation.effects) - len(acting)
    left = not_shown(len(acting) - len(shown), "columns")
    left += f"\n({silent:,} columns without any effect are not shown)" if silent else ""
    log = explanation.link == "log"
    what = "factor of the prediction" if log else f"change in {short_name(explanation.words, 60)}"
    ax.set(xlabel=f"{what}, when this column alone changes{left}", title="What each column does")
    (factors if log else separated)(ax.xaxis)
    legend_above(ax, columns=3)
    return ax


def draw_interactions(explanation: GlobalExplanation, ax: Axes | None = None) -> Axes:
    """Pairs of columns: the joint effect that was observed, and how strongly their matrices couple."""
    known = bool(explanation.rows)
    sized = [(pair, pair.joint if known else pair.commutator) for pair in explanation.interactions]
    least = _ROUNDING * max((size for _, size in sized if np.isfinite(size)), default=0.0)
    acting = [pair for pair, size in sized if size > least]  # NaN is not known to act, nor to be silent
    shown = (acting or list(explanation.interactions))[:MOST_BARS][::-1]
    ax = ax or wide(len(shown))
    positions = np.arange(len(shown))
    sizes = [pair.joint if known else pair.commutator for pair in shown]
    words = "joint effect that was observed" if known else "commutator of their matrices"
    ax.barh(positions, sizes, color=SKY, height=0.6, label=words)
    if known:
        coupled = [pair.coupling for pair in shown]
        ax.plot(coupled, positions, "o", color=RED, label="how strongly they are coupled, from the model")
    parts = [(short_name(pair.first, 16), short_name(pair.second, 16)) for pair in shown]
    ax.set_yticks(positions, distinct_names([f"{first} × {second}" for first, second in parts], 40))
    silent = sum(size <= least for _, size in sized) if acting else 0
    left = not_shown(len(sized) - len(shown) - silent, "pairs")
    left += f"\n({silent:,} pairs without any joint effect are not shown)" if silent else ""
    what = short_name(explanation.words, 60)
    ax.set(xlabel=f"change in {what} that only both columns have{left}", title="Which columns act together")
    separated(ax.xaxis)
    legend_above(ax, columns=2)
    return ax


_COLOURS = "RdBu"  # red falls, blue rises, told apart by people of every colour vision
_LONGEST = 18  # characters of a level below the map


def draw_pair(surface: PairSurface, ax: Axes | None = None, joint_only: bool = False) -> Axes:
    """The mean change over a grid of two columns, in colours, with dots where rows lie."""
    ax = ax or side_by_side(1, (7.0, 5.2))[0]
    values = surface.joint if joint_only else surface.effect
    most = float(np.abs(values).max()) or 1.0
    places = [_places(cells, kind) for cells, kind in zip((surface.x, surface.y), surface.kinds, strict=True)]
    notes = [scaled(axis, scale) for axis, scale in zip((ax.xaxis, ax.yaxis), surface.scales, strict=True)]
    mesh = ax.pcolormesh(*places, values.T, cmap=_COLOURS, vmin=-most, vmax=most, shading="nearest")
    _dots(surface, ax)
    for axis, cells, kind, name, hidden, note in zip(
        (ax.xaxis, ax.yaxis), (surface.x, surface.y), surface.kinds, surface.columns, surface.hidden, notes, strict=True
    ):
        _label(axis, cells, kind, name, hidden)
        axis.set_label_text(axis.get_label_text() + note)
    log = surface.link == "log"
    what = "factor of the prediction" if log else f"change in {short_name(surface.words, 44)}"
    against = "\nand ".join(short_name(cells, 44) for cells in surface.references)
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
    if kind != "number":
        turned = {"rotation": 60, "ha": "right", "rotation_mode": "anchor"} if axis.axis_name == "x" else {}
        axis.set_ticks(np.arange(len(points)), distinct_names(points, _LONGEST), **turned)
    axis.set_label_text(short_name(name) + (f"\n({hidden:,} more levels are not shown)" if hidden else ""))


def draw_history(curves: LearningCurves, ax: Axes | None = None) -> Axes:
    """Training and validation metric by epoch: the mean of the members, each as a thin line, and what was kept."""
    ax = ax or side_by_side(1, (7.0, 4.2))[0]
    for values, color, label in ((curves.training, BLUE, "training rows"), (curves.validation, RED, "validation rows")):
        ax.plot(curves.epochs, values, color=color, linewidth=0.7, alpha=0.35)
        ax.plot(curves.epochs, values.mean(axis=1), color=color, linewidth=2.2, label=f"{label}, mean of the members")
    members = np.arange(curves.validation.shape[1])
    chosen = curves.chosen
    ax.plot(chosen, curves.validation[chosen - 1, members], "o", color=RED, markersize=4, label="kept, of each member")
    ax.axvline(curves.best, color=DARK, linestyle="--", linewidth=1, label=f"lowest mean: epoch {curves.best}")
    ax.set(xlabel="epoch", ylabel=curves.metric, title="Learning curves")
    separated(ax.xaxis, whole=True)
    separated(ax.yaxis)
    legend_above(ax, columns=2)
    return ax
