"""What to watch once the model is in use: proposals with numbers, for the owner to decide about."""

from __future__ import annotations

import math

from lambdak.governance.drift import ColumnDrift
from lambdak.governance.drift.stability import LARGE, LITTLE
from lambdak.governance.performance import Estimate
from lambdak.report.amounts import number
from lambdak.report.document import Block, Code, Note, Paragraph, Section, Table, said, shortened
from lambdak.report.findings import Findings

_CALL = """drift = model.drift(X_train, X_new)  # PSI of every column and of the prediction
print(drift)
model.dossier("dossier-new.html", X_new, y_new)  # metrics, calibration and weakest segments of the new rows"""
_ROLES = {"monitored_by": "Who monitors", "monitored_when": "How often", "actions": "What happens at “act”"}
_BETTER = {"R²": 1, "Gini": 1, "normalised Gini": 1, "accuracy": 1, "ROC AUC": 1, "KS": 1}
_WORSE = ("RMSE", "MAE", "log loss", "Brier score", "mean pinball loss", "CRPS")


def dossier(findings: Findings) -> Section:
    """Thresholds for columns and metrics, and who looks at them."""
    roles = tuple((title, said(getattr(findings.words, name))) for name, title in _ROLES.items())
    columns, whole = shortened(_columns(findings))
    blocks: list[Block] = [
        Paragraph("Limits are proposals from the figures of this document. The owner decides about them."),
        Table("Responsibilities", ("", "Statement"), roles, left=(0, 1)),
        Code(_CALL, "python"),
        columns,
        *_metrics(findings),
    ]
    return Section("monitoring", "Monitoring plan", tuple(blocks), whole)


def _columns(findings: Findings) -> Table:
    """Limits of the PSI of the prediction and of each column, the most important one first."""
    names = [findings.names[i] for i in findings.by_strength]
    drift = findings.drift
    by_name = {} if drift is None else {column_drift.column: column_drift for column_drift in drift.columns}
    every = [("the prediction", None if drift is None else drift.prediction)]
    every += [(name, by_name.get(name)) for name in names]
    limits = (f"{LITTLE:.2f} to {LARGE:.2f}", f"above {LARGE:.2f}")
    rows = tuple((name, *_now(column_drift), *limits) for name, column_drift in every)
    labels = ("Watched", "PSI of the rows of this document", "By chance up to", "Watch", "Act")
    return Table("Population stability index (PSI) against the training rows", labels, rows)


def _now(drift: ColumnDrift | None) -> tuple[str, str]:
    return ("not computed",) * 2 if drift is None else (f"{drift.psi:.3f}", f"{drift.chance:.3f}")


def _metrics(findings: Findings) -> list[Block]:
    if findings.assessment is None:
        return [Note("Limits of metrics need figures, which were not measured: see section 5.", "open")]
    rows = tuple(line for metric in findings.assessment.metrics if (line := _limits(metric)))
    words = (
        "“Watch” begins at the worse end of the 95 % interval of section 5, “act” as far again beyond it. New rows "
        "should be about as many, or the interval is to be computed for their number."
    )
    return [Table("Metrics", ("Metric", "Now", "Watch", "Act"), rows), Paragraph(words)] if rows else []


def _limits(metric: Estimate) -> tuple[str, ...] | None:
    """Thresholds of a metric of which more, or less, is better."""
    better = _BETTER.get(metric.name, -1 if metric.name in _WORSE or metric.name.endswith("deviance") else 0)
    if metric.name == "actual / expected":
        return _around(metric)
    worse, beyond = (metric.low, "below") if better > 0 else (metric.high, "above")
    if not better or math.isnan(worse):
        return None
    return (
        metric.name,
        number(metric.value),
        f"{beyond} {number(worse)}",
        f"{beyond} {number(2 * worse - metric.value)}",
    )


def _around(metric: Estimate) -> tuple[str, ...] | None:
    if math.isnan(metric.low):
        return None
    ends = [(metric.low, metric.high), (2 * metric.low - metric.value, 2 * metric.high - metric.value)]
    watch, act = (f"below {number(low)} or above {number(high)}" for low, high in ends)
    return metric.name, number(metric.value), watch, act
