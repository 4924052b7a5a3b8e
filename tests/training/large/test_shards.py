"""Shards: every epoch has every row once, in an order of its own, however it is cut into ranges."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from lambdak.table.large.cache import build_cache
from lambdak.training.large import shards
from lambdak.training.large.shards import DiskShard, MemoryShard

ROWS = 1000
RECORDS = np.arange(ROWS, dtype=np.uint32).view(np.uint8).reshape(ROWS, 4)


@pytest.fixture(params=["memory", "disk", "disk in buckets"])
def shard(request, monkeypatch):
    if request.param == "memory":
        yield MemoryShard([RECORDS[:300], RECORDS[300:]], (7, 0))
        return
    if request.param == "disk in buckets":
        monkeypatch.setattr("lambdak.table.large.cache.BUCKET_ROWS", 150)
    with build_cache(None, "key", 4, ROWS, iter([RECORDS[:600], RECORDS[600:]]), 0) as cache:
        yield DiskShard(cache, (7, 0))


def rows(shard, first, last):
    parts = [records[order] for records, order in shard.take(first, last)]
    return np.concatenate(parts).copy().view(np.uint32).ravel().tolist() if parts else []


def test_every_epoch_has_all_rows_in_an_order_of_its_own(shard):
    epochs = [rows(shard, epoch * ROWS, (epoch + 1) * ROWS) for epoch in range(3)]
    assert all(sorted(epoch) == list(range(ROWS)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]
    assert epochs[0] != list(range(ROWS))


def test_ranges_are_those_of_one_sequence(shard):
    whole = rows(shard, 0, 3 * ROWS)
    cuts = [0, 1, 137, 137, 999, 1000, 1001, 2500, 3 * ROWS]
    assert [row for first, last in itertools.pairwise(cuts) for row in rows(shard, first, last)] == whole


def test_a_later_range_does_not_depend_on_what_was_read_before(shard):
    wanted = rows(shard, 1700, 2300)
    rows(shard, 0, 400)
    assert rows(shard, 1700, 2300) == wanted


def test_shards_of_other_numbers_have_other_orders():
    one, other = (rows(shards.MemoryShard([RECORDS], (7, number)), 0, ROWS) for number in (0, 1))
    assert one != other
