"""Design rows in a graph: numbers and levels as weights of matrices.

Numbers as entries of a design row: all columns of a table at once.

Every piece between two knots has a ramp, clip((x − κ_j) / (κ_{j+1} − κ_j), 0, 1), and the weight of knot j is the ramp
before it minus the ramp after it: the two weights next to x, and zeros, as in training. A line is a ramp of its own.

Design rows in a graph, and the matrices they belong to: A(row), and its derivatives by columns.

A design column of numbers, or of a category with few levels, has a weight in every row, and all of them are multiplied
with their matrices at once. The matrices of a category with many levels are looked up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import NamedTuple, assert_never, final

import numpy as np
from numpy.typing import NDArray

from lambdak.export.onnx.graph import Graph, Value
from lambdak.export.onnx.matrices import Matrices
from lambdak.table.cell_rules import NOTHING, KnotRule, LevelRule, LineRule, NumberRule
from lambdak.table.column_contract import Column

Part = tuple[str, int]  # a ramp by its number, "present" by the number of its column, "one" or "zero"
_ONE: Part = ("one", 0)
_ZERO: Part = ("zero", 0)


class Ramp(NamedTuple):
    """clip((x − left) / length, low, high), which rises for x in [first, last)."""

    column: int  # its position among the columns of numbers
    left: float
    length: float
    low: float
    high: float
    first: float
    last: float
    plus: int  # the design columns that its slope adds and takes away
    minus: int


class Entry(NamedTuple):
    """The weight of a design column: the difference of two parts."""

    id: int
    before: Part
    after: Part


@final
@dataclass(frozen=True)
class Ramps:
    """The ramps of all columns of numbers, and the design columns that they make up."""

    ramps: tuple[Ramp, ...]
    entries: tuple[Entry, ...]

    @classmethod
    def of(cls, rules: Sequence[LineRule | KnotRule], dtype: np.dtype[np.floating]) -> Ramps:
        """Ramps of the columns of numbers of a table, and the design columns that they make up."""
        ramps: list[Ramp] = []
        entries: list[Entry] = []
        for i, rule in enumerate(rules):
            begin: list[Part]
            match rule:
                case LineRule():
                    begin, rising = [], _line(i, rule, dtype)
                case KnotRule():
                    begin, rising = [("present", i) if rule.has_missing else _ONE], _curve(i, rule, dtype)
                case unknown:
                    assert_never(unknown)
            ends = [*begin, *(("ramp", len(ramps) + j) for j in range(len(rising))), _ZERO]
            entries += [Entry(rule.start + j, *pair) for j, pair in enumerate(pairwise(ends))]
            entries += [Entry(rule.missing, _ONE, ("present", i))] if rule.has_missing else []
            ramps += rising
        return cls(tuple(ramps), tuple(entries))


def _line(i: int, rule: LineRule, dtype: np.dtype[np.floating]) -> list[Ramp]:
    low, high = ((x - rule.center) / rule.scale for x in (rule.low, rule.high))
    low, high = (low, high) if rule.clamp else (-np.inf, np.inf)
    first, last = _inside(rule, dtype)
    return [Ramp(i, rule.center, rule.scale, low, high, first, last, rule.start, NOTHING)]


def _curve(i: int, rule: KnotRule, dtype: np.dtype[np.floating]) -> list[Ramp]:
    knots, (first, last) = _distinct(rule.knots, dtype), _inside(rule, dtype)
    beyond = 0.0 if rule.clamp else np.inf  # how far the first and the last ramp leave [0, 1]
    ramps = []
    for j, (left, right) in enumerate(pairwise(knots.tolist())):
        begins, ends, id_ = j == 0, j == len(knots) - 2, rule.start + j
        limits = (-beyond if begins else 0.0, 1.0 + beyond if ends else 1.0)
        cells = (first if begins else left, last if ends else right)
        ramps.append(Ramp(i, left, right - left, *limits, *cells, id_ + 1, id_))
    return ramps


def _inside(rule: NumberRule, dtype: np.dtype[np.floating]) -> tuple[float, float]:
    """The cells [first, last) whose number moves the column."""
    if not rule.clamp:
        return -np.inf, np.inf
    if rule.low >= rule.high:
        return np.inf, -np.inf
    low, high = np.array([rule.low, rule.high], dtype)
    return float(low), float(np.nextafter(high, dtype.type(np.inf)))


def _distinct(knots: NDArray[np.float64], dtype: np.dtype[np.floating]) -> NDArray[np.float64]:
    """Knots as the type holds them; those that it would not tell apart, as close as it can."""
    held = knots.astype(dtype)
    for j in range(1, len(held)):
        held[j] = max(held[j], np.nextafter(held[j - 1], dtype.type(np.inf)))
    return held.astype(np.float64)


# ---- in the graph ------------------------------------------------------------------------------------------------


def number_weights(graph: Graph, ramps: Ramps, rules: Sequence[NumberRule], x: Value) -> Value:
    """Weights (entries, rows) of numbers (columns, rows), NaN where one is missing."""
    gaps = graph("IsNaN", x)
    one = graph("Expand", graph.number([[1.0]]), graph.join([graph.whole([1]), graph.count(x, 1)]))
    parts, places = [one, one - one], [_ONE, _ZERO]
    missing = [i for i, rule in enumerate(rules) if rule.has_missing]
    if missing:
        parts.append(graph("Not", gaps.take(missing)).cast(graph.dtype))
        places += [("present", i) for i in missing]
    if ramps.ramps:
        parts.append(_heights(graph, ramps.ramps, rules, x, gaps))
        places += [("ramp", j) for j in range(len(ramps.ramps))]
    known, place = graph.join(parts), {part: i for i, part in enumerate(places)}
    before = known.take([place[entry.before] for entry in ramps.entries])
    return before - known.take([place[entry.after] for entry in ramps.entries])


def _heights(graph: Graph, ramps: Sequence[Ramp], rules: Sequence[NumberRule], x: Value, gaps: Value) -> Value:
    """(ramps, rows): zero where a missing cell has a matrix of its own, else that of the median."""
    numbers = graph.where(gaps, _vertical(graph, [rule.median for rule in rules]), x)
    columns = [ramp.column for ramp in ramps]
    rise = numbers.take(columns) - _vertical(graph, [ramp.left for ramp in ramps])
    share = rise / _vertical(graph, [ramp.length for ramp in ramps])
    above = graph("Max", share, _vertical(graph, [ramp.low for ramp in ramps]))
    heights = graph("Min", above, _vertical(graph, [ramp.high for ramp in ramps]))
    marked = [[rules[i].has_missing] for i in columns]
    if not any(mark for (mark,) in marked):
        return heights
    return graph.where(graph("And", gaps.take(columns), graph.flags(marked)), 0.0, heights)


def number_slopes(graph: Graph, ramps: Sequence[Ramp], x: Value) -> Value:
    """By how much each ramp rises per unit of its number, (ramps, rows)."""
    cells = x.take([ramp.column for ramp in ramps])
    after = graph("GreaterOrEqual", cells, _vertical(graph, [ramp.first for ramp in ramps]))
    before = graph("Less", cells, _vertical(graph, [ramp.last for ramp in ramps]))
    rise = _vertical(graph, [1.0 / ramp.length for ramp in ramps])
    return graph.where(graph("And", after, before), rise, 0.0)


def _vertical(graph: Graph, values: Sequence[float]) -> Value:
    return graph.number(np.asarray(values, np.float64)[:, None])


_NARROW = 64  # levels up to which a category is multiplied


@final
@dataclass(frozen=True)
class CellTensors:
    """Tensors of a graph that hold the cells of some rows, in the form that matrices are made from.

    Attributes
    ----------
    numbers : Value or None
        (columns of numbers, rows)
    hot : Value or None
        (levels, rows): 1 for the level of a narrow category, else 0.
    wide : list of Value
        (E · groups · members, rows): the matrices of each wide category.
    """

    numbers: Value | None
    hot: Value | None
    wide: list[Value]


@final
class DesignTensors:
    """How cells of a table become matrices."""

    def __init__(self, graph: Graph, columns: Sequence[Column], matrices: Matrices) -> None:
        self._graph, self._columns, self._matrices = graph, columns, matrices
        self._numbers = [column for column in columns if column.is_number]
        self._rules = [rule for rule in (column.rule for column in columns) if not isinstance(rule, LevelRule)]
        self._categories = [column for column in columns if not column.is_number]
        few = [(i, column) for i, column in enumerate(self._categories) if column.width <= _NARROW]
        self._levels = [(i, id_) for i, column in few for id_ in range(column.start, column.stop)]
        self._wide = [(i, column) for i, column in enumerate(self._categories) if column.width > _NARROW]
        self._ramps = Ramps.of(self._rules, graph.dtype)

    def cells(self, numbers: Value | None, codes: Value | None) -> CellTensors:
        """From numbers (columns, rows) and design columns of categories (columns, rows)."""
        graph, hot = self._graph, None
        if codes is not None and self._levels:
            ids = graph.whole([[id_] for _, id_ in self._levels])
            hot = graph("Equal", codes.take([i for i, _ in self._levels]), ids).cast(graph.dtype)
        wide = [] if codes is None else [self._looked_up(codes.take(i), column) for i, column in self._wide]
        return CellTensors(numbers, hot, wide)

    def _looked_up(self, code: Value, column: Column) -> Value:
        graph = self._graph
        looked_up = self._matrices.coef[..., column.start : column.stop].reshape(-1, column.width).T
        table = np.concatenate([np.zeros((1, looked_up.shape[1])), looked_up])  # first that of no level at all
        place = graph("Max", code - graph.whole(column.start - 1), graph.whole(0))
        return graph.number(table).take(place).permute(1, 0)

    # ---- A(row) ------------------------------------------------------------------------------------------------

    def lower(self, cells: CellTensors) -> Value:
        """Entries of lower triangles, (E, outputs · members · rows)."""
        graph, matrices = self._graph, self._matrices
        weights, ids = [], []
        if cells.numbers is not None:
            weights.append(number_weights(graph, self._ramps, self._rules, cells.numbers))
            ids += [entry.id for entry in self._ramps.entries]
        if cells.hot is not None:
            weights.append(cells.hot)
            ids += [id_ for _, id_ in self._levels]
        parts = list(cells.wide)
        if weights:
            flat = matrices.coef[..., ids].reshape(-1, len(ids))
            parts.append(graph("MatMul", graph.number(flat), graph.join(weights)))
        total = reduce(Value.__add__, parts)
        whole = total.reshape(*matrices.coef.shape[:3], -1) + graph.number(matrices.constant)
        return whole.reshape(len(matrices.coef), -1)

    # ---- dA/dx -------------------------------------------------------------------------------------------------

    def influence(self, cells: CellTensors, spread: Value) -> Value:
        """Σ_entries spread · dA/dx of each column, (outputs, columns, rows), from (outputs, E, members, rows).

        Of a category it is that of A(level) itself, as everywhere.
        """
        parts = [*self._ramp_parts(cells, spread), *self._level_parts(cells, spread)]
        for (_, column), looked_up in zip(self._wide, cells.wide, strict=True):
            by_group = looked_up.reshape(*self._matrices.coef.shape[:3], -1).permute(1, 0, 2, 3)
            total = self._flat(by_group * spread).reduce("Sum", 1)
            parts.append(total * self._graph.number(self._owners([column])))
        return reduce(Value.__add__, parts)

    def _ramp_parts(self, cells: CellTensors, spread: Value) -> list[Value]:
        ramps = self._ramps.ramps
        if cells.numbers is None or not ramps:
            return []
        coef = self._matrices.coef
        known = np.concatenate([coef, np.zeros((*coef.shape[:3], 1))], axis=3)  # so that NOTHING is the last one
        steps = known[..., [ramp.plus for ramp in ramps]] - known[..., [ramp.minus for ramp in ramps]]
        slopes = number_slopes(self._graph, ramps, cells.numbers)
        return [self._shares(steps, slopes, [self._numbers[ramp.column] for ramp in ramps], spread)]

    def _level_parts(self, cells: CellTensors, spread: Value) -> list[Value]:
        if cells.hot is None:
            return []
        of_levels = self._matrices.coef[..., [id_ for _, id_ in self._levels]]
        return [self._shares(of_levels, cells.hot, [self._categories[i] for i, _ in self._levels], spread)]

    def _shares(self, coef: NDArray[np.float64], factors: Value, columns: Sequence[Column], spread: Value) -> Value:
        """From matrices (E, groups, members, n), their factors (n, rows), and the columns they belong to."""
        graph = self._graph
        table = np.transpose(coef, (1, 3, 0, 2)).reshape(coef.shape[1], coef.shape[3], -1)
        each = graph("MatMul", graph.number(table), self._flat(spread)) * factors  # (outputs, n, rows)
        return graph("MatMul", graph.number(self._owners(columns)), each)

    def _flat(self, spread: Value) -> Value:
        entries, members = len(self._matrices.coef), len(self._matrices.weights)
        return spread.reshape(len(self._matrices.indices), entries * members, -1)

    def _owners(self, columns: Sequence[Column]) -> NDArray[np.float64]:
        """(all columns, these): 1 where they are the same."""
        return np.array([[float(one is other) for other in columns] for one in self._columns])
