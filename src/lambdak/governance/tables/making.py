"""From an output of a model to its tables: where bands end, and the parameters that come closest to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from lambdak._checks import check_int
from lambdak._types import Float64Array
from lambdak.governance.tables.additive import Target, best_tables
from lambdak.governance.tables.factors import Bands, Factor, Knots, Levels
from lambdak.governance.tables.layout import Coded, Layout
from lambdak.governance.tables.subject import Subject, pair_profile, profile
from lambdak.governance.tables.two_way import check_pairs, strongest_pairs
from lambdak.model.outward import downwards
from lambdak.model.readout import Readout
from lambdak.table.close_names import asked
from lambdak.table.column_contract import Column
from lambdak.table.numeric_column import Numeric
from lambdak.table.whole_columns import Wholes, whole_columns

_MOST_STRETCHES = 200  # that are joined; a column with more knots is thinned out
_LINE_STRETCHES = 32  # of a column without knots
_LEAST = 0.005  # of the weight of all rows: what a band holds at least
_FLOOR = 1e-3  # of the mean weight of a stretch: what one without rows counts
_ROOM = 0.1  # of the way down to the knot before, by which an edge may be rounded to fewer digits


class Stretches(NamedTuple):
    """From knot to knot: where each begins, its weight, and the weighted sums of a curve and its square."""

    begins: Float64Array
    weight: Float64Array
    first: Float64Array
    second: Float64Array


def candidates(column: Numeric) -> Float64Array:
    """Numbers at which a band may begin or end, the lowest first."""
    nodes = np.unique(column.nodes())
    if not len(column.corners()) and len(nodes) > 1:
        nodes = np.unique(np.linspace(nodes[0], nodes[-1], _LINE_STRETCHES + 1))
    if len(nodes) > _MOST_STRETCHES:
        nodes = nodes[np.unique(np.linspace(0, len(nodes) - 1, _MOST_STRETCHES).astype(int))]
    return np.asarray(nodes)


def stretches(begins: Float64Array, curve: Float64Array, x: Float64Array, weight: Float64Array) -> Stretches:
    """The stretches of a curve through its values at ``begins``, over rows x (n,) of these weights, none missing."""
    n = len(begins)
    after = np.append(curve[1:], curve[-1])
    floor = _FLOOR * float(weight.sum() / n) if len(x) and weight.any() else 1.0
    at, smooth = np.maximum(np.searchsorted(begins, x, side="right") - 1, 0), np.interp(x, begins, curve)
    sums = [np.bincount(at, weight * smooth**power, n) for power in (0, 1, 2)]
    return Stretches(
        begins,
        np.asarray(sums[0] + floor),
        sums[1] + floor * (curve + after) / 2,
        sums[2] + floor * (curve * curve + curve * after + after * after) / 3,
    )


def best_edges(pieces: Stretches, most: int, enough: float) -> Float64Array:
    """The edges of at most ``most`` bands; fewer if they leave a weighted squared distance of ``enough``."""
    n = len(pieces.begins)
    weight, first, second = (np.concatenate([[0.0], np.cumsum(each)]) for each in pieces[1:])
    with np.errstate(invalid="ignore", divide="ignore"):
        mass = weight[None, :] - weight[:, None]
        rest = second[None, :] - second[:, None] - (first[None, :] - first[:, None]) ** 2 / mass
    allowed = (np.arange(n + 1)[:, None] < np.arange(n + 1)) & (mass >= _LEAST * weight[-1])
    cost = np.where(allowed, np.maximum(rest, 0.0), np.inf)  # of a band from stretch i to before j
    best, cuts = [cost[0]], [np.zeros(n + 1, int)]
    while len(cuts) < min(most, n) and best[-1][n] > enough:
        total = best[-1][:, None] + cost
        cuts.append(total.argmin(axis=0))
        best.append(total.min(axis=0))
    count = int(np.argmin([size[n] for size in best]))
    at, found = n, []
    for own_cuts in cuts[count:0:-1]:
        at = int(own_cuts[at])
        found.append(at)
    return np.unique([_rounded(pieces.begins, i) for i in found if i])


def _rounded(begins: Float64Array, i: int) -> float:
    """A number with as few digits as possible, a little below begins[i] at most: that itself stays in its band."""
    number, room = float(begins[i]), _ROOM * float(begins[i] - begins[i - 1])
    for digits in range(1, 17):
        short = float(downwards(number, digits))
        if 0.0 <= number - short <= room:
            return short
    return number


FORMS = ("bands", "interpolated")
_NEARLY_CONSTANT = 1e-4  # of the variance of the raw score: what bands of one column may leave
_MOST_BANDS = 1000

BandsWanted = int | Mapping[str, int | Sequence[float]]


def make_layout(subject: Subject, form: str, bands: BandsWanted, whole: Wholes) -> Layout:
    """The rows of the table of each column."""
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(map(repr, FORMS))}; got {form!r}")
    columns = subject.readout.columns
    wanted, whole = _wanted_bands(columns, bands), _whole_columns(columns, whole)
    enough = _NEARLY_CONSTANT * _variance(subject.raw / subject.readout.scale, subject.share)
    factors = []
    for i, column in enumerate(columns):
        factor = _factor(subject, i, column, form, wanted[column.name], enough)
        factors.append(replace(factor, whole=True) if isinstance(factor, Bands) and column.name in whole else factor)
    return Layout(subject.model.encoder, tuple(factors))


def _whole_columns(columns: Sequence[Column], whole: Wholes) -> Sequence[str]:
    """Names of columns of numbers."""
    names = whole_columns(columns, whole)
    numbers = [column.name for column in columns if column.is_number]
    for name in names:
        if name not in numbers:
            raise ValueError(f"whole must name columns of numbers, {numbers}; got {name!r}{asked(name, numbers)}")
    return names


def _variance(values: Float64Array, weight: Float64Array) -> float:
    """Σ w (v − mean)²."""
    share = weight / weight.sum()
    return float(weight @ (values - share @ values) ** 2)


def _wanted_bands(columns: Sequence[Column], bands: BandsWanted) -> dict[str, Any]:
    """The number of bands, or the edges, of each column."""
    if not isinstance(bands, Mapping):
        return dict.fromkeys((column.name for column in columns), check_int(bands, "bands", 1, _MOST_BANDS))
    numbers = {column.name for column in columns if column.is_number}
    for name, requested in bands.items():
        if name not in numbers:
            raise ValueError(
                f"bands must name columns of numbers, {sorted(numbers)}; got {name!r}{asked(name, numbers)}"
            )
        if isinstance(requested, Sequence | np.ndarray):
            _check_edges(name, requested)
        else:
            check_int(requested, f"bands[{name!r}]", 1, _MOST_BANDS)
    return {column.name: bands.get(column.name, 10) for column in columns}


def _check_edges(name: str, edges: Any) -> None:
    numbers = np.asarray(edges, np.float64)
    if numbers.ndim != 1 or not np.isfinite(numbers).all() or (np.diff(numbers) <= 0).any():
        raise ValueError(f"bands[{name!r}] must hold increasing numbers at which bands end; got {edges!r}")


def _factor(subject: Subject, i: int, column: Column, form: str, wanted: Any, enough: float) -> Factor:
    if not isinstance(column, Numeric):
        return Levels(column)
    if form == "interpolated":
        return Knots(column)
    if isinstance(wanted, Sequence | np.ndarray):
        return Bands(column, np.asarray(wanted, np.float64))
    begins = candidates(column)
    curve = profile(
        subject.readout, subject.design, [i], np.asarray(column.cell_rows(begins) @ subject.readout.column(i))
    )
    position = subject.model.encoder.positions(subject.rows.X)[i]
    x = subject.rows.X.cells(position).numbers()
    there = ~np.isnan(x)
    unit = subject.readout.scale
    pieces = stretches(begins, (curve - curve.mean()) / unit, x[there], subject.share[there])
    return Bands(column, best_edges(pieces, wanted, enough))


def starting_values(subject: Subject, layout: Layout) -> Float64Array:
    """The mean raw score, and of each row of a table what the model does there on average beyond that."""
    found = np.zeros(layout.size)
    found[0] = np.average(subject.raw, weights=subject.share)
    tables = layout.tables(found)
    for i, factor in enumerate(layout.factors):
        owner = factor.vertices.owner
        means = profile(subject.readout, subject.design, [i], factor.matrices(subject.readout.column(i)))
        count = np.bincount(owner, minlength=len(factor))
        rows = np.bincount(owner, means, len(factor)) / np.maximum(count, 1)
        tables[i][...] = np.where(count > 0, rows - rows[count > 0].mean(), 0.0)
    return found


def exact_values(readout: Readout, layout: Layout) -> Float64Array:
    """The parameters of a model of dim 1, which is a sum over its columns, in tables with a row for each vertex."""
    found = np.zeros(layout.size)
    found[0] = readout.start + float(readout.over_members(readout.constant[:, 0]))
    for i, (factor, rows) in enumerate(zip(layout.factors, layout.tables(found)[: len(layout.factors)], strict=True)):
        rows[factor.vertices.owner] = readout.over_members(factor.matrices(readout.column(i))[..., 0])
    return found


def fit_tables(subject: Subject, layout: Layout, two_way: Any) -> tuple[Layout, Coded, Float64Array]:
    """The best parameters, with pairs as many as requested, each the best one after those before it."""
    coded = layout.code(subject.rows.X)
    pairs = check_pairs(layout, two_way)
    if pairs and any(isinstance(factor, Knots) for factor in layout.factors):
        raise ValueError("two_way needs form='bands': two-way tables have bands; got form='interpolated'")
    if subject.readout.dim == 1 and not pairs and all(not isinstance(factor, Bands) for factor in layout.factors):
        return layout, coded, exact_values(subject.readout, layout)
    target = Target.of(subject.raw, subject.share, subject.readout.link.free, subject.readout.scale)
    values = best_tables(layout, coded, target, starting_values(subject, layout), subject.signs)
    if isinstance(pairs, int):
        rest = (subject.raw - layout.matrix(coded) @ values) / subject.readout.scale
        pairs = strongest_pairs(layout, coded, rest, subject.share, pairs)
    if pairs:
        layout = layout.with_pairs(pairs)
        values = best_tables(layout, coded, target, _with_pairs(subject, layout, values), subject.signs)
    layout.tie_(values)
    return layout, coded, values


def _with_pairs(subject: Subject, layout: Layout, values: Float64Array) -> Float64Array:
    """The parameters of tables so far, and of each cell of a pair what the model does there on average beyond them."""
    found = np.concatenate([values, np.zeros(layout.size - len(values))])
    tables = layout.tables(found)
    for table, (i, j) in zip(tables[len(layout.factors) :], layout.pairs, strict=True):
        joint = pair_profile(subject.readout, subject.design, (i, j), layout.factors[i], layout.factors[j])
        alone = tables[i][:, None] + tables[j][None, :]
        rest = joint - alone
        table[...] = rest - rest.mean(axis=1, keepdims=True) - rest.mean(axis=0) + rest.mean()
    return found


def observed_deviation(subject: Subject, raw: Float64Array) -> tuple[float, float]:
    """The largest and the mean deviation of raw scores of tables from the model's; NaN without rows of the user's."""
    if not subject.given:
        return np.nan, np.nan
    apart = np.abs(raw - subject.raw)
    return float(apart.max()), float(np.average(apart, weights=subject.share))
