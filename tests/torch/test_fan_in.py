"""Starts for inputs of which few are not zero: the paper's s in place of n."""

from __future__ import annotations

import pytest

import torch
from lambdak.torch import (
    GeneralizedSpectralNeuron,
    HermitianSpectralNeuron,
    OrderedSpectralLayer,
    SparseSpectralNeuron,
    SpectralLayer,
    SpectralMixture,
    SpectralNeuron,
)

INPUTS, ACTIVE = 400, 4
MAKES = [
    lambda **k: SpectralNeuron(INPUTS, 5, **k),
    lambda **k: SpectralNeuron(INPUTS, 5, structure="tridiagonal", **k),
    lambda **k: SpectralNeuron(INPUTS, 5, diagonal_constant=True, **k),
    lambda **k: SpectralLayer(INPUTS, 2, 5, **k),
    lambda **k: OrderedSpectralLayer(INPUTS, 2, 5, **k),
    lambda **k: SpectralMixture(INPUTS, 5, **k),
    lambda **k: HermitianSpectralNeuron(INPUTS, 5, **k),
    lambda **k: GeneralizedSpectralNeuron(INPUTS, 5, **k),
]


@pytest.mark.parametrize("make", MAKES)
def test_feature_matrices_start_within_one_over_the_root_of_the_active_inputs(make):
    few, all_ = make(fan_in=ACTIVE).norms.detach(), make().norms.detach()
    assert 0.4 < few.max() <= 1 / ACTIVE**0.5 + 1 / (20 * ACTIVE) + 1e-6
    assert all_.max() <= 1 / INPUTS**0.5 + 1 / (20 * INPUTS) + 1e-6


def test_the_dense_start_is_as_large_as_that_of_the_sparse_neuron():
    dense = SpectralNeuron(INPUTS, 5, fan_in=ACTIVE).norms.detach()
    sparse = SparseSpectralNeuron(INPUTS, 5, active=ACTIVE).norms.detach()
    assert dense.mean().item() == pytest.approx(sparse.mean().item(), rel=0.15)
    assert dense.max().item() == pytest.approx(sparse.max().item(), rel=0.05)


def test_the_gap_is_a_half_for_every_row_with_so_many_inputs_and_signs_keep_theirs():
    neuron = SpectralNeuron(INPUTS, 5, monotonic_cst=[1, -1, *[0] * (INPUTS - 2)], fan_in=ACTIVE, dtype=torch.float64)
    x = torch.zeros(300, INPUTS, dtype=torch.float64)
    places = torch.rand(300, INPUTS).argsort(1)[:, :ACTIVE]
    x.scatter_(1, places, torch.empty(300, ACTIVE, dtype=torch.float64).uniform_(-5, 5))
    matrices = neuron.matrices
    values = torch.linalg.eigvalsh(matrices[0] + torch.einsum("bi,ijk->bjk", x, matrices[1:]))
    gaps = (values - values[:, [2]]).abs()
    gaps[:, 2] = torch.inf
    free = (places > 1).all(1)  # a monotone input's matrix is kept definite by less jitter, not by the gap
    assert gaps[free].min() >= 0.5
    rising, falling = (torch.linalg.eigvalsh(matrices[1 + i]) for i in (0, 1))
    assert rising.min() >= 1 / (4 * ACTIVE**0.5)
    assert falling.max() <= -1 / (4 * ACTIVE**0.5)


def test_predictions_at_the_start_have_the_same_scale_however_many_inputs_there_are():
    spread = []
    for inputs in (4, 40, 4000):
        x = torch.zeros(500, inputs)
        x.scatter_(1, torch.rand(500, inputs).argsort(1)[:, :ACTIVE], torch.randn(500, ACTIVE))
        spread.append(SpectralNeuron(inputs, 3, fan_in=ACTIVE)(x).std().item())
    assert max(spread) < 3 * min(spread)


@pytest.mark.parametrize("fan_in", [0, 401, 1.5])
def test_a_fan_in_that_cannot_be_is_refused_with_the_value(fan_in):
    with pytest.raises((TypeError, ValueError), match=f"fan_in.*{fan_in}"):
        SpectralNeuron(INPUTS, 3, fan_in=fan_in)
