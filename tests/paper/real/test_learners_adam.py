"""Adam by the book, and the slope of the log-loss by finite differences."""

from __future__ import annotations

import numpy as np

from lambdak.paper.real.learners import Adam, logistic_slope


def test_the_slope_is_the_derivative_of_the_mean_log_loss():
    rng = np.random.default_rng(0)
    scores, y = rng.normal(0, 3, 50), rng.integers(0, 2, 50).astype(float)

    def loss(s):
        return np.mean(np.logaddexp(0, s) - y * s)

    h = 1e-6
    expected = [(loss(scores + h * e) - loss(scores - h * e)) / (2 * h) for e in np.eye(50)]
    found = logistic_slope(scores.astype(np.float32), y.astype(np.float32))
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_the_first_step_has_the_length_of_the_rate_in_every_coordinate():
    grad = np.random.default_rng(1).normal(0, 5, 64).astype(np.float32)
    theta, first, second = (np.zeros(64, np.float32) for _ in range(3))
    Adam(0.01).step_(theta, grad.copy(), first, second)
    np.testing.assert_allclose(theta, -0.01 * np.sign(grad), rtol=1e-4)
