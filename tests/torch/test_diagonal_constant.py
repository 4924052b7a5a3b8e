"""A diagonal A_0 loses no function: a change of basis makes any A_0 diagonal and changes no eigenvalue."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from torch_cases import scrambled

import torch
from lambdak import Pencil
from lambdak.torch import HyperSpectralNeuron, SpectralLayer, SpectralNeuron, from_pencil, guarantees, to_pencil
from torch import nn


def off_diagonal(matrices):
    return (matrices - torch.diag_embed(matrices.diagonal(dim1=-2, dim2=-1))).abs().max()


def trained(module, x, y, steps=60, rate=0.03):
    optimizer = torch.optim.Adam(module.parameters(), lr=rate)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (module(x) - y).square().mean()
        loss.backward()
        optimizer.step()
    return loss.item()


@pytest.mark.parametrize("index", [0, 2, 4])
def test_every_pencil_is_a_neuron_with_a_diagonal_constant(index):
    rng = np.random.default_rng(index)
    pencil = Pencil(rng.standard_normal((4, 15)), index)
    neuron, x = from_pencil(pencil, diagonal_constant=True), torch.randn(200, 3).double()
    assert neuron.diagonal_constant
    assert off_diagonal(neuron.matrices[0]) == 0
    np.testing.assert_allclose(neuron(x).detach(), pencil(x.numpy()), atol=1e-12)
    np.testing.assert_allclose(neuron.norms.detach(), pencil.norms, atol=1e-12)


def test_a_monotone_pencil_keeps_its_sign_in_the_other_basis():
    rng = np.random.default_rng(0)
    full = rng.standard_normal((3, 4, 4))
    pencil = Pencil.from_matrices([full[0] + full[0].T, full[1] @ full[1].T, full[2] + full[2].T])
    neuron, x = from_pencil(pencil, [1, 0], diagonal_constant=True), torch.randn(100, 2).double()
    np.testing.assert_allclose(neuron(x).detach(), pencil(x.numpy()), atol=1e-10)
    assert to_pencil(neuron).is_monotone(0) == 1


@pytest.mark.parametrize("make", [
    lambda **k: SpectralNeuron(3, 5, **k), lambda **k: SpectralLayer(3, 4, 5, **k),
])  # fmt: skip
def test_the_constant_has_d_parameters_and_stays_diagonal_in_training(make):
    free, module = make(), make(diagonal_constant=True)
    outputs = free.constant[..., 0].numel()
    assert sum(p.numel() for p in free.parameters()) - sum(p.numel() for p in module.parameters()) == 10 * outputs
    x = torch.randn(64, 3)
    before = module.constant.detach().clone()
    trained(module, x, torch.tanh(x[:, :1]).squeeze(-1) if outputs == 1 else torch.tanh(x[:, :1]))
    assert off_diagonal(module.matrices[0]) == 0
    assert not torch.equal(module.constant, before)
    assert all(p.is_contiguous() for p in module.parameters())


def test_the_start_is_the_papers_in_another_basis_so_no_feature_matrix_commutes_with_the_constant():
    neuron = SpectralNeuron(3, 5, diagonal_constant=True, dtype=torch.float64)
    first, *others = neuron.matrices.detach()
    torch.testing.assert_close(first.diagonal(), torch.tensor([-1.0, -1.0, 0.0, 1.0, 1.0], dtype=torch.float64))
    for matrix in others:
        assert (first @ matrix - matrix @ first).abs().max() > 1e-4
        spread = torch.linalg.eigvalsh(matrix).diff().abs().sum()
        assert spread <= 2 / (4 * 5 * 3) + 1e-12  # α I plus a jitter of ±1/(4Rn)


def test_it_learns_what_two_diagonal_matrices_cannot():
    x = torch.linspace(-2, 2, 128)[:, None]
    y = (1 + x.squeeze() ** 2).sqrt()  # bent everywhere, and even: two diagonal matrices give a + b |x| at best
    pieces = torch.cat([torch.ones_like(x), x.abs()], 1)
    best = (pieces @ torch.linalg.lstsq(pieces, y[:, None]).solution - y[:, None]).square().mean().item()
    assert trained(SpectralNeuron(1, 2, 1, diagonal_constant=True), x, y, 800, 0.02) < best / 3


@pytest.mark.parametrize("settings", [
    {}, {"monotonic_cst": [1, 0, -1]}, {"max_influence": 0.3}, {"monotonic_cst": 1, "constraint": "squareplus"},
])  # fmt: skip
def test_derivatives_with_respect_to_every_parameter_are_right(settings):
    neuron = scrambled(SpectralNeuron(3, 4, diagonal_constant=True, dtype=torch.float64, **settings))
    x = torch.randn(3, 3, dtype=torch.float64)
    names, values = zip(*((n, p.detach().clone().requires_grad_()) for n, p in neuron.named_parameters()), strict=True)

    def call(*parts):
        return torch.func.functional_call(neuron, dict(zip(names, parts, strict=True)), (x,))

    assert torch.autograd.gradcheck(call, values)


def test_it_is_copied_saved_exported_and_said():
    neuron, x = SpectralNeuron(3, 5, diagonal_constant=True, fan_in=2), torch.randn(6, 3)
    assert "fan_in=2, diagonal_constant=True" in repr(neuron)
    torch.testing.assert_close(pickle.loads(pickle.dumps(neuron))(x), neuron(x))
    other = SpectralNeuron(3, 5, diagonal_constant=True)
    other.load_state_dict(neuron.state_dict())
    torch.testing.assert_close(other(x), neuron(x))
    program = torch.export.export(neuron, (x,))
    torch.testing.assert_close(program.module()(x), neuron(x))
    assert SpectralNeuron(3, 5, diagonal_constant=True, device="meta").constant.shape == (15,)
    torch.testing.assert_close(guarantees(nn.Sequential(neuron)).influence.squeeze(), neuron.norms.squeeze())
    torch.testing.assert_close(torch.as_tensor(to_pencil(neuron)(x.numpy())), neuron(x))


@pytest.mark.parametrize(("settings", "message"), [
    ({"structure": "tridiagonal"}, 'diagonal_constant needs structure="dense"'),
    ({"monotonic_cst": [1, 0, 0], "constraint": "diagonal"}, 'one matrix diagonal, not two: use constraint="factor"'),
])  # fmt: skip
def test_where_no_basis_is_left_to_choose_it_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        SpectralNeuron(3, 5, diagonal_constant=True, **settings)


def test_an_unused_constraint_is_not_in_the_way():
    assert SpectralNeuron(3, 5, constraint="diagonal", diagonal_constant=True).constraint is None


def test_hyper_networks_start_from_the_fan_in_they_are_given():
    encoder = nn.Linear(2, 2)
    wide, narrow = (HyperSpectralNeuron(encoder, 100, 3, encoder_features=2, fan_in=s) for s in (None, 1))
    assert narrow.bias[6:].abs().max() > 5 * wide.bias[6:].abs().max()
