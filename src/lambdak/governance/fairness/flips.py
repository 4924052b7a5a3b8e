"""A protected column at each of its levels: which decisions change, and how far predictions can move at most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.model import Model
from lambdak.model.influence import norms, of_outputs
from lambdak.model.readout import Readout, readouts, slots_of
from lambdak.optimize.changes.goals import chosen
from lambdak.optimize.changes.sweeps import Sweep, moved
from lambdak.optimize.changes.targets import Approval, by_output
from lambdak.pencil.definite import UNIT
from lambdak.table.category_levels import OTHER, shown
from lambdak.table.design import Design
from lambdak.table.numeric_column import Numeric

_OUTWARDS = 1 + 1e-14  # covers the rounding of tanh and exp, of which a few units in the last place are known
_TINY = 1e-300
_LARGEST = 700.0  # beyond, its exponential is no float


def score_bound(readout: Readout, bound: float, offset: float) -> float:
    """A bound on the change of computed raw scores, from one on that of the real function, with offsets of this size.

    The sums of two scores and an offset are rounded by u (|score| + |offset|) each, and the error of a readout, which
    is larger than u |score|, covers the former.
    """
    rise = of_outputs(readout, bound)
    return rise + 2 * readout.error + 4 * UNIT * offset if rise and offset else rise


def prediction_bound(model: Model, scores: Sequence[float]) -> float:
    """The most by which a prediction of any row changes if raw scores change by at most this much, one for each output.

    Of the probability of any class, of P(y ≤ j) for ordered classes; with a logarithmic link it is a factor minus one.
    """
    link, most = model.loss.link, max(scores)
    if link.name == "identity":
        return most
    if link.name == "log":
        if most > _LARGEST:
            return math.inf
        return _OUTWARDS * math.expm1(most) + 4 * link.rounding * math.exp(most) if most else 0.0
    if link.joint:
        ordered = sorted(scores, reverse=True)
        most = _OUTWARDS * (ordered[0] + ordered[1])
    if not most:
        return 0.0
    return min(1.0, _OUTWARDS * math.tanh(most / 4) + 2 * link.rounding + _TINY)


_MOST_LEVELS = 12  # of a category that are compared, the most frequent ones
_CELLS_AT_ONCE = 1 << 21  # so that memory stays bounded
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # quantiles of numbers that are compared


@final
@dataclass(frozen=True, eq=False)
class Pair:
    """A protected column at one level and at another, all else as it is.

    Attributes
    ----------
    first, second : level or number
    mean : float
        Mean change of the prediction from the first to the second.
    largest : float
        The largest change in either direction, and the ``row`` it was seen at.
    changed : int or None
        Decisions that differ; None without decisions.
    score_bound, bound : float
        No raw score, and no prediction, of any row changes by more: proven, also with offsets as large as those given.
        With a logarithmic link ``bound`` is a factor minus one: neither prediction is more than 1 + bound times the
        other.
    """

    first: Any
    second: Any
    mean: float
    largest: float
    row: int
    changed: int | None
    score_bound: float
    bound: float

    def __str__(self) -> str:
        return f"{shown(self.first)} → {shown(self.second)}"


@final
@dataclass(frozen=True, eq=False)
class Flips:
    """Predictions and decisions of all rows, with the protected column at one of some levels after the other.

    Attributes
    ----------
    levels : tuple
    predictions : array of shape (levels, rows)
    scores : array of shape (levels, rows, outputs)
    approved : array of shape (levels, rows), or None without decisions
    settled : array of shape (rows,), or None
        Whether no value of the column changes the decision about a row, a missing cell included: proven.
    pairs : tuple of Pair
    """

    levels: tuple[Any, ...]
    predictions: Float64Array
    scores: Float64Array
    approved: NDArray[np.bool_] | None
    settled: NDArray[np.bool_] | None
    pairs: tuple[Pair, ...]


def flipped(
    model: Model, approval: Approval | None, design: Design, offset: Float64Array, i: int, cells: Any, output: Any
) -> Flips:
    """Flip column ``i`` of design rows between the levels that their ``cells`` have."""
    column = model.encoder.columns[i]
    levels, known = _compared(column, cells)
    points = np.arange(float(len(levels))) if known else np.array(levels, np.float64)
    added = offset if offset.any() else None
    listed: list[tuple[Any, ...]] = [levels if known and k == i else () for k in range(len(model.encoder.columns))]
    rows = [moved(design, model.encoder.columns, {i: np.full(len(design), x)}, listed) for x in points]
    scores = np.stack([by_output(model.scores(design, added)) for design in rows])
    predictions = np.stack([_predicted(model, approval, score, output) for score in scores])
    approved = None if approval is None else np.stack([approval.reached(score) for score in scores])
    settled = None if approval is None else _settled(model, approval, design, offset, i)
    pairs = [
        _pair(model, i, (levels[a], levels[b]), predictions[[a, b]], None if approved is None else approved[[a, b]],
              float(np.abs(offset).max(initial=0.0)))
        for a, b in combinations(range(len(levels)), 2)
    ]  # fmt: skip
    return Flips(levels, predictions, scores, approved, settled, tuple(pairs))


def _compared(column: Any, cells: Any) -> tuple[tuple[Any, ...], bool]:
    """The known levels that rows have, the most frequent ones in the order of the model; or quantiles of numbers."""
    if not isinstance(column, Numeric):
        codes, levels = cells.levels()
        count = dict(zip(levels, np.bincount(codes, minlength=len(levels)).tolist(), strict=True))
        named = [level for level in column.known_levels if level is not None and level is not OTHER]
        kept = sorted(named, key=lambda level: -count.get(level, 0))[:_MOST_LEVELS]
        return tuple(level for level in named if level in kept), True
    numbers = cells.numbers()
    numbers = np.sort(numbers[~np.isnan(numbers)])
    at = (
        [numbers[round(share * (len(numbers) - 1))] for share in _SHARES] if len(numbers) else [column.low, column.high]
    )
    return tuple(np.unique(at).tolist()), False


def _predicted(model: Model, approval: Approval | None, scores: Float64Array, output: Any) -> Float64Array:
    if approval is None:
        return chosen(model, output).predictions(scores)
    return approval.measured(model, scores)


def _settled(model: Model, approval: Approval, design: Design, offset: Float64Array, i: int) -> NDArray[np.bool_]:
    """Whether all numbers, or all levels and an unseen one, and a missing cell lead to the same decision."""
    column = model.encoder.columns[i]
    if not approval.goal.terms or not column.bounded:  # at least the first class, which all rows are
        return np.full(len(design), column.bounded)
    found, step = np.ones(len(design), bool), max(1, _CELLS_AT_ONCE // column.width)
    for first in range(0, len(design), step):
        rows = slice(first, first + step)
        sweep = Sweep.of(approval, readouts(model), design.take(rows), offset[rows], i)
        if len(sweep.points) < 2 and column.missing < 0:
            continue
        bounds = sweep.bounds()
        bounds = bounds if len(sweep.points) > 1 or bounds.ends is None else bounds.ends
        always = (bounds.surplus >= 0).all(axis=1) & approval.attainable
        never = (bounds.shortfall < 0).all(axis=1)
        if column.missing >= 0:  # otherwise it is read as the median, or as an unseen level
            unknown = _unknown(model, approval, design.take(rows), offset[rows], i)
            always, never = always & unknown, never & ~unknown
        found[rows] = always | never
    return found


def _unknown(model: Model, approval: Approval, design: Design, offset: Float64Array, i: int) -> NDArray[np.bool_]:
    """The decisions about rows if the cell of column i were missing, as ``predict`` computes them."""
    ids, weights, slots = design.ids.copy(), design.weights.copy(), list(slots_of(model.encoder.columns)[i])
    ids[:, slots], weights[:, slots] = model.encoder.columns[i].missing, 0.0
    weights[:, slots[0]] = 1.0
    return approval.reached(model.scores(Design(ids, weights), offset if offset.any() else None))


def _pair(
    model: Model, i: int, levels: tuple[Any, Any], predictions: Float64Array, approved: NDArray[np.bool_] | None,
    offset: float,
) -> Pair:  # fmt: skip
    column, outputs = model.encoder.columns[i], readouts(model)
    rows = column.cell_rows(list(levels))
    move = (rows[1] - rows[0])[None]
    bounds = [score_bound(output, float(norms(output, move, i)[0]), offset) for output in outputs]
    change = predictions[1] - predictions[0]
    row = int(np.abs(change).argmax()) if len(change) else -1
    return Pair(
        *levels,
        mean=float(change.mean()) if len(change) else 0.0,
        largest=float(np.abs(change[row])) if len(change) else 0.0,
        row=row,
        changed=None if approved is None else int((approved[0] != approved[1]).sum()),
        score_bound=max(bounds),
        bound=prediction_bound(model, bounds),
    )
