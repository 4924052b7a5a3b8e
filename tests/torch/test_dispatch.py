"""The ways to an operator: one that is right whatever watches, and whatever a version of PyTorch lacks."""

from __future__ import annotations

import pytest
from torch.func import grad, hessian, jacrev, vmap
from torch.utils._python_dispatch import TorchDispatchMode
from torch_coords import random_coords

import torch
from lambdak.torch import SpectralNeuron, derivatives, dispatch, eigenpair, eigenvalue

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of dual numbers themselves

ASKED = {
    "_has_transforms": "_are_functorch_transforms_active",
    "_has_modes": "_len_torch_dispatch_stack",
    "_is_legacy_batch": "_functorch.is_legacy_batchedtensor",
}


def derived(coords):
    """Values and derivatives of several orders, by autograd and by torch.func."""
    leaf = coords.clone().requires_grad_()
    value, vector = eigenpair(leaf, 4, [1, 2])
    (slope,) = torch.autograd.grad((value.sin().sum() + vector.pow(4).sum()), leaf, create_graph=True)
    (second,) = torch.autograd.grad(slope.square().sum(), leaf)

    def function(row):
        return eigenvalue(row, 4, 1)

    batched = torch.autograd.functional.jacobian(function, coords, vectorize=True)
    mapped = vmap(grad(function))(coords)
    return [value, slope, second, batched, mapped, jacrev(jacrev(function))(coords[0])]


@pytest.mark.parametrize("asked", ASKED)
def test_a_version_that_lacks_a_private_function_takes_the_longer_way(asked, monkeypatch):
    coords = random_coords(4, False)
    expected = [part.detach() for part in derived(coords)]
    monkeypatch.setattr(dispatch, asked, dispatch._private("no_such_function"))
    torch.testing.assert_close([part.detach() for part in derived(coords)], expected)


def test_an_operator_that_hides_its_function_is_called_itself():
    coords, calls = random_coords(4, False), []

    class Hidden:
        """The operator as a version without the private attribute would show it."""

        def __call__(self, *args):
            calls.append(args)
            return torch.ops.lambdak.eigenvalue(*args)

        register_autograd = register_vmap = register_autocast = lambda *_, **__: None

    call = dispatch.differentiable(Hidden(), derivatives._keep_value, derivatives._backward_value, None)
    torch.testing.assert_close(call(coords, 4, [1], False)[:, 0], eigenvalue(coords, 4, 1))
    assert len(calls) == 1
    leaf = coords.clone().requires_grad_()
    ours, theirs = call(leaf, 4, [1], False).sum(), eigenvalue(leaf, 4, 1).sum()
    torch.testing.assert_close(torch.autograd.grad(ours, leaf), torch.autograd.grad(theirs, leaf))


def test_without_the_switch_of_forward_mode_it_is_refused(monkeypatch):
    monkeypatch.setattr(dispatch, "_forward_mode", dispatch._no_forward_mode)
    with pytest.raises(NotImplementedError, match=r"use torch\.func\.jacrev"):
        hessian(lambda row: eigenvalue(row, 4, 1))(random_coords(4, False)[0])


def test_this_version_has_all_that_the_shorter_way_asks():
    for asked, path in ASKED.items():
        assert getattr(dispatch, asked) is dispatch._private(path)
    assert dispatch._forward_mode is not dispatch._no_forward_mode


def test_modes_see_the_operators():
    seen = []

    class Watching(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    with Watching():
        eigenvalue(random_coords(4, False), 4, 1)
    assert "lambdak.eigenvalue.default" in seen


@pytest.mark.parametrize("constraint", ["diagonal", "factor", "root", "squareplus"])
def test_modules_on_the_meta_device_compute_shapes(constraint):
    neuron = SpectralNeuron(3, 5, monotonic_cst=[1, 0, -1], constraint=constraint, max_influence=1.0, device="meta")
    assert neuron(torch.empty(7, 3, device="meta")).shape == (7,)
