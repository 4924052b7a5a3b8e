"""The spectral neuron on dense rows, against NumPy in float64."""

import numpy as np
import pytest

from lambdak.eigen import eigenpair
from lambdak.eigen.packing import sym
from lambdak.paper.data.rows import DenseBatch
from lambdak.paper.real.learners import DenseSpectral


def log_loss(coef, batch, index):
    matrices = sym(coef[0] + batch.x.astype(np.float64) @ coef[1:])
    scores = np.linalg.eigvalsh(matrices)[:, index]
    return np.mean(np.logaddexp(0, scores) - batch.y * scores)


def make_batch(rows, n=5, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, n), np.float32)
    return DenseBatch(x, (x[:, 0] * x[:, 1] > 0).astype(np.float32))


def numerical_gradient(coef, batch, index, h=1e-5):
    grad = np.empty_like(coef)
    for place in np.ndindex(coef.shape):
        step = np.zeros_like(coef)
        step[place] = h
        grad[place] = (log_loss(coef + step, batch, index) - log_loss(coef - step, batch, index)) / (2 * h)
    return grad


@pytest.fixture
def model():
    return DenseSpectral(5, 3, 1e-2, 0)


def test_scores_are_the_middle_eigenvalue(model):
    batch = make_batch(20)
    matrices = sym(model.coef[0].astype(np.float64) + batch.x @ model.coef[1:].astype(np.float64))
    np.testing.assert_allclose(model.scores(batch), np.linalg.eigvalsh(matrices)[:, 1], atol=2e-6)


def test_the_gradient_is_the_derivative_of_the_mean_log_loss(model):
    batch = make_batch(64)
    pair = eigenpair(batch.x @ model.coef[1:] + model.coef[0], 3, 1)
    expected = numerical_gradient(model.coef.astype(np.float64), batch, 1)
    np.testing.assert_allclose(model.gradient_(batch, *pair), expected, atol=1e-6)


def test_steps_are_those_of_adam(model):
    coef = model.coef.astype(np.float64)
    first, second = np.zeros_like(coef), np.zeros_like(coef)
    for step in range(1, 4):
        batch = make_batch(64, seed=step)
        grad = numerical_gradient(coef, batch, 1)
        first = 0.9 * first + 0.1 * grad
        second = 0.999 * second + 0.001 * grad**2
        coef -= 1e-2 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        model.step(batch)
    sizeable = np.abs(first) > 1e-4  # Adam turns a gradient that is lost in rounding into a full step
    assert sizeable.mean() > 0.8
    np.testing.assert_allclose(model.coef[sizeable], coef[sizeable], atol=2e-5)


def test_training_learns_an_interaction():
    model, unseen = DenseSpectral(2, 5, 3e-2, 0), make_batch(2000, n=2, seed=99)
    before = log_loss(model.coef.astype(np.float64), unseen, 2)
    for step in range(300):
        model.step(make_batch(256, n=2, seed=step))
    after = log_loss(model.coef.astype(np.float64), unseen, 2)
    assert after < 0.3 < before


def test_the_number_of_parameters_is_that_of_the_paper():
    assert [DenseSpectral(28, dim, 1e-2, 0).n_parameters for dim in (3, 7, 11)] == [174, 812, 1914]
