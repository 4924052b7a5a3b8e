"""Several eigenvalues of one matrix as outputs: which they are, and that they never cross.

Tests ``several``.
"""

from __future__ import annotations

import pytest
from torch_cases import scrambled

import torch
from lambdak.torch import OrderedSpectralLayer, SpectralNeuron, guarantees
from lambdak.torch.ordered import spread_indices


@pytest.mark.parametrize("structure", ["dense", "tridiagonal"])
def test_outputs_are_eigenvalues_of_one_matrix(structure):
    layer = scrambled(OrderedSpectralLayer(3, 3, 6, [0, 2, 3], structure=structure, dtype=torch.float64))
    x, matrices = torch.randn(2, 7, 3).double(), layer.matrices
    matrix = matrices[0] + torch.einsum("...i,ijk->...jk", x, matrices[1:])
    torch.testing.assert_close(layer(x), torch.linalg.eigvalsh(matrix)[..., [0, 2, 3]])


@pytest.mark.parametrize("structure", ["dense", "tridiagonal"])
def test_one_output_is_a_neuron_to_the_last_bit(structure):
    neuron = SpectralNeuron(3, 6, 2, structure=structure)
    layer = OrderedSpectralLayer(3, 1, 6, [2], structure=structure)
    layer.load_state_dict(scrambled(neuron).state_dict())
    x = torch.randn(200, 3)
    assert torch.equal(layer(x)[:, 0], neuron(x))
    assert torch.equal(layer.eigenpair(x).vector[:, 0], neuron.eigenpair(x).vector)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_outputs_are_in_order_to_the_last_bit_even_where_they_meet(dtype):
    layer = scrambled(OrderedSpectralLayer(2, 3, 3, dtype=dtype))
    with torch.no_grad():
        layer.constant.zero_()
        layer.weight[0] = torch.tensor([1.0, 0.0, 1.0, 0.0, 0.0, 1.0])  # the identity: all eigenvalues are equal
    along, anywhere = torch.randn(500, 2, dtype=dtype), torch.randn(500, 2, dtype=dtype)
    along[:, 1] *= 10.0 ** torch.linspace(-12, 0, 500, dtype=dtype)
    for x in (along, anywhere):
        assert (layer(x).diff() >= 0).all()


def test_the_ends_are_concave_and_convex_and_all_outputs_share_the_signs():
    layer = scrambled(OrderedSpectralLayer(3, 3, 5, [0, 2, 4], monotonic_cst=[1, 0, 0], dtype=torch.float64))
    x, y = torch.randn(2, 300, 3).double()
    bend = (layer(x) + layer(y)) / 2 - layer((x + y) / 2)
    assert (bend[:, 0] <= 1e-12).all()
    assert (bend[:, 2] >= -1e-12).all()
    assert guarantees(layer).monotone == (1, 0, 0)
    assert not guarantees(layer).convex
    assert guarantees(OrderedSpectralLayer(3, 1, 5, [4])).convex


@pytest.mark.parametrize("dim", range(1, 12))
def test_spread_positions_are_increasing_and_symmetric(dim):
    for count in range(1, dim + 1):
        indices = spread_indices(count, dim)
        assert len(set(indices)) == count
        assert sorted(indices) == list(indices)
        assert 0 <= indices[0] <= indices[-1] < dim
    assert spread_indices(dim, dim) == tuple(range(dim))
    assert spread_indices(1, dim) == (dim // 2,)


def test_repr_shows_the_settings():
    text = repr(OrderedSpectralLayer(3, 2, 5, structure="tridiagonal", monotonic_cst=1))
    for part in ("in_features=3, out_features=2, dim=5, eig_idx=(1, 3)", "monotonic_cst=[1, 1, 1]", "tridiagonal"):
        assert part in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 6, 5), r"out_features must be in \[1, 6\); got 6"),
        ((3, 2, 5, [0, 1, 2]), r"eig_idx must hold 2 increasing positions, one per output; got \[0, 1, 2\]"),
        ((3, 1, 5, 2), "eig_idx must hold 1 increasing positions"),
        ((3, 2, 5, [1, 5]), r"^eig_idx must be in \[0, 5\); got 5"),
        ((3, 2, 5, [2, 1]), "^eig_idx must be increasing"),
    ],
)
def test_bad_positions_are_refused_with_what_was_expected(arguments, message):
    with pytest.raises(ValueError, match=message):
        OrderedSpectralLayer(*arguments)
