"""What the estimators share: members, threads, validation rows, and fits that are interrupted or fail."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError

import lambdak
from lambdak import SpectralQuantileRegressor, SpectralRegressor


def test_n_jobs_leaves_the_model_and_the_thread_count_as_they_were(table):
    X, y = table
    before = lambdak.get_num_threads()
    one, two = (SpectralRegressor(effort="fast", max_iter=3, n_jobs=n, random_state=0).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.model_.coef, two.model_.coef)
    assert lambdak.get_num_threads() == before


def test_same_seed_gives_the_same_model_whatever_the_threads(table):
    X, y = table
    before = lambdak.get_num_threads()
    predictions = []
    try:
        for threads in (1, 2, 3):
            lambdak.set_num_threads(threads)
            predictions.append(SpectralRegressor(effort="fast", max_iter=3, random_state=0).fit(X, y).predict(X))
    finally:
        lambdak.set_num_threads(before)
    assert np.array_equal(predictions[0], predictions[1])
    assert np.array_equal(predictions[0], predictions[2])
    other = SpectralRegressor(effort="fast", max_iter=3, random_state=1).fit(X, y).predict(X)
    assert not np.array_equal(predictions[0], other)


@pytest.mark.slow
def test_a_single_pencil_predicts_what_the_model_predicts():
    X, y = load_diabetes(return_X_y=True)
    model = SpectralRegressor(n_estimators=1, effort="fast", random_state=0).fit(X, y)
    (pencil,) = model.model_.pencils
    assert model.model_.weights.tolist() == [1.0]
    rows = model.model_.encoder.transform(X).to_sparse(model.model_.encoder.n_design).toarray()[:, 1:]
    np.testing.assert_allclose(model.model_.start[0] + model.model_.scale * pencil(rows), model.predict(X), rtol=1e-4)


def test_members_are_a_convex_combination(table):
    X, y = table
    model = SpectralRegressor(effort="fast", n_estimators=4, max_iter=3, random_state=0).fit(X, y)
    assert 1 <= len(model.model_.weights) <= 4
    assert len(model.model_.pencils) == len(model.model_.weights)
    assert (model.model_.weights > 0).all()
    assert model.model_.weights.sum() == pytest.approx(1)
    assert model.loss_curve_.shape == model.validation_curve_.shape == (3, 4)


def test_interrupting_a_fit_keeps_the_best_models_so_far_and_trains_them_no_further(table, monkeypatch, capsys):
    X, y = table
    from lambdak.training.trainer import Trainer

    whole, refits = Trainer.run, []

    def interrupted(self, *given):
        for event in whole(self, *given):
            yield event
            if event.epoch == 2 and self.parameters.dim == 9:
                raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, "run", interrupted)
    monkeypatch.setattr(Trainer, "refit", lambda *given: refits.append(given) or iter(()))
    model = SpectralRegressor(effort="fast", dim=9, verbose=1, random_state=0).fit(X, y)
    assert model.n_iter_ == 2
    assert np.isfinite(model.predict(X)).all()
    assert "keeping the best models after 2 epochs" in capsys.readouterr().out
    assert not refits


def test_interrupting_the_training_on_all_rows_keeps_the_models_from_before(table, monkeypatch, capsys):
    X, y = table
    from lambdak.training.trainer import Trainer

    whole, one_epoch = Trainer.refit, Trainer._pass
    settings = {
        "effort": "fast",
        "monotonic_cst": [1] + [0] * (X.shape[1] - 1),
        "max_influence": 1e3,
        "random_state": 0,
    }

    def interrupted(self, *given):
        def first_only(self, schedule, epoch, folds):
            if epoch == 1:
                raise KeyboardInterrupt
            return one_epoch(self, schedule, epoch, folds)

        monkeypatch.setattr(Trainer, "_pass", first_only)
        yield from whole(self, *given)

    monkeypatch.setattr(Trainer, "refit", interrupted)
    kept = SpectralRegressor(**settings).fit(X, y)
    assert "keeping the models as they were before" in capsys.readouterr().out
    monkeypatch.setattr(Trainer, "_pass", one_epoch)
    monkeypatch.setattr(Trainer, "refit", lambda *_: iter(()))
    np.testing.assert_array_equal(kept.predict(X), SpectralRegressor(**settings).fit(X, y).predict(X))
    assert kept.certify().holds


def test_validation_rows_of_the_user_are_used(table):
    X, y = table
    model = SpectralRegressor(effort="fast", early_stopping=True, n_iter_no_change=2, random_state=0)
    model.fit(X[:2000], y[:2000], X_val=X[2000:], y_val=y[2000:])
    assert model.validation_curve_.min() > 0
    assert model.score(X[2000:], y[2000:]) > 0.8


def test_a_fit_that_fails_or_is_interrupted_leaves_the_model_as_it_was(table, monkeypatch):
    X, y = table
    model = SpectralRegressor(effort="fast", max_iter=2, random_state=0).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="zz"):
        model.set_params(monotonic_cst={"zz": 1}).fit(X, 50 * y)
    np.testing.assert_array_equal(model.predict(X), before)
    with pytest.raises(NotFittedError):
        SpectralRegressor().predict(X)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("lambdak.training.trainer.Trainer.run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(monotonic_cst=None).fit(X, 50 * y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_levels_of_another_type_are_refused_by_name():
    X = pd.DataFrame({"code": ["0", "1", "2"] * 20})
    model = SpectralRegressor(effort="fast", max_iter=1).fit(X, np.arange(60.0))
    with pytest.raises(ValueError, match="column 'code' must hold strings, as in training; got 0"):
        model.predict(X.astype(int))


def test_no_rows_give_no_predictions(table):
    X, y = table
    model = SpectralQuantileRegressor(effort="fast", max_iter=1, random_state=0).fit(X, y)
    assert model.predict_quantiles(X[:0]).shape == (0, 7)
