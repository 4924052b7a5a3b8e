"""Sums and mixtures of eigenvalues: values, derivatives where eigenvalues meet, convexity, and Lidskii's bound."""

from __future__ import annotations

import numpy as np
import pytest
from matrices import FACTORIES, rotation
from torch_cases import scrambled
from torch_coords import random_coords

import torch
from lambdak.torch import SpectralMixture, SpectralNeuron, eigenvalue_sum, ky_fan_sum, sym, unsym
from lambdak.torch.sums import ky_fan_weights


@pytest.mark.parametrize("name", FACTORIES)
def test_sums_are_those_of_lapack_on_easy_and_hard_matrices(name):
    matrix = torch.tensor(FACTORIES[name](np.random.default_rng(0), 20, 6))
    values, weight = torch.linalg.eigvalsh(matrix), torch.rand(20, 6).double()
    slack = 1e-12 * torch.linalg.matrix_norm(matrix, 2)
    for count in (1, 4, 6):
        assert ((ky_fan_sum(unsym(matrix), 6, count) - values[:, -count:].sum(-1)).abs() <= slack).all()
    assert ((eigenvalue_sum(unsym(matrix), 6, weight) - (values * weight).sum(-1)).abs() <= slack).all()


def test_derivatives_of_first_and_second_order_are_those_of_finite_differences():
    coords, weight = random_coords(4, False).requires_grad_(), torch.rand(4).double().requires_grad_()
    for function, inputs in (
        (lambda a, w: eigenvalue_sum(a, 4, w), (coords, weight)),
        (lambda a: ky_fan_sum(a, 4, 2), (coords,)),
    ):
        assert torch.autograd.gradcheck(function, inputs)
        assert torch.autograd.gradgradcheck(function, inputs)


@pytest.mark.parametrize("spectrum", [[0.0, 1.0, 2.0, 2.0, 2.0], [0.0, 0.0, 0.0, 3.0, 3.0 + 1e-13]])
def test_a_sum_is_smooth_where_eigenvalues_within_it_meet(spectrum):
    q = torch.tensor(rotation(np.random.default_rng(0), 1, 5)[0])
    packed = unsym(q * torch.tensor(spectrum).double() @ q.mT).requires_grad_()
    count = sum(value > 1.5 for value in spectrum)
    assert torch.autograd.gradcheck(lambda a: ky_fan_sum(a, 5, count), (packed,))
    (grad,) = torch.autograd.grad(ky_fan_sum(packed, 5, count), packed)
    largest = q[:, -count:]
    torch.testing.assert_close(sym(grad, 5), largest @ largest.mT)  # the projection on their space


def test_the_gradient_of_a_convex_mixture_is_a_subgradient_where_weights_differ():
    weight = ky_fan_weights(torch.tensor([0.5, 0.3, 0.2]).double())
    at = unsym(torch.eye(3).double()).requires_grad_()
    value = eigenvalue_sum(at, 3, weight)
    (slope,) = torch.autograd.grad(value, at)
    other = random_coords(3, False, rows=500)
    assert (eigenvalue_sum(other, 3, weight) >= value + (other - at) @ slope - 1e-12).all()


def test_a_mixture_of_ky_fan_means_has_the_weights_it_says():
    mixture, coords = torch.rand(5).double().softmax(-1), random_coords(5, False)
    means = torch.stack([ky_fan_sum(coords, 5, k) / k for k in range(1, 6)], -1)
    weights = ky_fan_weights(mixture)
    torch.testing.assert_close(eigenvalue_sum(coords, 5, weights), (means * mixture).sum(-1))
    torch.testing.assert_close(weights.sum(), torch.ones(()).double())
    assert (weights.diff() >= 0).all()


@pytest.mark.parametrize("structure", ["dense", "tridiagonal"])
def test_a_convex_mixture_is_convex_and_one_share_is_an_eigenvalue(structure):
    x, y = torch.randn(2, 300, 3).double()
    neuron = scrambled(SpectralMixture(3, 5, convex=True, structure=structure, dtype=torch.float64))
    assert ((neuron(x) + neuron(y)) / 2 - neuron((x + y) / 2) >= -1e-12).all()
    one = scrambled(SpectralMixture(3, 5, structure=structure, dtype=torch.float64))
    plain = SpectralNeuron(3, 5, 1, structure=structure, dtype=torch.float64)
    with torch.no_grad():
        one.logits.copy_(torch.tensor([0.0, 1e3, 0.0, 0.0, 0.0]))
        plain.constant.copy_(one.constant)
        plain.set_weight_(one.weight)
    torch.testing.assert_close(one(x), plain(x))
    torch.testing.assert_close(one.norms, plain.norms)


def test_the_bound_of_a_mixture_is_at_most_the_norm_and_is_reached():
    neuron = scrambled(SpectralMixture(2, 4, convex=True, dtype=torch.float64))
    norms, largest = neuron.norms.detach(), torch.linalg.matrix_norm(neuron.matrices[1:], 2)
    assert (norms <= largest + 1e-12).all()
    with torch.no_grad():
        neuron.constant.zero_()  # a convex mixture is then a support function: its slope at zero is the bound
        reached = torch.stack([neuron(sign * torch.eye(2).double()) for sign in (1, -1)]).amax(0)
    torch.testing.assert_close(reached, norms)


def test_k_and_d_minus_k_are_the_same_class_of_functions():
    coords = random_coords(5, False)
    matrix = sym(coords, 5)
    trace = matrix.diagonal(dim1=-2, dim2=-1).sum(-1)[:, None, None]
    other = unsym(trace / 3 * torch.eye(5).double() - matrix)
    torch.testing.assert_close(ky_fan_sum(coords, 5, 2), ky_fan_sum(other, 5, 3))


def test_the_start_has_a_gap_around_every_eigenvalue():
    for structure in ("dense", "tridiagonal"):
        neuron = SpectralMixture(3, 5, structure=structure, dtype=torch.float64)
        values = neuron.eigenvalues(torch.empty(200, 3).uniform_(-5, 5).double())
        assert values.diff().min() > 0.249  # half of the 1/2 that a spread over [−1, 1] has


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ky_fan_sum(torch.zeros(15), 5, 0), r"count must be in \[1, 6\); got 0"),
        (lambda: eigenvalue_sum(torch.zeros(15), 5, torch.zeros(4)), r"weight must have 5 entries .* got shape \(4,\)"),
        (
            lambda: eigenvalue_sum(torch.zeros(7, 15), 5, torch.zeros(6, 5)),
            r"packed and weight must have leading shapes that broadcast; got \(7,\) and \(6,\)",
        ),
        (lambda: SpectralMixture(3, 0), r"dim must be in \[1, 513\); got 0"),
        (lambda: SpectralMixture(3, 5)(torch.zeros(2, 4)), "x must have 3 entries"),
    ],
)
def test_bad_arguments_are_refused_with_what_was_expected(call, message):
    with pytest.raises(ValueError, match=message):
        call()
