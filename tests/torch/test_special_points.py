"""Derivatives at the special points: zero, ties of eigenvalues, caps exactly on their bound, boundaries of cones."""

from __future__ import annotations

import pytest
from research_cases import MODULES
from torch_cases import KINDS

import torch
from lambdak.torch import (
    Definite,
    HermitianSpectralNeuron,
    SparseSpectralNeuron,
    SpectralLayer,
    SpectralNeuron,
    eigenvalue,
    eigenvalue_sum,
    hermitian_eigenvalue,
    ky_fan_sum,
    spectral_norm,
    sym,
    unsym,
)
from lambdak.torch.constraints import Cap
from lambdak.torch.packing import width

CONES = [
    (constraint, tridiagonal)
    for constraint in ("diagonal", "factor", "root", "squareplus")
    for tridiagonal in (False, True)
    if not (tridiagonal and constraint in ("root", "squareplus"))
]
SMOOTH = [cone for cone in CONES if cone[0] != "root"]
ONCE = ("root", "squareplus")


def double(*values):
    return torch.tensor(values, dtype=torch.float64)


def points(size):
    """Zero, equal numbers, a single one, and numbers of both signs."""
    one = torch.zeros(size, dtype=torch.float64)
    one[0] = 1.0
    return torch.stack([torch.zeros_like(one), torch.ones_like(one), one, -one, torch.linspace(-2, 2, size).double()])


@pytest.mark.parametrize(("constraint", "tridiagonal"), SMOOTH)
def test_smooth_constraints_have_their_derivatives_at_zero_at_ties_and_on_the_boundary(constraint, tridiagonal):
    definite = Definite(constraint, 3, tridiagonal)
    for theta in points(definite.size):
        leaf = theta.requires_grad_()
        assert torch.autograd.gradcheck(definite, (leaf,))
        if constraint not in ONCE:
            assert torch.autograd.gradgradcheck(definite, (leaf,))


def test_squareplus_of_a_matrix_has_its_derivative_where_all_eigenvalues_are_equal():
    leaf = unsym(2.5 * torch.eye(3).double()).requires_grad_()
    assert torch.autograd.gradcheck(Definite("squareplus", 3), (leaf,))


def test_the_root_has_its_derivative_at_ties_of_singular_values():
    theta = double(2.0, 0.0, 2.0, 0.0, 0.0, 2.0).requires_grad_()  # L = 2 I
    assert torch.autograd.gradcheck(Definite("root", 3), (theta,))


@pytest.mark.parametrize("theta", [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, -1.0)])
def test_the_root_of_a_singular_factor_returns_the_derivative_of_points_nearby(theta):
    definite = Definite("root", 2)
    leaf = double(*theta)
    jacobian = torch.autograd.functional.jacobian(definite, leaf)
    assert jacobian.isfinite().all()
    left, values, right = torch.linalg.svd(definite_lower(leaf))
    near = (left @ torch.diag(values + 1e-6) @ right)[[0, 1, 1], [0, 0, 1]]  # L + t U Wᵀ, whose lower part is taken

    def nearby(entries):
        full = left @ torch.diag(values + 1e-6) @ right
        moved = full + definite_lower(entries - near)
        basis, spectrum, _ = torch.linalg.svd(moved)
        return unsym(basis * spectrum @ basis.mT)

    steps = 1e-9 * torch.eye(3).double()
    differences = torch.stack([(nearby(near + step) - nearby(near - step)) / 2e-9 for step in steps], 1)
    torch.testing.assert_close(jacobian, differences, atol=1e-4, rtol=1e-4)


def definite_lower(entries):
    full = torch.zeros(2, 2, dtype=torch.float64)
    full[[0, 1, 1], [0, 0, 1]] = entries
    return full


@pytest.mark.parametrize("tridiagonal", [False, True])
@pytest.mark.parametrize("factor", [0.0, 0.5, 0.999, 1.001, 3.0])
def test_caps_have_their_derivative_inside_and_outside_and_for_a_zero_matrix(factor, tridiagonal):
    torch.manual_seed(0)
    rows = torch.randn(2, width(3, tridiagonal)).double()
    rows = rows / spectral_norm(rows, 3, tridiagonal)[:, None] * factor
    cap = Cap([1.0, 1.0], 3, tridiagonal)
    assert torch.autograd.gradcheck(cap, (rows.requires_grad_(),))
    if factor:  # the second derivative goes through the norm, which has a kink at zero
        assert torch.autograd.gradgradcheck(cap, (rows,))


def test_exactly_on_its_bound_a_cap_returns_an_element_of_the_clarke_jacobian():
    rows = unsym(torch.diag(double(1.0, 0.5, -0.25)))[None]
    bound = 1.0
    cap = Cap([bound / (1 - 24 * torch.finfo(torch.float64).eps) / (1 - torch.finfo(torch.float64).eps)], 3)
    inside, outside = (torch.autograd.functional.jacobian(cap, rows * scale) for scale in (1 - 1e-9, 1 + 1e-9))
    found = torch.autograd.functional.jacobian(cap, rows)
    difference = (outside - inside).flatten()
    share = (found - inside).flatten() @ difference / (difference @ difference)
    assert -1e-6 <= share <= 1 + 1e-6  # a convex combination of the derivatives on both sides
    torch.testing.assert_close(found, inside + share * (outside - inside), atol=1e-7, rtol=1e-7)


def clarke(slope, packed, index):
    """Whether a matrix is v vᵀ averaged over unit vectors of the eigenspace of λ_k: the Clarke subdifferential."""
    full, matrix = sym(slope, 3), sym(packed, 3)
    values = torch.linalg.eigvalsh(matrix)
    assert abs(torch.trace(full) - 1) < 1e-10
    assert torch.linalg.eigvalsh(full).min() > -1e-10
    torch.testing.assert_close(matrix @ full, values[index] * full, atol=1e-10, rtol=1e-10)


TIES = [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (0.0, 1.0, 1.0), (-1.0, -1.0, 1.0), (-1.0, 0.0, 1.0)]


@pytest.mark.parametrize("spectrum", TIES)
@pytest.mark.parametrize("index", [0, 1, 2])
def test_the_gradient_of_an_eigenvalue_is_a_clarke_subgradient_at_every_tie(spectrum, index):
    torch.manual_seed(1)
    basis = torch.linalg.qr(torch.randn(3, 3).double()).Q
    for q in (torch.eye(3).double(), basis):
        packed = unsym(q * double(*spectrum) @ q.mT).requires_grad_()
        (slope,) = torch.autograd.grad(eigenvalue(packed, 3, index), packed, create_graph=True)
        clarke(slope.detach(), packed.detach(), index)
        assert torch.autograd.grad(slope.square().sum(), packed)[0].isfinite().all()


@pytest.mark.parametrize("spectrum", TIES)
def test_norms_and_sums_return_subgradients_of_convex_functions_at_every_tie(spectrum):
    torch.manual_seed(1)
    basis = torch.linalg.qr(torch.randn(3, 3).double()).Q
    packed = unsym(basis * double(*spectrum) @ basis.mT).requires_grad_()
    weight = double(0.0, 0.3, 0.7)
    for function in (
        lambda a: spectral_norm(a, 3),
        lambda a: ky_fan_sum(a, 3, 2),
        lambda a: eigenvalue_sum(a, 3, weight),
        lambda a: eigenvalue(a, 3, 2),
    ):
        value = function(packed)
        (slope,) = torch.autograd.grad(value, packed)
        others = packed.detach() + torch.randn(500, 6).double() * 10 ** torch.empty(500, 1).uniform_(-6, 1)
        assert (function(others) >= value + (others - packed) @ slope - 1e-10).all()


def test_sums_of_all_equal_eigenvalues_have_a_derivative_where_they_meet():
    packed = unsym(torch.diag(double(0.0, 1.0, 1.0))).requires_grad_()
    assert torch.autograd.gradcheck(lambda a: ky_fan_sum(a, 3, 2), (packed,))
    assert torch.autograd.gradcheck(lambda a: ky_fan_sum(a, 3, 3), (packed,))


@pytest.mark.parametrize("index", [0, 1])
def test_a_hermitian_zero_matrix_has_a_finite_subgradient_of_trace_one(index):
    coords = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(hermitian_eigenvalue(coords, 2, index), coords)
    assert slope.isfinite().all()
    assert abs(slope[0] + slope[2] - 1) < 1e-10  # the trace of u uᴴ


def zeroed(module):
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
    return module


EVERY = {
    **{f"neuron, {name}": lambda k=k: SpectralNeuron(3, 5, dtype=torch.float64, **k) for name, k in KINDS.items()},
    **{f"layer, {name}": lambda k=k: SpectralLayer(3, 2, 5, dtype=torch.float64, **k) for name, k in KINDS.items()},
    **{
        f"{name}, {kind}": lambda make=make, k=k: make(dtype=torch.float64, **k)
        for name, make in MODULES.items()
        for kind, k in {
            "free": {},
            "monotone": {"monotonic_cst": [1, 0, -1]},
            "both": {"monotonic_cst": [1, 0, -1], "max_influence": 0.3},
        }.items()
    },
}


@pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)
def test_gradients_at_zero_parameters_are_finite_for_modules_of_every_kind(make):
    module = zeroed(make())
    x = double(0.0, 0.0, 0.0).expand(2, 3).clone().requires_grad_()
    module(x).sum().backward()
    for gradient in (x.grad, *(parameter.grad for parameter in module.parameters())):
        assert gradient.isfinite().all()
    if module.max_influence is None:
        assert module.constant.grad.any()  # A_0 can always leave zero


@pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)
def test_at_inputs_of_zero_the_derivatives_are_those_of_finite_differences(make):
    module = make()
    names = [name for name, _ in module.named_parameters()]

    def function(x, *values):
        return torch.func.functional_call(module, dict(zip(names, values, strict=True)), (x,))

    inputs = (torch.zeros(2, 3).double().requires_grad_(), *module.parameters())
    assert torch.autograd.gradcheck(function, inputs, fast_mode=True)


def test_a_sparse_neuron_has_its_derivative_where_a_value_is_zero():
    neuron = SparseSpectralNeuron(5, 3, active=2, sparse=False, dtype=torch.float64)
    ids, values = torch.tensor([[0, 3], [1, 1]]), torch.zeros(2, 2).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda v: neuron(ids, v), (values,))


def test_a_monotone_hermitian_neuron_has_its_derivatives_at_the_tip_of_the_cone():
    neuron = HermitianSpectralNeuron(1, 3, monotonic_cst=1, dtype=torch.float64)
    bound = torch.zeros_like(neuron.parametrizations.weight.original1).requires_grad_()
    x = torch.ones(1, 1).double()

    def function(theta):
        return torch.func.functional_call(neuron, {"parametrizations.weight.original1": theta}, (x,))

    assert torch.autograd.gradcheck(function, (bound,))
