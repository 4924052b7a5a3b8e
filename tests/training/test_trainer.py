"""The trainer: it learns, keeps the best state of every model, and is reproducible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from training_cases import (
    OUTPUTS,
    WIDTH,
    losses_of,
    noisy_problem,
    regression,
    small_problem,
    smooth,
    table,
    trainer_of,
)

import lambdak
from lambdak.eigen import steps as _steps
from lambdak.table.encoder import TableEncoder
from lambdak.training.effort import Schedule
from lambdak.training.trainer import Trainer

# ---- training --------------------------------------------------------------------------------------------------


def test_training_lowers_the_validation_loss_of_every_model_far_below_its_start():
    problem, validation, encoder = small_problem()
    trainer = trainer_of(problem, validation, encoder)
    start = losses_of(validation, trainer.coef)
    events = list(trainer.run(Schedule(epochs=25, batch=25)))
    assert (trainer.best < 0.1 * start).all()
    assert (trainer.best < 0.1 * np.var(validation.y) / 2).all()
    assert [event.epoch for event in events] == list(range(1, 26))
    assert {event.epochs for event in events} == {25}
    assert (np.diff([event.seconds for event in events]) > 0).all()


def test_the_kept_state_of_each_model_has_exactly_its_best_validation_loss():
    problem, validation, encoder = noisy_problem()
    trainer = trainer_of(problem, validation, encoder, decay=(0.0, 3.0, 9.0))
    seen = np.array([event.validation for event in trainer.run(Schedule(epochs=12, batch=25, rate=0.2))])
    np.testing.assert_array_equal(trainer.best, seen.min(axis=0))
    np.testing.assert_array_equal(losses_of(validation, trainer.coef), trainer.best)
    assert len(set(seen.argmin(axis=0))) > 1, "the test needs models whose best epochs differ"


def test_without_validation_rows_the_training_rows_choose_the_state():
    problem, _, encoder = small_problem()
    trainer = trainer_of(problem, None, encoder)
    list(trainer.run(Schedule(epochs=3, batch=50)))
    np.testing.assert_array_equal(losses_of(problem, trainer.coef), trainer.best)


def in_one_place(problem):
    """The same outputs from one common start, and the anchors of the eigenvalues, to which their differences go."""
    middle = problem.start[1]
    return replace(problem, start=np.full_like(problem.start, middle)), (problem.start - middle) / problem.scale


def test_several_indices_start_at_their_anchors():
    X = table()
    encoder = TableEncoder(n_knots=8).fit(X)
    loss, outputs = OUTPUTS["several indices"]
    problem, anchors = in_one_place(regression(X, smooth(X), encoder, loss, outputs=outputs))
    trainer = trainer_of(problem, None, encoder, anchors=anchors)
    spectrum = np.linalg.eigvalsh(lambdak.sym(mean_matrices(trainer, problem, encoder)))
    np.testing.assert_allclose(spectrum[:, outputs.indices], np.tile(anchors, (3, 1)), atol=1e-4)
    assert (np.diff(spectrum, axis=1) > 0.01).all()


@pytest.mark.parametrize("kind", ["several indices", "several pencils"])
def test_several_outputs_learn_and_keep_the_best_state_of_each_model(kind):
    loss, outputs = OUTPUTS[kind]
    X = table(300)
    y = smooth(X) if outputs.pencils == 1 else np.digitize(smooth(X), [9.5, 10.5])
    encoder = TableEncoder(n_knots=8).fit(X)
    problem = regression(X, y, encoder, loss, outputs=outputs)
    problem, anchors = in_one_place(problem) if outputs.pencils == 1 else (problem, None)
    trainer = trainer_of(problem, None, encoder, damping=(1.0, 10.0), decay=(1.0, 1.0), anchors=anchors)
    assert len(trainer.coef) == 2 * outputs.pencils
    start = losses_of(problem, trainer.coef)
    list(trainer.run(Schedule(epochs=15, batch=30)))
    assert trainer.best.shape == (2,)
    assert (trainer.best < 0.5 * start).all()
    np.testing.assert_array_equal(losses_of(problem, trainer.coef), trainer.best)


def test_an_offset_carries_what_the_model_then_need_not_learn():
    X = table()
    encoder = TableEncoder(n_knots=8).fit(X)
    jumps = 100.0 * np.random.default_rng(5).standard_normal(len(X)).astype(np.float32)
    problem = regression(X, smooth(X) + jumps, encoder, offset=jumps)
    assert problem.scale < 5
    trainer = trainer_of(problem, None, encoder)
    list(trainer.run(Schedule(epochs=15, batch=25)))
    assert (trainer.best < 0.2 * np.var(smooth(X)) / 2).all()


def test_the_same_seed_gives_the_same_bits_for_one_and_two_threads(threads):
    results = []
    for count in (1, 2, 1):
        threads(count)
        problem, validation, encoder = small_problem()
        trainer = trainer_of(problem, validation, encoder, signs={0: 1})
        curves = [event.validation for event in trainer.run(Schedule(epochs=3, batch=150))]
        results.append((trainer.coef, trainer.best, np.array(curves)))
    for other in results[1:]:
        for got, wanted in zip(other, results[0], strict=True):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("signs", [{}, {0: 1}], ids=["epochs", "steps"])
def test_every_call_of_the_kernel_gets_the_threads_of_the_parameters(signs, recorder):
    task, validation, encoder = small_problem()
    trainer = trainer_of(task, validation, encoder, signs=signs)
    assert recorder.threads == {0}
    recorder.threads.clear()
    trainer.parameters.threads = 2
    list(trainer.run(Schedule(epochs=1, batch=150)))
    trainer.unseen()
    assert recorder.threads == {2}


def test_another_seed_gives_other_models():
    problem, validation, encoder = small_problem()
    first, second = (trainer_of(problem, validation, encoder, seed=seed) for seed in (0, 1))
    assert (first.coef[:, 0] != second.coef[:, 0]).any()
    assert (first.coef[0] != first.coef[1]).any(), "models of one stack start apart"


@pytest.mark.parametrize("signs", [{}, {1: 1}], ids=["epochs", "steps"])
def test_the_reference_engine_trains_like_the_kernel(signs, monkeypatch):
    problem, validation, encoder = small_problem()
    trained = []
    for engine in (_steps.step_engine(), _steps):
        for module in ("trainer", "parameters", "whitening"):
            monkeypatch.setattr(f"lambdak.training.{module}.step_engine", lambda engine=engine: engine)
        trainer = trainer_of(problem, validation, encoder, signs=signs)
        list(trainer.run(Schedule(epochs=2, batch=100)))
        trained.append(trainer)
    start = trainer_of(problem, validation, encoder, signs=signs).coef
    moved = np.abs(trained[0].coef - start).max()
    assert moved > 0.05
    np.testing.assert_allclose(trained[1].coef, trained[0].coef, atol=1e-3 * moved)
    np.testing.assert_allclose(trained[1].best, trained[0].best, rtol=1e-4)


def test_rows_of_weight_zero_do_not_move_the_models():
    X = table()
    encoder = TableEncoder(n_knots=8).fit(X)
    weight = np.ones(len(X), np.float32)
    weight[::3] = 0
    trained = []
    for nonsense in (0.0, 1e3):
        y = smooth(X) + nonsense * (weight == 0)
        problem = replace(regression(X, smooth(X), encoder, weight=weight), y=y)
        trainer = trainer_of(problem, None, encoder)
        list(trainer.run(Schedule(epochs=3, batch=50)))
        trained.append(trainer)
    np.testing.assert_array_equal(trained[0].coef, trained[1].coef)
    np.testing.assert_array_equal(trained[0].best, trained[1].best)


@pytest.mark.parametrize("kind", ["one output", "several pencils"])
def test_in_a_step_a_row_counts_by_its_weight_relative_to_the_whole_table(kind, recorder, monkeypatch):
    monkeypatch.setattr("lambdak.training.trainer.compiled_loss", lambda problem: None)
    loss, outputs = OUTPUTS[kind]
    X = table(100)
    encoder = TableEncoder(n_knots=8).fit(X)
    y = smooth(X) if outputs.pencils == 1 else np.digitize(smooth(X), [9.5, 10.5])
    problem = regression(X, y, encoder, loss, outputs=outputs)
    weight = np.random.default_rng(2).exponential(size=100).astype(np.float32)
    for some in (problem, replace(problem, weight=weight)):
        start = trainer_of(problem, None, encoder).parameters
        list(Trainer(some, start, np.random.default_rng(3)).run(Schedule(epochs=1, batch=20, rate=0.0)))
    assert len(recorder.rows) == 10
    for i in range(5):
        np.testing.assert_array_equal(recorder.rows[i], recorder.rows[i + 5])
        relative = weight[recorder.rows[i]] / weight.mean()
        np.testing.assert_allclose(recorder.slopes[i + 5], relative * recorder.slopes[i], rtol=1e-4, atol=1e-9)


def test_decay_shrinks_everything_but_the_constant():
    problem, _, encoder = small_problem(linear=("x1",))
    shifted = replace(problem, start=problem.start + 3.0)  # the constant has something to learn
    trainer = trainer_of(shifted, None, encoder, signs={1: 1}, decay=(1e9, 1e9, 0.0))
    before = trainer.coef.copy()
    list(trainer.run(Schedule(epochs=20, batch=50)))
    after = trainer.parameters.coef  # the last step is tiny, and nothing is left of those before it
    np.testing.assert_allclose(after[:2, 1:], 0, atol=1e-4)
    assert (np.abs(after[2, 1:]).max(axis=0)[:WIDTH] > 0.01).all()
    assert (np.abs(after[:, 0] - before[:, 0]).max(axis=1) > 0.1).all()
    assert losses_of(shifted, after)[:2] == pytest.approx(np.var(problem.y) / 2, rel=0.05)


def test_a_table_of_constants_learns_the_best_constant():
    X, y = np.full((64, 2), 3.0), np.random.default_rng(0).normal(5.0, 1.0, 64)
    encoder = TableEncoder(n_knots=4).fit(X)
    problem = regression(X, y, encoder)
    trainer = trainer_of(replace(problem, start=problem.start + 1.0), None, encoder)
    list(trainer.run(Schedule(epochs=40, batch=16)))
    assert trainer.best == pytest.approx(np.var(y) / 2, rel=0.02)


def test_the_training_loss_of_an_epoch_is_the_mean_over_its_steps():
    problem, validation, encoder = small_problem()
    (event,) = trainer_of(problem, validation, encoder).run(Schedule(epochs=1, batch=100, rate=0.0))
    np.testing.assert_allclose(
        event.train, losses_of(problem, trainer_of(problem, validation, encoder).coef), rtol=1e-5
    )


def test_a_batch_larger_than_the_table_takes_all_rows():
    problem, validation, encoder = small_problem()
    trainer = trainer_of(problem, validation, encoder)
    (first, *_) = trainer.run(Schedule(epochs=2, batch=10**6))
    fresh = trainer_of(problem, validation, encoder)
    np.testing.assert_allclose(first.train, losses_of(problem, fresh.coef), rtol=1e-5)


# ---- stopping --------------------------------------------------------------------------------------------------


def test_before_training_the_coefficients_are_a_usable_start():
    problem, validation, encoder = small_problem()
    trainer = trainer_of(problem, validation, encoder)
    assert np.isinf(trainer.best).all()
    assert np.isfinite(losses_of(validation, trainer.coef)).all()
    np.testing.assert_array_equal(trainer.coef[..., WIDTH:], 0)
    gaps = np.linalg.eigvalsh(lambdak.sym(mean_matrices(trainer, problem, encoder)))
    np.testing.assert_allclose(gaps, np.broadcast_to([-1, -1, 0, 1, 1], gaps.shape), atol=1e-4)


def mean_matrices(trainer, problem, encoder):
    """The mean of A(row) over the training rows, packed, in float64."""
    return np.einsum("p,mpd->md", problem.design.to_sparse(encoder.n_design).mean(axis=0), trainer.coef[..., :WIDTH])


# ---- folds -----------------------------------------------------------------------------------------------------


def test_the_kept_parameters_belong_to_the_kept_coefficients():
    problem, validation, encoder = noisy_problem()
    trainer = trainer_of(problem, validation, encoder, signs={0: 1}, decay=(0.0, 3.0, 9.0))
    list(trainer.run(Schedule(epochs=12, batch=25, rate=0.2)))
    assert (trainer.coef != trainer.parameters.coef).any(), "the test needs a model whose last epoch is not its best"
    trainer.parameters.continue_(trainer.theta)
    np.testing.assert_array_equal(trainer.parameters.coef, trainer.coef)
