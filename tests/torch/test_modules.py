"""Neurons and layers: what they compute, and what holds whatever their parameters are."""

from __future__ import annotations

import numpy as np
import pytest
from torch_cases import scrambled

import torch
from lambdak.torch import (
    Definite,
    HyperSpectralNeuron,
    SparseSpectralNeuron,
    SpectralLayer,
    SpectralNeuron,
    spectral_norm,
    sym,
)


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


def test_gradients_reach_every_parameter(kind):
    neuron = SpectralNeuron(3, 5, dtype=torch.float64, **kind)
    neuron(torch.randn(40, 3).double()).square().sum().backward()
    for name, parameter in neuron.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


@pytest.mark.slow
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


def test_repr_shows_the_settings():
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


def hyper():
    return HyperSpectralNeuron(torch.nn.Identity(), 3, 4, encoder_features=2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SpectralNeuron(3, 5)(torch.zeros(4, 3).double()), r"x must be torch.float32, .*; got torch.float64: "),
        (lambda: SpectralLayer(3, 2, 5).double()(torch.zeros(4, 3)), r"x must be torch.float64, .*; got torch.float32"),
        (lambda: SpectralNeuron(3, 5)(torch.zeros(4, 3).long()), r"x must be torch.float32, .*; got torch.int64"),
        (lambda: hyper()(torch.zeros(4, 2), torch.zeros(4, 3).double()), r"x must be torch.float32"),
        (lambda: hyper()(torch.zeros(4, 2).double(), torch.zeros(4, 3)), r"features of the encoder must be"),
        (lambda: SparseSpectralNeuron(9, 5)(torch.zeros(4, 2)), r"ids must be integers; got torch.float32: use ids"),
    ],
)  # fmt: skip
def test_a_wrong_dtype_is_refused_with_what_to_do(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_autocast_takes_inputs_of_half_precision():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert SpectralNeuron(3, 5)(torch.zeros(4, 3).bfloat16()).shape == (4,)
        with pytest.raises(TypeError, match=r"got torch\.float64"):
            SpectralNeuron(3, 5)(torch.zeros(4, 3).double())


def test_neurons_without_inputs_and_empty_batches_have_their_shapes():
    assert SpectralNeuron(0, 3)(torch.zeros(4, 0)).shape == (4,)
    assert SpectralLayer(2, 3, 3)(torch.zeros(0, 2)).shape == (0, 3)
    assert SparseSpectralNeuron(9, 3)(torch.zeros(0, 2).long()).shape == (0,)


def test_numbers_of_numpy_are_numbers():
    assert SpectralNeuron(2, 3, monotonic_cst=np.int64(1)).monotonic_cst == (1, 1)
    assert SpectralNeuron(2, 3, max_influence=np.float64(0.5)).max_influence == (0.5, 0.5)
