"""What PyTorch offers for modules works for neurons and layers: states, compilers, transforms, devices.

Tests ``states``.
"""

from __future__ import annotations

import copy
import pickle
from multiprocessing.reduction import ForkingPickler

import pytest
from torch.nn.utils import parametrize
from torch_cases import scrambled

import torch
from lambdak.torch import (
    GeneralizedSpectralNeuron,
    HermitianSpectralNeuron,
    OrderedSpectralLayer,
    SpectralLayer,
    SpectralMixture,
    SpectralNeuron,
    eigenvalue,
    guarantees,
)
from torch import nn


def test_state_dicts_copies_and_casts_keep_the_function(kind):
    neuron, x = scrambled(SpectralNeuron(3, 5, **kind)), torch.randn(6, 3)
    other = SpectralNeuron(3, 5, **kind)
    other.load_state_dict(neuron.state_dict())
    assert torch.equal(other(x), neuron(x))
    assert torch.equal(copy.deepcopy(neuron)(x), neuron(x))
    torch.testing.assert_close(copy.deepcopy(neuron).double()(x.double()).float(), neuron(x), rtol=1e-4, atol=1e-4)


MONOTONE = {"monotonic_cst": [1, 0, -1]}
CONSTRAINED = {
    "neuron": lambda **more: SpectralNeuron(3, 4, **{**MONOTONE, **more}),
    "layer": lambda **more: SpectralLayer(3, 5, 4, **{**MONOTONE, **more}),
    "ordered": lambda **more: OrderedSpectralLayer(3, 2, 4, **{**MONOTONE, **more}),
    "generalised": lambda **more: GeneralizedSpectralNeuron(3, 4, **{**MONOTONE, **more}),
    "mixture": lambda **more: SpectralMixture(3, 4, **{**MONOTONE, **more}),
    "Hermitian": lambda **more: HermitianSpectralNeuron(3, 4, **{**MONOTONE, **more}),
}


@pytest.mark.parametrize("build", CONSTRAINED.values(), ids=CONSTRAINED)
def test_constrained_modules_are_pickled_and_sent_to_other_processes(build):
    module, x = scrambled(build(max_influence=0.5)), torch.randn(6, 3)
    for twin in (pickle.loads(pickle.dumps(module)), ForkingPickler.loads(ForkingPickler.dumps(module))):
        assert torch.equal(twin(x), module(x))
        assert repr(twin) == repr(module)
        assert (twin.monotonic_cst, twin.max_influence) == (module.monotonic_cst, module.max_influence)
    twin = copy.copy(module)
    assert twin.state_dict().keys() == module.state_dict().keys()
    assert torch.equal(twin(x), module(x))


@pytest.mark.parametrize("build", CONSTRAINED.values(), ids=CONSTRAINED)
def test_modules_without_free_rows_have_no_empty_parameter(build):
    """FSDP2 shards none; states of modules with one still load, and nothing else changes."""
    module, x = scrambled(build(monotonic_cst=1)), torch.randn(6, 3)
    assert all(parameter.numel() for parameter in module.parameters())
    assert "parametrizations.weight.original0" in module.state_dict()
    twin = build(monotonic_cst=1)
    twin.load_state_dict(module.state_dict())
    twin.weight = twin.weight.detach()
    torch.testing.assert_close(twin(x), module(x), rtol=1e-4, atol=1e-4)
    assert torch.equal(pickle.loads(pickle.dumps(module))(x), module(x))


@pytest.mark.parametrize("build", CONSTRAINED.values(), ids=CONSTRAINED)
def test_parameters_are_contiguous_after_construction_loading_and_assignment(build):
    module = build(max_influence=0.5)
    module.load_state_dict(build(max_influence=0.5).state_dict())
    module.weight = module.weight.detach().mT.contiguous().mT
    assert all(parameter.is_contiguous() for parameter in module.parameters())
    nn.utils.vector_to_parameters(nn.utils.parameters_to_vector(module.parameters()), module.parameters())


def test_weights_of_other_eigenvalues_are_refused_and_states_of_before_load():
    convex, concave = SpectralNeuron(3, 5, eig_idx=4), SpectralNeuron(3, 5, eig_idx=0)
    with pytest.raises(ValueError, match=r"eigenvalues \[4\], this module has eig_idx=0"):
        nn.Sequential(concave).load_state_dict(nn.Sequential(convex).state_dict())
    state = convex.state_dict()
    del state["_extra_state"]
    concave.load_state_dict(state)
    assert torch.equal(concave.weight, convex.weight)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # those of the compiler itself
def test_a_network_of_two_layers_compiles_and_exports_whole():
    torch.manual_seed(0)
    network = nn.Sequential(SpectralLayer(3, 4, 5, monotonic_cst=[1, 0, 0]), SpectralLayer(4, 1, 5))
    x = torch.randn(8, 3)
    compiled = torch.compile(network, fullgraph=True)
    torch.testing.assert_close(compiled(x), network(x))
    compiled(x).sum().backward()
    ours = [parameter.grad.clone() for parameter in network.parameters()]
    network.zero_grad()
    network(x).sum().backward()
    torch.testing.assert_close(ours, [parameter.grad for parameter in network.parameters()])
    torch.testing.assert_close(torch.export.export(network, (x,)).module()(x), network(x))


def test_vectorised_jacobians_agree_with_plain_ones():
    packed = torch.randn(2, 10, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian
    plain, fast = (jacobian(lambda a: eigenvalue(a, 4, 1), packed, vectorize=flag) for flag in (False, True))
    torch.testing.assert_close(plain, fast)


@pytest.mark.parametrize("constraint", ["factor", "root", "squareplus"])
def test_per_sample_gradients_of_constrained_neurons_agree_with_a_loop(constraint):
    torch.manual_seed(0)
    neuron = SpectralNeuron(2, 4, monotonic_cst=[1, 0], constraint=constraint, dtype=torch.float64)
    x, values = torch.randn(5, 2).double(), dict(neuron.named_parameters())

    def loss(parameters, row):
        return torch.func.functional_call(neuron, parameters, (row,))

    found = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(values, x)
    for i, row in enumerate(x):
        for name, grad in zip(values, torch.autograd.grad(neuron(row), list(values.values())), strict=True):
            torch.testing.assert_close(found[name][i], grad)


def test_modules_can_be_made_on_the_meta_device_and_filled_later(kind):
    torch.manual_seed(0)
    real, x = SpectralNeuron(3, 5, **kind), torch.randn(4, 3)
    with torch.device("meta"):
        empty = SpectralNeuron(3, 5, **kind)
    for made in (empty, SpectralNeuron(3, 5, device="meta", **kind)):
        filled = made.to_empty(device="cpu")
        filled.load_state_dict(real.state_dict())
        torch.testing.assert_close(filled(x), real(x))


def test_a_removed_parametrisation_is_neither_shown_nor_promised():
    neuron = SpectralNeuron(3, 5, monotonic_cst=[1, 0, 0], max_influence=1.0)
    assert guarantees(neuron).monotone == (1, 0, 0)
    weight = neuron.weight.detach().clone()
    parametrize.remove_parametrizations(neuron, "weight")
    torch.testing.assert_close(neuron.weight.detach(), weight)
    assert (neuron.monotonic_cst, neuron.constraint, neuron.max_influence) == ((0, 0, 0), None, None)
    assert neuron.extra_repr() == "in_features=3, dim=5, eig_idx=2"
    assert guarantees(neuron).monotone == (0, 0, 0)
