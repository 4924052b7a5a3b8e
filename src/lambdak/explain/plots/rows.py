"""Why single rows are predicted as they are, what they would be otherwise, and quantiles of many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes

from lambdak.explain import MOST_BARS
from lambdak.explain.plots.canvas import (
    BLUE,
    DARK,
    FALLS,
    GREY,
    RED,
    RISES,
    SKY,
    distinct_names,
    exponentials,
    legend_above,
    scaled,
    separated,
    short_name,
    side_by_side,
    wide,
)
from lambdak.explain.wording import effect_words, prediction_words, separated_cell
from lambdak.table.category_levels import shown

_LEAST_RANGE = 0.02  # of an axis of predictions, relative to them

if TYPE_CHECKING:
    from lambdak.explain.column_effect import Fan
    from lambdak.explain.local_explanation import LocalExplanation
    from lambdak.explain.what_if import WhatIf


def draw_waterfall(explanation: LocalExplanation, row: int = 0, ax: Axes | None = None) -> Axes:
    """From the baseline to one row, step by step; the largest steps first, the rest as one."""
    names, steps = _steps(explanation, row)
    ax = ax or wide(len(steps))
    amounts, log = explanation.amounts(row), explanation.link == "log"
    base, score = explanation.baseline_score[row], explanation.score[row]
    ends, positions = base + np.cumsum(steps), np.arange(len(steps))[::-1]
    ax.barh(positions, steps, left=ends - steps, color=[RISES if step > 0 else FALLS for step in steps], height=0.6)
    printed = amounts.adding_up(steps, explanation.moved(row, amounts))
    for position, step, end, text in zip(positions, steps, ends, map(amounts.part, printed), strict=True):
        place = (max(end, end - step), position)
        ax.annotate(text, place, (4, 0), textcoords="offset points", va="center")
    said = (explanation.baseline_prediction[row], explanation.prediction[row])
    for value, predicted, label, color in zip((base, score), said, ("baseline", "this row"), (GREY, DARK), strict=True):
        ax.axvline(value, color=color, linewidth=1, linestyle="--", label=f"{label}: {amounts.prediction(predicted)}")
    ax.use_sticky_edges = False
    ax.margins(x=0.12)
    ax.set_yticks(positions, names)
    what = prediction_words(explanation.link, explanation.output[row])
    units = "prediction, on a scale of factors" if log else effect_words(explanation.link, explanation.output[row])
    title = f"Row {row}: {short_name(what.removeprefix('the '), 48)} {amounts.prediction(explanation.prediction[row])}"
    ax.set(xlabel=short_name(units, 60), title=title)
    (exponentials if log else separated)(ax.xaxis)
    legend_above(ax, columns=2)
    return ax


def _steps(explanation: LocalExplanation, row: int) -> tuple[list[str], list[float]]:
    """Names and sizes of the largest steps of a row, and of all others as one."""
    shares, cells = explanation.attribution[row], explanation.cells[row]
    order = np.argsort(-np.abs(shares), kind="stable")
    acting = max(1, int((shares != 0).sum()))
    most = len(order) if acting == len(order) <= MOST_BARS else min(acting, MOST_BARS - 1)
    columns = distinct_names([explanation.columns[i] for i in order[:most]], 22)
    texts = (short_name(separated_cell(cells[i], explanation.kinds[i]), 14) for i in order[:most])
    names = [f"{column} = {text}" for column, text in zip(columns, texts, strict=True)]
    steps = shares[order[:most]].tolist()
    left = len(order) - most
    if left:
        return [*names, f"{left:,} other column{'s' if left > 1 else ''}"], [*steps, float(shares[order[most:]].sum())]
    return names, steps


def draw_what_if(what_if: WhatIf, row: int = 0, ax: Axes | None = None) -> Axes:
    """The prediction of a row along the column, where it is now, and the proven interval."""
    ax = ax or side_by_side(1, (6.4, 4.2))[0]
    x, predictions = what_if.along(row)
    amounts = what_if.amounts(row)
    low, high = what_if.lower[row], what_if.upper[row]
    words = f"proven: {amounts.interval(low, high)}"
    name = short_name(what_if.column)
    if what_if.kind == "number":
        compressed = scaled(ax.xaxis, what_if.scale)
        ax.axhspan(low, high, color=SKY, alpha=0.25, lw=0, label=words)
        ax.plot(x, predictions, color=BLUE, linewidth=2.5, label="prediction of this row")
        ax.set_xlabel(f"{name}{compressed}")
    else:
        kept = np.argsort(predictions, kind="stable")
        kept = kept if len(kept) <= MOST_BARS else kept[_ends(len(kept))]
        ax.axvspan(low, high, color=SKY, alpha=0.25, lw=0, label=words)
        ax.plot(predictions[kept], np.arange(len(kept)), "o", color=BLUE, label="prediction of this row")
        ax.set_yticks(np.arange(len(kept)), distinct_names([shown(x[i]) for i in kept]))
        ax.set_ylim(-0.8, len(kept) - 0.2)
        hidden = len(x) - len(kept)
        ax.set_ylabel(name + (f"\n({hidden:,} levels between are not shown)" if hidden else ""))
    now: dict[str, Any] = {
        "color": DARK,
        "linewidth": 1,
        "linestyle": "--",
        "label": f"now: {amounts.prediction(what_if.now[row])}",
    }
    (ax.axhline if what_if.kind == "number" else ax.axvline)(what_if.now[row], **now)
    what = prediction_words(what_if.link, what_if.output[row]).removeprefix("the ")
    (ax.set_ylabel if what_if.kind == "number" else ax.set_xlabel)(short_name(what, 48))
    _widen(ax.yaxis if what_if.kind == "number" else ax.xaxis, low, high)
    separated(ax.yaxis if what_if.kind == "number" else ax.xaxis)
    ax.set_title(f"Row {row}: what if {name} were different?")
    legend_above(ax, columns=2 if what_if.kind == "number" else 1)
    return ax


def _widen(axis: Any, low: float, high: float) -> None:
    """Limits that are not so close that a column without effect looks like one that has some."""
    room = _LEAST_RANGE * max(abs(low), abs(high)) - (high - low)
    if room > 0:
        set_limits = axis.axes.set_ylim if axis is axis.axes.yaxis else axis.axes.set_xlim
        set_limits(low - room, high + room)


def _ends(count: int) -> list[int]:
    """The lowest and the highest of so many."""
    half = MOST_BARS // 2
    return [*range(half), *range(count - (MOST_BARS - half), count)]


def draw_fan(fan: Fan, ax: Axes | None = None) -> Axes:
    """Bands between quantiles of opposite quantile levels, row after row, and what was observed."""
    ax = ax or wide()
    rows, last = np.arange(len(fan.y)), len(fan.levels) - 1
    for i in range(len(fan.levels) // 2):
        share = f"{100 * (fan.levels[last - i] - fan.levels[i]):.0f} % of the rows should be inside"
        low, high = fan.quantiles[:, i], fan.quantiles[:, last - i]
        ax.fill_between(rows, low, high, step="mid", color=SKY, alpha=0.35 + 0.3 * i, linewidth=0, label=share)
    ax.step(rows, fan.quantiles[:, len(fan.levels) // 2], where="mid", color=BLUE, linewidth=2, label="median")
    ax.plot(rows[fan.inside], fan.y[fan.inside], "o", color=DARK, markersize=4, label="observed")
    ax.plot(rows[~fan.inside], fan.y[~fan.inside], "X", color=RED, markersize=7, label="observed, outside")
    ax.set(xlabel="test rows, by predicted median", ylabel=short_name(fan.target), title="Quantiles that never cross")
    for axis in (ax.xaxis, ax.yaxis):
        separated(axis)
    legend_above(ax, columns=3)
    return ax
