"""How a model does on rows: metrics with intervals, calibration of all that it predicts, and its weakest segments."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lambdak.eigen.lazy import cached_property
from lambdak.governance.performance import Estimate, Performance, Resampling, Segments, performance
from lambdak.model import Model
from lambdak.model.metrics import class_codes, raw_metrics
from lambdak.model.rows import model_target
from lambdak.report.amounts import plural
from lambdak.report.findings.fit import SEEN, UNCLEAR, Likeness, compared
from lambdak.table.category_levels import shown
from lambdak.table.rows import Rows

Source = Literal["test", "seen", "unclear"]

FEWEST_ROWS = 30  # of a segment that says something
_Z = 1.959963984540054  # of a 95 % interval
_MOST_OUTPUTS = 12  # classes or quantiles that are assessed one by one, the most frequent ones
_SEGMENT_BANDS = 5
_MOST_CLASSES = 12  # of a table of actual and predicted classes
_USUAL = 0.8  # of the rows are as near to their predictions as is usual
FEWEST_USUAL = 20  # rows that say what is usual


@dataclass(frozen=True, eq=False)
class Output:
    """One thing that is predicted; ``label`` is that of its class, or its quantile level."""

    name: str
    performance: Performance
    label: Any = None


@dataclass(frozen=True)
class WeakSegment:
    """Rows with some cells in one column.

    ``distance`` is that between the prediction and what was observed, in half-widths of the 95 % interval: above 1 the
    prediction lies outside of it.
    """

    output: str
    column: str
    cells: str
    rows: int
    predicted: float
    observed: float
    half_width: float
    distance: float


@dataclass(frozen=True, eq=False)
class Assessment:
    """How a model does on rows: as a whole, and output by output.

    Attributes
    ----------
    rows : Rows
        What it was measured on.
    likeness : Likeness
        Whether these are the rows of training.
    source : {"test", "seen", "unclear"}
        Rows that the fit did not see, as they are called so or were compared with those of training; rows that look
        like those of training; neither is known.
    metrics : tuple of Estimate
        Of the model as a whole.
    outputs : tuple of Output
        What is predicted, one by one; ``left_out`` of them are not among these.
    """

    model: Model
    rows: Rows
    likeness: Likeness
    source: Source
    metrics: tuple[Estimate, ...]
    outputs: tuple[Output, ...]
    left_out: int
    resampling: Resampling

    @property
    def where(self) -> str:
        """Which rows these are, as the end of a sentence."""
        rows = plural(len(self.rows), "row")
        return {
            "test": f"on {rows} that the fit did not see",
            "seen": f"on the {rows} that the model was fitted to",
            "unclear": f"on the {rows} given to this report",
        }[self.source]

    @property
    def caveat(self) -> str:
        """What must be known about these rows; empty if they are unseen."""
        return {
            "test": "",
            "seen": f"{SEEN} Expect less on new rows.",
            "unclear": UNCLEAR,
        }[self.source]

    @property
    def errors(self) -> NDArray[np.float64] | None:
        """Observed minus predicted of each row; None where no numbers are predicted, or rates of unequal exposure."""
        first = self.outputs[0].performance
        if first.task != "numbers" or self.rows.exposure is not None:
            return None
        return np.asarray(first.scored.outcome.observed - first.scored.outcome.expected, np.float64)

    @property
    def usual_error(self) -> float | None:
        """How far off 8 of 10 predictions are at most; None unless enough rows that the fit did not see say so."""
        errors = self.errors
        if errors is None or self.source != "test" or len(errors) < FEWEST_USUAL:
            return None
        return float(np.quantile(np.abs(errors), _USUAL))

    @property
    def remedy(self) -> str:
        """How to get an honest figure."""
        return "" if self.source == "test" else "Rows that the fit did not see can be given as X_test and y_test."

    @cached_property
    def confusion(self) -> NDArray[np.intp] | None:
        """Rows of each actual class by the class that is predicted, (classes, classes); None for numbers or many."""
        model = self.model
        if model.classes is None or len(model.classes) > _MOST_CLASSES:
            return None
        many = len(model.classes)
        actual = class_codes(model.classes, np.asarray(self.rows.y))
        predicted = model.loss.classify(np.asarray(model.raw(self.rows.X, self.rows.offset)))
        return np.bincount(many * actual + predicted, minlength=many * many).reshape(many, many)


def assess(model: Model, rows: Rows, training: Rows | None, unseen: bool, resamples: int, seed: int) -> Assessment:
    """Return how a model does on rows; ``unseen`` says that they are unseen unless they look otherwise."""
    positions = _positions(model, rows)
    outputs = tuple(
        Output(_name(model, position), _performance(model, rows, label, resamples, seed), label)
        for position in positions[:_MOST_OUTPUTS]
        for label in [_label(model, position)]
    )
    resampling = outputs[0].performance.resampling
    metrics = _metrics(model, rows, outputs, resampling)
    left_out = len(positions[_MOST_OUTPUTS:])
    likeness = compared(model, rows, training)
    source: Source = "seen" if likeness.seen else "test" if unseen else "unclear"
    return Assessment(model, rows, likeness, source, metrics, outputs, left_out, resampling)


def _label(model: Model, position: int | None) -> Any:
    """The label or level of an output."""
    labels = model.loss.quantile_levels if model.classes is None else model.classes.tolist()
    return None if position is None else labels[position]


def _performance(model: Model, rows: Rows, output: Any, resamples: int, seed: int) -> Performance:
    return performance(
        model, rows.X, rows.given["y"], exposure=rows.given["exposure"], sample_weight=rows.weight,
        offset=rows.offset, output=output, n_resamples=resamples, random_state=seed,
    )  # fmt: skip


def _positions(model: Model, rows: Rows) -> list[int | None]:
    """Outputs to assess: each class, the most frequent first, or each quantile; None if there is one."""
    if model.classes is None:
        levels = len(model.loss.quantile_levels)
        return list(range(levels)) if levels > 1 else [None]
    if len(model.classes) == 2:
        return [None]
    counts = Counter(np.asarray(rows.y).tolist())
    labels = model.classes.tolist()
    order = sorted(range(len(labels)), key=lambda i: -counts[labels[i]]) if len(labels) > _MOST_OUTPUTS else None
    return list(order or range(len(labels)))


def _name(model: Model, position: int | None) -> str:
    if model.classes is not None:
        return f"class {shown(model.classes.tolist()[1 if position is None else position])}"
    if model.loss.quantile_levels:
        return f"{model.loss.quantile_levels[position or 0]:g} quantile"
    return "prediction"


# ---- metrics of the model as a whole --------------------------------------------------------------------------------


def _metrics(model: Model, rows: Rows, outputs: tuple[Output, ...], resampling: Resampling) -> tuple[Estimate, ...]:
    """The usual metrics, and those of a single output, each once."""
    scored = outputs[0].performance.scored
    raw = np.asarray(model.raw(rows.X, rows.offset))[scored.rows]
    target = model_target(model, rows)[scored.rows]
    usual = raw_metrics(model, target, raw, scored.exposure)

    def values(counts: NDArray[np.float64] | None) -> NDArray[np.float64]:
        weight = scored.exposure if counts is None else scored.exposure * counts
        estimates = {metric.name: metric.value for metric in _of_draw(model, target, raw, weight)}
        return np.array([estimates.get(metric.name, np.nan) for metric in usual])

    ends = resampling.intervals(values).tolist()
    pairs = zip(usual, ends, strict=True)
    estimates = [Estimate(metric.name, value, low, high, metric.meaning) for metric, (value, low, high) in pairs]
    if len(outputs) == 1:
        names = {name for metric in estimates for name in (metric.name, f"mean {metric.name}")}
        estimates += [metric for metric in outputs[0].performance.metrics if metric.name not in names]
    return tuple(estimates)


def _of_draw(
    model: Model, target: NDArray[np.generic], raw: NDArray[np.floating], weight: NDArray[np.float64]
) -> list[Estimate]:
    drawn = np.flatnonzero(weight)
    return raw_metrics(model, target[drawn], raw[drawn], weight[drawn]) if drawn.size else []


# ---- segments -------------------------------------------------------------------------------------------------------


def weak_segments(model: Model, outputs: tuple[Output, ...]) -> tuple[WeakSegment, ...]:
    """Return all segments with enough rows, the weakest first."""
    segments = [
        segment
        for output in outputs
        for name in model.encoder.feature_names
        for segment in _weak(output, name, output.performance.by(name, bands=_SEGMENT_BANDS))
    ]
    return tuple(sorted(segments, key=lambda segment: -segment.distance))


def _weak(output: Output, column: str, segments: Segments) -> list[WeakSegment]:
    scored = output.performance.scored
    error = scored.outcome.observed - scored.outcome.expected
    unit = float(np.exp2(np.frexp(np.abs(error).max())[1]))  # so that squares are finite
    spread = unit * float(np.sqrt(np.average((error / unit) ** 2, weights=scored.exposure)))
    weak = []
    for i in np.flatnonzero((segments.rows >= FEWEST_ROWS) & (segments.rows < len(scored))).tolist():
        half = float(segments.observed_high[i] - segments.observed[i])
        if not half > 0:  # all rows of the segment are alike, as where nothing happened: the spread of all rows counts
            half = _Z * spread / np.sqrt(segments.rows[i])
        gap = abs(float(segments.observed[i] - segments.predicted[i]))
        distance = gap / half if half else 0.0
        weak.append(WeakSegment(
            output.name, column, segments.names[i], int(segments.rows[i]), float(segments.predicted[i]),
            float(segments.observed[i]), half, distance,
        ))  # fmt: skip
    return weak
