"""Curves of rows ordered by a score: Lorenz with Gini, and ROC with AUC and KS; cumulative shares of rows.

Gini = 1 − 2 ∫ L(x) dx = 1 − Σ_j (x_j − x_{j−1}) (L_j + L_{j−1}) over groups of equal scores: they are one straight
piece, which is the mean over all orders of their rows. For a target of 0 and 1, Gini over that of a perfect order is
2 AUC − 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import freeze_arrays
from lambdak._types import Float64Array
from lambdak.table.frames import make_frame
from lambdak.table.shown import Shown

_MOST_POINTS = 2_001  # of a curve that is drawn or written
_ROUNDING = 1e-12  # a smaller Gini of a perfect order is none: all rows are alike


@final
@dataclass(frozen=True, eq=False)
class Ranking:
    """Rows in ascending order of a score, made once for any weights; equal scores end at ``ends``."""

    order: NDArray[np.intp]
    ends: NDArray[np.intp]
    exposure: Float64Array  # in this order
    actual: Float64Array
    idle: Float64Array | None = None  # exposure of rows that come first, in any order, and have nothing observed

    @classmethod
    def of(cls, score: Float64Array, exposure: Float64Array, actual: Float64Array) -> Ranking:
        """Rank rows by their score; rows of equal score end together."""
        order = np.argsort(score, kind="stable")
        ends = np.append(np.flatnonzero(np.diff(score[order])), len(order) - 1)
        return cls(order, ends, exposure[order], actual[order])

    def curve(self, counts: Float64Array | None = None) -> tuple[Float64Array, Float64Array]:
        """Cumulative shares of exposure and of what was observed, from 0 to 1, at the ends of equal scores.

        ``counts`` says how often each row, in the order it was given, occurs. Shares of nothing are NaN.
        """
        exposure, actual, idle = self._pieces(counts)
        first = [0.0] if self.idle is None else [0.0, idle]
        x = np.concatenate([first, idle + np.cumsum(exposure)])
        L = np.concatenate([np.zeros(len(first)), np.cumsum(actual)])
        with np.errstate(invalid="ignore", divide="ignore"):
            return x / x[-1], L / L[-1]

    def gini(self, counts: Float64Array | None = None) -> float:
        """The Gini index of this order, with one cumulative sum instead of two."""
        exposure, actual, idle = self._pieces(counts)
        L = np.cumsum(actual)
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(1.0 - (exposure / (idle + exposure.sum())) @ ((2.0 * L - actual) / L[-1]))

    def _pieces(self, counts: Float64Array | None) -> tuple[Float64Array, Float64Array, float]:
        """Exposure and what was observed, of rows of equal score together, and the exposure that comes first."""
        exposure, actual = self.exposure, self.actual
        idle = 0.0 if self.idle is None else float(self.idle.sum() if counts is None else self.idle @ counts)
        if counts is not None:
            repeats = counts[self.order]
            exposure, actual = exposure * repeats, actual * repeats
        if len(self.ends) < len(exposure):
            starts = np.append(0, self.ends[:-1] + 1)
            exposure, actual = np.add.reduceat(exposure, starts), np.add.reduceat(actual, starts)
        return exposure, actual, idle


def perfect_ranking(exposure: Float64Array, actual: Float64Array) -> Ranking:
    """Rows in the order of what was observed per unit of exposure; nothing is negative.

    Most policies have no claim: they are one piece, and need not be sorted.
    """
    some = np.flatnonzero(actual)
    observed = Ranking.of(actual[some] / exposure[some], exposure[some], actual[some])
    return replace(observed, order=some[observed.order], idle=np.where(actual == 0, exposure, 0.0))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Lorenz(Shown):
    """How unevenly what was observed is spread over the exposure, from the lowest prediction to the highest.

    Attributes
    ----------
    x : array of shape (points,)
        Share of the exposure with the lowest predictions.
    curve : array of shape (points,)
        Share of what was observed on it. The diagonal is a model that tells nothing apart.
    perfect : array of shape (points,)
        The same in the order of what was observed: no model can be below.
    gini, perfect_gini : float
        Twice the areas between the diagonal and the curves.
    """

    x: Float64Array
    curve: Float64Array
    perfect: Float64Array
    gini: float
    perfect_gini: float
    _labels: tuple[str, str] = field(default=("exposure", "observed"), repr=False)
    _like: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def normalised_gini(self) -> float:
        """Gini over that of a perfect order; 2 AUC − 1 if the target is 0 or 1; NaN if all rows are alike."""
        return self.gini / self.perfect_gini if self.perfect_gini > _ROUNDING else np.nan

    def to_frame(self) -> Any:
        """One line per point, in a frame of the library that X came from."""
        return make_frame({"exposure": self.x, "observed": self.curve, "perfect": self.perfect}, self._like)

    def __str__(self) -> str:
        gini, best, share = (f"{each:.4g}" for each in (self.gini, self.perfect_gini, self.normalised_gini))
        return f"Gini {gini}, of a perfect order {best}, normalised {share}"

    def plot(self, ax: Any = None) -> Any:
        """The curve, the diagonal and the perfect order; returns the Axes."""
        from lambdak.governance.performance.plots import draw_lorenz

        return draw_lorenz(self, ax)


def lorenz_curve(ranking: Ranking, perfect: Ranking, labels: tuple[str, str], like: Any) -> Lorenz:
    """The curve of a ranking, at no more points than can be seen; Gini is that of all of them."""
    x, L = ranking.curve()
    best = perfect.curve()
    shown = x
    if len(x) > _MOST_POINTS:
        shown = np.unique(np.append(x[np.searchsorted(x, np.linspace(0, 1, _MOST_POINTS)).clip(0, len(x) - 1)], [0, 1]))
    return Lorenz(shown, np.interp(shown, x, L), np.interp(shown, *best), ranking.gini(), perfect.gini(), labels, like)


def refuse_lorenz(actual: Float64Array, words: str) -> None:
    """Refuse what has no Lorenz curve."""
    if (actual < 0).any():
        raise ValueError(
            f"a Lorenz curve needs what cannot be negative; {words} is, in {np.count_nonzero(actual < 0)} rows: read "
            "R² and calibration instead"
        )
    if not actual.any():
        raise ValueError(f"a Lorenz curve needs something observed; {words} is 0 in every row: take more rows")


@final
@dataclass(frozen=True, eq=False, repr=False)
class Roc(Shown):
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
        from lambdak.governance.performance.plots import draw_roc

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
