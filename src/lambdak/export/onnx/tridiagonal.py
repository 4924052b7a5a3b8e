"""Householder's reduction of many symmetric matrices at once, T = Qᵀ A Q: matrices lie along the last axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from lambdak.export.onnx.graph import Graph, Value

LEAST = 1 / 8  # of ε: the size of an off-diagonal, below which it does not matter


@final
@dataclass(frozen=True)
class Tridiagonal:
    """T of matrices that were divided by their largest entry; every value is (1, matrices).

    Attributes
    ----------
    diagonal, beside, squares : lists of Value
        d entries; d − 1 off-diagonal entries; and their squares, kept away from zero.
    reflections : list of Value
        u (n, matrices) of every step, which applies I − u uᵀ to the last n coordinates.
    unit : Value
        What an eigenvalue of T is multiplied with: that entry, or zero.
    """

    diagonal: list[Value]
    beside: list[Value]
    squares: list[Value]
    reflections: list[Value]
    unit: Value


def tridiagonal(graph: Graph, lower: Value, dim: int) -> Tridiagonal:
    """From the entries of lower triangles, row by row, (D, matrices)."""
    largest = graph("Abs", lower).reduce("Max", 0)
    divisor = graph("Max", largest, float(np.finfo(graph.dtype).tiny))
    unit = graph.where(graph("Equal", largest, 0.0), 0.0, divisor)
    place = np.zeros((dim, dim), np.int64)
    place[np.tril_indices(dim)] = np.arange(dim * (dim + 1) // 2)
    scaled, place = lower / divisor, np.maximum(place, place.T)
    whole = scaled.take(place if dim < 3 else place[1:, 1:])  # (n, n, matrices)
    first = scaled.take(place[0])
    diagonal, beside, reflections = [], [], []
    for size in range(dim, 2, -1):
        first, rest = (first, whole) if size == dim else (whole.take(0), whole.part(1, size, (0, 1)))
        corner, column = graph.nodes("Split", 2, first, graph.whole([1, size - 1]), axis=0)
        turned, u = _reflection(graph, column, size - 1)
        diagonal.append(corner)
        beside.append(turned)
        reflections.append(u)
        whole = _reflected(graph, rest, u, size - 1)
    last = whole.reshape(dim if dim < 2 else 4, -1)
    diagonal += [last.take([i]) for i in ([0] if dim < 2 else [0, 3])]
    beside += [last.take([1])] if dim > 1 else []
    return _kept_apart(graph, diagonal, beside, reflections, unit)


def _kept_apart(
    graph: Graph, diagonal: list[Value], beside: list[Value], reflections: list[Value], unit: Value
) -> Tridiagonal:
    """Squares of at least (ε/8)²: then no pivot is 0/0, and eigenvalues move by less than rounding does."""
    least = (LEAST * float(np.finfo(graph.dtype).eps)) ** 2
    # -0 on the diagonal would turn the sign of an infinite pivot, and with it the count; -0 + 0 is 0.
    nothing = unit * 0.0
    plain = [each + nothing for each in diagonal]
    return Tridiagonal(plain, beside, [each * each + least for each in beside], reflections, unit)


def _reflection(graph: Graph, column: Value, size: int) -> tuple[Value, Value]:
    """The entry that a column (n, matrices) is turned to, and u: (I − u uᵀ) column = (entry, 0, …, 0)."""
    length = graph("Sqrt", column.reduce("SumSquare", 0))
    first, tail = graph.nodes("Split", 2, column, graph.whole([1, size - 1]), axis=0)
    signed = graph.where(first < 0.0, -length, length)
    top = first + signed  # no cancellation: both have one sign
    half = graph("Sqrt", top * signed)  # √(|v|²/2) of v = column + signed e_1
    info = np.finfo(graph.dtype)
    least = float(np.sqrt(info.tiny / info.eps))  # below it squares lose their digits, and nothing is turned
    factor = graph.where(half < least, 0.0, graph("Reciprocal", half))
    return -signed, graph.join([top, tail]) * factor


def _reflected(graph: Graph, rest: Value, u: Value, size: int) -> Value:
    """(I − u uᵀ) rest (I − u uᵀ), which is rest − u wᵀ − w uᵀ."""
    down, right = u.reshape(size, 1, -1), u.reshape(1, size, -1)
    image = (rest * down).reduce("Sum", 0, keepdims=False)  # (n, matrices)
    w = image - u * ((u * image).reduce("Sum", 0) * 0.5)
    return rest - down * w.reshape(1, size, -1) - w.reshape(size, 1, -1) * right


def transformed_back(tri: Tridiagonal, vector: Value, dim: int) -> Value:
    """Q z, (d, matrices), of vectors z in the coordinates of T."""
    graph = vector.graph
    for first, u in reversed(list(enumerate(tri.reflections, 1))):
        head, tail = graph.nodes("Split", 2, vector, graph.whole([first, dim - first]), axis=0)
        vector = graph.join([head, tail - u * (u * tail).reduce("Sum", 0)])
    return vector
