"""Monotone columns of trained models go one way, whatever the data say."""

from __future__ import annotations

import numpy as np
import pytest
from training_cases import DIM, regression, table, trainer_of

from lambdak.model.model import evaluate
from lambdak.table.encoder import TableEncoder
from lambdak.training.effort import Schedule


def predictions_along(column, trainer, problem, encoder, grid):
    """Raw predictions (models, other rows, grid) as one column moves along the grid."""
    others = table(20, seed=9)
    curves = []
    for row in others:
        X = np.repeat(row[None], len(grid), axis=0)
        X[:, column] = grid
        curves.append(evaluate(trainer.coef, DIM, problem.outputs.indices, encoder.transform(X))[..., 0])
    return np.stack(curves, axis=1) * problem.scale


@pytest.mark.parametrize("linear", [(), ("x0",)], ids=["curve", "linear"])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_monotone_column_never_goes_the_other_way_after_training(sign, linear):
    X = table()
    y = -sign * X[:, 0] + np.sin(3 * X[:, 0]) + X[:, 1]  # the data pull the other way, with bumps
    encoder = TableEncoder(n_knots=8, linear=linear).fit(X)
    problem, grid = regression(X, y, encoder), np.linspace(-2.5, 2.5, 101)
    constrained = trainer_of(problem, None, encoder, signs={0: sign})
    list(constrained.run(Schedule(epochs=8, batch=40)))
    steps = sign * np.diff(predictions_along(0, constrained, problem, encoder, grid), axis=-1)
    assert steps.min() > -1e-5 * problem.scale
    free = trainer_of(problem, None, encoder)
    list(free.run(Schedule(epochs=8, batch=40)))
    assert (sign * np.diff(predictions_along(0, free, problem, encoder, grid), axis=-1)).min() < -0.01 * problem.scale


def test_a_monotone_column_follows_data_that_rise():
    X = table()
    y = np.tanh(3 * X[:, 0]) + np.sin(2 * X[:, 1])
    encoder = TableEncoder(n_knots=8).fit(X)
    problem = regression(X, y, encoder)
    trainer = trainer_of(problem, None, encoder, signs={0: 1})
    list(trainer.run(Schedule(epochs=25, batch=25)))
    assert (trainer.best < 0.1 * np.var(y) / 2).all()
    rise = np.diff(predictions_along(0, trainer, problem, encoder, np.array([-2.0, 2.0])), axis=-1)
    assert rise.min() > 1.0
