"""Schedules of large fits: fewer epochs for longer tables, all rows equally often, and as many laps as are useful."""

from __future__ import annotations

import pytest

from lambdak import SpectralRegressor
from lambdak.training.large.trainer import large_schedule


def schedule(rows, **settings):
    return large_schedule(SpectralRegressor(**settings)._large_request().settings, rows)


@pytest.mark.parametrize("rows", [300, 300_000, 5_000_000, 100_000_000, 3_000_000_000])
def test_every_row_comes_in_every_epoch(rows):
    found = schedule(rows)
    assert found.reached(rows, 0) == 0
    assert found.reached(rows, found.steps) == found.epochs * rows
    assert found.reached(1, found.steps) == found.epochs
    assert 1 <= found.laps <= 400


def test_longer_tables_have_fewer_epochs_but_at_least_one():
    epochs = [schedule(rows).epochs for rows in (300_000, 1_000_000, 10_000_000, 1_000_000_000)]
    assert epochs == sorted(epochs, reverse=True)
    assert epochs[-1] == 1


def test_max_iter_is_the_number_of_epochs():
    assert schedule(10_000_000, max_iter=7).epochs == 7


def test_batches_grow_with_the_table_up_to_a_limit():
    batches = [schedule(rows).plain.batch for rows in (10_000, 5_000_000, 1_000_000_000)]
    assert batches == sorted(batches)
    assert batches[-1] == 8192
