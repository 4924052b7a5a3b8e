"""A fitted model as JSON: what the engine computes with, and what the page says about data and guarantees."""

from __future__ import annotations

from dataclasses import astuple
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak.explain.promised import named_numbers, promised_of
from lambdak.export.javascript.engine import engine_column, engine_model
from lambdak.governance.performance import Performance
from lambdak.losses import Predicts
from lambdak.model import Model
from lambdak.model.readout import readouts
from lambdak.report.constants import constants
from lambdak.report.findings import Findings
from lambdak.report.findings.assessment import FEWEST_USUAL, Assessment
from lambdak.table.category_levels import OTHER, shown
from lambdak.table.column_contract import Column
from lambdak.table.numeric_column import Numeric

_MOST_POINTS = 400  # of a scatter plot
_MOST_STEPS = 120  # of a ROC curve
_DIGITS = 6  # of what is drawn


def payload(findings: Findings) -> dict[str, Any]:
    """Return all that the page's scripts read as ``PAYLOAD``."""
    model, what = findings.model, findings.behaviour
    outputs, examples = readouts(model), findings.examples
    identifiers = set(findings.identifiers)
    columns = [
        _column(column, float(bound))
        | {
            "unit": findings.units.get(column.name, ""),
            "identifier": i in identifiers,
            "choices": _choices(examples, i),
            "promised": promised_of(model, outputs[0], i),
            "named": named_numbers(model, i),
        }
        for i, (column, bound) in enumerate(zip(model.encoder.columns, what.proven, strict=True))
    ]  # fmt: skip
    return {
        "about": _about(findings),
        "constants": constants(model.dim, model.loss.link, max(output.error for output in outputs)),
        "columns": columns,
        "order": list(what.order),
        "first": list(what.first),
        "mean_effects": None if what.mean is None else what.mean.tolist(),
        "pairs": _pairs(findings),
        "matrices": model.encoder.get_feature_names_out().tolist(),
        "model": engine_model(model),
        "data": examples,
        "performance": None if findings.assessment is None else drawn(model, findings.assessment),
    }


def _choices(examples: dict[str, Any] | None, i: int) -> list[float] | None:
    """The two numbers of a column that has no others in the data."""
    summaries = [] if examples is None else examples["summary"]
    return summaries[i].get("values") if i < len(summaries) else None


def _pairs(findings: Findings) -> dict[str, Any] | None:
    """Columns, and what each two of them do together."""
    pairs = findings.behaviour.pairs
    inside = {i for pair in pairs for i in pair}
    columns = [i for i in findings.behaviour.first if i in inside]
    both = [[pairs.get((min(i, j), max(i, j))) for j in columns] for i in columns]
    return {"columns": columns, "joint": both} if pairs else None


def _about(findings: Findings) -> dict[str, Any]:
    model = findings.model
    return {
        "estimator": model.estimator,
        "target": findings.target + findings.per if findings.target_name else None,
        "unit": findings.unit.strip(),
        "version": version("lambdak"),
        "loss": model.loss.name,
        "classes": findings.classes,
        "ordered": findings.ordered,
        "quantile_levels": list(model.outputs.quantile_levels),
    }


def _column(column: Column, strength: float) -> dict[str, Any]:
    engine, levels = engine_column(column), column.known_levels
    return engine | {
        "levels": [_level_text(level) for level in levels],
        "own": [i for i, level in enumerate(levels) if not _is_special(level)],
        "pooled": OTHER in levels,
        "strength": strength,
        "spread": column.spread,
        "whole": isinstance(column, Numeric) and column.whole,
        "axis": list(astuple(column.axis_scale)[:4]) if isinstance(column, Numeric) else None,
    }


def _level_text(level: object) -> str:
    """Return a level as a reader can tell it from others, in brackets where it is not a value of the table."""
    if isinstance(level, str) and not level.strip():
        return "(empty text)" if not level else repr(level)
    return f"({shown(level)})" if _is_special(level) else shown(level)


def _is_special(level: object) -> bool:
    """Whether a level is "missing" or "other", not a level of the table."""
    return not isinstance(level, str | int | float)


# ---- what is drawn --------------------------------------------------------------------------------------------------


def drawn(model: Model, measured: Assessment) -> dict[str, Any]:
    """The data of the charts: of each output, bins of predictions with what was observed, and what suits its task."""
    outputs = [_output(output.name, output.performance, measured) for output in measured.outputs]
    classes = [shown(label) for label in ([] if model.classes is None else model.classes.tolist())]
    table = None if measured.confusion is None else measured.confusion.tolist()
    middle = _medians(model, measured) if model.loss.predicts is Predicts.QUANTILES else None
    return {
        "where": measured.where, "outputs": outputs, "classes": classes, "confusion": table, "medians": middle,
        "usual": _usual(model, measured),
    }  # fmt: skip


def _usual(model: Model, measured: Assessment) -> dict[str, Any] | None:
    """What is to be expected of a prediction, if rows that the fit did not see say so."""
    if measured.source != "test" or len(measured.rows) < FEWEST_USUAL:
        return None
    metrics = {metric.name: metric.value for metric in measured.metrics}
    name = "accuracy" if model.classes is not None else "share between the outer quantiles"
    error = measured.usual_error if model.loss.link.name == "identity" else None  # others grow with the prediction
    return {"within": error, "share": metrics.get(name)}


def _medians(model: Model, measured: Assessment) -> dict[str, Any]:
    """The middle quantile and the target of some rows."""
    first = measured.outputs[0].performance
    raw = np.asarray(model.raw(measured.rows.X, measured.rows.offset))[first.scored.rows]
    levels = np.asarray(model.loss.predict(raw)).reshape(len(raw), -1)
    target = np.asarray(measured.rows.y, np.float64)[first.scored.rows]
    return _some(levels[:, levels.shape[1] // 2], target)


def _output(name: str, result: Performance, measured: Assessment) -> dict[str, Any]:
    bins = result.calibration().bands
    data: dict[str, Any] = {
        "name": name,
        "task": result.task,
        "about": result.scored.words.rate,
        "bins": {
            "predicted": _short(bins.predicted), "observed": _short(bins.observed), "low": _short(bins.observed_low),
            "high": _short(bins.observed_high), "rows": bins.rows.astype(int).tolist(),
        },
    }  # fmt: skip
    if result.task == "class":
        data["roc"] = _roc(result)
    elif result.task == "numbers" and measured.rows.exposure is None:
        data["points"] = _points(result)
    elif result.task == "coverage":
        outcome = result.scored.outcome
        share = float(np.average(outcome.observed, weights=result.scored.exposure))
        data["coverage"] = {"wanted": float(outcome.expected[0]), "observed": round(share, _DIGITS)}
    return data


def _roc(result: Performance) -> dict[str, Any] | None:
    if not 0 < result.actual < result.exposure:
        return None  # rows of one kind only
    curve = result.roc()
    some = np.unique(np.linspace(0, len(curve.threshold) - 1, _MOST_STEPS).astype(int))
    return {"x": _short(curve.false_positive_rate[some]), "y": _short(curve.true_positive_rate[some]), "auc": curve.auc}


def _points(result: Performance) -> dict[str, Any]:
    return _some(result.scored.outcome.expected, result.scored.outcome.observed)


def _some(predicted: NDArray[Any], observed: NDArray[Any]) -> dict[str, Any]:
    """Predicted and observed values of as many rows as a picture shows, drawn at random."""
    rows = len(predicted)
    some = np.arange(rows)
    if rows > _MOST_POINTS:
        some = np.sort(np.random.default_rng(0).choice(rows, _MOST_POINTS, replace=False))
    return {"predicted": _short(predicted[some]), "observed": _short(observed[some]), "rows": rows}


def _short(values: NDArray[Any]) -> list[float]:
    """Numbers with as many digits as a picture shows."""
    return [float(f"{value:.{_DIGITS}g}") for value in values.tolist()]
