"""Random spectral neurons of one input, all their eigenvalues, and the ramp that keeps a matrix positive."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from lambdak._types import Float64Array
from lambdak.eigen import eigenvalue
from lambdak.eigen.packing import unsym
from lambdak.explain.plots import BLUE, DARK, GREY, RED, SKY
from lambdak.paper.output.figures.canvas import plain, sheet
from lambdak.pencil.squareplus import squareplus, squareplus_slope

_COLOURS = (BLUE, SKY, DARK, RED, "#E69F00", GREY)
_POINTS = 801
_REACH = 2.0


def draw_eigenvalues() -> Figure:
    """λ_k(A + xB) for all k, A and B symmetric 5 × 5 with entries uniform in [0, 1]."""
    return _gallery(*_uniform_matrices(5, seed=3))


def draw_monotone_eigenvalues() -> Figure:
    """λ_k(A + xB) for all k, 6 × 6, with the eigenvalues of B clipped at zero: none of them falls."""
    a, b = _uniform_matrices(6, seed=0)
    values, vectors = np.linalg.eigh(b)
    return _gallery(a, vectors * np.maximum(values, 0) @ vectors.T)


def draw_squareplus() -> Figure:
    """Squareplus beside softplus and the ramp, and their derivatives, of which that of squareplus decays slowly."""
    x = np.linspace(-8, 8, _POINTS)
    figure = sheet(9.2, 3.6)
    left, right = figure.subplots(1, 2)
    left.plot(x, np.maximum(x, 0), color=GREY, linewidth=1, linestyle=":", label="max(x, 0)")
    left.plot(x, squareplus(x), color=BLUE, linewidth=2, label=r"squareplus: $(x + \sqrt{1 + x^2}) / 2$")
    left.plot(x, np.logaddexp(0, x), color=RED, linewidth=2, linestyle="--", label=r"softplus: $\ln(1 + e^x)$")
    right.plot(x, squareplus_slope(x, x), color=BLUE, linewidth=2, label="squareplus")
    right.plot(x, 1 / (1 + np.exp(-x)), color=RED, linewidth=2, linestyle="--", label="softplus")
    right.set(yscale="log", xlabel="$x$")
    left.set_xlabel("$x$")
    left.set_title("function", fontsize=10)
    right.set_title("derivative, on a logarithmic scale", fontsize=10)
    for ax in (left, right):
        plain(ax)
        ax.legend(frameon=False, fontsize=9)
    return figure


def _uniform_matrices(dim: int, seed: int) -> tuple[Float64Array, Float64Array]:
    """Two symmetric matrices with entries uniform in [0, 1]."""
    entries = np.random.default_rng(seed).uniform(0, 1, (2, dim, dim))
    a, b = np.tril(entries) + np.tril(entries, -1).swapaxes(1, 2)
    return a, b


def _gallery(a: Float64Array, b: Float64Array) -> Figure:
    """Figure of the eigenvalues of A + xB: one by one above, all together below."""
    dim, x = len(a), np.linspace(-_REACH, _REACH, _POINTS)
    values = eigenvalue(unsym(a + x[:, None, None] * b), dim, range(dim))
    figure = sheet(1.9 * dim, 6.4)
    grid = figure.add_gridspec(2, dim, height_ratios=(1, 2))
    together = figure.add_subplot(grid[1, :])
    for k in range(dim):
        ax = figure.add_subplot(grid[0, k])
        name = rf"$\lambda_{k + 1}(A + xB)$"
        for each in (ax, together):
            each.plot(x, values[:, k], color=_COLOURS[k], linewidth=1.8, label=name)
        ax.set_title(name, fontsize=10)
        plain(ax)
    plain(together)
    together.set(xlabel="$x$", xlim=(-_REACH, _REACH))
    together.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
