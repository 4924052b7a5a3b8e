"""Design rows in a graph, and the matrices they belong to: A(row), and its derivatives by columns.

A design column of numbers, or of a category with few levels, has a weight in every row, and all of them are multiplied
with their matrices at once. The matrices of a category with many levels are looked up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import final

import numpy as np
from numpy.typing import NDArray

from lambdak.export.onnx.graph import Graph, Value
from lambdak.export.onnx.matrices import Matrices
from lambdak.export.onnx.numbers import Ramps, number_slopes, number_weights
from lambdak.table.cell_rules import LevelRule
from lambdak.table.column_contract import Column

_NARROW = 64  # levels up to which a category is multiplied


@final
@dataclass(frozen=True)
class Cells:
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
class Design:
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

    def cells(self, numbers: Value | None, codes: Value | None) -> Cells:
        """From numbers (columns, rows) and design columns of categories (columns, rows)."""
        graph, hot = self._graph, None
        if codes is not None and self._levels:
            ids = graph.whole([[id_] for _, id_ in self._levels])
            hot = graph("Equal", codes.take([i for i, _ in self._levels]), ids).cast(graph.dtype)
        wide = [] if codes is None else [self._looked_up(codes.take(i), column) for i, column in self._wide]
        return Cells(numbers, hot, wide)

    def _looked_up(self, code: Value, column: Column) -> Value:
        graph = self._graph
        own = self._matrices.coef[..., column.start : column.stop].reshape(-1, column.width).T
        table = np.concatenate([np.zeros((1, own.shape[1])), own])  # first that of no level at all
        place = graph("Max", code - graph.whole(column.start - 1), graph.whole(0))
        return graph.number(table).take(place).permute(1, 0)

    # ---- A(row) ------------------------------------------------------------------------------------------------

    def lower(self, cells: Cells) -> Value:
        """Entries of lower triangles, (E, outputs · members · rows)."""
        graph, own = self._graph, self._matrices
        weights, ids = [], []
        if cells.numbers is not None:
            weights.append(number_weights(graph, self._ramps, self._rules, cells.numbers))
            ids += [entry.id for entry in self._ramps.entries]
        if cells.hot is not None:
            weights.append(cells.hot)
            ids += [id_ for _, id_ in self._levels]
        parts = list(cells.wide)
        if weights:
            flat = own.coef[..., ids].reshape(-1, len(ids))
            parts.append(graph("MatMul", graph.number(flat), graph.join(weights)))
        total = reduce(Value.__add__, parts)
        whole = total.reshape(*own.coef.shape[:3], -1) + graph.number(own.constant)
        return whole.reshape(len(own.coef), -1)

    # ---- dA/dx -------------------------------------------------------------------------------------------------

    def influence(self, cells: Cells, spread: Value) -> Value:
        """Σ_entries spread · dA/dx of each column, (outputs, columns, rows), from (outputs, E, members, rows).

        Of a category it is that of A(level) itself, as everywhere.
        """
        parts = [*self._ramp_parts(cells, spread), *self._level_parts(cells, spread)]
        for (_, column), looked_up in zip(self._wide, cells.wide, strict=True):
            by_group = looked_up.reshape(*self._matrices.coef.shape[:3], -1).permute(1, 0, 2, 3)
            total = self._flat(by_group * spread).reduce("Sum", 1)
            parts.append(total * self._graph.number(self._owners([column])))
        return reduce(Value.__add__, parts)

    def _ramp_parts(self, cells: Cells, spread: Value) -> list[Value]:
        ramps = self._ramps.ramps
        if cells.numbers is None or not ramps:
            return []
        coef = self._matrices.coef
        known = np.concatenate([coef, np.zeros((*coef.shape[:3], 1))], axis=3)  # so that NOTHING is the last one
        steps = known[..., [ramp.plus for ramp in ramps]] - known[..., [ramp.minus for ramp in ramps]]
        slopes = number_slopes(self._graph, ramps, cells.numbers)
        return [self._shares(steps, slopes, [self._numbers[ramp.column] for ramp in ramps], spread)]

    def _level_parts(self, cells: Cells, spread: Value) -> list[Value]:
        if cells.hot is None:
            return []
        own = self._matrices.coef[..., [id_ for _, id_ in self._levels]]
        return [self._shares(own, cells.hot, [self._categories[i] for i, _ in self._levels], spread)]

    def _shares(self, own: NDArray[np.float64], factors: Value, columns: Sequence[Column], spread: Value) -> Value:
        """From matrices (E, groups, members, n), their factors (n, rows), and the columns they belong to."""
        graph = self._graph
        table = np.transpose(own, (1, 3, 0, 2)).reshape(own.shape[1], own.shape[3], -1)
        each = graph("MatMul", graph.number(table), self._flat(spread)) * factors  # (outputs, n, rows)
        return graph("MatMul", graph.number(self._owners(columns)), each)

    def _flat(self, spread: Value) -> Value:
        entries, members = len(self._matrices.coef), len(self._matrices.weights)
        return spread.reshape(len(self._matrices.indices), entries * members, -1)

    def _owners(self, columns: Sequence[Column]) -> NDArray[np.float64]:
        """(all columns, these): 1 where they are the same."""
        return np.array([[float(one is other) for other in columns] for one in self._columns])
