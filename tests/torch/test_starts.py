"""Starts from convex fits, and the coordinates in which they are made."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

import torch
from lambdak.torch import SpectralLayer, SpectralNeuron, Whitening, convex_start_
from lambdak.torch import starts as module

STRUCTURES = ["dense", "tridiagonal"]


def table(rows=300, inputs=2, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, inputs, generator=generator, dtype=torch.float64)
    return x, torch.sin(2 * x[:, 0]) + x.prod(1) + 3.0


def rmse(neuron, x, y):
    return float((neuron(x) - y).detach().square().mean().sqrt())


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("eig_idx", [0, 2, 3])
def test_the_start_is_no_worse_than_a_linear_fit_and_says_its_error(structure, eig_idx):
    x, y = table()
    neuron = SpectralNeuron(2, 5, eig_idx, structure=structure, dtype=torch.float64)
    error = convex_start_(neuron, x, y, generator=torch.Generator().manual_seed(1))
    design = np.column_stack([np.ones(len(x)), x])
    linear = y.numpy() - design @ np.linalg.lstsq(design, y.numpy(), rcond=None)[0]
    assert error == pytest.approx(rmse(neuron, x, y), abs=1e-12)
    assert error < np.sqrt(np.mean(linear**2))


def test_the_fit_of_a_shape_is_that_of_non_negative_least_squares():
    x, y = table()
    neuron = SpectralNeuron(2, 5, 3, dtype=torch.float64)
    for seed in range(10):
        packed = module._shapes(neuron, 1, torch.Generator().manual_seed(seed))
        values = module._values(neuron, packed, x)
        _, fit = module._best(values, x, y, signed=False)
        plain = np.column_stack([np.ones(len(x)), x])
        phi = values[0].numpy()
        _, least = nnls(np.column_stack([plain, -plain, phi]), y.numpy())
        floor = 0.05 * y.std().item() / values.std().item()
        if fit.coefficients[-1] > floor * (1 + 1e-9):  # where it is not kept from vanishing
            assert fit.loss == pytest.approx(least**2 / len(x), rel=1e-6)
        assert fit.coefficients[-1] >= floor * (1 - 1e-9)


def test_more_shapes_are_never_worse():
    x, y = table()
    errors = []
    for shapes in (1, 10, 100):
        neuron = SpectralNeuron(2, 5, dtype=torch.float64)
        errors.append(convex_start_(neuron, x, y, shapes, torch.Generator().manual_seed(0)))
    assert errors[2] < errors[0]


def test_the_matrices_do_not_commute_so_that_training_can_turn_them():
    x, _ = table()
    neuron = SpectralNeuron(2, 5, dtype=torch.float64)
    convex_start_(neuron, x, 2 * x[:, 0] - x[:, 1])  # a line needs no shape
    A, B, C = neuron.matrices.detach()
    assert (A @ B - B @ A).norm() > 1e-4
    assert (B @ C - C @ B).norm() > 1e-6


def test_a_generator_decides_the_start():
    x, y = table()
    neurons = [SpectralNeuron(2, 4, dtype=torch.float64) for _ in range(3)]
    for neuron, seed in zip(neurons, (3, 3, 4), strict=True):
        convex_start_(neuron, x, y, 20, torch.Generator().manual_seed(seed))
    first, again, other = (neuron.weight for neuron in neurons)  # products of PyTorch may differ in the last bits
    assert torch.allclose(first, again, rtol=1e-9, atol=1e-12)
    assert not torch.allclose(first, other, rtol=1e-2)


def test_rows_beyond_those_that_choose_are_counted_in_the_error():
    x, y = table(rows=5000)
    neuron = SpectralNeuron(2, 4, dtype=torch.float64)
    assert convex_start_(neuron, x, y, 10) == pytest.approx(rmse(neuron, x, y), abs=1e-12)


def test_a_neuron_of_single_precision_is_started():
    x, y = table()
    neuron = SpectralNeuron(2, 4)
    error = convex_start_(neuron, x.float(), y.float(), 20)
    assert error == pytest.approx(rmse(neuron, x.float(), y.float()), rel=1e-5)


@pytest.mark.parametrize(
    ("neuron", "x", "y", "error", "words"),
    [
        (SpectralLayer(2, 3, 4), torch.randn(9, 2), torch.randn(9), TypeError, "SpectralNeuron; got SpectralLayer"),
        (SpectralNeuron(2, 4, monotonic_cst=1), torch.randn(9, 2), torch.randn(9), ValueError, "no monotone inputs"),
        (SpectralNeuron(2, 4, max_influence=1), torch.randn(9, 2), torch.randn(9), ValueError, "max_influence"),
        (SpectralNeuron(2, 4), torch.randn(3, 2), torch.randn(3), ValueError, "at least 4 rows"),
        (SpectralNeuron(2, 4), torch.randn(9, 3), torch.randn(9), ValueError, r"\(rows, 2\)"),
        (SpectralNeuron(2, 4), torch.randn(9, 2), torch.randn(9, 1), ValueError, r"y must have shape \(9,\)"),
        (SpectralNeuron(2, 4), torch.randn(9, 2), torch.full((9,), torch.nan), ValueError, "y must be finite"),
        (SpectralNeuron(2, 4), torch.randn(9, 2).double(), torch.randn(9), TypeError, "float32"),
    ],
)
def test_what_cannot_be_started_is_refused(neuron, x, y, error, words):
    with pytest.raises(error, match=words):
        convex_start_(neuron, x, y)


# ---- whitening


def correlated(seed=0):
    generator = torch.Generator().manual_seed(seed)
    mix = torch.tensor([[1e6, 0.0, 0.0], [1.0, 1e-3, 0.0], [0.3, 0.0, 1.0]], dtype=torch.float64)
    return torch.randn(500, 3, generator=generator, dtype=torch.float64) @ mix + 5


def test_white_inputs_have_the_identity_as_covariance():
    x = correlated()
    z = Whitening(x)(x)
    np.testing.assert_allclose(z.mean(0), 0.0, atol=1e-8)
    np.testing.assert_allclose(z.T @ z / len(z), np.eye(3), atol=1e-6)


def test_inputs_that_keep_apart_are_standardised():
    x = correlated()
    z = Whitening(x, each=True)(x)
    np.testing.assert_allclose(z, (x - x.mean(0)) / x.std(0, correction=0), atol=1e-10)


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_folding_gives_the_neuron_of_the_inputs_themselves(structure, each):
    x = table(100, 3)[0] @ torch.tensor([[2.0, 0.5, 0], [0, 1.0, 0.3], [0, 0, 0.1]], dtype=torch.float64) + 1
    neuron, whitening = SpectralNeuron(3, 5, structure=structure, dtype=torch.float64), Whitening(x, each)
    before = neuron(whitening(x)).detach()
    whitening.fold_(neuron)
    np.testing.assert_allclose(neuron(x).detach(), before, atol=1e-9)


def test_a_monotone_neuron_remains_monotone_if_its_inputs_keep_apart():
    x = table(100, 2)[0] * torch.tensor([3.0, 0.2])
    neuron, whitening = SpectralNeuron(2, 4, monotonic_cst=[1, 0], dtype=torch.float64), Whitening(x, each=True)
    before = neuron(whitening(x)).detach()
    whitening.fold_(neuron)
    np.testing.assert_allclose(neuron(x).detach(), before, atol=1e-8)
    assert neuron.to_pencil().is_monotone(0) == 1


@pytest.mark.parametrize("settings", [{"monotonic_cst": [1, 0]}, {"max_influence": 0.1}])
def test_coordinates_that_break_a_constraint_are_refused_and_nothing_changes(settings):
    x = table(100, 2)[0] @ torch.tensor([[0.1, 0.3], [-0.3, 0.1]], dtype=torch.float64)
    neuron = SpectralNeuron(2, 4, dtype=torch.float64, **settings)
    with torch.no_grad():
        neuron.set_weight_(torch.randn(2, 10, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    before = neuron(x).detach()
    with pytest.raises(ValueError, match="each=True"):
        Whitening(x @ torch.tensor([[1.0, 0.9], [0.0, 0.1]], dtype=torch.float64)).fold_(neuron)
    np.testing.assert_allclose(neuron(x).detach(), before, atol=1e-8)


def test_inputs_that_say_the_same_or_nothing_are_not_made_large():
    x = table(200, 2)[0]
    x = torch.cat([x, x[:, :1] + x[:, 1:], torch.full((200, 1), 7.0)], 1)
    z = Whitening(x)(x)
    assert torch.isfinite(z).all()
    assert z.abs().max() < 10


@pytest.mark.parametrize("x", [torch.randn(5), torch.randn(1, 2), torch.tensor([[1.0], [torch.inf]])])
def test_rows_to_whiten_are_checked(x):
    with pytest.raises(ValueError, match="at least two rows of finite numbers"):
        Whitening(x)
