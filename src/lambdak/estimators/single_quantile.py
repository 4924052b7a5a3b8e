"""One quantile of a fitted model as a regressor of its own, for tools that take a list of such models."""

from __future__ import annotations

from typing import Any, NoReturn, final

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin

from lambdak._types import FloatArray


@final
class SingleQuantile(RegressorMixin, BaseEstimator):
    """A fitted regressor that predicts the quantile of a model at one level.

    Parameters
    ----------
    model : SpectralQuantileRegressor
        A fitted model.
    level : float in [0, 1]
        The level.
    """

    def __init__(self, model: Any, level: float) -> None:
        self.model = model
        self.level = level

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self.model, "model_")

    @property
    def n_features_in_(self) -> int:
        """Columns of the training table."""
        return int(self.model.n_features_in_)

    def fit(self, X: Any, y: ArrayLike) -> NoReturn:
        """Refuse: the model is fitted for all levels at once."""
        raise NotImplementedError("fit must be called on the model of all quantiles: this is one level of it")

    def predict(self, X: Any) -> FloatArray:
        """The quantile of each row, (rows,)."""
        found: FloatArray = self.model.predict_quantiles(X, [self.level])[:, 0]
        return found
