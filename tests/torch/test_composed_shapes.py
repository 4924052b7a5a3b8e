"""Which shapes survive a composition of modules, checked by brute force on random points."""

from __future__ import annotations

import pytest
from torch_cases import scrambled, violation

import torch
from lambdak import shapes
from lambdak.torch import (
    GeneralizedSpectralNeuron,
    HermitianSpectralNeuron,
    OrderedSpectralLayer,
    SpectralLayer,
    SpectralMixture,
    composed_shapes,
    guarantees,
    implied,
)
from torch import nn


def layer(n_in, n_out, *asked, **settings):
    settings = {"constraints": asked, "dtype": torch.float64, **settings}
    return scrambled(SpectralLayer(n_in, n_out, 3, **settings))


def linear(n_in, n_out, sign=0):
    """A linear map with weights of this sign, or of mixed signs."""
    module = nn.Linear(n_in, n_out).double()
    with torch.no_grad():
        module.weight.normal_().abs_()
        module.weight.mul_(sign or torch.tensor([1.0, -1.0, 1.0, -1.0])[:n_in])
    return module


def standardising():
    module = nn.Linear(4, 4).double()
    with torch.no_grad():
        module.weight.copy_(torch.diag(torch.tensor([2.0, 2.0, -0.5, 1.0]).double()))
    return module


DOMINATES, COMPLEMENTS = shapes.Dominates(0, 1), shapes.Complements(0, 1)
LIMITS = shapes.MaxSlope({0: 1, 1: 1}, 0.2), shapes.MaxSlope(2, 0.1)
torch.manual_seed(0)
# Modules, the shapes that are asked about, and how many of these hold.
STACKS = {
    "one layer": ([layer(4, 3, DOMINATES, *LIMITS)], [DOMINATES, *LIMITS], [True, True, True]),
    "dominance": ([layer(4, 3, DOMINATES), layer(3, 2, monotonic_cst=1)], [DOMINATES], [True]),
    "dominance turned round": (
        [layer(4, 3, DOMINATES), layer(3, 2, monotonic_cst=-1)],
        [DOMINATES, shapes.Dominates(1, 0)], [False, True],
    ),
    "dominance and a free layer": ([layer(4, 3, DOMINATES), layer(3, 2)], [DOMINATES], [False]),
    "sums of promises": (
        [layer(4, 3, DOMINATES, shapes.Dominates(1, 2)), nn.Tanh(), layer(3, 1, monotonic_cst=1)],
        [shapes.Dominates(0, 2), shapes.RisingAlong({0: 2, 1: -1, 2: -1}), shapes.Dominates(0, 3)],
        [True, True, False],
    ),
    "after standardising": (
        [standardising(), layer(4, 3, DOMINATES, shapes.Rising(2)), layer(3, 1, monotonic_cst=1)],
        [DOMINATES, shapes.Falling(2), shapes.Rising(2)], [True, True, False],
    ),
    "linear only": (
        [linear(4, 3, 1), linear(3, 2, 1)],
        [shapes.Convex(), shapes.Concave(0, 1), shapes.Rising(3), COMPLEMENTS], [True, True, True, True],
    ),
    "complements": ([layer(4, 3, COMPLEMENTS), linear(3, 2, 1)], [COMPLEMENTS], [True]),
    "complements turned round": (
        [layer(4, 3, COMPLEMENTS), linear(3, 2, -1)], [COMPLEMENTS, shapes.Substitutes(0, 1)], [False, True],
    ),
    "complements of mixed weights": ([layer(4, 3, COMPLEMENTS), linear(3, 2)], [COMPLEMENTS], [False]),
    "complements under a convex function": (
        [layer(4, 3, COMPLEMENTS, shapes.Rising(0), shapes.Rising(1)), nn.Softplus(), linear(3, 1, 1)],
        [COMPLEMENTS, shapes.Substitutes(0, 1)], [True, False],
    ),
    "complements of which one falls": (
        [layer(4, 3, COMPLEMENTS, shapes.Rising(0), shapes.Falling(1)), nn.Softplus()], [COMPLEMENTS], [False],
    ),
    "complements of which one falls under a concave function": (
        [layer(4, 3, COMPLEMENTS, shapes.Rising(0), shapes.Falling(1)), nn.LogSigmoid()], [COMPLEMENTS], [True],
    ),
    "substitutes under a concave function": (
        [layer(4, 3, shapes.Substitutes(0, 1), shapes.Rising(0), shapes.Rising(1)), nn.LogSigmoid()],
        [shapes.Substitutes(0, 1)], [True],
    ),
    "complements after standardising": (
        [standardising(), layer(4, 3, shapes.Complements(0, 2))],
        [shapes.Complements(0, 2), shapes.Substitutes(0, 2)], [False, True],
    ),
    "complements mixed before": ([linear(4, 4), layer(4, 3, COMPLEMENTS)], [COMPLEMENTS], [False]),
    "complements and a layer": (
        [layer(4, 3, COMPLEMENTS), layer(3, 1, monotonic_cst=1, eig_idx=2)], [COMPLEMENTS], [False],
    ),
    "straight": (
        [layer(4, 3, shapes.Convex(0), shapes.Concave(1)), linear(3, 1, 1)],
        [shapes.Convex(0, 1, 2, 3), shapes.Concave(1), shapes.Concave(0)], [True, True, False],
    ),
    "straight of mixed weights": (
        [layer(4, 3, shapes.Convex(0), shapes.Concave(1)), linear(3, 1)],
        [shapes.Convex(0), shapes.Convex(1), shapes.Concave(1)], [False, True, True],
    ),
    "slopes": (
        [layer(4, 3, *LIMITS), layer(3, 2, max_influence=0.3)],
        [*(shapes.MaxSlope({0: a, 1: b}, c) for a, b, c in ((1, 1, 0.19), (2, 2, 0.37), (1, -1, 0.01)))],
        [True, True, False],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STACKS)
def test_shapes_that_are_said_to_hold_do_hold(name):
    modules, asked, holds = STACKS[name]
    network = nn.Sequential(*modules)
    found = guarantees(network, asked)
    assert [shape in found.shapes for shape in asked] == holds
    kept = [shape for shape in found.shapes if shape.keys]
    assert not kept or violation(network, kept) < 1e-9


@pytest.mark.parametrize("name", STACKS)
def test_lipschitz_constants_and_inputs_in_which_networks_bend_hold(name):
    network = nn.Sequential(*STACKS[name][0])
    found = guarantees(network)
    torch.manual_seed(1)
    x, y = torch.randn(2, 1000, 4).double() * 2
    ratio = (network(x) - network(y)).norm(dim=1) / (x - y).norm(dim=1)
    assert ratio.max() <= found.lipschitz * (1 + 1e-9)
    for sign, inputs in ((1, found.convex_in), (-1, found.concave_in)):
        other = x.clone()
        other[:, list(inputs)] = y[:, list(inputs)]
        middle = network((x + other) / 2)
        assert (sign * ((network(x) + network(other)) / 2 - middle) >= -1e-9).all()


def test_inputs_that_only_add_a_number_stay_convex_and_concave_through_a_mixed_sum():
    found = guarantees(nn.Sequential(*STACKS["straight of mixed weights"][0]))
    assert (found.convex_in, found.concave_in) == ((1,), (1,))
    assert not found.convex
    assert str(found).startswith("shape: convex in input 1 and concave in input 1\n")


def test_guarantees_print_shapes_of_several_inputs():
    text = str(guarantees(layer(4, 2, DOMINATES, *LIMITS)))
    assert "Lipschitz constant: at most " in text
    assert "also Dominates(0, 1)" in text
    assert "also MaxSlope({0: 1.0, 1: 1.0}, limit=0.2)" in text


def test_many_shapes_are_decided_at_once(monkeypatch):
    number = 60
    chain = [shapes.Dominates(i, i + 1) for i in range(number - 1)] + [shapes.Rising(number - 1)]
    network = nn.Sequential(layer(number, 2, *chain), nn.Softplus(), layer(2, 1, monotonic_cst=1))
    skipped = [shapes.Dominates(i, i + 2) for i in range(number - 2)]
    asked = [*skipped, *[shapes.MaxSlope({i: 1, i + 1: -1}, 1e9) for i in range(number - 1)]]
    asked += [shapes.Rising(i) for i in range(number)]
    built, searched = [], []
    of_network, search = composed_shapes.part_of_network, implied.nnls
    monkeypatch.setattr(composed_shapes, "part_of_network", lambda *own: built.append(own) or of_network(*own))
    monkeypatch.setattr(implied, "nnls", lambda *own: searched.append(own) or search(*own))
    found = guarantees(network, [*asked, *[shapes.Dominates(i + 1, i) for i in range(number - 1)]])
    assert set(found.shapes) == {*chain, *asked}
    assert found.monotone == (1,) * number
    assert len(built) == 3  # one part per module
    assert not searched  # independent statements need one system of equations for all directions


def test_pairs_of_inputs_work_together_whatever_other_pairs_are_asked_about():
    first = layer(4, 3, COMPLEMENTS, shapes.Substitutes(2, 3))
    network = nn.Sequential(first, linear(3, 2, 1))
    asked = [kind(a, b) for kind in (shapes.Complements, shapes.Substitutes) for a in range(4) for b in range(a)]
    alone = [own for own in asked if own in guarantees(network, [own]).shapes]
    assert {COMPLEMENTS, shapes.Substitutes(2, 3)} <= {*guarantees(network, asked).shapes}
    assert {*alone} <= {*guarantees(network, asked).shapes} <= {*alone, *first.constraints}


def test_a_shape_of_curves_or_of_an_unknown_input_is_refused():
    network = layer(4, 2)
    with pytest.raises(ValueError, match="by position, 0 to 3; got 4"):
        guarantees(network, [shapes.Rising(4)])
    with pytest.raises(ValueError, match="add up neurons"):
        guarantees(network, [shapes.Interactions([[0], [1]])])


@pytest.mark.parametrize(
    "kind", [GeneralizedSpectralNeuron, HermitianSpectralNeuron, OrderedSpectralLayer, SpectralMixture]
)
def test_other_neurons_keep_dominance_and_their_lipschitz_constant(kind):
    sizes = (4, 2, 5) if kind is OrderedSpectralLayer else (4, 5)
    module = kind(*sizes, constraints=[DOMINATES, shapes.Rising(1)], dtype=torch.float64)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter) / 2)
    found = guarantees(module, [shapes.MaxSlope({0: 1, 2: 1}, 100.0)])
    assert found.monotone == (1, 1, 0, 0)
    assert {DOMINATES, shapes.Rising(1), shapes.MaxSlope({0: 1, 2: 1}, 100.0)} <= {*found.shapes}
    assert violation(module, [DOMINATES, shapes.Rising(1)]) < 1e-9
    x, y = torch.randn(2, 1000, 4).double() * 2
    ratio = (module(x) - module(y)).reshape(1000, -1).norm(dim=1) / (x - y).norm(dim=1)
    assert ratio.max() <= found.lipschitz * (1 + 1e-9)
