"""Figures that people of a task read first, each beside what is reached without a model.

Gini and deviance of counts and costs, AUC and log loss of classes, R² and mean absolute error of numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lambdak.governance.performance import Estimate
from lambdak.model.metrics import class_codes
from lambdak.report.findings.assessment import Assessment

CONSTANT = "one prediction for all rows"


@dataclass(frozen=True)
class Figure:
    """A metric beside what ``without`` a model reaches.

    Attributes
    ----------
    metric : Estimate
    base : float
        The metric of what needs no model; NaN if there is none.
    without : str
        What that is.
    more_is_better : bool
    of_target : bool
        Whether it is in units of the target.
    """

    metric: Estimate
    base: float = np.nan
    without: str = ""
    more_is_better: bool = True
    of_target: bool = False

    @property
    def no_better(self) -> bool:
        """Whether the model is not better than what needs none."""
        value = self.metric.value
        return value <= self.base if self.more_is_better else value >= self.base


def headline(measured: Assessment) -> tuple[Figure, ...]:
    """Return the figures that lead a document, the first one first."""
    known = {metric.name: metric for metric in measured.metrics}
    if measured.model.classes is not None:
        return _of_classes(known, measured)
    if "R²" not in known:
        return (Figure(known["mean pinball loss"], more_is_better=False),) if "mean pinball loss" in known else ()
    scored = measured.outputs[0].performance.scored
    deviance = known.get(f"mean {scored.outcome.loss_name}")
    if deviance is not None and "Gini" in known:
        null = float(np.average(scored.outcome.null_loss, weights=scored.exposure))
        return Figure(known["Gini"], 0.0, "no order"), Figure(deviance, null, CONSTANT, more_is_better=False)
    observed = scored.outcome.observed
    off = np.abs(observed - np.average(observed, weights=scored.exposure))
    usual = float(np.average(off, weights=scored.exposure))
    fit = Figure(known["R²"], 0.0, CONSTANT)
    return fit, Figure(known["MAE"], usual, "the mean of all rows", more_is_better=False, of_target=True)


def _of_classes(known: Mapping[str, Estimate], measured: Assessment) -> tuple[Figure, ...]:
    shares = class_shares(measured)
    shares = shares[shares > 0]
    entropy = float(-(shares * np.log(shares)).sum())
    loss = Figure(known["log loss"], entropy, "the shares of the classes for all rows", more_is_better=False)
    if "ROC AUC" in known:
        return Figure(known["ROC AUC"], 0.5, "guessing"), loss
    largest = known["share of the largest class"].value
    return loss, Figure(known["accuracy"], largest, "always naming the most frequent class")


def class_shares(measured: Assessment) -> NDArray[np.float64]:
    """Return the share of each class in the rows that count, by weight."""
    scored, classes = measured.outputs[0].performance.scored, np.asarray(measured.model.classes)
    codes = class_codes(classes, np.asarray(measured.rows.y)[scored.rows])
    mass = np.bincount(codes, scored.exposure, len(classes))
    return np.asarray(mass / mass.sum())
