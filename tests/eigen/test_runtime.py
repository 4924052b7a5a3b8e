"""Threads, processes and memory of the kernel, and which kernel runs: nothing of it changes a bit of the results."""

from __future__ import annotations

import multiprocessing
import sys
import threading

import matrices
import numpy as np
import processes
import pytest

import lambdak
from lambdak import eigenpair, eigenvalue, tridiagonal_eigenpair, tridiagonal_eigenvalue, unsym
from lambdak.eigen import eigenvalue_vjp, runtime, tridiagonal_eigenvalue_vjp

DTYPES = [np.float32, np.float64]


def packed_rows(rng, n, dim, dtype=np.float64):
    return rng.standard_normal((n, dim * (dim + 1) // 2)).astype(dtype)


def bits(array):
    """Every bit, the sign of zero included."""
    return array.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [3, 9, 40])
def test_results_depend_neither_on_threads_nor_on_the_position_in_the_batch(dim, dtype, threads, isa):
    rng = np.random.default_rng(16)
    easy = packed_rows(rng, 700, dim, dtype)
    hard = [unsym(factory(rng, 20, dim)).astype(dtype) for factory in matrices.FACTORIES.values()]
    packed = np.concatenate([easy, *hard])
    threads(1)
    expected = eigenpair(packed, dim, [dim // 2, dim - 1])
    for count in (2, 3, 8):
        threads(count)
        got = eigenpair(packed, dim, [dim // 2, dim - 1])
        assert bits(got.value) == bits(expected.value)
        assert bits(got.vector) == bits(expected.vector)
    order = rng.permutation(len(packed))[: len(packed) - 5]
    got = eigenpair(packed[order], dim, [dim // 2, dim - 1])
    assert bits(got.value) == bits(expected.value[order])
    assert bits(got.vector) == bits(expected.vector[order])


CPUS = 4
N_JOBS = [(None, 0), (1, 1), (2, 2), (7, 7), (np.int64(2), 2), (-1, CPUS), (-2, CPUS - 1), (-CPUS, 1)]


@pytest.mark.parametrize(("n_jobs", "expected"), N_JOBS)
def test_n_jobs_is_a_number_of_threads_as_scikit_learn_spells_it(n_jobs, expected, threads, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("joblib.cpu_count", lambda: CPUS)
    threads(3)
    assert runtime.thread_count(n_jobs) == expected
    assert lambdak.get_num_threads() == 3


N_JOBS_FAULTS = [
    (0, ValueError, "n_jobs must not be 0: None leaves the choice, -1 uses every CPU"),
    (-1025, ValueError, r"n_jobs must be in \[-1024, 1025\); got -1025"),
    (1025, ValueError, r"n_jobs must be in \[-1024, 1025\); got 1025"),
    (2.0, TypeError, "n_jobs must be an int; got 2.0"),
    (True, TypeError, "n_jobs must be an int; got True"),
    ("all", TypeError, "n_jobs must be an int; got 'all'"),
]


@pytest.mark.parametrize(("n_jobs", "error", "message"), N_JOBS_FAULTS)
def test_a_number_of_jobs_that_makes_no_sense_is_refused(n_jobs, error, message):
    with pytest.raises(error, match=message):
        runtime.thread_count(n_jobs)
    with pytest.raises(error, match=message):
        eigenvalue(np.zeros((2, 3)), 2, 0, n_jobs=n_jobs)


def everything(packed, bands, n_jobs):
    """Every public function that takes n_jobs, at dim 9."""
    value, vector = eigenpair(packed, 9, [2, 4], n_jobs=n_jobs)
    tri_value, tri_vector = tridiagonal_eigenpair(*bands, [2, 4], n_jobs=n_jobs)
    return [
        value,
        vector,
        tri_value,
        tri_vector,
        eigenvalue(packed, 9, 4, n_jobs=n_jobs),
        tridiagonal_eigenvalue(*bands, 4, n_jobs=n_jobs),
        eigenvalue_vjp(vector, value, sum_index=True, n_jobs=n_jobs),
        *tridiagonal_eigenvalue_vjp(tri_vector, tri_value, sum_index=True, n_jobs=n_jobs),
    ]


def test_no_bit_depends_on_n_jobs_and_no_call_changes_the_process(threads):
    threads(2)
    rng = np.random.default_rng(21)
    packed, bands = packed_rows(rng, 3000, 9), (rng.standard_normal((3000, 9)), rng.standard_normal((3000, 8)))
    wanted = [bits(part) for part in everything(packed, bands, None)]
    for n_jobs in (1, 2, 5, -1):
        assert [bits(part) for part in everything(packed, bands, n_jobs)] == wanted
        assert lambdak.get_num_threads() == 2


def test_overlapping_calls_with_their_own_n_jobs_never_change_the_process_setting(threads):
    threads(3)
    packed = packed_rows(np.random.default_rng(22), 4000, 9)
    wanted, seen, wrong, done = bits(eigenvalue(packed, 9, 4)), set(), [], threading.Event()

    def watch():
        while not done.is_set():
            seen.add(lambdak.get_num_threads())

    def work(n_jobs):
        for _ in range(30):
            if bits(eigenvalue(packed, 9, 4, n_jobs=n_jobs)) != wanted:
                wrong.append(n_jobs)

    watcher = threading.Thread(target=watch)
    workers = [threading.Thread(target=work, args=(n_jobs,)) for n_jobs in (1, 2, 5, None)]
    watcher.start()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    done.set()
    watcher.join()
    assert not wrong
    assert seen == {3}
    assert lambdak.get_num_threads() == 3


# The pool starts as many threads as the largest call so far requested, beside the caller's: that tells what one used.
COUNT_HELPERS = """
import os, threading, time
import numpy as np, lambdak
from lambdak import eigenvalue
lambdak.set_num_threads({setting})
packed = np.random.default_rng(0).standard_normal((20_000, 45))
before, deadline = len(os.listdir("/proc/self/task")), time.monotonic() + 20
calls = [threading.Thread(target=eigenvalue, args=(packed, 9, 4), kwargs={{"n_jobs": n}}) for n in {n_jobs}]
for call in calls:
    call.start()
    {wait}
for call in calls:
    call.join()
while len(os.listdir("/proc/self/task")) - before > {helpers} and time.monotonic() < deadline:
    time.sleep(0.01)  # the system is slower than join to forget a thread that has ended; those of the pool never end
print(len(os.listdir("/proc/self/task")) - before, lambdak.get_num_threads())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
@pytest.mark.parametrize(
    ("setting", "n_jobs", "helpers"),
    [(4, [None], 3), (4, [1], 0), (1, [3], 2), (1, [None], 0), (5, [1, 2, 1], 1), (1, [1, 4, 2], 3)],
)
def test_every_call_uses_the_threads_it_asks_for_whatever_the_process_and_other_calls_say(setting, n_jobs, helpers):
    given = {"setting": setting, "n_jobs": n_jobs, "helpers": helpers}
    code = COUNT_HELPERS.format(**given, wait="call.join()")
    assert processes.run(code).stdout.split() == [str(helpers), str(setting)]
    code = COUNT_HELPERS.format(**given, wait="pass")
    together, after = map(int, processes.run(code).stdout.split())
    assert together <= helpers  # a call that finds the pool at work goes alone
    assert after == setting


BESIDE_A_CALL = """
import os, sys, threading, time
import numpy as np
from lambdak import eigenvalue
few = np.random.default_rng(0).standard_normal((20_000, 45))
for rows in (1_000_000, 4_000_000, 16_000_000):
    many = np.broadcast_to(few[0], (rows, 45))
    long = threading.Thread(target=eigenvalue, args=(many, 9, 4), kwargs={"n_jobs": 1})
    long.start()
    time.sleep(0.1)  # by then it is inside of the kernel
    before = len(os.listdir("/proc/self/task"))
    eigenvalue(few, 9, 4, n_jobs=2)
    after, beside = len(os.listdir("/proc/self/task")), long.is_alive()
    long.join()
    if beside:
        sys.exit(after - before)
sys.exit("no call ended beside the long one")
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_a_call_beside_another_one_counts_it_among_its_threads():
    assert processes.run(BESIDE_A_CALL).returncode == 0


def test_many_python_threads_may_call_at_once(threads):
    threads(2)
    packed = packed_rows(np.random.default_rng(17), 3000, 9)
    expected = eigenpair(packed, 9, 4)
    failures = []

    def work():
        for _ in range(30):
            got = eigenpair(packed, 9, 4)
            if not (np.array_equal(got.value, expected.value) and np.array_equal(got.vector, expected.vector)):
                failures.append(got)

    workers = [threading.Thread(target=work) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures


def _child(packed, queue):
    queue.put(eigenvalue(packed, 9, 4))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_child_computes_too(threads):
    threads(2)
    packed = packed_rows(np.random.default_rng(18), 5000, 9)
    expected = eigenvalue(packed, 9, 4)  # starts the pool
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_child, args=(packed, queue))
    child.start()
    got = queue.get(timeout=60)
    child.join()
    assert np.array_equal(got, expected)
    assert np.array_equal(eigenvalue(packed, 9, 4), expected)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the resource module is Unix's")
@pytest.mark.parametrize("layout", ["packed", "np.asfortranarray(packed)", "wide[:, ::2]"])
def test_memory_stays_a_few_hundred_kilobytes_whatever_the_batch(layout):
    code = f"""
import resource, numpy as np
from lambdak import eigenpair
n = 300_000
wide = np.ones((n, 240), np.float32)
packed = np.ones((n, 120), np.float32)
given = {layout}
out = (np.ones(n, np.float32), np.ones((n, 15), np.float32))
eigenpair(given[:5000], 15, 7, out=(out[0][:5000], out[1][:5000]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
eigenpair(given, 15, 7, out=out)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = processes.run(code)
    assert done.returncode == 0, done.stderr
    kilobytes = int(done.stdout) // (1024 if sys.platform == "darwin" else 1)
    assert kilobytes < 1024, kilobytes


def test_flush_to_zero_of_the_calling_thread_does_not_matter():
    torch = pytest.importorskip("torch")
    packed = (np.random.default_rng(19).integers(-900, 900, (64, 15)) * 1.4e-45).astype(np.float32)
    expected = eigenvalue(packed, 5, 2)
    torch.set_flush_denormal(True)
    try:
        got = eigenvalue(packed, 5, 2)
    finally:
        torch.set_flush_denormal(False)
    assert np.abs(expected).max() > 0
    assert np.array_equal(got, expected)
