"""Tables cut into partitions, estimators that fit them quickly, and their results to the last bit."""

from __future__ import annotations

from dataclasses import replace

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import LocalCluster

from lambdak.dask import SpectralRegressor
from lambdak.dask.driver import DaskFit
from lambdak.dask.parts import partitions

COLUMNS = ["a", "b", "c", "kind"]
FAST = {"effort": "fast", "max_iter": 2, "random_state": 0}


def table(rows=1500, seed=0):
    """Features of three numbers and a category, a target, classes of it, weights and offsets."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.uniform(-1, 1, (rows, 3)), columns=["a", "b", "c"])
    frame["kind"] = rng.choice(["x", "y", "z"], rows)
    frame["target"] = frame["a"] + frame["b"] * frame["c"] + (frame["kind"] == "x") + 0.1 * rng.standard_normal(rows)
    frame["label"] = np.array(["high", "low", "middle"])[np.digitize(frame["target"], [-0.3, 0.6])]
    frame["level"] = np.digitize(frame["target"], [-0.3, 0.6])
    frame["weight"] = rng.uniform(0.5, 2.0, rows)
    frame["exposure"] = np.log(rng.uniform(0.5, 2.0, rows))
    return frame


def cut(frame, partitions=6):
    return dd.from_pandas(frame, npartitions=partitions)


def bits(estimator):
    """Everything that a fit leaves behind."""
    model = estimator.model_
    parts = [model.coef, model.start, *estimator._state.theta, estimator.loss_curve_, estimator.validation_curve_]
    return [(np.asarray(part).shape, np.asarray(part).tobytes()) for part in parts]


def local_cluster(workers, processes=False, threads=1):
    return LocalCluster(
        n_workers=workers, threads_per_worker=threads, processes=processes, dashboard_address=":0"
    )  # fmt: skip


def large_fit(client, frame, sample_rows=400, silence=20.0, estimator=None, **options):
    """A large fit of a small table, with what estimators keep to themselves."""
    model = estimator or SpectralRegressor(**FAST)
    request = replace(model._large_request(), sample_rows=sample_rows)
    parts = partitions(frame[COLUMNS], frame["target"])
    return model._keep(DaskFit(client, request, parts, silence, **options).run(), request.parameters)
