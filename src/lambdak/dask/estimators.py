"""The estimators on Dask collections: ``fit`` on the workers of a cluster, predictions partition by partition."""

from __future__ import annotations

from typing import Any, Self

import dask.array as da
import numpy as np
from distributed import Client, default_client
from numpy.typing import DTypeLike

from dask import delayed
from lambdak import estimators as local
from lambdak._checks import check_positive
from lambdak.dask import worker
from lambdak.dask.driver import DaskFit
from lambdak.dask.parts import is_collection, partitions, pieces_of
from lambdak.estimators.base import SpectralEstimator

_TIMEOUT = 60.0


class _OnDask(SpectralEstimator):
    """What the estimators share."""

    def _fit_on(self, X: Any, y: Any, sample_weight: Any, offset: Any, client: Client | None, timeout: float) -> Self:
        if self.warm_start and hasattr(self, "model_"):
            raise ValueError("warm_start must be False on Dask: partial_fit continues with rows in memory")
        request = self._large_request()
        parts = partitions(X, y, sample_weight, offset)
        fit = DaskFit(client or _client(), request, parts, check_positive(timeout, "timeout")).run()
        return self._keep(fit, request.parameters)

    def _each(self, method: str, X: Any, width: tuple[int, ...] = (), dtype: DTypeLike = np.float64) -> Any:
        """What a method says of every partition, as a Dask Array; of a table in memory, as usual."""
        if not is_collection(X):
            return getattr(super(), method)(X)
        here = self._fitted  # an error, if there is none
        model = delayed(getattr(local, here.estimator)._of_saved(self._saved()))
        call, pieces = delayed(worker.predict), pieces_of(X)
        rows = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(pieces)  # what is known of a frame is less
        return da.concatenate([
            da.from_delayed(call(model, method, piece), (own, *width), dtype=dtype)
            for own, piece in zip(rows, pieces, strict=True)
        ])  # fmt: skip


class SpectralRegressor(_OnDask, local.SpectralRegressor):
    """:class:`lambdak.SpectralRegressor` on Dask DataFrames and Arrays, with the same parameters."""

    def fit(  # type: ignore[override]
        self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, client: Client | None = None,
        timeout: float = _TIMEOUT,
    ) -> Self:  # fmt: skip
        """Fit on the workers of a cluster; y, sample_weight and offset have the partitions of X.

        ``timeout`` is for how many seconds a worker may be silent before the fit continues without it.
        """
        return self._fit_on(X, y, sample_weight, offset, client, timeout)

    def predict(self, X: Any, **options: Any) -> Any:
        """The predicted mean (or quantile) of each row; of a collection, a Dask Array."""
        return super().predict(X, **options) if options else self._each("predict", X)


class SpectralQuantileRegressor(_OnDask, local.SpectralQuantileRegressor):
    """:class:`lambdak.SpectralQuantileRegressor` on Dask DataFrames and Arrays, with the same parameters."""

    def fit(  # type: ignore[override]
        self, X: Any, y: Any, sample_weight: Any = None, *, client: Client | None = None, timeout: float = _TIMEOUT
    ) -> Self:
        """Fit on the workers of a cluster: see :meth:`SpectralRegressor.fit`."""
        return self._fit_on(X, y, sample_weight, None, client, timeout)

    def predict_quantiles(self, X: Any) -> Any:
        """The quantiles of each row, (rows, quantiles); of a collection, a Dask Array."""
        return self._each("predict_quantiles", X, (len(self._fitted.outputs.quantile_levels),))

    def predict(self, X: Any) -> Any:
        """The middle one of the quantiles, (rows,); of a collection, a Dask Array."""
        return self._each("predict", X)

    def predict_interval(self, X: Any) -> Any:
        """The lowest and the highest quantile of each row, (rows, 2); of a collection, a Dask Array."""
        return self._each("predict_interval", X, (2,))


class _ClassifierOnDask(_OnDask):
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, client: Client | None = None, timeout: float = _TIMEOUT
    ) -> Self:
        """Fit on the workers of a cluster: see :meth:`SpectralRegressor.fit`."""
        return self._fit_on(X, y, sample_weight, None, client, timeout)

    def predict(self, X: Any) -> Any:
        """The predicted class of each row; of a collection, a Dask Array."""
        return self._each("predict", X, dtype=np.asarray(self._fitted.classes).dtype)

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class, (rows, classes); of a collection, a Dask Array."""
        return self._each("predict_proba", X, (len(np.asarray(self._fitted.classes)),))


class SpectralClassifier(_ClassifierOnDask, local.SpectralClassifier):  # type: ignore[misc]
    """:class:`lambdak.SpectralClassifier` on Dask DataFrames and Arrays, with the same parameters."""

    def decision_function(self, X: Any) -> Any:
        """Raw scores: log-odds (rows,) for two classes, (rows, classes) for more; of a collection, a Dask Array."""
        classes = len(np.asarray(self._fitted.classes))
        return self._each("decision_function", X, () if classes == 2 else (classes,))


class SpectralOrdinalClassifier(_ClassifierOnDask, local.SpectralOrdinalClassifier):  # type: ignore[misc]
    """:class:`lambdak.SpectralOrdinalClassifier` on Dask DataFrames and Arrays, with the same parameters."""


def _client() -> Client:
    try:
        return default_client()
    except ValueError:
        raise ValueError(
            "there is no Dask client: start one first, such as distributed.Client(), or give client="
        ) from None
