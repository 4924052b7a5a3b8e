"""The scikit-learn estimator of several quantiles that never cross."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from lambdak._types import FloatArray, PathLike
from lambdak.estimators.base import SpectralEstimator
from lambdak.estimators.distribution import DistributionMethods
from lambdak.estimators.fit_arguments import is_elsewhere, opened, rows_of_numbers, validation_arguments
from lambdak.estimators.regressors import SpectralRegressor
from lambdak.estimators.settings import with_parameters_of
from lambdak.losses import Pinball
from lambdak.shapes.contract import Shape
from lambdak.table.rows import read_rows

if TYPE_CHECKING:
    from lambdak.training.large.targets import LargeTargets
    from lambdak.training.large.transport import Transport


@with_parameters_of(SpectralRegressor, without=("loss", "quantile", "power"))
class SpectralQuantileRegressor(DistributionMethods, RegressorMixin, SpectralEstimator):
    """Several quantiles of one model, f(x, q) = λ_k(A(x) + P(q)), that never cross: P rises by semidefinite steps.

    A monotone constraint holds for all quantiles, and for those at any level between and beyond them.

    Parameters
    ----------
    quantiles : increasing numbers in (0, 1), default (0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95)
        The fitted levels. ``predict`` gives the middle one, ``predict_interval`` the first and the last, or the ends
        of any coverage.
    calibrate_by : str or int, default None
        A category, by name or position, whose levels are calibrated apart, so that intervals cover in each of them what
        they cover in all. Nothing may be promised of it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = SpectralQuantileRegressor((0.1, 0.5, 0.9), effort="fast", random_state=0).fit(X, y)
    >>> bool((np.diff(model.predict_quantiles(X), axis=1) >= 0).all())
    True
    """

    def __init__(
        self,
        quantiles: Sequence[float] = (0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95),
        *,
        calibrate_by: str | int | None = None,
        dim: int | None = None,
        eig_idx: int | None = None,
        shape: str | None = None,
        monotonic_cst: Mapping[Any, int] | Sequence[int] | str | None = None,
        max_influence: Mapping[Any, float] | Sequence[float] | float | None = None,
        interaction_cst: Iterable[Collection[Any]] | str | None = None,
        constraints: Sequence[Shape] | None = None,
        protected_features: Sequence[Any] | None = None,
        categorical_features: Any = "from_dtype",
        max_categories: int | None = None,
        n_knots: int | str = "auto",
        alpha: float = 0.0,
        effort: str = "balanced",
        n_estimators: int | None = None,
        max_iter: int | None = None,
        early_stopping: bool | str = False,
        scoring: str = "loss",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        balance: bool = False,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            dim=dim, eig_idx=eig_idx, shape=shape, monotonic_cst=monotonic_cst, max_influence=max_influence,
            interaction_cst=interaction_cst, constraints=constraints, protected_features=protected_features,
            categorical_features=categorical_features, max_categories=max_categories, n_knots=n_knots, alpha=alpha,
            effort=effort,
            n_estimators=n_estimators, max_iter=max_iter, early_stopping=early_stopping, scoring=scoring,
            validation_fraction=validation_fraction, n_iter_no_change=n_iter_no_change, tol=tol,
            balance=balance, warm_start=warm_start, verbose=verbose, random_state=random_state, n_jobs=n_jobs,
        )  # fmt: skip
        self.quantiles = quantiles
        self.calibrate_by = calibrate_by

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
        eval_set: Any = None,
        checkpoint: PathLike | None = None,
        checkpoint_every: float = 60.0,
        cache: PathLike | None = None,
        transport: Transport | None = None,
    ) -> Self:
        """Fit to a table and its targets.

        Validation rows, tables larger than memory, ``checkpoint``, ``cache`` and ``transport`` are as in
        :meth:`SpectralRegressor.fit`.
        """
        from lambdak.training.checkpoint_file import open_checkpoint

        X, file = opened(X), open_checkpoint(checkpoint, checkpoint_every)
        validation = validation_arguments(X_val, y_val, sample_weight_val, eval_set=eval_set)
        if is_elsewhere(X, cache, transport):
            beside = {"y": y, "sample_weight": sample_weight}
            return self._fit_elsewhere(X, beside, validation, cache, transport, file)
        loss = Pinball(_levels(self.quantiles))
        rows = rows_of_numbers(read_rows(X, y, sample_weight), loss, validation)
        return self._fit(rows, loss, checkpoint=file)

    def partial_fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Continue training with these rows; the first call is a fit, and its columns, knots and levels stay."""
        X = opened(X)
        if not hasattr(self, "model_"):
            return self.fit(X, y, sample_weight)
        if is_elsewhere(X):
            return self._continue_batches(X, y, sample_weight)
        return self._continue(rows_of_numbers(read_rows(X, y, sample_weight), self.model_.loss))

    def _targets(self) -> LargeTargets:
        from lambdak.training.large.targets import NumberTargets

        return NumberTargets(Pinball(_levels(self.quantiles)))

    def predict(self, X: Any) -> FloatArray:
        """The middle one of the quantiles, (rows,): by default the median."""
        quantiles = self.predict_quantiles(X)
        return quantiles[:, quantiles.shape[1] // 2]


def _levels(quantiles: Any) -> tuple[float, ...]:
    """Quantile levels, from one number or several."""
    try:
        levels = np.atleast_1d(np.asarray(quantiles, float))
    except (TypeError, ValueError):
        levels = np.empty((0, 0))
    if levels.ndim != 1:
        raise ValueError(f"quantiles must be numbers in (0, 1), such as (0.05, 0.5, 0.95); got {quantiles!r}")
    return tuple(levels.tolist())
