"""A table to fit quickly, an estimator that does, and the threads of BLAS."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_info

from lambdak import SpectralRegressor

X = np.random.default_rng(0).uniform(-1, 1, (400, 4))
Y = X[:, 0] + X[:, 1] * X[:, 2]


def new(**settings):
    return SpectralRegressor(**{"effort": "fast", "max_iter": 3, "random_state": 0} | settings)


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
