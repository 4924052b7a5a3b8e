"""Slow workers are not lost workers: they come back, load removes nobody, and progress is shown at the client."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import warnings

import pytest
from dask_cases import COLUMNS, FAST, bits, cut, large_fit, local_cluster, table
from distributed import Client

from lambdak.dask import SpectralRegressor
from lambdak.dask import watch as watching
from lambdak.dask.watch import Watch

FRAME = table()


@pytest.fixture(scope="module")
def wanted(client):
    return bits(large_fit(client, cut(FRAME)))


def spin():
    while True:
        pass


def paused_when_training(client):
    """A route that stops one worker once training begins, and its process."""
    pid = next(iter(client.run(os.getpid).values()))
    sent = []

    def route(addresses):
        if not sent:
            sent.append(pid)
            threading.Timer(0.05, os.kill, [pid, signal.SIGSTOP]).start()
        return list(addresses)

    return route, pid


@pytest.mark.slow
def test_a_worker_that_continues_after_the_time_out_is_used_again(wanted):
    with local_cluster(2, processes=True) as cluster, Client(cluster) as client:
        client.wait_for_workers(2)
        route, pid = paused_when_training(client)
        with pytest.warns(UserWarning, match="did not answer for 2 s"):
            assert bits(large_fit(client, cut(FRAME), silence=2.0, route=route)) == wanted
        os.kill(pid, signal.SIGCONT)
        client.wait_for_workers(2, timeout=120)
        assert pid not in client.run(os.getpid).values()  # the nanny has started it again
        used = []
        again = large_fit(client, cut(FRAME), route=lambda addresses: used.extend(addresses) or list(addresses))
        assert len(used) == 2
        assert bits(again) == wanted


@pytest.mark.slow
def test_a_fit_under_load_loses_no_worker(wanted):
    with local_cluster(3, processes=True) as cluster, Client(cluster) as client:
        client.wait_for_workers(3)
        before = set(client.nthreads())
        busy = [multiprocessing.get_context("fork").Process(target=spin, daemon=True) for _ in range(4)]
        try:
            for process in busy:
                process.start()
            with warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)
                model = large_fit(client, cut(FRAME), silence=20.0)
        finally:
            for process in busy:
                process.kill()
        assert bits(model) == wanted
        assert set(client.nthreads()) == before


def test_a_worker_that_gives_signs_of_life_is_not_removed_however_late_it_answers(client, monkeypatch):
    """Answers are held up, as they are on a busy machine; heartbeats come."""
    released = threading.Event()
    monkeypatch.setattr(Watch, "_ask", lambda self, address: released.wait(60))
    before, looks, silence = set(client.nthreads()), [], 4.0
    plain = Watch._look_at
    monkeypatch.setattr(Watch, "_look_at", lambda self, address: (looks.append(address), plain(self, address)))
    watch = Watch(client, silence, silence)
    try:
        watch._unanswered = dict.fromkeys(before, 100)  # as after many looks in vain
        for address in before:
            watch._look_at(address)
    finally:
        released.set()
    assert len(looks) == len(before)
    assert set(client.nthreads()) == before
    assert watch.lost() == []


def test_no_time_of_a_worker_runs_out_while_the_client_is_stopped(client, monkeypatch):
    """An hour passes between two looks: the answer comes after the second one."""
    now, held = time.monotonic(), threading.Event()
    monkeypatch.setattr(Watch, "_ask", lambda self, address: held.wait(60))
    removed = []
    monkeypatch.setattr(watching, "_remove_worker", lambda dask_scheduler, address, silence: removed.append(address))
    watch, address = Watch(client, 1.0, 1.0), next(iter(client.nthreads()))
    try:
        watch._look_at(address)
        monkeypatch.setattr(time, "monotonic", lambda: now + 3600)
        watch._look_at(address)
    finally:
        monkeypatch.undo()
        held.set()
    assert removed == []


@pytest.mark.parametrize("reason", ["worker-heartbeat-missing", "worker-handle-scheduler-connection-broken", "retire"])
def test_only_a_worker_that_was_cut_off_in_a_fit_leaves_its_nanny(reason):
    import asyncio

    class Worker:
        async def close(self, nanny=True, reason=""):
            return nanny

    worker = Worker()
    watching._let_return(worker, "fit")
    watching._let_return(worker, "another fit")
    assert asyncio.run(worker.close(reason=reason)) is (reason == "retire")
    watching._no_longer(worker, "fit")
    assert asyncio.run(worker.close(reason=reason)) is (reason == "retire")
    watching._no_longer(worker, "another fit")
    assert asyncio.run(worker.close(reason=reason)) is True


@pytest.mark.slow
@pytest.mark.parametrize("verbose", [1, 2])
def test_progress_of_workers_reaches_the_client(client, wanted, capsys, verbose):
    assert bits(large_fit(client, cut(FRAME), estimator=SpectralRegressor(**FAST, verbose=verbose))) == wanted
    shown = capsys.readouterr().out
    for what, count in (("reading", "6/6"), ("packing", "6/6"), ("fitting", "12/12 loss 0.0")):
        assert any(line.startswith(what) and count in line for line in shown.splitlines()), what


def test_progress_of_a_small_table_reaches_the_client_and_silence_is_the_default(client, capsys):
    frame = cut(FRAME)
    quiet = SpectralRegressor(**FAST).fit(frame[COLUMNS], frame["target"])
    assert capsys.readouterr().out == ""
    told = SpectralRegressor(**FAST, verbose=1).fit(frame[COLUMNS], frame["target"])
    assert "fitting" in capsys.readouterr().out
    assert bits(told) == bits(quiet)


@pytest.mark.slow
def test_the_graph_grows_by_a_few_small_tasks_per_partition(client, monkeypatch):
    """What the scheduler holds when training begins, and how many graphs it was sent."""
    frame, held, graphs = table(800), [], []
    plain = Client._graph_to_futures
    monkeypatch.setattr(
        Client, "_graph_to_futures", lambda self, *args, **options: (graphs.append(1), plain(self, *args, **options))[1]
    )

    def route(addresses):
        held.append(client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))
        return list(addresses)

    for count in (10, 40):
        large_fit(client, cut(frame, count), route=route)
    assert held[1] - held[0] <= 7 * 30  # frame, two projections, summary, records, an eighth of a merge
    assert len(graphs) < 3 * 40


@pytest.mark.parametrize("name", ["timeout", "start_timeout"])
def test_time_outs_must_be_positive(client, name):
    frame = cut(FRAME)
    with pytest.raises(ValueError, match=f"^{name} must be"):
        SpectralRegressor(**FAST).fit(frame[COLUMNS], frame["target"], **{name: 0.0})
