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

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from lambdak.atomic import write_text
from lambdak.paper.output.summary import csv_text
from lambdak.paper.synthetic.grid import FITS, Cell, Grid
from lambdak.paper.synthetic.results import read_cells
from lambdak.paper.synthetic.selection import select
from lambdak.paper.synthetic.sweep import CellResult
from lambdak.paper.synthetic.targets import lattice, make_targets

Array = NDArray[np.float64]
Row = dict[str, int | float | str]

_NAMES = ("alpha", "beta", "gamma")

FIRST = 1_000  # samples: before, models have hardly left their start
_STARTS = ((0.5, 0.3), (1.0, 0.5), (2.0, 0.3), (1.0, 1.0))  # (α, β)

# Parameters are log A, α, log B, β and γ, within bounds; a part that the errors do not show ends at one of them.
# Arguments are log d and log n, the value is log r.
_BOUNDS = ((-30.0, 0.0, -30.0, 0.0, -2.0), (30.0, 8.0, 30.0, 2.0, 2.0))
FORMS: dict[str, Callable[[Array, Array, Array], Array]] = {
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

    def medians(self, targets: NDArray[np.intp] | None = None) -> Array:
        """Median test error of the rate that won, (dims, samples), of all targets or of these."""
        some = slice(None) if targets is None else targets
        return np.stack([select(CellResult(r.validation[some], r.test[some])).median for r in self.results])


@dataclass(frozen=True, eq=False)
class Law:
    """A fitted form."""

    form: str
    sigma: float
    params: Array

    def __call__(self, dim: NDArray[np.generic] | float, samples: NDArray[np.generic] | float) -> Array:
        """The error that it predicts."""
        logs = (np.log(np.asarray(part, float)) for part in (dim, samples))
        return np.asarray(np.exp(_log_error(self.form, self.sigma, self.params, *logs)))

    @property
    def exponents(self) -> Array:
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
        Curves(cell, dims, samples, tuple(own[dim] for dim in dims), _sigma(cell, grid)) for cell, own in groups.items()
    ]


def _sigma(cell: Cell, grid: Grid) -> float:
    """The median over targets of their standard deviation over the test points."""
    targets = make_targets(FITS[cell.fit].target, cell.inputs, cell.complexity, range(grid.targets))
    x = lattice(cell.inputs, grid.measured)
    return float(np.median(targets(np.arange(grid.targets)[:, None], x[None]).std(axis=1)))


def fit_law(form: str, curves: Curves, errors: Array, dims: int | None = None) -> Law:
    """The form's parameters that fit errors (dims, samples) best, on a logarithmic scale; of so many dims or all."""
    samples, aim = curves.samples[curves.used], np.log(errors[:dims, curves.used])
    d, n = np.meshgrid(np.log(curves.dims[:dims]), np.log(samples), indexing="ij")

    def wrong(params: Array) -> Array:
        return (_log_error(form, curves.sigma, params, d, n) - aim).ravel()

    starts = [(aim.max() + a * d.min(), a, aim.max() + b * n.min(), b, 0.0) for a, b in _STARTS]
    fits = [least_squares(wrong, np.clip(start, *_BOUNDS), bounds=_BOUNDS) for start in starts]
    return Law(form, curves.sigma, min(fits, key=lambda fit: fit.cost).x)


def prediction_error(form: str, curves: Curves) -> float:
    """RMS of log(predicted / measured) for the largest dim, by the law of the others."""
    errors = curves.medians()
    law = fit_law(form, curves, errors, -1)
    return _rms(np.log(law(curves.dims[-1], curves.samples) / errors[-1])[curves.used])


def choose_form(all_curves: Iterable[Curves]) -> dict[str, float]:
    """Forms by the RMS of their prediction errors over all curves, the best first."""
    found = list(all_curves)
    scores = {form: _rms(np.array([prediction_error(form, each) for each in found])) for form in FORMS}
    return dict(sorted(scores.items(), key=lambda item: item[1]))


def bootstrap(form: str, curves: Curves, times: int, seed: int = 0) -> Array:
    """Exponents (times, 3) of laws fitted to resampled targets."""
    rng, count = np.random.default_rng(seed), len(curves.results[0].test)
    draws = (rng.integers(0, count, count) for _ in range(times))
    return np.stack([fit_law(form, curves, curves.medians(draw)).exponents for draw in draws])


def write_laws(found: Sequence[Curves], out: Path, times: int = 200) -> tuple[Path, Path]:
    """Write the table of the best form's exponents as CSV and Markdown, ``scaling-laws`` by name, into ``out``.

    Their ranges are those of so many fits to resampled targets.
    """
    scores = choose_form(found)
    form = next(iter(scores))
    table = [_row(form, each, times) for each in found]
    paths = out / "scaling-laws.csv", out / "scaling-laws.md"
    for path, text in zip(paths, (csv_text(table), _markdown(scores, table)), strict=True):
        write_text(path, text)
    return paths


def _row(form: str, curves: Curves, times: int) -> Row:
    """The exponents with the range of nine in ten resampled fits, and by which factor the law is typically off."""
    errors, cell = curves.medians(), curves.cell
    law = fit_law(form, curves, errors)
    spread = np.quantile(bootstrap(form, curves, times), [0.05, 0.95], axis=0)
    row: Row = {"inputs": cell.inputs, "fit": cell.fit, "complexity": cell.complexity, "noise": cell.noise}
    for name, value, (low, high) in zip(_NAMES, law.exponents, spread.T, strict=True):
        row |= {name: float(value), f"{name}_low": float(low), f"{name}_high": float(high)}
    wrong = np.log(law(np.array(curves.dims)[:, None], curves.samples) / errors)
    row["fitted"] = float(np.exp(_rms(wrong[:, curves.used])))
    row["predicted"] = float(np.exp(prediction_error(form, curves)))
    return row


def _markdown(scores: dict[str, float], table: Sequence[Row]) -> str:
    ranked = ", ".join(f"{form} {np.exp(score):.2f}" for form, score in scores.items())
    lines = [
        "# Scaling laws",
        "",
        "The law of the error e is e^−2 = σ^−2 + r^−2, with σ the error of the best constant and r one of five forms",
        "of dim d and samples n: A d^−α n^−β (product), A d^−α + B n^−β (sum), the root of (A d^−α)² + (B n^−β)²",
        "(squares), and the latter two with d^γ before the samples' part (coupled).",
        "",
        f"How far off each form is for the largest dim when fitted to the others, as a factor: {ranked}.",
        f"Below is the best, {next(iter(scores))}, from {FIRST:,} samples on; in brackets nine of ten fits to",
        "resampled targets. The last two columns: the typical factor between law and median, of the law fitted to",
        "all dims, and of the largest dim as the others predict it.",
        "",
        "| inputs | fit | complexity | noise | α (dim) | β (samples) | γ (coupling) | fitted | predicted |",
        "|---" * 9 + "|",
    ]
    for row in table:
        exponents = (_exponents(row, name) for name in _NAMES)
        head = " | ".join(str(row[name]) for name in ("inputs", "fit", "complexity", "noise"))
        lines.append(f"| {head} | {' | '.join(exponents)} | {row['fitted']:.2f} | {row['predicted']:.2f} |")
    return "\n".join(lines) + "\n"


def _exponents(row: Row, name: str) -> str:
    value, low, high = (exponent(float(row[name + end])) for end in ("", "_low", "_high"))
    return f"{value} [{low}, {high}]"


def _log_error(form: str, sigma: float, params: Array, d: Array, n: Array) -> Array:
    return np.asarray(-np.logaddexp(-2 * FORMS[form](params, d, n), -2 * np.log(sigma)) / 2)


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(np.square(values))))
