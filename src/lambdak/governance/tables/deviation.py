r"""How far tables can be from the model, for every possible row: f − g is an eigenvalue again, and that has bounds.

With g = base + Σ_i g_i(x_i), λ_k(A(x)) − g(x) = λ_k(A_0 − base + Σ_i (A_i(x_i) − g_i(x_i) I)): a pencil of the same
shape, whose least and largest value branch and bound finds over all cells of all columns: numbers, levels, missing and
unseen ones. Tables of pairs are separable bounds on boxes. Interrupted at any time, what it has proven is true.

Rounding is part of it: the numbers in a table are what they are, and what computing predictions with either can do to
them is added (:mod:`lambdak.model.readout`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, final

import numpy as np

from lambdak._types import Float64Array
from lambdak.eigen.blas import single_threaded_blas
from lambdak.eigen.packing import diagonal_indices
from lambdak.governance.tables.factors import Bands, Factor
from lambdak.governance.tables.layout import Layout
from lambdak.governance.tables.two_way import PairTerm
from lambdak.losses.links import IDENTITY
from lambdak.model.readout import Readout, column_sizes
from lambdak.optimize.axes import Axis
from lambdak.optimize.frontier import Clock, Solution, Status
from lambdak.optimize.linear import LinearRows
from lambdak.optimize.minimum.bounded import BoundedSum, Prediction, ScaledPrediction
from lambdak.optimize.minimum.branch import branch_and_bound
from lambdak.optimize.minimum.problem import Minimization
from lambdak.optimize.scores import Score
from lambdak.pencil.definite import UNIT, frobenius
from lambdak.pencil.spectrum import extremes
from lambdak.table.shown import Shown

_GAP = 1e-3  # of the bound: how far it may be from the worst row found
_SMALL = 1e-9  # of the size of all matrices: a gap that no one needs closed


@final
@dataclass(frozen=True, repr=False)
class Deviation(Shown):
    """How far the raw scores of tables and model are apart.

    Attributes
    ----------
    proven : float
        For every possible row |raw score of the tables − raw score of the model| is at most this, as they are computed.
    above, below : float
        The same for each direction: the model is at most so far above, or below, the tables.
    attained : float
        The largest deviation of a row that was found: no proof can be below it.
    worst_row : mapping
        The cells of that row.
    observed : float
        The largest deviation of the rows of X; NaN without them.
    mean : float
        Their weighted mean absolute deviation; NaN without them.
    how : str
        How it was proven.
    within_range : tuple of str
        Columns for which only numbers within the training range are meant, because the model continues beyond it.
    whole : tuple of str
        Columns for which only whole numbers are meant, as requested.
    """

    proven: float
    above: float
    below: float
    attained: float
    worst_row: Mapping[str, Any]
    observed: float
    mean: float
    how: str
    within_range: tuple[str, ...]
    whole: tuple[str, ...]


def deviation(
    readout: Readout, layout: Layout, values: Float64Array, seen: tuple[float, float], time_limit: float
) -> Deviation:
    """Prove how far tables with these parameters can be from an output of a model.

    ``seen`` are the largest and the mean deviation of the user's rows.
    """
    score = _excess(readout, layout, values)
    began = perf_counter()
    low = _least(readout, layout, values, score, 1.0, time_limit / 2)
    left = max(time_limit - (perf_counter() - began), time_limit / 4)  # what the first search did not need, too
    high = _least(readout, layout, values, score.negative(), -1.0, left)
    rounding = _rounding(readout, layout, values)
    below, above = (max(-readout.scale * optimum.bound, 0.0) + rounding for optimum in (low, high))
    worst = low if low.value <= high.value else high
    x = np.zeros(len(layout.factors)) if worst.x is None else worst.x
    return Deviation(
        proven=max(above, below),
        above=above,
        below=below,
        attained=max(-readout.scale * worst.value, 0.0),
        worst_row={
            factor.column.name: _cell(factor, at) for factor, at in zip(layout.factors, x.tolist(), strict=True)
        },
        observed=seen[0],
        mean=seen[1],
        how=_how(low, high),
        within_range=tuple(factor.column.name for factor in layout.factors if not factor.column.bounded),
        whole=tuple(factor.column.name for factor in layout.factors if isinstance(factor, Bands) and factor.whole),
    )


def _how(low: Solution, high: Solution) -> str:
    boxes = low.trace[-1].work + high.trace[-1].work if low.trace and high.trace else 0
    ended = {Status.TIME_LIMIT, Status.INTERRUPTED} & {low.status, high.status}
    end = "until the time limit: a longer one may prove less" if ended else "to the end"
    return f"branch and bound over all cells of all columns, {boxes} boxes, {end}"


def _excess(readout: Readout, layout: Layout, values: Float64Array) -> Score:
    """(f − g) / scale without the pairs, over the positions of the vertices of each column."""
    tables, diagonal = layout.tables(values), diagonal_indices(readout.dim)
    total = float(readout.weights.sum()) * readout.scale
    curves, axes, reach = [], [], readout.constant_size + column_sizes(readout).sum(axis=1)
    for i, factor in enumerate(layout.factors):
        vertices = factor.vertices
        shift = tables[i][vertices.owner] / total
        matrices = np.array(factor.matrices(readout.column(i)), np.float64)
        matrices[..., diagonal] -= shift[:, None]
        curves.append(matrices)
        axes.append(Axis(factor.column.name, np.arange(float(len(shift))), jumps=vertices.jumps))
        reach = reach + np.sqrt(readout.dim) * np.abs(shift).max()
    begin = readout.start / readout.scale - values[0] / readout.scale
    begun = (abs(readout.start) + abs(values[0])) / readout.scale
    return Score(begin, readout.weights, readout.index, readout.constant, tuple(curves), tuple(axes), reach, begun)


def _least(
    readout: Readout, layout: Layout, values: Float64Array, score: Score, sign: float, time_limit: float
) -> Solution:
    """The least value of sign · (f − g) / scale, with a proven bound."""
    tables = layout.tables(values)[len(layout.factors) :]
    pairs = tuple(
        PairTerm(pair, (score.axes[pair[0]], score.axes[pair[1]]), -sign * table / readout.scale,
                 (layout.factors[pair[0]].vertices.owner, layout.factors[pair[1]].vertices.owner))
        for pair, table in zip(layout.pairs, tables, strict=True)
    )  # fmt: skip
    model = ScaledPrediction(Prediction((score,), (score.negative(),), IDENTITY), 1.0, None, 0.0)
    excess = BoundedSum(0.0, np.zeros(len(score.axes)), (model, *pairs))
    problem = Minimization(score.axes, excess, LinearRows.none(len(score.axes)), (), (), lambda value: value, {})
    floor = _SMALL * float(np.abs(score.weights) @ score.size)

    def is_close(value: float, bound: Any) -> Any:
        return np.abs(value - bound) <= np.maximum(_GAP * abs(value), floor)

    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        found = branch_and_bound(problem, Clock(is_close, time_limit), np.random.default_rng(0))
    bound = found.bound if np.isfinite(found.bound) else -np.inf
    return replace(found, bound=max(bound, _weyl(score, pairs)))


def _weyl(score: Score, pairs: tuple[PairTerm, ...]) -> float:
    """λ_k(Σ A_i) ≥ Σ λ_1(A_i): a bound without any search."""
    total = score.start + float(score.weights @ extremes(score.constant)[0])
    for curve in score.curves:
        total += float((score.weights @ extremes(curve)[0]).min())
    total += sum(float(pair.values_at.min(initial=0.0)) for pair in pairs)
    sizes = np.abs(score.weights) @ sum(frobenius(curve).max(axis=-1) for curve in score.curves)
    return total - len(score.curves) * score.error - 1e-12 * float(sizes)


def _rounding(readout: Readout, layout: Layout, values: Float64Array) -> float:
    """What computing predictions with the model and with the tables can do to their raw scores together."""
    tables = layout.tables(values)
    size = abs(float(values[0])) + sum(float(np.abs(table).max(initial=0.0)) for table in tables)
    of_tables = 16 * (len(tables) + 4) * UNIT * (size + abs(readout.start))
    link = 4 * readout.link.rounding + 16 * (len(tables) + 2) * UNIT * bool(readout.link.rounding)
    return float(readout.error + of_tables + link)


def _cell(factor: Factor, at: float) -> Any:
    """The user's cell at a position among the vertices; the number below the end of a band is still in it."""
    vertices = factor.vertices
    before, share = int(at), at - int(at)
    cell = vertices.cells[before]
    if share:
        return (1.0 - share) * cell + share * vertices.cells[before + 1]
    ends = (
        factor.form == "bands"
        and before + 1 < len(vertices.owner)
        and vertices.owner[before + 1] != vertices.owner[before]
    )
    if ends and cell is not None and vertices.cells[before + 1] == cell:
        return float(np.nextafter(cell, -np.inf))
    return cell
