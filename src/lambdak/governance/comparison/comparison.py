"""Two models, or a model and a current tariff, on the same rows: double lift, paired differences, changes of rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak._checks import check_int
from lambdak._types import Float64Array
from lambdak.eigen.lazy import cached_property
from lambdak.governance.comparison.rate_change import (
    LIMITS,
    Changes,
    RateChange,
    SegmentChange,
    rate_change,
    segment_change,
)
from lambdak.governance.comparison.rival import check_predictions, rescored, rival_predictions
from lambdak.governance.performance.bands import BANDS, MOST_BANDS, quantile_codes
from lambdak.governance.performance.bootstrap import CONFIDENCE, RESAMPLES, Resampling
from lambdak.governance.performance.columns import Columns, Split
from lambdak.governance.performance.measures import Measures
from lambdak.governance.performance.outcome import prediction_of
from lambdak.governance.performance.scored import ScoredRows, check_exposed, exposure_word, score_rows
from lambdak.governance.performance.segments import Segments, segments
from lambdak.model import Model
from lambdak.model.metrics import Metric
from lambdak.table.frames import make_frame
from lambdak.table.rows import read_rows
from lambdak.table.shown import Shown, fields_text, result_html
from lambdak.table.visible import visible

NAMES = ("model", "other")
_ROUNDING = 1e-12  # of a metric: a smaller difference is none


class Difference(NamedTuple):
    """A metric of both sides, and the confidence interval of its difference, over the same resamples of rows."""

    name: str
    model: float
    other: float
    difference: float
    low: float
    high: float
    better: str  # which side is, where the interval leaves no doubt
    meaning: str

    def __str__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return result_html(self)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Shown):
    """A model and what it is compared with, on the same rows.

    Attributes
    ----------
    names : tuple of str
        What the model and the other side are called.
    exposure, model, other : arrays of shape (n,)
        Of the rows that count; predictions are per unit of exposure, after ``rebase``.
    rebased : tuple of float
        By what predictions of both sides were multiplied.
    """

    names: tuple[str, str]
    exposure: Float64Array = field(repr=False)
    model: Float64Array = field(repr=False)
    other: Float64Array = field(repr=False)
    rebased: tuple[float, float]
    resampling: Resampling
    columns: Columns = field(repr=False)
    _scored: tuple[ScoredRows, ScoredRows] | None = field(repr=False)
    _unit: str = field(repr=False)

    @property
    def off_balance(self) -> float:
        """Total of the model over that of the other side."""
        return float((self.model @ self.exposure) / (self.other @ self.exposure))

    def _observed(self) -> tuple[ScoredRows, ScoredRows]:
        if self._scored is None:
            raise ValueError("this needs what was observed: call compare(other, X, y)")
        return self._scored

    @cached_property
    def metrics(self) -> tuple[Difference, ...]:
        """Metrics of both sides with intervals of their differences; the first call takes the time of all resamples."""
        first, second = (Measures(scored) for scored in self._observed())
        found = self.resampling.intervals(lambda counts: first(counts) - second(counts))
        sides = zip(first.known, first().tolist(), second().tolist(), found.tolist(), strict=True)
        return tuple(self._difference(metric, a, b, interval) for metric, a, b, interval in sides)

    def _difference(self, metric: Metric, model: float, other: float, interval: Sequence[float]) -> Difference:
        gap, low, high = interval
        better = self._better(metric.better, low, high, abs(model) + abs(other))
        return Difference(metric.name, model, other, gap, low, high, better, metric.meaning)

    def _better(self, direction: int, low: float, high: float, size: float) -> str:
        worst, best = sorted((direction * low, direction * high))
        least = _ROUNDING * size
        return self.names[0] if worst > least else self.names[1] if best < -least else ""

    def __getitem__(self, name: str) -> Difference:
        """The metric of this name."""
        for metric in self.metrics:
            if metric.name == name:
                return metric
        raise KeyError(f"metric must be one of {[metric.name for metric in self.metrics]}; got {name!r}")

    def to_frame(self) -> Any:
        """One line per metric, in a frame of the library that X came from."""
        names = ("metric", "model", "other", "difference", "low", "high", "better", "meaning")
        return make_frame(dict(zip(names, map(list, zip(*self.metrics, strict=True)), strict=True)), self.columns.X)

    def __str__(self) -> str:
        first, second = self.names
        lines = [f"{first} against {second}, {len(self.exposure):,} rows: off-balance factor {self.off_balance:.4f}"]
        if self._scored is None:
            return lines[0]
        for metric in self.metrics:
            interval = "" if np.isnan(metric.low) else f" [{metric.low:+.3g}, {metric.high:+.3g}]"
            better = f": {metric.better} is better" if metric.better else ""
            lines.append(
                f"  {metric.name} {metric.model:.4g} and {metric.other:.4g}, {metric.difference:+.3g}{interval}{better}"
            )
        return "\n".join([*lines, self.resampling.words])

    def double_lift(self, bands: int = BANDS) -> Segments:
        """Rows in the order of model / other, in bands of about the same exposure: observed follows the better one.

        Where a prediction is not positive, rows are in the order of model − other.
        """
        positive = bool((self.model > 0).all() and (self.other > 0).all())
        score = self.model / self.other if positive else self.model - self.other
        codes = quantile_codes(score, self.exposure, check_int(bands, "bands", 1, MOST_BANDS))
        names = tuple(map(str, range(1, bands + 1)))
        return self._segments(Split("ratio" if positive else "difference", "predictions", names, codes))

    def by(self, column: Any, *, bands: int = BANDS) -> Segments:
        """What was observed and what both sides expect, by the levels or bands of a column; see Performance.by."""
        return self._segments(self.columns.split(column, bands))

    def by_time(self, time: Any, *, period: str = "auto") -> Segments:
        """What was observed and what both sides expect, by day, month, quarter or year."""
        return self._segments(self.columns.split_time(time, period))

    def _segments(self, split: Split) -> Segments:
        scored, rival = self._observed()
        return segments(
            scored, split.codes, split.names, split.about, split.kind, self.resampling.confidence, rival.expected,
            self.names, self.columns.X,
        )  # fmt: skip

    def changes(self, limits: Sequence[float] = LIMITS) -> RateChange:
        """How many rows would pay how much more or less than with the other side."""
        return rate_change(self._changes, limits, self.names, self._unit, self.columns.X)

    def changes_by(self, column: Any, *, bands: int = BANDS) -> SegmentChange:
        """How much more or less rows would pay than with the other side, by the levels or bands of a column."""
        return segment_change(self._changes, self.columns.split(column, bands), self.names, self._unit, self.columns.X)

    @cached_property
    def _changes(self) -> Changes:
        for name, prices in zip(self.names, (self.model, self.other), strict=True):
            if (prices <= 0).any():
                at = int(np.argmax(prices <= 0))
                raise ValueError(
                    f"a change in per cent needs positive predictions; {name} has {prices[at]:g} at row "
                    f"{self.columns.counted[at]}: drop such rows, or read double_lift, which takes differences"
                )
        return Changes(self.exposure, self.other, self.model)

    def plot(self, what: str = "double_lift", ax: Any = None) -> Any:
        """Draw "double_lift", "changes", or changes by a column; returns the Axes."""
        if what in ("double_lift", "changes") and what not in self.columns.names:
            return getattr(self, what)().plot(ax)
        return self.changes_by(what).plot(ax)


def compare(
    model: Model,
    other: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    exposure: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    output: Any = None,
    groups: ArrayLike | None = None,
    rebase: bool = False,
    names: Sequence[str] = NAMES,
    n_resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
    random_state: int = 0,
) -> Comparison:
    """Compare a model with another one, or with a current tariff; see :class:`Comparison`.

    Parameters
    ----------
    model
        The ``model_`` of a fitted estimator.
    other
        Another fitted model, of this or any library with ``predict``; or what it predicts, or what is charged now, per
        unit of exposure: an array, a number for all rows, or the name of a column of X.
    X, y, exposure, sample_weight, offset, output, groups
        As in :func:`lambdak.governance.performance.performance`. Without y, only changes can be read.
    rebase
        Whether to multiply predictions of both sides so that their totals are what was observed, or without y those of
        the model so that its total is that of the other side: premiums with loadings can then be compared with claims.
    names
        What the model and the other side are called.
    n_resamples, confidence, random_state
        Of the confidence intervals of differences: both sides are computed on the same resamples.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from lambdak import SpectralRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = SpectralRegressor(effort="fast", random_state=0).fit(X[:300], y[:300])
    >>> found = model.compare(LinearRegression().fit(X[:300], y[:300]), X[300:], y[300:], n_resamples=50)
    >>> len(found.double_lift(5)), found["RMSE"].low < found["RMSE"].difference < found["RMSE"].high
    (5, True)
    """
    ours = _Side.of(model, X, y, exposure, sample_weight, offset, output, groups)
    columns = Columns(model.encoder, X, ours.rows, ours.exposure, ours.table_rows)
    theirs = rival_predictions(model, other, columns, offset, output)[ours.rows]
    called = _checked_names(names)
    for name, predicted in zip(called, (ours.predicted, theirs), strict=True):
        check_predictions(predicted, ours.rows, name)
    factors = _factors(ours, theirs) if rebase else (1.0, 1.0)
    both = (ours.predicted * factors[0], theirs * factors[1])
    scored = None
    if ours.scored is not None:
        scored = (
            rescored(ours.scored, model, both[0], called[0]) if rebase else ours.scored,
            rescored(ours.scored, model, both[1], called[1]),
        )
    together = None if ours.scored is None else ours.scored.groups
    resampling = Resampling(len(ours.rows), together, n_resamples, confidence, random_state)
    unit = exposure_word(exposure, sample_weight)
    return Comparison(called, ours.exposure, *both, factors, resampling, columns, scored, unit)


@final
@dataclass(frozen=True, eq=False)
class _Side:
    """Predictions of the model in rows that count, with what was observed, if that is known."""

    rows: NDArray[np.intp]
    exposure: Float64Array
    predicted: Float64Array
    table_rows: int
    scored: ScoredRows | None

    @classmethod
    def of(
        cls, model: Model, X: Any, y: Any, exposure: Any, weight: Any, offset: Any, output: Any, groups: Any
    ) -> _Side:
        """Predict a table."""
        if y is not None:
            scored = score_rows(model, X, y, exposure, weight, offset, output, groups)
            return cls(scored.rows, scored.exposure, scored.predicted, scored.table_rows, scored)
        given = read_rows(X, None, weight, offset, exposure, keep=False)
        predicted = prediction_of(model, model.raw(given.X, given.offset), output)
        check_exposed(given)
        counted = given.counted()
        return cls(counted, given.mass[counted], predicted[counted], len(predicted), None)


def _factors(ours: _Side, theirs: Float64Array) -> tuple[float, float]:
    """What makes the totals of both sides equal: what was observed, or that of the other side."""
    totals = float(ours.predicted @ ours.exposure), float(theirs @ ours.exposure)
    wanted = totals[1] if ours.scored is None else float(ours.scored.actual.sum())
    if min(*totals, wanted) <= 0:
        raise ValueError(f"rebase needs positive totals; got {totals[0]:g} and {totals[1]:g}, and {wanted:g} to reach")
    return wanted / totals[0], wanted / totals[1]


def _checked_names(names: Sequence[str]) -> tuple[str, str]:
    found = tuple(map(str, names))
    if isinstance(names, str) or len(found) != 2 or found[0] == found[1]:
        raise ValueError(f"names must be two different ones, such as ('new', 'current'); got {names!r}")
    return visible(found[0]), visible(found[1])
