"""Raw scores of rows, and their slopes.

Slopes of raw scores: vᵀ A_i' v, the eigenvector v from a twisted factorisation of T − λ.

Raw scores and slopes of rows, a block of rows at a time, so that memory stays bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from lambdak.export.formula import Formula
from lambdak.export.onnx.design import DesignTensors
from lambdak.export.onnx.eigenvalue import (
    LEAST,
    TridiagonalTensors,
    bracket,
    counts,
    eigenvalues,
    interval,
    transformed_back,
    tridiagonal,
)
from lambdak.export.onnx.graph import Graph, Value
from lambdak.export.onnx.matrices import Matrices
from lambdak.pencil import REPEATED_TOL

_NORM_BITS = 20  # of the largest eigenvalues, which only set the distance at which two count as one


def eigenvectors(graph: Graph, tri: TridiagonalTensors, value: Value, dim: int) -> Value:
    """Unit vectors (d, matrices) of the eigenvalues (1, matrices) of T, in the coordinates of A."""
    forwards = _finite_pivots(graph, tri.diagonal, tri.squares, value)
    backwards = _finite_pivots(graph, tri.diagonal[::-1], tri.squares[::-1], value)[::-1]
    together = zip(forwards, backwards, tri.diagonal, strict=True)
    twists = graph.join([graph("Abs", ahead + back - (entry - value)) for ahead, back, entry in together])
    best = graph("ArgMin", twists, axis=0)  # (1, matrices): the row in which T − λ is closest to singular
    here = [graph("Equal", best, graph.whole([[i]])) for i in range(dim)]
    beside = _kept_from_zero(graph, tri.beside)
    up = _chain(graph, here, forwards, beside, range(dim - 1, -1, -1))
    down = _chain(graph, here, backwards, beside, range(dim))
    z = graph.join([graph.where(here[i], 1.0, up[i] + down[i]) for i in range(dim)])
    z = z / graph("Abs", z).reduce("Max", 0)  # so that squares stay in range
    return transformed_back(tri, z / graph("Sqrt", z.reduce("SumSquare", 0)), dim)


def _kept_from_zero(graph: Graph, beside: list[Value]) -> list[Value]:
    """Off-diagonals as their squares are, so that both belong to one matrix."""
    least = LEAST * float(np.finfo(graph.dtype).eps)
    return [graph.where(graph("Abs", each) < least, least, each) for each in beside]


def _finite_pivots(graph: Graph, diagonal: list[Value], squares: list[Value], value: Value) -> list[Value]:
    """Pivots of T − λ, kept away from zero and so from infinity: entries of vectors are ratios of them."""
    least = float(np.finfo(graph.dtype).tiny / np.finfo(graph.dtype).eps)
    found: list[Value] = []
    for i, entry in enumerate(diagonal):
        pivot = entry - value if i == 0 else entry - value - squares[i - 1] / found[-1]
        found.append(graph.where(graph("Abs", pivot) < least, least, pivot))
    return found


def _chain(graph: Graph, here: list[Value], found: list[Value], beside: list[Value], rows: range) -> list[Value]:
    """Entries of vectors in these rows, from the row of the twist on; zero before it."""
    entries: dict[int, Value] = {}
    previous = None
    for i in rows:
        if previous is None:
            entries[i] = graph.where(here[i], 1.0, 0.0)
        else:
            ratio = beside[min(i, previous)] / found[i]
            entries[i] = graph.where(here[i], 1.0, -(ratio * entries[previous]))
        previous = i
    return [entries[i] for i in range(len(here))]


def repeated(graph: Graph, tri: TridiagonalTensors, value: Value, dim: int) -> Value:
    """Whether another eigenvalue lies within the tolerance, relative to ‖A‖₂, (1, 1, matrices)."""
    value = value.reshape(1, 1, -1)
    tol = max(REPEATED_TOL, float(np.sqrt(np.finfo(graph.dtype).eps)))
    ends = []
    for k in (0, dim - 1):
        where = interval(graph, tri, float(k))
        ends.append(bracket(graph, tri, float(k), where.mean + where.low, where.width, _NORM_BITS)[0])
    far = graph("Max", *(graph("Abs", end) for end in ends)) * tol
    near = counts(graph, tri, value + far) - counts(graph, tri, value - far)
    return graph("Less", graph.number(1.5), near.cast(graph.dtype))


def outer_products(graph: Graph, vector: Value, dim: int) -> Value:
    """Factors from v vᵀ, (E, matrices), which the entries of the lower triangle of A are multiplied with for vᵀ A v."""
    rows, columns = np.tril_indices(dim)
    twice = graph.number(np.where(rows == columns, 1.0, 2.0)[:, None])
    return vector.take(rows) * vector.take(columns) * twice


_BLOCK_FLOATS = 1 << 19  # of the matrices of a block: about what a cache holds


@final
class RowScores:
    """Adds to a graph what computes raw scores of rows, and their slopes."""

    def __init__(self, graph: Graph, formula: Formula, explain: bool) -> None:
        self._graph, self._explain = graph, explain
        self._matrices = Matrices.of(formula)
        self._columns = len(formula.columns)
        self._design = DesignTensors(graph, formula.columns, self._matrices)

    def of(self, numbers: Value | None, codes: Value | None) -> list[Value]:
        """Raw scores (rows, outputs), and slopes (rows, outputs, columns).

        From numbers (rows, columns) and the design columns of categories (rows, columns).
        """
        graph, matrices = self._graph, self._matrices
        rows = graph.count(next(each for each in (numbers, codes) if each is not None))
        most = max(1, _BLOCK_FLOATS // (matrices.per_row * matrices.dim**2))
        size = graph("Max", graph("Min", rows, graph.whole([most])), graph.whole([1]))
        rounds = graph("Squeeze", (rows + size - graph.whole([1])) / size)
        within = graph("Range", graph.whole(0), graph("Squeeze", size), graph.whole(1))

        def block(step: Value) -> tuple[Sequence[Value], Sequence[Value]]:
            chosen = graph("Min", step * size + within, rows - graph.whole([1]))  # the last block repeats its last row
            parts = [None if each is None else each.take(chosen).permute(1, 0) for each in (numbers, codes)]
            return (), self._block(*parts)

        shapes = [[len(matrices.indices)], [len(matrices.indices), self._columns]]
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

    def _below(self, tri: TridiagonalTensors) -> Value | float:
        """The position k of the eigenvalue of each matrix."""
        indices = self._matrices.indices
        if len(set(indices)) == 1:
            return float(indices[0])
        each = tri.unit.reshape(len(indices), -1) * 0.0 + self._graph.number([[index] for index in indices])
        return each.reshape(1, 1, -1)

    def _raw(self, value: Value) -> Value:
        """(rows, outputs), from eigenvalues (1, outputs · members · rows)."""
        graph, matrices = self._graph, self._matrices
        outputs, members = len(matrices.indices), len(matrices.weights)
        mean = graph(
            "MatMul", graph.number(matrices.weights[None] * matrices.scale), value.reshape(outputs, members, -1)
        )
        return mean.reshape(outputs, -1).permute(1, 0) + graph.number(matrices.start)

    def _per_raw_score(self, spread: Value) -> Value:
        """(outputs, E, members, rows), in units of raw scores, from (E, outputs · members · rows)."""
        matrices = self._matrices
        whole = spread.reshape(len(matrices.coef), len(matrices.indices), len(matrices.weights), -1)
        return (whole * self._graph.number((matrices.scale * matrices.weights)[:, None])).permute(1, 0, 2, 3)

    def _where_simple(self, influence: Value, same: Value | None) -> Value:
        """NaN in all columns of a row where an eigenvalue is repeated in a member."""
        if same is None:
            return influence
        graph, matrices = self._graph, self._matrices
        marks = same.cast(graph.dtype).reshape(len(matrices.indices), len(matrices.weights), -1)
        return graph.where(graph("Greater", marks.reduce("Sum", 1), 0.5), float(np.nan), influence)
