"""Fits in parallel threads and processes: each program ends, and every model is that of a serial fit, bit for bit."""

from __future__ import annotations

import subprocess
import sys

import pytest

PATIENCE = 300  # seconds, for a busy machine: a program that hangs fails
HEADER = """
import hashlib, os, sys, threading
import numpy as np
import lambdak

rng = np.random.default_rng(0)
X = rng.standard_normal((300, 4))
Y = X[:, 0] + np.abs(X[:, 1])

def fitted(seed):
    # Predictions of a model, and the threads that it was trained on.
    model = lambdak.SpectralRegressor(effort="fast", max_iter=2, random_state=seed).fit(X, Y)
    return hashlib.sha256(model.predict(X).tobytes()).hexdigest(), lambdak.get_num_threads()

def bits(results):
    return [own for own, _ in results]

SEEDS = range(6)

if __name__ == "__main__":
    serial = bits(map(fitted, SEEDS))
"""
PROGRAMS = {
    "joblib with loky": """
    from joblib import Parallel, delayed
    for jobs in (2, 3):
        results = Parallel(jobs, backend="loky")(delayed(fitted)(seed) for seed in SEEDS)
        assert bits(results) == serial
        limit = max(1, lambdak.eigen.runtime.most_threads() // jobs)
        assert {threads for _, threads in results} == {limit}, results
""",
    "joblib with threads": """
    import time
    from joblib import Parallel, delayed

    def helpers():
        return len(os.listdir("/proc/self/task")) - threading.active_count() if sys.platform == "linux" else 0

    before, deadline = helpers(), time.monotonic() + 20
    lambdak.set_num_threads(4)
    assert bits(Parallel(4, backend="threading")(delayed(fitted)(seed) for seed in SEEDS)) == serial
    while helpers() - before > 3 and time.monotonic() < deadline:
        time.sleep(0.01)  # the system is slower than Python to forget a thread that has ended
    assert helpers() - before <= 3
""",
    "Dask with processes": """
    import logging
    logging.getLogger("distributed.nanny").setLevel(logging.ERROR)  # which says that a busy machine is late
    from dask.distributed import Client, LocalCluster
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        results = client.gather(client.map(fitted, SEEDS))
        assert bits(results) == serial
        assert {threads for _, threads in results} == {1}, results  # Dask says so by OMP_NUM_THREADS
""",
    "Dask with threads": """
    from dask.distributed import Client, LocalCluster
    with LocalCluster(
        processes=False, n_workers=1, threads_per_worker=4, dashboard_address=None
    ) as cluster, Client(cluster) as client:
        assert bits(client.gather(client.map(fitted, SEEDS))) == serial
""",
    "beside PyTorch": """
    import torch
    done = threading.Event()

    def train():
        network, rows = torch.nn.Linear(64, 64), torch.randn(4096, 64)
        while not done.is_set():
            network(rows).square().mean().backward()

    other = threading.Thread(target=train)
    other.start()
    found = bits(map(fitted, SEEDS))
    done.set()
    other.join()
    assert found == serial
""",
    "fork while other threads fit": """
    done = threading.Event()

    def keep_fitting():
        while not done.is_set():
            fitted(0)

    others = [threading.Thread(target=keep_fitting) for _ in range(2)]
    for other in others:
        other.start()
    for seed in SEEDS:
        child = os.fork()
        if child == 0:
            os._exit(0 if fitted(seed)[0] == serial[seed] else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    done.set()
    for other in others:
        other.join()
""",
    "fork": """
    import multiprocessing
    with multiprocessing.get_context("fork").Pool(3) as pool:
        assert bits(pool.map(fitted, SEEDS)) == serial
""",
    "spawn": """
    import multiprocessing
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert bits(pool.map(fitted, SEEDS)) == serial
""",
    "a grid search in processes": """
    from sklearn.model_selection import GridSearchCV
    def best(jobs):
        model = lambdak.SpectralRegressor(effort="fast", max_iter=2, random_state=0, n_jobs=-1)
        search = GridSearchCV(model, {"dim": [3, 5]}, cv=3, n_jobs=jobs).fit(X, Y)
        return search.cv_results_["mean_test_score"].tobytes(), search.predict(X).tobytes()
    assert best(2) == best(1)
""",
}
NEEDS = {"Dask with processes": "distributed", "Dask with threads": "distributed", "beside PyTorch": "torch"}


@pytest.mark.slow
@pytest.mark.parametrize("way", PROGRAMS)
def test_parallel_fits_end_and_give_the_bits_of_serial_ones(way, tmp_path):
    if way in NEEDS:
        pytest.importorskip(NEEDS[way])
    if "fork" in way and sys.platform == "win32":
        pytest.skip("Windows has no fork")
    script = tmp_path / "program.py"  # a file, which workers can import
    script.write_text(HEADER + PROGRAMS[way])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", script], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
