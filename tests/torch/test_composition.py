"""What stacks of layers promise, checked on random points; conversion; exact zeros."""

from __future__ import annotations

import numpy as np
import pytest

import torch
from lambdak import Pencil, SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.torch import (
    SpectralEnsemble,
    SpectralLayer,
    SpectralNeuron,
    add_proximal_step,
    from_pencil,
    guarantees,
    shrink_,
    spectral_penalty,
    to_pencil,
)
from torch import nn


def layer(n_in, n_out, seed, **settings):
    torch.manual_seed(seed)
    module = SpectralLayer(n_in, n_out, 3, dtype=torch.float64, **settings)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return module


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


def test_pencils_go_there_and_back():
    rng = np.random.default_rng(0)
    pencil = Pencil(rng.standard_normal((4, 15)), 1)
    neuron, x = from_pencil(pencil), rng.standard_normal((6, 3))
    np.testing.assert_allclose(neuron(torch.tensor(x)).detach(), pencil(x), rtol=1e-12)
    assert to_pencil(neuron) == pencil
    tridiagonal = SpectralNeuron(3, 5, structure="tridiagonal", dtype=torch.float64)
    np.testing.assert_allclose(tridiagonal(torch.tensor(x)).detach(), to_pencil(tridiagonal)(x), rtol=1e-10, atol=1e-12)


def test_a_constraint_that_cannot_express_the_pencil_is_an_error():
    pencil = Pencil(np.array([[0.0, 1.0, 0.0], [1.0, 0.5, 2.0], [-1.0, 0.0, 1.0]]))
    assert from_pencil(pencil, [1, 0], "factor").monotonic_cst == (1, 0)
    with pytest.raises(ValueError, match=r"monotonic_cst\[1\] must be 0, as the pencil's matrix is; got -1"):
        from_pencil(pencil, [1, -1], "factor")
    with pytest.raises(ValueError, match=r"must be 0, as"):  # nearly semidefinite is not semidefinite
        from_pencil(Pencil(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, -5e-4]])), [1])
    with pytest.raises(ValueError, match="express the matrix of feature 0; got 'diagonal'"):
        from_pencil(pencil, [1, 0], "diagonal")


def test_single_neurons_of_a_layer_become_pencils():
    network, x = layer(3, 4, 0), np.random.default_rng(0).standard_normal((6, 3))
    for j in range(4):
        np.testing.assert_allclose(to_pencil(network, j)(x), network(torch.tensor(x)).detach()[:, j], rtol=1e-10)
    with pytest.raises(ValueError, match="which of the layer's 4 neurons"):
        to_pencil(network)
    assert to_pencil(SpectralNeuron(2, 3).bfloat16()).packed.dtype == np.float32


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    X[::7, 1] = np.nan
    return X, np.sin(2 * X[:, 0]) + X[:, 2] ** 2


def cut(y, places):
    return np.digitize(y, np.quantile(y, places))


@pytest.mark.parametrize(
    ("kind", "places"),
    [(SpectralRegressor, None), (SpectralClassifier, [0.5]), (SpectralClassifier, [0.3, 0.6]),
     (SpectralOrdinalClassifier, [0.3, 0.6])],
)  # fmt: skip
def test_fitted_estimators_go_there_and_back(kind, places, table):
    X, y = table
    model = kind(effort="fast", random_state=0).fit(X, y if places is None else cut(y, places))
    module = SpectralEnsemble(model)
    np.testing.assert_allclose(module(*module.encode(X)).detach(), model._raw(X), rtol=1e-4, atol=1e-4)
    with torch.no_grad():
        module.coef.mul_(0.5)
    changed = module.to_estimator()
    np.testing.assert_allclose(changed._raw(X), module(*module.encode(X)).detach(), rtol=1e-4, atol=1e-4)
    assert not np.allclose(changed._raw(X), model._raw(X))
    with pytest.raises(ValueError, match="cannot go on training"):
        changed.set_params(warm_start=True).fit(X, y if places is None else cut(y, places))


def test_an_estimator_can_be_trained_on(table):
    X, y = table
    module = SpectralEnsemble(SpectralRegressor(effort="fast", random_state=0).fit(X, y))
    rows, target = module.encode(X), torch.tensor(2 * y, dtype=torch.float32)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = (module(*rows) - target).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]
    assert np.mean((module.to_estimator().predict(X) - 2 * y) ** 2) < 0.2 * losses[0]


def test_a_model_of_quantile_levels_is_refused(table):
    X, y = table
    model = SpectralQuantileRegressor(effort="fast", random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="quantile levels are inputs"):
        SpectralEnsemble(model)


def test_the_penalty_is_the_sum_of_norms_and_can_be_differentiated():
    network = nn.Sequential(layer(3, 4, 0), layer(4, 1, 1))
    expected = sum(torch.linalg.matrix_norm(part.matrices[1:], 2).sum() for part in network)
    torch.testing.assert_close(spectral_penalty(network), expected)
    spectral_penalty(network).backward()
    assert network[0].weight.grad.abs().sum() > 0
    with pytest.raises(ValueError, match="network must hold"):
        spectral_penalty(nn.Linear(2, 2))


@pytest.mark.parametrize("settings", [{}, {"monotonic_cst": [1, -1, 0], "constraint": "factor"}])
def test_the_proximal_step_minimises_what_it_should(settings):
    torch.manual_seed(0)
    neuron = SpectralNeuron(3, 4, dtype=torch.float64, **settings)
    before = neuron.matrices.detach()[1:].clone()
    shrink_(neuron, 0.2)
    after = neuron.matrices.detach()[1:]

    def objective(matrices):
        return (matrices - before).square().sum((1, 2)) / 2 + 0.2 * torch.linalg.matrix_norm(matrices, 2)

    best = objective(after)
    assert (best < objective(before)).all()
    for _ in range(200):
        noise = torch.randn_like(before) * 10 ** torch.empty(3, 1, 1).uniform_(-4, -1)
        assert (objective(after + (noise + noise.mT) / 2) >= best - 1e-9).all()


def test_a_large_threshold_gives_exact_zeros_and_training_finds_the_inputs_that_matter():
    neuron = SpectralNeuron(3, 4)
    shrink_(neuron, 100.0)
    assert (neuron.weight == 0).all()
    torch.manual_seed(0)
    x = torch.randn(256, 4)
    neuron = SpectralNeuron(4, 3)
    optimizer = torch.optim.Adam(neuron.parameters(), lr=0.02)
    handle = add_proximal_step(optimizer, neuron, alpha=0.2)
    for step in range(250):
        if step == 200:
            handle.remove()
        optimizer.zero_grad()
        (neuron(x) - x[:, 1] * 2).square().mean().backward()
        optimizer.step()
        if step == 199:
            assert (neuron.norms == 0).tolist() == [True, False, True, True]
    assert (neuron.norms > 0).all()  # after the handle was removed, nothing shrinks any more


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"monotonic_cst": 1, "constraint": "squareplus"}, "constraint must be one of"),
     ({"structure": "tridiagonal"}, "structure must be 'dense'")],
)  # fmt: skip
def test_modules_that_cannot_become_zero_are_refused(settings, message):
    neuron = SpectralNeuron(3, 4, **settings)
    with pytest.raises(ValueError, match=message):
        shrink_(neuron, 0.1)
    with pytest.raises(ValueError, match=message):
        add_proximal_step(torch.optim.SGD(neuron.parameters(), lr=0.1), neuron, 0.1)


def test_an_optimiser_of_something_else_is_refused():
    with pytest.raises(ValueError, match="optimizer must have parameters of the network"):
        add_proximal_step(torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1), SpectralNeuron(3, 4), 0.1)


OPTIMISERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.05),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01),
}


@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize("settings", [{}, {"monotonic_cst": 1, "constraint": "root"}])
def test_proximal_steps_end_at_the_minimum_of_loss_plus_penalty(name, settings):
    torch.manual_seed(0)
    neuron = SpectralNeuron(1, 1, dtype=torch.float64, **settings)  # f = a + b x
    x = torch.tensor([[-1.0], [1.0]]).double()
    optimizer = OPTIMISERS[name](neuron.parameters())
    add_proximal_step(optimizer, neuron, alpha=0.5)
    for _ in range(1500):
        optimizer.zero_grad()
        ((neuron(x) - 2 * x[:, 0]).square().mean() / 2).backward()  # ½ (b − 2)² + ½ a²: the minimum is at b = 1.5
        optimizer.step()
    assert abs(neuron.weight.item() - 1.5) < 0.01


def test_proximal_steps_follow_the_rate_that_a_loaded_state_has_and_spare_what_did_not_move():
    neuron, idle = SpectralNeuron(2, 3), SpectralNeuron(2, 3)
    optimizer = torch.optim.SGD([*neuron.parameters(), *idle.parameters()], lr=0.1)
    add_proximal_step(optimizer, nn.ModuleList([neuron, idle]), alpha=0.1)
    optimizer.load_state_dict(optimizer.state_dict())
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    before = [module.norms.detach().clone() for module in (neuron, idle)]
    neuron(torch.randn(5, 2)).sum().backward()
    optimizer.step()
    torch.testing.assert_close([module.norms.detach() for module in (neuron, idle)], before)
    for group in optimizer.param_groups:
        group["lr"] = 0.1
    optimizer.step()
    assert (neuron.norms < before[0]).any()
    torch.testing.assert_close(idle.norms.detach(), before[1])


def test_matrices_that_are_not_finite_do_not_stop_a_proximal_step():
    neuron = SpectralNeuron(2, 3)
    with torch.no_grad():
        neuron.weight[0] = torch.nan
    shrink_(neuron, 100.0)
    assert neuron.weight[0].isnan().all()
    assert (neuron.weight[1] == 0).all()


@pytest.mark.parametrize("threshold", [-1.0, torch.ones(3)])
def test_a_threshold_that_makes_no_sense_is_refused(threshold):
    with pytest.raises(ValueError, match="threshold must be"):
        shrink_(SpectralNeuron(2, 3), threshold)


def test_optimisers_whose_steps_are_not_known_and_constraints_of_another_scale_are_refused():
    neuron = SpectralNeuron(2, 3)
    with pytest.raises(TypeError, match="got Adagrad"):
        add_proximal_step(torch.optim.Adagrad(neuron.parameters()), neuron, 0.1)
    bent = SpectralNeuron(2, 3, monotonic_cst=1)
    with pytest.raises(ValueError, match=r"one of \('root',\) .* got 'factor'"):
        add_proximal_step(torch.optim.SGD(bent.parameters(), lr=0.1), bent, 0.1)
