"""Small networks of several modules, trained as a user would: each puts together what other tests try alone."""

from __future__ import annotations

import copy
import pickle

import pytest
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.checkpoint import checkpoint

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


class Cell(nn.Module):
    """A recurrent cell whose capped layer is its own gate, computed again in the backward pass."""

    def __init__(self):
        super().__init__()
        self.layer = SpectralLayer(7, 4, 5, max_influence=0.5)
        self.gate = self.layer
        self.mixture, self.neuron = SpectralMixture(4, 4), HermitianSpectralNeuron(4, 3, monotonic_cst=[1, 0, 0, 0])

    def forward(self, x):
        state = x.new_zeros(len(x), 4)
        for moment in x.unbind(1):
            both = torch.cat([moment, state], -1)
            state = state + torch.sigmoid(self.gate(-both)) * checkpoint(self.layer, both, use_reentrant=False)
        return self.mixture(state) + self.neuron(state)


def test_a_recurrent_cell_with_tied_layers_keeps_caps_ties_and_moving_averages():
    network, x = Cell(), torch.randn(16, 5, 3)
    average = AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    optimizer, losses = torch.optim.AdamW(network.parameters(), lr=0.02), []
    for _ in range(30):
        optimizer.zero_grad()
        loss = (network(x) - x.sum((1, 2)).tanh()).square().mean()
        loss.backward()
        losses.append(loss.item())
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        average.update_parameters(network)
    assert losses[-1] < 0.6 * losses[0]
    for cell in (network, average.module, pickle.loads(pickle.dumps(network)), copy.deepcopy(network)):
        assert cell.gate is cell.layer
        assert (cell.layer.norms <= 0.5).all()
        fresh = Cell()
        fresh.load_state_dict(cell.state_dict(), assign=True)
        assert torch.equal(fresh(x), cell(x))


class Graph(nn.Module):
    """Ids become numbers, pass messages along edges, and attention over nodes predicts curves in the price."""

    def __init__(self):
        super().__init__()
        self.ids, self.message = SparseSpectralNeuron(50, 5, active=3), SpectralLayer(2, 3, 3, eig_idx=2)
        self.attention = nn.MultiheadAttention(3, 1, batch_first=True)
        self.curve = HyperSpectralNeuron(nn.Linear(3, 8), 1, 4, monotonic_cst=[1], encoder_features=8)
        self.other, self.last = GeneralizedSpectralNeuron(3, 3), SpectralNeuron(3, 3, diagonal_constant=True)

    def forward(self, ids, edges, price):
        value = self.ids(ids)
        sent = self.message(torch.stack([value[edges[0]], value[edges[1]]], -1))
        nodes = sent.new_zeros(len(value), 3).index_add(0, edges[1], sent)
        nodes = nodes + self.attention(nodes[None], nodes[None], nodes[None], need_weights=False)[0][0]
        return self.curve(nodes, price) + self.other(nodes) + self.last(nodes)


def test_a_graph_network_rises_with_the_price_and_one_bad_row_spoils_no_other():
    network, ids, edges = Graph(), torch.randint(50, (12, 3)), torch.randint(12, (2, 30))
    price, table = torch.randn(12, 1), network.ids.weight
    optimisers = [
        torch.optim.SparseAdam([table], lr=0.02),
        torch.optim.Adam([part for part in network.parameters() if part is not table], lr=0.02),
    ]
    losses = []
    for _ in range(40):
        network.zero_grad()
        loss = (network(ids, edges, price) - price[:, 0].tanh()).square().mean()
        loss.backward()
        losses.append(loss.item())
        for optimizer in optimisers:
            optimizer.step()
    assert losses[-1] < 0.6 * losses[0]
    curves = torch.stack([network(ids, edges, torch.full((12, 1), x)) for x in torch.linspace(-3, 3, 9).tolist()])
    assert (curves.diff(dim=0) >= -1e-5).all()
    price[3] = torch.nan
    assert network(ids, edges, price).isnan().nonzero().tolist() == [[3]]
    assert network(ids[:1], edges[:, :0], torch.zeros(1, 1)).isfinite().all()  # one node, no edges
