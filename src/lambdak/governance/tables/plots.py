"""Tables on matplotlib Axes: exposure as bars, the table's values as a line, and what was observed and expected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from lambdak.explain.plots import BLUE, DARK, RED, side_by_side
from lambdak.governance.tables.factor_table import FactorTable
from lambdak.governance.tables.factors import Row

if TYPE_CHECKING:
    from lambdak.governance.tables.cutoffs import Cutoffs
    from lambdak.governance.tables.table_set import TableSet

_ACROSS = 3  # charts in a row of a figure
_SIZE = (4.4, 3.3)  # of a chart, in inches
_MOST_BARS = 24  # rows of a table; those with most exposure are shown
_BAR_HEIGHT = 0.3  # of the chart
_MANY_TICKS = 16  # from which on labels are small
_LONGEST = 14  # characters of a label
_BARS = "#D9E2EC"
_TITLES = {"relativity": "relativity", "odds_relativity": "odds relativity", "amount": "amount", "points": "points"}


def draw_all(tables: TableSet) -> list[Axes]:
    """All tables on one figure; its Axes."""
    count = len(tables.tables)
    across = min(_ACROSS, count)
    down = -(-count // across)
    figure, grid = plt.subplots(
        down, across, figsize=(_SIZE[0] * across, _SIZE[1] * down), layout="constrained", squeeze=False
    )
    axes = list(grid.ravel())
    for ax in axes[count:]:
        ax.remove()
    for table, ax in zip(tables, axes, strict=False):
        draw_table(table, tables.value_name, tables.comparable(table), ax)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=len(labels), frameon=False, fontsize=9)
    for ax in axes[:count]:
        if ax.get_legend():
            ax.get_legend().remove()
    return axes[:count]


def draw_table(table: FactorTable, what: str, seen: dict[str, Any] | None = None, ax: Axes | None = None) -> Axes:
    """One table; ``seen`` are observed and expected values in units of the table."""
    ax = ax or side_by_side(1, _SIZE)[0]
    if table.value.ndim == 2:
        return _draw_pair(table, what, ax)
    kept = _kept(table)
    place = np.arange(len(kept))
    _draw_bars(ax, table.exposure[kept], "rows" if what == "points" else "exposure")
    if table.form == "levels":
        ax.plot(place, table.value[kept], "o", color=BLUE, markersize=6, label=_TITLES[what])
    else:
        _draw_ordered(ax, table, kept, what)
    styles = {
        "expected": ("_", DARK, "expected, one-way"),
        "observed": ("x", RED, "observed, one-way"),
    }
    for name, (marker, color, label) in styles.items():
        if seen and name in seen and not np.isnan(seen[name]).all():
            ax.plot(place, seen[name][kept], marker, color=color, markersize=7, mew=1.6, ls="none", label=label)
    _label(ax, table, kept, what)
    return ax


def _label(ax: Axes, table: FactorTable, kept: Sequence[int], what: str) -> None:
    """Names of rows, title, axis and legend."""
    labels, size = [_tick(table.sides[0][i]) for i in kept], 8 if len(kept) < _MANY_TICKS else 6
    ax.set_xticks(np.arange(len(kept)), labels, rotation=45, ha="right", fontsize=size)
    left = len(table.value) - len(kept)
    note = {1: ": never falls", -1: ": never rises", 0: ""}[table.sign]
    ax.set_title(_short(table.name, 28) + note, fontsize=10, loc="left")
    if left:
        ax.set_xlabel(f"({left} rows with less exposure are not shown)", fontsize=8)
    ax.set_ylabel(_TITLES[what], fontsize=9)
    ax.tick_params(axis="y", labelsize=8)
    ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)


def _draw_ordered(ax: Axes, table: FactorTable, kept: Sequence[int], what: str) -> None:
    """Bands as steps, knots as a line; what follows them (missing) as a dot."""
    ordered = [i for i, row in enumerate(kept) if table.sides[0][row].kind in ("band", "knot")]
    values = table.value[list(kept)]
    if table.form == "bands":
        edges = np.arange(len(ordered) + 1) - 0.5
        ax.stairs(values[ordered], edges, baseline=None, color=BLUE, linewidth=2, label=_TITLES[what])
        ax.plot(ordered, values[ordered], "o", color=BLUE, markersize=3)
    else:
        ax.plot(ordered, values[ordered], "-o", color=BLUE, linewidth=2, markersize=4, label=_TITLES[what])
    rest = [i for i in range(len(kept)) if i not in ordered]
    ax.plot(rest, values[rest], "o", color=BLUE, markersize=6)


def _kept(table: FactorTable) -> list[int]:
    """The rows to draw: all bands and knots, and of levels those with most exposure, in their order."""
    if len(table.value) <= _MOST_BARS or table.form != "levels":
        return list(range(len(table.value)))
    weight = np.nan_to_num(table.exposure)
    return sorted(int(i) for i in np.argsort(-weight, kind="stable")[:_MOST_BARS])


def _draw_bars(ax: Axes, exposure: Any, label: str) -> None:
    """Bars in the lower part, on an axis of their own behind the lines."""
    if np.isnan(exposure).all() or not np.nansum(exposure):
        return
    share = exposure / np.nansum(exposure)
    behind = ax.twinx()
    behind.bar(np.arange(len(share)), share, width=0.9, color=_BARS)
    behind.set_ylim(0, np.nanmax(share) / _BAR_HEIGHT)
    behind.set_axis_off()
    ax.set_zorder(behind.get_zorder() + 1)
    ax.patch.set_visible(False)
    ax.scatter([], [], s=60, marker="s", color=_BARS, label=label)


def _draw_pair(table: FactorTable, what: str, ax: Axes) -> Axes:
    """A table of two columns as a map, blue above the middle and red below."""
    values = np.log(table.value) if what in ("relativity", "odds_relativity") else table.value
    middle = 0.0 if what != "points" else float(np.median(values))
    reach = float(np.abs(values - middle).max()) or 1.0
    ax.imshow(values, cmap="RdBu", vmin=middle - reach, vmax=middle + reach, aspect="auto")
    if table.value.size <= 150:
        for place in np.ndindex(table.value.shape):
            dark = abs(values[place] - middle) > 0.6 * reach
            ax.text(place[1], place[0], f"{table.value[place]:.2f}", ha="center", va="center", fontsize=6,
                    color="white" if dark else DARK)  # fmt: skip
    for set_ticks, side in ((ax.set_yticks, table.sides[0]), (ax.set_xticks, table.sides[1])):
        step = -(-len(side) // _MOST_BARS)
        turned: dict[str, Any] = {"rotation": 45, "ha": "right"} if set_ticks == ax.set_xticks else {}
        set_ticks(range(0, len(side), step), [_tick(row) for row in side[::step]], fontsize=7, **turned)
    ax.set_title(f"{_short(table.columns[0], 16)} × {_short(table.columns[1], 16)}", fontsize=10, loc="left")
    ax.set_ylabel(_short(table.columns[0], 20), fontsize=8)
    ax.set_xlabel(_short(table.columns[1], 20), fontsize=8)
    return ax


def draw_cutoffs(cutoffs: Cutoffs, ax: Axes | None = None) -> Axes:
    """Bad rate by score band, and what a cut-off at the lower end of each band approves."""
    ax = ax or side_by_side(1, (6.4, 3.8))[0]
    place = np.arange(len(cutoffs.low))
    _draw_bars(ax, cutoffs.count, "rows")
    ax.plot(place, cutoffs.bad_rate, "-o", color=RED, label="bad rate of the band")
    ax.plot(place, cutoffs.approved_bad_rate, "--", color=RED, label="bad rate of all approved")
    ax.plot(place, cutoffs.approval_rate, "-s", color=BLUE, label="approved, from this band up")
    ax.set_xticks(place, cutoffs.labels(), rotation=30, ha="right", fontsize=8)
    ax.set(xlabel="score", ylabel="share of rows", ylim=(0, 1.02))
    ax.set_title(f"KS {cutoffs.ks:.3f}, Gini {cutoffs.gini:.3f}", fontsize=10, loc="left")
    ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _tick(row: Row) -> str:
    """A row in few characters."""
    if row.kind in ("band", "knot"):
        return row.label
    return "any other" if row.kind == "other" else _short(row.label if row.kind == "level" else row.kind, _LONGEST)


def _short(name: str, longest: int) -> str:
    """A name that fits, in which nothing is markup."""
    text = "".join(letter if letter.isprintable() else " " for letter in name)
    text = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return text.replace("$", r"\$")
