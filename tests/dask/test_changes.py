"""Sources that change between the passes of a fit on Dask: an error that names the partition."""

from __future__ import annotations

import time

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask_cases import large_fit, table

from lambdak.dask.driver import DaskFit
from lambdak.table.large.batches import ChangedSourceError

FRAME = table(900)


def cells(frame):
    return frame.assign(a=-frame["a"])


def nothing(frame):
    return frame.head(0)


def order(frame):
    return frame[::-1]


@pytest.mark.parametrize(("change", "says"), [
    (cells, "these rows were others"), (order, "these rows were others"), (nothing, "there were rows when"),
])  # fmt: skip
def test_a_partition_that_holds_something_else_when_it_is_encoded_is_named(client, tmp_path, monkeypatch, change, says):
    for i, part in enumerate(np.array_split(np.arange(len(FRAME)), 3)):
        FRAME.iloc[part].to_pickle(tmp_path / f"{i}.pickle")
    frame = dd.from_map(lambda i: pd.read_pickle(tmp_path / f"{i}.pickle"), range(3), meta=FRAME.iloc[:0])
    decided = DaskFit._decided

    def changing(self):
        found = decided(self)
        found.result()
        while len(client.who_has()) > 1:  # Dask reads partitions again once it has forgotten them
            time.sleep(0.01)
        change(pd.read_pickle(tmp_path / "1.pickle")).to_pickle(tmp_path / "1.pickle")
        return found

    monkeypatch.setattr(DaskFit, "_decided", changing)
    with pytest.raises(ChangedSourceError, match=rf"{says}.*\(in partition 1\)"):
        large_fit(client, frame)
