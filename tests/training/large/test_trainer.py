"""Members trained by several ranks: the same bits however shards are spread, and from any lap on."""

from __future__ import annotations

import numpy as np
import pytest
from large_cases import CASES, bits, chosen, trained

from lambdak.training.checkpoint import Laps
from lambdak.training.large.transport import PeerLostError


@pytest.mark.parametrize("case", CASES)
def test_the_same_bits_however_shards_are_spread(case):
    choice, records = chosen(case)
    (wanted,) = trained(choice, records, [0, 0, 0, 0])
    for owners in ([0, 1, 1, 0], [3, 1, 0, 2], [0, 0, 2, 2]):  # in the last one a rank has no shards
        assert [bits(fit) == bits(wanted) for fit in trained(choice, records, owners)] == [True] * (max(owners) + 1)


@pytest.mark.parametrize("case", ["squared error", "a loss in Python", "monotone"])
def test_no_rows_in_a_shard_for_a_while_change_nothing(case):
    choice, records = chosen(case)
    records = [records[0][:1], records[1], records[2][:2]]
    (wanted,) = trained(choice, records, [0, 0, 0])
    assert all(bits(fit) == bits(wanted) for fit in trained(choice, records, [0, 1, 2]))


class Breaking:
    """A transport that loses its peers after so many sums."""

    def __init__(self, transport, sums):
        self.rank, self.size, self._own, self._left = transport.rank, transport.size, transport, sums

    def allreduce(self, array):
        self._left -= 1
        if self._left < 0:
            raise PeerLostError("a peer is gone")
        self._own.allreduce(array)

    def broadcast(self, array, root=0):
        self._own.broadcast(array, root)

    def leave(self):
        self._own.leave()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("sums", [0, 1, 17])
def test_a_fit_that_continues_from_the_last_lap_ends_with_the_same_bits(case, sums):
    choice, records = chosen(case)
    (wanted,) = trained(choice, records, [0, 0, 0, 0])
    laps = Laps()
    (error,) = trained(choice, records, [0, 0, 0, 0], lambda: laps, lambda transport: Breaking(transport, sums))
    assert isinstance(error, PeerLostError)
    assert (laps.count > 0) == (sums == 17)
    for fit in trained(choice, records, [1, 0, 0, 1], lambda: Laps(laps.state, laps.count)):
        assert bits(fit) == bits(wanted)


def test_ranks_that_differ_take_the_parameters_of_the_first():
    """Machines of different kinds may round differently: here one changes a parameter on its own."""
    choice, records = chosen("squared error")

    class Drifting(Breaking):
        def allreduce(self, array):
            if array.size == 2 and self.rank == 1:  # the digest of the parameters
                array[...] = [1, 1]
            self._own.allreduce(array)

    fits = trained(choice, records, [0, 1, 0, 1], Laps, lambda transport: Drifting(transport, 0))
    assert bits(fits[0])[:3] == bits(fits[1])[:3]
    np.testing.assert_array_equal(fits[0].model.coef, fits[1].model.coef)
