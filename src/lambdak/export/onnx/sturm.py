"""The k-th eigenvalue of many tridiagonal matrices: brackets by Sturm counts, Newton's method, and counts as a proof.

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
from lambdak.export.onnx.tridiagonal import Tridiagonal

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


def eigenvalues(graph: Graph, tri: Tridiagonal, below: Value | float) -> Value:
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


def interval(graph: Graph, tri: Tridiagonal, below: Value | float) -> Interval:
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
    graph: Graph, tri: Tridiagonal, below: Value | float, where: Interval, bits: int
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


def bracket(graph: Graph, tri: Tridiagonal, below: Value | float, low: Value, width: Value, bits: int) -> list[Value]:
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


def counts(graph: Graph, tri: Tridiagonal, points: Value) -> Value:
    """How many eigenvalues lie below each of some points (1, points, matrices), of the same shape."""
    return graph.join([pivot < 0.0 for pivot in pivots(tri, points)]).cast(_COUNT).reduce("Sum", 0)


def _as_count(graph: Graph, below: Value | float) -> Value:
    return below.cast(_COUNT) if isinstance(below, Value) else graph.number(below, _COUNT)


def pivots(tri: Tridiagonal, points: Value) -> list[Value]:
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


def _newton(graph: Graph, tri: Tridiagonal, low: Value, width: Value) -> Value:
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
    graph: Graph, tri: Tridiagonal, below: Value | float, known: tuple[Value, Value, Value, Value], done: int
) -> Value:
    """The value where it was found, else the middle of a bracket that is divided to the end."""
    low, width, value, found = known
    size = len(tri.diagonal)
    place = graph("NonZero", graph("Not", found).reshape(-1)).reshape(-1)
    stack = graph.join([*tri.diagonal, *tri.squares]).take(place, axis=1)
    each = graph.nodes("Split", 2 * size - 1, stack, graph.whole([1] * (2 * size - 1)), axis=0)
    some = replace(tri, diagonal=each[:size], squares=each[size:])
    own = below if not isinstance(below, Value) else below.take(place, axis=2)
    left, ends = (part.take(place, axis=2) for part in (low, width))
    bits = np.finfo(graph.dtype).nmant - done
    left, ends = bracket(graph, some, own, left, ends, bits)
    middle = (left + ends * 0.5).reshape(-1)
    return graph("ScatterElements", value.reshape(-1), place, middle, axis=0)
