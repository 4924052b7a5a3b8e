"""Shapes as constraints of neurons: what becomes of them, and which are refused with a way out.

Tests ``constrained``, ``implied`` and ``promised``.
"""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy.optimize import linprog
from torch_cases import scrambled

import torch
from lambdak import shapes
from lambdak.torch import (
    GeneralizedSpectralNeuron,
    HermitianSpectralNeuron,
    OrderedSpectralLayer,
    SpectralLayer,
    SpectralMixture,
    SpectralNeuron,
    add_proximal_step,
    convex_start_,
    from_pencil,
    implied,
    shrink_,
    to_pencil,
)


def test_shapes_of_one_input_are_the_older_arguments_to_the_bit():
    for asked, older in (
        ([shapes.Rising(0), shapes.Falling(2)], {"monotonic_cst": [1, 0, -1]}),
        ([shapes.MaxSlope(None, 0.3)], {"max_influence": 0.3}),
        ([shapes.MaxSlope(i, 0.1 * (i + 1)) for i in range(3)], {"max_influence": [0.1, 0.2, 0.1 * 3]}),
        ([shapes.Convex()], {"eig_idx": 4}),
        ([shapes.Concave()], {"eig_idx": 0}),
    ):
        torch.manual_seed(0)
        new = SpectralNeuron(3, 5, constraints=asked)
        torch.manual_seed(0)
        old = SpectralNeuron(3, 5, **older)
        old.load_state_dict(new.state_dict())
        assert all(torch.equal(a, b) for a, b in zip(new.parameters(), old.parameters(), strict=True))
        assert (new.eig_idx, new.monotonic_cst, new.max_influence) == (
            old.eig_idx,
            old.monotonic_cst,
            old.max_influence,
        )
        assert new.constraints == old.constraints


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (shapes.Interactions([[0], [1]]), "add up neurons of the inputs of each group"),
        (shapes.MaxInfluence(0, 0.1), r"MaxSlope\(0, limit\) bounds the change per unit"),
        (shapes.Anchored(0, 1.0), "subtract the cell from the input"),
        (shapes.Rising("age"), r"by position, 0 to 2; got 'age' in Rising\('age'\)"),
        (shapes.Rising(3), "by position, 0 to 2; got 3"),
        (shapes.Rising(-1), "by position, 0 to 2; got -1"),
        (shapes.Rising(True), "by position, 0 to 2; got True"),
        (shapes.Rising(0, order=["a", "b"]), "must have no order"),
        (shapes.MaxSlope(0, 0.0), r"limit of MaxSlope\(0, limit=0.0\) must be positive"),
    ],
)
def test_what_a_linear_input_cannot_be_is_refused_with_the_way_out(asked, message):
    with pytest.raises(ValueError, match=message):
        SpectralNeuron(3, 5, constraints=[asked])


@pytest.mark.parametrize("name", ["Valley", "Peak", "OutputRange"])
def test_shapes_of_curves_are_refused_by_name(name):
    kind = getattr(shapes, name, None)
    if kind is None:
        pytest.skip(f"there is no {name} yet")
    asked = kind(low=0.0) if name == "OutputRange" else kind(0)
    with pytest.raises(ValueError, match="cannot be a constraint here: "):
        SpectralNeuron(3, 5, constraints=[asked])


@pytest.mark.parametrize(
    ("asked", "settings", "message"),
    [
        ([shapes.Rising(0), shapes.Falling(0)], {}, "cannot both rise and fall"),
        ([shapes.Rising(0)], {"monotonic_cst": [-1, 0, 0]}, "cannot both rise and fall"),
        ([shapes.Convex(0)], {"eig_idx": 2}, r"Convex\(0\) needs eig_idx=4, or None, which chooses it; got 2"),
        ([shapes.Convex(0)], {"eig_idx": 0}, "needs eig_idx=4"),
        ([shapes.Concave()], {"eig_idx": 4}, "needs eig_idx=0"),
        ([shapes.Complements(0, 1)], {"eig_idx": 1}, "needs eig_idx=4"),
        ([shapes.Substitutes(0, 1, 2)], {"eig_idx": 4}, "choose the first, eig_idx=0"),
        ([shapes.Complements(0, 1, 2)], {"eig_idx": 0}, "choose the last, eig_idx=dim - 1"),
        ([shapes.Convex(0), shapes.Concave(0)], {}, "what bends both ways is straight"),
        ([shapes.Convex(2), shapes.Concave(0), shapes.Complements(0, 1)], {"eig_idx": 4}, "to share a matrix"),
        (shapes.Rising(0), {}, "must be a list of shapes"),
    ],
)
def test_contradictions_name_both_sides_and_the_way_out(asked, settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        SpectralNeuron(3, 5, constraints=asked, **settings)


def test_the_eigenvalue_is_the_one_that_shapes_need():
    for asked, position in (
        ([shapes.Convex(0)], 4),
        ([shapes.Concave(0)], 0),
        ([shapes.Convex(0), shapes.Concave(1)], 4),
        ([shapes.Concave(0, 2), shapes.Convex(1)], 0),
        ([shapes.Complements(0, 1)], 4),
        ([shapes.Substitutes(0, 1)], 0),
        ([shapes.Substitutes(0, 1), shapes.Convex()], 4),
        ([shapes.Rising(0)], 2),
    ):
        assert SpectralNeuron(3, 5, constraints=asked).eig_idx == position


def test_a_direction_follows_from_sums_of_others_only():
    statements = [{0: 1.0, 1: -1.0}, {1: 1.0, 2: -2.0}, {2: 1.0}]
    asked = [{0: 3.0}, {0: 1.0, 2: -2.0}, {0: 1.0, 2: -2.1}, {1: 1.0, 0: -1.0}, {3: 1.0}, {}]
    assert implied.following(asked, statements) == [True, True, False, False, False, True]
    assert implied.following(asked, []) == [False] * 5 + [True]


@pytest.mark.parametrize("independent", [True, False])
def test_directions_asked_at_once_follow_as_each_does_by_a_linear_programme(independent):
    rng = np.random.default_rng(0)
    for _ in range(20):
        cone = np.zeros((6, 8))  # two groups of inputs, and two inputs of which nothing is said
        cone[:3, :3] = rng.normal(size=(3, 3))
        cone[3:, 3:6] = rng.normal(size=(3, 3)) if independent else rng.normal(size=(3, 2)) @ rng.normal(size=(2, 3))
        sums = rng.uniform(0, 1, (4, 6)) @ cone * rng.choice([1e-6, 1, 1e6], (4, 1))
        asked = np.concatenate([sums, -sums, rng.normal(size=(4, 8)) * [1, 1, 1, 1, 1, 1, 0, 0], np.eye(8)])
        found = implied.following([dict(enumerate(row)) for row in asked], [dict(_used(row)) for row in cone])
        scaled = asked / np.abs(asked).max(axis=1, keepdims=True)
        assert found == [linprog(np.zeros(6), A_eq=cone.T, b_eq=row).status == 0 for row in scaled]
        assert found[:4] == [True] * 4


@pytest.mark.parametrize("order", [1, -1])
def test_statements_that_follow_from_others_are_left_out_without_a_search(monkeypatch, order):
    monkeypatch.setattr(implied, "nnls", None)
    chain = [shapes.Dominates(i, i + 1) for i in range(19)]
    others = [shapes.Rising(i) for i in range(19)] + [shapes.Dominates(i, i + 2) for i in range(18)]
    asked = [*others, *chain, shapes.Rising(19)][::order]
    found = SpectralNeuron(20, 3, constraints=asked).parametrizations.weight[0].asked
    kept = sorted(tuple(sorted(own.items())) for own in found.statements)
    assert kept == sorted([*(((i, 1.0), (i + 1, -1.0)) for i in range(19)), ((19, 1.0),)])
    assert found.signs(20) == (1,) * 20


def test_what_is_left_of_statements_says_as_much_as_all():
    rng = np.random.default_rng(1)
    for count in (3, 5, 9):  # independent, implied by these, and more edges than inputs
        rows = np.abs(rng.normal(size=(count, 3))) if count == 9 else np.eye(3)[:, [2, 0, 1]] - 0.4
        rows = rows if count != 5 else rng.permutation(np.concatenate([rows, rng.uniform(0, 1, (2, 3)) @ rows]))
        statements = [dict(enumerate(row)) for row in rows]
        kept = implied.distinct(statements)
        assert implied.following(statements, kept) == [True] * count
        for own in kept:
            others = np.array([[*other.values()] for other in kept if other is not own])
            assert linprog(np.zeros(len(others)), A_eq=others.T, b_eq=[*own.values()]).status == 2


def _used(row):
    return [(i, q) for i, q in enumerate(row) if q]


ASKED = [shapes.Complements(0, 1), shapes.Rising(0), shapes.MaxSlope({0: 1, 2: -1}, 0.5), shapes.Concave(3)]


def test_constrained_modules_are_copied_pickled_and_restored(tmp_path):
    neuron = scrambled(SpectralNeuron(4, 5, eig_idx=4, constraints=[*ASKED, shapes.Convex(2)], max_lipschitz=2.0))
    x = torch.randn(20, 4)
    other = SpectralNeuron(4, 5, eig_idx=4, constraints=[*ASKED, shapes.Convex(2)], max_lipschitz=2.0)
    torch.save(neuron.state_dict(), tmp_path / "state.pt")
    other.load_state_dict(torch.load(tmp_path / "state.pt"))
    for copied in (other, copy.deepcopy(neuron), pickle.loads(pickle.dumps(neuron))):
        assert torch.equal(copied(x), neuron(x))
        assert copied.constraints == neuron.constraints
    assert all(parameter.is_contiguous() for parameter in neuron.parameters())
    assert "constraints=[Complements(0, 1), Rising(0), Concave(3), MaxSlope({0: 1.0, 2: -1.0}" in neuron.extra_repr()
    assert neuron.extra_repr().endswith("max_lipschitz=2.0")


def test_the_pencil_of_a_constrained_neuron_is_the_same_function():
    neuron = scrambled(SpectralNeuron(4, 5, constraints=ASKED, dtype=torch.float64, eig_idx=4))
    x = torch.randn(20, 4).double()
    torch.testing.assert_close(torch.from_numpy(to_pencil(neuron)(x.numpy())), neuron(x).detach())
    torch.testing.assert_close(from_pencil(to_pencil(neuron))(x), neuron(x))


def test_removed_parametrisations_promise_nothing():
    neuron = SpectralNeuron(3, 5, constraints=[shapes.Complements(0, 1), shapes.MaxSlope(0, 0.1)])
    torch.nn.utils.parametrize.remove_parametrizations(neuron, "weight")
    assert neuron.constraints == (shapes.Convex(),)
    assert neuron.max_influence is None


@pytest.mark.parametrize("kind", [OrderedSpectralLayer, SpectralMixture])
def test_modules_that_read_several_eigenvalues_refuse_shapes_of_one(kind):
    sizes = (3, 2, 5) if kind is OrderedSpectralLayer else (3, 5)
    for asked in (shapes.Convex(), shapes.Complements(0, 1)):
        with pytest.raises(ValueError, match=f"and {kind.__name__} reads several"):
            kind(*sizes, constraints=[asked])
    module = scrambled(kind(*sizes, constraints=[shapes.MaxSlope({0: 1, 1: 1}, 0.2)], dtype=torch.float64))
    x = torch.randn(200, 3).double()
    step = torch.rand(200, 1).double() * 3
    moved = module(x + step * torch.tensor([1.0, 1.0, 0.0]).double()) - module(x)
    assert (moved.reshape(200, -1).abs() <= 0.2 * step + 1e-10).all()


def test_a_generalised_neuron_refuses_what_its_metric_would_change():
    for asked, message in (
        (shapes.MaxSlope(0, 0.1), "use max_influence"),
        (shapes.Complements(0, 1), "use a SpectralNeuron"),
    ):
        with pytest.raises(ValueError, match=message):
            GeneralizedSpectralNeuron(3, 5, constraints=[asked])
    with pytest.raises(ValueError, match="use a SpectralNeuron"):
        GeneralizedSpectralNeuron(3, 5, constraints=[shapes.Convex(0), shapes.Concave(1)])
    assert GeneralizedSpectralNeuron(3, 5, constraints=[shapes.Rising(0), shapes.Convex()]).monotonic_cst == (1, 0, 0)


def test_proximal_steps_and_starts_from_data_refuse_what_binds_several_matrices():
    neuron = SpectralNeuron(3, 5, constraints=[shapes.Complements(0, 1)])
    with pytest.raises(ValueError, match=r"Complements\(0, 1\): add spectral_penalty"):
        shrink_(neuron, 0.1)
    with pytest.raises(ValueError, match="add spectral_penalty"):
        add_proximal_step(torch.optim.SGD(neuron.parameters(), lr=0.1), neuron, 0.1)
    with pytest.raises(ValueError, match="no constraints"):
        convex_start_(neuron, torch.randn(20, 3), torch.randn(20))


def test_limits_of_single_inputs_take_proximal_steps():
    neuron = scrambled(SpectralNeuron(3, 5, constraints=[shapes.MaxSlope(1, 0.2)]))
    before = neuron.norms.detach()
    shrink_(neuron, 1000.0)
    assert (neuron.norms == 0).all()
    assert before[1] <= 0.2
    assert before[0] > 0.2


def test_hermitian_neurons_keep_shapes():
    asked = [shapes.Complements(0, 1), shapes.Rising(0), shapes.MaxSlope({0: 1, 1: 1}, 0.3)]
    neuron = HermitianSpectralNeuron(3, 4, constraints=asked, max_lipschitz=1.0, dtype=torch.float64)
    weight = scrambled(neuron).weight.detach().clone()
    neuron.weight = weight
    torch.testing.assert_close(neuron.weight.detach(), weight)
    first, second = neuron.matrices[1], neuron.matrices[2]
    assert torch.linalg.eigvalsh(first).min() > -1e-12
    assert torch.linalg.matrix_norm(first + second, 2) <= 0.3
    assert torch.linalg.matrix_norm(first @ second - second @ first) < 1e-12  # of one shared matrix
    assert neuron.lipschitz <= 1.0


def test_layers_have_a_shape_in_every_neuron():
    layer = scrambled(SpectralLayer(3, 4, 5, constraints=[shapes.Substitutes(0, 1)], dtype=torch.float64))
    x, step = torch.randn(500, 3).double(), torch.rand(500, 2).double() * 4
    a, b = torch.eye(3).double()[:2]
    first, second = step[:, :1] * a, step[:, 1:] * b
    cross = layer(x + first + second) - layer(x + first) - layer(x + second) + layer(x)
    assert (cross <= 1e-10).all()
    assert (cross < -1e-3).any(0).all()
