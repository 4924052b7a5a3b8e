"""What mixtures, ordered layers, generalised and Hermitian neurons have in common with neurons and layers."""

from __future__ import annotations

import copy

import pytest
from research_cases import MODULES, SETTINGS, B
from torch_cases import scrambled

import torch
from lambdak.torch import (
    eigenvalue_sum,
    generalized_eigenpair,
    generalized_eigenvalue,
    guarantees,
    hermitian_eigenpair,
    hermitian_eigenvalue,
    ky_fan_sum,
    unsym,
)
from torch import nn


@pytest.fixture(params=MODULES)
def make(request):
    return MODULES[request.param]


@pytest.fixture(params=SETTINGS)
def settings(request):
    return SETTINGS[request.param]


def moved(module, x, i, steps):
    """The outputs at x, and where input i is larger by the steps."""
    other = x.clone()
    other[:, i] += steps
    return module(x).reshape(len(x), -1), module(other).reshape(len(x), -1)


def test_monotone_inputs_influence_and_caps_hold_whatever_the_parameters_are(make, settings):
    module = scrambled(make(dtype=torch.float64, **settings))
    x, steps = torch.randn(200, 3).double(), torch.rand(200).double() * 3
    for i, (sign, norm) in enumerate(zip(module.monotonic_cst, module.norms.detach(), strict=True)):
        before, after = moved(module, x, i, steps)
        assert ((after - before).abs() <= norm * steps[:, None] + 1e-12).all()
        assert not sign or (sign * (after - before) >= -1e-12).all()
        assert module.max_influence is None or norm <= module.max_influence[i]


def test_derivatives_in_inputs_and_parameters_are_those_of_finite_differences(make):
    module = scrambled(make(dtype=torch.float64, monotonic_cst=[1, 0, 0]))
    x, names = torch.randn(2, 3).double().requires_grad_(), [name for name, _ in module.named_parameters()]

    def function(x, *values):
        return torch.func.functional_call(module, dict(zip(names, values, strict=True)), (x,))

    inputs = (x, *module.parameters())
    assert torch.autograd.gradcheck(function, inputs, fast_mode=True)  # in random directions: there are many entries
    assert torch.autograd.gradgradcheck(function, inputs, fast_mode=True)


def test_gradients_reach_every_parameter_from_the_start(make, settings):
    module = make(dtype=torch.float64, **settings)
    module(torch.randn(40, 3).double()).pow(3).sum().backward()
    for name, parameter in module.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


def test_eigenpairs_give_the_exact_derivatives(make):
    module, x = scrambled(make(dtype=torch.float64)), torch.randn(5, 3).double().requires_grad_()
    value, vector = module.eigenpair(x)
    forms = torch.einsum("...j,ijk,...k->...i", vector.conj(), module.matrices[1:].to(vector.dtype), vector).real
    for j, each in enumerate(value.reshape(5, -1).T):
        (slope,) = torch.autograd.grad(each.sum(), x, retain_graph=True)
        torch.testing.assert_close(slope, forms.reshape(5, -1, 3)[:, j])


def test_states_copies_casts_and_the_meta_device_keep_the_function(make, settings):
    module, x = scrambled(make(**settings)), torch.randn(6, 3)
    with torch.device("meta"):
        other = make(**settings)
    other = other.to_empty(device="cpu")
    other.load_state_dict(module.state_dict())
    assert torch.equal(other(x), module(x))
    assert torch.equal(copy.deepcopy(module)(x), module(x))
    torch.testing.assert_close(copy.deepcopy(module).double()(x.double()).float(), module(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_modules_of_half_precision_compute_what_float32_does_to_rounding(make, settings, dtype):
    module, x = make(**settings), torch.randn(6, 3).to(dtype)
    half = copy.deepcopy(module).to(dtype)
    value = half(x)
    assert value.dtype == half.norms.dtype == half.eigenpair(x).value.dtype == dtype
    torch.testing.assert_close(value.float(), module(x.float()), rtol=0, atol=40 * torch.finfo(dtype).eps)
    vector, matrices = half.eigenpair(x).vector, half.matrices
    assert vector.isfinite().all()
    assert matrices.isfinite().all()
    value.float().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in half.parameters())


def test_the_start_depends_on_pytorchs_seed_alone(make):
    torch.manual_seed(3)
    first = make()
    torch.manual_seed(3)
    second = make()
    assert torch.equal(first.matrices, second.matrices)
    second.reset_parameters()
    assert not torch.equal(first.matrices, second.matrices)


def test_per_sample_gradients_agree_with_a_loop(make):
    module, x = make(dtype=torch.float64), torch.randn(3, 3).double()
    values = {name: value.detach() for name, value in module.named_parameters()}

    def loss(values, row):
        return torch.func.functional_call(module, values, (row,)).square().sum()

    found = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(values, x)
    for i, row in enumerate(x):
        grads = torch.autograd.grad(module(row).square().sum(), list(module.parameters()))
        for name, grad in zip(values, grads, strict=True):
            torch.testing.assert_close(found[name][i], grad)


def test_stacks_know_signs_bounds_and_shapes(make):
    first = scrambled(make(dtype=torch.float64, monotonic_cst=[1, 0, -1]))
    outputs = first(torch.zeros(1, 3).double()).numel()
    found = guarantees(first)
    assert found.monotone == (1, 0, -1)
    assert found.influence.shape == (3, outputs)
    assert found.convex == getattr(first, "convex", False)
    if outputs > 1:
        network = nn.Sequential(first, scrambled(nn.Linear(outputs, 1, dtype=torch.float64)))
        assert guarantees(network).influence.shape == (3, 1)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of dual numbers themselves
def test_forward_mode_agrees_with_reverse_mode(make):
    module, x = make(dtype=torch.float64), torch.randn(4, 3).double()
    _, forward = torch.func.jvp(module, (x,), (torch.ones_like(x),))
    slopes = torch.func.vmap(torch.func.jacrev(module))(x)  # (rows, outputs, inputs)
    torch.testing.assert_close(forward, slopes.sum(-1))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # those of the compiler itself
@pytest.mark.parametrize("name", ["mixture", "ordered", "learned metric", "hermitian"])
def test_compiled_and_exported_modules_agree_with_eager_ones(name):
    module, x = MODULES[name](), torch.randn(8, 3)
    compiled = torch.compile(module, fullgraph=True)
    torch.testing.assert_close(compiled(x), module(x))
    compiled(x).sum().backward()
    ours = [parameter.grad.clone() for parameter in module.parameters()]
    module.zero_grad()
    module(x).sum().backward()
    torch.testing.assert_close(ours, [parameter.grad for parameter in module.parameters()])
    program = torch.export.export(module, (x,), dynamic_shapes=({0: torch.export.Dim("rows")},))
    torch.testing.assert_close(program.module()(x[:5]), module(x[:5]))


FUNCTIONS = {
    "sum": (10, lambda rows: eigenvalue_sum(rows, 4, torch.arange(4.0))),
    "Ky Fan": (10, lambda rows: ky_fan_sum(rows, 4, 2)),
    "metric": (10, lambda rows: generalized_eigenvalue(rows, unsym(B.float()), 4, [0, 2])),
    "pair": (10, lambda rows: generalized_eigenpair(rows, unsym(B.float()), 4, 1).vector.square()),
    "complex": (16, lambda rows: hermitian_eigenvalue(rows, 4, [0, 2])),
    "complex pair": (16, lambda rows: hermitian_eigenpair(rows, 4, 1).vector.abs()),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # those of the compiler itself
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_compile_in_one_graph_for_batches_of_any_size(name):
    torch.compiler.reset()
    width, function = FUNCTIONS[name]
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
    for rows in (8, 5, 1, 13):
        given = torch.randn(rows, width)
        torch.testing.assert_close(compiled(given), function(given))
