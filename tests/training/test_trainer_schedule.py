"""How long the trainer runs: patience, runs that are left, learning rates, and the rows of an epoch."""

from __future__ import annotations

import numpy as np
import pytest
from training_cases import DECAY, DIM, losses_of, small_problem, trainer_of

from lambdak.model.model import evaluate
from lambdak.training.effort import Schedule

# ---- stopping --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("patience", [1, 3])
def test_training_stops_when_patience_is_over(patience):
    problem, validation, encoder = small_problem()
    trainer = trainer_of(problem, validation, encoder)
    events = list(trainer.run(Schedule(epochs=50, batch=100, rate=0.0, patience=patience)))
    assert len(events) == 1 + patience  # the first epoch is better than none, and nothing moves afterwards


def test_an_improvement_of_less_than_tol_counts_as_none():
    problem, validation, encoder = small_problem()
    trainer = trainer_of(problem, validation, encoder)
    assert len(list(trainer.run(Schedule(epochs=50, batch=100, patience=2, tol=1e6)))) == 3


class Scripted:
    """Validation rows whose losses are written down beforehand, one line per epoch."""

    def __init__(self, problem, script):
        self.design, self.outputs = problem.design, problem.outputs
        self.script, self.seen = iter(np.array(script, float)), []

    def losses(self, eigenvalues, rows):
        assert rows == slice(None)
        self.seen.append(eigenvalues)
        return next(self.script)


def test_patience_waits_as_long_as_any_model_improves():
    problem, validation, encoder = small_problem()
    script = [[9, 9, 9], [9, 8, 9], [9, 9, 7], [9, 9, 9], [5, 9, 9], [5, 8, 7], [6, 9, 9], [0, 0, 0]]
    trainer = trainer_of(problem, Scripted(validation, script), encoder)
    assert len(list(trainer.run(Schedule(epochs=8, batch=100, patience=2)))) == 7
    assert trainer.best.tolist() == [5, 8, 7]


def test_every_model_keeps_the_state_of_its_own_best_epoch():
    problem, validation, encoder = small_problem()
    scripted = Scripted(validation, [[9, 3, 9], [8, 4, 9], [9, 3, np.nan], [np.inf, 5, 8]])
    trainer = trainer_of(problem, scripted, encoder)
    list(trainer.run(Schedule(epochs=4, batch=100)))
    kept = evaluate(trainer.coef, DIM, problem.outputs.indices, validation.design)
    for model, epoch in enumerate([1, 0, 3]):
        np.testing.assert_array_equal(kept[model], scripted.seen[epoch][model])
        assert all((kept[model] != scripted.seen[other][model]).any() for other in range(4) if other != epoch)


def test_a_run_that_is_left_in_the_middle_leaves_the_best_models_so_far():
    problem, validation, encoder = small_problem()
    trainer = trainer_of(problem, validation, encoder)
    start = losses_of(validation, trainer.coef)
    run = trainer.run(Schedule(epochs=20, batch=25))
    seen = np.array([next(run).validation for _ in range(4)])
    run.close()
    np.testing.assert_array_equal(trainer.best, seen.min(axis=0))
    np.testing.assert_array_equal(losses_of(validation, trainer.coef), trainer.best)
    assert (trainer.best < start).all()
    kept = trainer.best.copy()
    list(trainer.run(Schedule(epochs=2, batch=25)))  # and it can continue
    assert (trainer.best <= kept).all()


# ---- the schedule ----------------------------------------------------------------------------------------------


def test_the_rate_warms_up_and_falls_to_zero_along_half_a_cosine(recorder):
    problem, validation, encoder = small_problem()
    trainer = trainer_of(problem, validation, encoder)
    list(trainer.run(Schedule(epochs=20, batch=40, rate=0.03)))
    total = 20 * 10
    step = np.arange(1, total + 1)
    rates = np.array(recorder.rates)  # (steps, models)
    assert rates.shape == (total, len(DECAY))
    assert (rates == rates[:, :1]).all()
    np.testing.assert_allclose(recorder.corrections, 1 / (1 - 0.99**step), rtol=1e-9)
    shape = rates[:, 0] * (1 - 0.9**step) / 0.03  # without the correction of Adam's first moment
    warm = total // 20 + 1
    assert (np.diff(shape[:warm]) > 0).all()
    assert shape[0] < 0.2
    np.testing.assert_allclose(shape[warm:], 0.5 * (1 + np.cos(np.pi * step[warm:] / total)), atol=0.02)
    assert (np.diff(shape[warm + 1 :]) < 0).all()
    assert shape[-1] < 1e-3


def test_every_row_is_seen_exactly_once_in_an_epoch(recorder):
    problem, validation, encoder = small_problem()
    list(trainer_of(problem, validation, encoder).run(Schedule(epochs=2, batch=64)))
    steps = recorder.rows  # six batches of nearly the same size
    assert [rows.shape for rows in steps] == [(3, 67)] * 4 + [(3, 66)] * 2 + [(3, 67)] * 4 + [(3, 66)] * 2
    for epoch in (steps[:6], steps[6:]):
        rows = np.concatenate(epoch, axis=1)
        assert all(np.array_equal(np.sort(model), np.arange(400)) for model in rows)
    assert (np.concatenate(steps[:6], axis=1) != np.concatenate(steps[6:], axis=1)).any()


def test_even_a_single_step_moves_the_models():
    problem, _, encoder = small_problem()
    trainer = trainer_of(problem, None, encoder)
    before = trainer.coef.copy()
    list(trainer.run(Schedule(epochs=1, batch=len(problem.design))))
    assert (trainer.coef != before).any()
