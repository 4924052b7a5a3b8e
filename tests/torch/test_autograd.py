"""Eigenvalues and eigenvectors as PyTorch operators: values, derivatives of any order, and PyTorch's own machinery.

Tests ``derivatives``.
"""

from __future__ import annotations

import numpy as np
import pytest
from matrices import FACTORIES, rotation
from torch_coords import FORMS, random_coords

import torch
from lambdak.torch import (
    eigenpair,
    eigenvalue,
    spectral_norm,
    sym,
    tridiagonal_eigenpair,
    tridiagonal_eigenvalue,
    unsym,
)


def outputs(dim, tridiagonal):
    """Functions of coordinates that do not depend on the signs of eigenvectors."""
    index = list(range(min(dim, 2)))

    def values(coords):
        return torch.ops.lambdak.eigenpair(coords, dim, index, tridiagonal)[0]

    def values_alone(coords):
        return torch.ops.lambdak.eigenvalue(coords, dim, index, tridiagonal)

    def vectors(coords):
        _, vector = torch.ops.lambdak.eigenpair(coords, dim, index, tridiagonal)
        return vector[..., :1] * vector

    return [values, values_alone, vectors]


@pytest.mark.parametrize("name", FACTORIES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_and_vectors_are_those_of_lapack_on_easy_and_hard_matrices(name, dtype):
    matrix = torch.tensor(FACTORIES[name](np.random.default_rng(0), 20, 7)).to(dtype)
    value, vector = eigenpair(unsym(matrix), 7, 3)
    norm = torch.linalg.matrix_norm(matrix.double(), 2).clamp_min(torch.finfo(dtype).tiny)
    slack = 200 * torch.finfo(dtype).eps
    assert ((value.double() - torch.linalg.eigvalsh(matrix.double())[:, 3]).abs() <= slack * norm).all()
    residual = (matrix @ vector[..., None]).squeeze(-1) - value[:, None] * vector
    assert (residual.double().norm(dim=-1) <= slack * norm).all()


def test_several_indices_share_one_call_and_add_an_axis():
    coords = random_coords(5, False)
    value, vector = eigenpair(coords, 5, [0, 2, 4])
    assert value.shape == (3, 3)
    assert vector.shape == (3, 3, 5)
    torch.testing.assert_close(value, torch.linalg.eigvalsh(sym(coords, 5))[:, [0, 2, 4]])
    torch.testing.assert_close(eigenvalue(coords, 5, 2), value[:, 1])


def test_tridiagonal_functions_take_the_entries_of_the_matrix():
    diagonal, off = random_coords(1, False, 6).reshape(2, 3), torch.tensor([[1.0, -2.0], [0.5, 3.0]]).double()
    matrix = torch.diag_embed(diagonal) + torch.diag_embed(off, 1) + torch.diag_embed(off, -1)
    value, vector = tridiagonal_eigenpair(diagonal, off, 1)
    torch.testing.assert_close(value, torch.linalg.eigvalsh(matrix)[:, 1])
    torch.testing.assert_close(tridiagonal_eigenvalue(diagonal, off, 1), value)
    torch.testing.assert_close((matrix @ vector[..., None]).squeeze(-1), value[:, None] * vector)


@pytest.mark.parametrize(("dim", "tridiagonal"), FORMS)
def test_derivatives_of_first_and_second_order_are_those_of_finite_differences(dim, tridiagonal):
    coords = random_coords(dim, tridiagonal).requires_grad_()
    for function in outputs(dim, tridiagonal):
        assert torch.autograd.gradcheck(function, (coords,))
        assert torch.autograd.gradgradcheck(function, (coords,))


def test_public_functions_can_be_differentiated_twice():
    coords = random_coords(4, False).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda packed: eigenvalue(packed, 4, 1), (coords,))
    diagonal, off = random_coords(1, False, 4).reshape(1, 4), random_coords(1, False, 3, seed=1).reshape(1, 3)
    pair = (diagonal.requires_grad_(), off.requires_grad_())
    assert torch.autograd.gradgradcheck(lambda a, b: tridiagonal_eigenvalue(a, b, 2), pair)


def test_a_gradient_penalty_is_differentiated_as_through_eigh():
    coords, x = random_coords(4, False).requires_grad_(), random_coords(4, False, seed=1).requires_grad_()
    found = []
    for function in (lambda a: eigenvalue(a, 4, 2), lambda a: torch.linalg.eigvalsh(sym(a, 4))[..., 2]):
        (slope,) = torch.autograd.grad(function(coords * x).sum(), x, create_graph=True)
        found.append(torch.autograd.grad(slope.square().sum(), coords)[0])
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("spectrum", [[0.0, 1.0, 1.0, 1.0, 2.0], [1.0] * 5, [0.0] * 5])
def test_at_repeated_eigenvalues_the_gradient_is_a_clarke_subgradient(spectrum):
    q = rotation(np.random.default_rng(0), 1, 5)[0]
    packed = unsym(torch.tensor(q * spectrum @ q.T)).requires_grad_()
    eigenvalue(packed, 5, 2).backward()
    subgradient = sym(packed.grad, 5)
    values = torch.linalg.eigvalsh(subgradient)
    torch.testing.assert_close(values, torch.tensor([0.0, 0.0, 0.0, 0.0, 1.0]).double(), atol=1e-10, rtol=0)  # v vᵀ
    image = sym(packed.detach(), 5) @ subgradient  # of an eigenvector of the repeated eigenvalue
    torch.testing.assert_close(image, spectrum[2] * subgradient, atol=1e-10, rtol=0)


def test_second_derivatives_stay_finite_at_repeated_eigenvalues():
    packed = unsym(torch.eye(5)).requires_grad_()
    (slope,) = torch.autograd.grad(eigenvalue(packed, 5, 2), packed, create_graph=True)
    (second,) = torch.autograd.grad(slope.square().sum() + slope[0], packed)
    assert second.isfinite().all()


def test_vmap_grad_and_their_nesting_agree_with_batches():
    coords = random_coords(4, False, rows=6)

    def function(packed):
        return eigenvalue(packed, 4, 2)

    torch.testing.assert_close(torch.func.vmap(function)(coords), function(coords))
    torch.testing.assert_close(torch.func.vmap(function, in_dims=1)(coords.T.contiguous()), function(coords))
    leaf = coords.clone().requires_grad_()
    function(leaf).sum().backward()
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(function))(coords), leaf.grad)
    hessian = torch.func.jacrev(torch.func.jacrev(function))(coords[0])
    torch.testing.assert_close(hessian, torch.autograd.functional.hessian(function, coords[0]))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # those of the compiler itself
def test_compiled_and_exported_functions_agree_with_eager_ones():
    coords = random_coords(4, False)

    class Middle(torch.nn.Module):
        def forward(self, packed):
            value, vector = eigenpair(packed, 4, 1)
            return value.sin() + vector.square().sum(-1)

    eager = Middle()
    torch.testing.assert_close(torch.compile(eager, fullgraph=True)(coords), eager(coords))
    torch.testing.assert_close(torch.export.export(eager, (coords,)).module()(coords), eager(coords))


def test_half_precision_is_computed_in_float32_and_autocast_keeps_it():
    coords = random_coords(4, False, dtype=torch.float32)
    exact = eigenvalue(coords.bfloat16().float(), 4, 1)
    assert torch.equal(eigenvalue(coords.bfloat16(), 4, 1), exact.bfloat16())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert eigenvalue(coords.bfloat16(), 4, 1).dtype == torch.float32
        assert torch.equal(torch.ops.lambdak.eigenvalue(coords.bfloat16(), 4, [1], False)[:, 0], exact)
        assert eigenvalue(coords.double(), 4, 1).dtype == torch.float64


def test_a_matrix_with_nan_yields_nan_for_itself_alone_and_no_rows_yield_none():
    coords = random_coords(4, False)
    coords[1, 0] = torch.nan
    assert eigenvalue(coords, 4, 1).isnan().tolist() == [False, True, False]
    assert eigenvalue(coords[:0], 4, 1).shape == (0,)


@pytest.mark.parametrize(("dim", "tridiagonal"), [(1, False), (5, False), (5, True)])
def test_spectral_norms_are_the_largest_singular_values(dim, tridiagonal):
    coords = random_coords(dim, tridiagonal)
    expected = torch.linalg.matrix_norm(sym(coords, dim, tridiagonal), 2)
    torch.testing.assert_close(spectral_norm(coords, dim, tridiagonal), expected)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: eigenvalue(torch.zeros(2, 14), 5, 0),
            ValueError,
            r"packed must have 15 entries .* got shape \(2, 14\)",
        ),
        (lambda: eigenvalue(torch.zeros(15, dtype=torch.int64), 5, 0), TypeError, "must be a tensor of floats"),
        (lambda: eigenvalue(torch.zeros(15), 5, 5), ValueError, r"index must be in \[0, 5\); got 5"),
        (lambda: eigenvalue(torch.zeros(15), 5, [2, 1]), ValueError, "increasing"),
        (lambda: tridiagonal_eigenvalue(torch.zeros(3), torch.zeros(3), 0), ValueError, r"got \(3,\) and \(3,\)"),
    ],
)
def test_bad_arguments_are_refused_with_what_was_expected(call, error, message):
    with pytest.raises(error, match=message):
        call()
