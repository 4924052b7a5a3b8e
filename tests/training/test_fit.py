"""Fits as a whole: one that fails changes nothing, overlapping ones disturb neither each other nor the process."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from fit_cases import X, Y, blas_threads, new

import lambdak
from lambdak.training.trainer import Trainer


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


@pytest.mark.parametrize("n_jobs", [0, "all", 1.5])
def test_a_number_of_jobs_that_makes_no_sense_is_refused(n_jobs):
    with pytest.raises((TypeError, ValueError), match="n_jobs must"):
        new(n_jobs=n_jobs).fit(X, Y)
    model = new().fit(X, Y).set_params(n_jobs=n_jobs)
    with pytest.raises((TypeError, ValueError), match="n_jobs must"):
        model.predict(X)


def test_interrupting_the_refit_keeps_the_models_before_it(monkeypatch, capsys):
    unrefitted, noisy = new(max_iter=None), Y + np.random.default_rng(0).standard_normal(len(Y))
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "refit", lambda *_: iter(()))
        expected = unrefitted.fit(X, noisy).predict(X)
    steps = []

    def interrupted(trainer, *_):
        steps.append(1)
        raise KeyboardInterrupt

    whole = Trainer.refit

    def refit(trainer, *given):
        with monkeypatch.context() as patch:
            patch.setattr(Trainer, "keep_", interrupted)  # after the last epoch: all parameters have moved
            yield from whole(trainer, *given)

    monkeypatch.setattr(Trainer, "refit", refit)
    np.testing.assert_array_equal(new(max_iter=None).fit(X, noisy).predict(X), expected)
    assert steps
    assert "before the refit" in capsys.readouterr().out
