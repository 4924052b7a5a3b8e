"""The estimators of lambdak on Dask collections: the same parameters, the same model, the same file.

>>> from lambdak.dask import SpectralRegressor

Partitions stay on the workers, as compact records; per step, workers send each other one small sum, and the scheduler
carries none of it. The same partitions give the same model, bit for bit, on any number of workers, and also if some of
them are lost on the way.

Modules: ``estimators``; ``parts`` collections as partitions; ``driver`` the whole story on the client, ``attempt``
workers that train together once, ``watch`` lost and silent workers, and how they come back; ``progress`` reported to
the client; ``worker`` what runs on them, ``wire`` sums over a tree of sockets.
"""

from __future__ import annotations

try:
    import distributed as _distributed  # noqa: F401
except ImportError:
    raise ImportError('lambdak.dask needs Dask and its scheduler: pip install "lambdak[dask]"') from None

from lambdak.dask.estimators import (
    SpectralClassifier,
    SpectralOrdinalClassifier,
    SpectralQuantileRegressor,
    SpectralRegressor,
)

__all__ = ["SpectralClassifier", "SpectralOrdinalClassifier", "SpectralQuantileRegressor", "SpectralRegressor"]
