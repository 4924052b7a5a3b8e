"""Capacity, chosen by the data: trial models, what several members lose together, samples of rows and classes."""

from __future__ import annotations

import numpy as np
import pytest

from lambdak import SpectralClassifier, SpectralRegressor
from lambdak.training import choice
from lambdak.training.choice import expected_losses
from lambdak.training.pilots import sample_of
from lambdak.training.trainer import Trainer


@pytest.fixture
def options(monkeypatch):
    """The options of all fits."""
    seen, original = [], choice.choose_capacity

    def watched(some, strengths):
        seen.extend(some)
        return original(some, strengths)

    monkeypatch.setattr(choice, "choose_capacity", watched)
    return seen


def friedman(rows, noise, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(rows, 5))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, y + noise * rng.standard_normal(rows)


def test_a_table_of_noise_gets_the_small_matrices():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((600, 4)), rng.standard_normal(600)
    assert SpectralRegressor(random_state=0).fit(X, y).model_.dim == 9


@pytest.mark.parametrize(("gain", "dim"), [(-0.1, 9), (0.0, 9), (1.0, 15)])
def test_the_larger_capacity_has_to_be_better_by_more_than_chance(monkeypatch, gain, dim):
    def losses(option, strengths, folds):
        larger = option.session.settings.recipe.dim > 9
        return np.tile(1.0 - gain * larger + np.sin(np.arange(160.0) * (1 + larger)), (len(strengths), 1))

    monkeypatch.setattr(choice, "_losses", losses)
    X, y = friedman(800, 1.0)
    assert SpectralRegressor(random_state=0, n_estimators=1).fit(X, y).model_.dim == dim


def test_capacities_of_a_small_table_are_compared_on_the_same_rows(options):
    X, y = friedman(600, 1.0)
    SpectralRegressor(max_iter=1, random_state=0).fit(X, y)
    small, larger = options
    assert small.session.draft.encoder.n_design < larger.session.draft.encoder.n_design
    np.testing.assert_array_equal(small.session.problem.y, larger.session.problem.y)
    encoded = larger.session.draft.encoder.transform(X[larger.rows.places])
    np.testing.assert_array_equal(encoded.ids, larger.rows.design.ids)
    np.testing.assert_array_equal(y[larger.rows.places], larger.rows.y)


def test_a_user_who_sets_dim_gets_it(options):
    X, y = friedman(300, 1.0)
    assert SpectralRegressor(dim=7, n_estimators=1, random_state=0).fit(X, y).model_.dim == 7
    assert len(options) == 1


@pytest.mark.parametrize(("gain", "knots"), [(-0.1, 8), (0.0, 8), (1.0, 20)])
def test_many_classes_get_few_knots_unless_more_are_better_by_more_than_chance(monkeypatch, gain, knots):
    def losses(option, strengths, folds):
        more = option.session.settings.recipe.knots > 8
        return np.tile(1.0 - gain * more + np.sin(np.arange(160.0) * (1 + more)), (len(strengths), 1))

    monkeypatch.setattr(choice, "_losses", losses)
    X, y = friedman(800, 1.0)
    classes = np.digitize(y, np.quantile(y, [0.25, 0.5, 0.75]))
    model = SpectralClassifier(effort="fast", max_iter=1, random_state=0).fit(X, classes).model_
    assert {len(column.knots) for column in model.encoder.columns} == {knots}
    assert model.dim == 9


def test_a_number_of_knots_that_is_set_is_not_changed_where_classes_are_many(options):
    X, y = friedman(300, 1.0)
    classes = np.digitize(y, np.quantile(y, [0.25, 0.5, 0.75]))
    model = SpectralClassifier(effort="fast", n_knots=12, max_iter=1, random_state=0).fit(X, classes).model_
    assert {len(column.knots) for column in model.encoder.columns} == {12}
    assert len(options) == 1


def test_trial_models_of_classes_are_measured_with_the_best_factor_on_their_log_odds(options, monkeypatch):
    trainers = []
    original = Trainer.run
    monkeypatch.setattr(Trainer, "run", lambda self, *given: trainers.append(self) or original(self, *given))
    X, y = friedman(300, 1.0)
    SpectralClassifier(effort="fast", max_iter=5, random_state=0).fit(X, y > y.mean())
    raw, rows, problem = trainers[0].unseen()
    means, start = raw.reshape(-1, 2, raw.shape[1]).mean(axis=1), problem.start[0]
    of_factor = [
        problem.loss.of_rows(start + factor * (means - start), problem.y[rows[::2]]).mean(axis=1)
        for factor in (1.0, 1.25, 1.5, 2.0)
    ]
    losses = expected_losses(trainers[0], 2, (1.0, 1.25, 1.5, 2.0))
    np.testing.assert_allclose(losses.mean(axis=1), np.min(of_factor, axis=0), rtol=1e-4)
    assert (np.min(of_factor, axis=0) < of_factor[0]).any()


def test_what_members_lose_together_is_what_their_mean_loses(options, monkeypatch):
    trainers = []
    original = Trainer.run
    monkeypatch.setattr(Trainer, "run", lambda self, *given: trainers.append(self) or original(self, *given))
    X, y = friedman(300, 1.0)
    SpectralRegressor(effort="fast", n_estimators=2, random_state=0).fit(X, y)
    pilots = trainers[0]
    raw, rows, problem = pilots.unseen()
    pairs = raw.reshape(-1, 2, raw.shape[1])
    mean = problem.loss.of_rows(pairs.mean(axis=1), problem.y[rows[::2]])
    np.testing.assert_allclose(expected_losses(pilots, 2), mean, rtol=1e-4, atol=1e-6)  # of two, it is measured
    alone = problem.loss.of_rows(raw, problem.y[rows]).reshape(pairs.shape).mean(axis=1)
    np.testing.assert_allclose(expected_losses(pilots, 1), alone, rtol=1e-4, atol=1e-6)
    assert (expected_losses(pilots, 3).mean(axis=1) <= alone.mean(axis=1) + 1e-6).all()


def test_long_tables_and_many_classes_are_sampled(options, monkeypatch):
    monkeypatch.setattr("lambdak.training.pilots.PILOT_ROWS", 200)
    X, y = friedman(900, 1.0)
    classes = np.digitize(y, np.quantile(y, np.arange(1, 12) / 12))
    SpectralClassifier(effort="fast", max_iter=1, random_state=0).fit(X, classes)
    sample = sample_of(options[0].session)
    assert 0 < len(sample.problem.design) <= 200
    assert sample.problem.loss.n_classes == 10
    assert set(np.unique(sample.problem.y)) == set(range(10))
    assert len(options[0].session.problem.design) > 800


# ---- the refit -------------------------------------------------------------------------------------------------------


def test_members_are_refitted_on_all_rows_unless_the_epochs_or_validation_rows_are_given(monkeypatch):
    passes = []
    original = Trainer._pass

    def watched(trainer, schedule, epoch, folds):
        passes.append(folds.distinct)
        return original(trainer, schedule, epoch, folds)

    monkeypatch.setattr(Trainer, "_pass", watched)
    X, y = friedman(900, 1.0)
    SpectralRegressor(effort="fast", random_state=0).fit(X, y)
    assert passes[-1] == [-1]  # no fold is left out
    assert passes[0] != [-1]
    passes.clear()
    SpectralRegressor(effort="fast", random_state=0, max_iter=3).fit(X, y)
    assert [-1] not in passes
    passes.clear()
    SpectralRegressor(effort="fast", random_state=0).fit(X[:800], y[:800], X_val=X[800:], y_val=y[800:])
    assert sum(folds == [-1] for folds in passes) == len(passes)  # all rows from the start, so that none are added


def test_a_refit_lowers_the_loss_on_the_rows_that_were_left_out(monkeypatch):
    seen, original = [], choice.choose_capacity
    original = Trainer.refit

    def watched(trainer, *given):
        before = trainer.validation_losses()
        yield from original(trainer, *given)
        seen.append((before, trainer.validation_losses()))

    monkeypatch.setattr(Trainer, "refit", watched)
    X, y = friedman(600, 1.0)
    SpectralRegressor(random_state=0, dim=9).fit(X, y)
    before, after = seen[0]
    assert after.mean() < before.mean()


def test_members_that_overfit_early_are_not_trained_further(monkeypatch):
    calls = []
    monkeypatch.setattr(Trainer, "refit", lambda trainer, *_: calls.append(trainer.improved_until) or iter(()))
    rng = np.random.default_rng(0)
    SpectralRegressor(effort="fast", random_state=0).fit(rng.standard_normal((400, 6)), rng.standard_normal(400))
    assert not calls
    SpectralRegressor(effort="fast", random_state=0).fit(*friedman(900, 1.0))
    assert calls
    assert calls[0].mean() > 0.3
