"""Epochs that the kernel takes by itself: they are those that are taken step by step, for every loss it has."""

from __future__ import annotations

import numpy as np
import pytest
from training_cases import OUTPUTS, regression, small_problem, smooth, table, trainer_of

from lambdak.losses import (
    AbsoluteError,
    BinaryLog,
    Gamma,
    Huber,
    Ordinal,
    Poisson,
    Quantile,
    SoftmaxLog,
    SquaredError,
    Tweedie,
)
from lambdak.table.encoder import TableEncoder
from lambdak.training.compiled_loss import compiled_loss
from lambdak.training.effort import Schedule
from lambdak.training.parameters import Parameters

LOSSES = (
    SquaredError(),
    AbsoluteError(),
    Huber(),
    Quantile(0.2),
    BinaryLog(),
    SoftmaxLog(3),
    Poisson(),
    Gamma(),
    Tweedie(1.3),
)


def problem_of(loss, extra):
    X, rng = table(300), np.random.default_rng(0)
    y = smooth(X)
    if loss.n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, loss.n_classes) / loss.n_classes))
    encoder = TableEncoder(n_knots=8).fit(X)
    weight = rng.exponential(size=300) if extra else None
    offset = 0.1 * rng.standard_normal(300) if extra else None
    return regression(X, y, encoder, loss.resolved(y), weight, offset), encoder


@pytest.mark.parametrize("extra", [False, True], ids=["plain", "weights and offset"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_an_epoch_in_one_call_trains_like_its_steps_one_by_one(loss, extra, monkeypatch):
    problem, encoder = problem_of(loss, extra)
    assert compiled_loss(problem) is not None
    trained, events = [], []
    for compiled in (True, False):
        if not compiled:
            monkeypatch.setattr("lambdak.training.trainer.compiled_loss", lambda problem: None)
        trainer = trainer_of(problem, None, encoder)
        before = trainer.parameters.coef.copy()
        events.append(list(trainer.run(Schedule(epochs=2, batch=60))))
        trained.append(trainer)
    moved = np.abs(trained[0].parameters.coef - before).max()
    assert moved > 0.05
    np.testing.assert_allclose(trained[0].parameters.coef, trained[1].parameters.coef, atol=2e-3 * moved)
    for one, other in zip(*events, strict=True):
        np.testing.assert_allclose(one.train, other.train, rtol=1e-4)


def test_several_eigenvalues_of_one_pencil_are_trained_step_by_step():
    loss, outputs = OUTPUTS["several indices"]
    X = table(50)
    encoder = TableEncoder(n_knots=4).fit(X)
    assert compiled_loss(regression(X, smooth(X), encoder, loss, outputs=outputs)) is None
    codes = np.digitize(smooth(X), [9.5, 10.5])
    assert compiled_loss(regression(X, codes, encoder, Ordinal(3))) is None


def constrained_trainer(problem, validation, encoder):
    return trainer_of(problem, validation, encoder, signs={0: 1, 1: -1})


def test_an_epoch_of_constrained_columns_in_one_call_is_that_of_single_steps(recorder, monkeypatch):
    trained = []
    for compiled in (True, False):
        monkeypatch.setattr(Parameters, "compiled", compiled)
        trainer = constrained_trainer(*small_problem())
        before = trainer.parameters.coef.copy()
        list(trainer.run(Schedule(epochs=2, batch=100)))
        assert len(recorder.slopes) == (0 if compiled else 8)
        trained.append(trainer.parameters)
    moved = np.abs(trained[0].coef - before).max()
    assert moved > 0.05
    for one, other in zip([trained[0].coef, *trained[0].theta], [trained[1].coef, *trained[1].theta], strict=True):
        np.testing.assert_allclose(one, other, atol=2e-3 * moved)


@pytest.mark.parametrize("extra", [False, True], ids=["plain", "weights and offset"])
def test_rows_that_are_copied_in_the_order_of_an_epoch_train_the_same_models_to_the_last_bit(extra, monkeypatch):
    problem, encoder = problem_of(SquaredError(), extra)
    trained = []
    for near in (0, 1 << 40):
        monkeypatch.setattr("lambdak.training.trainer._NEAR", near)
        trainer = trainer_of(problem, None, encoder)
        list(trainer.run(Schedule(epochs=2, batch=60)))
        trained.append(trainer.parameters.coef)
    np.testing.assert_array_equal(*trained)
