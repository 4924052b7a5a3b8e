"""How well rows are predicted, in the numbers that belong to the task, for any resample of the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np

from lambdak._types import Float64Array
from lambdak.eigen.lazy import cached_property
from lambdak.governance.performance.lorenz import Ranking, perfect_ranking
from lambdak.governance.performance.roc import auc_and_ks
from lambdak.governance.performance.scored import ScoredRows


class Measure(NamedTuple):
    """What is measured: its name, what it means, and whether more is better (1), less (−1), or neither (0)."""

    name: str
    meaning: str
    better: int


_BALANCE = Measure("actual / expected", "what was observed over what was expected in total; 1 is in balance", 0)
_GINI = Measure("Gini", "how well the order of predictions tells rows apart; 0 is not at all", 1)
_NORMALISED = Measure("normalised Gini", "Gini over that of a perfect order; 1 is perfect", 1)
_EXPLAINED = "share of the loss of one prediction for all that the model removes; 1 is perfect"
_AUC = Measure("ROC AUC", "chance that a row of the class is ranked above another one; 0.5 is chance", 1)
_ACCURACY_RATIO = Measure("normalised Gini", "2 AUC − 1, also called Gini or accuracy ratio; 0 is chance", 1)
_KS = Measure("KS", "largest difference between shares of the class and of the others below a probability", 1)
_BRIER = Measure("Brier score", "mean squared difference between probability and 0 or 1; 0 is perfect", -1)
_RMSE = Measure("RMSE", "root mean squared error; large errors count more", -1)
_MAE = Measure("MAE", "mean absolute error", -1)
_ROUNDING = 1e-12  # of what was observed: a smaller spread is none


@final
class Measures:
    """The measures of scored rows; call it with how often each row counts."""

    def __init__(self, scored: ScoredRows) -> None:
        self._scored = scored

    @cached_property
    def ranking(self) -> Ranking:
        """Rows in the order of predictions."""
        return Ranking.of(self._scored.predicted, self._scored.exposure, self._scored.actual)

    @cached_property
    def perfect(self) -> Ranking:
        """Rows in the order of what was observed."""
        return perfect_ranking(self._scored.exposure, self._scored.actual)

    @cached_property
    def has_gini(self) -> bool:
        """Whether Lorenz curves are defined."""
        actual = self._scored.actual
        return self._scored.outcome.task != "coverage" and bool((actual >= 0).all() and actual.any())

    @cached_property
    def varies(self) -> bool:
        """Whether rows differ in what was observed: otherwise there is no order, and nothing to explain."""
        observed = self._scored.outcome.observed
        return bool(np.ptp(observed) > _ROUNDING * np.abs(observed).max())

    @cached_property
    def known(self) -> tuple[Measure, ...]:
        """What is measured, in this order."""
        outcome = self._scored.outcome
        loss = (Measure(f"mean {outcome.loss_name}", "0 is perfect", -1),) if outcome.loss_name else ()
        explained = Measure(outcome.explained, _EXPLAINED, 1)
        if outcome.task == "class":
            return (_AUC, _ACCURACY_RATIO, _KS, _BALANCE, *loss, explained, _BRIER)
        if outcome.task == "coverage":
            share = Measure(outcome.words or "", f"of the exposure; {outcome.expected[0]:g} is wanted", 0)
            return (share, *loss, explained)
        order = (_GINI, _NORMALISED) if self.has_gini else ()
        return (*order, _BALANCE, *loss, explained, _RMSE, _MAE)

    @cached_property
    def _sums(self) -> Float64Array:
        """(7, n): what is summed up over rows, errors in units in which squares are finite."""
        own = self._scored
        error = (own.outcome.observed - own.outcome.expected) / self._unit
        parts = [np.ones(len(own)), own.outcome.loss, own.outcome.null_loss, error * error, np.abs(error)]
        return np.stack([own.actual, own.expected, *(own.exposure * part for part in parts)])

    @cached_property
    def _unit(self) -> float:
        own = self._scored.outcome
        largest = max(np.abs(own.observed).max(), np.abs(own.expected).max())
        return float(np.exp2(np.clip(np.frexp(largest)[1], -1000, 1000)))

    def __call__(self, counts: Float64Array | None = None) -> Float64Array:
        """The values of ``known`` if each row counts so often."""
        task = self._scored.outcome.task
        compute: Callable[[Float64Array | None], list[float]] = {
            "numbers": self._of_numbers, "class": self._of_class, "coverage": self._of_coverage,
        }[task]  # fmt: skip
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.array(compute(counts))

    def _summed(self, counts: Float64Array | None) -> Float64Array:
        sums = self._sums.sum(axis=1) if counts is None else self._sums @ counts
        return np.asarray(np.concatenate([sums[:2], sums[3:] / sums[2]]))  # totals, and means

    def _of_numbers(self, counts: Float64Array | None) -> list[float]:
        actual, expected, loss, null, square, absolute = self._summed(counts)
        order = []
        if self.has_gini:
            gini = self.ranking.gini(counts) if self.varies else 0.0
            order = [gini, gini / np.float64(self.perfect.gini(counts)) if self.varies else np.nan]
        mean = [loss] if self._scored.outcome.loss_name else []
        errors = [self._unit * float(np.sqrt(square)), self._unit * absolute]
        return [*order, actual / expected, *mean, self._explained(loss, null), *errors]

    def _of_class(self, counts: Float64Array | None) -> list[float]:
        actual, expected, loss, null, square, _ = self._summed(counts)
        auc, ks = auc_and_ks(self.ranking, counts)
        return [auc, 2 * auc - 1, ks, actual / expected, loss, self._explained(loss, null), square * self._unit**2]

    def _of_coverage(self, counts: Float64Array | None) -> list[float]:
        actual, expected, loss, null, *_ = self._summed(counts)
        share = actual / expected * self._scored.outcome.expected[0]
        return [share, loss, 1 - loss / null if null > 0 else np.nan]

    def _explained(self, loss: float, null: float) -> float:
        """The share of the loss of one prediction for all that the model removes; NaN if that one is always right."""
        return 1 - loss / null if self.varies else np.nan
