"""The estimators on Dask collections: ``fit`` on the workers of a cluster, predictions partition by partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import dask.array as da
import numpy as np
from distributed import Client, default_client
from numpy.typing import DTypeLike

from dask import delayed
from lambdak import estimators as local
from lambdak._checks import check_positive
from lambdak.dask import worker
from lambdak.dask.driver import START, DaskFit
from lambdak.dask.parts import is_collection, logarithms, partitions, pieces_of
from lambdak.estimators.base import SpectralEstimator
from lambdak.model import Model
from lambdak.model.rows import check_exposure
from lambdak.table.rows import Rows

_TIMEOUT = 60.0


class _OnDask(SpectralEstimator):
    """What the estimators share."""

    def _fit_on(
        self, X: Any, y: Any, sample_weight: Any, offset: Any, client: Client | None, timeouts: tuple[float, float]
    ) -> Self:
        if self.warm_start and hasattr(self, "model_"):
            raise ValueError("warm_start must be False on Dask: partial_fit continues with rows in memory")
        request = self._large_request()
        parts = partitions(X, y, sample_weight, offset)
        silence = check_positive(timeouts[0], "timeout")
        start = check_positive(timeouts[1], "start_timeout")
        fit = DaskFit(client or _client(), request, parts, silence, start).run()
        return self._keep(fit, request.parameters)._observed()

    def _each(
        self,
        method: str,
        X: Any,
        width: tuple[int, ...] = (),
        dtype: DTypeLike = np.float64,
        options: Mapping[str, Any] | None = None,
        **beside: Any,
    ) -> Any:
        """What a method says of every partition, as a Dask Array; of a table in memory, as usual.

        ``beside`` are offsets: collections like X, or a number for all rows; ``options`` are the same for all of them.
        """
        options = options or {}
        beside = {name: value for name, value in beside.items() if value is not None}
        if not is_collection(X):
            return getattr(super(), method)(X, **options, **beside)
        model, call, pieces = delayed(self._in_memory()), delayed(worker.predict), pieces_of(X)
        keywords: list[dict[str, Any]] = [{**options} for _ in pieces]
        for name, value in beside.items():
            parts = pieces_of(value, name, X, len(pieces)) if np.ndim(value) else [value] * len(pieces)
            for of_piece, part in zip(keywords, parts, strict=True):
                of_piece[name] = part
        rows = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(pieces)  # what is known of a frame is less
        return da.concatenate([
            da.from_delayed(call(model, method, piece, **added), (length, *width), dtype=dtype)
            for length, piece, added in zip(rows, pieces, keywords, strict=True)
        ])  # fmt: skip

    def _in_memory(self) -> SpectralEstimator:
        """The fitted model as an estimator of tables in memory."""
        estimator: SpectralEstimator = getattr(local, self._fitted.estimator)._of_saved(self._saved())
        return estimator

    def _refitted(self, seed: int, rows: Rows) -> Model:
        return self._in_memory()._refitted(seed, rows)


class SpectralRegressor(_OnDask, local.SpectralRegressor):
    """:class:`lambdak.SpectralRegressor` on Dask DataFrames and Arrays, with the same parameters."""

    def fit(  # type: ignore[override]
        self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, exposure: Any = None,
        client: Client | None = None, timeout: float = _TIMEOUT, start_timeout: float = START,
    ) -> Self:  # fmt: skip
        """Fit on the workers of a cluster; y, sample_weight and offset, or exposure, have the partitions of X.

        ``timeout`` is for how many seconds a worker may be silent before the fit continues without it; it comes back
        when it answers. ``start_timeout`` is for how many seconds workers may take to begin: to import, and to end what
        else they compute. ``verbose`` shows progress here, not on workers.
        """
        if exposure is not None:
            check_exposure(self._loss(), offset)
            offset = logarithms(exposure)
        return self._fit_on(X, y, sample_weight, offset, client, (timeout, start_timeout))

    def predict(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Any:
        """The predicted mean (or quantile) of each row; of a collection, a Dask Array."""
        return self._each("predict", X, offset=offset, exposure=exposure)


class SpectralQuantileRegressor(_OnDask, local.SpectralQuantileRegressor):
    """:class:`lambdak.SpectralQuantileRegressor` on Dask DataFrames and Arrays, with the same parameters."""

    def fit(  # type: ignore[override]
        self, X: Any, y: Any, sample_weight: Any = None, *, client: Client | None = None, timeout: float = _TIMEOUT,
        start_timeout: float = START,
    ) -> Self:  # fmt: skip
        """Fit on the workers of a cluster: see :meth:`SpectralRegressor.fit`."""
        return self._fit_on(X, y, sample_weight, None, client, (timeout, start_timeout))

    def predict_quantiles(self, X: Any, levels: Any = None) -> Any:
        """The quantiles of each row, (rows, levels); of a collection, a Dask Array."""
        wanted = self._fitted.outputs.quantile_levels if levels is None else np.atleast_1d(levels)
        return self._each("predict_quantiles", X, (len(wanted),), options={"levels": levels})

    def predict(self, X: Any) -> Any:
        """The middle one of the quantiles, (rows,); of a collection, a Dask Array."""
        return self._each("predict", X)

    def predict_interval(self, X: Any, coverage: float | None = None, *, side: str = "both") -> Any:
        """The ends of an interval for each row, (rows, 2); of a collection, a Dask Array."""
        return self._each("predict_interval", X, (2,), options={"coverage": coverage, "side": side})


class _ClassifierOnDask(_OnDask):
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, client: Client | None = None,
        timeout: float = _TIMEOUT, start_timeout: float = START,
    ) -> Self:  # fmt: skip
        """Fit on the workers of a cluster: see :meth:`SpectralRegressor.fit`."""
        return self._fit_on(X, y, sample_weight, offset, client, (timeout, start_timeout))

    def predict(self, X: Any, *, offset: Any = None) -> Any:
        """The predicted class of each row; of a collection, a Dask Array."""
        return self._each("predict", X, dtype=np.asarray(self._fitted.classes).dtype, offset=offset)

    def predict_proba(self, X: Any, *, offset: Any = None) -> Any:
        """The probability of each class, (rows, classes); of a collection, a Dask Array."""
        return self._each("predict_proba", X, (len(np.asarray(self._fitted.classes)),), offset=offset)


class SpectralClassifier(_ClassifierOnDask, local.SpectralClassifier):  # type: ignore[misc]
    """:class:`lambdak.SpectralClassifier` on Dask DataFrames and Arrays, with the same parameters."""

    def decision_function(self, X: Any, *, offset: Any = None) -> Any:
        """Raw scores: log-odds (rows,) for two classes, (rows, classes) for more; of a collection, a Dask Array."""
        classes = len(np.asarray(self._fitted.classes))
        return self._each("decision_function", X, () if classes == 2 else (classes,), offset=offset)


class SpectralOrdinalClassifier(_ClassifierOnDask, local.SpectralOrdinalClassifier):  # type: ignore[misc]
    """:class:`lambdak.SpectralOrdinalClassifier` on Dask DataFrames and Arrays, with the same parameters."""


def _client() -> Client:
    try:
        return default_client()
    except ValueError:
        raise ValueError(
            "there is no Dask client: start one first, such as distributed.Client(), or give client="
        ) from None
