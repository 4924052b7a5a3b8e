"""Small networks of several modules, trained as a user would: each puts together what other tests try alone."""

from __future__ import annotations

import copy
import pickle

import pytest

import torch
from lambdak.torch import (
    HyperSpectralNeuron,
    OrderedSpectralLayer,
    SparseSpectralNeuron,
    SpectralLayer,
    SpectralNeuron,
    add_proximal_step,
    guarantees,
    spectral_penalty,
)
from torch import nn


class Priced(nn.Module):
    """A capped monotone layer on the context, whose outputs a hyper-network turns into curves in the price."""

    def __init__(self):
        super().__init__()
        self.encoder = SpectralLayer(2, 4, 3, monotonic_cst=[1, 0], max_influence=0.7)
        self.curve = HyperSpectralNeuron(self.encoder, 1, 5, monotonic_cst=[-1], encoder_features=4)

    def forward(self, context, price):
        return self.curve(context, price)


def test_a_hyper_network_on_a_capped_monotone_layer_is_trained_by_lbfgs():
    network = Priced().double()
    context, price = torch.randn(64, 2).double(), torch.randn(64, 1).double()
    wanted = torch.sigmoid(context[:, 0] - 2 * price[:, 0])
    optimizer = torch.optim.LBFGS(network.parameters(), max_iter=30, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        penalty = spectral_penalty(network.curve.at(context))
        loss = (network(context, price) - wanted).square().mean() + 1e-4 * penalty
        loss.backward()
        return loss

    before = closure().item()
    optimizer.step(closure)
    assert closure().item() < 0.2 * before
    assert (network.encoder.norms <= 0.7).all()
    curves = network(context, torch.linspace(-3, 3, 20).double()[:, None].expand(64, 20, 1))
    assert (curves.diff() <= 0).all()
    twin = pickle.loads(pickle.dumps(network))
    assert torch.equal(twin(context, price), network(context, price))


class Towers(nn.Module):
    """Two sparse neurons, of users and of things, and a monotone neuron on their outputs."""

    def __init__(self):
        super().__init__()
        self.users = SparseSpectralNeuron(30, 3, active=1)
        self.things = SparseSpectralNeuron(20, 3, active=2)
        self.top = SpectralNeuron(2, 5, monotonic_cst=1)

    def forward(self, users, things):
        return self.top(torch.stack([self.users(users), self.things(things)], -1))


def test_two_towers_of_sparse_neurons_are_trained_by_two_optimisers_with_a_lasso_on_ids():
    network = Towers()
    users, things = torch.randint(30, (256, 1)), torch.randint(20, (256, 2))
    wanted = (users[:, 0] < 15).float() + (things < 5).sum(1)
    tables = [network.users.weight, network.things.weight]
    known = {id(table) for table in tables}
    others = [parameter for parameter in network.parameters() if id(parameter) not in known]
    optimisers = [torch.optim.SparseAdam(tables, lr=0.02), torch.optim.Adam(others, lr=0.02)]
    add_proximal_step(optimisers[0], network, alpha=1e-4)
    losses = []
    for _ in range(100):
        for optimizer in optimisers:
            optimizer.zero_grad()
        loss = (network(users, things) - wanted).square().mean()
        loss.backward()
        losses.append(loss.item())
        for optimizer in optimisers:
            optimizer.step()
    assert losses[-1] < 0.3 * losses[0]
    assert guarantees(network.top).monotone == (1, 1)
    fresh = Towers()
    fresh.load_state_dict(copy.deepcopy(network.state_dict()))
    assert torch.equal(fresh(users, things), network(users, things))


class Block(nn.Module):
    """Attention, then an ordered layer on every position."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8)
        self.quantiles = OrderedSpectralLayer(8, 3, 7, max_influence=1.0)

    def forward(self, x):
        return self.quantiles(self.norm(x + self.attention(x, x, x, need_weights=False)[0]))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # those of the compiler itself
def test_an_ordered_layer_in_a_transformer_block_is_compiled_and_autocast():
    network, x = Block(), torch.randn(4, 6, 8)
    compiled = torch.compile(network, backend="aot_eager", fullgraph=True)
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.01)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            quantiles = compiled(x)
            error = x.sum(-1, keepdim=True) - quantiles
            loss = torch.maximum(error * torch.tensor([0.1, 0.5, 0.9]), error * torch.tensor([-0.9, -0.5, -0.1])).mean()
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    assert losses[-1] < losses[0]
    assert (quantiles.diff(dim=-1) >= 0).all()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(compiled(x), network(x), rtol=2e-2, atol=2e-2)
