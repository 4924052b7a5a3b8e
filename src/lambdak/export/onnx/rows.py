"""Raw scores and slopes of rows, a block of rows at a time, so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from lambdak.export.formula import Formula
from lambdak.export.onnx.design import Design
from lambdak.export.onnx.graph import Graph, Value
from lambdak.export.onnx.matrices import Matrices
from lambdak.export.onnx.slopes import eigenvectors, outer_products, repeated
from lambdak.export.onnx.sturm import eigenvalues
from lambdak.export.onnx.tridiagonal import Tridiagonal, tridiagonal

_BLOCK_FLOATS = 1 << 19  # of the matrices of a block: about what a cache holds


@final
class RowScores:
    """Adds to a graph what computes raw scores of rows, and their slopes."""

    def __init__(self, graph: Graph, formula: Formula, explain: bool) -> None:
        self._graph, self._explain = graph, explain
        self._matrices = Matrices.of(formula)
        self._columns = len(formula.columns)
        self._design = Design(graph, formula.columns, self._matrices)

    def of(self, numbers: Value | None, codes: Value | None) -> list[Value]:
        """Raw scores (rows, outputs), and slopes (rows, outputs, columns).

        From numbers (rows, columns) and the design columns of categories (rows, columns).
        """
        graph, own = self._graph, self._matrices
        rows = graph.count(next(each for each in (numbers, codes) if each is not None))
        most = max(1, _BLOCK_FLOATS // (own.per_row * own.dim**2))
        size = graph("Max", graph("Min", rows, graph.whole([most])), graph.whole([1]))
        rounds = graph("Squeeze", (rows + size - graph.whole([1])) / size)
        within = graph("Range", graph.whole(0), graph("Squeeze", size), graph.whole(1))

        def block(step: Value) -> tuple[Sequence[Value], Sequence[Value]]:
            chosen = graph("Min", step * size + within, rows - graph.whole([1]))  # the last block repeats its last row
            parts = [None if each is None else each.take(chosen).permute(1, 0) for each in (numbers, codes)]
            return (), self._block(*parts)

        shapes = [[len(own.indices)], [len(own.indices), self._columns]]
        found = graph.loop(rounds, [], block)
        flat = [each.reshape(-1, *shape) for each, shape in zip(found, shapes, strict=False)]
        return [graph("Slice", each, graph.whole([0]), rows, graph.whole([0])) for each in flat]

    def _block(self, numbers: Value | None, codes: Value | None) -> list[Value]:
        cells = self._design.cells(numbers, codes)
        lower = self._design.lower(cells)
        if self._matrices.dim == 1:
            value, spread, same = lower, lower * 0.0 + 1.0, None
            results = [self._raw(value)]
        else:
            tri = tridiagonal(self._graph, lower, self._matrices.dim)
            value = eigenvalues(self._graph, tri, self._below(tri))
            results = [self._raw(value * tri.unit)]
            if self._explain:
                vectors = eigenvectors(self._graph, tri, value, self._matrices.dim)
                spread = outer_products(self._graph, vectors, self._matrices.dim)
                same = repeated(self._graph, tri, value, self._matrices.dim)
        if self._explain:
            influence = self._design.influence(cells, self._per_raw_score(spread))
            results.append(self._where_simple(influence, same).permute(2, 0, 1))
        return results

    def _below(self, tri: Tridiagonal) -> Value | float:
        """The position k of the eigenvalue of each matrix."""
        indices = self._matrices.indices
        if len(set(indices)) == 1:
            return float(indices[0])
        each = tri.unit.reshape(len(indices), -1) * 0.0 + self._graph.number([[index] for index in indices])
        return each.reshape(1, 1, -1)

    def _raw(self, value: Value) -> Value:
        """(rows, outputs), from eigenvalues (1, outputs · members · rows)."""
        graph, own = self._graph, self._matrices
        outputs, members = len(own.indices), len(own.weights)
        mean = graph("MatMul", graph.number(own.weights[None] * own.scale), value.reshape(outputs, members, -1))
        return mean.reshape(outputs, -1).permute(1, 0) + graph.number(own.start)

    def _per_raw_score(self, spread: Value) -> Value:
        """(outputs, E, members, rows), in units of raw scores, from (E, outputs · members · rows)."""
        own = self._matrices
        whole = spread.reshape(len(own.coef), len(own.indices), len(own.weights), -1)
        return (whole * self._graph.number((own.scale * own.weights)[:, None])).permute(1, 0, 2, 3)

    def _where_simple(self, influence: Value, same: Value | None) -> Value:
        """NaN in all columns of a row where an eigenvalue is repeated in a member."""
        if same is None:
            return influence
        graph, own = self._graph, self._matrices
        marks = same.cast(graph.dtype).reshape(len(own.indices), len(own.weights), -1)
        return graph.where(graph("Greater", marks.reduce("Sum", 1), 0.5), float(np.nan), influence)
