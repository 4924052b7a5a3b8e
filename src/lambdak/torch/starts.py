r"""Starts from data: convex fits of many random shapes, in coordinates in which the inputs are white.

With shapes S_0, …, S_n drawn at random, and a size ρ of what the inputs do to them, the neuron of

    A_0 = c I + s S_0,   A_i = p_i I + s ρ S_i,   s ≥ 0,

is f(x) = c + p·x + s λ_k(S_0 + ρ Σ x_i S_i): linear in (c, p, s), so that its least squares are convex, and cost one
eigenvalue per row and a product. Of many shapes the best one is kept.
"""

from __future__ import annotations

from typing import NamedTuple

from torch.nn.utils import parametrize

import torch
from lambdak._checks import check_int
from lambdak.torch.autograd import coordinate_eigenvalue
from lambdak.torch.inputs import check_dtype
from lambdak.torch.modules import SpectralNeuron
from lambdak.torch.packing import unsym
from torch import Tensor, nn

_LEAST, _MOST = 0.1, 3.0  # ρ, for white inputs: log-uniform
_AT_ONCE = 1 << 22  # coordinates
_MOST_ROWS = 2000  # that choose the shape
_LEAST_SHARE = 0.05  # of the target's deviation: a shape without size would never learn to turn
_FOLDED = 1e-3  # relative: what constraints may change of matrices when they are written
_SINGULAR = 1e-6  # of the variance of a scaled input: directions that vary less are not made longer


class Whitening(nn.Module):
    """z = (x − mean) W with covariance I over some rows: the coordinates in which a neuron is trained best.

    Trained on ``whitening(x)``, a neuron is brought back to x by :meth:`fold_`.

    Parameters
    ----------
    x
        Rows (rows, in_features) to take mean and covariance from.
    each
        Whether inputs keep apart, so that they are only centred and scaled: monotone inputs remain monotone.

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> x = torch.randn(500, 2) @ torch.tensor([[3.0, 1.0], [0.0, 0.2]]) + 7
    >>> whitening = Whitening(x)
    >>> bool(torch.allclose(whitening(x).T.cov(), torch.eye(2), atol=1e-2))
    True
    >>> neuron = SpectralNeuron(2, dim=3)
    >>> before = neuron(whitening(x))
    >>> whitening.fold_(neuron)
    >>> bool(torch.allclose(neuron(x), before, atol=1e-4))
    True
    """

    mean: Tensor
    basis: Tensor

    def __init__(self, x: Tensor, each: bool = False) -> None:
        super().__init__()
        if x.ndim != 2 or len(x) < 2 or not torch.isfinite(x).all():
            raise ValueError(f"x must be at least two rows of finite numbers (rows, in_features); got {tuple(x.shape)}")
        wide = x.detach().double()
        centred = wide - wide.mean(0)
        spread = centred.square().mean(0).sqrt()
        scale = torch.where(spread > 0, spread, 1.0)
        scaled = centred / scale
        correlation = scaled.T @ scaled / len(x)
        values, vectors = torch.linalg.eigh(correlation.diagonal().diag() if each else correlation)
        roots = torch.where(values > _SINGULAR, values, 1.0).rsqrt()
        self.register_buffer("mean", wide.mean(0).to(x))
        self.register_buffer("basis", (vectors * roots @ vectors.T / scale[:, None]).to(x))

    def forward(self, x: Tensor) -> Tensor:
        """White inputs (..., in_features)."""
        return (x - self.mean) @ self.basis

    def fold_(self, neuron: SpectralNeuron) -> None:
        """Turn a neuron of white inputs into that of the inputs themselves, in place."""
        with torch.no_grad():
            before = neuron.weight.clone()
            weight = self.basis.to(before) @ before  # of x: z_j = Σ_i (x_i − mean_i) W_ij
            neuron.set_weight_(weight)
            if not (neuron.weight - weight).norm() <= _FOLDED * weight.norm():
                neuron.set_weight_(before)
                raise ValueError(
                    "neuron must keep its constraints in the coordinates of x: whiten with each=True where inputs are "
                    "monotone, and do without limits of slopes and constraints on several inputs"
                )
            neuron.constant.sub_(self.mean.to(weight) @ weight)


class _Fit(NamedTuple):
    """The least squares of one shape: (c, p…, s) and the mean squared error that is left."""

    coefficients: Tensor
    loss: float


def convex_start_(
    neuron: SpectralNeuron, x: Tensor, y: Tensor, shapes: int = 200, generator: torch.Generator | None = None
) -> float:
    """Start a neuron from the best of many convex fits to y (rows,), in place; returns its root mean squared error.

    Inputs should be white, or at least standardised: :class:`Whitening`. The fits are of least squares; for another
    loss, give the numbers on whose scale the neuron is, such as logits of smoothed labels.

    Parameters
    ----------
    neuron
        Without monotone inputs, constraints and caps, which the fits do not know.
    x, y
        Rows (rows, in_features) and what the neuron should say of them, (rows,).
    shapes
        How many random shapes are fitted; the best one is kept.
    generator
        Of the random numbers; None is PyTorch's own, as for all modules.

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> x = torch.linspace(-1.7, 1.7, 200)[:, None]
    >>> y = torch.sin(2 * x[:, 0])
    >>> neuron = SpectralNeuron(1, dim=5)
    >>> error = convex_start_(neuron, x, y)
    >>> bool(error < y.std())
    True
    """
    _check(neuron, x, y)
    count = check_int(shapes, "shapes", 1, 1 << 20)
    rows = torch.randperm(len(x), generator=generator)[:_MOST_ROWS].to(x.device)
    few, target = x[rows].double(), y[rows].double()
    best: tuple[Tensor, _Fit] | None = None
    size = max(1, _AT_ONCE // (len(few) * neuron.constant.shape[-1]))
    for first in range(0, count, size):
        packed = _shapes(neuron, min(size, count - first), generator).to(few)
        values = _values(neuron, packed, few)
        i, fit = _best(values, few, target, 2 * neuron.eig_idx == neuron.dim - 1)
        if best is None or fit.loss < best[1].loss:
            best = packed[i], fit
    if best is None or best[1].loss != best[1].loss:
        raise ValueError("no shape has a finite fit: x or y are too large")
    _write_(neuron, *best)
    with torch.no_grad():
        return float((neuron(x) - y).square().mean().sqrt())


def _check(neuron: SpectralNeuron, x: Tensor, y: Tensor) -> None:
    if not isinstance(neuron, SpectralNeuron):
        raise TypeError(f"neuron must be a SpectralNeuron; got {type(neuron).__name__}: start its neurons one by one")
    if parametrize.is_parametrized(neuron, "weight"):
        raise ValueError(
            "neuron must have no monotone inputs, no constraints and no max_influence, which the fits do not know: "
            "reset_parameters starts a neuron within them"
        )
    if x.ndim != 2 or x.shape[1] != neuron.in_features or len(x) < neuron.in_features + 2:
        raise ValueError(
            f"x must have shape (rows, {neuron.in_features}), with at least {neuron.in_features + 2} rows; got "
            f"{tuple(x.shape)}"
        )
    if y.shape != (len(x),):
        raise ValueError(f"y must have shape ({len(x)},), as x has rows; got {tuple(y.shape)}")
    for tensor, name in ((x, "x"), (y, "y")):
        check_dtype(tensor, name, neuron.constant)
        if not torch.isfinite(tensor).all():
            raise ValueError(f"{name} must be finite")


def _shapes(neuron: SpectralNeuron, count: int, generator: torch.Generator | None) -> Tensor:
    """Coordinates of S_0, ρ S_1, …, ρ S_n, (count, 1 + n, width): spectra within about ±1, ρ log-uniform."""
    shape = count, 1 + neuron.in_features, neuron.constant.shape[-1]
    packed = torch.randn(shape, generator=generator, dtype=torch.float64).div((2 * neuron.dim) ** 0.5)
    rho = _LEAST * (_MOST / _LEAST) ** torch.rand((count, 1, 1), generator=generator, dtype=torch.float64)
    size = torch.cat([torch.ones_like(rho), (rho / max(neuron.in_features, 1) ** 0.5).expand(-1, shape[1] - 1, -1)], 1)
    return packed * size


def _values(neuron: SpectralNeuron, packed: Tensor, x: Tensor) -> Tensor:
    """λ_k(S_0 + ρ Σ x_i S_i), (count, rows)."""
    coords = packed[:, :1] + x @ packed[:, 1:]
    return coordinate_eigenvalue(coords, neuron.dim, neuron.eig_idx, neuron.structure == "tridiagonal")


def _best(values: Tensor, x: Tensor, y: Tensor, signed: bool) -> tuple[int, _Fit]:
    """The shape of the least squares over (c, p, s), its position and fit; s ≥ 0 unless ``signed``.

    A middle eigenvalue may have a negative s: s λ_k(S) = λ_k(s S).
    """
    linear = torch.cat([torch.ones_like(x[:, :1]), x], 1)
    basis = torch.linalg.qr(linear)[0]
    rest, target = values - values @ basis @ basis.T, y - basis @ (basis.T @ y)  # what is not linear
    size = rest.square().sum(1)
    s = (rest @ target) / size.clamp(min=torch.finfo(size.dtype).tiny)
    least = _LEAST_SHARE * y.std() / values.std(1).clamp(min=1e-12)
    s = torch.where(s.abs() < least if signed else s < least, least.copysign(s) if signed else least, s)
    losses = (target - s[:, None] * rest).square().mean(1)
    i = int(losses.nan_to_num(nan=torch.inf).argmin())
    plain = torch.linalg.lstsq(linear, (y - s[i] * values[i])[:, None]).solution[:, 0]
    return i, _Fit(torch.cat([plain, s[i : i + 1]]), float(losses[i]))


def _write_(neuron: SpectralNeuron, packed: Tensor, fit: _Fit) -> None:
    """A_0 = c I + s S_0 and A_i = p_i I + s ρ S_i."""
    eye = torch.eye(neuron.dim, dtype=torch.float64)
    identity = unsym(eye, neuron.structure == "tridiagonal").to(packed)
    plain, s = fit.coefficients[:-1], fit.coefficients[-1]
    coords = (s * packed + plain[:, None] * identity).to(neuron.constant)
    with torch.no_grad():
        neuron.constant.copy_(coords[0])
    neuron.set_weight_(coords[1:])
