"""Why rows are declined: the principal reasons, ranked, each with what would have been enough, proven."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak._checks import check_int
from lambdak._types import Float64Array
from lambdak.eigen.blas import single_threaded_blas
from lambdak.model import Model
from lambdak.model.readout import readouts
from lambdak.model.rows import column_named, given_table
from lambdak.optimize.changes.alternatives import Alternatives, alternatives, short_end
from lambdak.optimize.changes.declines import Decision, Reason, Reasons, ReasonTexts
from lambdak.optimize.changes.moves import Moving
from lambdak.optimize.changes.rows import model_of
from lambdak.optimize.changes.sweeps import Sweep, contributions, middle_approval
from lambdak.optimize.changes.targets import Approval, approval_of, by_output
from lambdak.table.design import Design
from lambdak.table.numeric_column import Numeric
from lambdak.table.read import Table
from lambdak.table.rows import optional_rows
from lambdak.table.visible import warn_user
from lambdak.table.whole_columns import Wholes, whole_columns

_NARROW = 0.1  # of the spread of a column: no one can aim at a narrower range
_UNDIRECTED = ("warn", "exclude", "name")
_ROWS_AT_ONCE, _CELLS_AT_ONCE = 1 << 11, 1 << 22  # so that memory stays bounded


def reasons(
    model: Any,
    rows: Any,
    threshold: float | None = None,
    top: int = 4,
    *,
    target: Any = None,
    texts: Mapping[Any, Any] | None = None,
    exclude: Sequence[Any] = (),
    immutable: Sequence[Any] = (),
    baseline: Any = None,
    output: Any = None,
    offset: ArrayLike | None = None,
    together: bool = True,
    whole: Wholes = None,
    undirected: str = "warn",
) -> Reasons:
    """The principal reasons of each declined row, and what would have been enough.

    A range that is narrow beside the spread of its column is nothing that a person can aim at, and comes last. Columns
    that are never named still count: ``unnamed`` is their share.

    A reason is a column that moves the row away from an approval, against the baseline, and that has another value
    which provably moves it closer. "Had it been 30 or less, the decision would have been approval" holds for every
    number of 30 or less with all other cells as they are, for what ``predict`` and ``predict_proba`` compute, rounding
    included. A monotone column only points the way in which it can help, and no number lies outside of its training
    range. The result for a row does not depend on the other rows, nor on threads.

    Parameters
    ----------
    model : fitted estimator or Model
    rows : table
    threshold : float, optional
        Of two classes: a row is approved if the probability of ``target`` is at least this; None takes the predicted
        class. Of a regression: the prediction from which on a row is approved.
    top : int
        Most reasons of a row.
    target
        The class that is an approval; (">=", class) of ordered classes; of a regression ">=" (default) or "<=", the
        side of the threshold that is an approval.
    texts : mapping
        Column → text of its reason, or (code, text).
    exclude : sequence of str
        Columns that are never named, beside the ``protected_features`` of the estimator.
    immutable : sequence of str
        Columns that are named, but without what they should have been, such as age.
    baseline : table, optional
        The row to compare with. Of several rows, the medians and most frequent levels of those that are approved; None
        takes the medians of the training rows and the average of the levels.
    output : quantile level, optional
        Which prediction of several.
    offset : array of shape (rows,), optional
        Added to the raw scores.
    together : bool
        Whether to look for a few columns that are enough together, where none is enough alone.
    whole : sequence of str, optional
        Columns of whole numbers, of which nothing else is said; None are those that held no others in training.
    undirected : {"warn", "exclude", "name"}
        What to do with columns of numbers without a promised direction, of which "too low" may surprise: name them and
        warn of it, never name them, or just name them.

    Examples
    --------
    >>> from lambdak import SpectralClassifier
    >>> X = [[debt, years] for debt in range(20) for years in range(20)]
    >>> y = ["yes" if years > debt + 3 else "no" for debt, years in X]
    >>> model = SpectralClassifier(effort="fast", random_state=0, monotonic_cst=[-1, 1]).fit(X, y)
    >>> found = reasons(model, [[9, 10], [2, 15]], target="yes", texts={"x0": ("R1", "Debt is too high")})
    >>> found[0].reasons[0].code, found[0].reasons[0].enough, found[1].approved
    ('R1', True, True)
    """
    frozen = model_of(model)
    approval = approval_of(frozen, target, threshold, output)
    request = _Request(
        frozen, approval, check_int(top, "top", 1, 1 << 20), ReasonTexts.read(frozen, texts),
        _names(frozen, exclude, "exclude"), _names(frozen, immutable, "immutable"),
        middle_approval(frozen, approval, baseline), bool(together),
        _names(frozen, whole_columns(frozen.encoder.columns, whole), "whole"),
    )  # fmt: skip
    free = frozenset(
        i for i, own in enumerate(frozen.encoder.columns) if own.is_number and not approval.side(frozen, i)
    )
    if undirected not in _UNDIRECTED:
        raise ValueError(f"undirected must be one of {', '.join(map(repr, _UNDIRECTED))}; got {undirected!r}")
    if undirected == "exclude":
        request = replace(request, excluded=request.excluded | free)
    table = given_table(frozen, rows)
    offsets = optional_rows(offset, table.shape[0], "offset")
    with single_threaded_blas():
        found = _Rows.of(request, table, offsets).decisions()
    if undirected == "warn":
        _warn_of(found, {frozen.encoder.columns[i].name for i in free})
    return Reasons(tuple(found), approval.what, approval.rises, approval.goal.words, rows)


class DirectionWarning(UserWarning):
    """Reasons name columns of which nothing was promised about the direction."""


def _warn_of(found: Sequence[Decision], free: Collection[str]) -> None:
    """Warn of reasons that say too low, or too high, where nothing was promised about the direction."""
    named = dict.fromkeys(reason.column for one in found for reason in one.reasons if reason.column in free)
    if named:
        first = next(iter(named))
        warn_user(
            f"reasons name columns without a promised direction, {', '.join(map(repr, named))}: that one of them is "
            f"too low, or too high, may surprise its reader. Fit with monotonic_cst={{{first!r}: 1}} (or -1), or "
            "decide with undirected='exclude', which never names them, or undirected='name'",
            DirectionWarning,
        )


def _names(model: Model, columns: Any, what: str) -> frozenset[int]:
    listed = [columns] if isinstance(columns, str | int) else list(columns)
    try:
        return frozenset(column_named(model, name) for name in listed)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None


@final
@dataclass(frozen=True, eq=False)
class _Request:
    """What a user asks for."""

    model: Model
    approval: Approval
    top: int
    texts: ReasonTexts
    excluded: frozenset[int]
    immutable: frozenset[int]
    baseline: Any
    together: bool
    whole: frozenset[int]


@final
@dataclass(frozen=True, eq=False)
class _Rows:
    """All rows of a table."""

    request: _Request
    table: Table
    design: Design
    raw: Float64Array  # (rows, outputs)
    offset: Float64Array
    cells: tuple[Any, ...]  # of each column: numbers, or codes and levels

    @classmethod
    def of(cls, request: _Request, table: Table, offset: Any) -> _Rows:
        model = request.model
        design = model.encoder.transform(table, np.float64)
        raw = by_output(model.scores(design, offset))
        pairs = zip(model.encoder.columns, map(table.cells, model.encoder.positions(table)), strict=True)
        cells = tuple(cells_of.numbers() if column.is_number else cells_of.levels() for column, cells_of in pairs)
        added = np.zeros(len(design)) if offset is None else np.asarray(offset, np.float64)
        return cls(request, table, design, raw, added, cells)

    def decisions(self) -> list[Decision]:
        approval, model = self.request.approval, self.request.model
        approved = approval.reached(self.raw)
        now = [None if np.isnan(measure) else measure for measure in approval.measured(model, self.raw).tolist()]
        found = [Decision(i, bool(positive), now[i]) for i, positive in enumerate(approved.tolist())]
        declined = np.flatnonzero(~approved)
        widest = max(column.width for column in model.encoder.columns)
        step = max(1, min(_ROWS_AT_ONCE, _CELLS_AT_ONCE // widest))
        for first in range(0, len(declined), step):
            for decision in _Declined.of(self, declined[first : first + step]).decisions(now):
                found[decision.row] = decision
        return found

    def cell(self, row: int, i: int) -> Any:
        """A cell of the table: a float or a level, None where it is missing."""
        if self.request.model.encoder.columns[i].is_number:
            value = float(self.cells[i][row])
            return None if np.isnan(value) else value
        codes, levels = self.cells[i]
        return levels[codes[row]]


@final
@dataclass(frozen=True, eq=False)
class _Declined:
    """Some declined rows: what each column adds, and what it could do."""

    all: _Rows
    rows: NDArray[np.intp]
    against: Float64Array  # (rows, columns)
    gain: Float64Array  # the same; −∞ where it was not looked at
    found: dict[int, tuple[NDArray[np.intp], Alternatives, tuple[Any, ...]]]

    @classmethod
    def of(cls, every: _Rows, rows: NDArray[np.intp]) -> _Declined:
        request, raw = every.request, every.raw[rows]
        model = request.model
        against = contributions(model, request.approval, every.table, rows, raw, request.baseline)
        named = np.array([i not in request.excluded for i in range(against.shape[1])])
        looked = (against > 0) & named
        looked[~looked.any(axis=1)] = named  # all may be as good as the baseline: then what helps most counts
        gain, found = np.full(against.shape, -np.inf), {}
        outputs = readouts(model)
        for i in np.flatnonzero(looked.any(axis=0)).tolist():
            some = np.flatnonzero(looked[:, i])
            design, offset = every.design.take(rows[some]), every.offset[rows[some]]
            sweep = Sweep.of(request.approval, outputs, design, offset, i, i in request.whole)
            column = model.encoder.columns[i]
            x = np.asarray(every.cells[i][rows[some]], np.float64) if column.is_number else np.zeros(len(some))
            now = request.approval.excess(raw[some]) + sweep.rounding.sum(axis=0)
            tried = alternatives(sweep, x, now, request.approval.side(model, i))
            gain[some, i], place = tried.gain, np.full(len(rows), -1)
            place[some] = np.arange(len(some))
            found[i] = (place, tried, sweep.levels)
        return cls(every, rows, against, gain, found)

    def decisions(self, now: Sequence[float | None]) -> Iterator[Decision]:
        request = self.all.request
        ranked = [self._ranked(k) for k in range(len(self.rows))]
        reasons = [tuple(self._reasons(k, order)) for k, order in enumerate(ranked)]
        alone = np.array([any(reason.enough for reason in some) for some in reasons], bool)
        joint = self._together(np.flatnonzero(~alone)) if request.together else {}
        excluded = sorted(request.excluded)
        for k, row in enumerate(self.rows.tolist()):
            positive = np.maximum(self.against[k], 0.0)
            share = float(positive[excluded].sum() / positive.sum()) if positive.any() else 0.0
            compared = "the baseline" if self._worse(k).any() else "the best value of each column"
            yield Decision(row, False, now[row], reasons[k], joint.get(k, {}), compared, share)

    def _worse(self, k: int) -> NDArray[np.bool_]:
        """The columns that speak against a row."""
        return np.asarray((self.against[k] > 0) & (self.gain[k] > 0))

    def _ranked(self, k: int) -> list[int]:
        """Columns in the order of what they add; if none adds anything, of what they could gain; narrow ranges last."""
        worse = self._worse(k)
        key = self.against[k] if worse.any() else self.gain[k]
        usable = worse if worse.any() else self.gain[k] > 0
        order = np.lexsort((-key, [self._is_narrow(k, i) for i in range(len(key))]))
        return [int(i) for i in order if usable[i]][: self.all.request.top]

    def _is_narrow(self, k: int, i: int) -> bool:
        """Whether what a column should have been is a range that is narrow beside its spread."""
        place, own, levels = self.found.get(i, (None, None, ()))
        if place is None or own is None or levels or place[k] < 0 or i in self.all.request.immutable:
            return False
        width = float(own.high[place[k]] - own.low[place[k]]) + (i in self.all.request.whole)
        return width < _NARROW * self.all.request.model.encoder.columns[i].spread

    def _reasons(self, k: int, order: Sequence[int]) -> Iterator[Reason]:
        for rank, i in enumerate(order, 1):
            yield self._reason(k, rank, i)

    def _reason(self, k: int, rank: int, i: int) -> Reason:
        request, row = self.all.request, int(self.rows[k])
        column, value = request.model.encoder.columns[i], self.all.cell(row, i)
        place, own, levels = self.found[i]
        at = int(place[k])
        low, high = self._range(own, at, value, i)
        code, text = request.texts.of(column.name, value, low, high)
        changes = i not in request.immutable
        least, most = (part[:, [at]] for part in own.scores)
        then = float(request.approval.bounds(request.model, least, most, own.enough[[at]])[0])
        return Reason(
            row=row,
            rank=rank,
            column=column.name,
            code=code,
            text=text,
            value=value,
            low=low if changes and not levels else None,
            high=high if changes and not levels else None,
            levels=tuple(compress(levels, own.levels[at].tolist())) if changes else (),
            enough=bool(own.enough[at]) and changes,
            never_enough=bool(own.never[at]),
            then=None if np.isnan(then) or not changes else then,
            contribution=float(self.against[k, i]),
        )

    def _range(self, own: Alternatives, at: int, value: Any, i: int) -> tuple[float, float]:
        """The ends of a range, both with few digits, but never outside of the training range."""
        low, high, column = float(own.low[at]), float(own.high[at]), self.all.request.model.encoder.columns[i]
        if value is None or not isinstance(column, Numeric):
            return low, high
        if column.two_values is not None:  # the one of them that is in the range
            inside = [one for one in column.two_values if low <= one <= high]
            low, high = (inside[0], inside[0]) if len(inside) == 1 else (low, high)
        whole = i in self.all.request.whole
        if low > value:
            near = short_end(low, min(high, column.high), value, whole)
            return near, short_end(high, near, math.nan, whole)
        near = short_end(high, max(low, column.low), value, whole)
        return short_end(low, near, math.nan, whole), near

    def _together(self, some: NDArray[np.intp]) -> dict[int, dict[str, Any]]:
        """Cells by column name with which rows that no column alone helps are approved."""
        request, columns = self.all.request, self.all.request.model.encoder.columns
        rows, best = self.rows[some], np.full((len(some), len(columns)), np.nan)
        start = np.full(best.shape, np.nan)
        levels = [self.found[i][2] if i in self.found else () for i in range(len(columns))]
        for i, (place, own, _) in self.found.items():
            here = place[some]
            best[:, i] = np.where(here >= 0, own.best[here], np.nan) if i not in request.immutable else np.nan
            if columns[i].is_number:
                start[:, i] = self.all.cells[i][rows]
        moving = Moving(
            request.model, request.approval, self.all.design.take(rows), self.all.offset[rows], best, self.gain[some],
            start, levels, np.isin(np.arange(len(columns)), list(request.whole)),
        )  # fmt: skip
        found = moving.together() if len(some) else []
        return {
            int(k): {columns[i].name: levels[i][round(x)] if levels[i] else x for i, x in own.items()}
            for k, own in zip(some, found, strict=True)
        }
