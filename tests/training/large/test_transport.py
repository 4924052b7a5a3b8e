"""Threads of one process as ranks: sums, copies, and errors that all of them see."""

from __future__ import annotations

import numpy as np
import pytest
from large_cases import together

from lambdak.training.large.transport import (
    Alone,
    PeerLostError,
    broadcast_object,
    everywhere,
    gather_numbers,
    gather_objects,
    on_first,
)


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_sums_and_copies_are_those_of_all_ranks(ranks):
    def work(transport):
        array = np.arange(6).reshape(2, 3) * (transport.rank + 1)
        transport.allreduce(array)
        return array.tolist(), gather_objects(transport, f"rank {transport.rank}")

    total = sum(range(1, ranks + 1))
    wanted = (np.arange(6).reshape(2, 3) * total).tolist(), [f"rank {rank}" for rank in range(ranks)]
    assert together(ranks, work) == [wanted] * ranks


def test_a_process_alone_is_a_group():
    array = np.arange(3)
    Alone().allreduce(array)
    assert array.tolist() == [0, 1, 2]
    assert broadcast_object(Alone(), {"a": 1}) == {"a": 1}
    assert everywhere(Alone(), lambda: 3) == [3]


def test_numbers_arrive_bit_for_bit():
    special = np.array([[-0.0, np.nan], [np.inf, 5e-324], [-1e308, 0.1]])

    def work(transport):
        own = {row: special[row] for row in range(3) if row % 2 == transport.rank}
        return gather_numbers(transport, own, special.shape).tobytes()

    assert together(2, work) == [special.tobytes()] * 2


def fails(transport, where):
    if transport.rank == where:
        raise ValueError("column 'a' is bad")
    return transport.rank


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_an_error_of_one_rank_is_raised_by_all_and_names_it(rank):
    found = together(3, lambda transport: everywhere(transport, lambda: fails(transport, rank)))
    assert [str(error) for error in found] == [f"column 'a' is bad (on rank {rank})"] * 3
    assert all(isinstance(error, ValueError) for error in found)


def test_an_error_of_the_first_rank_is_raised_by_all():
    found = together(3, lambda transport: on_first(transport, lambda: fails(transport, 0)))
    assert [str(error) for error in found] == ["column 'a' is bad"] * 3


def test_a_rank_that_leaves_lets_nobody_wait():
    def work(transport):
        if transport.rank == 1:
            raise KeyError("gone")
        transport.allreduce(np.zeros(1, np.int64))

    first, second, third = together(3, work)
    assert isinstance(second, KeyError)
    assert isinstance(first, PeerLostError)
    assert isinstance(third, PeerLostError)
