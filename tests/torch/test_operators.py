"""The registered operators: PyTorch's own checks, other devices, and whose memory is read."""

from __future__ import annotations

import pytest
from torch_coords import FORMS, random_coords

import torch
from lambdak.torch import eigenpair, eigenvalue
from lambdak.torch import operators as kernel


@pytest.mark.slow
@pytest.mark.parametrize(("dim", "tridiagonal"), FORMS)
def test_operators_pass_pytorchs_own_checks(dim, tridiagonal):
    coords, index = random_coords(dim, tridiagonal).requires_grad_(), list(range(min(dim, 2)))
    value, vector = (part.detach() for part in kernel.eigenpair(coords, dim, index, tridiagonal))
    grads = [torch.randn_like(part).requires_grad_() for part in (value, vector)]
    torch.library.opcheck(kernel.eigenvalue, (coords, dim, index, tridiagonal))
    torch.library.opcheck(kernel.eigenpair, (coords, dim, index, tridiagonal))
    torch.library.opcheck(kernel.eigenvalue_vjp, (vector.requires_grad_(), grads[0], dim, tridiagonal))
    torch.library.opcheck(kernel.eigenpair_vjp, (coords, value, vector, *grads, dim, tridiagonal))


@pytest.mark.parametrize(("dim", "tridiagonal"), [(5, False), (5, True)])
def test_other_devices_compute_the_same_by_eigh(dim, tridiagonal, monkeypatch):
    coords = random_coords(dim, tridiagonal)
    value, vector = kernel.eigenpair(coords, dim, [1, 3], tridiagonal)
    grads = torch.randn_like(value), torch.randn_like(vector)
    ours = [
        kernel.eigenvalue_vjp(vector, grads[0], dim, tridiagonal),
        kernel.eigenpair_vjp(coords, value, vector, *grads, dim, tridiagonal),
    ]
    monkeypatch.setattr(torch.Tensor, "is_cpu", False)
    torch.testing.assert_close(kernel.eigenvalue(coords, dim, [1, 3], tridiagonal), value)
    other_value, other_vector = kernel.eigenpair(coords, dim, [1, 3], tridiagonal)
    torch.testing.assert_close(other_value, value)
    torch.testing.assert_close((other_vector * vector).sum(-1).abs(), torch.ones_like(value))
    torch.testing.assert_close(kernel.eigenvalue_vjp(vector, grads[0], dim, tridiagonal), ours[0])
    torch.testing.assert_close(kernel.eigenpair_vjp(coords, value, vector, *grads, dim, tridiagonal), ours[1])


def test_the_kernel_reads_the_tensors_own_memory(monkeypatch):
    seen = []
    real = kernel.engine("auto", 5, False)

    class Spy:
        @staticmethod
        def solve(matrices, *rest):
            seen.append(matrices[0].ctypes.data)
            real.solve(matrices, *rest)

    coords = random_coords(5, False)
    monkeypatch.setattr(kernel, "engine", lambda *_: Spy)
    eigenvalue(coords, 5, 2)
    assert seen == [coords.data_ptr()]


@pytest.mark.parametrize("tridiagonal", [False, True])
def test_negated_views_are_read_with_their_sign(tridiagonal):
    coords = random_coords(5, tridiagonal)
    negated = torch.complex(coords, -coords).conj().imag  # a view whose memory holds the other sign
    assert negated.is_neg()
    for ours, theirs in zip(
        kernel.eigenpair(negated, 5, [1, 3], tridiagonal), kernel.eigenpair(coords, 5, [1, 3], tridiagonal), strict=True
    ):
        assert torch.equal(ours, theirs)


def test_zeros_that_pytorch_leaves_unwritten_are_read_as_zeros():
    vector = eigenpair(random_coords(5, False), 5, [1, 3]).vector
    unwritten = torch._efficientzerotensor(vector.shape[:-1], dtype=vector.dtype)
    assert not kernel.eigenvalue_vjp(vector, unwritten, 5, False).any()


def test_freed_memory_is_an_error_that_says_so():
    coords = random_coords(5, False)
    coords.untyped_storage().resize_(0)  # what FSDP does with parameters between their uses
    with pytest.raises(RuntimeError, match=r"the memory of a tensor of shape .* was freed"):
        kernel.eigenvalue(coords, 5, [1], False)
