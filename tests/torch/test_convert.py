"""To and from the core: pencils, layers and fitted estimators."""

from __future__ import annotations

import numpy as np
import pytest
from research_cases import MODULES
from torch_cases import layer

import torch
from lambdak import Pencil, SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.optimize import minimize
from lambdak.torch import (
    SpectralEnsemble,
    SpectralLayer,
    SpectralNeuron,
    from_pencil,
    to_pencil,
)


def test_pencils_go_there_and_back():
    rng = np.random.default_rng(0)
    pencil = Pencil(rng.standard_normal((4, 15)), 1)
    neuron, x = from_pencil(pencil), rng.standard_normal((6, 3))
    np.testing.assert_allclose(neuron(torch.tensor(x)).detach(), pencil(x), rtol=1e-12)
    assert to_pencil(neuron) == pencil
    tridiagonal = SpectralNeuron(3, 5, structure="tridiagonal", dtype=torch.float64)
    np.testing.assert_allclose(tridiagonal(torch.tensor(x)).detach(), to_pencil(tridiagonal)(x), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("make", MODULES.values(), ids=MODULES)
def test_what_is_not_one_eigenvalue_of_one_pencil_is_refused(make):
    with pytest.raises(TypeError, match="neuron must be a SpectralNeuron or a SpectralLayer; got"):
        to_pencil(make())


def test_a_constraint_that_cannot_express_the_pencil_is_an_error():
    pencil = Pencil(np.array([[0.0, 1.0, 0.0], [1.0, 0.5, 2.0], [-1.0, 0.0, 1.0]]))
    assert from_pencil(pencil, [1, 0], "factor").monotonic_cst == (1, 0)
    with pytest.raises(ValueError, match=r"monotonic_cst\[1\] must be 0, as the pencil's matrix is; got -1"):
        from_pencil(pencil, [1, -1], "factor")
    with pytest.raises(ValueError, match=r"must be 0, as"):  # nearly semidefinite is not semidefinite
        from_pencil(Pencil(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, -5e-4]])), [1])
    with pytest.raises(ValueError, match="express the matrix of feature 0; got 'diagonal'"):
        from_pencil(pencil, [1, 0], "diagonal")


def test_neurons_are_minimised_as_their_pencils():
    _ = torch.manual_seed(0)
    neuron, layer_ = SpectralNeuron(2, 4, monotonic_cst=[1, 0]), SpectralLayer(2, 3, dim=3)
    box = [(-2, 2), (-1, 1)]
    for ours, pencil in [
        (minimize(neuron, bounds=box, gap=1e-2), to_pencil(neuron)),
        (minimize(layer_, bounds=box, gap=1e-2, output=1), to_pencil(layer_, 1)),
    ]:
        theirs = minimize(pencil, bounds=box, gap=1e-2)
        assert (ours.row, ours.value, ours.bound) == (theirs.row, theirs.value, theirs.bound)
    with pytest.raises(ValueError, match="which of the layer's 3 neurons"):
        minimize(layer_, bounds=box)
    with pytest.raises(ValueError, match="SpectralNeuron has one output"):
        minimize(neuron, bounds=box, output=1)
    with pytest.raises(TypeError, match=r"Sequential, a module that is no single spectral neuron.*torch\.optim"):
        minimize(torch.nn.Sequential(neuron), bounds=box)


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


@pytest.mark.slow
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
    with pytest.raises(ValueError, match="training cannot continue"):
        changed.set_params(warm_start=True).fit(X, y if places is None else cut(y, places))


@pytest.mark.slow
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
