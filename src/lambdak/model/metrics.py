"""Metrics: how well rows are predicted, in the numbers that belong to the task, weighted and for any resample.

A metric is one class that says its name, what it means, which rows have it and its value, and one line in ``METRICS``:
the command line, the report, the dossier and ``performance`` loop over these. Metrics of a ranking, which only single
outputs have, are in :mod:`lambdak.governance.performance.measures`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import mean_pinball_loss

from lambdak._types import Float64Array
from lambdak.eigen.lazy import cached_property
from lambdak.losses import IDENTITY, Loss, Predicts
from lambdak.model.concordance import concordance
from lambdak.model.model import Model
from lambdak.table.rows import read_rows, weights_in_units
from lambdak.table.shown import result_html

Kind = Literal["numbers", "classes", "quantiles", "times", "class", "coverage"]  # the last two of one output of several


class Estimate(NamedTuple):
    """A number with its confidence interval, its name, and what it means; NaN where there is none."""

    name: str
    value: float
    low: float
    high: float
    meaning: str

    def __str__(self) -> str:
        interval = "" if np.isnan(self.low) else f" [{self.low:.4g}, {self.high:.4g}]"
        return f"{self.name} {self.value:.4g}{interval}"

    def _repr_html_(self) -> str:
        return result_html(self)


class Scores(ABC):
    """Rows with what was observed and predicted, each with a weight: all that a metric sees.

    Attributes
    ----------
    kind : {"numbers", "classes", "quantiles", "times", "class", "coverage"}
        What is compared.
    loss_name : str
        What the mean loss of the rows is called; empty if it is none that people know.
    observed, predicted : arrays of shape (rows,) or (rows, outputs)
        Numbers, or positions of classes with −1 for an unknown one, and their probabilities.
    """

    kind: Kind
    loss_name: str
    observed: NDArray[Any]
    predicted: NDArray[Any]

    @abstractmethod
    def mean(self, part: str) -> float:
        """The weighted mean of an attribute that has a number for each row."""

    @property
    @abstractmethod
    def mean_loss(self) -> float:
        """The weighted mean of what ``loss_name`` names."""

    @property
    @abstractmethod
    def roc_area(self) -> float:
        """The weighted share of pairs of rows, one of the second class and one not, whose scores are in this order."""

    @cached_property
    def unit(self) -> float:
        """A power of two by which squares of errors are finite."""
        return _power_of_two(np.abs(self.observed).max())

    @cached_property
    def squared_error(self) -> Float64Array:
        """Squared errors of the rows, in the square of ``unit``."""
        return np.asarray((self.observed / self.unit - self.predicted / self.unit) ** 2)

    @cached_property
    def absolute_error(self) -> Float64Array:
        """Absolute errors of the rows."""
        return np.asarray(np.abs(self.observed - self.predicted))


def _power_of_two(largest: float) -> float:
    return float(np.exp2(np.clip(np.frexp(largest)[1], -1000, 1000)))


@dataclass(frozen=True)
class Metric(ABC):
    """What is measured: its name, what it means, and whether more is better (1), less (−1), or neither (0)."""

    name: str
    meaning: str
    better: int = 0

    @classmethod
    @abstractmethod
    def of(cls, scores: Scores) -> tuple[Self, ...]:
        """The metrics of this class that these rows have."""

    @abstractmethod
    def value(self, scores: Scores) -> float:
        """The metric of rows."""


@final
class ModelScores(Scores):
    """Rows with the raw scores of all outputs of a model."""

    def __init__(self, model: Model, target: NDArray[Any], raw: NDArray[Any], weight: Float64Array | None) -> None:
        self.loss: Loss = model.loss
        self.curve = model.level_curve
        self.raw, self.weight = raw, None if weight is None else weights_in_units(weight)
        self.kind = "numbers"
        if model.classes is not None:
            self.kind, self.observed = "classes", class_codes(model.classes, target)
        else:
            self.observed = target.astype(np.float64)
            if model.loss.predicts is Predicts.QUANTILES:
                self.kind = "quantiles"
            if model.loss.predicts is Predicts.TIMES:
                self.kind = "times"
        self.predicted = self.loss.predict(raw)
        self.loss_name = self._loss_name()

    def _loss_name(self) -> str:
        if self.kind == "classes":
            return "" if (self.observed < 0).any() else "log loss"
        if self.kind == "times":
            return "mean negative log-likelihood"
        if self.loss.quantile_levels:
            return "mean pinball loss"
        return "" if self.loss.link is IDENTITY else f"mean {self.loss.name} deviance"

    def mean(self, part: str) -> float:
        """The weighted mean of an attribute that has a number for each row."""
        return float(np.average(getattr(self, part), weights=self.weight))

    @property
    def mean_loss(self) -> float:
        """Mean negative log-likelihood of classes, pinball loss over all quantile levels, or deviance."""
        if self.kind == "classes":
            chance = self.predicted[np.arange(len(self.observed)), self.observed]
            return float(np.average(-np.log(np.maximum(chance, np.finfo(np.float64).tiny)), weights=self.weight))
        if self.kind == "times":
            return float(self.loss.value(self.raw.astype(np.float64), self.observed, self.weight))
        if self.loss.quantile_levels:
            pairs = zip(self.loss.quantile_levels, self.quantiles.T, strict=True)
            y, weight = self.observed, self.weight
            return float(np.mean([mean_pinball_loss(y, q, alpha=level, sample_weight=weight) for level, q in pairs]))
        return 2 * float(
            self.loss.value(self.loss.limited_raw(self.raw.astype(np.float64)), self.observed, self.weight)
        )

    @property
    def roc_area(self) -> float:
        """The area under the ROC curve of the second of two classes."""
        return area_under_roc(self.observed == 1, self.predicted[:, 1], self.weight)

    @cached_property
    def quantiles(self) -> NDArray[Any]:
        """The predicted quantiles, (rows, levels)."""
        return self.predicted.reshape(len(self.observed), -1)

    @cached_property
    def ranked_probability(self) -> Float64Array:
        """Continuous ranked probability scores of the rows."""
        return self.curve.crps(self.quantiles.astype(np.float64), self.observed)


# ---- the metrics ------------------------------------------------------------------------------------------------


@final
class R2(Metric):
    """R² of a model; of targets without any variance 1 if there is no error, and 0 otherwise."""

    @classmethod
    def of(cls, scores: Scores) -> tuple[Self, ...]:
        """R² of numbers, as one output has the share of its loss that is explained instead."""
        meaning = "share of the target's variance that the predictions explain; 1 is perfect"
        return (cls("R²", meaning, 1),) if scores.kind == "numbers" and isinstance(scores, ModelScores) else ()

    def value(self, scores: Scores) -> float:
        """1 − mean squared error / variance."""
        assert isinstance(scores, ModelScores)
        y, weight, squares = scores.observed / scores.unit, scores.weight, scores.mean("squared_error")
        if len(y) < 2:
            return np.nan
        seen = y if weight is None else y[weight > 0]
        if (seen == seen[0]).all():
            return float(squares == 0.0)
        return 1.0 - squares / float(np.average((y - np.average(y, weights=weight)) ** 2, weights=weight))


@final
class Rmse(Metric):
    """Root mean squared error."""

    @classmethod
    def of(cls, scores: Scores) -> tuple[Self, ...]:
        """RMSE of numbers."""
        meaning = "root mean squared error, in units of the target; large errors count more"
        return (cls("RMSE", meaning, -1),) if scores.kind == "numbers" else ()

    def value(self, scores: Scores) -> float:
        """√ mean squared error."""
        return float(scores.unit * np.sqrt(scores.mean("squared_error")))


@final
class Mae(Metric):
    """Mean absolute error."""

    @classmethod
    def of(cls, scores: Scores) -> tuple[Self, ...]:
        """MAE of numbers."""
        return (cls("MAE", "mean absolute error, in units of the target", -1),) if scores.kind == "numbers" else ()

    def value(self, scores: Scores) -> float:
        """Mean |observed − predicted|."""
        return scores.mean("absolute_error")


@final
class Accuracy(Metric):
    """Share of rows whose class is predicted."""

    @classmethod
    def of(cls, scores: Scores) -> tuple[Self, ...]:
        """Accuracy of classes."""
        return (cls("accuracy", "share of rows whose class is predicted", 1),) if scores.kind == "classes" else ()

    def value(self, scores: Scores) -> float:
        """Share of rows, by weight."""
        assert isinstance(scores, ModelScores)
        return float(np.average(scores.loss.classify(scores.raw) == scores.observed, weights=scores.weight))


@final
class LargestClass(Metric):
    """Share of the most frequent class."""

    @classmethod
    def of(cls, scores: Scores) -> tuple[Self, ...]:
        """The share among classes."""
        meaning = "the accuracy of always predicting this class"
        return (cls("share of the largest class", meaning),) if scores.kind == "classes" else ()

    def value(self, scores: Scores) -> float:
        """Share of rows, by weight."""
        assert isinstance(scores, ModelScores)
        codes, weight = scores.observed, scores.weight
        return float(max(np.average(codes == code, weights=weight) for code in range(scores.predicted.shape[1])))


@final
class MeanLoss(Metric):
    """The mean loss of rows, such as deviance, log loss or pinball loss."""

    @classmethod
    def of(cls, scores: Scores) -> tuple[Self, ...]:
        """The mean of a loss that people know; of classes only where all are known to the model."""
        meaning = {"classes": "mean negative log-likelihood of the true class; 0 is perfect",
                   "quantiles": "in units of the target; smaller is better",
                   "times": "of what was observed, per unit of log time; smaller is better"}  # fmt: skip
        pinball = scores.loss_name == "mean pinball loss" and scores.kind != "coverage"
        words = meaning.get("quantiles" if pinball else scores.kind, "0 is perfect")
        return (cls(scores.loss_name, words, -1),) if scores.loss_name else ()

    def value(self, scores: Scores) -> float:
        """The weighted mean."""
        return scores.mean_loss


@final
class Crps(Metric):
    """Continuous ranked probability score: how far the whole distribution is from what was observed."""

    @classmethod
    def of(cls, scores: Scores) -> tuple[Self, ...]:
        """CRPS of a model with several quantile levels."""
        levels = scores.loss.quantile_levels if isinstance(scores, ModelScores) else ()
        meaning = "distance of the distribution from the target, in its units; of a single number the absolute error"
        return (cls("CRPS", meaning, -1),) if scores.kind == "quantiles" and len(levels) > 1 else ()

    def value(self, scores: Scores) -> float:
        """Mean ∫ (F(z) − 1[z ≥ y])² dz."""
        return scores.mean("ranked_probability")


@final
class Concordance(Metric):
    """Harrell's concordance of times to an event."""

    @classmethod
    def of(cls, scores: Scores) -> tuple[Self, ...]:
        """The concordance of a model of times."""
        meaning = "chance that of two rows the one with the larger risk has its event first; 0.5 is chance"
        return (cls("concordance", meaning, 1),) if scores.kind == "times" else ()

    def value(self, scores: Scores) -> float:
        """Share of pairs, by weight; NaN where no order is known."""
        assert isinstance(scores, ModelScores)
        return concordance(scores.observed, scores.raw.mean(axis=1), scores.weight)


@final
class RocAuc(Metric):
    """Area under the ROC curve of two classes, or of one against the others."""

    @classmethod
    def of(cls, scores: Scores) -> tuple[Self, ...]:
        """AUC of two classes of which there are rows, or of one class of several."""
        meaning = "chance that a row of the class is ranked above another one; 0.5 is chance"
        if scores.kind == "classes":
            meaning = "chance that a row of the second class is ranked above one of the first"
            two = scores.predicted.shape[1] == 2 and 0 < scores.observed.sum() < len(scores.observed)
            return (cls("ROC AUC", meaning, 1),) if two and (scores.observed >= 0).all() else ()
        return (cls("ROC AUC", meaning, 1),) if scores.kind == "class" else ()

    def value(self, scores: Scores) -> float:
        """Area under the ROC curve."""
        return scores.roc_area


@final
@dataclass(frozen=True)
class ShareUpTo(Metric):
    """How often the target is at most a quantile."""

    position: int = 0

    @classmethod
    def of(cls, scores: Scores) -> tuple[Self, ...]:
        """One share for each quantile level of the model."""
        levels = scores.loss.quantile_levels if isinstance(scores, ModelScores) else ()
        return tuple(
            cls(f"share up to the {level:g} quantile", f"of the rows; {level:g} is wanted", 0, i)
            for i, level in enumerate(levels)
        )

    def value(self, scores: Scores) -> float:
        """Share of rows, by weight."""
        assert isinstance(scores, ModelScores)
        return float(np.average(scores.observed <= scores.quantiles[:, self.position], weights=scores.weight))


@final
class ShareBetween(Metric):
    """How often the target is between the outer quantiles."""

    @classmethod
    def of(cls, scores: Scores) -> tuple[Self, ...]:
        """The share of a model with several quantile levels."""
        levels = scores.loss.quantile_levels if isinstance(scores, ModelScores) else ()
        if len(levels) < 2:
            return ()
        return (cls("share between the outer quantiles", f"of the rows; {levels[-1] - levels[0]:g} is wanted"),)

    def value(self, scores: Scores) -> float:
        """Share of rows, by weight."""
        assert isinstance(scores, ModelScores)
        inside = (scores.quantiles[:, 0] <= scores.observed) & (scores.observed <= scores.quantiles[:, -1])
        return float(np.average(inside, weights=scores.weight))


METRICS: list[type[Metric]] = [
    R2, Rmse, Mae, Accuracy, LargestClass, Concordance, MeanLoss, Crps, RocAuc, ShareUpTo, ShareBetween,
]  # fmt: skip


def model_metrics(
    model: Model, X: Any, y: ArrayLike, weight: Float64Array | None = None, offset: ArrayLike | None = None
) -> list[Estimate]:
    """Metrics of a model on rows; raises if ``y`` does not belong to ``X``.

    A class that the model does not know is never predicted; log loss and area under the curve are then omitted.
    """
    rows = read_rows(X, y, offset=offset, keep=False)
    return raw_metrics(model, rows.target, model.raw(rows.X, rows.offset), weight)


def raw_metrics(
    model: Model, target: NDArray[Any], raw: NDArray[Any], weight: Float64Array | None = None
) -> list[Estimate]:
    """Metrics of a model on rows with these raw scores, without intervals."""
    scores = ModelScores(model, target, raw, weight)
    metrics = [metric for kind in METRICS for metric in kind.of(scores)]
    return [Estimate(metric.name, metric.value(scores), np.nan, np.nan, metric.meaning) for metric in metrics]


def class_codes(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.intp]:
    """Positions of labels among the classes, −1 for one that is not there.

    >>> class_codes(np.array(["a", "b"]), np.array(["b", "a", None], object))
    array([ 1,  0, -1])
    """
    positions = {label: i for i, label in enumerate(classes.tolist())}
    return np.array([positions.get(label, -1) for label in labels.tolist()], np.intp)


def area_under_roc(positive: NDArray[np.bool_], score: NDArray[Any], weight: Float64Array | None = None) -> float:
    """Share of pairs of rows, one positive and one not, whose scores are in this order; equal ones count half.

    >>> area_under_roc(np.array([False, True, False, True]), np.array([0.1, 0.4, 0.4, 0.8]))
    0.875
    """
    order = np.argsort(score)
    mass = np.ones(len(order)) if weight is None else weight[order]
    last = np.append(np.flatnonzero(np.diff(score[order])), len(order) - 1)  # of the rows with equal scores
    above = np.cumsum(mass * positive[order])[last]
    below = np.cumsum(mass * ~positive[order])[last]
    pairs = above[-1] * below[-1]
    right = np.diff(above, prepend=0.0) * (below - np.diff(below, prepend=0.0) / 2)
    return float(right.sum() / pairs) if pairs else np.nan
