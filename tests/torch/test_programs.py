"""Modules as programs: compiled in one graph, exported and traced with a batch of any size, refused by ONNX."""

from __future__ import annotations

import warnings

import pytest

import torch
from lambdak.torch import (
    HyperSpectralNeuron,
    SparseSpectralNeuron,
    SpectralLayer,
    SpectralNeuron,
    eigenpair,
    eigenvalue,
    spectral_norm,
    spectral_penalty,
)
from torch import nn

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),  # those of the compiler itself
]


class Function(nn.Module):
    """A function of packed matrices."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Penalised(nn.Module):
    """What a loss with the penalty computes."""

    def __init__(self):
        super().__init__()
        self.neuron = SpectralNeuron(3, 5, monotonic_cst=[1, 0, 0], max_influence=0.4)

    def forward(self, x):
        return self.neuron(x) + spectral_penalty(self.neuron)


def hyper(**settings):
    return HyperSpectralNeuron(nn.Linear(2, 6), 3, 4, encoder_features=6, **settings)


def rows(*shape):
    return torch.randn(8, *shape)


def ids():
    return torch.randint(20, (8, 2))


CASES = {
    "neuron": lambda: (SpectralNeuron(3, 5), rows(3)),
    "rows of rows": lambda: (SpectralNeuron(3, 5), rows(2, 3)),
    "capped": lambda: (SpectralNeuron(3, 5, monotonic_cst=[1, 0, -1], max_influence=0.3), rows(3)),
    "root": lambda: (SpectralNeuron(3, 5, monotonic_cst=1, constraint="root"), rows(3)),
    "tridiagonal": lambda: (SpectralNeuron(3, 5, structure="tridiagonal", monotonic_cst=1), rows(3)),
    "layer": lambda: (SpectralLayer(3, 4, 5), rows(3)),
    "network": lambda: (nn.Sequential(SpectralLayer(3, 4, 5), SpectralLayer(4, 1, 5)), rows(3)),
    "sparse": lambda: (SparseSpectralNeuron(20, 5, active=2, sparse=False), ids()),
    "sparse with values": lambda: (SparseSpectralNeuron(20, 5, active=2, sparse=False), ids(), rows(2)),
    "hyper": lambda: (hyper(monotonic_cst=[1, 0, -1]), rows(2), rows(3)),
    "hyper, points": lambda: (hyper(), rows(2), rows(7, 3)),
    "several indices": lambda: (Function(lambda packed: eigenvalue(packed, 5, [0, 2])), rows(15)),
    "pairs": lambda: (Function(lambda packed: eigenpair(packed, 5, (1, 3)).vector.square()), rows(15)),
    "norms": lambda: (Function(lambda packed: spectral_norm(packed, 5)), rows(15)),
    "penalty": lambda: (Penalised(), rows(3)),
}


@pytest.fixture(params=CASES)
def case(request):
    torch.manual_seed(0)
    torch.compiler.reset()
    module, *inputs = CASES[request.param]()
    return module, inputs


def sized(inputs, size):
    return [torch.cat([part, part])[:size] for part in inputs]


def assert_same(program, module, inputs):
    for size in (5, 8, 1, 13):
        given = sized(inputs, size)
        torch.testing.assert_close(program(*given), module(*given))


@pytest.mark.parametrize("strict", [False, True])
def test_exported_programs_take_batches_of_any_size(case, strict):
    module, inputs = case
    batch = torch.export.Dim("batch")
    shapes = tuple({0: batch} for _ in inputs)
    program = torch.export.export(module, tuple(inputs), dynamic_shapes=shapes, strict=strict)
    assert_same(program.module(), module, inputs)


def test_compiled_modules_are_one_graph_for_batches_of_any_size(case):
    module, inputs = case
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    assert_same(compiled, module, inputs)
    if parameters := list(module.parameters()):
        ours, theirs = (torch.autograd.grad(made(*inputs).square().sum(), parameters) for made in (compiled, module))
        torch.testing.assert_close(ours, theirs)


def test_a_changing_batch_is_compiled_twice_at_most():
    torch.compiler.reset()
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    network = nn.Sequential(SpectralLayer(3, 4, 5), SpectralLayer(4, 1, 5))
    compiled = torch.compile(network, backend=counter, fullgraph=True)
    for size in range(2, 12):
        compiled(torch.randn(size, 3))
    assert counter.frame_count <= 2  # one batch, then any batch


def test_traced_modules_take_batches_of_any_size_with_and_without_gradients(case):
    module, inputs = case
    for enabled in (True, False):
        with torch.set_grad_enabled(enabled), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the tracer is deprecated
            traced = torch.jit.trace(module, tuple(inputs))
            assert_same(traced, module, inputs)


def test_sparse_gradients_do_not_stand_in_the_way_of_export():
    module, given = SparseSpectralNeuron(20, 5, active=2), ids()
    program = torch.export.export(module, (given,), dynamic_shapes=({0: torch.export.Dim("batch")},))
    assert_same(program.module(), module, [given])


def test_exported_programs_hold_the_value_alone_and_can_be_trained():
    neuron, x = SpectralNeuron(3, 5), rows(3)
    program = torch.export.export(neuron, (x,))
    called = {node.target for node in program.graph.nodes if node.op == "call_function"}
    assert torch.ops.lambdak.eigenvalue.default in called
    assert torch.ops.lambdak.eigenpair.default not in called
    trained = program.module()
    trained(x).sum().backward()
    neuron(x).sum().backward()
    torch.testing.assert_close(trained.weight.grad, neuron.weight.grad)


@pytest.mark.filterwarnings("ignore")  # the exporter that needs no further package is deprecated
def test_onnx_is_refused_in_one_sentence(tmp_path):
    with pytest.raises(NotImplementedError, match="ONNX has no operator for eigenvalues"):
        torch.onnx.export(SpectralNeuron(3, 5), (rows(3),), str(tmp_path / "neuron.onnx"), dynamo=False)


def test_the_newer_onnx_exporter_meets_the_same_sentence(monkeypatch):
    monkeypatch.setattr(torch.onnx, "is_in_onnx_export", lambda: True)
    with pytest.raises(NotImplementedError, match="ONNX has no operator for eigenvalues"):
        torch.export.export(SpectralNeuron(3, 5), (rows(3),))
