"""How a model does on rows that it has not seen: metrics with intervals, lift, Lorenz curve, actual and expected."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from lambdak._checks import check_int
from lambdak.eigen.lazy import cached_property
from lambdak.governance.performance.bands import BANDS, MOST_BANDS, quantile_codes
from lambdak.governance.performance.bootstrap import CONFIDENCE, RESAMPLES, Resampling
from lambdak.governance.performance.columns import Columns, Split
from lambdak.governance.performance.lorenz import Lorenz, Roc, lorenz_curve, refuse_lorenz, roc_curve
from lambdak.governance.performance.measures import Measures
from lambdak.governance.performance.scored import ScoredRows, score_rows
from lambdak.governance.performance.segments import Segments, segments
from lambdak.model import Model
from lambdak.model.metrics import Estimate
from lambdak.table.frames import make_frame
from lambdak.table.shown import Shown

PLOTS = ("lift", "calibration", "lorenz", "roc")


@final
@dataclass(frozen=True, eq=False, repr=False)
class Performance(Shown):
    """How a model does on given rows; what is needed is computed when it is asked for, and nothing changes.

    Attributes
    ----------
    task : {"numbers", "class", "coverage"}
        What is compared: means; a class with its probability; how often the target is at most a quantile, or between
        two.
    rows : int
        Rows that count: those of positive exposure and weight.
    exposure, actual, expected : float
        Totals.
    resampling : Resampling
        How confidence intervals are computed.
    """

    scored: ScoredRows = field(repr=False)
    columns: Columns = field(repr=False)
    resampling: Resampling

    @property
    def task(self) -> str:
        """What is compared."""
        return self.scored.outcome.task

    @property
    def rows(self) -> int:
        """Rows that count."""
        return len(self.scored)

    @property
    def exposure(self) -> float:
        """Total exposure."""
        return float(self.scored.exposure.sum())

    @property
    def actual(self) -> float:
        """Total of what was observed."""
        return float(self.scored.actual.sum())

    @property
    def expected(self) -> float:
        """Total of what was expected."""
        return float(self.scored.expected.sum())

    @cached_property
    def _measures(self) -> Measures:
        return Measures(self.scored)

    @cached_property
    def metrics(self) -> tuple[Estimate, ...]:
        """Metrics with confidence intervals; the first call takes the time of all resamples."""
        found = self.resampling.intervals(self._measures)
        known = zip(self._measures.known, found.tolist(), strict=True)
        return tuple(Estimate(metric.name, value, low, high, metric.meaning) for metric, (value, low, high) in known)

    def __getitem__(self, name: str) -> Estimate:
        """The metric of this name."""
        for metric in self.metrics:
            if metric.name == name:
                return metric
        raise KeyError(f"metric must be one of {[metric.name for metric in self.metrics]}; got {name!r}")

    def to_frame(self) -> Any:
        """One line per metric, in a frame of the library that X came from."""
        names = ("metric", "value", "low", "high", "meaning")
        return make_frame(dict(zip(names, map(list, zip(*self.metrics, strict=True)), strict=True)), self.columns.X)

    def __str__(self) -> str:
        words = self.scored.words
        head = f"{self.rows:,} rows, {words.rate}"
        lines = [f"  {each}: {each.meaning}" for each in self.metrics]
        return "\n".join([head, *lines, self.resampling.words])

    def lift(self, bands: int = BANDS) -> Segments:
        """Rows in the order of predictions, in bands of about the same exposure; equal predictions share a band."""
        codes = quantile_codes(self.scored.predicted, self.scored.exposure, check_int(bands, "bands", 1, MOST_BANDS))
        names = tuple(map(str, range(1, bands + 1)))
        return self._segments(Split("predictions", "predictions", names, codes))

    def calibration(self, bands: int = BANDS) -> Calibration:
        """Whether predictions are as high as what was observed, bin by bin."""
        return Calibration(self.lift(bands))

    def lorenz(self) -> Lorenz:
        """The Lorenz curve of what was observed in the order of predictions, with Gini."""
        if self.task == "coverage":
            raise ValueError("a quantile has no Lorenz curve: read lift and by, which show how often it holds")
        refuse_lorenz(self.scored.actual, self.scored.words.rate)
        labels = (self.scored.words.exposure, self.scored.words.total)
        return lorenz_curve(self._measures.ranking, self._measures.perfect, labels, self.columns.X)

    def roc(self) -> Roc:
        """The ROC curve of the probability of a class, with AUC and KS."""
        if self.task != "class":
            raise ValueError("a ROC curve needs a classifier; of numbers, lorenz shows how well rows are ordered")
        return roc_curve(self.scored.predicted, self._measures.ranking, self.scored.words.rate, self.columns.X)

    def by(self, column: Any, *, bands: int = BANDS) -> Segments:
        """Actual against expected by the levels or bands of a column.

        ``column`` is the name of a column of X, also of one that the model does not use, or an array with one entry per
        row. Missing cells are a segment of their own; dates become periods.
        """
        return self._segments(self.columns.split(column, bands))

    def by_time(self, time: Any, *, period: str = "auto") -> Segments:
        """Actual against expected by day, month, quarter or year, of a column of X or of an array of dates.

        Numbers and other text count as periods themselves, such as 2023 or "2023/24".
        """
        return self._segments(self.columns.split_time(time, period))

    def _segments(self, split: Split) -> Segments:
        about = self.scored.words.rate if split.kind == "predictions" else split.about
        return segments(
            self.scored, split.codes, split.names, about, split.kind, self.resampling.confidence, like=self.columns.X
        )

    def plot(self, what: str = "lift", ax: Any = None) -> Any:
        """Draw "lift", "calibration", "lorenz", "roc", or actual against expected by a column; returns the Axes."""
        if what in PLOTS and what not in self.columns.names:
            return getattr(self, what)().plot(ax)
        return self.by(what).plot(ax)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Shown):
    """Predicted against observed in bands of predictions.

    Attributes
    ----------
    bands : Segments
        From the lowest predictions to the highest.
    """

    bands: Segments

    @property
    def balance(self) -> float:
        """What was observed over what was expected, in total."""
        return float(self.bands.actual.sum() / self.bands.expected.sum())

    @property
    def slope(self) -> float:
        """Slope of the line through the bands, by exposure: 1 is right, less says that predictions are too far apart.

        NaN if all predictions are equal.
        """
        x, y, weight = self.bands.predicted, self.bands.observed, self.bands.exposure
        x = x - np.average(x, weights=weight)
        spread = float(weight @ (x * x))
        return float(weight @ (x * y)) / spread if len(x) > 1 and spread > 0 else np.nan

    def __str__(self) -> str:
        return f"actual / expected {self.balance:.4g}, slope {self.slope:.4g}\n{self.bands}"

    @property
    def error(self) -> float:
        """Mean absolute difference between observed and predicted of the bands, by exposure."""
        return float(np.average(np.abs(self.bands.observed - self.bands.predicted), weights=self.bands.exposure))

    def to_frame(self) -> Any:
        """One line per bin."""
        return self.bands.to_frame()

    def plot(self, ax: Any = None) -> Any:
        """Observed against predicted with intervals, and the diagonal; returns the Axes."""
        from lambdak.governance.performance.plots import draw_calibration

        return draw_calibration(self, ax)


def performance(
    model: Model,
    X: Any,
    y: ArrayLike,
    *,
    exposure: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    output: Any = None,
    groups: ArrayLike | None = None,
    n_resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
    random_state: int = 0,
) -> Performance:
    """How a model does on the rows of X; see :class:`Performance`.

    Parameters
    ----------
    model
        The ``model_`` of a fitted estimator.
    X, y
        Rows that the fit did not see, and what was observed. With ``exposure``, y are totals, such as claims or
        amounts.
    exposure
        Years, claims, or whatever the model predicts per unit of: y / exposure is compared with ``predict(X)``. Do not
        give its logarithm as ``offset`` as well. Of classes and quantiles it weighs the rows.
    sample_weight
        How much each row counts; y is then what the model predicts, without division.
    offset
        As in ``predict``.
    output
        Label or position of a class, which is compared with all others together, or of a quantile level. None is the
        second one of two classes, and the interval between the outer quantiles of several.
    groups
        Rows with the same entry, such as a policy's number, are resampled together.
    n_resamples, confidence, random_state
        Of the confidence intervals; 0 resamples give none.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lambdak import SpectralRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = SpectralRegressor(effort="fast", random_state=0).fit(X[:300], y[:300])
    >>> found = model.performance(X[300:], y[300:], n_resamples=50)
    >>> found["Gini"].low < found["Gini"].value < found["Gini"].high
    True
    >>> bool(found.lift(5).actual.sum() == y[300:].sum())
    True
    """
    scored = score_rows(model, X, y, exposure, sample_weight, offset, output, groups)
    columns = Columns(model.encoder, X, scored.rows, scored.exposure, scored.table_rows)
    return Performance(scored, columns, Resampling(len(scored), scored.groups, n_resamples, confidence, random_state))
