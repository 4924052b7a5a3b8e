"""Semidefinite matrices and caps as parametrisations.

Tests ``spectral_maps``.
"""

from __future__ import annotations

import copy

import pytest
from torch_cases import scrambled

import torch
from lambdak.torch import (
    Definite,
    SpectralNeuron,
    spectral_norm,
    sym,
    unsym,
)
from lambdak.torch.constraints import squareplus
from lambdak.torch.packing import width


def test_caps_bind_in_float32_too_and_leave_small_matrices_alone():
    torch.manual_seed(0)
    neuron = scrambled(SpectralNeuron(50, 7, max_influence=0.5))
    with torch.no_grad():
        neuron.parametrizations.weight.original[0] *= 1e-3
    full = torch.linalg.matrix_norm(sym(neuron.weight.detach().double(), 7), 2)
    assert full.max() <= 0.5
    assert full.max() > 0.4999
    torch.testing.assert_close(neuron.weight[0], neuron.parametrizations.weight.original[0])


def test_assigning_weights_finds_the_nearest_parameters():
    torch.manual_seed(0)
    wanted = scrambled(SpectralNeuron(3, 5, monotonic_cst=[1, 0, -1], dtype=torch.float64)).weight.detach()
    for constraint in ("factor", "root", "squareplus"):
        neuron = SpectralNeuron(3, 5, monotonic_cst=[1, 0, -1], constraint=constraint, dtype=torch.float64)
        neuron.weight = wanted
        torch.testing.assert_close(neuron.weight.detach(), wanted, rtol=1e-6, atol=1e-6)
    neuron.weight = -wanted  # semidefinite the wrong way: the nearest member is (almost) zero
    assert spectral_norm(neuron.weight.detach(), 5)[[0, 2]].max() < 1e-6


@pytest.mark.parametrize("tridiagonal", [False, True])
@pytest.mark.parametrize("constraint", ["diagonal", "factor", "root", "squareplus"])
def test_definite_maps_give_semidefinite_matrices_and_the_right_gradient(constraint, tridiagonal):
    torch.manual_seed(0)
    if tridiagonal and constraint in ("root", "squareplus"):
        with pytest.raises(ValueError, match="for tridiagonal matrices; got"):
            Definite(constraint, 4, tridiagonal)
        return
    definite = Definite(constraint, 4, tridiagonal)
    theta = torch.randn(3, 2, definite.size, dtype=torch.float64, requires_grad=True)
    coords = definite(theta)
    assert coords.shape == (3, 2, width(4, tridiagonal))
    assert torch.linalg.eigvalsh(sym(coords, 4, tridiagonal)).min() > -1e-12
    torch.testing.assert_close(definite(definite.right_inverse(coords)), coords)
    assert torch.autograd.gradcheck(definite, (theta,))


def test_squareplus_has_its_derivatives_at_zero_too():
    zero = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.grad(squareplus(zero).sum(), zero)[0].tolist() == [0.5, 0.5]
    assert torch.autograd.gradcheck(squareplus, (zero,))
    assert torch.autograd.gradgradcheck(squareplus, (zero,))


def test_a_diagonal_neuron_learns_from_zero():
    neuron = SpectralNeuron(1, 3, monotonic_cst=1, constraint="diagonal")
    with torch.no_grad():
        neuron.parametrizations.weight.original1.zero_()
    neuron(torch.ones(4, 1)).sum().backward()
    assert neuron.parametrizations.weight.original1.grad.abs().max() > 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_caps_and_monotonicity_survive_half_precision_and_the_way_back(dtype):
    torch.manual_seed(0)
    neuron = scrambled(SpectralNeuron(2, 31, monotonic_cst=1, max_influence=0.3)).to(dtype)
    for module in (neuron, copy.deepcopy(neuron).float()):
        full = sym(module.weight.detach().double(), 31)
        values = torch.linalg.eigvalsh(full)
        assert values.max() <= 0.3
        assert values.max() > 0.28
        assert values.min() > -0.3 * 31 * torch.finfo(dtype).eps  # rounding of the entries


def test_gradients_of_capped_rows_are_finite_however_small_the_rows_are():
    torch.manual_seed(0)
    neuron = SpectralNeuron(2, 3, max_influence=1.0)
    with torch.no_grad():
        neuron.parametrizations.weight.original[0] *= 1e-22
        neuron.parametrizations.weight.original[1] = 0
    neuron(torch.randn(5, 2)).sum().backward()
    assert neuron.parametrizations.weight.original.grad.isfinite().all()


@pytest.mark.parametrize("constraint", ["diagonal", "factor", "root", "squareplus"])
def test_autocast_keeps_matrices_semidefinite(constraint):
    torch.manual_seed(0)
    neuron = scrambled(SpectralNeuron(1, 7, 0, monotonic_cst=1, constraint=constraint))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        weight = neuron.weight.detach()
    assert weight.dtype == torch.float32
    assert torch.linalg.eigvalsh(sym(weight.double(), 7)).min() > -1e-5


def test_a_tridiagonal_matrix_that_is_not_semidefinite_is_shifted_until_it_is():
    definite = Definite("factor", 2, tridiagonal=True)
    for given, wanted in (
        ([[0.0, 1.0], [1.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]),
        ([[1.0, 2.0], [2.0, 1.0]], [[2.0, 2.0], [2.0, 2.0]]),
        ([[1e-12, 1.0], [1.0, 1.0]], [[0.618034, 1.0], [1.0, 1.618034]]),
    ):
        found = definite(definite.right_inverse(unsym(torch.tensor(given).double(), True)))
        torch.testing.assert_close(sym(found, 2, True), torch.tensor(wanted).double(), atol=1e-5, rtol=1e-5)
