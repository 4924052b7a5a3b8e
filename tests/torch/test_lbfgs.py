"""L-BFGS with weak Wolfe steps: closed forms, SciPy's answers, kinks, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import torch
from lambdak.torch import SpectralNeuron, WeakWolfeLBFGS
from lambdak.torch import lbfgs as module
from torch import nn


def solved(function, x, most=500, **settings):
    """Where the optimiser ends from x, and the losses after each iteration."""
    x = x.clone().requires_grad_()
    optimizer, losses = WeakWolfeLBFGS([x], max_iter=1, **settings), []

    def closure():
        optimizer.zero_grad()
        loss = function(x)
        loss.backward()
        return loss

    for _ in range(most):
        losses.append(optimizer.step(closure))
        if optimizer.converged:
            break
    return x.detach(), losses


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def test_a_quadratic_is_solved():
    torch.manual_seed(0)
    root = torch.randn(12, 12, dtype=torch.float64)
    A, b = root @ root.T + 0.1 * torch.eye(12), torch.randn(12, dtype=torch.float64)
    x, losses = solved(lambda x: 0.5 * x @ A @ x - b @ x, torch.zeros(12, dtype=torch.float64))
    np.testing.assert_allclose(x, torch.linalg.solve(A, b), atol=1e-4)
    assert (np.diff(losses) <= 0).all()


@pytest.mark.parametrize("n", [2, 10])
def test_the_valley_of_rosenbrock_is_followed_to_its_end(n):
    x, losses = solved(rosenbrock, torch.full((n,), -1.2, dtype=torch.float64))
    start = np.full(n, -1.2)
    theirs = minimize(lambda x: float(rosenbrock(torch.tensor(x))), start, method="L-BFGS-B", options={"maxiter": 2000})
    assert losses[-1] <= theirs.fun + 1e-6
    assert (np.diff(losses) <= 0).all()
    if n == 2:
        np.testing.assert_allclose(x, 1.0, atol=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_a_maximum_of_planes_is_minimised_at_its_kink(seed):
    rng = np.random.default_rng(seed)
    slopes = rng.normal(size=(6, 3))
    slopes -= slopes.mean(0)  # 0 is in their hull: bounded from below
    heights = rng.normal(size=6)
    x, _ = solved(
        lambda x: (torch.tensor(slopes) @ x + torch.tensor(heights)).max(), torch.ones(3, dtype=torch.float64) * 3
    )
    from scipy.optimize import linprog

    least = linprog([0, 0, 0, 1], np.column_stack([slopes, -np.ones(6)]), -heights, bounds=[(None, None)] * 4)
    assert (slopes @ x.numpy() + heights).max() == pytest.approx(least.fun, abs=1e-3)


def test_sums_of_absolute_values_are_minimised():
    x, _ = solved(lambda x: x.abs().sum() + 3 * (x[0] - x[1]).abs(), torch.tensor([2.0, -1.5], dtype=torch.float64))
    np.testing.assert_allclose(x, 0.0, atol=1e-4)


@pytest.mark.parametrize("function", [rosenbrock, lambda x: 1e-3 * x.square().sum()], ids=["curved", "flat"])
def test_every_step_of_a_smooth_function_meets_the_weak_wolfe_conditions(function, monkeypatch):
    taken, search = [], WeakWolfeLBFGS._search

    def watched(self, closure, here, way, length):
        there = search(self, closure, here, way, length)
        taken.append((here, way, there))
        return there

    monkeypatch.setattr(WeakWolfeLBFGS, "_search", watched)
    solved(function, torch.full((4,), -1.2, dtype=torch.float64), most=30)
    assert taken
    for here, way, there in taken:
        slope, moved = float(way @ here.grad), float(way @ (there.x - here.x) / (way @ way))
        assert there.value <= here.value + module._C1 * moved * slope
        assert float(way @ there.grad) >= module._C2 * slope


def test_several_parameters_of_a_neuron_are_trained_together():
    torch.manual_seed(0)
    x = torch.linspace(-2, 2, 100, dtype=torch.float64)[:, None]
    neuron = SpectralNeuron(1, 5, dtype=torch.float64)
    with torch.no_grad():
        y = SpectralNeuron(1, 5, dtype=torch.float64)(x) ** 2 + x[:, 0]
    optimizer = WeakWolfeLBFGS(neuron.parameters(), max_iter=100)

    def closure():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(neuron(x), y)
        loss.backward()
        return loss

    before = closure().item()
    after = optimizer.step(closure)
    assert after < 1e-2 * before
    assert nn.functional.mse_loss(neuron(x), y).item() == pytest.approx(after, rel=1e-9)


def test_parameters_that_the_loss_does_not_use_stay():
    used, idle = (torch.ones(2, dtype=torch.float64, requires_grad=True) for _ in range(2))
    optimizer = WeakWolfeLBFGS([used, idle])

    def closure():
        optimizer.zero_grad()
        loss = used.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert (idle == 1).all()
    np.testing.assert_allclose(used.detach(), 0.0, atol=1e-6)


def test_a_loss_that_is_infinite_beyond_a_wall_stays_before_it():
    x, _ = solved(lambda x: (x - 3).square().sum() - 0.1 * (2 - x).log().sum(), torch.zeros(2, dtype=torch.float64))
    best = (5 - (1 + 0.2) ** 0.5) / 2  # 2 (x − 3) (2 − x) + 0.1 = 0
    np.testing.assert_allclose(x, best, atol=1e-4)


def test_a_start_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="must be finite where the search begins"):
        solved(lambda x: (x - 1).log().sum(), torch.zeros(2))


def test_groups_are_refused():
    x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    with pytest.raises(ValueError, match="one group"):
        WeakWolfeLBFGS([{"params": [x]}, {"params": [y]}])


@pytest.mark.parametrize(("setting", "value"), [("max_iter", 0), ("history", 0), ("tolerance_grad", -1.0)])
def test_settings_are_checked(setting, value):
    with pytest.raises(ValueError, match=setting):
        WeakWolfeLBFGS([torch.ones(1, requires_grad=True)], **{setting: value})
