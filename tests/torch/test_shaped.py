"""Matrices that are bound to one another and limits of slopes: derivatives, right inverses, and that promises hold.

Tests ``slopes`` and ``coordinates``.
"""

from __future__ import annotations

import pytest
from torch_cases import scrambled, violation

import torch
from lambdak import shapes
from lambdak.torch import HyperSpectralNeuron, SpectralLayer, SpectralNeuron, sym

KINDS = {
    "dominates": [shapes.Dominates(0, 1)],
    "dominates and rises": [shapes.Dominates(0, 1), shapes.Rising(1)],
    "chain": [shapes.Dominates(0, 1), shapes.Dominates(1, 2), shapes.Falling(3)],
    "direction": [shapes.RisingAlong({0: 1, 1: -2, 3: 0.5}), shapes.Rising(0)],
    "limits": [shapes.MaxSlope({0: 1, 1: -1}, 0.3), shapes.MaxSlope(0, 0.2), shapes.MaxSlope(2, 0.1)],
    "limited and dominated": [shapes.Dominates(0, 1), shapes.MaxSlope(0, 0.4), shapes.MaxSlope(2, 0.1)],
    "limited and rising": [shapes.Rising(0), shapes.MaxSlope({0: 1, 1: -1}, 0.3)],
    "limited and straight": [shapes.Convex(0), shapes.Concave(1), shapes.MaxSlope({0: 1, 1: 1}, 0.3)],
    "straight": [shapes.Convex(0, 2), shapes.Concave(1, 3), shapes.Rising(1)],
    "complements": [shapes.Complements(0, 1), shapes.Rising(0), shapes.Falling(1)],
    "substitutes": [shapes.Substitutes(0, 1, 2), shapes.Rising(2), shapes.MaxSlope(1, 0.2)],
    "convex substitutes": [shapes.Substitutes(0, 3), shapes.Convex(), shapes.Rising(0), shapes.Rising(3)],
}
CASES = [
    (name, kind, structure) for name in KINDS for kind in ("neuron", "layer") for structure in ("dense", "tridiagonal")
]


def built(name, kind="neuron", structure="dense", dim=4, **settings):
    settings = {"dtype": torch.float64, "structure": structure, "constraints": KINDS[name], **settings}
    return SpectralNeuron(4, dim, **settings) if kind == "neuron" else SpectralLayer(4, 2, dim, **settings)


@pytest.mark.parametrize(("name", "kind", "structure"), CASES)
def test_promises_hold_for_random_parameters_and_at_the_start(name, kind, structure):
    module = built(name, kind, structure)
    assert violation(module, KINDS[name]) < 1e-10
    for _ in range(3):
        assert violation(scrambled(module), KINDS[name]) < 1e-9


@pytest.mark.parametrize("name", KINDS)
def test_promises_hold_in_float32_to_its_rounding(name):
    module = scrambled(built(name, "layer", dtype=torch.float32))
    assert violation(module, KINDS[name]) < 1e-4


@pytest.mark.parametrize("name", KINDS)
def test_promises_hold_after_every_step_of_training_against_them(name):
    module = built(name, max_lipschitz=5.0)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.1)
    x = torch.randn(64, 4).double()
    y = -3 * x[:, 0] + 4 * x[:, 1] - 5 * x[:, 0] * x[:, 1] - x[:, 2].abs() + x[:, 3] ** 2
    first = None
    for _ in range(60):
        optimizer.zero_grad()
        loss = (module(x) - y).square().mean()
        first = float(loss.detach()) if first is None else first
        loss.backward()
        assert all(parameter.grad.isfinite().all() for parameter in module.parameters())
        optimizer.step()
        assert violation(module, KINDS[name], 50) < 1e-9
    assert loss < first
    assert module.lipschitz <= 5.0


@pytest.mark.parametrize(("name", "kind", "structure"), CASES)
def test_assigning_a_weight_that_satisfies_all_shapes_keeps_it(name, kind, structure):
    module = scrambled(built(name, kind, structure))
    weight = module.weight.detach().clone()
    other = built(name, kind, structure)
    other.weight = weight
    torch.testing.assert_close(other.weight.detach(), weight, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", KINDS)
def test_assigning_any_weight_finds_one_that_satisfies_all_shapes(name):
    module = built(name)
    module.weight = torch.randn_like(module.weight)
    assert violation(module, KINDS[name]) < 1e-9
    module.weight = torch.zeros_like(module.weight)
    assert module.norms.max() < 1e-6


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("size", [1.0, 1e-3])  # limits are reached, and not
def test_the_weight_has_its_derivative(name, size):
    module = scrambled(built(name, "layer", dim=3, max_lipschitz=1.5))
    parts = dict(module.named_parameters())
    names = [own for own in parts if own != "constant"]
    leaves = [(parts[own].detach() * size).requires_grad_() for own in names]

    def weight(*values):
        return torch.func.functional_call(
            Weight(module), {f"module.{own}": v for own, v in zip(names, values, strict=True)}, ()
        )

    assert torch.autograd.gradcheck(weight, leaves)


class Weight(torch.nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self):
        return self.module.weight


@pytest.mark.parametrize("name", KINDS)
def test_gradients_are_finite_at_zero_parameters(name):
    module = built(name, "layer", max_lipschitz=1.0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
    module(torch.randn(5, 4).double()).sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in module.parameters())


@pytest.mark.parametrize("name", ["straight", "complements", "convex substitutes"])
def test_numbers_of_a_sign_can_leave_zero(name):
    module = built(name)
    levels = module.parametrizations.weight.original2
    with torch.no_grad():
        levels.zero_()
    module(torch.randn(50, 4).double().abs()).sum().backward()
    assert (levels.grad != 0).all()


def test_statements_do_not_start_where_a_factor_has_no_slope():
    for seed in range(20):
        torch.manual_seed(seed)
        module = SpectralNeuron(4, 4, constraints=KINDS["chain"], dtype=torch.float64)
        matrices = sym(module.weight.detach(), 4)
        for low, high in ((1, 0), (2, 1)):
            assert torch.linalg.eigvalsh(matrices[high] - matrices[low]).min() > 1e-3


def test_dominance_above_a_rising_input_is_rising_too():
    module = built("dominates and rises")
    assert module.monotonic_cst == (1, 1, 0, 0)
    assert built("chain").monotonic_cst == (0, 0, 0, -1)


def test_statements_that_undo_one_another_are_refused():
    with pytest.raises(ValueError, match="constraints"):
        SpectralNeuron(2, 3, constraints=[shapes.Dominates(0, 1), shapes.Dominates(1, 0)])


def test_limits_across_directions_leave_what_lies_beside_them():
    module = SpectralNeuron(3, 3, constraints=[shapes.MaxSlope({0: 1, 1: -1}, 0.1)], dtype=torch.float64)
    weight = torch.randn_like(module.weight)
    module.weight = weight
    torch.testing.assert_close(module.weight[0] + module.weight[1], weight[0] + weight[1])
    assert torch.equal(module.weight[2], weight[2])
    difference = torch.linalg.matrix_norm(sym(module.weight[0] - module.weight[1], 3), 2)
    torch.testing.assert_close(difference.detach(), torch.tensor(0.1, dtype=torch.float64), rtol=1e-9, atol=0)


def test_the_lipschitz_cap_binds_and_leaves_small_weights_alone():
    module = scrambled(SpectralLayer(5, 6, 4, max_lipschitz=1.0))
    assert 0.999 < module.lipschitz <= 1.0
    x, y = torch.randn(2, 2000, 5) * 3
    ratio = (module(x) - module(y)).norm(dim=1) / (x - y).norm(dim=1)
    assert ratio.max() <= 1 + 1e-5
    weight = module.weight.detach() / 10
    module.weight = weight
    torch.testing.assert_close(module.weight.detach(), weight)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_limits_survive_half_precision(dtype):
    module = scrambled(
        SpectralNeuron(3, 5, constraints=[shapes.MaxSlope({0: 1, 1: -1}, 0.3), shapes.MaxSlope(2, 0.2)])
    ).to(dtype)
    matrices = sym(module.weight.detach().double(), 5)
    assert torch.linalg.matrix_norm(matrices[0] - matrices[1], 2) <= 0.3
    assert torch.linalg.matrix_norm(matrices[2], 2) <= 0.2


def test_autocast_keeps_statements():
    module = scrambled(SpectralNeuron(4, 7, constraints=KINDS["chain"]))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        weight = module.weight.detach()
    matrices = sym(weight.double(), 7)
    assert weight.dtype == torch.float32
    assert torch.linalg.eigvalsh(matrices[0] - matrices[1]).min() > -1e-5


def test_constrained_neurons_are_compiled_and_exported():
    asked = [shapes.Dominates(0, 1), shapes.MaxSlope({0: 1, 2: 1}, 0.5), shapes.Rising(3)]
    module, x = SpectralNeuron(4, 3, constraints=asked, max_lipschitz=1.0), torch.randn(8, 4)
    expected = module(x)
    torch.testing.assert_close(torch.compile(module, fullgraph=True, backend="aot_eager")(x), expected)
    program = torch.export.export(module, (x,), dynamic_shapes=({0: torch.export.Dim("batch")},))
    more = torch.randn(30, 4)
    torch.testing.assert_close(program.module()(more), module(more))


def test_a_module_on_the_meta_device_gets_its_weight_later():
    asked = [shapes.Dominates(0, 1), shapes.Complements(2, 3), shapes.MaxSlope(0, 0.5)]
    module = SpectralNeuron(4, 3, constraints=asked, device="meta", max_lipschitz=2.0)
    other = SpectralNeuron(4, 3, constraints=asked, max_lipschitz=2.0)
    module = module.to_empty(device="cpu")
    module.load_state_dict(other.state_dict())
    x = torch.randn(5, 4)
    assert torch.equal(module(x), other(x))


class OneContext(torch.nn.Module):
    def __init__(self, model, context):
        super().__init__()
        self.model, self.context = model, context

    def forward(self, x):
        return self.model(self.context[None], x[None])[0]


@pytest.mark.parametrize("name", KINDS)
def test_a_hyper_network_keeps_shapes_in_every_context(name):
    encoder = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh()).double()
    model = HyperSpectralNeuron(encoder, 4, dim=3, constraints=KINDS[name], encoder_features=8, dtype=torch.float64)
    contexts = torch.randn(3, 3).double()
    outputs = []
    for context in contexts:
        for part in (model, scrambled(model)):
            assert violation(OneContext(part, context), KINDS[name]) < 1e-9
        outputs.append(OneContext(model, context)(torch.ones(1, 4).double()))
    assert len({output.item() for output in outputs}) == 3
    assert "constraints=[" in model.extra_repr()
