"""Neurons and layers: what they compute, what holds whatever their parameters are, and PyTorch's manners."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
from torch.autograd import forward_ad

import torch
from lambdak.torch import (
    Definite,
    SparseSpectralNeuron,
    SpectralLayer,
    SpectralNeuron,
    eigenvalue,
    spectral_norm,
    sym,
    unsym,
)
from lambdak.torch.packing import width
from torch import nn

KINDS = {
    "free": {},
    "monotone": {"monotonic_cst": [1, 0, -1]},
    "all rise": {"monotonic_cst": 1},
    "factor": {"monotonic_cst": [1, 0, -1], "constraint": "factor"},
    "root": {"monotonic_cst": [1, 0, -1], "constraint": "root"},
    "squareplus": {"monotonic_cst": [1, 0, -1], "constraint": "squareplus"},
    "diagonal": {"monotonic_cst": [1, 0, -1], "constraint": "diagonal"},
    "tridiagonal": {"structure": "tridiagonal"},
    "monotone tridiagonal": {"structure": "tridiagonal", "monotonic_cst": [1, 0, -1]},
    "capped": {"max_influence": 0.3},
    "capped and monotone": {"max_influence": [0.3, 0.2, 0.1], "monotonic_cst": [1, 0, -1]},
    "convex": {"eig_idx": 4},
}


@pytest.fixture(params=KINDS)
def kind(request):
    torch.manual_seed(0)
    return KINDS[request.param]


def scrambled(module):
    """The same module with random parameters, far from the start."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return module


def test_a_neuron_is_an_eigenvalue_of_its_matrices(kind):
    neuron, x = scrambled(SpectralNeuron(3, 5, dtype=torch.float64, **kind)), torch.randn(2, 6, 3).double()
    matrices = neuron.matrices
    matrix = matrices[0] + torch.einsum("...i,ijk->...jk", x, matrices[1:])
    torch.testing.assert_close(neuron(x), torch.linalg.eigvalsh(matrix)[..., neuron.eig_idx])
    value, vector = neuron.eigenpair(x)
    torch.testing.assert_close(value, neuron(x))
    torch.testing.assert_close((matrix @ vector[..., None]).squeeze(-1), value[..., None] * vector)


def test_a_layer_is_its_neurons_side_by_side(kind):
    layer, x = scrambled(SpectralLayer(3, 4, 5, dtype=torch.float64, **kind)), torch.randn(6, 3).double()
    assert layer(x).shape == (6, 4)
    for j in range(4):
        matrices = layer.matrices[:, j]
        matrix = matrices[0] + torch.einsum("bi,ijk->bjk", x, matrices[1:])
        torch.testing.assert_close(layer(x)[:, j], torch.linalg.eigvalsh(matrix)[:, layer.eig_idx])


@pytest.mark.parametrize("make", [lambda **k: SpectralNeuron(3, 5, **k), lambda **k: SpectralLayer(3, 4, 5, **k)])
def test_monotone_inputs_stay_monotone_whatever_the_parameters_are(make, kind):
    module = scrambled(make(dtype=torch.float64, **kind))
    x, steps = torch.randn(500, 3).double(), torch.rand(500, 3).double() * 3
    for i, sign in enumerate(module.monotonic_cst):
        moved = x.clone()
        moved[:, i] += steps[:, i]
        if sign:
            assert (sign * (module(moved) - module(x)) >= -1e-12).all()


def test_no_change_of_an_input_exceeds_its_norm_nor_its_cap(kind):
    neuron = scrambled(SpectralNeuron(3, 5, dtype=torch.float64, **kind))
    x, steps = torch.randn(500, 3).double(), torch.randn(500, 3).double()
    for i, norm in enumerate(neuron.norms.detach()):
        moved = x.clone()
        moved[:, i] += steps[:, i]
        assert ((neuron(moved) - neuron(x)).abs() <= norm * steps[:, i].abs() + 1e-12).all()
        if neuron.max_influence is not None:
            assert norm <= neuron.max_influence[i]


def test_caps_bind_in_float32_too_and_leave_small_matrices_alone():
    torch.manual_seed(0)
    neuron = scrambled(SpectralNeuron(50, 7, max_influence=0.5))
    with torch.no_grad():
        neuron.parametrizations.weight.original[0] *= 1e-3
    full = torch.linalg.matrix_norm(sym(neuron.weight.detach().double(), 7), 2)
    assert full.max() <= 0.5
    assert full.max() > 0.4999
    torch.testing.assert_close(neuron.weight[0], neuron.parametrizations.weight.original[0])


def test_extreme_eigenvalues_are_convex_and_concave():
    torch.manual_seed(0)
    x, y = torch.randn(2, 500, 3).double()
    for index, sign in ((4, 1), (0, -1)):
        neuron = scrambled(SpectralNeuron(3, 5, index, dtype=torch.float64))
        assert (sign * ((neuron(x) + neuron(y)) / 2 - neuron((x + y) / 2)) >= -1e-12).all()


def test_the_start_has_the_papers_gap(kind):
    neuron = SpectralNeuron(3, 5, dtype=torch.float64, **(kind | {"max_influence": None}))
    x = torch.empty(200, 3).uniform_(-5, 5).double()
    matrices = neuron.matrices
    values = torch.linalg.eigvalsh(matrices[0] + torch.einsum("bi,ijk->bjk", x, matrices[1:]))
    gap = (values - values[:, [neuron.eig_idx]]).abs()
    gap[:, neuron.eig_idx] = torch.inf
    floor = 0.24 if neuron.structure == "tridiagonal" else 0.49  # ½ before x moves it, and 1
    assert gap.min() > floor - 0.02


def test_the_start_depends_on_pytorchs_seed_alone(kind):
    torch.manual_seed(3)
    first = SpectralNeuron(3, 5, **kind)
    np.random.default_rng(0).random()
    torch.manual_seed(3)
    second = SpectralNeuron(3, 5, **kind)
    assert torch.equal(first.matrices, second.matrices)
    second.reset_parameters()
    assert not torch.equal(first.matrices, second.matrices)


def test_state_dicts_copies_and_casts_keep_the_function(kind):
    neuron, x = scrambled(SpectralNeuron(3, 5, **kind)), torch.randn(6, 3)
    other = SpectralNeuron(3, 5, **kind)
    other.load_state_dict(neuron.state_dict())
    assert torch.equal(other(x), neuron(x))
    assert torch.equal(copy.deepcopy(neuron)(x), neuron(x))
    torch.testing.assert_close(copy.deepcopy(neuron).double()(x.double()).float(), neuron(x), rtol=1e-4, atol=1e-4)


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


def test_gradients_reach_every_parameter(kind):
    neuron = SpectralNeuron(3, 5, dtype=torch.float64, **kind)
    neuron(torch.randn(40, 3).double()).square().sum().backward()
    for name, parameter in neuron.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


def test_a_monotone_neuron_learns_a_monotone_function():
    torch.manual_seed(0)
    x = torch.rand(512, 2) * 2 - 1
    y = torch.tanh(3 * x[:, 0]) + x[:, 1] ** 2
    neuron = SpectralNeuron(2, 7, monotonic_cst=[1, 0])
    optimizer = torch.optim.Adam(neuron.parameters(), lr=0.02)
    for _ in range(300):
        optimizer.zero_grad()
        loss = (neuron(x) - y).square().mean()
        loss.backward()
        optimizer.step()
    assert loss < 0.02 * y.var()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # those of the compiler itself
def test_a_network_of_two_layers_compiles_and_exports_whole():
    torch.manual_seed(0)
    network = nn.Sequential(SpectralLayer(3, 4, 5, monotonic_cst=[1, 0, 0]), SpectralLayer(4, 1, 5))
    x = torch.randn(8, 3)
    compiled = torch.compile(network, fullgraph=True)
    torch.testing.assert_close(compiled(x), network(x))
    compiled(x).sum().backward()
    ours = [parameter.grad.clone() for parameter in network.parameters()]
    network.zero_grad()
    network(x).sum().backward()
    torch.testing.assert_close(ours, [parameter.grad for parameter in network.parameters()])
    torch.testing.assert_close(torch.export.export(network, (x,)).module()(x), network(x))


def test_repr_tells_the_settings():
    text = repr(SpectralLayer(3, 4, 5, monotonic_cst=[1, 0, 0], max_influence=2, structure="tridiagonal"))
    for part in ("in_features=3", "out_features=4", "dim=5", "monotonic_cst=[1, 0, 0]", "max_influence", "tridiagonal"):
        assert part in text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SpectralNeuron(3, 5, eig_idx=5), r"eig_idx must be in \[0, 5\); got 5"),
        (lambda: SpectralNeuron(3, 5, monotonic_cst=[1, 0]), "monotonic_cst must have 3 entries; got 2"),
        (lambda: SpectralNeuron(3, 5, monotonic_cst=[2, 0, 0]), r"monotonic_cst\[0\] must be -1, 0 or 1; got 2"),
        (lambda: SpectralNeuron(3, 5, structure="banded"), "structure must be one of"),
        (lambda: SpectralNeuron(3, 5, monotonic_cst=1, constraint="psd"), "constraint must be one of"),
        (lambda: SpectralNeuron(3, 5, constraint="psd"), "constraint must be one of"),
        (
            lambda: SpectralNeuron(3, 5).set_weight_(torch.zeros(2, 15)),
            r"weight must have shape \(3, 15\); got \(2, 15\)",
        ),
        (lambda: Definite("factor", 4)(torch.zeros(3, 12)), "theta must have 10 entries"),
        (lambda: sym(torch.zeros(15), 2), "coords must have 3 entries"),
        (lambda: spectral_norm(torch.zeros(15), 2), "packed must have 3 entries"),
        (lambda: SpectralNeuron(3, 5, max_influence=[1.0]), "max_influence must have 3 entries; got 1"),
        (lambda: SpectralNeuron(3, 5, max_influence=-1.0), r"max_influence\[0\] must be"),
        (
            lambda: SpectralNeuron(3, 5)(torch.zeros(4, 2)),
            r"x must have 3 entries on its last axis; got shape \(4, 2\)",
        ),
        (lambda: SpectralLayer(3, 0, 5), "out_features must be in"),
        (
            lambda: SparseSpectralNeuron(9, 5)(torch.zeros(2, 3).long(), torch.zeros(2)),
            "values must have the shape of ids",
        ),
    ],
)
def test_bad_arguments_are_refused_with_the_value(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_sparse_neuron_is_the_dense_one_on_the_rows_it_activates():
    torch.manual_seed(0)
    sparse, dense = SparseSpectralNeuron(20, 5, active=3), SpectralNeuron(20, 5)
    with torch.no_grad():
        dense.constant.copy_(sparse.constant)
        dense.weight.copy_(sparse.weight)
    ids = torch.stack([torch.randperm(20)[:3] for _ in range(8)])
    values = torch.randn(8, 3)
    x = torch.zeros(8, 20).scatter(1, ids, values)
    torch.testing.assert_close(sparse(ids, values), dense(x))
    torch.testing.assert_close(sparse(ids), dense(torch.zeros(8, 20).scatter(1, ids, 1.0)))
    sparse(ids, values).sum().backward()
    dense(x).sum().backward()
    assert sparse.weight.grad.is_sparse
    torch.testing.assert_close(sparse.weight.grad.to_dense(), dense.weight.grad)


def test_sparse_adam_touches_active_rows_only():
    torch.manual_seed(0)
    neuron = SparseSpectralNeuron(1000, 3, active=2)
    before = neuron.weight.detach().clone()
    optimizer = torch.optim.SparseAdam([neuron.weight], lr=0.1)
    neuron(torch.tensor([[3, 5], [5, 999]])).sum().backward()
    optimizer.step()
    assert (before != neuron.weight).any(1).nonzero().flatten().tolist() == [3, 5, 999]


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


def test_traced_modules_compute_what_they_should():
    torch.manual_seed(0)
    neuron, x = SpectralNeuron(3, 5), torch.randn(4, 3)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tracer is deprecated, but it must not return garbage
        traced = torch.jit.trace(neuron, x)
        torch.testing.assert_close(traced(2 * x), neuron(2 * x))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of dual numbers themselves
def test_forward_mode_is_refused_rather_than_ignored():
    packed = torch.randn(4, 15)
    with forward_ad.dual_level(), torch.no_grad(), pytest.raises(NotImplementedError):
        eigenvalue(forward_ad.make_dual(packed, torch.ones_like(packed)), 5, 2)


def test_vectorised_jacobians_agree_with_plain_ones():
    packed = torch.randn(2, 10, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian
    plain, fast = (jacobian(lambda a: eigenvalue(a, 4, 1), packed, vectorize=flag) for flag in (False, True))
    torch.testing.assert_close(plain, fast)


@pytest.mark.parametrize("constraint", ["factor", "root", "squareplus"])
def test_per_sample_gradients_of_constrained_neurons_agree_with_a_loop(constraint):
    torch.manual_seed(0)
    neuron = SpectralNeuron(2, 4, monotonic_cst=[1, 0], constraint=constraint, dtype=torch.float64)
    x, values = torch.randn(5, 2).double(), dict(neuron.named_parameters())

    def loss(parameters, row):
        return torch.func.functional_call(neuron, parameters, (row,))

    found = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(values, x)
    for i, row in enumerate(x):
        for name, grad in zip(values, torch.autograd.grad(neuron(row), list(values.values())), strict=True):
            torch.testing.assert_close(found[name][i], grad)


@pytest.mark.parametrize("settings", [{}, {"monotonic_cst": [1, 0, 0]}, {"max_influence": 1.0}])
def test_modules_can_be_made_on_the_meta_device_and_filled_later(settings):
    torch.manual_seed(0)
    real, x = SpectralNeuron(3, 5, **settings), torch.randn(4, 3)
    with torch.device("meta"):
        empty = SpectralNeuron(3, 5, **settings)
    for made in (empty, SpectralNeuron(3, 5, device="meta", **settings)):
        filled = made.to_empty(device="cpu")
        filled.load_state_dict(real.state_dict())
        torch.testing.assert_close(filled(x), real(x))


def test_neurons_without_inputs_and_empty_batches_have_their_shapes():
    assert SpectralNeuron(0, 3)(torch.zeros(4, 0)).shape == (4,)
    assert SpectralLayer(2, 3, 3)(torch.zeros(0, 2)).shape == (0, 3)
    assert SparseSpectralNeuron(9, 3)(torch.zeros(0, 2).long()).shape == (0,)


def test_every_chunk_of_a_large_table_starts_at_the_same_scale():
    torch.manual_seed(0)
    neuron = SparseSpectralNeuron(65_537, 2, active=100)
    assert neuron.norms[-1] <= neuron.norms[:-1].max()


def test_numbers_of_numpy_are_numbers():
    assert SpectralNeuron(2, 3, monotonic_cst=np.int64(1)).monotonic_cst == (1, 1)
    assert SpectralNeuron(2, 3, max_influence=np.float64(0.5)).max_influence == (0.5, 0.5)
