"""L-BFGS refinement: over a stack against closed forms and SciPy, and what it keeps, leaves and promises."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der
from training_cases import small_problem, trainer_of

import lambdak
from lambdak import SpectralClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.training import lbfgs as module
from lambdak.training import members as fitting
from lambdak.training.effort import Schedule
from lambdak.training.lbfgs import descend, refine
from lambdak.training.problem import Folds


def last(states, most=200):
    """The last of at most so many states."""
    *_, x = islice(states, most)
    return x


def smooth_table(rows=400, seed=0):
    X = np.random.default_rng(seed).uniform(-1, 1, (rows, 3))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]


# ---- the minimiser ---------------------------------------------------------------------------------------------


def quadratics(models=3, n=8):
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((models, n, n))
    matrices = factors @ factors.transpose(0, 2, 1) + 0.1 * np.eye(n)
    targets = rng.standard_normal((models, n))

    def objective(x):
        away = x - targets
        slope = np.einsum("mij,mj->mi", matrices, away)
        return 0.5 * np.einsum("mi,mi->m", away, slope), slope

    return objective, targets


def test_every_model_reaches_the_minimum_of_its_own_quadratic():
    objective, targets = quadratics()
    x = last(descend(objective, np.ones_like(targets)))
    np.testing.assert_allclose(x, targets, atol=1e-5)


def test_a_curved_valley_is_followed_to_its_end():
    starts = np.array([[-1.2, 1.0, -0.5, 0.3], [0.5, -1.0, 2.0, 0.1]])
    x = last(descend(lambda x: (np.array([rosen(r) for r in x]), np.array([rosen_der(r) for r in x])), starts))
    np.testing.assert_allclose(x, 1, atol=1e-4)


def test_no_value_ever_rises():
    objective, targets = quadratics()
    values = [objective(x)[0] for x in islice(descend(objective, np.ones_like(targets)), 30)]
    assert (np.diff(values, axis=0) <= 0).all()


def test_a_model_does_not_depend_on_its_neighbours():
    objective, targets = quadratics()
    together = last(descend(objective, np.ones_like(targets)), 10)

    def first_alone(x):
        value, slope = objective(np.concatenate([x, targets[1:]]))
        return value[:1], slope[:1]

    assert (last(descend(first_alone, np.ones_like(targets[:1])), 10) == together[:1]).all()


def test_a_model_at_its_minimum_stays_while_others_move():
    objective, targets = quadratics()
    start = np.ones_like(targets)
    start[1] = targets[1]
    x = last(descend(objective, start), 10)
    assert (x[1] == targets[1]).all()
    assert (x[[0, 2]] != start[[0, 2]]).all()


def test_where_no_model_can_move_there_is_nothing_to_yield():
    objective, targets = quadratics()
    assert not list(descend(objective, targets))


def test_an_objective_that_cannot_fall_ends_the_search():
    assert not list(descend(lambda x: (np.zeros(2), np.ones_like(x)), np.ones((2, 3))))


# ---- what it minimises -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_the_slope_is_the_derivative_of_the_training_loss(weighted):
    task, validation, encoder = small_problem(rows=60, n_knots=3)
    if weighted:
        task = replace(task, weight=np.random.default_rng(1).uniform(0.2, 3, 60).astype(np.float32))
    trainer = trainer_of(
        task, validation, encoder, signs={1: 1}, folds=Folds(np.arange(60, dtype=np.int32) % 3, (0, 1, 2))
    )
    rows, x = trainer.training_rows(), module._gather(trainer)
    _, slope = module._slope(trainer, rows, x)
    rng = np.random.default_rng(2)
    for _ in range(5):
        way = rng.standard_normal(x.shape).astype(np.float32) * (slope != 0)
        values = [module._slope(trainer, rows, x + np.float32(h) * way)[0] for h in (-1e-2, 1e-2)]
        np.testing.assert_allclose((values[1] - values[0]) / 2e-2, (slope * way).sum(axis=1), rtol=2e-2, atol=2e-4)


# ---- what it keeps ---------------------------------------------------------------------------------------------


def trained(noise=0.0, validated=True, rows=400):
    task, validation, encoder = small_problem(rows=rows)
    rng = np.random.default_rng(3)
    task, validation = (
        replace(part, y=part.y + noise * rng.standard_normal(len(part.y))) for part in (task, validation)
    )
    trainer = trainer_of(task, validation if validated else None, encoder, decay=(0.1, 0.3, 0.1))
    for _ in trainer.run(Schedule(40, 64)):
        pass
    return trainer


def test_models_of_a_target_without_noise_get_much_better():
    trainer = trained()
    before = trainer.best.mean()
    seen = list(refine(trainer))
    assert trainer.best.mean() < 0.5 * before
    np.testing.assert_array_equal(trainer.best, min(seen, key=np.mean))


def test_the_kept_coefficients_belong_to_the_kept_parameters_and_losses():
    trainer = trained()
    for _ in refine(trainer):
        pass
    trainer.parameters.continue_(trainer.theta)
    np.testing.assert_array_equal(trainer.parameters.coef, trainer.coef)
    np.testing.assert_array_equal(trainer.validation_losses(), trainer.best)


def test_models_of_noise_stay_as_they_were_and_the_refinement_ends_soon():
    trainer = trained(noise=3.0, rows=100)
    coef, theta, best = trainer.coef.copy(), [part.copy() for part in trainer.theta], trainer.best.copy()
    assert len(list(refine(trainer))) < 20
    np.testing.assert_array_equal(trainer.coef, coef)
    np.testing.assert_array_equal(trainer.best, best)
    for kept, part in zip(trainer.theta, theta, strict=True):
        np.testing.assert_array_equal(kept, part)


def test_without_enough_unseen_rows_nothing_is_refined(monkeypatch):
    assert not list(refine(trained(validated=False)))
    monkeypatch.setattr(module, "_FEWEST_UNSEEN", 151)
    assert not list(refine(trained()))


def test_long_tables_are_not_refined(monkeypatch):
    monkeypatch.setattr(module, "_MOST_ROWS", 399)
    assert not list(refine(trained()))


def test_a_refinement_that_is_left_in_the_middle_leaves_the_best_models_so_far():
    trainer = trained()
    before = trainer.best.mean()
    list(islice(refine(trainer), 5))
    assert trainer.best.mean() < before
    trainer.parameters.continue_(trainer.theta)
    np.testing.assert_array_equal(trainer.validation_losses(), trainer.best)


# ---- in the estimators -----------------------------------------------------------------------------------------


def error(model, X, y):
    return np.mean((model.predict(X) - y) ** 2)


def unrefined(monkeypatch):
    monkeypatch.setattr(fitting, "refine", lambda trainer: iter(()))


@pytest.mark.slow
def test_estimators_of_a_smooth_target_gain_from_it(monkeypatch):
    tables = [smooth_table(seed=seed) for seed in (0, 2, 3)]
    X_new, y_new = smooth_table(2000, seed=1)

    def errors():
        return sum(error(SpectralRegressor(random_state=0).fit(*table), X_new, y_new) for table in tables)

    refined = errors()
    unrefined(monkeypatch)
    assert refined < 0.7 * errors()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_refined_model_whatever_the_threads():
    X, y = smooth_table(1000)
    before, predictions = lambdak.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            lambdak.set_num_threads(threads)
            predictions.append(SpectralRegressor(effort="fast", random_state=0).fit(X, y).predict(X))
    finally:
        lambdak.set_num_threads(before)
    assert np.array_equal(predictions[0], predictions[1])
    assert np.array_equal(predictions[0], predictions[2])


@pytest.mark.parametrize("settings", [{"max_iter": 3}, {"warm_start": True}])
def test_a_limit_on_epochs_or_continued_training_leaves_it_out(settings, monkeypatch):
    X, y = smooth_table(100)
    model = SpectralRegressor(effort="fast", random_state=0, **settings)
    if "warm_start" in settings:
        model.fit(X, y)
    monkeypatch.setattr(fitting, "refine", lambda trainer: pytest.fail("refined"))
    model.fit(X, y)
    if "warm_start" in settings:
        model.partial_fit(X, y)


@pytest.mark.slow
def test_refined_models_keep_their_promises():
    X, y = smooth_table(400)
    X[:, 1] += 0.5
    y = np.sin(3 * X[:, 0]) + X[:, 1] * (1 + X[:, 2])
    model = SpectralRegressor(monotonic_cst={1: 1}, max_influence={0: 1.5}, random_state=0).fit(X, y)
    low, high = X.copy(), X.copy()
    low[:, 1], high[:, 1] = np.sort(np.random.default_rng(1).uniform(-1, 2, (2, 400)), axis=0)
    assert (model.predict(high) >= model.predict(low)).all()
    assert model.feature_strengths_[0] <= 1.5 * (1 + 1e-6)
    bowl = SpectralRegressor(shape="convex", dim=7, n_estimators=3, random_state=0).fit(X, (X**2).sum(axis=1))
    a, b = X[:200], X[200:]
    assert (bowl.predict((a + b) / 2) <= (bowl.predict(a) + bowl.predict(b)) / 2 + 1e-5).all()


@pytest.mark.slow
def test_quantiles_and_classes_are_refined_too(monkeypatch):
    X, y = smooth_table(1000)
    counts = []

    def counted(trainer):
        counts.append(0)
        for seen in refine(trainer):
            counts[-1] += 1
            yield seen

    monkeypatch.setattr(fitting, "refine", counted)
    levels = (0.05, 0.5, 0.95)  # more would make this table too long for it, with a copy of each row for each
    quantiles = SpectralQuantileRegressor(levels, effort="fast", random_state=0).fit(X, y).predict_quantiles(X)
    assert (np.diff(quantiles, axis=1) >= 0).all()
    model = SpectralClassifier(effort="fast", random_state=0).fit(X, np.digitize(y, [-0.5, 0.5]))
    assert model.score(X, np.digitize(y, [-0.5, 0.5])) > 0.8
    assert len(counts) == 2
    assert min(counts) > 0


def test_interrupting_a_refinement_keeps_the_best_models(monkeypatch, capsys):
    X, y = smooth_table(1000)

    def interrupted(trainer):
        yield from islice(refine(trainer), 3)
        raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "refine", interrupted)
    model = SpectralRegressor(effort="fast", verbose=1, random_state=0).fit(X, y)
    assert f"keeping the best models after {model.n_iter_} epochs" in capsys.readouterr().out
    assert model.score(X, y) > 0.9
