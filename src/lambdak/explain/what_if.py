r"""Where a raw score stays while one column moves freely in a range and all others keep their cells: proven intervals.

Between two nodes a and b of a curve's piece A changes by E = A_i(b) − A_i(a), so that f(a) + t e₋ ≤ f ≤ f(a) + t e₊ at
the share t of the way, with e∓ = Σ_m w_m λ_1,d(E_m) (Weyl), and likewise from b backwards. The two lines of either side
meet in a saw tooth; with the values at the nodes computed, no point between them can leave its tips.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lambdak._checks import check_int
from lambdak._types import Float64Array
from lambdak.eigen import eigenvalue
from lambdak.explain.row_words import RowWords
from lambdak.explain.wording import Amounts, cell_text
from lambdak.model.influence import weyl
from lambdak.model.readout import Readout
from lambdak.table.category_levels import OTHER, shown
from lambdak.table.design import Design
from lambdak.table.frames import make_frame
from lambdak.table.number_scale import NumberScale
from lambdak.table.shown import Shown
from lambdak.table.visible import visible

TEETH = 24  # at least, over the range
_LEVELS_AT_ONCE = 300  # of a category
_PRINTED = 10  # rows
_DRAWN = 129  # points of a number
_NAMED = 6  # levels
_WORDS = RowWords()


@dataclass(frozen=True, eq=False, repr=False)
class WhatIf(Shown):
    """With ``column`` anywhere in ``between``, and all else as it is, no prediction leaves [lower, upper].

    Printed, it says so of the first rows.

    Attributes
    ----------
    column : str
    between : tuple
        The two ends of the range, or the levels that were allowed; OTHER is any level unseen in training.
    lower, upper : arrays of shape (rows,)
        Of the prediction of each row.
    score_lower, score_upper : arrays of shape (rows,)
        Of its raw score.
    kind : str
        What the column holds: "number" or "category".
    output : tuple of str
        What each row's raw score stands for.
    link : str
        How predictions come from raw scores.
    now : array of shape (rows,)
        The predictions as they are.
    scale : NumberScale or None
        Where numbers of the column stand on an axis.
    decimals : int or None
        Those that the target is written with.
    """

    column: str
    between: tuple[object, ...]
    lower: Float64Array
    upper: Float64Array
    score_lower: Float64Array
    score_upper: Float64Array
    kind: str
    output: tuple[str, ...]
    link: str
    _along: Callable[[int], tuple[tuple[Any, ...], Float64Array]]
    now: Float64Array = field(default_factory=lambda: np.zeros(0))
    scale: NumberScale | None = None
    decimals: int | None = None

    def __len__(self) -> int:
        return len(self.lower)

    def along(self, row: int = 0) -> tuple[tuple[Any, ...], Float64Array]:
        """Numbers of the range, or levels, and what is predicted for this row at each of them."""
        return self._along(check_int(row, "row", 0, len(self)))

    def amounts(self, row: int, unit: str = "") -> Amounts:
        """How the numbers of this row are written."""
        return Amounts.of(self.link, (), self.decimals, unit, [self.now[row], self.lower[row], self.upper[row]])

    def sentence(self, row: int, words: RowWords = _WORDS) -> str:
        """What is proven about one row, in words."""
        what = words.prediction(self.link, self.output[row])
        interval = self.amounts(row, words.unit).interval(float(self.lower[row]), float(self.upper[row]))
        return f"{self._range(words)}, and all else as it is, {what} stays {interval}."

    def to_frame(self) -> Any:
        """One line for each row."""
        names = ("now", "lower", "upper", "score_lower", "score_upper")
        return make_frame({"row": np.arange(len(self))} | {name: getattr(self, name) for name in names})

    def plot(self, row: int = 0, ax: Any = None) -> Any:
        """The prediction of a row along the column, with the proven interval; returns the Axes."""
        from lambdak.explain.plots import draw_what_if

        return draw_what_if(self, check_int(row, "row", 0, len(self)), ax)

    def __str__(self) -> str:
        lines = []
        for row in range(min(len(self), _PRINTED)):
            named = f"Row {row}: " if len(self) > 1 else ""
            sentence = self.sentence(row)
            lines.append(f"{named}{sentence[0].upper() + sentence[1:]} Now it is {self._now(row)}.")
        if len(self) > _PRINTED:
            lines.append(f"… and {len(self) - _PRINTED:,} more rows: see to_frame()")
        return "\n".join(map(visible, lines)) or "No rows."

    def _now(self, row: int) -> str:
        return self.amounts(row).prediction(float(self.now[row]))

    def _range(self, words: RowWords) -> str:
        name = words.column(self.column)
        if self.kind != "number":
            few = len(self.between) <= _NAMED and OTHER not in self.between
            levels = " or ".join(map(shown, self.between))
            return f"with {name} being {levels}" if few else f"whatever {name} is"
        low, high = (words.cell(self.column, cell_text(end), self.kind) for end in self.between)
        return f"with {name} anywhere between {low} and {high}"


def score_interval(
    readout: Readout, design: Design, i: int, cells: Sequence[object]
) -> tuple[Float64Array, Float64Array]:
    """Lowest and highest computed raw score, each (rows,), while column i is at ``cells``, or between two numbers."""
    column = readout.columns[i]
    if not column.is_number and len(cells) > _LEVELS_AT_ONCE:
        some = [cells[first : first + _LEVELS_AT_ONCE] for first in range(0, len(cells), _LEVELS_AT_ONCE)]
        intervals = [score_interval(readout, design, i, part) for part in some]
        return np.min([low for low, _ in intervals], axis=0), np.max([high for _, high in intervals], axis=0)
    path = column.path(cells, TEETH)
    still = Design(design.ids, design.weights.copy())
    still.weights[:, list(readout.slots[i])] = 0.0
    others, reach = readout.packed(still), readout.reach(still)
    reach[:, i] = np.abs(path).sum(axis=1).max(initial=1.0)
    rounding = 2 * readout.errors(reach)  # of what is computed here, and of what is predicted
    matrices = path @ readout.column(i)  # (members, nodes, D)
    down, up = weyl(readout, np.diff(path, axis=0), i)
    lower, upper = np.empty(others.shape[1]), np.empty(others.shape[1])
    for rows in readout.blocks(others.shape[1], len(path) * others.shape[2]):
        packed = others[:, rows, None] + matrices[:, None]
        values = readout.start + readout.over_members(eigenvalue(packed, readout.dim, readout.index))
        low, high = saw_tooth(values, down, up) if column.is_number else (values, values)
        lower[rows], upper[rows] = low.min(axis=1) - rounding[rows], high.max(axis=1) + rounding[rows]
    return lower, upper


def saw_tooth(values: Float64Array, down: Float64Array, up: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Lower and upper tips (rows, nodes − 1), from values at the nodes (rows, nodes) and e∓ of the pieces.

    >>> saw_tooth(np.array([[0.0, 0.0]]), np.array([-1.0]), np.array([1.0]))
    (array([[-0.5]]), array([[0.5]]))
    """
    first, last = values[:, :-1], values[:, 1:]
    both = np.broadcast_to((down < 0) & (up > 0), first.shape)
    width = np.where(up > down, up - down, 1.0)
    share = np.clip((first - last + up) / width, 0.0, 1.0)
    low = np.where(both, first + share * down, np.minimum(first, last))
    share = np.clip((last - first - down) / width, 0.0, 1.0)
    high = np.where(both, first + share * up, np.maximum(first, last))
    return low, high


def scores_along(
    readout: Readout, design: Design, i: int, between: Sequence[Any]
) -> tuple[tuple[Any, ...], Float64Array]:
    """Numbers of a range, or levels, and the raw scores of rows at each of them, (rows, cells)."""
    column = readout.columns[i]
    if column.is_number:
        inside = [x for x in column.points(_DRAWN)[0] if between[0] < x < between[1]]
        cells: tuple[Any, ...] = (between[0], *inside, between[1])
        design_rows = column.cell_rows(cells)
    else:
        cells, design_rows = tuple(between), column.path(between, 1)
    still = Design(design.ids, design.weights.copy())
    still.weights[:, list(readout.slots[i])] = 0.0
    packed = readout.packed(still)[:, :, None] + (design_rows @ readout.column(i))[:, None]
    return cells, readout.start + readout.over_members(eigenvalue(packed, readout.dim, readout.index))
