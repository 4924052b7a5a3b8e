"""scikit-learn regressors on tables: means under various losses, and quantiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from lambdak._checks import FloatArray
from lambdak.estimators.base import SpectralEstimator, given_rows
from lambdak.estimators.large import is_elsewhere, opened
from lambdak.losses import Loss, Pinball, make_loss
from lambdak.table.rows import given_together, target_rows
from lambdak.training.checkpoint_file import PathLike, open_checkpoint
from lambdak.training.large.targets import Numbers, Targets
from lambdak.training.large.transport import Transport


class SpectralRegressor(RegressorMixin, SpectralEstimator):
    """Regression on a table, f = Σ_m w_m λ_k(A_m(row)), with guarantees that hold by construction.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"}
        What to minimise; poisson, gamma and tweedie use a log link.
    quantile, power : float
        Of the losses "quantile" and "tweedie".
    dim : int, optional
        Size of the matrices; a larger one is more expressive. None leaves it to ``effort``, and from "balanced" on to
        the table: larger matrices with more knots are taken where trial models do better with them on unseen rows.
    eig_idx : int, optional
        Which eigenvalue, zero-based ascending; None is the middle one. Where it is set, ``dim`` is left to ``effort``
        alone.
    shape : {None, "convex", "concave"}
        Convex or concave in all numeric columns together: the last or first eigenvalue, curves that bend one way only
        by semidefinite hinges, and continue straight outside of the training range.
    monotonic_cst : dict, array or {"increasing", "decreasing"}, optional
        Column name or position → 1 (never falls) or -1 (never rises).
    max_influence : float, dict or array, optional
        Hard cap on what a column can do to the raw score, for all columns, by name or position, or one for each.
    categorical_features
        As in scikit-learn's HistGradientBoosting; "from_dtype" takes strings, booleans and categories.
    max_categories : int, optional
        Most levels of a category, as in scikit-learn's OneHotEncoder: if there are more, the rarest ones become one
        level, with a warning. None keeps up to 131,072; levels with few rows share what is learnt of them.
    n_knots : int or "auto"
        Knots per numeric column; 0 makes columns linear. "auto" depends on the rows and columns of the table, and on
        ``effort`` like ``dim``.
    alpha : float
        Penalty on the spectral norm of each column by which useless columns become exactly zero, before the members
        are trained on the others. Columns of pure noise vanish at about 1.
    effort : {"fast", "balanced", "best"}
        How much time accuracy may cost: the size, number and epochs of the members.
    n_estimators : int, optional
        Members of the convex combination; 1 is a single set of matrices.
    max_iter : int, optional
        Epochs; None leaves it to ``effort``, and members are then refitted on all rows for some more, or polished by
        L-BFGS on small tables without noise.
    early_stopping, n_iter_no_change, tol
        Stop after ``n_iter_no_change`` epochs in which no member improved by ``tol`` on its validation rows.
    validation_fraction : float
        Share of the rows on which a member is validated and, before the refit, not trained, a different one for each;
        ``fit`` takes ``X_val`` and ``y_val`` instead, on which no member is trained.
    warm_start : bool
        Whether another ``fit`` continues with the fitted members; knots and levels of the first one stay.
    verbose : int
        A progress bar with the loss and the time left.
    random_state
        Same seed, same model, bit for bit, whatever the number of threads.
    n_jobs : int, optional
        Threads; None leaves it to :func:`lambdak.set_num_threads`, -1 is every CPU.

    Attributes
    ----------
    model_ : lambdak.model.Model
        The fitted model, immutable: matrices, convex weights, columns, loss, promises.
    feature_importances_
        Mean absolute effect of each column on the raw score, over training rows.
    feature_strengths_
        Proven bound on what each column can do to the raw score.
    loss_curve_, validation_curve_
        Losses of each member after every epoch, with the target in units of its spread for losses without a link.
    n_iter_
        Epochs that were run, without those of the refit.
    n_features_in_, feature_names_in_
        Columns of the training table, and their names if it had any.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = SpectralRegressor(effort="fast", monotonic_cst={"bmi": 1}, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.4)
    True
    """

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        quantile: float = 0.5,
        power: float = 1.5,
        dim: int | None = None,
        eig_idx: int | None = None,
        shape: str | None = None,
        monotonic_cst: Mapping[Any, int] | Sequence[int] | str | None = None,
        max_influence: Mapping[Any, float] | Sequence[float] | float | None = None,
        categorical_features: Any = "from_dtype",
        max_categories: int | None = None,
        n_knots: int | str = "auto",
        alpha: float = 0.0,
        effort: str = "balanced",
        n_estimators: int | None = None,
        max_iter: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            dim=dim, eig_idx=eig_idx, shape=shape, monotonic_cst=monotonic_cst, max_influence=max_influence,
            categorical_features=categorical_features, max_categories=max_categories, n_knots=n_knots, alpha=alpha,
            effort=effort,
            n_estimators=n_estimators, max_iter=max_iter, early_stopping=early_stopping,
            validation_fraction=validation_fraction, n_iter_no_change=n_iter_no_change, tol=tol,
            warm_start=warm_start, verbose=verbose, random_state=random_state, n_jobs=n_jobs,
        )  # fmt: skip
        self.loss = loss
        self.quantile = quantile
        self.power = power

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        offset: ArrayLike | None = None,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        checkpoint: PathLike | None = None,
        checkpoint_every: float = 60.0,
        cache: PathLike | None = None,
        transport: Transport | None = None,
    ) -> Self:
        """Fit to a table and its targets.

        X may be larger than memory: the path of a Parquet file or of a folder of them, a pyarrow dataset, or an object
        that can be iterated again over batches. y, sample_weight and offset are then names of columns. Rows are encoded
        once, into a ``cache`` beside the file or in the folder that is given, and trained from there. With a
        ``transport``, X are the rows of this process, and all processes of it fit one model together.

        ``checkpoint`` is the path of a file from which the same call continues if its process is killed, and ends with
        the same model, bit for bit. It is saved about every ``checkpoint_every`` seconds, and removed when the fit has
        ended.
        """
        X, file = opened(X), open_checkpoint(checkpoint, checkpoint_every)
        if is_elsewhere(X, cache, transport):
            return self._fit_elsewhere((X, y, sample_weight, offset, X_val), cache, transport, file)
        loss = self._loss()
        unseen = (X_val, loss.check_target(target_rows(y_val, "y_val"))) if given_together(X_val, y_val) else None
        target = loss.check_target(target_rows(y))
        return self._fit(given_rows(X, target, sample_weight, offset, unseen), loss, checkpoint=file)

    def partial_fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, offset: ArrayLike | None = None
    ) -> Self:
        """Continue training with these rows; the first call is a fit, and its columns, knots and levels stay."""
        X = opened(X)
        if not hasattr(self, "model_"):
            return self.fit(X, y, sample_weight, offset=offset)
        if is_elsewhere(X):
            return self._continue_batches(X, y, sample_weight, offset)
        target = self.model_.loss.check_target(target_rows(y))
        return self._continue(given_rows(X, target, sample_weight, offset))

    def _loss(self) -> Loss:
        return make_loss(self.loss, quantile=self.quantile, power=self.power)

    def _targets(self) -> Targets:
        return Numbers(self._loss())

    def predict(self, X: Any, *, offset: ArrayLike | None = None) -> FloatArray:
        """The predicted mean (or quantile) of each row."""
        return self._predict(X, offset)


class SpectralQuantileRegressor(RegressorMixin, SpectralEstimator):
    """Several quantiles of one model, f(x, q) = λ_k(A(x) + P(q)), that never cross: P rises by semidefinite steps.

    Settings as in :class:`SpectralRegressor`; a monotone constraint holds for all quantiles.

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
        quantiles: Sequence[float] = (0.05, 0.5, 0.95),
        *,
        dim: int | None = None,
        eig_idx: int | None = None,
        shape: str | None = None,
        monotonic_cst: Mapping[Any, int] | Sequence[int] | str | None = None,
        max_influence: Mapping[Any, float] | Sequence[float] | float | None = None,
        categorical_features: Any = "from_dtype",
        max_categories: int | None = None,
        n_knots: int | str = "auto",
        alpha: float = 0.0,
        effort: str = "balanced",
        n_estimators: int | None = None,
        max_iter: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            dim=dim, eig_idx=eig_idx, shape=shape, monotonic_cst=monotonic_cst, max_influence=max_influence,
            categorical_features=categorical_features, max_categories=max_categories, n_knots=n_knots, alpha=alpha,
            effort=effort,
            n_estimators=n_estimators, max_iter=max_iter, early_stopping=early_stopping,
            validation_fraction=validation_fraction, n_iter_no_change=n_iter_no_change, tol=tol,
            warm_start=warm_start, verbose=verbose, random_state=random_state, n_jobs=n_jobs,
        )  # fmt: skip
        self.quantiles = quantiles

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        checkpoint: PathLike | None = None,
        checkpoint_every: float = 60.0,
        cache: PathLike | None = None,
        transport: Transport | None = None,
    ) -> Self:
        """Fit to a table and its targets.

        Tables larger than memory, ``checkpoint``, ``cache`` and ``transport`` are as in :meth:`SpectralRegressor.fit`.
        """
        X, file = opened(X), open_checkpoint(checkpoint, checkpoint_every)
        if is_elsewhere(X, cache, transport):
            return self._fit_elsewhere((X, y, sample_weight, None, X_val), cache, transport, file)
        loss = Pinball(_levels(self.quantiles))
        unseen = (X_val, loss.check_target(target_rows(y_val, "y_val"))) if given_together(X_val, y_val) else None
        target = loss.check_target(target_rows(y))
        return self._fit(given_rows(X, target, sample_weight, None, unseen), loss, checkpoint=file)

    def partial_fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Continue training with these rows; the first call is a fit, and its columns, knots and levels stay."""
        X = opened(X)
        if not hasattr(self, "model_"):
            return self.fit(X, y, sample_weight)
        if is_elsewhere(X):
            return self._continue_batches(X, y, sample_weight)
        target = self.model_.loss.check_target(target_rows(y))
        return self._continue(given_rows(X, target, sample_weight))

    def _targets(self) -> Targets:
        return Numbers(Pinball(_levels(self.quantiles)))

    def predict_quantiles(self, X: Any) -> FloatArray:
        """The quantiles of each row, (rows, quantiles), in ascending order."""
        return self._raw(X)

    def predict(self, X: Any) -> FloatArray:
        """The middle one of the quantiles, (rows,): by default the median."""
        quantiles = self.predict_quantiles(X)
        return quantiles[:, quantiles.shape[1] // 2]

    def predict_interval(self, X: Any) -> FloatArray:
        """The lowest and the highest quantile of each row, (rows, 2)."""
        return self.predict_quantiles(X)[:, [0, -1]]


def _levels(quantiles: Any) -> tuple[float, ...]:
    """Quantile levels, from one number or several."""
    try:
        levels = np.atleast_1d(np.asarray(quantiles, float))
    except (TypeError, ValueError):
        levels = np.empty((0, 0))
    if levels.ndim != 1:
        raise ValueError(f"quantiles must be numbers in (0, 1), such as (0.05, 0.5, 0.95); got {quantiles!r}")
    return tuple(levels.tolist())
