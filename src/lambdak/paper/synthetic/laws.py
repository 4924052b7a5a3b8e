r"""Scaling laws of the test error against dim d and samples n, fitted to the median curves of a study.

No law may exceed the error σ of the best constant, so e^−2 = σ^−2 + r^−2 with one of five forms of r. The one that,
fitted to all dims but the largest, predicts the largest best is taken:

    product           r = A d^−α n^−β
    sum               r = A d^−α + B n^−β
    sum, coupled      r = A d^−α + B d^γ n^−β
    squares           r² = (A d^−α)² + (B n^−β)²
    squares, coupled  r² = (A d^−α)² + (B d^γ n^−β)²

The first part is what a matrix of dim d can do, the second what n samples have taught it; with γ > 0 larger matrices
learn more slowly, with γ < 0 faster. Fits are by least squares on log e. Their spread is that of fits to resampled
targets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from lambdak._types import Float64Array
from lambdak.paper.synthetic.grid import FITS, Cell, Grid
from lambdak.paper.synthetic.results import read_cells
from lambdak.paper.synthetic.selection import select
from lambdak.paper.synthetic.sweep import CellResult
from lambdak.paper.synthetic.targets import lattice, make_targets

NAMES = ("alpha", "beta", "gamma")  # of the exponents
FIRST = 1_000  # samples: before, models have hardly left their start
_STARTS = ((0.5, 0.3), (1.0, 0.5), (2.0, 0.3), (1.0, 1.0))  # (α, β)

# Parameters are log A, α, log B, β and γ, within bounds; a part that the errors do not show ends at one of them.
# Arguments are log d and log n, the value is log r.
_BOUNDS = ((-30.0, 0.0, -30.0, 0.0, -2.0), (30.0, 8.0, 30.0, 2.0, 2.0))
FORMS: dict[str, Callable[[Float64Array, Float64Array, Float64Array], Float64Array]] = {
    "product": lambda p, d, n: p[0] - p[1] * d - p[3] * n,
    "sum": lambda p, d, n: np.logaddexp(p[0] - p[1] * d, p[2] - p[3] * n),
    "sum, coupled": lambda p, d, n: np.logaddexp(p[0] - p[1] * d, p[2] - p[3] * n + p[4] * d),
    "squares": lambda p, d, n: np.logaddexp(2 * (p[0] - p[1] * d), 2 * (p[2] - p[3] * n)) / 2,
    "squares, coupled": lambda p, d, n: np.logaddexp(2 * (p[0] - p[1] * d), 2 * (p[2] - p[3] * n + p[4] * d)) / 2,
}


@dataclass(frozen=True, eq=False)
class Curves:
    """The cells of a study that differ in their dim alone."""

    cell: Cell  # with the largest dim
    dims: tuple[int, ...]
    samples: NDArray[np.int64]
    results: tuple[CellResult, ...]  # one per dim
    sigma: float  # the error of the best constant, the median over targets

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which samples a law is fitted to: those from ``FIRST`` on, of a short study the last two."""
        return np.asarray(self.samples >= min(FIRST, self.samples[-2]))

    def medians(self, targets: NDArray[np.intp] | None = None) -> Float64Array:
        """Median test error of the rate that won, (dims, samples), of all targets or of these."""
        some = slice(None) if targets is None else targets
        return np.stack([select(CellResult(r.validation[some], r.test[some])).median for r in self.results])


@dataclass(frozen=True, eq=False)
class Law:
    """A scaling law of one form, fitted: the error at a dim and a number of samples."""

    form: str
    sigma: float
    params: Float64Array

    def __call__(self, dim: NDArray[np.generic] | float, samples: NDArray[np.generic] | float) -> Float64Array:
        """The error that it predicts."""
        logs = (np.log(np.asarray(part, float)) for part in (dim, samples))
        return np.asarray(np.exp(_log_error(self.form, self.sigma, self.params, *logs)))

    @property
    def exponents(self) -> Float64Array:
        """α, β and γ; the last is zero in forms without it."""
        return self.params[[1, 3, 4]] * (1, 1, self.form.endswith("coupled"))


def exponent(value: float) -> str:
    """Two digits, or that it is at the largest α that is tried; bounds of β and γ are not marked.

    >>> exponent(1.234), exponent(8.0)
    ('1.23', '≥ 8')
    """
    largest = _BOUNDS[1][1]
    return f"≥ {largest:g}" if value > largest - 0.005 else f"{value:.2f}"


def read_curves(folder: Path) -> list[Curves]:
    """All curves of a study; one that is not done is an error."""
    groups: dict[Cell, dict[int, CellResult]] = {}
    for cell, grid, result in read_cells(folder):
        groups.setdefault(replace(cell, dim=max(grid.dims)), {})[cell.dim] = result
    if not groups or sum(map(len, groups.values())) < len(list(grid.cells())):
        raise FileNotFoundError(f"{folder} lacks cells: run `lambdak reproduce` to its end")
    dims, samples = tuple(sorted(grid.dims)), np.multiply(grid.checkpoints, grid.batch)
    return [
        Curves(cell, dims, samples, tuple(of_cell[dim] for dim in dims), _sigma(cell, grid))
        for cell, of_cell in groups.items()
    ]


def _sigma(cell: Cell, grid: Grid) -> float:
    """The median over targets of their standard deviation over the test points."""
    targets = make_targets(FITS[cell.fit].target, cell.inputs, cell.complexity, range(grid.targets))
    x = lattice(cell.inputs, grid.measured)
    return float(np.median(targets(np.arange(grid.targets)[:, None], x[None]).std(axis=1)))


def fit_law(form: str, curves: Curves, errors: Float64Array, dims: int | None = None) -> Law:
    """The form's parameters that fit errors (dims, samples) best, on a logarithmic scale; of this many dims or all."""
    samples, aim = curves.samples[curves.used], np.log(errors[:dims, curves.used])
    d, n = np.meshgrid(np.log(curves.dims[:dims]), np.log(samples), indexing="ij")

    def wrong(params: Float64Array) -> Float64Array:
        return (_log_error(form, curves.sigma, params, d, n) - aim).ravel()

    starts = [(aim.max() + a * d.min(), a, aim.max() + b * n.min(), b, 0.0) for a, b in _STARTS]
    fits = [least_squares(wrong, np.clip(start, *_BOUNDS), bounds=_BOUNDS) for start in starts]
    return Law(form, curves.sigma, min(fits, key=lambda fit: fit.cost).x)


def prediction_error(form: str, curves: Curves) -> float:
    """RMS of log(predicted / measured) for the largest dim, by the law of the others."""
    errors = curves.medians()
    law = fit_law(form, curves, errors, -1)
    return rms(np.log(law(curves.dims[-1], curves.samples) / errors[-1])[curves.used])


def choose_form(all_curves: Iterable[Curves]) -> dict[str, float]:
    """Forms by the RMS of their prediction errors over all curves, the best first."""
    found = list(all_curves)
    misfits = {form: rms(np.array([prediction_error(form, each) for each in found])) for form in FORMS}
    return dict(sorted(misfits.items(), key=lambda item: item[1]))


def bootstrap(form: str, curves: Curves, times: int, seed: int = 0) -> Float64Array:
    """Exponents (times, 3) of laws fitted to resampled targets."""
    rng, count = np.random.default_rng(seed), len(curves.results[0].test)
    draws = (rng.integers(0, count, count) for _ in range(times))
    return np.stack([fit_law(form, curves, curves.medians(draw)).exponents for draw in draws])


def _log_error(form: str, sigma: float, params: Float64Array, d: Float64Array, n: Float64Array) -> Float64Array:
    return np.asarray(-np.logaddexp(-2 * FORMS[form](params, d, n), -2 * np.log(sigma)) / 2)


def rms(values: Float64Array) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(np.square(values))))
