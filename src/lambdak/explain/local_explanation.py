"""Why single rows are predicted as they are: slopes, attributions that add up, proven what-if intervals."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import check_int
from lambdak.explain.rows import RowWork
from lambdak.explain.what_if import WhatIf
from lambdak.model import Model
from lambdak.model.outward import downwards, upwards
from lambdak.model.readout import dense_rows
from lambdak.pencil.spectrum import Float64Array
from lambdak.pencil.variational import Game
from lambdak.table.category_levels import shown
from lambdak.table.frames import make_frame
from lambdak.table.read import Table, read_table
from lambdak.table.visible import visible

_SHOWN = 4  # columns that are named in words


@dataclass(frozen=True, eq=False)
class LocalExplanation:
    """One row after the other, in units of the raw score (log-odds, logarithms, or those of the target).

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
    _source: RowWork = field(repr=False)
    _like: Any = field(repr=False)  # the table, whose library results come in

    @property
    def link(self) -> str:
        """How predictions come from raw scores: "identity", "log", "logit" or "softmax"."""
        return self._source.link.name

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
        return self._source.what_if(column, between)

    def game(self, row: int, member: int = 0) -> Game:
        """The paper's game at this row: max_C min_u {uᵀ A u : ‖u‖ = 1, C u = 0}, with the C and u that attain it."""
        return self._source.game(self._row(row), member)

    def why(self, row: int = 0) -> str:
        """Say in words how this row's prediction came about."""
        return "\n".join(_words(self, self._row(row)))

    def plot(self, row: int = 0, ax: Any = None) -> Any:
        """A waterfall from the raw score of the baseline to that of the row."""
        from lambdak.explain.plots import draw_waterfall

        return draw_waterfall(self, self._row(row), ax)

    def _row(self, row: int) -> int:
        return check_int(row, "row", 0, len(self))


def explain_local(model: Model, X: Any, baseline: Any = None, output: int | None = None) -> LocalExplanation:
    """Explain the rows of X; see :class:`LocalExplanation`.

    ``baseline`` is a table with one row, or one for each row of X; None is the typical row: the medians of numbers, and
    the average of a category's levels. ``output`` is the position of a class, quantile or cut-point; None takes the
    class that is predicted, or the middle one of quantiles and cut-points.
    """
    table = read_table(dense_rows(X))
    source = RowWork.read(model, table, baseline, output)
    names = tuple(column.name for column in source.outputs[0].columns)
    parts = source.explain()
    _warn_of(parts["error"], parts.pop("allowed"))
    return LocalExplanation(
        columns=names,
        kinds=tuple("number" if column.is_number else "category" for column in source.outputs[0].columns),
        output=tuple(source.outputs[i].name for i in source.chosen),
        cells=_cells(model, table),
        _source=source,
        _like=X,
        **parts,
    )


def _warn_of(error: Float64Array, most: Float64Array) -> None:
    """Name the rows whose attributions are not exact enough."""
    rows = np.flatnonzero(error > most)
    if rows.size:
        named = ", ".join(map(str, rows[:_SHOWN].tolist())) + (" and others" if rows.size > _SHOWN else "")
        warnings.warn(
            f"attributions of {rows.size} of {len(error)} rows (row {named}) may be off by up to {error.max():.2g}: on "
            "the way from the baseline eigenvalues come closer than rounding can tell; see `error`",
            stacklevel=4,
        )


def _cells(model: Model, table: Table) -> tuple[tuple[str, ...], ...]:
    pairs = zip(model.encoder.columns, model.encoder.positions(table), strict=True)
    return tuple(zip(*(column.shown_cells(table.cells(position)) for column, position in pairs), strict=True))


def _words(local: LocalExplanation, row: int) -> list[str]:
    """Lines about one row: what moved its raw score from the baseline, and how certain that is."""
    score, base = local.score[row], local.baseline_score[row]
    prediction, usual = local.prediction[row], local.baseline_prediction[row]
    of = "" if local.output[row] == "prediction" else f" of {local.output[row]}"
    lines = [
        f"The prediction{of} is {prediction:.4g}; that of the baseline is {usual:.4g}.",
        f"Raw score{local._source.link.short} {score:.4g} = {base:.4g} (baseline) {score - base:+.4g}, the sum of:",
    ]
    order = np.argsort(-np.abs(local.attribution[row]))
    for i in order[:_SHOWN]:
        what = f"{local.columns[i]} = {local.cells[row][i]}{_slope(local, row, i)}"
        lines.append(f"  {local.attribution[row, i]:+.4g}  {what}")
    if len(order) > _SHOWN:
        lines.append(f"  {local.attribution[row, order[_SHOWN:]].sum():+.4g}  the other {len(order) - _SHOWN} columns")
    what_if = local._source.take([row]).what_if(local.columns[order[0]], None)
    within = f"[{downwards(what_if.lower[0])}, {upwards(what_if.upper[0])}]"
    words = _range_words(what_if, local.kinds[order[0]] == "category")
    lines.append(f"Proven: {words}, all else as it is, the prediction{of} stays within {within}.")
    if local.repeated[row]:
        lines.append("The model may have a kink at this row: slopes have a proven bound but no sign.")
    else:
        lines.append(
            f"Slopes have a sign at this row (gap {local.gap[row]:.3g}), each up to the next knot of its column."
        )
    return [*map(visible, lines)]


def _slope(local: LocalExplanation, row: int, i: int) -> str:
    influence, bound = local.influence[row, i], local.influence_bound[row, i]
    if local.kinds[i] == "category":
        return ""
    return f" (slope within ±{bound:.3g})" if np.isnan(influence) else f" (slope {influence:+.3g})"


def _range_words(what_if: WhatIf, category: bool) -> str:
    if category:
        return f"whatever {what_if.column} is"
    return f"with {what_if.column} anywhere between {shown(what_if.between[0])} and {shown(what_if.between[1])}"
