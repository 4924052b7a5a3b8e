"""Why single rows are predicted as they are: slopes, attributions that add up, proven what-if intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import check_int
from lambdak._types import Float64Array
from lambdak.explain.row_words import Labels, RowWords, explanation_lines, row_labels, row_position
from lambdak.explain.rows import RowWork
from lambdak.explain.what_if import WhatIf
from lambdak.explain.wording import MOST_PLACES, Amounts, cell_text
from lambdak.model import Model
from lambdak.model.known_target import KnownTarget
from lambdak.model.readout import readouts
from lambdak.model.rows import given_table
from lambdak.pencil.variational import Game
from lambdak.table.cells import Cells
from lambdak.table.column_contract import Column
from lambdak.table.frames import make_frame
from lambdak.table.read import Table
from lambdak.table.shown import Shown
from lambdak.table.visible import warn_user

_SHOWN = 4  # rows that a warning names
_PRINTED = 3  # rows
_UNKNOWN = KnownTarget()
_MIDDLES = {"number": "the median of each number", "category": "the average level of each category"}
_GIVEN = "the row that was given as baseline"
_BY_ROW = ("output", "cells", "prediction", "baseline_prediction", "score", "baseline_score", "gap", "repeated",
           "influence", "influence_bound", "attribution", "error", "average")  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class LocalExplanation(Shown):
    """One row after the other, in units of the raw score (log-odds, logarithms, or those of the target).

    Printed, it says why the first rows are predicted as they are.

    Attributes
    ----------
    columns, kinds : tuple of str
        Names of the columns, and what they hold: "number" or "category".
    output : tuple of str
        What each row's raw score stands for: of several classes, the one that is predicted.
    cells : tuple of tuple of str
        The cells of each row, as text.
    prediction, baseline_prediction : arrays of shape (rows,)
        As ``predict`` or ``predict_proba`` would say.
    score, baseline_score : arrays of shape (rows,)
        Raw scores: before the link.
    gap : array of shape (rows,)
        Distance from the eigenvalue to its nearest neighbour, in units of the raw score; the least over the members.
    repeated : array of shape (rows,)
        Whether the eigenvalue is repeated in some member. There the raw score has a kink, and slopes have no sign.
    influence : array of shape (rows, columns)
        ∂(raw score)/∂column, to the right at a knot and to the left at the last one; for a category, its level
        against the average level, to first order. NaN where the eigenvalue is repeated.
    influence_bound : array of shape (rows, columns)
        No slope is larger than this, to the right or to the left, up or down. For a single member it is the size of
        the influence, except at a knot, where the two slopes differ.
    attribution : array of shape (rows, columns)
        Shares of score − baseline_score, which they add up to. Where the eigenvalue stays repeated on the way, its
        eigenvectors share out evenly.
    baseline : str
        What the baseline is, in words.
    average : array of shape (rows,)
        What is predicted on average over the training rows; NaN where that is not known.
    error : array of shape (rows,)
        An estimate of how far an attribution, or their sum, may be off. There is a warning where it is more than a
        millionth of the target's spread (of 1 for log-odds and logarithms), or of the largest part, if that is larger.
    """

    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    output: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    prediction: Float64Array
    baseline_prediction: Float64Array
    score: Float64Array
    baseline_score: Float64Array
    gap: Float64Array
    repeated: NDArray[np.bool_]
    influence: Float64Array
    influence_bound: Float64Array
    attribution: Float64Array
    error: Float64Array
    baseline: str
    average: Float64Array
    _source: RowWork = field(repr=False)
    _like: Any = field(repr=False)  # the table, whose library results come in
    _target: KnownTarget = field(default=_UNKNOWN, repr=False)
    _labels: Labels = field(default=None, repr=False)  # of the rows

    @property
    def link(self) -> str:
        """How predictions come from raw scores: "identity", "log", "logit" or "softmax"."""
        return self._source.link.name

    @property
    def ends(self) -> tuple[float, ...]:
        """The numbers at which predictions end, where a range was requested of them."""
        own = self._source.link
        return () if own.is_free else (own.low, own.high, own.other.low, own.other.high)

    @property
    def link_words(self) -> str:
        """What raw scores are in, in brackets."""
        return self._source.link.short

    def amounts(self, row: int, unit: str = "") -> Amounts:
        """How the numbers of this row are written."""
        said = [self.prediction[row], self.baseline_prediction[row]]
        parts = [*self.attribution[row], self.score[row] - self.baseline_score[row]]
        return Amounts.of(self.link, parts, self._target.decimals, unit, said)

    def moved(self, row: int, amounts: Amounts) -> float:
        """How far the raw score is from that of the baseline: of plain numbers, as far as these are when printed."""
        said = float(self.prediction[row]), float(self.baseline_prediction[row])
        if self.link != "identity" or {*said} & {*self.ends} or amounts.decimals > MOST_PLACES:
            return float(self.score[row] - self.baseline_score[row])
        return round(said[0], amounts.decimals) - round(said[1], amounts.decimals)

    def __str__(self) -> str:
        rows = len(self)
        numbered = rows > 1 and self._labels is None  # otherwise why says which row it is
        shown = [f"Row {row}: {self.why(row)}" if numbered else self.why(row) for row in range(min(rows, _PRINTED))]
        more = [f"… and {rows - _PRINTED:,} more rows: why(row) explains each"] if rows > _PRINTED else []
        return "\n\n".join([*shown, *more]) if rows else "No rows to explain."

    def take(self, row: int) -> LocalExplanation:
        """The explanation of one row alone."""
        position = self._row(row)
        values = {name: getattr(self, name)[position : position + 1] for name in _BY_ROW}
        labels = None if self._labels is None else (self._labels[position],)
        return replace(self, **values, _source=self._source.take([position]), _labels=labels)

    def __len__(self) -> int:
        return len(self.score)

    def to_frame(self) -> Any:
        """One line for each row and column, in a frame of the library that X came from."""
        rows, n = len(self), len(self.columns)
        each = {"row": np.arange(rows), "output": self.output, "prediction": self.prediction, "score": self.score}
        each |= {"baseline_score": self.baseline_score, "gap": self.gap, "repeated": self.repeated}
        each |= {"error": self.error}
        table = {name: np.repeat(np.asarray(values), n) for name, values in each.items()}
        table |= {"column": np.tile(np.asarray(self.columns, object), rows), "cell": np.array(self.cells).ravel()}
        for name in ("attribution", "influence", "influence_bound"):
            table[name] = getattr(self, name).ravel()
        return make_frame(table, self._like)

    def what_if(self, column: str, between: Sequence[Any] | None = None) -> WhatIf:
        """Proven interval of every row's prediction while one column moves and all others stay.

        ``between`` holds the two ends of a range of numbers, or levels of a category; None is all of the training
        range, or every level, seen or unseen.
        """
        return replace(self._source.what_if(column, between), now=self.prediction, decimals=self._target.decimals)

    def game(self, row: int, member: int = 0) -> Game:
        """The paper's game at this row: max_C min_u {uᵀ A u : ‖u‖ = 1, C u = 0}, with the C and u that attain it."""
        return self._source.game(self._row(row), member)

    def why(
        self,
        row: int = 0,
        top: int = 8,
        *,
        label: Any = None,
        texts: Mapping[Any, Any] | None = None,
        units: Mapping[Any, str] | None = None,
        details: bool = False,
    ) -> str:
        """Say in words how this row's prediction came about: its ``top`` columns, and what all others do together.

        Parameters
        ----------
        row : int
            Position of the row, from 0.
        top : int
            Most columns to name.
        label
            The row by its label in the index of the table instead, such as 362.
        texts : mapping
            Column → words for readers who do not know the table, such as customers; "target" is what is predicted. All
            is then said without log-odds. A code beside a text, as ``reasons`` takes it, is not shown.
        units : mapping
            Column → unit that stands behind its numbers; "target" is what is predicted.
        details : bool
            Whether to add slopes, raw scores and whether the eigenvalue is simple.
        """
        position, most = self._row(row, label), check_int(top, "top", 1, 2**31)
        words = RowWords.read(self.columns, self._target.name, self.link, texts, units)
        return "\n".join(explanation_lines(self, position, most, words, details))

    def plot(self, row: int = 0, ax: Any = None, *, label: Any = None) -> Any:
        """A waterfall from the baseline to the row, which is given by its position, or its label in the index."""
        from lambdak.explain.plots import draw_waterfall

        return draw_waterfall(self, self._row(row, label), ax)

    @property
    def is_compared_with_the_middle(self) -> bool:
        """Whether the baseline is the one of medians and average levels."""
        return self.baseline != _GIVEN

    def row_name(self, row: int) -> str:
        """Which row this is, if several were explained and they have labels; otherwise nothing.

        The position is not what people mean by "row 362" where that is a label.
        """
        if self._labels is None or len(self) == 1:
            return ""
        return f"Row {row} (index {self._labels[row]})"

    def _row(self, row: int, label: Any = None) -> int:
        return row_position(row, label, self._labels, len(self))


def explain_local(
    model: Model,
    X: Any,
    baseline: Any = None,
    output: Any = None,
    target: KnownTarget = _UNKNOWN,
) -> LocalExplanation:
    """Explain the rows of X, a table, or one row as a mapping or a pandas Series; see :class:`LocalExplanation`.

    ``baseline`` is a table with one row, or one for each row of X; None has the median of each number, and
    the average level of each category. ``output`` is the label or position of a class, quantile or cut-point; None
    takes the class that is predicted, the second one of two, or the middle one of quantiles and cut-points.
    ``target`` is what is known of the target of training, for words.
    """
    table = given_table(model, X)
    source = RowWork.read(model, table, baseline, output)
    names = tuple(column.name for column in source.outputs[0].columns)
    kinds = tuple("number" if column.is_number else "category" for column in source.outputs[0].columns)
    parts = source.explain()
    _warn_of(parts["error"], parts.pop("allowed"))
    return LocalExplanation(
        columns=names,
        kinds=kinds,
        output=tuple(source.outputs[i].name for i in source.chosen),
        cells=_cells(model, table),
        baseline=_middles(kinds) if baseline is None else _GIVEN,
        average=_averages(model, source, target.average),
        _source=source,
        _like=X,
        _target=target,
        _labels=row_labels(X, table.shape[0]),
        **parts,
    )


def _middles(kinds: Sequence[str]) -> str:
    return " and ".join(words for kind, words in _MIDDLES.items() if kind in kinds)


def _averages(model: Model, source: RowWork, known: Sequence[float] | None) -> Float64Array:
    """Mean training predictions of the output explained, (rows,); of the other one of two classes 1 minus it."""
    if known is None:
        return np.full(len(source.chosen), np.nan)
    pairs = zip(known, source.outputs, readouts(model), strict=True)
    return np.array([average if one.name == other.name else 1 - average for average, one, other in pairs])[
        source.chosen
    ]


def _warn_of(error: Float64Array, most: Float64Array) -> None:
    """Name the rows whose attributions are not exact enough."""
    rows = np.flatnonzero(error > most)
    if rows.size:
        named = ", ".join(map(str, rows[:_SHOWN].tolist())) + (" and others" if rows.size > _SHOWN else "")
        warn_user(
            f"attributions of {rows.size} of {len(error)} rows (row {named}) may be off by up to {error.max():.2g}: on "
            "the way from the baseline eigenvalues come closer than rounding can tell; see `error`"
        )


def _cells(model: Model, table: Table) -> tuple[tuple[str, ...], ...]:
    pairs = zip(model.encoder.columns, model.encoder.positions(table), strict=True)
    return tuple(zip(*(_texts(column, table.cells(position)) for column, position in pairs), strict=True))


def _texts(column: Column, cells: Cells) -> Iterable[str]:
    return map(cell_text, cells.numbers()) if column.is_number else column.shown_cells(cells)
