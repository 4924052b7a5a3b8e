"""Pictures of performance: calibration, Lorenz and ROC curves, segments, and the canvas that pictures share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter

from lambdak._types import Float64Array
from lambdak.explain.plots import BLUE, DARK, GREY, RED, SKY, side_by_side
from lambdak.explain.plots import short_name as short
from lambdak.explain.plots.canvas import legend_above, separated
from lambdak.governance.performance.bands import MISSING

if TYPE_CHECKING:
    from lambdak.governance.performance.lorenz import Lorenz, Roc
    from lambdak.governance.performance.performance import Calibration
    from lambdak.governance.performance.segments import Segments

__all__ = ["label_segments", "legend_above", "new_axes", "percent", "segment_axes", "separated", "short", "titled"]

_STEEP = 70  # degrees of labels that would overlap
_ROOM, _SMALL_ROOM = 96, 124  # characters of labels beside each other, and of small ones
_PER_LETTER = 0.065  # inches of a label that is turned
_MOST_LABELS = 40
_WRAPPED = 74  # characters of a title


def new_axes(width: float = 8.6, height: float = 4.8) -> Axes:
    """Axes on a figure of their own."""
    return side_by_side(1, (width, height))[0]


def segment_axes(names: Sequence[str], in_order: bool) -> Axes:
    """Axes that are as high with names below them as others without."""
    shown, room = _labels(names, in_order)
    longest = max(len(word) for _, word in shown)
    return new_axes(height=4.8 + (_PER_LETTER * longest if room > _SMALL_ROOM else 0.0))


def label_segments(ax: Axes, names: Sequence[str], in_order: bool) -> None:
    """Names below the x axis: turned where they would overlap, and if they follow one another only every few."""
    shown, room = _labels(names, in_order)
    turned: dict[str, Any] = {"rotation": _STEEP, "ha": "right", "va": "top", "rotation_mode": "anchor"}
    ax.set_xticks([i for i, _ in shown], [word for _, word in shown], **turned if room > _SMALL_ROOM else {})
    ax.tick_params(axis="x", labelsize=8 if room > _ROOM else 10)


def _labels(names: Sequence[str], in_order: bool) -> tuple[list[tuple[int, str]], float]:
    """Places and words of the names to show, and how many letters they need beside each other."""
    step = -(-len(names) // _MOST_LABELS) if in_order else 1
    shown = [(i, short(name, 24)) for i, name in enumerate(names) if i % step == 0]
    return shown, max(len(word) + 1 for _, word in shown) * len(names) / step


def titled(ax: Axes, title: str) -> None:
    """A title that fits."""
    ax.set_title(short(title, _WRAPPED), fontsize=11)


def draw_lorenz(found: Lorenz, ax: Axes | None = None) -> Axes:
    """The curve between the diagonal and the perfect order; Gini is twice the shaded area."""
    ax = ax or new_axes(5.4, 5.4)
    ax.fill_between(found.x, found.curve, found.x, color=SKY, alpha=0.3, linewidth=0)
    ax.plot(found.x, found.curve, color=BLUE, linewidth=2, label=f"by prediction: Gini {found.gini:.3f}")
    ax.plot(found.x, found.perfect, color=DARK, linewidth=1.2, label=f"perfect order: {found.perfect_gini:.3f}")
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", label="no order: 0")
    _square(ax)
    ax.set_xlabel(f"share of {short(found._labels[0], 24)}, lowest predictions first")
    ax.set_ylabel(f"share of {short(found._labels[1], 40)}")
    titled(ax, f"Lorenz curve: normalised Gini {found.normalised_gini:.3f}")
    legend_above(ax, columns=1)
    return ax


def draw_roc(found: Roc, ax: Axes | None = None) -> Axes:
    """The curve, the diagonal, and where the shares differ most."""
    ax = ax or new_axes(5.4, 5.4)
    x, y = found.false_positive_rate, found.true_positive_rate
    ax.plot(x, y, color=BLUE, linewidth=2, label=f"AUC {found.auc:.3f}")
    at = int(np.argmax(y - x))
    ax.plot([x[at], x[at]], [x[at], y[at]], color=RED, linewidth=1.5,
            label=f"KS {found.ks:.3f}, at a probability of {found.ks_threshold:.3g}")  # fmt: skip
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", label="chance: AUC 0.5, KS 0")
    _square(ax)
    ax.set(xlabel="false positive rate", ylabel="true positive rate")
    titled(ax, f"ROC curve: {found._words.removeprefix('share of ')}")
    legend_above(ax, columns=1)
    return ax


def draw_calibration(found: Calibration, ax: Axes | None = None) -> Axes:
    """Observed against predicted, bin by bin."""
    ax = ax or new_axes(5.4, 5.4)
    bands = found.bands
    reach = np.array([bands.observed - bands.observed_low, bands.observed_high - bands.observed])
    ax.errorbar(bands.predicted, bands.observed, yerr=np.nan_to_num(reach), fmt="o", color=BLUE, ecolor=SKY,
                elinewidth=2, label="bands of predictions, with intervals")  # fmt: skip
    known = [bands.predicted, bands.observed]
    low, high = min(map(np.nanmin, known)), max(map(np.nanmax, known))
    ax.plot([low, high], [low, high], color=GREY, linewidth=1, linestyle="--", label="observed as predicted")
    separated(ax.xaxis, 4)
    separated(ax.yaxis)
    rate = short(bands.words.rate, 40)
    ax.set(xlabel=f"predicted {rate}", ylabel=f"observed {rate}")
    ax.plot([], [], " ", label=f"actual / expected {found.balance:.4g}, slope {found.slope:.3g}")
    titled(ax, "Calibration")
    legend_above(ax, columns=1)
    return ax


def percent(axis: Axis) -> None:
    """Ticks of shares in percent."""
    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.0f} %"))


def _square(ax: Axes) -> None:
    ax.set_aspect("equal")
    ax.set(xlim=(0, 1), ylim=(0, 1))
    for axis in (ax.xaxis, ax.yaxis):
        percent(axis)


MOST_LEVELS = 25
_BAR_ROOM = 3.2  # how many times as high as the bars the picture is
_BAR = "#D9D9D9"


def draw_segments(found: Segments, ax: Axes | None = None) -> Axes:
    """Segments beside one another."""
    shown = _Shown(found)
    ax = ax or segment_axes(shown.names, found.kind != "levels")
    bars = draw_exposure(ax, shown.exposure, found.words.exposure)
    place = np.arange(len(shown.names))
    reach = np.array([shown.observed - shown.low, shown.high - shown.observed])
    if np.isfinite(reach).any():
        ax.errorbar(place, shown.observed, yerr=np.nan_to_num(reach), fmt="none", ecolor=DARK, elinewidth=1, capsize=2)
    lines = [("observed", shown.observed, "o", DARK), (found.lines[0], shown.predicted, "D", BLUE)]
    if shown.other is not None:
        lines.append((found.lines[1], shown.other, "s", RED))
    joined = 0 if found.kind == "levels" else len(place) - (shown.names[-1] == MISSING)
    for label, values, marker, colour in lines:
        ax.plot(place, values, marker, color=colour, markersize=5, label=short(label, 32))
        ax.plot(place[:joined], values[:joined], color=colour, linewidth=1.6)
    ax.set(xlabel=_below(found, shown.more), ylabel=short(found.words.rate, 44))
    label_segments(ax, shown.names, found.kind != "levels")
    separated(ax.yaxis)
    titled(ax, _title(found))
    legend_above(ax, [bars])
    return ax


class _Shown:
    """What there is room for: all segments, or the largest levels and the sum of all others."""

    def __init__(self, found: Segments) -> None:
        from lambdak.governance.performance.segments import per_unit

        cut = found.kind == "levels" and len(found) > MOST_LEVELS
        first = MOST_LEVELS - 1 if cut else len(found)
        self.more = len(found) - first

        def joined(values: Float64Array) -> Float64Array:
            return np.append(values[:first], values[first:].sum()) if cut else values

        self.names = [*found.names[:first], *([f"… and {self.more} more levels"] if cut else [])]
        self.exposure = joined(found.exposure)
        self.observed = per_unit(joined(found.actual), self.exposure)
        self.predicted = per_unit(joined(found.expected), self.exposure)
        self.other = None if found.other is None else per_unit(joined(found.other), self.exposure)
        self.low, self.high = (
            np.append(ends[:first], np.nan) if cut else ends for ends in (found.observed_low, found.observed_high)
        )


def draw_exposure(ax: Axes, exposure: Float64Array, words: str) -> Axes:
    """Bars on an axis of their own at the right, low enough to be below the lines."""
    bars = ax.twinx()
    bars.bar(np.arange(len(exposure)), exposure, width=0.8, color=_BAR, label=short(words, 24), zorder=0)
    bars.set_ylim(0, _BAR_ROOM * max(exposure.max(), np.finfo(float).tiny))
    bars.set_ylabel(short(words, 40), color=GREY)
    bars.tick_params(axis="y", colors=GREY)
    separated(bars.yaxis)
    bars.spines[["top", "left"]].set_visible(False)
    bars.spines["right"].set_color(GREY)
    ax.set_zorder(bars.get_zorder() + 1)  # lines above the bars
    ax.patch.set_visible(False)
    return bars


def _title(found: Segments) -> str:
    if found.kind == "predictions":
        return "Lift: observed and expected by prediction" if found.other is None else "Double lift"
    return f"Actual against expected by {found.about}"


def _below(found: Segments, more: int) -> str:
    if found.kind != "predictions":
        return short(found.about, 48)
    count = {10: "tenths", 5: "fifths", 4: "quarters", 20: "twentieths"}.get(len(found), "bands")
    of = "" if found.words.exposure == "rows" else f" of {short(found.words.exposure, 24)}"
    by = "prediction" if found.other is None else f"{found.lines[0]} over {found.lines[1]}"
    return f"{count}{of}, from the lowest {by} to the highest"
