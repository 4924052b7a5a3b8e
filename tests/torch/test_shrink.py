"""The spectral-norm penalty, and proximal steps that make inputs exactly zero."""

from __future__ import annotations

from copy import deepcopy

import pytest
from research_cases import MODULES
from torch_cases import layer

import torch
from lambdak.torch import (
    OrderedSpectralLayer,
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
     ({"structure": "tridiagonal"}, "structure must be 'dense'")],
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
    "SGD": lambda p: torch.optim.SGD(p, lr=0.05),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize("settings", [{}, {"monotonic_cst": 1, "constraint": "root"}])
def test_proximal_steps_end_at_the_minimum_of_loss_plus_penalty(name, settings):
    torch.manual_seed(0)
    neuron = SpectralNeuron(1, 1, dtype=torch.float64, **settings)  # f = a + b x
    x = torch.tensor([[-1.0], [1.0]]).double()
    optimizer = OPTIMISERS[name](neuron.parameters())
    add_proximal_step(optimizer, neuron, alpha=0.5)
    for _ in range(1500):
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


def test_optimisers_whose_steps_are_not_known_and_constraints_of_another_scale_are_refused():
    neuron = SpectralNeuron(2, 3)
    with pytest.raises(TypeError, match="got Adagrad"):
        add_proximal_step(torch.optim.Adagrad(neuron.parameters()), neuron, 0.1)
    bent = SpectralNeuron(2, 3, monotonic_cst=1)
    with pytest.raises(ValueError, match=r"one of \('root',\) .* got 'factor'"):
        add_proximal_step(torch.optim.SGD(bent.parameters(), lr=0.1), bent, 0.1)


def test_the_penalty_counts_modules_of_every_kind():
    network = nn.ModuleList([layer(2, 3, 0), *(make(dtype=torch.float64) for make in MODULES.values())])
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
    network = nn.Sequential(ordered, SpectralMixture(2, 4))
    with pytest.raises(TypeError, match=r"got SpectralMixture: .* add spectral_penalty to the loss"):
        add_proximal_step(torch.optim.SGD(network.parameters(), lr=0.1), network, 0.1)
