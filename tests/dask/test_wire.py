"""Sums over sockets: right for any number of processes, and an error where one is lost, silent or out of step."""

from __future__ import annotations

import socket
import threading

import numpy as np
import pytest

from lambdak.dask.wire import Deadlines, SocketTransport, children_of, listen, parent_of
from lambdak.training.large.transport import PeerLostError, broadcast_object, gather_objects

SHORT = Deadlines(start=5.0, silence=0.5)
LONG = Deadlines(start=20.0, silence=20.0)


def together(size, work, deadlines=LONG, tokens=None):
    """What ``work(transport)`` returns or raises in each of several threads."""
    listeners = [listen("127.0.0.1") for _ in range(size)]
    addresses = [listener.getsockname()[:2] for listener in listeners]
    found = [None] * size

    def run(rank):
        transport = None
        try:
            token = b"secret" if tokens is None else tokens[rank]
            transport = SocketTransport(rank, addresses, listeners[rank], token, deadlines)
            found[rank] = work(transport)
        except OSError as error:
            found[rank] = error
        finally:
            if transport is not None:
                transport.close()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads), "nobody waits for ever"
    return found


@pytest.mark.parametrize("size", range(1, 70))
def test_every_rank_but_the_first_is_the_child_of_its_parent(size):
    assert sorted(child for rank in range(size) for child in children_of(rank, size)) == list(range(1, size))
    assert all(rank in children_of(parent_of(rank), size) for rank in range(1, size))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 9])
def test_sums_are_those_of_all_processes(size):
    def work(transport):
        array = np.arange(50_000, dtype=np.int64).reshape(5, -1) * (transport.rank + 1) - 2**60
        for _ in range(3):
            again = array.copy()
            transport.allreduce(again)
        return again

    with np.errstate(over="ignore"):
        wanted = sum(np.arange(50_000).reshape(5, -1) * (rank + 1) - 2**60 for rank in range(size))
    for found in together(size, work):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("size", [1, 2, 3, 6, 8])
def test_any_process_can_send_to_all_others(size):
    def work(transport):
        each = [broadcast_object(transport, f"from {transport.rank}" * root, root) for root in range(transport.size)]
        return each, gather_objects(transport, transport.rank**2)

    for found in together(size, work):
        assert found == ([f"from {root}" * root for root in range(size)], [rank**2 for rank in range(size)])


@pytest.mark.parametrize("lost", [0, 1, 3, 4])
def test_all_processes_see_that_one_has_left(lost):
    def work(transport):
        array = np.ones(10, np.int64)
        transport.allreduce(array)
        if transport.rank == lost:
            return "left"
        for _ in range(100):
            transport.allreduce(array)
        return "never"

    found = together(6, work)
    assert found.pop(lost) == "left"
    assert all(isinstance(error, PeerLostError) for error in found)


def test_a_silent_process_is_noticed_within_the_time_out():
    silent = threading.Event()

    def work(transport):
        if transport.rank == 2:
            silent.wait(10)
            return "silent"
        try:
            transport.allreduce(np.ones(10, np.int64))
        finally:
            silent.set()
        return "never"

    found = together(4, work, SHORT)
    assert found[2] == "silent"
    assert isinstance(found[0], PeerLostError)
    assert "0.5 s" in str(found[0]) or "closed" in str(found[0])


def test_a_process_that_does_not_know_the_token_is_not_let_in():
    def work(transport):
        transport.allreduce(np.ones(1, np.int64))

    found = together(2, work, Deadlines(1.0, 1.0), [b"one", b"another"])
    assert all(isinstance(error, PeerLostError) for error in found)


def test_a_process_that_never_comes_ends_the_wait():
    listener, other = listen("127.0.0.1"), listen("127.0.0.1")
    addresses = [listener.getsockname()[:2], other.getsockname()[:2]]
    other.close()
    with pytest.raises(PeerLostError, match="did not connect"):
        SocketTransport(0, addresses, listener, b"t", Deadlines(0.3, 0.3))


def test_strangers_who_connect_first_do_no_harm():
    listener = listen("127.0.0.1")
    address = listener.getsockname()[:2]
    strangers = [socket.create_connection(address) for _ in range(3)]
    strangers[0].sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: stranger\r\n\r\n")
    strangers[1].close()
    child = listen("127.0.0.1")
    addresses, found = [address, child.getsockname()[:2]], []

    def other():
        transport = SocketTransport(1, addresses, child, b"t", LONG)
        transport.allreduce(np.ones(3, np.int64))
        transport.close()

    thread = threading.Thread(target=other)
    thread.start()
    transport = SocketTransport(0, addresses, listener, b"t", Deadlines(10.0, 0.5))
    array = np.ones(3, np.int64)
    transport.allreduce(array)
    thread.join(10)
    transport.close()
    for stranger in strangers:
        stranger.close()
    found = array.tolist()
    assert found == [2, 2, 2]


def test_processes_out_of_step_are_an_error():
    def work(transport):
        if transport.rank:
            transport.broadcast(np.zeros(8, np.uint8))
        transport.allreduce(np.zeros(1, np.int64))

    assert all(isinstance(error, PeerLostError) for error in together(2, work, SHORT))
