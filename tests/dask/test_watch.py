"""Slow workers are not lost workers: they come back, load removes nobody, and progress is shown at the client."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from types import MappingProxyType, SimpleNamespace

import pytest
from dask_cases import COLUMNS, FAST, bits, cut, large_fit, local_cluster, table
from distributed import Client, Status

from lambdak.dask import SpectralRegressor
from lambdak.dask import watch as watching
from lambdak.dask.watch import Watch

FRAME = table()


@pytest.fixture(scope="module")
def wanted(client):
    return bits(large_fit(client, cut(FRAME)))


SPIN = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"  # ends with the tests, however they end


def replaced(client):
    """Whether a fit has its hand on how some worker closes."""
    return any(client.run(lambda dask_worker: "close" in vars(dask_worker)).values())


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
        client.wait_for_workers(2, timeout=600)
        assert pid not in client.run(os.getpid).values()  # the nanny has started it again
        used = []
        again = large_fit(client, cut(FRAME), route=lambda addresses: used.extend(addresses) or list(addresses))
        assert len(used) == 2
        assert bits(again) == wanted
        until = time.monotonic() + 60  # the fit waits for its farewell, but not long
        while replaced(client) and time.monotonic() < until:
            time.sleep(0.1)
        assert not replaced(client)


@pytest.mark.slow
def test_a_fit_under_load_loses_no_worker(wanted):
    with local_cluster(2, processes=True) as cluster, Client(cluster) as client:
        client.wait_for_workers(2)
        client.run(__import__, "lambdak.dask.worker")  # the fit is to be under load, not the start of its workers
        before = set(client.nthreads())
        busy = [subprocess.Popen([sys.executable, "-S", "-c", SPIN]) for _ in range(4)]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)
                model = large_fit(client, cut(FRAME), silence=20.0)
        finally:
            for process in busy:
                process.kill()
                process.wait()
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


CUT_OFF = ["worker-heartbeat-missing", "worker-handle-scheduler-connection-broken"]


class WithNanny:
    """A worker, as far as a watch reads one."""

    nanny, connection_args, status = "tcp://127.0.0.1:1", MappingProxyType({}), Status.running

    def __init__(self, scheduler):
        self.scheduler = SimpleNamespace(address=scheduler)

    async def close(self, nanny=True, reason=""):
        return nanny


class Frozen(WithNanny):
    """Nothing can be set on it."""

    def __init__(self):
        pass

    def __setattr__(self, name, value):
        raise AttributeError(name)


class WithoutNanny(WithNanny):
    nanny = None


class OfAnotherVersion(WithNanny):
    async def close(self, reason=""):
        return True


def ends_its_nanny(worker, reason):
    return asyncio.run(worker.close(reason=reason))


@pytest.fixture
def gone():
    """The address of a scheduler that has ended."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"tcp://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("reason", [*CUT_OFF, "scheduler-close", "worker-close"])
def test_only_a_worker_that_was_cut_off_in_a_fit_leaves_its_nanny(cluster, reason):
    worker = WithNanny(cluster.scheduler_address)
    for fit in ("fit", "another fit"):
        watching._let_return(worker, fit, 10.0, 60.0)
    assert ends_its_nanny(worker, reason) is (reason not in CUT_OFF)
    watching._no_longer(worker, "fit")
    assert ends_its_nanny(worker, reason) is (reason not in CUT_OFF)
    watching._no_longer(worker, "another fit")
    assert ends_its_nanny(worker, reason) is True
    assert "close" not in vars(worker)


def test_a_worker_whose_scheduler_has_ended_ends_with_its_nanny(gone):
    worker = WithNanny(gone)
    watching._let_return(worker, "fit", 0.6, 60.0)
    assert ends_its_nanny(worker, "worker-handle-scheduler-connection-broken") is True


@pytest.mark.parametrize("reason", CUT_OFF)
def test_a_fit_whose_client_has_died_is_forgotten_after_its_lease(cluster, monkeypatch, reason):
    worker, now = WithNanny(cluster.scheduler_address), time.monotonic()
    watching._let_return(worker, "fit", 10.0, 60.0)
    monkeypatch.setattr(time, "monotonic", lambda: now + 61)
    assert ends_its_nanny(worker, reason) is True
    watching._let_return(worker, "another fit", 10.0, 60.0)
    watching._no_longer(worker, "another fit")
    assert "close" not in vars(worker)


@pytest.mark.parametrize("kind", [Frozen, WithoutNanny, OfAnotherVersion, SimpleNamespace])
def test_a_worker_that_cannot_return_still_answers_and_stays_as_it_is(kind):
    worker = kind("") if kind in (WithoutNanny, OfAnotherVersion) else kind()
    before = dict(vars(worker))
    watching._let_return(worker, "fit", 10.0, 60.0)
    assert vars(worker) == before
    watching._no_longer(worker, "fit")
    assert vars(worker) == before


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
