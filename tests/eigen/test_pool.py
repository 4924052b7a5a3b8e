"""The thread pool under load: calls of all sizes at once, changing settings, forks. ThreadSanitizer runs it too."""

from __future__ import annotations

import os
import sys
import threading

import numpy as np
import pytest
import step_cases

import lambdak
from lambdak import eigenpair, eigenvalue
from lambdak.eigen.runtime import native

kernel = native()
if kernel is None:
    pytest.skip("this install has no compiled kernel", allow_module_level=True)

ROUNDS, CALLERS = 12, 6
SHAPES = [(1, 3), (40, 9), (700, 5), (3000, 9), (200, 31)]  # rows and dim: some too small for a second thread


def matrices_of(rows, dim, dtype=np.float64):
    return np.random.default_rng(dim).standard_normal((rows, dim * (dim + 1) // 2)).astype(dtype)


def solve_calls():
    """Calls of all sizes and precisions on 0 (the process's setting) to 5 threads, each with the bytes it must give."""
    for count, (rows, dim) in enumerate(SHAPES):
        for dtype in step_cases.DTYPES:
            packed = matrices_of(rows, dim, dtype)
            n_jobs = (None, 1, 2, 3, 5)[count]
            wanted = eigenvalue(packed, dim, dim // 2, n_jobs=1).tobytes()
            yield lambda p=packed, d=dim, n=n_jobs: eigenvalue(p, d, d // 2, n_jobs=n).tobytes(), wanted
            yield lambda p=packed, d=dim, n=n_jobs: eigenpair(p, d, d // 2, n_jobs=n).vector.tobytes(), None


def step_calls():
    """One forward and one backward step of three models."""
    rng = np.random.default_rng(0)
    ids, weights = step_cases.design(rng, np.float32)
    rows, coef = step_cases.batch_of(rng, 3, 300), step_cases.coefficients(rng, 3, 5, np.float32)
    value, vector = step_cases.forward(kernel, ids, weights, rows, coef, 5, [2], threads=1)
    factor = np.ones_like(value)
    yield lambda: step_cases.forward(kernel, ids, weights, rows, coef, 5, [2], threads=3)[0].tobytes(), value.tobytes()
    wanted = step_cases.backward(kernel, ids, weights, rows, vector, factor, 5, threads=1).tobytes()
    yield lambda: step_cases.backward(kernel, ids, weights, rows, vector, factor, 5, threads=2).tobytes(), wanted


def run_together(workers):
    threads = [threading.Thread(target=worker) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_calls_of_all_sizes_at_once_give_their_bits_while_the_setting_changes(threads):
    threads(2)
    calls = [*solve_calls(), *step_calls()]
    wrong, done = [], threading.Event()

    def call(first):
        for place in range(ROUNDS * 3):
            function, wanted = calls[(first + place) % len(calls)]
            if function() != (wanted or function()):
                wrong.append(place)

    def change():
        count = 0
        while not done.is_set():
            count = count % 4 + 1
            lambdak.set_num_threads(count)

    changer = threading.Thread(target=change)
    changer.start()
    run_together([lambda first=first: call(first * 5) for first in range(CALLERS)])
    done.set()
    changer.join()
    assert not wrong


def test_the_instruction_set_may_change_while_calls_run(threads):
    threads(2)
    before, names = kernel.isa(), kernel.available_isas()
    packed, done = matrices_of(2000, 9), threading.Event()
    ids, weights = step_cases.design(np.random.default_rng(1), np.float64)
    rows = step_cases.batch_of(np.random.default_rng(2), 2, 400)
    coef = step_cases.coefficients(np.random.default_rng(3), 2, 5, np.float64)
    wanted, far = eigenvalue(packed, 9, 4), []

    def call():
        for _ in range(ROUNDS * 2):
            far.append(np.abs(eigenvalue(packed, 9, 4) - wanted).max())
            far.append(0.0 * step_cases.forward(kernel, ids, weights, rows, coef, 5, [2], threads=2)[0].sum())

    def change():
        while not done.is_set():
            for name in names:
                kernel.use_isa(name)

    changer = threading.Thread(target=change)
    changer.start()
    run_together([call, call])
    done.set()
    changer.join()
    kernel.use_isa(before)
    assert max(far) < 1e-13


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_child_forked_from_a_busy_process_computes(threads):
    threads(3)
    packed, done = matrices_of(3000, 9), threading.Event()
    wanted = eigenvalue(packed, 9, 4).tobytes()

    def keep_busy():
        while not done.is_set():
            eigenvalue(packed, 9, 4)

    worker = threading.Thread(target=keep_busy)
    worker.start()
    codes = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            os._exit(0 if eigenvalue(packed, 9, 4, n_jobs=2).tobytes() == wanted else 1)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    done.set()
    worker.join()
    assert codes == [0, 0, 0]
