"""Fits as a whole: one that fails changes nothing, overlapping ones disturb neither each other nor the process."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import lambdak
from lambdak import SpectralRegressor
from lambdak.training.blas import single_threaded_blas
from lambdak.training.trainer import Trainer

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (400, 4))
Y = X[:, 0] + X[:, 1] * X[:, 2]


def new(**settings):
    return SpectralRegressor(**{"effort": "fast", "max_iter": 3, "random_state": 0} | settings)


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_a_first_fit_that_fails_leaves_no_attribute(monkeypatch):
    model = new()
    monkeypatch.setattr(Trainer, "run", lambda *_: (_ for _ in ()).throw(RuntimeError))
    before = dict(vars(model))
    with pytest.raises(RuntimeError):
        model.fit(X, Y)
    assert vars(model) == before


def test_a_later_fit_that_fails_leaves_the_model(monkeypatch):
    model = new().fit(X, Y)
    before = dict(vars(model))
    monkeypatch.setattr(Trainer, "run", lambda *_: (_ for _ in ()).throw(RuntimeError))
    for call in (lambda: model.fit(X, -Y), lambda: model.partial_fit(X, -Y)):
        with pytest.raises(RuntimeError):
            call()
        assert vars(model) == before


def test_overlapping_fits_with_other_threads_are_right_and_leave_the_process_as_it_was():
    threads, blas = lambdak.get_num_threads(), blas_threads()
    expected = {n_jobs: new(random_state=n_jobs).fit(X, Y).predict(X) for n_jobs in (1, 2, 3)}
    found, during = [], []

    def work(n_jobs):
        for _ in range(3):
            model = new(random_state=n_jobs, n_jobs=n_jobs).fit(X, Y)
            during.append(lambdak.get_num_threads())
            found.append((n_jobs, model.predict(X)))

    workers = [threading.Thread(target=work, args=(n_jobs,)) for n_jobs in expected for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 18
    for n_jobs, predicted in found:
        np.testing.assert_array_equal(predicted, expected[n_jobs])
    assert set(during) == {threads}
    assert lambdak.get_num_threads() == threads
    assert blas_threads() == blas


def test_blas_is_restored_when_the_last_of_overlapping_fits_ends():
    before = blas_threads()
    first, second = single_threaded_blas(), single_threaded_blas()
    first.__enter__()
    assert set(blas_threads()) == {1}
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


@pytest.mark.parametrize("n_jobs", [0, "all", 1.5])
def test_a_number_of_jobs_that_makes_no_sense_is_refused(n_jobs):
    with pytest.raises((TypeError, ValueError), match="n_jobs must"):
        new(n_jobs=n_jobs).fit(X, Y)
    model = new().fit(X, Y).set_params(n_jobs=n_jobs)
    with pytest.raises((TypeError, ValueError), match="n_jobs must"):
        model.predict(X)


def test_pilot_models_are_of_their_own_size_and_read_the_middle_eigenvalue(monkeypatch):
    seen = []
    original = Trainer.run

    def watched(trainer, schedule):
        seen.append((trainer.parameters.dim, trainer.problem.outputs.indices))
        return original(trainer, schedule)

    monkeypatch.setattr(Trainer, "run", watched)
    new(dim=9, eig_idx=1).fit(X, Y)
    new(dim=4, eig_idx=1).fit(X, Y)
    assert seen == [(5, (2,)), (9, (1,)), (4, (1,)), (4, (1,))]
