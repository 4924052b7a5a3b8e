"""What other devices than the CPU compute: forced here on tensors of the CPU, as no other device is at hand."""

from __future__ import annotations

import numpy as np
import pytest
from torch_cases import KINDS, scrambled
from torch_coords import random_coords

import torch
from lambdak.pencil.constraints import SEMIDEFINITE
from lambdak.torch import Definite, SpectralNeuron, eigenpair, eigenvalue
from lambdak.torch import operators as kernel


def refuse(*_, **__):
    raise AssertionError("this went through the host, or computed eigenvectors that nobody reads")


@pytest.fixture
def forced(monkeypatch):
    """All tensors as if they were of another device, which cannot be moved to the host without a word."""
    monkeypatch.setattr(torch.Tensor, "is_cpu", False)
    for name in ("numpy", "cpu", "tolist", "data_ptr"):
        monkeypatch.setattr(torch.Tensor, name, refuse)


@pytest.mark.parametrize("tridiagonal", [False, True])
def test_a_matrix_that_is_not_finite_yields_nan_for_itself_alone(tridiagonal, forced):
    coords = random_coords(4, tridiagonal)
    wrong = coords.clone()
    wrong[0, 0], wrong[2, -1] = torch.nan, torch.inf
    bad = torch.tensor([True, False, True])
    value = kernel.eigenvalue(wrong, 4, [0, 2], tridiagonal)
    assert value[bad].isnan().all()
    torch.testing.assert_close(value[~bad], kernel.eigenvalue(coords, 4, [0, 2], tridiagonal)[~bad])
    pair = kernel.eigenpair(wrong, 4, [0, 2], tridiagonal)
    assert all(part[bad].isnan().all() and part[~bad].isfinite().all() for part in pair)
    grads = [torch.ones_like(part) for part in pair]
    found = kernel.eigenpair_vjp(wrong, *pair, *grads, 4, tridiagonal)
    assert found[bad].isnan().all()
    assert found[~bad].isfinite().all()


@pytest.mark.parametrize("tridiagonal", [False, True])
def test_values_alone_need_no_eigenvectors(tridiagonal, forced, monkeypatch):
    coords = random_coords(4, tridiagonal)
    wanted = kernel.eigenpair(coords, 4, [0, 2], tridiagonal)[0]
    monkeypatch.setattr(torch.linalg, "eigh", refuse)
    torch.testing.assert_close(kernel.eigenvalue(coords, 4, [0, 2], tridiagonal), wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_a_training_step_never_goes_through_the_host(kind, monkeypatch):
    neuron, x = scrambled(SpectralNeuron(3, 5, dtype=torch.float64, **KINDS[kind])), torch.randn(6, 3).double()

    def step():
        value = neuron(x)
        return value.detach(), *torch.autograd.grad(value.square().sum(), list(neuron.parameters()))

    wanted = step()
    monkeypatch.setattr(torch.Tensor, "is_cpu", False)
    for name in ("numpy", "cpu", "tolist", "data_ptr"):
        monkeypatch.setattr(torch.Tensor, name, refuse)
    torch.testing.assert_close(step(), wanted)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("constraint", ["root", "squareplus"])
@pytest.mark.parametrize("scale", [0.0, 1e-12, 1.0, 1e12])
def test_matrix_functions_are_those_of_the_core(constraint, dtype, scale):
    core = SEMIDEFINITE[constraint].constraint
    theta = (torch.randn(5, 10, dtype=dtype) * scale).requires_grad_()
    grad = torch.randn(5, 10, dtype=dtype)
    coords = Definite(constraint, 4)(theta)
    coords.backward(grad)
    wanted = torch.from_numpy(np.asarray(core.forward(theta.detach().numpy())))
    size = wanted.abs().max().item()
    close = {"rtol": 0, "atol": 100 * torch.finfo(dtype).eps * size}
    torch.testing.assert_close(coords.detach(), wanted, **close)
    wanted = torch.from_numpy(np.asarray(core.vjp(theta.detach().numpy(), grad.numpy())))
    if scale:  # at zero every orthogonal U and W is right for the root
        torch.testing.assert_close(theta.grad, wanted, rtol=1e-3, atol=1e-3 if dtype == torch.float32 else 1e-9)


@pytest.mark.parametrize("constraint", ["root", "squareplus"])
def test_parameters_that_are_not_finite_spoil_their_matrix_alone(constraint):
    theta = torch.randn(4, 10, dtype=torch.float64)
    theta[2, 3] = torch.nan
    leaf = theta.clone().requires_grad_()
    coords = Definite(constraint, 4)(leaf)
    coords.sum().backward()
    for found in (coords.detach(), leaf.grad):
        assert found.isnan().any(1).tolist() == [False, False, True, False]


@pytest.mark.parametrize("settings", [{"max_influence": 0.5}, {"monotonic_cst": 1, "constraint": "root"}])
def test_memory_of_parameters_can_still_be_freed_after_a_call(settings):
    neuron = SpectralNeuron(3, 4, **settings)
    leaf = torch.randn(5, 10, requires_grad=True)
    neuron(torch.randn(6, 3)).sum().backward()
    (neuron.norms.sum() + eigenpair(leaf, 4, 1).vector.sum() + eigenvalue(leaf, 4, 1).sum()).backward()
    for parameter in (*neuron.parameters(), leaf):
        assert parameter.untyped_storage().resizable()  # which FSDP does with shards


def test_negated_views_are_read_as_what_they_are():
    coords = random_coords(4, False)
    negated = torch._neg_view(coords)
    torch.testing.assert_close(eigenvalue(negated, 4, 3), -eigenvalue(coords, 4, 0))
