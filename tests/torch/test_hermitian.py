"""Complex Hermitian matrices through the real form: values, derivatives at the doubled eigenvalue, and the module."""

from __future__ import annotations

import pytest
from torch_cases import scrambled

import torch
from lambdak.torch import (
    HermitianSpectralNeuron,
    hermitian,
    hermitian_eigenpair,
    hermitian_eigenvalue,
    sym,
    unhermitian,
)
from lambdak.torch.hermitian import HermitianFactor, real_form

DIAGONAL = torch.diag(torch.tensor([1.0, -2.0, 3.0, 0.5])).to(torch.complex128)
BLOCKS = DIAGONAL.clone()
BLOCKS[0, 1], BLOCKS[1, 0] = 1j, -1j


def random_hermitian(dim, rows=3):
    return torch.randn(rows, dim * dim, dtype=torch.float64)


def matrices():
    """Coordinates of dense matrices, of diagonal ones, and of blocks that leave entries of vectors zero, (..., 16)."""
    return torch.cat([random_hermitian(4), unhermitian(torch.stack([DIAGONAL, BLOCKS]))])


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_coordinates_are_isometric_and_come_back(dim):
    coords, other = random_hermitian(dim), random_hermitian(dim)
    matrix = hermitian(coords, dim)
    assert torch.equal(matrix, matrix.mH)
    torch.testing.assert_close(unhermitian(matrix), coords)
    inner = (matrix.conj() * hermitian(other, dim)).sum((-1, -2)).real
    torch.testing.assert_close(inner, (coords * other).sum(-1))


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_every_eigenvalue_is_there_twice_in_the_real_form(dim):
    coords = random_hermitian(dim)
    values = torch.linalg.eigvalsh(hermitian(coords, dim))
    doubled = torch.linalg.eigvalsh(sym(real_form(coords, dim), 2 * dim))
    torch.testing.assert_close(doubled, values.repeat_interleave(2, -1))


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_values_and_vectors_are_those_of_lapack(dim):
    coords, every = random_hermitian(dim), list(range(dim))
    matrix = hermitian(coords, dim)
    value, vector = hermitian_eigenpair(coords, dim, every)
    torch.testing.assert_close(value, torch.linalg.eigvalsh(matrix))
    torch.testing.assert_close(hermitian_eigenvalue(coords, dim, dim - 1), value[:, -1])
    torch.testing.assert_close(vector @ matrix.mT, value[..., None] * vector)
    torch.testing.assert_close(vector.conj() @ vector.mT, torch.eye(dim).to(vector).expand(3, dim, dim))


@pytest.mark.parametrize("index", range(4))
def test_derivatives_are_those_of_finite_differences_and_of_eigvalsh(index):
    coords = matrices().requires_grad_()
    assert torch.autograd.gradcheck(lambda a: hermitian_eigenvalue(a, 4, index), (coords,))
    assert torch.autograd.gradgradcheck(lambda a: hermitian_eigenvalue(a, 4, index), (coords,))
    found = []
    for function in (
        lambda a: hermitian_eigenvalue(a, 4, index),
        lambda a: torch.linalg.eigvalsh(hermitian(a, 4))[..., index],
    ):
        (slope,) = torch.autograd.grad(function(coords).sum(), coords, create_graph=True)
        (second,) = torch.autograd.grad((slope * torch.arange(16)).sum(), coords)
        found.append((slope, second))
    torch.testing.assert_close(*found)


@pytest.mark.parametrize(("dtype", "scales"), [(torch.float32, (1e-30, 1e30)), (torch.float64, (1e-200, 1e200))])
def test_matrices_of_any_scale_have_the_same_vectors_and_curvature(dtype, scales):
    coords, direction = random_hermitian(4).to(dtype), random_hermitian(4).to(dtype)

    def bend(scale):
        leaf = (coords * scale).requires_grad_()
        value = hermitian_eigenvalue(leaf, 4, 1)
        (slope,) = torch.autograd.grad(value.sum(), leaf, create_graph=True)
        (second,) = torch.autograd.grad((slope * direction).sum(), leaf)  # one over the scale
        return value.detach() / scale, slope.detach(), second * scale

    slack = 1000 * torch.finfo(dtype).eps
    for scale in scales:
        torch.testing.assert_close(bend(scale), bend(1.0), rtol=slack, atol=slack)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32(dtype):
    coords = random_hermitian(4).to(dtype)
    exact = hermitian_eigenpair(coords.float(), 4, [0, 2])
    value, vector = hermitian_eigenpair(coords, 4, [0, 2])
    assert torch.equal(value, exact.value.to(dtype))
    assert torch.equal(vector, exact.vector)
    assert torch.equal(hermitian_eigenvalue(coords, 4, 2), exact.value[:, 1].to(dtype))
    assert hermitian(coords, 4).dtype == torch.complex64


def test_the_derivative_with_respect_to_a_complex_matrix_is_that_of_eigvalsh():
    real, skew = torch.randn(2, 3, 3).double()
    matrix = torch.complex(real + real.mT, skew - skew.mT).requires_grad_()
    (ours,) = torch.autograd.grad(hermitian_eigenvalue(unhermitian(matrix), 3, 1), matrix)
    (theirs,) = torch.autograd.grad(torch.linalg.eigvalsh(matrix)[1], matrix)
    torch.testing.assert_close(ours, theirs)


def test_at_repeated_eigenvalues_the_gradient_is_a_clarke_subgradient():
    basis = torch.linalg.qr(torch.randn(4, 4, dtype=torch.complex128)).Q
    matrix = basis * torch.tensor([0.0, 1.0, 1.0, 2.0]) @ basis.mH
    coords = unhermitian(matrix).requires_grad_()
    (slope,) = torch.autograd.grad(hermitian_eigenvalue(coords, 4, 1), coords)
    subgradient = hermitian(slope, 4)
    torch.testing.assert_close(matrix @ subgradient, subgradient)  # of a unit vector of the repeated eigenvalue
    spectrum = torch.tensor([0.0, 0.0, 0.0, 1.0]).double()
    torch.testing.assert_close(torch.linalg.eigvalsh(subgradient), spectrum, atol=1e-10, rtol=0)


def test_a_module_is_an_eigenvalue_of_its_matrices():
    neuron = scrambled(HermitianSpectralNeuron(3, 4, 1, dtype=torch.float64))
    x, matrices = torch.randn(2, 6, 3).double(), neuron.matrices
    matrix = matrices[0] + torch.einsum("...i,ijk->...jk", x.to(matrices.dtype), matrices[1:])
    torch.testing.assert_close(neuron(x), torch.linalg.eigvalsh(matrix)[..., 1])
    torch.testing.assert_close(neuron.norms, torch.linalg.matrix_norm(matrices[1:], 2))


def test_the_last_eigenvalue_is_convex_and_the_first_concave():
    x, y = torch.randn(2, 300, 3).double()
    for index, sign in ((3, 1), (0, -1)):
        neuron = scrambled(HermitianSpectralNeuron(3, 4, index, dtype=torch.float64))
        assert (sign * ((neuron(x) + neuron(y)) / 2 - neuron((x + y) / 2)) >= -1e-12).all()


def test_factors_give_semidefinite_matrices_and_are_found_again():
    factor = HermitianFactor(4)
    made = factor(random_hermitian(4))
    assert torch.linalg.eigvalsh(hermitian(made, 4)).min() > -1e-12
    torch.testing.assert_close(factor(factor.right_inverse(made)), made)
    low = made.clone()
    low[0] = 0
    torch.testing.assert_close(factor(factor.right_inverse(low)), low)  # also a singular one


def test_the_start_has_the_papers_gap():
    neuron = HermitianSpectralNeuron(3, 5, dtype=torch.float64)
    x, matrices = torch.empty(200, 3).uniform_(-5, 5).double(), neuron.matrices
    values = torch.linalg.eigvalsh(matrices[0] + torch.einsum("bi,ijk->bjk", x.to(matrices.dtype), matrices[1:]))
    assert values[:, 1:4].diff().min() > 0.49


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hermitian_eigenvalue(torch.zeros(15), 4, 0), r"coords must have 16 entries .* got shape \(15,\)"),
        (lambda: hermitian(torch.zeros(15), 4), "coords must have 16 entries"),
        (lambda: hermitian_eigenvalue(torch.zeros(3, 4, 4), 4, 0), "as unhermitian gives them"),
        (lambda: hermitian_eigenvalue(torch.zeros(257**2), 257, 0), r"dim must be in \[1, 257\); got 257"),
        (lambda: hermitian_eigenvalue(torch.zeros(16), 4, 4), r"index must be in \[0, 4\); got 4"),
        (lambda: HermitianSpectralNeuron(3, 257), r"dim must be in \[1, 257\); got 257"),
    ],
)
def test_bad_arguments_are_refused_with_what_was_expected(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("dtype", [torch.int64, torch.complex64])
def test_coordinates_that_are_no_real_floats_are_refused_with_the_way_out(dtype):
    for function in (hermitian_eigenvalue, hermitian_eigenpair):
        with pytest.raises(
            TypeError, match=r"coords must be real floats; got torch.* unhermitian\(matrix\) gives them"
        ):
            function(torch.zeros(16, dtype=dtype), 4, 0)
