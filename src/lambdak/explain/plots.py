"""Explanations to matplotlib Axes; nothing is computed here."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from PIL import Image

from lambdak.atomic import write_bytes
from lambdak.explain import MOST_BARS

if TYPE_CHECKING:
    from lambdak.explain.global_explanation import ColumnEffect, GlobalExplanation
    from lambdak.explain.local_explanation import LocalExplanation
    from lambdak.explain.quantile_fan import Fan

# Okabe and Ito's colours, which people of every colour vision can tell apart.
BLUE, SKY, RED = "#0072B2", "#56B4E9", "#D55E00"
GREY, DARK = "#8A8A8A", "#333333"
_DPI = 130
_SHADES = 128  # of all colours together: thin lines look the same, and the file is a third
_LONGEST = 28  # characters of a name
_ARROWS = {1: " ↑", -1: " ↓", 0: ""}


def side_by_side(count: int, size: tuple[float, float] = (4.6, 4.2)) -> list[Axes]:
    """Axes of this size, in inches, next to each other on one figure."""
    _, axes = plt.subplots(1, count, figsize=(size[0] * count, size[1]), layout="constrained", squeeze=False)
    return list(axes[0])


def png(ax: Axes) -> bytes:
    """The figure that the Axes are on as a small PNG file; the figure is closed."""
    figure = ax.get_figure(root=True)
    if figure is None:
        raise ValueError("ax must be on a figure; got Axes that were removed from theirs")
    whole, small = BytesIO(), BytesIO()
    figure.savefig(whole, dpi=_DPI, format="png")
    plt.close(figure)
    Image.open(whole).convert("RGB").quantize(_SHADES).save(small, format="PNG", optimize=True)
    return small.getvalue()


def save(ax: Axes, path: Path) -> None:
    """Write the figure that the Axes are on to a small PNG file, as a whole or not at all, and close it."""
    write_bytes(path, png(ax))


def draw_effect(effect: ColumnEffect, ax: Axes | None = None) -> Axes:
    """The mean change of the raw score along a column, that of most rows, and the region that no row can leave."""
    ax = ax or side_by_side(1)[0]
    draw = _draw_curve if effect.kind == "number" else _draw_levels
    draw(effect, ax)
    promise = {1: ": never falls", -1: ": never rises", 0: ""}[effect.sign]
    ax.set_title(_short(effect.column) + promise)
    return _finished(ax)


def _draw_curve(effect: ColumnEffect, ax: Axes) -> None:
    ax.fill_between(effect.x, effect.low, effect.high, color=SKY, alpha=0.25, lw=0, label="proven: no row can leave")
    ax.plot(effect.x, np.array([effect.low, effect.high]).T, color=SKY, linewidth=1)
    ax.fill_between(
        effect.x, effect.observed_low, effect.observed_high, color=GREY, alpha=0.4, lw=0, label="90 % of the rows"
    )
    ax.plot(effect.x, effect.effect, color=BLUE, linewidth=2.5, label="mean of the rows")
    if np.isfinite(effect.missing):
        ax.axhline(effect.missing, color=RED, linestyle=":", linewidth=1.5, label="mean if the cell is missing")
    ax.set(xlabel=_short(effect.column), ylabel=f"change of the raw score from {effect.reference:.4g}")


def _draw_levels(effect: ColumnEffect, ax: Axes) -> None:
    kept = np.sort(np.argsort(-effect.norm)[:MOST_BARS])
    positions = np.arange(len(kept))
    reach = np.array([effect.effect - effect.low, effect.high - effect.effect])[:, kept].clip(0)  # up to rounding
    ax.errorbar(effect.effect[kept], positions, xerr=reach, fmt="none", ecolor=SKY, elinewidth=6, alpha=0.5,
                label="proven: no row can leave")  # fmt: skip
    seen = (effect.observed_low[kept], effect.observed_high[kept])
    ax.hlines(positions, *seen, color=GREY, linewidth=2, label="90 % of the rows")
    ax.plot(effect.effect[kept], positions, "o", color=BLUE, label="mean of the rows")
    ax.set_yticks(positions, [_short(effect.x[i]) for i in kept])
    ax.set_xlabel("change of the raw score from the average level" + _not_shown(len(effect.x), len(kept), "levels"))
    ax.margins(y=0.25)
    ax.axvline(0, color=DARK, linewidth=0.8)


def draw_strengths(explanation: GlobalExplanation, ax: Axes | None = None) -> Axes:
    """A bar per column up to its proven bound, the strongest on top, and a dot at the largest change that was seen."""
    shown = explanation.effects[:MOST_BARS][::-1]
    ax = ax or _wide(len(shown))
    positions = np.arange(len(shown))
    limit = " within the training range" if any(each.within_range for each in shown) else ""
    proven = [each.proven for each in shown]
    ax.barh(positions, proven, color=SKY, height=0.6, label=f"proven: no change does more{limit}")
    seen = "largest change that was seen" if explanation.rows else "change seen on the typical row"
    ax.plot([each.observed for each in shown], positions, "o", color=RED, markersize=6, label=seen)
    ax.set_yticks(positions, [_short(each.column) + _ARROWS[each.sign] for each in shown])
    left = _not_shown(len(explanation.effects), len(shown), "columns")
    ax.set(xlabel=f"change of the raw score, when this column alone changes{left}", title="What each column can do")
    return _finished(ax, above=True)


def draw_interactions(explanation: GlobalExplanation, ax: Axes | None = None) -> Axes:
    """Pairs of columns: how strongly their matrices couple, and what was observed of it."""
    shown = explanation.interactions[:MOST_BARS][::-1]
    ax = ax or _wide(len(shown))
    positions, known = np.arange(len(shown)), bool(explanation.rows)
    sizes = [each.coupling if known else each.commutator for each in shown]
    ax.barh(positions, sizes, color=SKY, height=0.6, label="coupling of their matrices" if known else "commutator")
    if known:
        ax.plot([each.joint for each in shown], positions, "o", color=RED, label="joint effect that was observed")
    ax.set_yticks(positions, [f"{_short(each.first, 16)} × {_short(each.second, 16)}" for each in shown])
    left = _not_shown(len(explanation.interactions), len(shown), "pairs")
    ax.set(xlabel=f"in units of the raw score{left}", title="Which columns act together")
    return _finished(ax, above=True)


def draw_waterfall(explanation: LocalExplanation, row: int = 0, ax: Axes | None = None) -> Axes:
    """From the raw score of the baseline to that of one row, step by step; the largest steps first, the rest as one."""
    names, steps = _steps(explanation, row)
    ax = ax or _wide(len(steps))
    ends = explanation.baseline_score[row] + np.cumsum(steps)
    positions = np.arange(len(steps))[::-1]
    ax.barh(positions, steps, left=ends - steps, color=[BLUE if step > 0 else RED for step in steps], height=0.6)
    for position, step, end in zip(positions, steps, ends, strict=True):
        ax.annotate(f"{step:+.3g}", (max(end, end - step), position), (4, 0), textcoords="offset points", va="center")
    for value, label, color in ((explanation.baseline_score[row], "baseline", GREY),
                                (explanation.score[row], "this row", DARK)):  # fmt: skip
        ax.axvline(value, color=color, linewidth=1, linestyle="--", label=f"{label}: {value:.4g}")
    ax.use_sticky_edges = False
    ax.margins(x=0.12)
    ax.set_yticks(positions, names)
    of = "" if explanation.output[row] == "prediction" else f" of {_short(explanation.output[row])}"
    ax.set(xlabel=f"raw score{of}", title=f"Row {row}: prediction {explanation.prediction[row]:.4g}")
    return _finished(ax)


def _steps(explanation: LocalExplanation, row: int) -> tuple[list[str], list[float]]:
    """Names and sizes of the largest steps of a row, and of all others as one."""
    shares, cells = explanation.attribution[row], explanation.cells[row]
    order = np.argsort(-np.abs(shares))
    most = len(order) if len(order) <= MOST_BARS else MOST_BARS - 1
    names = [f"{_short(explanation.columns[i], 20)} = {_short(cells[i], 12)}" for i in order[:most]]
    steps = shares[order[:most]].tolist()
    if most < len(order):
        return [*names, f"{len(order) - most} other columns"], [*steps, float(shares[order[most:]].sum())]
    return names, steps


def draw_fan(fan: Fan, ax: Axes | None = None) -> Axes:
    """Bands between quantiles of opposite quantile levels, row after row, and what was observed."""
    ax = ax or _wide()
    rows, last = np.arange(len(fan.y)), len(fan.levels) - 1
    for i in range(len(fan.levels) // 2):
        share = f"{100 * (fan.levels[last - i] - fan.levels[i]):.0f} % of the rows should be inside"
        low, high = fan.quantiles[:, i], fan.quantiles[:, last - i]
        ax.fill_between(rows, low, high, step="mid", color=SKY, alpha=0.35 + 0.3 * i, linewidth=0, label=share)
    ax.step(rows, fan.quantiles[:, len(fan.levels) // 2], where="mid", color=BLUE, linewidth=2, label="median")
    ax.plot(rows[fan.inside], fan.y[fan.inside], "o", color=DARK, markersize=4, label="observed")
    ax.plot(rows[~fan.inside], fan.y[~fan.inside], "X", color=RED, markersize=7, label="observed, outside")
    ax.set(xlabel="test rows, by predicted median", ylabel=_short(fan.target), title="Quantiles that never cross")
    return _finished(ax)


def _wide(bars: int = 12) -> Axes:
    return side_by_side(1, (9.2, 1.4 + 0.3 * max(bars, 8)))[0]


def _short(name: object, longest: int = _LONGEST) -> str:
    """A name that fits beside a picture, in which nothing is markup; a long one keeps both ends."""
    text = "".join(letter if letter.isprintable() else " " for letter in str(name))
    if len(text) > longest:
        text = f"{text[: longest // 2]}…{text[len(text) - (longest - 1) // 2 :]}"
    return text.replace("$", r"\$")


def _not_shown(total: int, shown: int, noun: str) -> str:
    return f"\n({total - shown} more {noun} are not shown)" if total > shown else ""


def _finished(ax: Axes, above: bool = False) -> Axes:
    """Draw the legend where there is room, or above the bars that would fill it, and hide the frame."""
    ax.spines[["top", "right"]].set_visible(False)
    if above:
        legend = ax.legend(frameon=False, fontsize=9, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2)
        ax.set_title(ax.get_title(), pad=8 + 15 * len(legend.get_texts()))
    else:
        ax.legend(frameon=False, fontsize=9)
    return ax
