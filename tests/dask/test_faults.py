"""Workers that are killed, stopped or busy, odd clusters, and fits side by side: always the same bits, never a hang.

Tests ``attempt`` and ``worker``.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress

import cloudpickle
import numpy as np
import pytest
from dask_cases import COLUMNS, FAST, bits, cut, large_fit, local_cluster, table
from distributed import Client

from lambdak.dask import SpectralRegressor, worker

FRAME = table()


@pytest.fixture(scope="module")
def processes():
    """Three workers in processes of their own; nannies replace those that are killed."""
    with local_cluster(3, processes=True) as own, Client(own) as client:
        client.wait_for_workers(3)
        yield client


@pytest.fixture(scope="module")
def wanted(client):
    return bits(large_fit(client, cut(FRAME)))


def signalled(client, number, seconds):
    """A route that sends a signal to one worker, so long after all of them are ready to train; once."""
    pid = next(iter(client.run(os.getpid).values()))
    sent = []

    def route(addresses):
        if not sent:
            sent.append(pid)
            threading.Timer(seconds, os.kill, [pid, number]).start()
        return list(addresses)

    return route, pid


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 0.05])
def test_a_killed_worker_does_not_change_a_bit(processes, wanted, seconds):
    route, _ = signalled(processes, signal.SIGKILL, seconds)
    with pytest.warns(UserWarning, match=r"worker tcp.* was lost: the fit continues (after lap|from its start)"):
        model = large_fit(processes, cut(FRAME), silence=5.0, route=route)
    assert bits(model) == wanted


@pytest.mark.slow
def test_a_stopped_worker_is_left_behind_after_the_stated_time(processes, wanted):
    route, pid = signalled(processes, signal.SIGSTOP, 0.05)
    with pytest.warns(UserWarning, match=r"worker tcp.* did not answer for 2 s: the fit continues"):
        model = large_fit(processes, cut(FRAME), silence=2.0, route=route)
    assert bits(model) == wanted
    os.kill(pid, signal.SIGKILL)
    processes.wait_for_workers(3, timeout=30)


@pytest.mark.slow
def test_a_worker_killed_while_partitions_are_read_does_not_change_a_bit(processes, wanted, tmp_path):
    def read(part):
        if not os.path.lexists(tmp_path / "killed"):
            (tmp_path / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return part

    frame = cut(FRAME).map_partitions(read, meta=FRAME.iloc[:0])
    with pytest.warns(UserWarning, match=r"was lost: others compute its partitions again"):
        assert bits(large_fit(processes, frame, silence=5.0)) == wanted


@pytest.mark.slow
def test_two_fits_at_once_share_the_workers(processes, wanted):
    found = {}

    def run(number):
        found[number] = bits(large_fit(processes, cut(FRAME)))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    assert [found.get(number) for number in range(3)] == [wanted] * 3


@pytest.mark.slow
def test_a_worker_that_is_busy_with_something_else_is_left_out_but_stays(client, wanted, tmp_path):
    busy, released = next(iter(client.nthreads())), tmp_path / "released"
    task = client.submit(until_there, released, workers=[busy], pure=False)
    try:
        with pytest.warns(UserWarning, match="was busy with other tasks for 1 s: the fit continues from its start"):
            model = large_fit(client, cut(FRAME), start=1.0)
    finally:  # or all later tests on these workers would wait
        released.touch()
        task.result()
    assert bits(model) == wanted
    assert busy in client.nthreads()


def until_there(path):
    while not path.exists():
        time.sleep(0.05)


@pytest.mark.slow
def test_a_worker_that_joins_in_the_middle_does_no_harm(wanted):
    with local_cluster(1) as cluster, Client(cluster) as client:

        def route(addresses):
            cluster.scale(2)
            return list(addresses)

        assert bits(large_fit(client, cut(FRAME), route=route)) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("rows", [[1200, 1, 1, 298], [1] * 40 + [1460], [1499, 1]])
def test_partitions_of_very_different_lengths_are_fitted(client, rows):
    ends = np.cumsum(rows)
    frame = cut(FRAME, 1).repartition(divisions=[0, *ends[:-1].tolist(), len(FRAME) - 1])
    model = large_fit(client, frame)
    assert model.score(FRAME[COLUMNS], FRAME["target"]) > 0.6


@pytest.mark.slow
def test_more_workers_than_partitions_give_the_same_bits(client):
    frame = cut(FRAME, 2)
    with local_cluster(1) as cluster, Client(cluster) as alone:
        wanted = bits(large_fit(alone, frame))
    assert bits(large_fit(client, frame)) == wanted


def test_a_client_that_is_closed_in_the_middle_is_an_error_and_no_hang():
    ended = []
    with local_cluster(2) as cluster:
        client = Client(cluster)

        def close(addresses):
            threading.Timer(0.1, client.close).start()
            return list(addresses)

        def run():
            try:
                large_fit(client, cut(FRAME), route=close)
            except BaseException as error:  # a closed client says so in several ways
                ended.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join(30)
        assert not thread.is_alive()
        assert len(ended) == 1


@pytest.mark.slow
def test_no_rows_pass_the_scheduler(client, monkeypatch):
    """What the client fetches goes through the scheduler: the sizes of records, laps and the model."""
    fetched, gather = [], Client._gather

    async def seen(self, *given, **options):
        found = await gather(self, *given, **options)
        fetched.append(found)
        return found

    monkeypatch.setattr(Client, "_gather", seen)
    frame = table(30_000)
    large_fit(client, cut(frame).persist())
    sizes = [len(cloudpickle.dumps(each)) for each in fetched]
    assert len(sizes) >= 4
    assert sum(sizes) < 8 * frame[COLUMNS].size / 2


def training_threads():
    """Threads of workers of this process that train."""
    frames = sys._current_frames().values()
    return sum(inside(frame, worker.train.__code__) for frame in frames)


def inside(frame, code):
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("how", ["interrupted", "client closed"])
def test_workers_do_not_go_on_with_a_fit_that_nobody_waits_for(workers, how, monkeypatch):
    """A fit of hours, on workers whose threads Dask cannot end."""
    endless = SpectralRegressor(**{**FAST, "max_iter": 100_000})
    with local_cluster(workers) as cluster:
        client = Client(cluster)
        thread = threading.Thread(target=swallowed, args=(client, endless))
        thread.start()
        assert until(lambda: training_threads() == workers)
        if how == "interrupted":
            monkeypatch.setattr(client, "nthreads", interrupting(thread, client.nthreads))
        else:
            client.close()
        assert until(lambda: training_threads() == 0)
        thread.join(60)
        assert not thread.is_alive()
        client.close()


def swallowed(client, estimator):
    with suppress(BaseException):
        large_fit(client, cut(FRAME), estimator=estimator)


def interrupting(thread, plain):
    """A function that ends one thread as Ctrl-C does."""

    def called():
        if threading.current_thread() is thread:
            raise KeyboardInterrupt
        return plain()

    return called
