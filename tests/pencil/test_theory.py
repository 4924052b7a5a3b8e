"""Statements of the theory page that no method has alone: recurrence, richness, universality, the diagonal trap."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from lambdak import Pencil, eigenpair, eigenvalue_vjp
from lambdak.eigen.packing import sym
from lambdak.pencil.initial import gapped


def descend(packed, index, x, y, steps, rate, momentum=0.0):
    """Gradient descent on the mean squared error of λ_k(A_0 + x A_1)."""
    design, dim = np.column_stack([np.ones_like(x), x]), len(sym(packed[0]))
    velocity = np.zeros_like(packed)
    for _ in range(steps):
        value, vector = eigenpair(design @ packed, dim, index)
        velocity = momentum * velocity - rate * design.T @ eigenvalue_vjp(vector, 2 * (value - y) / len(x))
        packed = packed + velocity
    return packed


def commutator(packed):
    first, second = sym(packed)
    return np.linalg.norm(first @ second - second @ first, 2)


@pytest.mark.parametrize("seed", range(4))
def test_each_eigenvalue_is_the_least_that_those_before_it_leave(seed):
    rng = np.random.default_rng(seed)
    packed = rng.standard_normal(15)
    matrix = sym(packed)
    values, vectors = eigenpair(packed, 5, range(5))
    for k in range(5):
        allowed = (
            np.linalg.svd(vectors[:k], full_matrices=True)[2][k:] if k else np.eye(5)
        )  # orthogonal to those before

        def rayleigh(c, basis=allowed):
            u = c @ basis / np.linalg.norm(c)
            return u @ matrix @ u

        least = min(minimize(rayleigh, rng.standard_normal(5 - k)).fun for _ in range(4))
        assert least == pytest.approx(values[k], abs=1e-6)


def test_curves_of_the_middle_eigenvalue_turn_most():
    rng, grid = np.random.default_rng(0), np.linspace(-6, 6, 400)[:, None]
    pairs = rng.standard_normal((150, 2, 45))
    turns = [
        np.mean([(np.diff(np.sign(np.diff(Pencil(pair, k)(grid)))) != 0).sum() for pair in pairs]) for k in range(9)
    ]
    assert np.argmax(turns) == 4
    assert turns[0] <= 1.0  # concave
    assert turns[8] <= 1.0  # convex


def test_the_last_eigenvalue_comes_as_close_to_a_convex_function_as_wanted():
    x, errors = np.linspace(-1, 1, 2001), []
    for dim in (2, 4, 8, 16):
        touch = -1 + (2 * np.arange(dim) + 1) / dim  # the tangents of e^x at these points, side by side
        slopes = np.exp(touch)
        f = Pencil.from_matrices([np.diag(slopes * (1 - touch)), np.diag(slopes)], eig_idx=dim - 1)
        errors.append(np.abs(f(x[:, None]) - np.exp(x)).max())
    assert np.array(errors[1:]) == pytest.approx(np.array(errors[:-1]) / 4, rel=0.5)  # second order in the distance


def test_an_inner_eigenvalue_of_larger_matrices_follows_a_curve_closer():
    x = np.linspace(-4, 4, 256)
    y, errors = np.sin(2 * x), []
    for dim in (3, 9):
        start = gapped(1, dim, random_state=0, dtype=np.float64)
        packed = descend(start, dim // 2, x, y, 3000, 0.02, momentum=0.9)
        errors.append(np.sqrt(np.mean((Pencil(packed, dim // 2)(x[:, None]) - y) ** 2)))
    assert errors[1] < errors[0] / 3


@pytest.mark.parametrize("index", [0, 1, 2])
def test_gradient_steps_from_a_diagonal_start_stay_diagonal_in_its_basis(index):
    rng, x = np.random.default_rng(index), np.linspace(-2, 2, 64)
    y, diagonals = np.sqrt(1 + x**2) * (-1 if index == 0 else 1), rng.standard_normal((2, 3))
    start = Pencil.from_matrices([np.diag(diagonal) for diagonal in diagonals]).packed
    trapped = descend(start, index, x, y, 500, 0.05, 0.5)
    assert np.abs(trapped - start).max() > 0.1  # it has learned something
    assert (trapped[:, [1, 3, 4]] == 0).all()  # off the diagonal
    start = gapped(1, 3, index, random_state=0, dtype=np.float64)
    assert commutator(descend(start, index, x, y, 500, 0.05, 0.5)) > 1e-3
    basis = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    rotated = Pencil.from_matrices([(basis * diagonal) @ basis.T for diagonal in diagonals]).packed
    inside = basis.T @ sym(descend(rotated, index, x, y, 20, 0.05, 0.5)) @ basis
    assert np.abs(inside - inside * np.eye(3)).max() < 1e-9  # rounding grows: after hundreds of steps it is out
