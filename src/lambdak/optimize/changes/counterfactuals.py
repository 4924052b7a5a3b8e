"""The cheapest change of a row that reaches a target, with a proof of how much cheaper another one can be at most.

A request says what may change in rows, and what that costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from lambdak._checks import check_int, check_non_negative
from lambdak._types import Float64Array
from lambdak.eigen.blas import single_threaded_blas
from lambdak.model import Model
from lambdak.model.rows import column_named
from lambdak.optimize.changes.goals import Goal, Region
from lambdak.optimize.changes.moves import Moves, hitting_sets
from lambdak.optimize.changes.nearest import Nearest
from lambdak.optimize.changes.recourse import Change, Recourse
from lambdak.optimize.changes.rows import (
    WAYS,
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
from lambdak.optimize.changes.targets import read_target, shown_prediction
from lambdak.optimize.frontier import Clock, Moment, Solution, Status
from lambdak.table.whole_columns import Wholes, whole_columns

_DIGITS = 5  # of a move, after the first one
_SAME = 1e-9  # cost below which a gap is zero


@final
@dataclass(frozen=True, eq=False)
class Request:
    """What may change, and what it costs.

    Attributes
    ----------
    names : tuple of str
        The columns that may change.
    units : mapping of str to float
        The price of a unit of each column, or of another level.
    directions, bounds : mappings of str
    whole : frozenset of str
    whole_as_seen : bool
        Whether these are what training saw: a row with another number is then not held to it.
    """

    names: tuple[str, ...]
    units: Mapping[str, float]
    directions: Mapping[str, str]
    bounds: Mapping[str, Any]
    whole: frozenset[str]
    whole_as_seen: bool

    def around(self, row: DecidedRow) -> Surroundings:
        """The axes around a row."""
        columns = movable(row, self.names)
        axes = tuple(
            axis_around(
                column,
                row.cells[column.name],
                self.bounds.get(column.name),
                column.name in self.whole and not (self.whole_as_seen and is_broken(row.cells[column.name])),
                self.directions.get(column.name),
            )
            for column in columns
        )
        return Surroundings(axes, np.array([axis.coordinate(row.cells[axis.name]) for axis in axes]))


def make_request(
    model: Model,
    actionable: Any,
    cost: Any,
    directions: Mapping[str, str] | None,
    bounds: Mapping[str, Any] | None,
    whole: Wholes,
    scale: Mapping[str, float] | None,
) -> Request:
    """The request of a user, checked."""
    listed = [actionable] if isinstance(actionable, str | int) else list(actionable)
    names = tuple(dict.fromkeys(_name(model, column) for column in listed))
    if not names:
        raise ValueError("actionable must name at least one column; got none")
    if not (cost == "l1" or isinstance(cost, Mapping)):
        raise ValueError(f"cost must be 'l1' or weights by column name; got {cost!r}")
    weights = {} if isinstance(cost, str) else {_name(model, column): float(weight) for column, weight in cost.items()}
    for name, weight in weights.items():
        if not 0 < weight < np.inf:
            raise ValueError(f"cost of column {name!r} must be positive and finite; got {weight}")
    ways = {_name(model, column): way for column, way in (directions or {}).items()}
    for name, way in ways.items():
        if way not in WAYS:
            raise ValueError(f"directions of column {name!r} must be 'up' or 'down'; got {way!r}")
    spread = spreads(model, scale)
    return Request(
        names,
        {name: weights.get(name, 1.0) / spread[name] for name in names},
        ways,
        {_name(model, column): ends for column, ends in (bounds or {}).items()},
        frozenset(_name(model, column) for column in whole_columns(model.encoder.columns, whole)),
        whole is None,
    )


def _name(model: Model, name: Any) -> str:
    return model.encoder.feature_names[column_named(model, name)]


class Stopping(NamedTuple):
    """When a search may end: a relative gap, and seconds for each row; and who is told how it goes."""

    gap: float
    seconds: float
    report: Callable[[Moment], None]


def counterfactual(
    model: Any,
    rows: Any,
    target: Any,
    actionable: Sequence[str],
    cost: str | Mapping[str, float] = "l1",
    directions: Mapping[str, str] | None = None,
    n: int = 1,
    *,
    bounds: Mapping[str, Any] | None = None,
    whole: Wholes = None,
    scale: Mapping[str, float] | None = None,
    output: Any = None,
    offset: ArrayLike | None = None,
    gap: float = 0.01,
    time_limit: float | None = 10.0,
    progress: Callable[[Moment], None] | None = None,
) -> Recourse:
    """The cheapest change of each row that reaches a target.

    Parameters
    ----------
    model : fitted estimator or Model
    rows : table
    target
        A class; (">=", number) or ("<=", number) of the prediction, or of ordered classes a class; or a number, which
        is to be reached from the side on which the row is.
    actionable : sequence of str
        The columns that may change; all others stay. A missing cell stays missing.
    cost : "l1" or mapping of str to float
        Σ weight · |change| / scale over numbers, and weight for another level of a category; "l1" weighs all alike.
    directions : mapping of str to {"up", "down"}
        Columns that may only rise, or only fall.
    n : int
        How many changes: of the columns that one of them changes, each further one leaves at least one as it is.
    bounds : mapping of str
        (low, high) of a number, by default its training range; the levels to choose from of a category. A row outside
        of them may stay where it is, or move towards them.
    whole : sequence of str, optional
        Columns of whole numbers; None are those that held no others in training, unless the row itself has another.
    scale : mapping of str to float
        The spreads of columns, by default those in training.
    output : class label or quantile level, optional
        Which prediction, see :func:`lambdak.optimize.predicted`.
    offset : array of shape (rows,), optional
        Added to the raw scores.
    gap : float
        How much dearer than the cheapest a change may be, relative to it.
    time_limit : float, optional
        Seconds for each change of each row. An interrupt ends the search with what was found so far.
    progress : callable, optional
        Told a :class:`Moment` (seconds, cost, bound, work) as the search goes on.

    Examples
    --------
    >>> from lambdak import SpectralClassifier
    >>> X = [[income, debt] for income in range(20) for debt in range(20)]
    >>> y = ["yes" if income > debt + 3 else "no" for income, debt in X]
    >>> model = SpectralClassifier(effort="fast", random_state=0).fit(X, y)
    >>> change = counterfactual(model, [[5, 5]], "yes", actionable=["x0"])[0]
    >>> change.status, change.after, change.point["x0"]  # all of training were whole numbers
    ('optimal', 'yes', 9)
    """
    own_model = model_of(model)
    request = make_request(own_model, actionable, cost, directions, bounds, whole, scale)
    seconds = np.inf if time_limit is None else float(time_limit)
    limits = Stopping(check_non_negative(gap, "gap"), seconds, progress or (lambda moment: None))
    count = check_int(n, "n", 1, 1 << 10)
    decided = read_rows(own_model, rows, offset)
    goals = [read_target(row, target, output) for row in decided]
    with single_threaded_blas():
        found = _every_row(decided, goals, request, limits, count)
    return Recourse(tuple(found), own_model.encoder.feature_names, rows)


def _every_row(
    rows: Sequence[DecidedRow], goals: Sequence[Goal], request: Request, limits: Stopping, n: int
) -> list[Change]:
    """The changes of all rows, or of those up to an interrupt."""
    found: list[Change] = []
    for i, (row, goal) in enumerate(zip(rows, goals, strict=True)):
        found += _changes(row, goal, request, limits, n, i)
        if found[-1].status == Status.INTERRUPTED.value:
            break
    return found


def _changes(row: DecidedRow, goal: Goal, request: Request, limits: Stopping, n: int, i: int) -> list[Change]:
    """The changes of one row, the cheapest first."""
    here = row.raw([{}])
    around = request.around(row)
    if bool(goal.reached(here)[0]):
        solution = Solution(around.start, 0.0, 0.0, Status.OPTIMAL, "as it is", ())
        return [_change(row, goal, around, solution, i, 0)]
    if not around.axes:
        solution = Solution(None, np.inf, np.inf, Status.INFEASIBLE, "nothing may change", ())
        return [_change(row, goal, around, solution, i, 0)]
    work = _Work(row, goal, around, around.price(request.units, False), Region.of(goal, row, around.axes))
    found: list[Change] = []
    changed: list[frozenset[int]] = []
    while len(found) < n:
        solution = work.solve(changed, limits)
        if solution.x is None and found:
            break
        found.append(_change(row, goal, around, solution, i, len(found), work.closest if solution.x is None else None))
        if solution.x is None:
            break
        changed.append(frozenset(np.flatnonzero(solution.x != around.start).tolist()))
    return found


@final
@dataclass(frozen=True, eq=False)
class _Work:
    """One row, what it is to reach, and what moves cost."""

    row: DecidedRow
    goal: Goal
    around: Surroundings
    price: Price
    region: Region

    def solve(self, changed: Sequence[frozenset[int]], limits: Stopping) -> Solution:
        """The cheapest change that leaves a column of each of the earlier ones as it is."""
        clock = Clock(
            lambda value, bound: bool(value - bound <= max(limits.gap * value, _SAME)) if np.isfinite(value) else False,
            limits.seconds,
            limits.report,
        )
        fixed = hitting_sets(changed)
        low, high = (np.repeat(ends[None], len(fixed), axis=0) for ends in (self.around.low, self.around.high))
        for k, coordinates in enumerate(fixed):
            low[k, list(coordinates)] = high[k, list(coordinates)] = self.price.start[list(coordinates)]
        reached = partial(self.goal.reached_at, self.row, self.around)
        search = Nearest(self.region, self.price, clock, reached, self._closer)
        starts = (x for free in low < high for x in Moves(self.region, self.price, free).first())
        return self._shortened(search.run(low, high, starts))

    def _shortened(self, solution: Solution) -> Solution:
        """Solution with numbers of few digits, where ``predict`` agrees: what is printed is then what was checked."""
        if solution.x is None:
            return solution
        for outwards in (False, True):
            x = np.array([self._short(i, coordinate, outwards) for i, coordinate in enumerate(solution.x.tolist())])
            if self.goal.reached_at(self.row, self.around, x[None])[0]:
                value = float(self.price.total(x[None])[0])
                return replace(solution, x=x, value=value, bound=min(solution.bound, value))
        return solution

    def _short(self, i: int, x: float, outwards: bool) -> float:
        """A number with the digits that matter for its move, away from where the row is or not, within its bounds."""
        axis, start = self.around.axes[i], float(self.price.start[i])
        if axis.whole or x == start:
            return x
        digits = _DIGITS - math.floor(math.log10(abs(x - start)))
        short = round(x, digits)
        if outwards and abs(short - start) < abs(x - start):
            short = round(short + math.copysign(10.0**-digits, x - start), digits)
        return float(np.clip(short, axis.low, axis.high))

    @property
    def closest(self) -> Any:
        """The prediction closest to the goal that was found."""
        best = Moves(self.region, self.price, self.around.low < self.around.high).climb()
        return shown_prediction(self.row.model, self.goal, self.row.raw([self.around.cells(best)])[0])

    def _closer(self, x: Float64Array) -> Float64Array:
        return Moves(self.region, self.price, x != self.price.start).back(x)


def _change(
    row: DecidedRow, goal: Goal, around: Surroundings, solution: Solution, i: int, k: int, closest: Any = None
) -> Change:
    cells = None if solution.x is None else around.cells(solution.x)
    raw = row.raw([{}, cells or {}])
    before, after = (shown_prediction(row.model, goal, scores) for scores in raw)
    return Change(
        row=i,
        number=k,
        goal=goal.words,
        before=before,
        after=None if cells is None else after,
        cells=dict(row.cells),
        changes=cells,
        cost=solution.value,
        bound=min(solution.bound, solution.value),
        status=solution.status.value,
        seconds=solution.trace[-1].seconds if solution.trace else 0.0,
        reachable=closest if isinstance(closest, float) else None,
        categories=frozenset(axis.name for axis in around.axes if axis.levels),
    )
