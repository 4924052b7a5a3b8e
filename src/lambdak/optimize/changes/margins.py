"""How far a row may move before the decision about it changes: proven lower bounds, and rows that change it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lambdak._checks import check_non_negative
from lambdak._types import Float64Array
from lambdak.eigen.blas import single_threaded_blas
from lambdak.model import Model
from lambdak.model.rows import column_named
from lambdak.optimize.axes import Axis
from lambdak.optimize.changes.distances import ColumnMargin, JointMargin, Margins, first_crossing, may_reach
from lambdak.optimize.changes.goals import Goal, Region
from lambdak.optimize.changes.moves import Moves
from lambdak.optimize.changes.nearest import Nearest
from lambdak.optimize.changes.rows import (
    DecidedRow,
    Price,
    Surroundings,
    axis_around,
    is_broken,
    model_of,
    movable,
    read_rows,
    spreads,
)
from lambdak.optimize.changes.targets import decision_goal, shown_prediction
from lambdak.optimize.frontier import Clock, Status
from lambdak.table.column_contract import Column
from lambdak.table.numeric_column import Numeric
from lambdak.table.whole_columns import Wholes, whole_columns

_FOLLOWED = 1e-6  # relative: a column that continues straight is followed as far on both sides
_CLOSER = 6  # times that a closer row is looked for, before any proof
_NONE = 1e-9  # a distance that counts as none
_PARTS, _ROUNDS = 16, 6  # in which a joint move is taken back


def margin(
    model: Any,
    rows: Any,
    threshold: float | None = None,
    columns: Sequence[str] | None = None,
    scale: Mapping[str, float] | None = None,
    output: Any = None,
    *,
    levels: bool = True,
    whole: Wholes = None,
    offset: ArrayLike | None = None,
    gap: float = 0.01,
    time_limit: float | None = 2.0,
) -> Margins:
    """How far each column, and all together, may move before the decision about a row changes.

    Parameters
    ----------
    model : fitted estimator or Model
    rows : table
    threshold : float, optional
        The decision is whether the prediction is at least this. Of classes, None takes the predicted class.
    columns : sequence of str, optional
        The columns that may move, by default all. A missing cell stays missing.
    scale : mapping of str to float
        The spreads of columns, by default those in training: the distance of all together is the largest of the
        columns' moves, each relative to its spread.
    output : class label or quantile level, optional
        Which prediction, see :func:`lambdak.optimize.predicted`.
    levels : bool
        Whether categories may move: another level is at a distance of 1.
    whole : sequence of str, optional
        Columns of whole numbers; None are those that held no others in training, unless the row itself has another.
    offset : array of shape (rows,), optional
        Added to the raw scores.
    gap : float
        How far apart the two bounds of all together may stay, relative to the upper one.
    time_limit : float, optional
        Seconds for each row. An interrupt ends the search with the rows so far.

    Examples
    --------
    >>> from lambdak import SpectralRegressor
    >>> X = [[a, b] for a in range(20) for b in range(20)]
    >>> model = SpectralRegressor(effort="fast", random_state=0).fit(X, [a - b for a, b in X])
    >>> found = margin(model, [[10, 5]], threshold=0.0, scale={"x0": 1, "x1": 1})[0]
    >>> found.lower <= found.upper == 3.0  # a − b is 5, and both may move, by whole numbers
    True
    """
    frozen = model_of(model)
    names = list(
        frozen.encoder.feature_names if columns is None else [columns] if isinstance(columns, str) else columns
    )
    spread = spreads(frozen, scale)
    close, wholes = check_non_negative(gap, "gap"), _named_wholes(frozen, whole)
    seconds = np.inf if time_limit is None else float(time_limit)
    found: list[JointMargin] = []
    with single_threaded_blas():
        for i, row in enumerate(read_rows(frozen, rows, offset)):
            goal, moving = decision_goal(row, threshold, output), _columns(row, names, levels)
            found.append(_margin(row, goal, moving, spread, (close, seconds), i, wholes))
            if found[-1].status == Status.INTERRUPTED.value:
                break
    return Margins(tuple(found), rows)


def _named_wholes(model: Model, whole: Wholes) -> list[str]:
    names = whole_columns(model.encoder.columns, whole)
    return [model.encoder.feature_names[column_named(model, name)] for name in names]


def _columns(row: DecidedRow, names: Sequence[str], levels: bool) -> list[Column]:
    return [column for column in movable(row, names) if levels or column.is_number]


def _margin(
    row: DecidedRow,
    goal: Goal,
    columns: Sequence[Column],
    spread: Mapping[str, float],
    limits: tuple[float, float],
    i: int,
    wholes: Sequence[str],
) -> JointMargin:
    begin = [row.cells[column.name] for column in columns]
    pairs = zip(columns, begin, strict=True)
    axes = tuple(_axis(column, cell, column.name in wholes and not is_broken(cell)) for column, cell in pairs)
    singles = tuple(
        _single(row, goal, column, axis, spread[axis.name]) for column, axis in zip(columns, axes, strict=True)
    )
    lower, upper, cells, status = _joint(row, goal, columns, axes, singles, spread, limits)
    return JointMargin(
        row=i,
        prediction=shown_prediction(row.model, goal, row.raw([{}])[0]),
        goal=goal.words,
        columns=singles,
        lower=lower,
        upper=upper,
        cells=cells,
        status=status,
    )


def _axis(column: Column, cell: Any, whole: bool) -> Axis:
    """The full range of a column; one that continues straight is followed for its training range on each side."""
    if not isinstance(column, Numeric) or column.clamp:
        return axis_around(column, cell, None, whole)
    low, high = min(column.low, cell), max(column.high, cell)
    return axis_around(column, cell, (low - (high - low), high + (high - low)), whole)


# ---- one column alone


def _single(row: DecidedRow, goal: Goal, column: Column, axis: Axis, spread: float) -> ColumnMargin:
    if axis.levels:
        return _of_levels(row, goal, axis)
    crossing = _of_numbers(row, goal, column, axis, spread)
    if column.bounded or crossing.upper == np.inf or crossing.lower > crossing.upper * (1 - _FOLLOWED):
        return crossing
    wider = axis_around(
        column, crossing.cell, (crossing.cell - crossing.upper, crossing.cell + crossing.upper), axis.whole
    )  # as far on the other side
    return _of_numbers(row, goal, column, wider, spread)


def _of_numbers(row: DecidedRow, goal: Goal, column: Column, axis: Axis, spread: float) -> ColumnMargin:
    region, start = Region.of(goal, row, (axis,)), float(row.cells[axis.name])
    sides = [first_crossing(region, start, way) for way in (-1, 1)]
    ends = (-np.inf, np.inf) if column.bounded else (axis.low, axis.high)
    safe = [_clip(side.safe, end) for side, end in zip(sides, ends, strict=True)]
    flips = [side.found for side in sides if side.found is not None]
    flips = [x for x in flips if bool(goal.reached(row.raw([{axis.name: x}]))[0])]
    nearest = min(flips, key=lambda x: abs(x - start), default=None)
    return ColumnMargin(
        column=axis.name,
        cell=start,
        safe=(safe[0], safe[1]),
        lower=min(start - safe[0], safe[1] - start),
        upper=np.inf if nearest is None else abs(nearest - start),
        flip=nearest,
        is_number=True,
        spread=spread,
    )


def _clip(safe: float, end: float) -> float:
    return end if np.isinf(safe) else safe


def _of_levels(row: DecidedRow, goal: Goal, axis: Axis) -> ColumnMargin:
    """A category: every level is tried."""
    region = Region.of(goal, row, (axis,))
    others = axis.points[1:, None]
    may = may_reach(region, others, others) if len(others) else np.zeros(0, bool)
    flips = [level for level, possible in zip(axis.levels[1:], may.tolist(), strict=True) if possible]
    does = [level for level in flips if bool(goal.reached(row.raw([{axis.name: level}]))[0])]
    unsure = [level for level in flips if level not in does]
    return ColumnMargin(
        column=axis.name,
        cell=axis.levels[0],
        safe=tuple(level for level in axis.levels if level not in flips),
        lower=1.0 if does or unsure else np.inf,
        upper=1.0 if does else np.inf,
        flip=does[0] if does else None,
        is_number=False,
    )


# ---- all together


def _joint(
    row: DecidedRow,
    goal: Goal,
    columns: Sequence[Column],
    axes: tuple[Axis, ...],
    singles: Sequence[ColumnMargin],
    spread: Mapping[str, float],
    limits: tuple[float, float],
) -> tuple[float, float, dict[str, Any] | None, str]:
    """Lower and upper bound of the distance, the cells that change the decision, and why the search ended."""
    if not axes:
        return np.inf, np.inf, None, "nothing may move"
    around = Surroundings(axes, np.array([axis.coordinate(row.cells[axis.name]) for axis in axes]))
    price = around.price({axis.name: 1.0 if axis.levels else 1 / spread[axis.name] for axis in axes}, True)
    region = Region.of(goal, row, axes)
    clock = Clock(
        lambda value, bound: bool(value - bound <= max(limits[0] * value, _NONE)) if value < np.inf else False,
        limits[1],
    )
    search = Nearest(region, price, clock, partial(goal.reached_at, row, around), partial(_back, region, price))
    flips = [(k, axes[k].coordinate(single.flip)) for k, single in enumerate(singles) if single.flip is not None]
    starts = _starts(region, price, around, [_moved(around, k, x) for k, x in flips])
    found = search.run(around.low[None], around.high[None], starts)
    ends = [
        end for column, axis in zip(columns, axes, strict=True) if not column.bounded for end in _ends(axis, around)
    ]
    lower = min([found.bound, *(distance / spread[name] for name, distance in ends)])
    return lower, found.value, None if found.x is None else around.cells(found.x), _word(found.status)


def _starts(
    region: Region, price: Price, around: Surroundings, flips: Sequence[Float64Array]
) -> Iterator[Float64Array]:
    """Rows that change the decision: by one column alone, then by all together, ever closer."""
    yield from flips
    low, high = around.low[None], around.high[None]
    radius = min((float(price.total(x[None])[0]) for x in flips), default=np.inf)
    for _ in range(_CLOSER):
        ball = region.within(*(ball_range[0] for ball_range in price.affordable(low, high, 0.9 * radius)))
        x = Moves(ball, price, np.ones(len(around.start), bool)).climb()
        if region.excess(x[None])[0] < 0:
            return
        x = _back(region, price, x)
        yield x
        radius = float(price.total(x[None])[0])


def _word(status: Status) -> str:
    return "never" if status is Status.INFEASIBLE else status.value


def _ends(axis: Axis, around: Surroundings) -> list[tuple[str, float]]:
    """How far a column that continues straight was followed, on either side."""
    start = around.start[[other.name for other in around.axes].index(axis.name)]
    return [(axis.name, float(start - axis.low)), (axis.name, float(axis.high - start))]


def _moved(around: Surroundings, k: int, x: float) -> Float64Array:
    point = around.start.copy()
    point[k] = x
    return point


def _back(region: Region, price: Price, x: Float64Array) -> Float64Array:
    """A valid point, with all its numbers closer to the row by the same share, as far as it stays valid."""
    invalid, valid = 0.0, 1.0
    away = np.where(price.levels, 0.0, x - price.start)
    for _ in range(_ROUNDS):
        shares = np.linspace(invalid, valid, _PARTS + 1)[:-1]
        there = region.excess(price.outwards(x + (shares - 1)[:, None] * away)) >= 0
        first = int(np.argmax(there)) if there.any() else _PARTS
        tried = np.append(shares, valid)
        invalid, valid = tried[max(first - 1, 0)], tried[first]
    return price.outwards(x + (valid - 1) * away)
