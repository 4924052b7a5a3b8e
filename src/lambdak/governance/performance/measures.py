"""The metrics of one output on scored rows, those of its ranking among them, for any resample of the rows."""

from __future__ import annotations

from typing import Self, final

import numpy as np

from lambdak._types import Float64Array
from lambdak.eigen.lazy import cached_property
from lambdak.governance.performance.lorenz import Ranking, auc_and_ks, perfect_ranking
from lambdak.governance.performance.scored import ScoredRows
from lambdak.model.metrics import METRICS, Mae, MeanLoss, Metric, Rmse, RocAuc, Scores

_ROUNDING = 1e-12  # of what was observed: a smaller spread is none


@final
class OutputScores(Scores):
    """Scored rows of one output, each as often as ``counts`` say; a resample shares what does not depend on these."""

    def __init__(self, scored: ScoredRows, counts: Float64Array | None = None) -> None:
        outcome = scored.outcome
        self.scored, self.counts, self.kind = scored, counts, outcome.task
        self.loss_name = f"mean {outcome.loss_name}" if outcome.loss_name else ""
        self.observed, self.predicted = outcome.observed, outcome.expected
        self.row_loss, self.null_loss = outcome.loss, outcome.null_loss
        self.actual, self.expected = scored.actual, scored.expected
        self._masses: dict[str, Float64Array] = {"actual": scored.actual, "expected": scored.expected}

    def resampled(self, counts: Float64Array) -> OutputScores:
        """The rows, each as often as ``counts`` say."""
        drawn = OutputScores.__new__(OutputScores)
        drawn.__dict__ = {name: value for name, value in vars(self).items() if name != "auc_and_ks"}
        drawn.counts = counts
        return drawn

    @cached_property
    def unit(self) -> float:
        """A power of two by which squares of errors are finite."""
        largest = max(np.abs(self.observed).max(), np.abs(self.predicted).max())
        return float(np.exp2(np.clip(np.frexp(largest)[1], -1000, 1000)))

    @cached_property
    def ranking(self) -> Ranking:
        """Rows in the order of predictions."""
        return Ranking.of(self.scored.predicted, self.scored.exposure, self.actual)

    @cached_property
    def perfect(self) -> Ranking:
        """Rows in the order of what was observed."""
        return perfect_ranking(self.scored.exposure, self.actual)

    @cached_property
    def auc_and_ks(self) -> tuple[float, float]:
        """Area under the ROC curve, and the largest difference of shares."""
        return auc_and_ks(self.ranking, self.counts)

    @cached_property
    def varies(self) -> bool:
        """Whether rows differ in what was observed: otherwise there is no order, and nothing to explain."""
        return bool(np.ptp(self.observed) > _ROUNDING * np.abs(self.observed).max())

    def total(self, part: str) -> float:
        """The sum over all rows, by exposure."""
        if part not in self._masses:
            exposure = self.scored.exposure
            self._masses[part] = exposure if part == "exposure" else exposure * getattr(self, part)
        mass = self._masses[part]
        return float(mass.sum() if self.counts is None else mass @ self.counts)

    def mean(self, part: str) -> float:
        """The mean over all rows, by exposure."""
        return float(np.float64(self.total(part)) / self.total("exposure"))

    @property
    def mean_loss(self) -> float:
        """The mean loss of the rows."""
        return self.mean("row_loss")

    @property
    def roc_area(self) -> float:
        """The area under the ROC curve of the class."""
        return self.auc_and_ks[0]


class OutputMetric(Metric):
    """A metric that only single outputs have."""

    @classmethod
    def of(cls, scores: Scores) -> tuple[Self, ...]:
        """The metric of this class, if rows have it."""
        return cls.of_output(scores) if isinstance(scores, OutputScores) else ()

    def value(self, scores: Scores) -> float:
        """The metric of rows."""
        assert isinstance(scores, OutputScores)
        return self.of_rows(scores)

    @classmethod
    def of_output(cls, scores: OutputScores) -> tuple[Self, ...]:
        """The metric of this class, if rows have it."""
        raise NotImplementedError

    def of_rows(self, scores: OutputScores) -> float:
        """The metric of rows."""
        raise NotImplementedError


@final
class Gini(OutputMetric):
    """How well the order of predictions tells rows apart."""

    @classmethod
    def of_output(cls, scores: OutputScores) -> tuple[Self, ...]:
        """Gini of numbers none of which is negative."""
        defined = scores.kind == "numbers" and (scores.actual >= 0).all() and scores.actual.any()
        return (cls("Gini", "how well the order of predictions tells rows apart; 0 is not at all", 1),) * bool(defined)

    def of_rows(self, scores: OutputScores) -> float:
        """The Gini index."""
        return scores.ranking.gini(scores.counts) if scores.varies else 0.0


@final
class NormalisedGini(OutputMetric):
    """Gini over that of a perfect order."""

    @classmethod
    def of_output(cls, scores: OutputScores) -> tuple[Self, ...]:
        """Normalised Gini where there is a Gini, and of a class."""
        if scores.kind == "class":
            return (cls("normalised Gini", "2 AUC − 1, also called Gini or accuracy ratio; 0 is chance", 1),)
        return (cls("normalised Gini", "Gini over that of a perfect order; 1 is perfect", 1),) * len(Gini.of(scores))

    def of_rows(self, scores: OutputScores) -> float:
        """2 AUC − 1 of a class."""
        if scores.kind == "class":
            return 2 * scores.auc_and_ks[0] - 1
        if not scores.varies:
            return np.nan
        return float(scores.ranking.gini(scores.counts) / np.float64(scores.perfect.gini(scores.counts)))


@final
class Ks(OutputMetric):
    """The statistic of Kolmogorov and Smirnov."""

    @classmethod
    def of_output(cls, scores: OutputScores) -> tuple[Self, ...]:
        """KS of a class."""
        words = "largest difference between shares of the class and of the others below a probability"
        return (cls("KS", words, 1),) if scores.kind == "class" else ()

    def of_rows(self, scores: OutputScores) -> float:
        """The largest difference of shares."""
        return scores.auc_and_ks[1]


@final
class Balance(OutputMetric):
    """What was observed over what was expected in total; of a quantile, how often it holds."""

    @classmethod
    def of_output(cls, scores: OutputScores) -> tuple[Self, ...]:
        """The balance of means and classes, and the share of a quantile."""
        if scores.kind == "coverage":
            share = scores.predicted[0]
            return (cls(scores.scored.outcome.words or "", f"of the exposure; {share:g} is wanted"),)
        return (cls("actual / expected", "what was observed over what was expected in total; 1 is in balance"),)

    def of_rows(self, scores: OutputScores) -> float:
        """Total over total."""
        balance = np.float64(scores.total("actual")) / scores.total("expected")
        return float(balance * scores.predicted[0] if scores.kind == "coverage" else balance)


@final
class Explained(OutputMetric):
    """The share of the loss of one prediction for all that the model removes."""

    @classmethod
    def of_output(cls, scores: OutputScores) -> tuple[Self, ...]:
        """The share, named after the loss."""
        words = "share of the loss of one prediction for all that the model removes; 1 is perfect"
        return (cls(scores.scored.outcome.explained, words, 1),)

    def of_rows(self, scores: OutputScores) -> float:
        """1 − loss / loss of the best constant; NaN if that one is always right."""
        null = np.float64(scores.mean("null_loss"))
        right = null <= 0 if scores.kind == "coverage" else not scores.varies
        return np.nan if right else float(1 - scores.mean("row_loss") / null)


@final
class Brier(OutputMetric):
    """Mean squared difference between a probability and 0 or 1."""

    @classmethod
    def of_output(cls, scores: OutputScores) -> tuple[Self, ...]:
        """The Brier score of a class."""
        words = "mean squared difference between probability and 0 or 1; 0 is perfect"
        return (cls("Brier score", words, -1),) if scores.kind == "class" else ()

    def of_rows(self, scores: OutputScores) -> float:
        """The mean square."""
        return scores.mean("squared_error") * scores.unit**2


# In this order, and then all others that an output has.
OUTPUT_METRICS: list[type[Metric]] = [
    RocAuc, Gini, NormalisedGini, Ks, Balance, MeanLoss, Explained, Brier, Rmse, Mae,
]  # fmt: skip


@final
class Measures:
    """The metrics of scored rows; call it with how often each row counts."""

    def __init__(self, scored: ScoredRows) -> None:
        self._scores = OutputScores(scored)
        kinds = dict.fromkeys([*OUTPUT_METRICS, *METRICS])
        self.known = tuple(metric for kind in kinds for metric in kind.of(self._scores))

    @property
    def ranking(self) -> Ranking:
        """Rows in the order of predictions."""
        return self._scores.ranking

    @property
    def perfect(self) -> Ranking:
        """Rows in the order of what was observed."""
        return self._scores.perfect

    def __call__(self, counts: Float64Array | None = None) -> Float64Array:
        """The values of ``known`` if each row counts so often."""
        scores = self._scores if counts is None else self._scores.resampled(counts)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.array([metric.value(scores) for metric in self.known])
