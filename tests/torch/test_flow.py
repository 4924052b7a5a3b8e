"""λ_k(A + xB) as a transform: its inverse, its derivative, and the flows zuko makes of it."""

from __future__ import annotations

import subprocess
import sys
from copy import deepcopy

import numpy as np
import pytest

torch = pytest.importorskip("torch")
zuko = pytest.importorskip("zuko")

from torch.distributions import Normal, TransformedDistribution  # noqa: E402

from lambdak.torch import SpectralTransform, flow, sym  # noqa: E402
from lambdak.torch.flow import spectral_autoregressive, spectral_coupling  # noqa: E402
from lambdak.torch.packing import STRUCTURES, width  # noqa: E402

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
FLOWS = [spectral_autoregressive, spectral_coupling]


def parameters(structure, *lead, dim=5, size=1.0, dtype=torch.float64, seed=0):
    random = torch.Generator().manual_seed(seed)
    shapes = (*lead, width(dim, structure == "tridiagonal")), (*lead, dim)
    return [(size * torch.randn(shape, generator=random, dtype=torch.float64)).to(dtype) for shape in shapes]


def normal(*shape, dtype=torch.float64, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def small_flow(make, features, context=0, **settings):
    torch.manual_seed(0)
    return make(features, context, dim=5, transforms=2, hidden_features=(16,), **settings)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("eig_idx", [None, 0, 4])
def test_the_value_is_the_eigenvalue_that_lapack_finds(structure, eig_idx):
    g = SpectralTransform(*parameters(structure, 50), eig_idx=eig_idx, structure=structure)
    x = normal(50) * 3
    matrices = sym(g.matrix, 5, structure == "tridiagonal") + x[:, None, None] * torch.diag_embed(g.slopes)
    expected = np.linalg.eigvalsh(matrices.numpy())[:, 2 if eig_idx is None else eig_idx]
    np.testing.assert_allclose(g(x), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_parameters_of_zero_make_the_identity(structure):
    g = SpectralTransform(*parameters(structure, size=0.0), structure=structure)
    x = normal(20)
    torch.testing.assert_close(g(x), x)
    torch.testing.assert_close(g.log_abs_det_jacobian(x, g(x)), torch.zeros(20, dtype=torch.float64))


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("size", [0.0, 1e-7, 1e-3, 1.0], ids="size {}".format)  # of nothing the slopes are all equal
def test_the_inverse_undoes_the_transform(structure, dtype, size):
    g = SpectralTransform(*parameters(structure, 100, dim=7, size=size, dtype=dtype), structure=structure)
    ends = torch.tensor([0.0, 1e-6, -1e4, 1e4, 1e8, -1e8], dtype=dtype)
    x = torch.cat([normal(50, dtype=dtype) * 3, ends])[:, None]
    found = g.inv(g(x))
    assert found.dtype == dtype
    assert ((found - x).abs() <= TOLERANCE[dtype] * x.abs().clamp(min=1)).all()
    assert ((g(g.inv(x)) - x).abs() <= TOLERANCE[dtype] * x.abs().clamp(min=1)).all()


def test_the_inverse_is_one_eigenvalue(monkeypatch):
    calls = []
    solve = flow.coordinate_eigenvalue
    monkeypatch.setattr(flow, "coordinate_eigenvalue", lambda *args: calls.append(args) or solve(*args))
    SpectralTransform(*parameters("dense", 9)).inv(normal(4, 9))
    assert len(calls) == 1


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_logarithm_is_that_of_the_derivative(structure):
    g = SpectralTransform(*parameters(structure, 200), structure=structure)
    x = (normal(200) * 3).requires_grad_()
    (slope,) = torch.autograd.grad(g(x).sum(), x)
    y, ladj = g.call_and_ladj(x)
    torch.testing.assert_close(y, g(x))
    torch.testing.assert_close(ladj, slope.log())
    torch.testing.assert_close(g.inv.log_abs_det_jacobian(y, x), -slope.log())


@pytest.mark.parametrize("structure", STRUCTURES)
def test_it_rises_everywhere_within_its_bounds(structure):
    given = parameters(structure, 2000, size=20.0)
    g = SpectralTransform(*given, structure=structure, slope=0.1)
    low, high = (normal(2, 2000) * 5).sort(0).values
    rate = (g(high) - g(low)) / (high - low)
    assert (rate > 0.1 * (1 - 1e-9)).all()
    assert (rate < 10 * (1 + 1e-9)).all()


def test_far_out_it_is_linear_with_slopes_among_its_own():
    g = SpectralTransform(*parameters("dense", dim=6), eig_idx=1)
    ordered = g.slopes.sort().values
    far = torch.tensor([1e7, -1e7], dtype=torch.float64)
    torch.testing.assert_close(g.call_and_ladj(far)[1].exp(), ordered[[1, 4]])


@pytest.mark.slow
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("part", ["forward", "inverse", "logarithm"])
def test_derivatives_of_first_and_second_order(structure, part):
    def value(matrix, slopes, x):
        g = SpectralTransform(matrix, slopes, structure=structure)
        return {"forward": g, "inverse": g.inv, "logarithm": lambda x: g.call_and_ladj(x)[1]}[part](x)

    inputs = [tensor.requires_grad_() for tensor in (*parameters(structure, 3, dim=4), normal(3))]
    assert torch.autograd.gradcheck(value, inputs)
    assert torch.autograd.gradgradcheck(value, inputs)


def test_it_maps_and_broadcasts():
    given, x = parameters("dense", 3), normal(4, 3)
    expected = SpectralTransform(*given)(x)
    assert expected.shape == (4, 3)
    mapped = torch.func.vmap(lambda matrix, slopes, x: SpectralTransform(matrix, slopes)(x), in_dims=(0, 0, 1))
    torch.testing.assert_close(mapped(*given, x).T, expected)


def test_torch_distributions_take_it_without_zuko():
    g = SpectralTransform(*parameters("dense"))
    grid = torch.linspace(-60, 60, 20001, dtype=torch.float64)
    density = TransformedDistribution(Normal(grid.new_zeros(()), 1.0), [g.inv]).log_prob(grid).exp()
    assert abs(torch.trapezoid(density, grid).item() - 1) < 1e-4


def test_zuko_takes_it_as_any_univariate_transform():
    maf = zuko.flows.MAF(3, univariate=SpectralTransform, shapes=[(15,), (5,)], hidden_features=(8,))
    assert maf().log_prob(torch.zeros(7, 3)).shape == (7,)
    assert "SpectralTransform(dim=5, eig_idx=2, structure='dense')" in repr(maf)


@pytest.mark.slow
@pytest.mark.parametrize("make", FLOWS)
def test_densities_in_one_and_two_dimensions_integrate_to_one(make):
    line = torch.linspace(-15, 15, 401)
    with torch.no_grad():
        given = small_flow(make, 1, context=2)(torch.tensor([1.0, -2.0]))
        assert abs(torch.trapezoid(given.log_prob(line[:, None]).exp(), line).item() - 1) < 1e-3
        density = small_flow(make, 2)().log_prob(torch.cartesian_prod(line, line)).exp().reshape(401, 401)
    assert abs(torch.trapezoid(torch.trapezoid(density, line), line).item() - 1) < 1e-3


@pytest.mark.parametrize("make", FLOWS)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_flows_sample_with_context_and_gradients(make, structure):
    model = small_flow(make, 3, context=2, structure=structure)
    given = model(normal(4, 2, dtype=torch.float32))
    assert given.sample((6,)).shape == (6, 4, 3)
    given.rsample((6,)).sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
    drawn, log_prob = given.rsample_and_log_prob((6,))
    torch.testing.assert_close(log_prob, given.log_prob(drawn), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("make", FLOWS)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_flows_return_to_where_they_came_from(make, dtype):
    transform = small_flow(make, 4).to(dtype)().transform
    x = normal(200, 4, dtype=dtype)
    with torch.no_grad():
        assert (transform.inv(transform(x)) - x).abs().max() < TOLERANCE[dtype]


@pytest.mark.slow
def test_a_flow_learns_and_is_copied_with_its_state():
    model = small_flow(spectral_autoregressive, 2)
    fresh = deepcopy(model)
    x = normal(256, 2, dtype=torch.float32)
    x[:, 1] += x[:, 0].square()
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for _ in range(30):
        loss = -model().log_prob(x).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.3
    fresh.load_state_dict(model.state_dict())
    assert torch.equal(fresh().log_prob(x), model().log_prob(x))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"structure": "banded"}, "structure must be one of"),
        ({"eig_idx": 5}, r"eig_idx must be in \[0, 5\); got 5"),
        ({"scale": 0.0}, "scale must be positive"),
        ({"slope": 1.0}, r"slope must be in \(0, 1\); got 1.0"),
        ({"dim": 0}, "dim must be in"),
    ],
)
def test_bad_settings_are_refused_when_a_flow_is_made(settings, message):
    with pytest.raises(ValueError, match=message):
        spectral_coupling(2, **({"dim": 5} | settings))


def test_parameters_that_do_not_fit_are_refused():
    with pytest.raises(
        ValueError, match="matrix must have 15 entries on its last axis for 5 slopes; got shape \\(4,\\)"
    ):
        SpectralTransform(torch.zeros(4), torch.zeros(5))
    with pytest.raises(TypeError, match="floats"):
        SpectralTransform(torch.zeros(15, dtype=torch.int64), torch.zeros(5))


def test_without_zuko_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "zuko.flows", None)
    with pytest.raises(ImportError, match=r"pip install 'lambdak\[flow\]'"):
        spectral_autoregressive(2)


@pytest.mark.slow
def test_importing_the_package_does_not_load_zuko():
    code = "import sys, lambdak.torch; print('zuko' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
