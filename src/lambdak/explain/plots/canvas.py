"""What the pictures share: colours, files, names that fit, numbers as people write them, legends off the data."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.ticker import FixedFormatter, FixedLocator, Formatter, FuncFormatter, MaxNLocator, NullLocator
from numpy.typing import NDArray
from PIL import Image

from lambdak.atomic import write_bytes
from lambdak.table.number_scale import NumberScale

# Okabe and Ito's colours, which people of every colour vision can tell apart.
BLUE, SKY, RED, GREEN = "#0072B2", "#56B4E9", "#D55E00", "#009E73"
GREY, DARK = "#8A8A8A", "#333333"
RISES, FALLS = BLUE, RED  # in every picture and on every page
_DPI = 130
_SHADES = 128  # of all colours together: thin lines look the same, and the file is a third
_LONGEST = 28  # characters of a name
_LARGE, _SMALL = 1e10, 1e-4  # beyond, powers of ten
_LETTER = 0.62  # width of a letter, in font sizes
_BETWEEN = 2.0  # letters between two labels
_LEGEND_ROW = 15  # points
_USUAL_TICKS = 4  # of an axis that is compressed at an end
_MANY_DIGITS = 1e4  # from here on cells have separators: 1962 may be a year
_FACTORS = (1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)  # ticks of an axis of factors, times powers of ten
_FEWEST_FACTORS, _MOST_FACTORS = 3, 7


def side_by_side(count: int, size: tuple[float, float] = (4.6, 4.2)) -> list[Axes]:
    """Axes of this size, in inches, next to each other on one figure."""
    _, axes = plt.subplots(1, count, figsize=(size[0] * count, size[1]), layout="constrained", squeeze=False)
    return list(axes[0])


def wide(bars: int = 12) -> Axes:
    """Axes for so many bars, one below the other."""
    return side_by_side(1, (9.2, 1.6 + 0.3 * max(bars, 6)))[0]


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


# ---- names ---------------------------------------------------------------------------------------------------------


def short_name(name: object, longest: int = _LONGEST) -> str:
    """A name that fits beside a picture, in which nothing is markup; a long one keeps both ends."""
    text = _printable(name)
    if len(text) > longest:
        text = f"{text[: longest // 2]}…{text[len(text) - (longest - 1) // 2 :]}"
    return text.replace("$", r"\$")


def distinct_names(names: Sequence[object], longest: int = _LONGEST) -> list[str]:
    """Names that fit, as :func:`short_name`; those that would look alike keep the part in which they differ.

    >>> distinct_names(["a street on the left side of town", "a street on the other side of town"], 16)
    ['a str…left…town', 'a str…other…town']
    """
    short = [short_name(name, longest) for name in names]
    for text in {name for name in short if short.count(name) > 1}:
        group = [i for i, name in enumerate(short) if name == text]
        whole = [_printable(names[i]) for i in group]
        if len(set(whole)) < 2:
            continue
        start, end = _common(whole), _common([name[::-1] for name in whole])
        for i, name in zip(group, whole, strict=True):
            short[i] = _around(name, start, len(name) - min(end, len(name) - start), longest).replace("$", r"\$")
    return [name if name not in short[:i] else f"{name} ({i + 1})" for i, name in enumerate(short)]


def _common(texts: Sequence[str]) -> int:
    """How many letters all of them begin with."""
    return next(
        (k for k, letters in enumerate(zip(*texts, strict=False)) if len(set(letters)) > 1), min(map(len, texts))
    )


def _around(text: str, start: int, stop: int, longest: int) -> str:
    """The middle of a name, from ``start`` to ``stop`` and up to the ends of its words, between its two ends."""
    start = text.rfind(" ", 0, start + 1) + 1
    stop = next((k for k in range(max(stop, start), len(text)) if text[k] == " "), len(text))
    middle = text[start:stop][: longest - 4]
    room = max(longest - len(middle) - 2, 4)
    head, tail = text[: min(room - room // 2, start)], text[max(len(text) - room // 2, stop) :].lstrip()
    return "…".join(part for part in (head, middle, tail) if part)


def _printable(name: object) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in str(name))


def not_shown(hidden: int, noun: str) -> str:
    """A line that says how many are not shown, if any."""
    return f"\n({hidden:,} more {noun} are not shown)" if hidden else ""


# ---- numbers -------------------------------------------------------------------------------------------------------


class Separated(Formatter):
    """Numbers of an axis, with separators of thousands and the same digits for all.

    Below ``least`` there are none: 1962 may be a year.
    """

    def __init__(self, least: float = 0.0) -> None:
        self._least = least

    def __call__(self, value: float, pos: object = None) -> str:
        """Text of a single number, where the other ticks are not at hand."""
        return f"{value:.3g}"

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Texts of all ticks of an axis, with digits enough for the step between them."""
        sizes = np.abs(np.asarray(values, float))
        if len(sizes) < 2 or sizes.max() >= _LARGE or sizes.max() < _SMALL:
            return [self(value) for value in values]
        step = float(np.diff(np.sort(values)).min())
        digits = next((n for n in range(12) if abs(round(step, n) - step) < 1e-6 * step), 12)
        comma = "," if sizes.max() >= self._least else ""
        return [f"{value + 0.0:{comma}.{digits}f}" for value in values]


class Spaced(MaxNLocator):
    """Ticks whose labels have room beside each other, however wide the picture is."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self._most = most

    def __call__(self) -> Any:
        """Positions of as many ticks as fit without touching each other."""
        axis: Any = self.axis
        low, high = sorted(axis.get_view_interval())
        for most in range(self._most, 1, -1):
            self.set_params(nbins=most)
            ticks = np.asarray(self.tick_values(low, high))
            if self._fit(ticks[(ticks >= low) & (ticks <= high)]):
                break
        return ticks

    def _fit(self, ticks: Any) -> bool:
        axis: Any = self.axis
        labels = axis.get_major_formatter().format_ticks(ticks)
        letters = max((len(label) for label in labels), default=0) + _BETWEEN
        points = axis.axes.get_window_extent().width / axis.get_figure(root=True).dpi * 72
        return bool(letters * len(labels) * _LETTER * plt.rcParams["font.size"] <= points)


def separated(axis: Axis, most: int = 6, *, whole: bool = False, cells: bool = False) -> None:
    """Not too many ticks on an axis, in the reader's notation; ``whole`` numbers only where it counts something.

    ``cells`` of a column have separators of thousands from five digits on, as those of an explanation in words.
    """
    located = Spaced(most) if isinstance(axis, XAxis) else MaxNLocator(most)
    located.set_params(integer=whole)
    axis.set_major_locator(located)
    axis.set_major_formatter(Separated(_MANY_DIGITS if cells else 0.0))


def scaled(axis: Axis, scale: NumberScale | None) -> str:
    """Give an axis the scale of its column before anything is drawn; returns what its label says about it.

    Where all is even, or the column has levels, there is nothing to say.
    """
    if scale is None:
        return ""
    across = isinstance(axis, XAxis)
    if scale.is_even:
        separated(axis, whole=scale.whole, cells=True)
        return ""
    (axis.axes.set_xscale if across else axis.axes.set_yscale)("function", functions=(scale.places, scale.numbers))
    ticks = scale.ticks(_USUAL_TICKS)
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FixedFormatter([_cell_tick(tick) for tick in ticks]))
    axis.set_minor_locator(NullLocator())
    span = axis.axes.axvspan if across else axis.axes.axhspan
    for begin, end in ((scale.low, scale.first), (scale.last, scale.high)):
        if begin < end:
            span(begin, end, color=GREY, alpha=0.12, lw=0, zorder=0)
    return "\n(compressed where it is shaded)"


def _cell_tick(tick: float) -> str:
    """A tick of a column, with separators of thousands from five digits on."""
    text = f"{tick:,.10g}" if abs(tick) < 1e6 else f"{tick:,.0f}"
    return text if abs(tick) >= _MANY_DIGITS else text.replace(",", "")


def factors(axis: Axis) -> None:
    """Ticks of an axis of logarithms as factors: ×0.8, ×1, ×1.25."""
    low, high = axis.get_view_interval()
    decades = 10.0 ** np.arange(np.floor(low / np.log(10)) - 1, np.ceil(high / np.log(10)) + 2)
    ticks = np.unique(np.round(np.log(np.outer(decades, _FACTORS)), 12))
    ticks = ticks[(ticks >= low) & (ticks <= high)]
    if len(ticks) < _FEWEST_FACTORS:
        ticks = _log_ticks(low, high, 5)
    step = -(-len(ticks) // _MOST_FACTORS)
    first = int(np.argmin(np.abs(ticks))) % step  # so that a factor of 1 is among them
    axis.set_major_locator(FixedLocator(ticks[first::step].tolist()))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"×{np.exp(value):.3g}"))


def exponentials(axis: Axis, most: int = 6) -> None:
    """Ticks of an axis of logarithms at round numbers, of which these are the logarithms."""
    ticks = _log_ticks(*axis.get_view_interval(), most)
    axis.set_major_locator(FixedLocator(ticks.tolist()))
    axis.set_major_formatter(FixedFormatter(Separated().format_ticks(np.exp(ticks).tolist())))


def _log_ticks(low: float, high: float, most: int) -> NDArray[np.float64]:
    """Logarithms of round numbers between two logarithms."""
    first, last = np.exp(np.clip([low, high], -700.0, 700.0))
    ticks = np.asarray(MaxNLocator(most).tick_values(first, last), np.float64)
    return np.asarray(np.log(ticks[(ticks >= first) & (ticks <= last) & (ticks > 0)]))


# ---- legends -------------------------------------------------------------------------------------------------------


def legend_above(ax: Axes, others: Sequence[Axes] = (), columns: int = 4) -> None:
    """One legend for all Axes, above the picture and below its title."""
    handles, labels = [], []
    for drawn in (ax, *others):
        legend = drawn.get_legend_handles_labels()
        handles += legend[0]
        labels += legend[1]
    ax.spines[["top", "right"]].set_visible(False)
    if not labels:
        return
    ax.legend(
        handles, labels, frameon=False, fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns,
        borderaxespad=0.3, columnspacing=1.4, handlelength=1.6,
    )  # fmt: skip
    rows = int(np.ceil(len(labels) / columns))
    ax.set_title(ax.get_title(), pad=10 + _LEGEND_ROW * rows)
