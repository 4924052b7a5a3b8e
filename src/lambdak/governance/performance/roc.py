"""ROC curve, AUC and KS of the probability of a class."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from lambdak._checks import freeze_arrays
from lambdak._types import Float64Array
from lambdak.governance.performance.lorenz import Ranking
from lambdak.table.frames import make_frame


@final
@dataclass(frozen=True, eq=False)
class Roc:
    """How well a probability tells a class from the others.

    Attributes
    ----------
    threshold : array of shape (points,)
        Rows with at least this probability are called positive; infinite at the first point.
    false_positive_rate, true_positive_rate : arrays of shape (points,)
        Shares of the rows of the other classes, and of the class, that are.
    auc : float
        Chance that a row of the class is ranked above one of the others; a tie counts half.
    ks : float
        Largest difference between the two shares (Kolmogorov and Smirnov), and the threshold where it is.
    """

    threshold: Float64Array
    false_positive_rate: Float64Array
    true_positive_rate: Float64Array
    auc: float
    ks: float
    ks_threshold: float
    _words: str = field(default="", repr=False)
    _like: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def to_frame(self) -> Any:
        """One line per point, in a frame of the library that X came from."""
        names = ("threshold", "false_positive_rate", "true_positive_rate")
        return make_frame({name: getattr(self, name) for name in names}, self._like)

    def __str__(self) -> str:
        return f"ROC AUC {self.auc:.4g}, KS {self.ks:.4g} at a probability of {self.ks_threshold:.4g}"

    def plot(self, ax: Any = None) -> Any:
        """The curve with AUC and KS; returns the Axes."""
        from lambdak.governance.performance.plots.curves import draw_roc

        return draw_roc(self, ax)


def roc_curve(score: Float64Array, ranking: Ranking, words: str, like: Any) -> Roc:
    """The curve of rows in ascending order of ``score``, whose ``actual`` is exposure or 0."""
    gone, lost = negatives_and_positives(ranking)
    if np.isnan(gone).any() or np.isnan(lost).any():
        raise ValueError(f"a ROC curve needs rows of the class and of others; got the {words} of one kind only")
    threshold = np.concatenate([score[ranking.order[np.append(0, ranking.ends[:-1] + 1)]], [np.inf]])
    at = int(np.argmax(gone - lost))
    auc = float(np.diff(gone) @ (1 - (lost[1:] + lost[:-1]) / 2))
    back = slice(None, None, -1)
    return Roc(threshold[back], 1 - gone[back], 1 - lost[back], auc, float(gone[at] - lost[at]), float(threshold[at]),
               words, like)  # fmt: skip


def negatives_and_positives(ranking: Ranking, counts: Float64Array | None = None) -> tuple[Float64Array, Float64Array]:
    """Cumulative shares of the rows that are not of the class, and of those that are.

    Row by row ``exposure`` − ``actual`` is exact: totals would cancel out where one of the two is nearly all.
    """
    return replace(ranking, exposure=ranking.exposure - ranking.actual).curve(counts)


def auc_and_ks(ranking: Ranking, counts: Float64Array | None = None) -> tuple[float, float]:
    """Area under the ROC curve and the largest difference of shares."""
    gone, lost = negatives_and_positives(ranking, counts)
    return float(np.diff(gone) @ (1 - (lost[1:] + lost[:-1]) / 2)), float(np.max(gone - lost))
