"""The k-th eigenvalue of many matrices at once, in the operators of ONNX.

Householder's reduction of many symmetric matrices at once, T = Qᵀ A Q: matrices lie along the last axis.

The k-th eigenvalue of many tridiagonal matrices: brackets by Sturm counts, Newton's method, and counts as a proof.

A round divides every bracket into 2ᵇ parts. Few matrices are divided finely, so that few rounds are needed and a single
row does not wait; many are halved, which takes the least arithmetic. The first rounds count in single precision, and
leave room for its rounding. From there Newton's method on the characteristic polynomial needs a few steps. Counts just
below and just above tell where it failed, such as in clusters: there, and only there, brackets are divided to the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from lambdak.export.onnx.graph import Graph, Value

LEAST = 1 / 8  # of ε: the size of an off-diagonal, below which it does not matter


@final
@dataclass(frozen=True)
class TridiagonalTensors:
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


def tridiagonal(graph: Graph, lower: Value, dim: int) -> TridiagonalTensors:
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
) -> TridiagonalTensors:
    """Squares of at least (ε/8)²: then no pivot is 0/0, and eigenvalues move by less than rounding does."""
    least = (LEAST * float(np.finfo(graph.dtype).eps)) ** 2
    # -0 on the diagonal would turn the sign of an infinite pivot, and with it the count; -0 + 0 is 0.
    nothing = unit * 0.0
    plain = [each + nothing for each in diagonal]
    return TridiagonalTensors(plain, beside, [each * each + least for each in beside], reflections, unit)


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


def transformed_back(tri: TridiagonalTensors, vector: Value, dim: int) -> Value:
    """Q z, (d, matrices), of vectors z in the coordinates of T."""
    graph = vector.graph
    for first, u in reversed(list(enumerate(tri.reflections, 1))):
        head, tail = graph.nodes("Split", 2, vector, graph.whole([first, dim - first]), axis=0)
        vector = graph.join([head, tail - u * (u * tail).reduce("Sum", 0)])
    return vector


_FINEST = 6  # bits of a round
_AT_ONCE = 4096  # points of all matrices up to which more of them cost little
_NEWTON_STEPS = 4
_BRACKET_BITS = 7  # of a bracket that Newton's method begins with, beside those that tell the eigenvalues apart
_COUNT = np.float32  # the type of counts: small numbers, which are summed up faster than in double precision
_SINGLE_ROUNDING = 2  # units in the last place in single precision, for each row of a matrix, by which a bracket grows
_ROUNDING = 4  # units in the last place of the largest eigenvalue, within which a count is trusted


@final
@dataclass(frozen=True)
class Interval:
    """Where an eigenvalue is, relative to the mean of all eigenvalues; values are (1, 1, matrices).

    Attributes
    ----------
    centred : Value
        The diagonal of T − mean, (d, matrices).
    low, width : Value
        The lower end, relative to the mean, and the width.
    reach, largest : Value
        At least as large as every eigenvalue of T − mean, and of T.
    """

    mean: Value
    centred: Value
    low: Value
    width: Value
    reach: Value
    largest: Value


def eigenvalues(graph: Graph, tri: TridiagonalTensors, below: Value | float) -> Value:
    """λ_k (1, matrices) of T; ``below`` is k, the number of eigenvalues below it."""
    where = interval(graph, tri, below)
    few = _BRACKET_BITS + int(np.ceil(np.log2(len(tri.diagonal))))
    low, width = rough_bracket(graph, tri, below, where, few)
    value = _newton(graph, tri, low, width)
    slack = where.largest * (_ROUNDING * float(np.finfo(graph.dtype).eps))
    ends = graph.join([value - slack, value + slack], axis=1)  # (1, 2, matrices)
    less, more = graph.nodes("Split", 2, counts(graph, tri, ends), graph.whole([1, 1]), axis=1)
    wanted = _as_count(graph, below)
    found = graph("And", graph("LessOrEqual", less, wanted), graph("Greater", more, wanted))
    return _divided(graph, tri, below, (low, width, value, found), few).reshape(1, -1)


def interval(graph: Graph, tri: TridiagonalTensors, below: Value | float) -> Interval:
    """By mean and standard deviation of all eigenvalues, as Wolkowicz and Styan have it."""
    dim = len(tri.diagonal)
    diagonal = graph.join(tri.diagonal)
    mean = diagonal.reduce("Sum", 0) * (1.0 / dim)
    centred = diagonal - mean
    squares = centred.reduce("SumSquare", 0) + graph("Sum", *tri.squares) * 2.0
    spread = graph("Sqrt", squares * (1.0 / dim)).reshape(1, 1, -1)
    k = below if isinstance(below, Value) else graph.number(below)
    down = graph("Sqrt", (graph.number(dim - 1) - k) / (k + 1.0))
    up = graph("Sqrt", k / (graph.number(dim) - k))
    mean, reach = mean.reshape(1, 1, -1), spread * float(np.sqrt(dim - 1))
    largest = graph("Abs", mean) + reach
    edge = largest * (dim * float(np.finfo(graph.dtype).eps))  # for the rounding of all this
    low, width = -(spread * down) - edge, spread * (down + up) + edge * 2.0
    return Interval(mean, centred, low, width, reach, largest)


def rough_bracket(
    graph: Graph, tri: TridiagonalTensors, below: Value | float, where: Interval, bits: int
) -> tuple[Value, Value]:
    """The lower end and the width of a bracket that counts in single precision yield, which are faster.

    They are those of T − mean, so that what all eigenvalues have in common costs no digits.
    """
    size = len(tri.diagonal)
    with graph.computing_in(np.float32):
        diagonal = graph.nodes("Split", size, where.centred.cast(np.float32), graph.whole([1] * size), axis=0)
        some = replace(tri, diagonal=diagonal, squares=[each.cast(np.float32) for each in tri.squares])
        ends = bracket(graph, some, below, where.low.cast(np.float32), where.width.cast(np.float32), bits)
    low, width = (end.cast(graph.dtype) for end in ends)
    margin = where.reach * (_SINGLE_ROUNDING * size * float(np.finfo(np.float32).eps))
    return where.mean + (low - margin), width + margin * 2.0


def bracket(
    graph: Graph, tri: TridiagonalTensors, below: Value | float, low: Value, width: Value, bits: int
) -> list[Value]:
    """Where λ_k is: the lower end and the width of an interval, smaller by 2⁻ᵇⁱᵗˢ, (1, 1, matrices)."""
    per_round, rounds = _schedule(graph, low, bits)
    parts = graph("Pow", graph.number(2.0), per_round)  # ()
    share = graph("Reciprocal", parts)
    inner = graph("Range", graph.number(1.0), parts, graph.number(1.0)).reshape(1, -1, 1) * share  # (1, points, 1)

    wanted = _as_count(graph, below)

    def narrowed(_: Value, low: Value, width: Value) -> tuple[Sequence[Value], Sequence[Value]]:
        outside = graph("LessOrEqual", counts(graph, tri, low + width * inner), wanted)
        steps = outside.cast(_COUNT).reduce("Sum", 1).cast(graph.dtype)  # (1, 1, matrices)
        width = width * share
        return (low + steps * width, width), ()

    return graph.loop(rounds, [low, width], narrowed)


def counts(graph: Graph, tri: TridiagonalTensors, points: Value) -> Value:
    """How many eigenvalues lie below each of some points (1, points, matrices), of the same shape."""
    return graph.join([pivot < 0.0 for pivot in pivots(tri, points)]).cast(_COUNT).reduce("Sum", 0)


def _as_count(graph: Graph, below: Value | float) -> Value:
    return below.cast(_COUNT) if isinstance(below, Value) else graph.number(below, _COUNT)


def pivots(tri: TridiagonalTensors, points: Value) -> list[Value]:
    """Pivots of T − x from its first row on; after one that is zero comes an infinite one of the right sign."""
    found = [tri.diagonal[0] - points]
    for entry, square in zip(tri.diagonal[1:], tri.squares, strict=True):
        found.append(entry - points - square / found[-1])
    return found


def _schedule(graph: Graph, low: Value, bits: int) -> tuple[Value, Value]:
    """Bits of a round, a number, and rounds, a whole number: none if there is no matrix."""
    matrices = graph("Squeeze", graph.count(low, 2)).cast(graph.dtype)
    fit = graph("Floor", graph("Log", graph.number(_AT_ONCE) / matrices) * (1.0 / float(np.log(2.0))))
    per_round = graph("Max", graph("Min", fit, float(_FINEST)), 1.0)
    rounds = graph("Ceil", graph.number(bits) / per_round) * graph("Min", matrices, 1.0)
    return per_round, rounds.cast(np.int64)


def _newton(graph: Graph, tri: TridiagonalTensors, low: Value, width: Value) -> Value:
    """The zero of det(T − x) near the middle of a bracket, if all goes well."""
    high = low + width

    def nearer(_: Value, x: Value) -> tuple[Sequence[Value], Sequence[Value]]:
        pivot = tri.diagonal[0] - x
        slope = graph.number(-1.0) / pivot  # of its logarithm
        total = slope
        for entry, square in zip(tri.diagonal[1:], tri.squares, strict=True):
            ratio = square / pivot
            pivot = entry - x - ratio
            slope = (ratio * slope - 1.0) / pivot
            total = total + slope
        return (graph("Min", graph("Max", x - graph("Reciprocal", total), low), high),), ()

    return graph.loop(graph.whole(_NEWTON_STEPS), [low + width * 0.5], nearer)[0]


def _divided(
    graph: Graph, tri: TridiagonalTensors, below: Value | float, known: tuple[Value, Value, Value, Value], done: int
) -> Value:
    """The value where it was found, else the middle of a bracket that is divided to the end."""
    low, width, value, found = known
    size = len(tri.diagonal)
    place = graph("NonZero", graph("Not", found).reshape(-1)).reshape(-1)
    stack = graph.join([*tri.diagonal, *tri.squares]).take(place, axis=1)
    each = graph.nodes("Split", 2 * size - 1, stack, graph.whole([1] * (2 * size - 1)), axis=0)
    some = replace(tri, diagonal=each[:size], squares=each[size:])
    pivot = below if not isinstance(below, Value) else below.take(place, axis=2)
    left, ends = (part.take(place, axis=2) for part in (low, width))
    bits = np.finfo(graph.dtype).nmant - done
    left, ends = bracket(graph, some, pivot, left, ends, bits)
    middle = (left + ends * 0.5).reshape(-1)
    return graph("ScatterElements", value.reshape(-1), place, middle, axis=0)
