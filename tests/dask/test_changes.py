"""Partitions that hold something else when they are read again: an error that names the partition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dask_cases import COLUMNS, FAST, table

from lambdak.dask import SpectralRegressor, worker
from lambdak.table.large.batches import ChangedSourceError

PARTS = [table(900).iloc[part] for part in np.array_split(np.arange(900), 3)]


def pieces(frame):
    return frame[COLUMNS], frame["target"], None, None


CHANGES = {
    "cells": (PARTS[1].assign(a=-PARTS[1]["a"]), "these rows were others when"),
    "order": (PARTS[1][::-1], "these rows were others when"),
    "targets": (PARTS[1].assign(target=0.0), "these rows were others when"),
    "fewer rows": (PARTS[1].head(50), "these rows were others when"),
    "no rows": (PARTS[1].head(0), "there were rows when"),
}


@pytest.fixture(scope="module")
def decided():
    """A request, and what a sample of the partitions decides."""
    request = replace(SpectralRegressor(**FAST)._large_request(), sample_rows=400)
    summaries = [worker.summarise(request, i, *pieces(part)) for i, part in enumerate(PARTS)]
    return request, worker.decide(request, worker.merge(*summaries))


@pytest.mark.parametrize("change", CHANGES)
def test_a_partition_that_has_changed_since_it_was_summarised_is_named(decided, monkeypatch, change):
    monkeypatch.setattr(worker, "_threads", lambda: 1)
    changed, says = CHANGES[change]
    assert len(worker.pack(*decided, 1, *pieces(PARTS[1])))
    with pytest.raises(ChangedSourceError, match=rf"{says}.*\(in partition 1\)"):
        worker.pack(*decided, 1, *pieces(changed))
