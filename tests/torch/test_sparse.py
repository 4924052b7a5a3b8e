"""The neuron on ids and values."""

from __future__ import annotations

import pytest

import torch
from lambdak.torch import (
    SparseSpectralNeuron,
    SpectralNeuron,
    sym,
)


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


def test_every_chunk_of_a_large_table_starts_at_the_same_scale():
    torch.manual_seed(0)
    neuron = SparseSpectralNeuron(65_537, 2, active=100)
    assert neuron.norms[-1] <= neuron.norms[:-1].max()


@pytest.mark.parametrize("active", [1, 3])
def test_the_start_has_the_papers_jitter(active):
    neuron = SparseSpectralNeuron(5000, 4, active=active, dtype=torch.float64)
    diagonal = sym(neuron.weight.detach(), 4).diagonal(dim1=-2, dim2=-1)
    spread = (diagonal.amax(1) - diagonal.amin(1)).max()
    largest = 1 / (4 * 5 * active)  # 1/(4Rs) for R = 5
    assert 1.8 * largest < spread <= 2 * largest


def test_states_of_earlier_versions_whose_table_had_another_name_load_alone_and_in_networks():
    neuron, other = SparseSpectralNeuron(9, 3), SparseSpectralNeuron(9, 3)
    old = {"constant": neuron.constant.detach(), "weight": neuron.weight.detach()}
    other.load_state_dict(old)
    assert torch.equal(other.weight, neuron.weight)
    network = torch.nn.Sequential(SparseSpectralNeuron(9, 3))
    network.load_state_dict({f"0.{name}": tensor for name, tensor in old.items()})
    assert torch.equal(network[0].weight, neuron.weight)
    assert list(old) == ["constant", "weight"]


def test_the_form_of_gradients_can_be_changed_afterwards():
    neuron = SparseSpectralNeuron(9, 3)
    neuron.sparse = False
    neuron(torch.tensor([[1, 2]])).sum().backward()
    assert not neuron.weight.grad.is_sparse
