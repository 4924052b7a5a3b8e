"""Generalised eigenvalues: those of SciPy, derivatives in both matrices, and what survives of the guarantees."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from torch_cases import scrambled
from torch_coords import random_coords

import torch
from lambdak.torch import (
    GeneralizedSpectralNeuron,
    SpectralNeuron,
    generalized_eigenpair,
    generalized_eigenvalue,
    sym,
    unsym,
)


def metrics(rows, dim):
    """Positive definite matrices in packed coordinates."""
    lower = torch.randn(rows, dim, dim).double()
    return unsym(lower @ lower.mT + 0.5 * torch.eye(dim).double())


def test_values_and_vectors_are_those_of_scipy():
    coords, metric = random_coords(5, False), metrics(3, 5)
    value, vector = generalized_eigenpair(coords, metric, 5, [0, 3])
    for i in range(3):
        a, b = sym(coords[i], 5), sym(metric[i], 5)
        expected = scipy.linalg.eigh(a.numpy(), b.numpy(), eigvals_only=True)
        np.testing.assert_allclose(value[i], expected[[0, 3]], atol=1e-12)
        torch.testing.assert_close(vector[i] @ a, value[i, :, None] * (vector[i] @ b))
        torch.testing.assert_close(vector[i] @ b @ vector[i].mT, torch.eye(2).double())
    torch.testing.assert_close(generalized_eigenvalue(coords, metric, 5, 3), value[:, 1])
    one = generalized_eigenpair(coords, metric[0], 5, 3)  # one metric for all
    torch.testing.assert_close(one.value[0], value[0, 1])
    assert one.vector.shape == (3, 5)


def test_derivatives_in_both_matrices_are_those_of_finite_differences():
    inputs = random_coords(4, False).requires_grad_(), metrics(1, 4)[0].requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: generalized_eigenvalue(a, b, 4, [0, 2]), inputs)
    assert torch.autograd.gradgradcheck(lambda a, b: generalized_eigenvalue(a, b, 4, [0, 2]), inputs)
    value, vector = generalized_eigenpair(*inputs, 4, 2)
    for found, factor in zip(torch.autograd.grad(value[0], inputs), (1, -value[0]), strict=True):
        outer = factor * torch.outer(vector[0], vector[0])
        torch.testing.assert_close(sym(found if found.ndim == 1 else found[0], 4), outer)


def test_a_module_is_the_eigenvalue_of_its_matrices():
    for settings in ({}, {"structure": "tridiagonal"}, {"max_influence": 0.2}):
        neuron = scrambled(GeneralizedSpectralNeuron(3, 5, dtype=torch.float64, **settings))
        x, matrices = torch.randn(6, 3).double(), neuron.matrices
        packed = unsym(matrices[0] + torch.einsum("bi,ijk->bjk", x, matrices[1:]))
        torch.testing.assert_close(neuron(x), generalized_eigenvalue(packed, unsym(neuron.metric), 5, 2))


def test_the_bound_is_at_most_the_norm_over_the_smallest_eigenvalue_of_the_metric():
    neuron = scrambled(GeneralizedSpectralNeuron(3, 5, dtype=torch.float64))
    norms, smallest = torch.linalg.matrix_norm(neuron.matrices[1:], 2), torch.linalg.eigvalsh(neuron.metric)[0]
    assert (neuron.norms <= norms / smallest * (1 + 1e-12)).all()


def test_the_last_eigenvalue_is_convex_and_the_first_concave():
    x, y = torch.randn(2, 300, 3).double()
    for index, sign in ((4, 1), (0, -1)):
        neuron = scrambled(GeneralizedSpectralNeuron(3, 5, index, dtype=torch.float64))
        slack = 1e-12 * neuron.norms.sum()
        assert (sign * ((neuron(x) + neuron(y)) / 2 - neuron((x + y) / 2)) >= -slack).all()


def test_dense_free_matrices_express_what_a_plain_neuron_does():
    neuron = scrambled(GeneralizedSpectralNeuron(3, 4, dtype=torch.float64))
    plain, x = SpectralNeuron(3, 4, dtype=torch.float64), torch.randn(9, 3).double()
    inverse = torch.linalg.inv(neuron.lower)
    with torch.no_grad():
        coords = unsym(inverse @ neuron.matrices @ inverse.mT)
        plain.constant.copy_(coords[0])
        plain.set_weight_(coords[1:])
    torch.testing.assert_close(neuron(x), plain(x))


def test_a_metric_is_kept_as_given_and_fixed_or_trained():
    given = torch.tensor([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 4.0]])
    for structure in ("dense", "tridiagonal"):
        neuron = GeneralizedSpectralNeuron(2, 3, structure=structure, metric=given)
        torch.testing.assert_close(neuron.metric.detach(), given)
        assert neuron.factor.requires_grad
        fixed = GeneralizedSpectralNeuron(2, 3, structure=structure, metric=given, learned=False)
        torch.testing.assert_close(fixed.metric, given)
        assert "factor" not in dict(fixed.named_parameters())
        assert "factor" in fixed.state_dict()


def test_the_start_has_the_papers_gap_also_for_a_metric_that_is_given():
    neuron = GeneralizedSpectralNeuron(3, 5, metric=torch.diag(torch.logspace(-2, 2, 5)), dtype=torch.float64)
    x = torch.empty(200, 3).uniform_(-5, 5).double()
    inverse, matrices = torch.linalg.inv(neuron.lower), neuron.matrices
    matrix = matrices[0] + torch.einsum("bi,ijk->bjk", x, matrices[1:])
    values = torch.linalg.eigvalsh(inverse @ matrix @ inverse.mT)
    assert values[:, 2:4].diff().min() > 0.47
    assert values[:, 1:3].diff().min() > 0.47


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32(dtype):
    coords, metric = random_coords(4, False).to(dtype), metrics(1, 4)[0].to(dtype)
    exact = generalized_eigenpair(coords.float(), metric.float(), 4, [1, 2])
    for ours, theirs in zip(generalized_eigenpair(coords, metric, 4, [1, 2]), exact, strict=True):
        assert torch.equal(ours, theirs.to(dtype))
    assert torch.equal(generalized_eigenvalue(coords, metric, 4, 2), exact.value[:, 1].to(dtype))


@pytest.mark.parametrize("learned", [True, False])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_reset_brings_the_given_metric_back(learned, device):
    given = torch.diag(torch.tensor([1.0, 2.0, 3.0]).double())
    neuron = GeneralizedSpectralNeuron(2, 3, metric=given, learned=learned, dtype=torch.float64, device=device)
    neuron = neuron.to_empty(device="cpu")
    with torch.no_grad():
        neuron.factor.fill_(torch.nan)
    neuron.reset_parameters()
    torch.testing.assert_close(neuron.metric.detach(), given)
    assert neuron(torch.randn(4, 2).double()).isfinite().all()


def test_repr_shows_the_settings():
    assert "dim=5, eig_idx=2, learned=False" in repr(GeneralizedSpectralNeuron(3, 5, learned=False))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: generalized_eigenvalue(torch.zeros(3), torch.tensor([1.0, 0.0, -1.0]), 2, 0), "positive definite"),
        (lambda: generalized_eigenvalue(torch.zeros(3), torch.zeros(4), 2, 0), r"metric must have 3 entries"),
        (lambda: generalized_eigenvalue(torch.zeros(4), torch.ones(3), 2, 0), r"packed must have 3 entries"),
        (lambda: generalized_eigenvalue(torch.zeros(7, 3), torch.ones(6, 3), 2, 0), r"leading shapes .* \(7,\) and"),
        (
            lambda: GeneralizedSpectralNeuron(1, 2, metric=torch.eye(3)),
            r"metric must have shape \(2, 2\); got \(3, 3\)",
        ),
        (lambda: GeneralizedSpectralNeuron(1, 2, metric=-torch.eye(2)), "positive definite"),
        (lambda: GeneralizedSpectralNeuron(1, 2, metric=torch.ones(2, 2).triu()), "metric must be a symmetric dense"),
        (
            lambda: GeneralizedSpectralNeuron(1, 3, structure="tridiagonal", metric=torch.eye(3) + 0.1),
            "metric must be a symmetric tridiagonal",
        ),
    ],
)
def test_bad_arguments_are_refused_with_what_was_expected(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: generalized_eigenvalue(torch.zeros(3).long(), torch.ones(3), 2, 0),
            "packed must be a tensor of floats",
        ),
        (
            lambda: generalized_eigenpair(torch.zeros(3), torch.ones(3).long(), 2, 0),
            "metric must be a tensor of floats",
        ),
        (lambda: GeneralizedSpectralNeuron(1, 2, metric=np.eye(2)), r"metric must be a tensor; got ndarray: use torch"),
        (lambda: GeneralizedSpectralNeuron(1, 2, metric=torch.eye(2) + 0j), "real numbers; got torch.complex64"),
        (lambda: GeneralizedSpectralNeuron(1, 2, metric=torch.eye(2, device="meta")), "make it with device='cpu'"),
    ],
)
def test_wrong_types_are_refused_with_the_way_out(call, message):
    with pytest.raises(TypeError, match=message):
        call()
