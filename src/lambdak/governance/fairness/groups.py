"""Metrics of decisions by group, as fairlearn computes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array


@final
@dataclass(frozen=True, eq=False)
class GroupMetrics:
    """How decisions differ between groups.

    Attributes
    ----------
    by_group : pandas.DataFrame
        One line for each group: rows, selection rate, mean prediction; with targets also true and false positive rate,
        and the share that was positive, to compare with the mean prediction: calibration.
    demographic_parity_difference : float
        The largest selection rate minus the smallest one.
    equalized_odds_difference : float or None
        The larger of the differences of both rates; None without targets.
    """

    by_group: Any
    demographic_parity_difference: float
    equalized_odds_difference: float | None

    def __str__(self) -> str:
        lines = [self.by_group.to_string(float_format=lambda own: f"{own:.3f}")]
        lines.append(f"demographic parity difference {self.demographic_parity_difference:.3f}")
        if self.equalized_odds_difference is not None:
            lines.append(f"equalised odds difference {self.equalized_odds_difference:.3f}")
        return "\n".join(lines)


def group_metrics(
    groups: list[str], approved: NDArray[np.bool_], predictions: Float64Array, positive: NDArray[np.bool_] | None
) -> GroupMetrics:
    """The metrics of decisions, and of targets if they are known."""
    try:
        from fairlearn import metrics
    except ImportError:
        raise ImportError("group metrics need fairlearn: pip install 'lambdak[fairness]'") from None
    truth = approved if positive is None else positive
    functions: dict[str, Any] = {"rows": metrics.count, "selection rate": metrics.selection_rate}
    if positive is not None:
        functions |= {"true positive rate": metrics.true_positive_rate}
        functions |= {"false positive rate": metrics.false_positive_rate}
    common = {
        "y_true": truth.astype(int),
        "y_pred": approved.astype(int),
        "sensitive_features": np.array(groups, object),
    }
    frame = metrics.MetricFrame(metrics=functions, **common).by_group
    frame.index.name = "group"
    order = [[own == name for own in groups] for name in frame.index]
    if not np.isnan(predictions).any():
        frame["mean prediction"] = [float(predictions[own].mean()) for own in order]
    if positive is not None:
        frame["observed share"] = [float(positive[own].mean()) for own in order]
    odds = None if positive is None else float(metrics.equalized_odds_difference(**common))
    return GroupMetrics(frame, float(metrics.demographic_parity_difference(**common)), odds)
