"""How well a model does, for the report: on rows that the fit did not see if there are any, and said plainly if not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lambdak.governance.performance import Performance
from lambdak.losses import Predicts
from lambdak.model import Model
from lambdak.model.metrics import class_codes
from lambdak.report.amounts import plural
from lambdak.report.findings.assessment import Assessment, assess
from lambdak.table.category_levels import shown
from lambdak.table.rows import Rows

Source = Literal["test", "seen", "unclear"]

_MOST_POINTS = 400  # of a scatter plot
_MOST_STEPS = 120  # of a ROC curve
_MOST_CLASSES = 12  # of a table of actual and predicted classes
_DIGITS = 6  # of what is drawn
_USUAL = 0.8  # of the rows are as near to their predictions as is usual
_FEWEST_ROWS = 20  # that say what is usual


@dataclass(frozen=True, eq=False)
class Measured:
    """Metrics of a model, and the rows on which they were measured.

    Attributes
    ----------
    assessment : Assessment
        Metrics with intervals, and each output.
    rows : Rows
        What it was measured on.
    source : {"test", "seen", "unclear"}
        Rows that the writer of the report calls unseen, and that are; rows that the fit has seen; neither is known.
    confusion : array of shape (classes, classes) or None
        Rows of each actual class, by the class that is predicted.
    """

    assessment: Assessment
    rows: Rows
    source: Source
    confusion: NDArray[np.intp] | None

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
            "seen": "The fit has seen these rows: this says how well the model remembers, not how well it predicts. "
            "Expect less on new rows.",
            "unclear": "They are not simply the training rows, but the fit may have seen some of them: if so, expect "
            "less on new rows.",
        }[self.source]

    @property
    def errors(self) -> NDArray[np.float64] | None:
        """Observed minus predicted of each row; None where no numbers are predicted, or rates of unequal exposure."""
        own = self.assessment.outputs[0].performance
        if own.task != "numbers" or self.rows.exposure is not None:
            return None
        return np.asarray(own.scored.outcome.observed - own.scored.outcome.expected, np.float64)

    @property
    def usual_error(self) -> float | None:
        """How far off 8 of 10 predictions are at most; None unless enough rows that the fit did not see say so."""
        errors = self.errors
        if errors is None or self.source != "test" or len(errors) < _FEWEST_ROWS:
            return None
        return float(np.quantile(np.abs(errors), _USUAL))

    @property
    def remedy(self) -> str:
        """How to get an honest figure."""
        return "" if self.source == "test" else "Rows that the fit did not see can be given as X_test and y_test."


def measure(model: Model, rows: Rows | None, test: Rows | None, resamples: int, seed: int) -> Measured | None:
    """Measure a model on test rows, or else on the others; None if no targets are given."""
    with_test = test is not None and test.y is not None
    chosen = test if with_test else rows
    if chosen is None or chosen.y is None:
        return None
    found = assess(model, chosen, rows if with_test else None, resamples, seed, by_segment=False)
    seen = found.likeness.seen
    source: Source = "seen" if seen else "test" if with_test else "unclear"
    return Measured(found, chosen, source, _confusion(model, chosen))


def _confusion(model: Model, rows: Rows) -> NDArray[np.intp] | None:
    if model.classes is None or len(model.classes) > _MOST_CLASSES:
        return None
    many = len(model.classes)
    actual = class_codes(model.classes, np.asarray(rows.y))
    predicted = model.loss.classify(np.asarray(model.raw(rows.X, rows.offset)))
    return np.bincount(many * actual + predicted, minlength=many * many).reshape(many, many)


# ---- what is drawn --------------------------------------------------------------------------------------------------


def drawn(model: Model, found: Measured) -> dict[str, Any]:
    """The data of the charts: of each output, bins of predictions with what was observed, and what suits its task."""
    outputs = [_output(own.name, own.performance, found) for own in found.assessment.outputs]
    classes = [shown(label) for label in ([] if model.classes is None else model.classes.tolist())]
    table = None if found.confusion is None else found.confusion.tolist()
    middle = _medians(model, found) if model.loss.predicts is Predicts.QUANTILES else None
    return {
        "where": found.where, "outputs": outputs, "classes": classes, "confusion": table, "medians": middle,
        "usual": _usual(model, found),
    }  # fmt: skip


def _usual(model: Model, found: Measured) -> dict[str, Any] | None:
    """What is to be expected of a prediction, if rows that the fit did not see say so."""
    if found.source != "test" or len(found.rows) < _FEWEST_ROWS:
        return None
    known = {own.name: own.value for own in found.assessment.metrics}
    name = "accuracy" if model.classes is not None else "share between the outer quantiles"
    error = found.usual_error if model.loss.link.name == "identity" else None  # others grow with the prediction
    return {"within": error, "share": known.get(name)}


def _medians(model: Model, found: Measured) -> dict[str, Any]:
    """The middle quantile and the target of some rows."""
    first = found.assessment.outputs[0].performance
    raw = np.asarray(model.raw(found.rows.X, found.rows.offset))[first.scored.rows]
    levels = np.asarray(model.loss.predict(raw)).reshape(len(raw), -1)
    target = np.asarray(found.rows.y, np.float64)[first.scored.rows]
    return _some(levels[:, levels.shape[1] // 2], target)


def _output(name: str, own: Performance, found: Measured) -> dict[str, Any]:
    bins = own.calibration().bands
    data: dict[str, Any] = {
        "name": name,
        "task": own.task,
        "about": own.scored.words.rate,
        "bins": {
            "predicted": _short(bins.predicted), "observed": _short(bins.observed), "low": _short(bins.observed_low),
            "high": _short(bins.observed_high), "rows": bins.rows.astype(int).tolist(),
        },
    }  # fmt: skip
    if own.task == "class":
        data["roc"] = _roc(own)
    elif own.task == "numbers" and found.rows.exposure is None:
        data["points"] = _points(own)
    elif own.task == "coverage":
        outcome = own.scored.outcome
        share = float(np.average(outcome.observed, weights=own.scored.exposure))
        data["coverage"] = {"wanted": float(outcome.expected[0]), "observed": round(share, _DIGITS)}
    return data


def _roc(own: Performance) -> dict[str, Any] | None:
    if not 0 < own.actual < own.exposure:
        return None  # rows of one kind only
    curve = own.roc()
    some = np.unique(np.linspace(0, len(curve.threshold) - 1, _MOST_STEPS).astype(int))
    return {"x": _short(curve.false_positive_rate[some]), "y": _short(curve.true_positive_rate[some]), "auc": curve.auc}


def _points(own: Performance) -> dict[str, Any]:
    return _some(own.scored.outcome.expected, own.scored.outcome.observed)


def _some(predicted: NDArray[Any], observed: NDArray[Any]) -> dict[str, Any]:
    """As many rows as a picture shows, drawn at random."""
    rows = len(predicted)
    some = np.arange(rows)
    if rows > _MOST_POINTS:
        some = np.sort(np.random.default_rng(0).choice(rows, _MOST_POINTS, replace=False))
    return {"predicted": _short(predicted[some]), "observed": _short(observed[some]), "rows": rows}


def _short(values: NDArray[Any]) -> list[float]:
    """Numbers with as many digits as a picture shows."""
    return [float(f"{value:.{_DIGITS}g}") for value in values.tolist()]
