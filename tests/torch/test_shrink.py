"""The spectral-norm penalty, and proximal steps that make inputs exactly zero.

Tests ``proximal``.
"""

from __future__ import annotations

from copy import deepcopy

import pytest
from research_cases import MODULES
from torch_cases import layer, scrambled

import torch
from lambdak.torch import (
    GeneralizedSpectralNeuron,
    HermitianSpectralNeuron,
    HyperSpectralNeuron,
    OrderedSpectralLayer,
    SparseSpectralNeuron,
    SpectralLayer,
    SpectralMixture,
    SpectralNeuron,
    add_proximal_step,
    shrink_,
    spectral_penalty,
)
from torch import nn


def test_the_penalty_is_the_sum_of_norms_and_can_be_differentiated():
    network = nn.Sequential(layer(3, 4, 0), layer(4, 1, 1))
    expected = sum(torch.linalg.matrix_norm(part.matrices[1:], 2).sum() for part in network)
    torch.testing.assert_close(spectral_penalty(network), expected)
    spectral_penalty(network).backward()
    assert network[0].weight.grad.abs().sum() > 0
    with pytest.raises(ValueError, match="network must hold"):
        spectral_penalty(nn.Linear(2, 2))


@pytest.mark.parametrize("settings", [{}, {"monotonic_cst": [1, -1, 0], "constraint": "factor"}])
def test_the_proximal_step_minimises_what_it_should(settings):
    torch.manual_seed(0)
    neuron = SpectralNeuron(3, 4, dtype=torch.float64, **settings)
    before = neuron.matrices.detach()[1:].clone()
    shrink_(neuron, 0.2)
    after = neuron.matrices.detach()[1:]

    def objective(matrices):
        return (matrices - before).square().sum((1, 2)) / 2 + 0.2 * torch.linalg.matrix_norm(matrices, 2)

    best = objective(after)
    assert (best < objective(before)).all()
    for _ in range(200):
        noise = torch.randn_like(before) * 10 ** torch.empty(3, 1, 1).uniform_(-4, -1)
        assert (objective(after + (noise + noise.mT) / 2) >= best - 1e-9).all()


@pytest.mark.slow
def test_a_large_threshold_gives_exact_zeros_and_training_finds_the_inputs_that_matter():
    neuron = SpectralNeuron(3, 4)
    shrink_(neuron, 100.0)
    assert (neuron.weight == 0).all()
    torch.manual_seed(0)
    x = torch.randn(256, 4)
    neuron = SpectralNeuron(4, 3)
    optimizer = torch.optim.Adam(neuron.parameters(), lr=0.02)
    handle = add_proximal_step(optimizer, neuron, alpha=0.2)
    for step in range(250):
        if step == 200:
            handle.remove()
        optimizer.zero_grad()
        (neuron(x) - x[:, 1] * 2).square().mean().backward()
        optimizer.step()
        if step == 199:
            assert (neuron.norms == 0).tolist() == [True, False, True, True]
    assert (neuron.norms > 0).all()  # after the handle was removed, nothing shrinks any more


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"monotonic_cst": 1, "constraint": "squareplus"}, "constraint must be one of"),
     ({"monotonic_cst": 1, "constraint": "diagonal", "structure": "tridiagonal"}, "constraint must be one of")],
)  # fmt: skip
def test_modules_that_cannot_become_zero_are_refused(settings, message):
    neuron = SpectralNeuron(3, 4, **settings)
    with pytest.raises(ValueError, match=message):
        shrink_(neuron, 0.1)
    with pytest.raises(ValueError, match=message):
        add_proximal_step(torch.optim.SGD(neuron.parameters(), lr=0.1), neuron, 0.1)


def test_an_optimiser_of_something_else_is_refused():
    with pytest.raises(ValueError, match="optimizer must have parameters of the network"):
        add_proximal_step(torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1), SpectralNeuron(3, 4), 0.1)


OPTIMISERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.2),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.04, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.03),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize("settings", [{}, {"monotonic_cst": 1, "constraint": "root"}, {"monotonic_cst": 1}])
def test_proximal_steps_end_at_the_minimum_of_loss_plus_penalty(name, settings):
    torch.manual_seed(0)
    neuron = SpectralNeuron(1, 1, dtype=torch.float64, **settings)  # f = a + b x
    x = torch.tensor([[-1.0], [1.0]]).double()
    optimizer = OPTIMISERS[name](neuron.parameters())
    add_proximal_step(optimizer, neuron, alpha=0.5)
    for _ in range(250):
        optimizer.zero_grad()
        ((neuron(x) - 2 * x[:, 0]).square().mean() / 2).backward()  # ½ (b − 2)² + ½ a²: the minimum is at b = 1.5
        optimizer.step()
    assert abs(neuron.weight.item() - 1.5) < 0.01


def test_proximal_steps_follow_the_rate_that_a_loaded_state_has_and_spare_what_did_not_move():
    neuron, idle = SpectralNeuron(2, 3), SpectralNeuron(2, 3)
    optimizer = torch.optim.SGD([*neuron.parameters(), *idle.parameters()], lr=0.1)
    add_proximal_step(optimizer, nn.ModuleList([neuron, idle]), alpha=0.1)
    optimizer.load_state_dict(optimizer.state_dict())
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    before = [module.norms.detach().clone() for module in (neuron, idle)]
    neuron(torch.randn(5, 2)).sum().backward()
    optimizer.step()
    torch.testing.assert_close([module.norms.detach() for module in (neuron, idle)], before)
    for group in optimizer.param_groups:
        group["lr"] = 0.1
    plain = deepcopy(neuron)
    for copied, own in zip(plain.parameters(), neuron.parameters(), strict=True):
        copied.grad = own.grad.clone()
    torch.optim.SGD(plain.parameters(), lr=0.1).step()
    optimizer.step()
    assert (neuron.norms < plain.norms).all()
    torch.testing.assert_close(idle.norms.detach(), before[1])


def test_matrices_that_are_not_finite_do_not_stop_a_proximal_step():
    neuron = SpectralNeuron(2, 3)
    with torch.no_grad():
        neuron.weight[0] = torch.nan
    shrink_(neuron, 100.0)
    assert neuron.weight[0].isnan().all()
    assert (neuron.weight[1] == 0).all()


@pytest.mark.parametrize("threshold", [-1.0, torch.ones(3)])
def test_a_threshold_that_makes_no_sense_is_refused(threshold):
    with pytest.raises(ValueError, match="threshold must be"):
        shrink_(SpectralNeuron(2, 3), threshold)


def test_optimisers_whose_steps_are_not_known_are_refused():
    neuron = SpectralNeuron(2, 3)
    with pytest.raises(TypeError, match="got Adagrad"):
        add_proximal_step(torch.optim.Adagrad(neuron.parameters()), neuron, 0.1)


def test_the_penalty_counts_modules_of_every_kind():
    sparse = SparseSpectralNeuron(9, 3, dtype=torch.float64)
    network = nn.ModuleList([layer(2, 3, 0), sparse, *(make(dtype=torch.float64) for make in MODULES.values())])
    torch.testing.assert_close(spectral_penalty(network), sum(module.norms.sum() for module in network))


def test_ordered_layers_are_shrunk_and_what_has_another_bound_is_refused():
    x = torch.randn(256, 3)
    ordered = OrderedSpectralLayer(3, 2, 4)
    optimizer = torch.optim.SGD(ordered.parameters(), lr=0.1)
    add_proximal_step(optimizer, ordered, 0.1)
    for _ in range(200):
        optimizer.zero_grad()
        (ordered(x) - x[:, :1]).square().mean().backward()
        optimizer.step()
    assert (ordered.norms == 0).tolist() == [False, True, True]
    network = nn.Sequential(ordered, GeneralizedSpectralNeuron(2, 4))
    with pytest.raises(TypeError, match=r"GeneralizedSpectralNeuron, whose influences .* add spectral_penalty"):
        add_proximal_step(torch.optim.SGD(network.parameters(), lr=0.1), network, 0.1)


def hyper():
    return HyperSpectralNeuron(nn.Linear(2, 5), 3, 4, encoder_features=5, dtype=torch.float64).double()


def test_the_penalty_of_predicted_matrices_is_the_mean_over_contexts():
    model, context = hyper(), torch.randn(6, 2).double()
    norms = torch.linalg.matrix_norm(model.at(context).matrices[:, 1:], 2)
    torch.testing.assert_close(spectral_penalty(model.at(context)), norms.sum(1).mean())
    with pytest.raises(TypeError, match=r"add spectral_penalty\(hyper\.at\(context\)\)"):
        spectral_penalty(nn.ModuleList([SpectralNeuron(2, 3), model]))
    with pytest.raises(TypeError, match=r"got HyperSpectralNeuron: .* or add spectral_penalty"):
        shrink_(model, 0.1)
    both = nn.ModuleList([SpectralNeuron(2, 3), model])
    with pytest.raises(TypeError, match="got HyperSpectralNeuron"):
        add_proximal_step(torch.optim.SGD(both.parameters(), lr=0.1), both, 0.1)
    add_proximal_step(torch.optim.SGD(both[0].parameters(), lr=0.1), both, 0.1)  # which does not train the other


KINDS = {
    "tridiagonal": lambda: SpectralNeuron(3, 5, structure="tridiagonal", dtype=torch.float64),
    "monotone tridiagonal": lambda: SpectralNeuron(
        3, 5, monotonic_cst=[1, -1, 0], structure="tridiagonal", dtype=torch.float64
    ),
    "Hermitian": lambda: HermitianSpectralNeuron(3, 4, dtype=torch.float64),
    "monotone Hermitian": lambda: HermitianSpectralNeuron(3, 4, monotonic_cst=[1, -1, 0], dtype=torch.float64),
    "mixture": lambda: SpectralMixture(3, 4, dtype=torch.float64),
    "ordered": lambda: OrderedSpectralLayer(3, 2, 4, monotonic_cst=[1, -1, 0], dtype=torch.float64),
}


@pytest.mark.parametrize("threshold", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("name", KINDS)
def test_no_matrix_of_the_same_structure_and_sign_is_better_than_the_proximal_step(name, threshold):
    module = scrambled(KINDS[name]())
    before = module.matrices.detach()[1:].clone()
    shrink_(module, threshold)
    after, weight = module.matrices.detach()[1:], module.weight.detach().clone()

    def objective(matrices):
        return (matrices - before).abs().square().sum((1, 2)) / 2 + threshold * torch.linalg.matrix_norm(matrices, 2)

    best = objective(after)
    for scale in (1.0, 1e-1, 1e-2, 1e-3, 1e-4):
        for _ in range(20):
            module.set_weight_(weight + scale * torch.randn_like(weight))  # the nearest of its structure and sign
            assert (objective(module.matrices.detach()[1:]) >= best - 1e-6).all()


@pytest.mark.parametrize("name", KINDS)
def test_a_large_threshold_makes_matrices_of_every_kind_exactly_zero(name):
    module = scrambled(KINDS[name]())
    shrink_(module, 1000.0)
    assert (module.weight == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("make", [
    lambda: SpectralNeuron(4, 3, monotonic_cst=1),
    lambda: SpectralLayer(4, 2, 3, monotonic_cst=[1, 1, 0, 0]),
    lambda: SpectralNeuron(4, 3, monotonic_cst=1, structure="tridiagonal"),
    lambda: HermitianSpectralNeuron(4, 2, monotonic_cst=1),
    lambda: SpectralMixture(4, 3, monotonic_cst=1),
    lambda: SpectralNeuron(4, 3, structure="tridiagonal"),
], ids=["neuron", "layer", "tridiagonal", "Hermitian", "mixture", "free tridiagonal"])  # fmt: skip
def test_lasso_and_monotone_inputs_combine_by_default(make, optimiser):
    x, module = torch.randn(128, 4), make()
    optimizer = OPTIMISERS[optimiser](module.parameters())
    add_proximal_step(optimizer, module, alpha=0.2)
    for _ in range(600):
        optimizer.zero_grad()
        (module(x) - (2 * x[:, 1]).reshape(-1, *[1] * (module.constant.ndim - 1))).square().mean().backward()
        optimizer.step()
    norms = module.norms.detach().reshape(4, -1).sum(1)
    assert (norms == 0).tolist() == [True, False, True, True]


def test_a_small_matrix_that_the_loss_wants_does_not_vanish():
    neuron = SpectralNeuron(1, 1, monotonic_cst=1, dtype=torch.float64)  # f = a + b x with b = θ²
    x = torch.tensor([[-1.0], [1.0]]).double()
    optimizer = torch.optim.SGD(neuron.parameters(), lr=0.05)
    add_proximal_step(optimizer, neuron, alpha=0.5)
    with torch.no_grad():
        neuron.weight = torch.full_like(neuron.weight, 0.02)  # less than alpha times the rate
    for _ in range(3000):
        optimizer.zero_grad()
        ((neuron(x) - 0.504 * x[:, 0]).square().mean() / 2).backward()  # with the penalty the minimum is at b = 0.004
        optimizer.step()
    assert 0.003 < neuron.weight.item() < 0.0045


@pytest.mark.parametrize("sparse", [True, False])
def test_ids_without_effect_vanish_and_rows_that_were_not_seen_are_spared(sparse):
    neuron = SparseSpectralNeuron(6, 3, active=2, sparse=sparse)
    before = neuron.weight.detach().clone()
    optimizer = torch.optim.SGD(neuron.parameters(), lr=0.1)
    add_proximal_step(optimizer, neuron, alpha=0.3)
    ids = torch.tensor([[0, 1], [2, 3], [0, 3], [2, 1]])
    for _ in range(200):
        optimizer.zero_grad()
        (neuron(ids) - torch.tensor([2.0, 0.0, 2.0, 0.0])).square().mean().backward()
        optimizer.step()
    zeros = (neuron.norms == 0).tolist()
    assert not zeros[0]
    assert zeros[1]
    assert zeros[3]
    assert torch.equal(neuron.weight[4:], before[4:]) == sparse  # a dense gradient of zero is a step, too
    assert zeros[4:] == [not sparse] * 2


def test_sparse_adam_is_followed_as_well():
    neuron = SparseSpectralNeuron(6, 3, active=1)
    optimizer = torch.optim.SparseAdam([neuron.weight], lr=0.05)
    add_proximal_step(optimizer, neuron, alpha=0.5)
    for _ in range(200):
        optimizer.zero_grad()
        (neuron(torch.tensor([[0], [1]])) - torch.tensor([2.0, 0.0])).square().mean().backward()
        optimizer.step()
    assert (neuron.norms == 0)[:2].tolist() == [False, True]
