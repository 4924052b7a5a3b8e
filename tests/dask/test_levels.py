"""Categories of many levels on Dask: one model, whoever has which shard.

Tests ``driver``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from dask_cases import FAST, bits, cut, local_cluster, table
from distributed import Client

from lambdak.dask import SpectralRegressor
from lambdak.dask.driver import DaskFit
from lambdak.dask.parts import partitions

COLUMNS = ["a", "b", "c", "kind", "code"]


def fitted(workers):
    code = np.random.default_rng(1).integers(0, 60, 900)
    frame = table(900).assign(code=np.char.add("level ", code.astype(str)))
    frame["target"] += np.sin(code)
    model = SpectralRegressor(**FAST)
    request = replace(model._large_request(), sample_rows=400)
    with local_cluster(workers) as cluster, Client(cluster) as client:
        parts = partitions(cut(frame)[COLUMNS], cut(frame)["target"])
        return model._keep(DaskFit(client, request, parts, 20.0).run(), request.parameters)


def test_means_of_levels_are_the_same_bits_on_any_number_of_workers():
    one, three = fitted(1), fitted(3)
    assert one._state.plan.trained.levels
    assert bits(one) == bits(three)
