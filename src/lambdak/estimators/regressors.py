"""The scikit-learn regressor on tables: means under various losses, or one quantile."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from lambdak._types import FloatArray, PathLike
from lambdak.estimators.base import SpectralEstimator
from lambdak.estimators.fit_arguments import is_elsewhere, opened, rows_of_numbers, validation_arguments
from lambdak.losses import Loss, make_loss
from lambdak.model.rows import check_exposure
from lambdak.shapes.contract import Shape
from lambdak.table.rows import read_rows, target_rows

if TYPE_CHECKING:
    from lambdak.training.large.targets import LargeTargets
    from lambdak.training.large.transport import Transport


class SpectralRegressor(RegressorMixin, SpectralEstimator):
    """Regression on a table, f = Σ_m w_m λ_k(A_m(row)), with guarantees that hold by construction.

    Parameters
    ----------
    loss : str, default "squared_error"
        What to minimise: "squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma" or "tweedie"; the
        last three use a log link.
    quantile : float in (0, 1), default 0.5
        The quantile that ``loss="quantile"`` predicts, 0.5 is the median; other losses ignore it. For several quantiles
        that never cross there is :class:`SpectralQuantileRegressor`.
    power : float in [1, 2], default 1.5
        Power p of the variance under ``loss="tweedie"``: it grows like the mean to the power p. 1 is the loss
        "poisson", 2 is "gamma"; other losses ignore it.
    dim : int in [1, 128], default None
        Size of the matrices; a larger one is more expressive. None leaves it to ``effort``, and from "balanced" on to
        the table: larger matrices with more knots are taken where trial models do better with them on unseen rows.
    eig_idx : int in [0, dim), default None
        Which eigenvalue, zero-based ascending; None is the middle one. Where it is set, ``dim`` is left to ``effort``
        alone.
    shape : {None, "convex", "concave"}, default None
        Convex or concave in all numeric columns together: the last or first eigenvalue, curves that bend one way only
        by semidefinite hinges, and continue straight outside of the training range.
    monotonic_cst : dict, array or {"increasing", "decreasing"}, default None
        Column name or position → 1 (never falls) or -1 (never rises).
    max_influence : float, dict or array of numbers ≥ 0, default None
        Hard cap on what a column can do to the raw score, for all columns, by name or position, or one for each. A
        tuple of columns as key, ``{("sex", "title"): 0.1}``, caps what they can do together.
    interaction_cst : {"pairwise", "no_interactions"} or groups of columns, default None
        Which columns may interact, by name or position, as in scikit-learn's HistGradientBoosting: the raw score is a
        sum of functions of one group each. Columns in no group form another one. Each member is then a sum of one
        matrix function per group, so that there may be fewer members than ``n_estimators``; of more than 32 groups, and
        of more than 16 pairs, those with the strongest interactions are taken.
    constraints : list of shapes, default None
        What else is known of columns, as objects of :mod:`lambdak.shapes`: ``[Rising("income"), Convex("age")]``. The
        four parameters above are shorthands for some of them.
    protected_features : names or positions of columns, default None
        What letters to customers must not name, such as age, sex and what stands in for them: ``reasons`` never does,
        and still counts what they do.
    categorical_features : "from_dtype", names, positions or a mask, default "from_dtype"
        As in scikit-learn's HistGradientBoosting; "from_dtype" takes strings, booleans and categories.
    max_categories : int ≥ 1, default None
        Most levels of a category, as in scikit-learn's OneHotEncoder: if there are more, the rarest ones become one
        level, with a warning. None keeps up to 131,072; levels with few rows share what is learnt of them.
    n_knots : 0, int ≥ 2 or "auto", default "auto"
        Knots per numeric column; 0 makes columns linear. "auto" depends on the rows and columns of the table, and on
        ``effort`` like ``dim``.
    alpha : float ≥ 0, default 0.0
        Penalty on the spectral norm of each column by which useless columns become exactly zero, before the members
        are trained on the others. Columns of pure noise vanish at about 1.
    effort : {"fast", "balanced", "best"}, default "balanced"
        How much time accuracy may cost: the size, number and epochs of the members.
    n_estimators : int in [1, 64], default None
        Members of the convex combination; 1 is a single set of matrices, None leaves it to ``effort``.
    max_iter : int ≥ 1, default None
        Epochs; None leaves it to ``effort``, and members are then refitted on all rows for some more, or refined by
        L-BFGS on small tables without noise.
    early_stopping : bool or "auto", default False
        Whether to stop after ``n_iter_no_change`` epochs in which no member improved by more than ``tol`` on its
        validation rows. "auto" does so, as in HistGradientBoosting, with more than 10,000 rows or with ``X_val``.
    scoring : str, default "loss"
        What must improve: "loss", or a metric of scikit-learn by its name, such as "neg_mean_absolute_error". Of all
        epochs the state with the least validation loss is kept.
    validation_fraction : float in [0, 1), default 0.1
        Share of the rows on which a member is validated and, before the refit, not trained, a different one for each;
        ``fit`` takes ``X_val`` and ``y_val`` instead, on which no member is trained.
    n_iter_no_change : int ≥ 1, default 10
        Epochs without progress after which ``early_stopping`` ends the training.
    tol : float ≥ 0, default 0.0
        Least progress that ``early_stopping`` counts.
    balance : bool, default False
        Whether predictions add up to the targets of the rows of ``fit``, with the weights (also of classes) and offsets
        of training; the start is moved, and nothing else, so that every promise stays. For losses that predict means.
    warm_start : bool, default False
        Whether another ``fit`` continues with the fitted members; knots and levels of the first one stay.
    verbose : int, default 0
        1 shows a progress bar with the loss and the time left; 2 a learning curve that grows, in a notebook.
    random_state : int, numpy.random.RandomState or None, default None
        Same seed, same model, bit for bit, whatever the number of threads.
    n_jobs : int, default None
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
    train_score_, validation_score_
        The metric of ``scoring`` of each member after every epoch, the larger the better, on (up to 10,000) training
        rows and on validation rows; for "loss" these are the losses above with a minus.
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
        exposure: ArrayLike | None = None,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
        offset_val: ArrayLike | None = None,
        exposure_val: ArrayLike | None = None,
        eval_set: Any = None,
        checkpoint: PathLike | None = None,
        checkpoint_every: float = 60.0,
        cache: PathLike | None = None,
        transport: Transport | None = None,
    ) -> Self:
        """Fit to a table and its targets.

        ``offset`` is added to the raw score of each row; with a log link, ``exposure`` is the same as its logarithm.
        Rows of ``X_val`` and ``y_val``, or of the pair ``eval_set``, only decide when training has gone far enough;
        they may have weights, offsets and exposures of their own.

        X may be larger than memory: the path of a Parquet file or of a folder of them, a pyarrow dataset, or an object
        that can be iterated again over batches. y, sample_weight, offset and exposure are then names of columns. Rows
        are encoded once, into a ``cache`` beside the file or in the folder that is given, and trained from there. With
        a ``transport``, X are the rows of this process, and all processes of it fit one model together.

        ``checkpoint`` is the path of a file from which the same call continues if its process is killed, and ends with
        the same model, bit for bit. It is saved about every ``checkpoint_every`` seconds, and removed when the fit has
        ended.
        """
        from lambdak.training.checkpoint_file import open_checkpoint

        X, file, loss = opened(X), open_checkpoint(checkpoint, checkpoint_every), self._loss()
        validation = validation_arguments(X_val, y_val, sample_weight_val, offset_val, exposure_val, eval_set)
        if is_elsewhere(X, cache, transport):
            if exposure is not None:
                check_exposure(loss, offset)
            beside = {"y": y, "sample_weight": sample_weight, "offset": offset, "exposure": exposure}
            return self._fit_elsewhere(X, beside, validation, cache, transport, file)
        rows = read_rows(X, y, sample_weight, offset, exposure, positive=True)
        return self._fit(rows_of_numbers(rows, loss, validation), loss, checkpoint=file)

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        offset: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
    ) -> Self:
        """Continue training with these rows; the first call is a fit, and its columns, knots and levels stay."""
        X = opened(X)
        if not hasattr(self, "model_"):
            return self.fit(X, y, sample_weight, offset=offset, exposure=exposure)
        loss = self.model_.loss
        if is_elsewhere(X):
            if exposure is not None:
                check_exposure(loss, offset)
            return self._continue_batches(X, y, sample_weight, offset, exposure)
        return self._continue(rows_of_numbers(read_rows(X, y, sample_weight, offset, exposure, positive=True), loss))

    def _loss(self) -> Loss:
        return make_loss(self.loss, quantile=self.quantile, power=self.power)

    def _targets(self) -> LargeTargets:
        from lambdak.training.large.targets import NumberTargets

        return NumberTargets(self._loss())

    def predict(self, X: Any, *, offset: ArrayLike | None = None, exposure: ArrayLike | None = None) -> FloatArray:
        """The predicted mean (or quantile) of each row; with an ``exposure``, for that many units of it."""
        return self._predict(X, offset, exposure)

    def score(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        offset: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
    ) -> float:
        """R² of the predictions: the share of the variance of y that they explain."""
        target = self._fitted.loss.check_target(target_rows(y))
        predicted = self.predict(X, offset=offset, exposure=exposure)
        return float(r2_score(target, predicted, sample_weight=sample_weight))
