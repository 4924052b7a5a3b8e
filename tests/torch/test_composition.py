"""What stacks of layers promise, checked on random points.

Tests ``parts``.
"""

from __future__ import annotations

import pytest
from torch_cases import layer

import torch
from lambdak.torch import (
    SpectralLayer,
    SpectralNeuron,
    guarantees,
)
from torch import nn


def positive_linear(n_in, n_out, sign=1):
    linear = nn.Linear(n_in, n_out).double()
    with torch.no_grad():
        linear.weight.abs_().mul_(sign)
    return linear


RISING = {"eig_idx": 2, "monotonic_cst": 1}  # and convex
STACKS = {
    "monotone": ([layer(3, 4, 0, monotonic_cst=[1, -1, 0]), layer(4, 2, 1, monotonic_cst=1)], (1, -1, 0), None),
    "two falls make a rise": ([layer(3, 4, 0, monotonic_cst=-1), layer(4, 1, 1, monotonic_cst=-1)], (1, 1, 1), None),
    "free in between": ([layer(3, 4, 0, monotonic_cst=1), layer(4, 1, 1)], (0, 0, 0), None),
    "convex": ([layer(3, 4, 0, eig_idx=2), layer(4, 1, 1, **RISING)], (0, 0, 0), "convex"),
    "concave": ([layer(3, 4, 0, eig_idx=0), layer(4, 1, 1, eig_idx=0, monotonic_cst=1)], (0, 0, 0), "concave"),
    "falling of concave": (
        [layer(3, 4, 0, eig_idx=0), layer(4, 1, 1, eig_idx=2, monotonic_cst=-1)], (0, 0, 0), "convex",
    ),
    "convex free of convex": ([layer(3, 4, 0, eig_idx=2), layer(4, 1, 1, eig_idx=2)], (0, 0, 0), None),
    "convex of affine": ([positive_linear(3, 4, -1), layer(4, 1, 1, **RISING)], (-1, -1, -1), "convex"),
    "activation": ([layer(3, 4, 0, **RISING), nn.Softplus(), positive_linear(4, 1)], (1, 1, 1), "convex"),
    "bent activation": ([layer(3, 4, 0, **RISING), nn.Tanh(), positive_linear(4, 1)], (1, 1, 1), None),
    "neuron at the end": (
        [layer(3, 4, 0, monotonic_cst=1), nn.Dropout(0.0), SpectralNeuron(4, 3, monotonic_cst=1).double()],
        (1, 1, 1), None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STACKS)
def test_promises_are_those_that_composition_allows_and_hold_on_random_points(name):
    modules, signs, shape = STACKS[name]
    network = nn.Sequential(*modules)
    found = guarantees(network)
    assert found.monotone == signs
    assert (found.convex, found.concave) == (shape == "convex", shape == "concave")
    torch.manual_seed(0)
    x, y = torch.randn(2, 400, 3).double()
    value, other, middle = (network(part).reshape(400, -1) for part in (x, y, (x + y) / 2))
    if shape is not None:
        assert ((1 if shape == "convex" else -1) * ((value + other) / 2 - middle) >= -1e-10).all()
    for i, sign in enumerate(signs):
        step = torch.zeros(400, 3).double()
        step[:, i] = torch.rand(400)
        change = network(x + step).reshape(400, -1) - value
        assert (sign * change >= -1e-10).all()
        assert (change.abs() <= found.influence[i] * step[:, [i]] + 1e-10).all()


def test_guarantees_print_one_line_per_claim():
    text = str(guarantees(STACKS["convex of affine"][0][1]))
    assert text.startswith("shape: convex\ninput 0: does not fall; influence at most ")


def test_an_unknown_module_or_a_misfit_is_refused_by_name():
    with pytest.raises(TypeError, match=r"got LayerNorm$"):
        guarantees(nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4)))
    with pytest.raises(ValueError, match="got 4 outputs before 5 inputs"):
        guarantees(nn.Sequential(nn.Linear(3, 4), nn.Linear(5, 1)))
    with pytest.raises(ValueError, match="at least one"):
        guarantees(nn.Sequential())
    with pytest.raises(ValueError, match="must not begin with ReLU"):
        guarantees(nn.Sequential(nn.ReLU()))


class Residual(nn.Sequential):
    def forward(self, x):
        return x - super().forward(x)


class Mirrored(SpectralLayer):
    def forward(self, x):
        return -super().forward(x)


def hooked():
    linear = nn.Linear(2, 2)
    linear.register_forward_hook(lambda module, inputs, output: -output)
    return linear


@pytest.mark.parametrize(
    ("module", "error", "message"),
    [
        (Residual(nn.Linear(2, 2)), TypeError, "got Residual"),
        (Mirrored(2, 2, 3), TypeError, "got Mirrored"),
        (hooked(), TypeError, "forward hooks"),
        (nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)), ValueError, r"call network.eval\(\)"),
        (nn.Sequential(nn.Linear(2, 2), nn.Softplus(threshold=1)), ValueError, "Softplus must have beta > 0"),
        (nn.Sequential(nn.Linear(2, 2), nn.Softplus(beta=-1)), ValueError, "Softplus must have beta > 0"),
    ],
)
def test_modules_that_do_something_else_than_their_class_are_refused(module, error, message):
    with pytest.raises(error, match=message):
        guarantees(module)


def test_nested_and_dropped_out_networks_are_read_in_evaluation_mode():
    inner = nn.Sequential(layer(3, 4, 0, monotonic_cst=1), nn.Dropout(0.5))
    assert guarantees(nn.Sequential(inner, layer(4, 1, 1, monotonic_cst=1)).eval()).monotone == (1, 1, 1)
