"""The estimator of quantiles for skpro, whose metrics, searches and pipelines take regressors of distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from lambdak.estimators.quantile_regressor import SpectralQuantileRegressor

try:
    from skpro.distributions.qpd_empirical import QPD_Empirical
    from skpro.regression.base import BaseProbaRegressor
except ImportError:
    raise ImportError("lambdak.estimators.skpro needs skpro: pip install 'lambdak[skpro]'") from None

_PERCENTILES = np.arange(1, 200) / 200  # of which a distribution of skpro is made


class SpectralProbaRegressor(BaseProbaRegressor):
    """:class:`lambdak.SpectralQuantileRegressor` as a probabilistic regressor of skpro.

    ``predict_quantiles`` answers at any level, ``predict_interval`` with calibrated ends where rows were counted, and
    ``predict_proba`` with a distribution of 199 quantiles.

    Parameters
    ----------
    estimator : SpectralQuantileRegressor, default None
        The settings; None is the default of all of them.
    """

    _tags = {  # noqa: RUF012 – skpro reads it from the class
        "capability:missing": True,
        "X_inner_mtype": "pd_DataFrame_Table",
        "y_inner_mtype": "pd_DataFrame_Table",
    }

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator
        super().__init__()

    def _fit(self, X: Any, y: Any) -> SpectralProbaRegressor:
        settings = SpectralQuantileRegressor() if self.estimator is None else self.estimator
        self.estimator_ = clone(settings).fit(X, y.iloc[:, 0].to_numpy())
        self._names = list(y.columns)
        return self

    def _predict(self, X: Any) -> pd.DataFrame:
        return pd.DataFrame(self.estimator_.predict(X), X.index, self._names)

    def _predict_quantiles(self, X: Any, alpha: Any) -> pd.DataFrame:
        levels = np.atleast_1d(np.asarray(alpha, float)).tolist()
        columns = pd.MultiIndex.from_product([self._names, levels])
        return pd.DataFrame(self.estimator_.predict_quantiles(X, levels), X.index, columns)

    def _predict_interval(self, X: Any, coverage: Any) -> pd.DataFrame:
        shares = np.atleast_1d(np.asarray(coverage, float)).tolist()
        calibration = self.estimator_.model_.calibration
        if not calibration.counted:
            ends = [self.estimator_.predict_quantiles(X, [(1 - share) / 2, (1 + share) / 2]) for share in shares]
        else:
            ends = [self.estimator_.predict_interval(X, share) for share in shares]
        columns = pd.MultiIndex.from_product([self._names, shares, ["lower", "upper"]])
        return pd.DataFrame(np.hstack(ends), X.index, columns)

    def _predict_proba(self, X: Any) -> QPD_Empirical:
        quantiles = self.estimator_.predict_quantiles(X, _PERCENTILES)
        place = pd.MultiIndex.from_product([_PERCENTILES.tolist(), X.index])
        frame = pd.DataFrame(quantiles.T.reshape(-1, 1), place, self._names)
        return QPD_Empirical(frame, index=X.index, columns=pd.Index(self._names))

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Settings for skpro's own tests."""
        return [{"estimator": SpectralQuantileRegressor(effort="fast", max_iter=2, random_state=0)}]
