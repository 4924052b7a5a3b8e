"""How a model does on rows: metrics with intervals, calibration of all that it predicts, and its weakest segments."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak.governance.performance import Estimate, Performance, Resampling, Segments, performance
from lambdak.model import Model
from lambdak.model.metrics import raw_metrics
from lambdak.model.rows import model_target
from lambdak.report.findings.likeness import Likeness, compared
from lambdak.table.category_levels import shown
from lambdak.table.rows import Rows

FEWEST_ROWS = 30  # of a segment that says something
_Z = 1.959963984540054  # of a 95 % interval
_MOST_OUTPUTS = 12  # classes or quantiles that are assessed one by one, the most frequent ones
_SEGMENT_BANDS = 5


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
    """Metrics of a model on rows: as a whole, output by output, and in segments.

    Attributes
    ----------
    likeness : Likeness
        Whether the rows are those of training.
    metrics : tuple of Estimate
        Of the model as a whole.
    outputs : tuple of Output
        What is predicted, one by one; ``left_out`` of them are not among these.
    segments : tuple of WeakSegment
        All segments with enough rows, the weakest first.
    """

    likeness: Likeness
    metrics: tuple[Estimate, ...]
    outputs: tuple[Output, ...]
    left_out: int
    segments: tuple[WeakSegment, ...]
    resampling: Resampling


def assess(
    model: Model, rows: Rows, training: Rows | None, resamples: int, seed: int, by_segment: bool = True
) -> Assessment:
    """Measure a model on rows; without segments where nobody looks at them."""
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
    segments = tuple(_segments(model, outputs)) if by_segment else ()
    return Assessment(likeness, metrics, outputs, left_out, segments, resampling)


def _label(model: Model, position: int | None) -> Any:
    """The label or level of an output."""
    known = model.loss.quantile_levels if model.classes is None else model.classes.tolist()
    return None if position is None else known[position]


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
        found = {own.name: own.value for own in _of_draw(model, target, raw, weight)}
        return np.array([found.get(own.name, np.nan) for own in usual])

    ends = resampling.intervals(values).tolist()
    pairs = zip(usual, ends, strict=True)
    found = [Estimate(own.name, value, low, high, own.meaning) for own, (value, low, high) in pairs]
    if len(outputs) == 1:
        known = {name for own in found for name in (own.name, f"mean {own.name}")}
        found += [own for own in outputs[0].performance.metrics if own.name not in known]
    return tuple(found)


def _of_draw(
    model: Model, target: NDArray[np.generic], raw: NDArray[np.floating], weight: NDArray[np.float64]
) -> list[Estimate]:
    drawn = np.flatnonzero(weight)
    return raw_metrics(model, target[drawn], raw[drawn], weight[drawn]) if drawn.size else []


# ---- segments -------------------------------------------------------------------------------------------------------


def _segments(model: Model, outputs: tuple[Output, ...]) -> list[WeakSegment]:
    found = [
        segment
        for output in outputs
        for name in model.encoder.feature_names
        for segment in _weak(output, name, output.performance.by(name, bands=_SEGMENT_BANDS))
    ]
    return sorted(found, key=lambda own: -own.distance)


def _weak(output: Output, column: str, own: Segments) -> list[WeakSegment]:
    scored = output.performance.scored
    error = scored.outcome.observed - scored.outcome.expected
    unit = float(np.exp2(np.frexp(np.abs(error).max())[1]))  # so that squares are finite
    spread = unit * float(np.sqrt(np.average((error / unit) ** 2, weights=scored.exposure)))
    found = []
    for i in np.flatnonzero((own.rows >= FEWEST_ROWS) & (own.rows < len(scored))).tolist():
        half = float(own.observed_high[i] - own.observed[i])
        if not half > 0:  # all rows of the segment are alike, as where nothing happened: the spread of all rows counts
            half = _Z * spread / np.sqrt(own.rows[i])
        gap = abs(float(own.observed[i] - own.predicted[i]))
        distance = gap / half if half else 0.0
        found.append(WeakSegment(output.name, column, own.names[i], int(own.rows[i]), float(own.predicted[i]),
                                 float(own.observed[i]), half, distance))  # fmt: skip
    return found
