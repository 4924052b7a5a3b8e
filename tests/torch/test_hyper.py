"""Hyper-networks: a neuron per context, in shape whatever is predicted."""

from __future__ import annotations

import numpy as np
import pytest
from hyper_cases import scrambled

import torch
from lambdak.torch import HyperSpectralNeuron, spectral_norm
from torch import nn

KINDS = {
    "free": {},
    "one rises": {"monotonic_cst": [0, 1, 0]},
    "several": {"monotonic_cst": [1, 0, -1]},
    "all fall": {"monotonic_cst": -1, "constraint": "squareplus"},
    "tridiagonal": {"monotonic_cst": [1, 0, -1], "structure": "tridiagonal"},
    "convex": {"eig_idx": 3, "monotonic_cst": 1},
}


@pytest.fixture(params=KINDS)
def kind(request):
    torch.manual_seed(0)
    return KINDS[request.param]


def test_the_value_is_an_eigenvalue_of_the_predicted_matrices(kind):
    model, context, x = scrambled(**kind), torch.randn(5, 2).double(), torch.randn(5, 7, 3).double()
    matrices = model.at(context).matrices  # (5, 4, d, d)
    whole = matrices[:, None, 0] + torch.einsum("cpi,cijk->cpjk", x, matrices[:, 1:])
    torch.testing.assert_close(model(context, x), torch.linalg.eigvalsh(whole)[..., model.eig_idx])
    torch.testing.assert_close(model(context, x[:, 0]), model(context, x)[:, 0])


def test_slopes_are_the_derivatives(kind):
    model, context = scrambled(**kind), torch.randn(5, 2).double()
    for shape in ((5, 3), (5, 7, 3)):
        x = torch.randn(shape).double().requires_grad_()
        value, slopes = model.value_and_slopes(context, x)
        torch.testing.assert_close(value, model(context, x))
        torch.testing.assert_close(slopes, torch.autograd.grad(value.sum(), x, retain_graph=True)[0])
        torch.testing.assert_close(model.slopes(context, x), slopes)


def test_matrices_of_monotone_inputs_are_semidefinite_for_every_context(kind):
    model = scrambled(**kind)
    eigenvalues = torch.linalg.eigvalsh(model.at(100 * torch.randn(50, 2).double()).matrices[:, 1:])
    assert len(model.monotonic_cst) == 3
    for i, sign in enumerate(model.monotonic_cst):
        smallest = (sign * eigenvalues[:, i]).amin(-1)
        assert (smallest >= -1e-13 * eigenvalues[:, i].abs().amax(-1)).all() if sign else smallest.min() >= 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_curves_never_turn_back_beyond_rounding(kind, dtype):
    model, context = scrambled(dtype=dtype, **kind), torch.randn(40, 2, dtype=dtype)
    x, further = torch.randn(2, 40, 200, 3, dtype=dtype)
    sizes = spectral_norm(model.at(context).constant, 4, model.structure == "tridiagonal")
    sizes = sizes + torch.linalg.matrix_norm(model.at(context).matrices[:, 1:], 2).sum(-1) * further.abs().amax()
    for i, sign in enumerate(model.monotonic_cst):
        there = x.clone()
        there[..., i] = torch.maximum(x[..., i], further[..., i])
        change = (model(context, there) - model(context, x)) * sign
        assert (change >= -8 * torch.finfo(dtype).eps * sizes[:, None]).all()


def test_one_monotone_input_grows_the_matrix_exactly_in_floating_point():
    torch.manual_seed(0)
    model, context = scrambled(dtype=torch.float32, inputs=1, monotonic_cst=1), torch.randn(40, 2)
    x = torch.randn(40, 100, 1).sort(1).values
    change = model.at(context)._coords(x).diff(dim=1)
    diagonal = [0, 2, 5, 9]
    others = [i for i in range(10) if i not in diagonal]
    assert (change[..., diagonal] >= 0).all()
    assert (change[..., others] == 0).all()


def test_value_and_slopes_can_be_differentiated_with_respect_to_everything():
    torch.manual_seed(0)
    model, context = scrambled(monotonic_cst=[0, 1, 0]), torch.randn(2, 2).double().requires_grad_()
    x = torch.randn(2, 3).double().requires_grad_()
    assert torch.autograd.gradcheck(model.value_and_slopes, (context, x))


def test_training_starts_near_the_papers_neuron_for_all_contexts():
    torch.manual_seed(0)
    model = HyperSpectralNeuron(nn.Identity(), 3, 4, monotonic_cst=[0, 1, 0], encoder_features=6)
    matrices = model.at(torch.zeros(5, 6)).matrices.detach()
    assert torch.equal(matrices, matrices[:1].expand_as(matrices))
    torch.testing.assert_close(
        torch.linalg.eigvalsh(matrices[0, 0]), torch.tensor([-1.0, -1.0, 0.0, 1.0]), atol=1e-5, rtol=0
    )
    assert torch.linalg.eigvalsh(matrices[0, 2]).min() > 0.1
    spectra = torch.linalg.eigvalsh(model.at(torch.randn(50, 6)).matrices[:, 0])
    assert (spectra.diff()[:, 1:] > 0.3).all()  # the gaps around λ_k stay open


def test_a_context_may_be_anything_the_encoder_takes():
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.levels, self.calls = nn.Embedding(5, 3), 0

        def forward(self, context):
            self.calls += 1
            levels, numbers = context
            return torch.cat([self.levels(levels), numbers["a"]], -1)

    model = HyperSpectralNeuron(Encoder(), 1, 3, monotonic_cst=[1])
    context = torch.tensor([[0, 4, 2]]), {"a": torch.randn(1, 3, 2)}
    assert model(context, torch.randn(1, 3, 1)).shape == (1, 3)
    assert model.head.in_features == 5
    model.encoder.calls = 0
    assert model(context, torch.randn(1, 3, 100, 1)).shape == (1, 3, 100)
    assert model.encoder.calls == 1


def test_a_state_comes_back_even_before_the_first_call():
    torch.manual_seed(0)
    encoder, context, x = nn.Linear(2, 6), torch.randn(5, 2), torch.randn(5, 1)
    first, second = (HyperSpectralNeuron(encoder, 1, 5, monotonic_cst=[1]) for _ in range(2))
    value = first(context, x)
    second.load_state_dict(first.state_dict())
    assert torch.equal(second(context, x), value)
    first.reset_parameters()
    assert not torch.equal(first(context, x), value)


@pytest.mark.slow
def test_compiled_in_one_graph_and_equal_to_eager():
    torch.manual_seed(0)
    model, context, x = scrambled(**KINDS["several"]), torch.randn(5, 2).double(), torch.randn(5, 3).double()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(context, x), model(context, x))
    compiled(context, x).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_an_empty_batch_and_half_precision_pass(kind):
    model = scrambled(dtype=torch.float32, **kind)
    assert model(torch.empty(0, 2), torch.empty(0, 3)).shape == (0,)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert model(torch.randn(5, 2), torch.randn(5, 3)).dtype == torch.float32


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: HyperSpectralNeuron(nn.Identity(), 2, 3, monotonic_cst=[1]), "monotonic_cst must have 2 entries"),
        (lambda: HyperSpectralNeuron(nn.Identity(), 1, 3, 3), r"eig_idx must be in \[0, 3\); got 3"),
        (lambda: HyperSpectralNeuron(nn.Identity(), 1, 3, encoder_features=0), "encoder_features must be in"),
        (lambda: scrambled()(torch.randn(5, 2).double(), torch.randn(5, 2)), r"have shape \(5, 3\) or \(5, points"),
        (lambda: scrambled()(torch.randn(5, 2).double(), torch.randn(3)), r"got \(3,\)"),
        (lambda: scrambled()(torch.randn(5, 2).double(), torch.randn(4, 3)), r"got \(4, 3\)"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_settings_are_shown():
    assert "in_features=3, dim=4, eig_idx=2, monotonic_cst=[1, 0, -1], constraint='factor'" in repr(
        scrambled(monotonic_cst=[1, 0, -1])
    )


def test_one_sign_for_all_inputs_may_be_a_number_of_numpy():
    assert HyperSpectralNeuron(nn.Identity(), 2, 3, monotonic_cst=np.int64(1)).monotonic_cst == (1, 1)
