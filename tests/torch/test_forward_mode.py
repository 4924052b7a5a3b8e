"""Forward-mode derivatives: those of finite differences, in any order and mixed with reverse mode, or an error."""

from __future__ import annotations

import pytest
from torch.autograd import forward_ad
from torch.func import functional_call, hessian, jacfwd, jacrev, jvp
from torch_cases import scrambled
from torch_coords import FORMS, random_coords

import torch
from lambdak.torch import HyperSpectralNeuron, SpectralLayer, SpectralNeuron, derivatives, eigenvalue
from torch import nn

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of dual numbers themselves


def outputs(dim, tridiagonal):
    """Functions of coordinates that do not depend on the signs of eigenvectors."""
    index = list(range(min(dim, 2)))

    def values(coords):
        return derivatives.eigenvalue(coords, dim, index, tridiagonal)

    def vectors(coords):
        value, vector = derivatives.eigenpair(coords, dim, index, tridiagonal)
        return value[..., None] + vector[..., :1] * vector

    return [values, vectors]


@pytest.mark.parametrize(("dim", "tridiagonal"), FORMS)
def test_forward_derivatives_are_those_of_finite_differences(dim, tridiagonal):
    coords = random_coords(dim, tridiagonal).requires_grad_()
    for function in outputs(dim, tridiagonal):
        assert torch.autograd.gradcheck(function, (coords,), check_forward_ad=True, check_batched_forward_grad=True)
        assert torch.autograd.gradgradcheck(function, (coords,), check_fwd_over_rev=True)


@pytest.mark.parametrize("tridiagonal", [False, True])
def test_all_orders_of_both_modes_agree(tridiagonal):
    coords = random_coords(3, tridiagonal, rows=1)[0]
    for function in outputs(3, tridiagonal):

        def summed(x, function=function):
            return function(x).sin().sum()

        second = jacrev(jacrev(summed))(coords)
        for made in (hessian(summed), jacfwd(jacfwd(summed)), jacrev(jacfwd(summed))):
            torch.testing.assert_close(made(coords), second)
        third = jacrev(jacrev(jacrev(summed)))(coords)
        for made in (jacfwd(hessian(summed)), jacfwd(jacfwd(jacfwd(summed)))):
            torch.testing.assert_close(made(coords), third)


def test_dual_numbers_have_their_tangent_without_gradients_too():
    packed, tangent = torch.randn(2, 4, 15, dtype=torch.float64)
    leaf = packed.clone().requires_grad_()
    (slope,) = torch.autograd.grad(eigenvalue(leaf, 5, 2).sum(), leaf)
    for enabled in (True, False):
        with forward_ad.dual_level(), torch.set_grad_enabled(enabled):
            dual = forward_ad.make_dual(packed, tangent)
            found = forward_ad.unpack_dual(eigenvalue(dual, 5, 2)).tangent
        torch.testing.assert_close(found, (slope * tangent).sum(-1))


def test_neurons_are_differentiated_forward_in_inputs_and_parameters(kind):
    neuron, x = scrambled(SpectralNeuron(3, 5, dtype=torch.float64, **kind)), torch.randn(3).double()
    torch.testing.assert_close(jacfwd(neuron)(x), jacrev(neuron)(x))
    torch.testing.assert_close(hessian(neuron)(x), jacrev(jacrev(neuron))(x))
    if neuron.constraint in ("root", "squareplus"):
        return
    values = {name: parameter.detach() for name, parameter in neuron.named_parameters()}
    tangents = {name: torch.randn_like(value) for name, value in values.items()}

    def output(parameters):
        return functional_call(neuron, parameters, (x,))

    _, found = jvp(output, (values,), (tangents,))
    slopes = torch.func.grad(output)(values)
    torch.testing.assert_close(found, sum((slopes[name] * tangents[name]).sum() for name in values))


def test_networks_have_hessians_and_hyper_networks_directional_derivatives():
    network = nn.Sequential(SpectralLayer(3, 4, 3, dtype=torch.float64), SpectralLayer(4, 1, 3, dtype=torch.float64))
    x = torch.randn(3).double()
    torch.testing.assert_close(hessian(network)(x), jacrev(jacrev(network))(x))
    model = HyperSpectralNeuron(nn.Linear(2, 6), 3, 4, monotonic_cst=[1, 0, 0], encoder_features=6)
    context, points, step = torch.randn(5, 2), torch.randn(5, 3), torch.randn(5, 3)
    _, found = jvp(lambda x: model(context, x), (points,), (step,))
    torch.testing.assert_close(found, (model.slopes(context, points) * step).sum(-1))


@pytest.mark.parametrize("constraint", ["root", "squareplus"])
def test_constraints_that_are_differentiated_in_reverse_mode_only_say_so(constraint):
    neuron = SpectralNeuron(1, 3, monotonic_cst=1, constraint=constraint)
    values = {name: parameter.detach() for name, parameter in neuron.named_parameters()}
    with pytest.raises(NotImplementedError, match="once, in reverse mode: choose 'factor'"):
        jvp(lambda given: functional_call(neuron, given, (torch.ones(2, 1),)), (values,), (values,))


@pytest.mark.filterwarnings("ignore")  # those of the compiler
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_code_leaves_forward_mode_to_eager_code_rather_than_losing_it(backend):
    packed, tangent = torch.randn(2, 4, 15)

    def derivative(x, direction):
        return jvp(lambda packed: eigenvalue(packed, 5, 2), (x,), (direction,))[1]

    torch.compiler.reset()
    compiled = torch.compile(derivative, backend=backend)
    torch.testing.assert_close(compiled(packed, tangent), derivative(packed, tangent))
    torch.compiler.reset()
    with pytest.raises(Exception, match=r"torch\.compiler\.disable"):
        torch.compile(derivative, backend=backend, fullgraph=True)(packed, tangent)
