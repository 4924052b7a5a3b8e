r"""The random functions of the paper's synthetic studies, many at once: piecewise cubics on [−4, 4] or its square.

Complexity c is the number of interpolation points per axis. General targets interpolate standard normal values, by a
natural cubic spline (one input) or a tensor-product cubic spline (two). Monotone ones interpolate standardised
cumulative sums of log-normal steps by PCHIP; with two inputs, c such slices in x_2 are blended along x_1 by the quintic
w(t) = 6t⁵ − 15t⁴ + 10t³, which makes them C² in x_1. So are the functions of the released runs; those of the paper's
text differ, see :class:`lambdak.paper.protocols.Conventions`.

Rising ones, of two inputs, are beyond the paper: they fall in neither. They are uniform cubic B-splines, C², whose
coefficients rise along both axes: each exceeds the larger of its two lower neighbours by a log-normal step. The
derivative in x_1 is a sum of non-negative splines times differences of neighbours along x_1, and likewise in x_2. Their
values at the c × c grid points are standardised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline, PchipInterpolator, PPoly, make_interp_spline

from lambdak._types import Float64Array
from lambdak.paper.protocols import CONVENTIONS, Conventions

LOW, HIGH = -4.0, 4.0
# Powers, ascending, of the four uniform cubic B-splines that are not zero on a piece.
_BASIS = np.array([[1, 4, 1, 0], [-3, 0, 3, 0], [3, -6, 3, 0], [-1, 3, -3, 1]]) / 6
KINDS = ("general", "monotone", "rising")


@dataclass(frozen=True, eq=False)
class Targets:
    """T functions of one or two inputs with pieces on a regular grid; ``targets(which, x)`` evaluates them.

    Attributes
    ----------
    inputs : int
    pieces : array
        (T, c − 1, 4): cubics of one input; (T, c − 1, c − 1, 4, 4): bicubics; (T, c, c − 1, 4): slices to be blended.
        Powers of the position within a piece, from 0 to 1, ascending.
    blended : bool
        Whether pieces are slices.
    """

    inputs: int
    pieces: Float64Array
    blended: bool = False

    def __len__(self) -> int:
        return len(self.pieces)

    def __call__(self, which: NDArray[np.integer], x: Float64Array) -> Float64Array:
        """Values of function ``which`` (...,) at x (..., inputs)."""
        count = self.pieces.shape[2 if self.blended else 1]
        if self.inputs == 1:
            piece, t = _locate(x[..., 0], count)
            return _horner(self.pieces[which, piece], t)
        if self.blended:
            slices = self.pieces.shape[1] - 1
            (first, t), (piece, u) = _locate(x[..., 0], slices), _locate(x[..., 1], count)
            share = quintic(t)
            low, high = (_horner(self.pieces[which, first + side, piece], u) for side in (0, 1))
            return (1.0 - share) * low + share * high
        (row, t), (column, u) = (_locate(x[..., axis], count) for axis in (0, 1))
        return _horner(_horner(self.pieces[which, row, column], u[..., None]), t)


def make_targets(
    kind: str, inputs: int, complexity: int, seeds: Sequence[int], conventions: Conventions = CONVENTIONS["own"]
) -> Targets:
    """The random functions of these seeds.

    >>> f = make_targets("monotone", 1, 5, [0])
    >>> x = np.linspace(-4, 4, 100)[:, None]
    >>> bool((np.diff(f(np.zeros(100, int), x)) >= 0).all())
    True
    """
    if kind not in KINDS or inputs not in ((2,) if kind == "rising" else (1, 2)):
        raise ValueError(f"kind must be one of {KINDS} and inputs 1 or 2, 2 if rising; got {kind!r} and {inputs!r}")
    entropy = [KINDS.index(kind), inputs, complexity]
    rngs = [np.random.default_rng(seed if conventions.authors_functions else [*entropy, seed]) for seed in seeds]
    grid = np.linspace(LOW, HIGH, complexity)
    if kind == "general" and inputs == 1:
        values = np.stack([rng.standard_normal(complexity) for rng in rngs], axis=1)
        ends = "natural" if conventions.natural_ends else "not-a-knot"
        return Targets(1, _powers(CubicSpline(grid, values, bc_type=ends)))
    if kind == "general":
        values = np.stack([_net(rng, complexity, conventions.normal_values) for rng in rngs])
        cardinal = _cardinal(grid)
        return Targets(2, np.einsum("pia,qjb,tpq->tijab", cardinal, cardinal, values, optimize=True))
    if kind == "rising":
        return Targets(2, np.stack([_risen(_rising_net(rng, complexity + 2)) for rng in rngs]))
    if inputs == 1:
        values = np.stack([_rising(rng, 1, complexity)[0] for rng in rngs], axis=1)
        return Targets(1, _powers(PchipInterpolator(grid, values)))
    together = conventions.slices_together
    slices = np.stack([_rising(rng, complexity, complexity, together) for rng in rngs])  # (T, slices, c)
    pieces = _powers(PchipInterpolator(grid, slices.reshape(-1, complexity).T))
    return Targets(2, pieces.reshape(len(rngs), complexity, complexity - 1, 4), blended=True)


def lattice(inputs: int, count: int) -> Float64Array:
    """About ``count`` regular points, (points, inputs)."""
    axes = [np.linspace(LOW, HIGH, round(count ** (1 / inputs)))] * inputs
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, inputs)


def quintic(t: Float64Array) -> Float64Array:
    """w(t) = 6t⁵ − 15t⁴ + 10t³: from 0 to 1, with first and second derivatives that vanish at both ends."""
    return t**3 * (10.0 + t * (6.0 * t - 15.0))


def _net(rng: np.random.Generator, complexity: int, normal: bool) -> Float64Array:
    """Values at c × c grid points, standard normal or uniform with the same variance; the text says no range."""
    shape = complexity, complexity
    return rng.standard_normal(shape) if normal else rng.uniform(-(3**0.5), 3**0.5, shape)


def _rising(rng: np.random.Generator, slices: int, count: int, together: bool = True) -> Float64Array:
    """Cumulative sums of log-normal steps, (slices, count), standardised together or each by itself."""
    values, axis = np.cumsum(rng.lognormal(size=(slices, count)), axis=1), None if together else 1
    return np.asarray((values - values.mean(axis, keepdims=True)) / values.std(axis, keepdims=True))


def _rising_net(rng: np.random.Generator, count: int) -> Float64Array:
    """Last-passage times of log-normal steps: (count, count), rising along both axes, without a wanted curvature."""
    net = rng.lognormal(size=(count, count))
    for i, j in np.ndindex(net.shape):
        net[i, j] += max(net[i - 1, j] if i else 0.0, net[i, j - 1] if j else 0.0)
    return net


def _risen(net: Float64Array) -> Float64Array:
    """(c − 1, c − 1, 4, 4): powers of the B-spline of these (c + 2)² coefficients, standardised at the grid points."""
    at_points = np.einsum("p,q,ijpq->ij", *[_BASIS[0, :3]] * 2, sliding_window_view(net, (3, 3)))
    windows = sliding_window_view((net - at_points.mean()) / at_points.std(), (4, 4))
    return np.asarray(np.einsum("ap,bq,ijpq->ijab", _BASIS, _BASIS, windows))


def _powers(spline: PPoly) -> Float64Array:
    """(functions, pieces, 4): ascending powers of the position within a piece."""
    width = np.diff(spline.x)[:, None]
    rows = [spline.c[3 - k] * width**k for k in range(4)]
    return np.asarray(np.stack(rows, axis=-1).swapaxes(0, 1))


def _cardinal(grid: Float64Array) -> Float64Array:
    """Powers (functions, pieces, 4) of the cubic splines that are one at one grid point and zero at the others."""
    spline, width = make_interp_spline(grid, np.eye(len(grid))), grid[1] - grid[0]
    rows = [spline(grid[:-1], k) * width**k / factorial(k) for k in range(4)]  # (pieces, functions) each
    return np.asarray(np.stack(rows, axis=-1).swapaxes(0, 1))


def _locate(x: Float64Array, pieces: int) -> tuple[NDArray[np.intp], Float64Array]:
    """Which piece a coordinate is in, and where in it, from 0 to 1."""
    position = (x - LOW) * (pieces / (HIGH - LOW))
    piece = np.clip(position.astype(np.intp), 0, pieces - 1)
    return piece, position - piece


def _horner(powers: Float64Array, t: Float64Array) -> Float64Array:
    return np.asarray(((powers[..., 3] * t + powers[..., 2]) * t + powers[..., 1]) * t + powers[..., 0])
