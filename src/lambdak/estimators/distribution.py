"""The whole distribution of each row: what an estimator of quantiles answers at any level, and how often it covers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from lambdak._types import Float64Array, FloatArray
from lambdak.eigen.runtime import thread_count
from lambdak.estimators.settings import new_generator
from lambdak.model import Model
from lambdak.model.calibration import HELD_OUT
from lambdak.table.read import Table
from lambdak.table.rows import read_rows, target_rows

if TYPE_CHECKING:
    from lambdak.estimators.single_quantile import SingleQuantile
    from lambdak.governance.performance import Coverage


class DistributionMethods:
    """Methods of an estimator of quantiles; the work is done in :mod:`lambdak.model.distribution`."""

    model_: Model
    n_jobs: int | None
    _fitted: Model
    _read: Callable[[Any], Table]

    def predict_quantiles(self, X: Any, levels: ArrayLike | None = None) -> FloatArray:
        """The quantiles of each row, (rows, levels), in the order of the levels: the fitted ones, or any in [0, 1].

        Between two fitted levels a quantile is the weighted mean of theirs, with the same weight in all rows; beyond
        the outermost one it is that one moved by the same number in all rows. So a quantile at a higher level is never
        below one at a lower level, and columns that never fall, caps and bends hold at every level.
        """
        from lambdak.model.distribution import quantiles_at, quantiles_of

        threads = thread_count(self.n_jobs)
        if levels is None:
            return quantiles_of(self._fitted, self._read(X), threads)
        return quantiles_at(self._fitted, self._read(X), levels, threads)

    def predict_cdf(self, X: Any, y: ArrayLike) -> Float64Array:
        """The probability that the target of a row is at most y: the level at which its quantile is y.

        ``y`` is a number for all rows or one for each (the answer is (rows,)), or several of shape (1, n) or (rows, n).
        """
        from lambdak.model.distribution import levels_of

        return levels_of(self._fitted, self._read(X), y, thread_count(self.n_jobs))

    def predict_interval(self, X: Any, coverage: float | None = None, *, side: str = "both") -> FloatArray:
        """The ends of an interval for each row, (rows, 2): that cover a share of the targets, or the outer quantiles.

        With a ``coverage`` the ends are quantiles at levels that were counted on rows that members had not seen, so
        that at least this share of new targets lies between them: see :meth:`calibrate` for what that assumes. An end
        is infinite where the rows counted are too few for it. With ``side`` "lower" or "upper" only this end is a bound
        for the share; the other one is infinite. Without a ``coverage`` the ends are the first and the last quantile.
        """
        from lambdak.model.distribution import interval_of

        if coverage is None:
            if side != "both":
                raise ValueError(f"side must be 'both' without a coverage; got {side!r}: give coverage=0.9 beside it")
            return self.predict_quantiles(X)[:, [0, -1]]
        return interval_of(self._fitted, self._read(X), coverage, side, thread_count(self.n_jobs))

    def sample(self, X: Any, n: int = 1, random_state: Any = None) -> Float64Array:
        """Random numbers from the distribution of each row, (rows, n)."""
        from lambdak.model.distribution import drawn

        return drawn(self._fitted, self._read(X), n, new_generator(random_state), thread_count(self.n_jobs))

    def crps(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The mean continuous ranked probability score, in units of the target; the smaller, the better.

        For a distribution that is a single number it is the mean absolute error.
        """
        from lambdak.model.distribution import quantiles_of

        model = self._fitted
        rows = read_rows(X, y, sample_weight)
        target = model.loss.check_target(target_rows(rows.y))
        quantiles = quantiles_of(model, self._read(X), thread_count(self.n_jobs))
        return float(np.average(model.level_curve.crps(quantiles, target), weights=rows.weight))

    def coverage(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Coverage:
        """How often the targets of rows that the fit did not see are where their distributions say.

        Levels of targets (PIT), shares up to every quantile, and coverage of intervals, in all rows and by column: see
        :class:`lambdak.governance.performance.Coverage`.
        """
        from lambdak.governance.performance import coverage_of

        return coverage_of(self._fitted, X, y, sample_weight, thread_count(self.n_jobs))

    def single_quantiles(self, coverage: float = 0.9) -> list[SingleQuantile]:
        """Fitted regressors of one quantile each, of the lower end, the upper end and the median.

        They are what MAPIE takes as ``ConformalizedQuantileRegressor(model.single_quantiles(0.9), 0.9, prefit=True)``.
        Their ends are quantiles at nominal levels, (1 ∓ coverage) / 2, which MAPIE calibrates.
        """
        from lambdak.estimators.single_quantile import SingleQuantile
        from lambdak.model.distribution import check_levels

        levels = check_levels(np.round([(1 - coverage) / 2, (1 + coverage) / 2, 0.5], 12))  # 0.1 of 0.8, not 0.0999…
        return [SingleQuantile(self, level) for level in levels.tolist()]

    def calibrate(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, by: Any = None) -> Self:
        """Count on these rows, which the fit did not see, at which levels intervals end.

        Intervals of coverage c then hold the target of a new row with probability c or more, if the new row and these
        are exchangeable, as independent rows of one source are: split conformal prediction. ``by`` names a category
        whose levels are counted apart; the same holds within each that has 20 rows or more. A fit does all this by
        itself with the rows that members left out: then the members that a row is counted with are fewer than those
        that predict, so that the statement needs, in addition, that all of them together do not err in another way.
        """
        from lambdak.model.distribution import calibrated, group_column

        model = self._fitted
        rows = read_rows(X, y, sample_weight)
        target = model.loss.check_target(target_rows(rows.y))
        column = None if by is None else group_column(by, model.encoder, model.promises, "by")
        self.model_ = calibrated(model, self._read(X), target, rows.weight, column, HELD_OUT)
        return self
