"""Slopes of raw scores: vᵀ A_i' v, the eigenvector v from a twisted factorisation of T − λ."""

from __future__ import annotations

import numpy as np

from lambdak.export.onnx.graph import Graph, Value
from lambdak.export.onnx.sturm import bracket, counts, interval
from lambdak.export.onnx.tridiagonal import LEAST, Tridiagonal, transformed_back
from lambdak.pencil import REPEATED_TOL

_NORM_BITS = 20  # of the largest eigenvalues, which only set the distance at which two count as one


def eigenvectors(graph: Graph, tri: Tridiagonal, value: Value, dim: int) -> Value:
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


def repeated(graph: Graph, tri: Tridiagonal, value: Value, dim: int) -> Value:
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
