"""What the estimators share: their settings, a frozen model as the result of a fit, and training that continues."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from lambdak._types import Float64Array, FloatArray, PathLike
from lambdak.eigen.runtime import thread_count
from lambdak.estimators.fit_arguments import fit_elsewhere
from lambdak.estimators.methods import ModelMethods
from lambdak.estimators.settings import (
    check_unchanged,
    fit_settings,
    new_generator,
    new_seed,
    parameters_of,
    protected_columns,
)
from lambdak.estimators.views import FittedViews
from lambdak.losses import Loss
from lambdak.model import Model
from lambdak.model.rows import row_offset
from lambdak.shapes.contract import Shape
from lambdak.table.doubtful_columns import warn_of_columns
from lambdak.table.large.batches import drawn, errors_at
from lambdak.table.matching import warn_of_names
from lambdak.table.read import read_table
from lambdak.training.checkpoint import Checkpoint, NoCheckpoint
from lambdak.training.rows import GivenRows
from lambdak.training.settings import LOSS

if TYPE_CHECKING:
    from lambdak.store import SavedModel, SavedTraining
    from lambdak.table.rows import Rows
    from lambdak.training.finish import Fit, TrainingState
    from lambdak.training.large.choice import LargeRequest
    from lambdak.training.large.targets import LargeTargets
    from lambdak.training.large.transport import Transport
    from lambdak.training.session import FitRequest


class SpectralEstimator(FittedViews, ModelMethods, BaseEstimator):
    """raw score = start + scale Σ_m w_m λ_k(A_m(row)): a convex combination of a few pencils, fitted to a table."""

    model_: Model
    n_iter_: int
    loss_curve_: FloatArray
    validation_curve_: FloatArray
    train_score_: FloatArray
    validation_score_: FloatArray
    _parameters: dict[str, Any]  # as they were at the time of the fit
    _state: TrainingState | None = None  # None in a model that was loaded
    _effects: Float64Array | None = None

    def __init__(
        self,
        *,
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
        self.dim = dim
        self.eig_idx = eig_idx
        self.shape = shape
        self.monotonic_cst = monotonic_cst
        self.max_influence = max_influence
        self.interaction_cst = interaction_cst
        self.constraints = constraints
        self.protected_features = protected_features
        self.categorical_features = categorical_features
        self.max_categories = max_categories
        self.n_knots = n_knots
        self.alpha = alpha
        self.effort = effort
        self.n_estimators = n_estimators
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.balance = balance
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ---- what a fit leaves behind -----------------------------------------------------------------------------

    @property
    def n_features_in_(self) -> int:
        """Columns of the training table."""
        return self.model_.encoder.n_features

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the training table's columns, if it had any."""
        encoder = self.model_.encoder
        if not encoder.from_names:
            raise AttributeError("the training table had no column names")
        return np.asarray(encoder.feature_names, dtype=object)

    @feature_names_in_.setter
    def feature_names_in_(self, names: None) -> None:
        """Forget the names if set to None, as SHAP does on its copy of a model: columns are then found by position."""
        if names is not None:
            raise AttributeError("feature_names_in_ are those of the training table: rename its columns and fit again")
        self.model_ = self.model_.replace(encoder=self.model_.encoder.nameless())

    @property
    def feature_importances_(self) -> Float64Array:
        """What each column does on average: mean |effect| on the raw score over (up to 300) training rows.

        An effect is the change from the baseline of the column, the median or the average level, to the row's cell.
        The proven bound on any change is ``feature_strengths_``.
        """
        if self._effects is None:
            check_is_fitted(self, "model_")
            raise AttributeError(
                "feature_importances_ needs the training rows, which a saved model does not hold: use "
                "explain_global(X) with rows of your own, or save(..., training_state=True)"
            )
        return self._effects

    def __getstate__(self) -> Any:
        """Everything but what only training needs, so that a pickle is about as large as a saved file."""
        state = dict(super().__getstate__())
        state.pop("_state", None)
        return state

    def __copy__(self) -> Self:
        """A copy whose training can continue: what that needs is never changed, so both may hold it."""
        return self._copied(vars(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """As a copy, with settings and model that are copies, too."""
        return self._copied({name: deepcopy(value, memo) for name, value in vars(self).items() if name != "_state"})

    def _copied(self, attributes: Mapping[str, Any]) -> Self:
        other = type(self).__new__(type(self))
        for name, value in attributes.items():
            setattr(other, name, value)
        other._state = self._state
        return other

    # ---- fitting ----------------------------------------------------------------------------------------------

    def _fit(
        self, rows: GivenRows, loss: Loss, classes: NDArray[Any] | None = None, checkpoint: Checkpoint | None = None
    ) -> Self:
        """Fit a new model, or continue with ``warm_start``; a fit that fails leaves everything as it was."""
        from lambdak.training.fit import fit_model

        if hasattr(self, "model_") and self.warm_start:
            return self._continue(rows, checkpoint, partial=False)
        request = self._request(rows, loss, classes, checkpoint)
        if not issparse(rows.X):
            protected_columns(self, rows.X.names)
            warn_of_columns(rows.X, self.categorical_features, rows.weight)
        return self._keep(fit_model(request), request.parameters)._observed()

    def _continue(self, rows: GivenRows, checkpoint: Checkpoint | None = None, *, partial: bool = True) -> Self:
        """Train the fitted members further on these rows."""
        from lambdak.training.fit import continue_fit

        if self._state is None:
            raise ValueError(
                "training cannot continue: a model that was loaded or unpickled holds only what predicts. Save the "
                "estimator that was fitted with save(..., training_state=True) and load that, or continue with it; or "
                "fit again with warm_start=False"
            )
        self._read(rows.X)
        model, state = self.model_, self._state
        request = self._request(rows, model.loss, model.classes, checkpoint)
        settings = request.settings.fitted_to(model.loss)
        check_unchanged(model, state.plan.n_terms, self._parameters, request.parameters, settings)
        return self._keep(continue_fit(model, state, request, partial), request.parameters, self._target.name)

    def _request(
        self, rows: GivenRows, loss: Loss, classes: NDArray[Any] | None, checkpoint: Checkpoint | None
    ) -> FitRequest:
        from lambdak.training.session import FitRequest

        settings, rng, parameters = fit_settings(self), new_generator(self.random_state), parameters_of(self)
        return FitRequest(
            type(self).__name__, rows, loss, settings, rng, classes, parameters, checkpoint or NoCheckpoint()
        )

    def _targets(self) -> LargeTargets:
        """What the targets of a large table must be."""
        raise NotImplementedError

    def _fit_elsewhere(
        self,
        X: Any,
        beside: Mapping[str, Any],
        validation: Mapping[str, Any] | None,
        cache: PathLike | None,
        transport: Transport | None,
        checkpoint: Checkpoint | None,
    ) -> Self:
        """Fit to rows that are not in memory, or of several processes; ``beside`` is what comes with X."""
        if validation is not None:
            raise ValueError("X_val cannot be given with a large table: rows of X are used for validation")
        if self.warm_start and hasattr(self, "model_"):
            raise ValueError("warm_start must be False with a large table: partial_fit continues, batch by batch")
        if not isinstance(checkpoint, NoCheckpoint | None) and self.random_state is None:
            raise ValueError(
                "random_state must be set where a large table has a checkpoint, so that the same rows are drawn again"
            )
        request = self._large_request(checkpoint)
        name = beside["y"] if isinstance(beside["y"], str) else None
        return self._keep(fit_elsewhere(request, X, beside, cache, transport), request.parameters, name)._observed()

    def _continue_batches(self, X: Any, y: Any, sample_weight: Any, offset: Any = None, exposure: Any = None) -> Self:
        """Train the fitted members further, batch by batch."""
        before = dict(vars(self))
        try:
            for part in drawn(X, y, sample_weight, offset, exposure):
                beside = {} if part.offset is None else {"offset": part.offset}
                with errors_at(part.place):
                    self.partial_fit(part.X, part.y, sample_weight=part.weight, **beside)
        except BaseException:
            self.__dict__ = before
            raise
        return self

    def _large_request(self, checkpoint: Checkpoint | None = None) -> LargeRequest:
        from lambdak.training.large.choice import LargeRequest

        if self.balance:
            raise ValueError(
                "balance must be False with a large table, whose rows are never in memory together: fit, and add "
                "log(actual / expected) to the offset, or to predictions without a log link their mean error"
            )
        if getattr(self, "calibrate_by", None) is not None:
            raise ValueError(
                "calibrate_by must be None with a large table, whose rows are never in memory together: fit, and call "
                "calibrate(X, y, by=...) with rows that the fit did not see"
            )
        seed, parameters = new_seed(self.random_state), parameters_of(self)
        name, settings = type(self).__name__, fit_settings(self)
        if settings.scoring != LOSS:
            raise ValueError(
                f"scoring must be {LOSS!r} with a large table, whose members stop by their loss; got "
                f"{settings.scoring!r}"
            )
        return LargeRequest(name, self._targets(), settings, seed, parameters, checkpoint or NoCheckpoint())

    def _keep(self, fit: Fit, parameters: dict[str, Any], target_name: str | None = None) -> Self:
        """Become the estimator of a fit; the target has a name if it was a column of the training table."""
        train = np.array([event.train for event in fit.history])
        validation = np.array([event.validation for event in fit.history])
        self.model_, self._state, self._effects, self._parameters = fit.model, fit.state, fit.effects, parameters
        self.n_iter_, self.loss_curve_, self.validation_curve_ = len(fit.history), train, validation
        self.train_score_ = np.array([event.train_score for event in fit.history])
        self._target = replace(fit.target, name=target_name)
        self.validation_score_ = np.array([event.validation_score for event in fit.history])
        return self

    @classmethod
    def _of_saved(cls, saved: SavedModel) -> Self:
        """The estimator of a model that was saved: it predicts, and continues if its training state was saved, too."""
        estimator = cls(**deepcopy(saved.parameters))
        estimator.model_, estimator._parameters, estimator.n_iter_ = saved.model, saved.parameters, saved.n_iter
        estimator._target = saved.target
        if saved.training is not None:
            from lambdak.estimators.saved_training import restored_training

            estimator._state, estimator._effects = restored_training(saved.model, saved.training)
        return estimator

    def _saved_training(self) -> SavedTraining:
        from lambdak.estimators.saved_training import saved_training

        model = self._fitted
        if self._state is None or self._effects is None:
            raise ValueError(
                "training_state=True needs an estimator whose training can continue: this one was loaded or unpickled "
                "without it. Save it without, or fit it again"
            )
        return saved_training(model, self._state, self._effects)

    def _refitted(self, seed: int, rows: Rows) -> Model:
        other: Any = type(self)(**deepcopy(self._parameters) | {"random_state": seed, "warm_start": False})
        given = {"offset": rows.offset, "exposure": rows.exposure}
        beside = {name: value for name, value in given.items() if value is not None}
        return cast(Model, other.fit(rows.X, rows.y, rows.weight, **beside).model_)

    def _raw(self, X: Any, offset: ArrayLike | None = None) -> FloatArray:
        """Return raw scores: before the link."""
        model, table = self._fitted, self._read(X)
        return model.raw(table, row_offset(model.loss, offset, None, table.shape[0]), thread_count(self.n_jobs))

    def _predict(self, X: Any, offset: ArrayLike | None = None, exposure: ArrayLike | None = None) -> FloatArray:
        """Return means, quantiles or probabilities."""
        model, table = self._fitted, self._read(X)
        return model.predict(table, row_offset(model.loss, offset, exposure, table.shape[0]), thread_count(self.n_jobs))

    def _read(self, X: Any) -> Any:
        """A table to predict, or to continue with, read once; a warning says if its names are not those of training."""
        encoder, table = self._fitted.encoder, X if issparse(X) else read_table(X, keep=False)
        warn_of_names(encoder.feature_names, encoder.from_names, None if issparse(X) else table, self._target.name)
        return table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        return tags
