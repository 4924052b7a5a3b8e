r"""Bounds on influence, proven in integers: Σ_m w_m ‖A_m(b) − A_m(a)‖₂ ≤ B for any two cells a, b of a column.

Bounds on slopes, Σ_m w_m ‖Σ_i q_i A_i'(x_i)‖₂ ≤ B for any choice of a piece of each column, likewise.

‖D‖₂ ≤ n if n² is at least the sum of the squares of D's entries, and otherwise if n I − D and n I + D are positive
semidefinite. Floating-point numbers only propose n.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import prod

import numpy as np

from lambdak._types import Float64Array
from lambdak.model.readout import Readout
from lambdak.pencil.definite import UNIT, frobenius, norm_bound
from lambdak.pencil.exact import Verdict, Work, all_of, frobenius_is_below, norm_is_below
from lambdak.pencil.statements import rises
from lambdak.shapes.slope import Direction
from lambdak.table.column_contract import Column

MOST_CELLS = 256  # beyond, pairs are too many for integers
MOST_CORNERS = 1 << 10  # of a box
MOST_CHOICES = 1 << 13  # of pieces, one of each column of a direction: single columns have fewer knots
_OUTWARDS, _INWARDS, _TINY = 1 + 1e-14, 1 - 1e-15, 1e-310  # what is proposed may have been rounded
_CLOSE = 1 + Fraction(1, 10**9)  # bounds on norms are closer than that


def any_change_is_below(readout: Readout, i: int, bound: float, work: Work | None = None) -> Verdict:
    """Whether no change of column i moves the raw score, the real function, by more than ``bound``.

    None if deciding that takes more integers than ``work`` allows.
    """
    limit = Fraction(bound) / Fraction(readout.scale)
    start, cells = readout.columns[i].start, readout.columns[i].exact_cells()
    return all_of(_is_below(readout, _difference(a, b, start), limit, work) for a, b in combinations(cells, 2))


def box_is_below(
    readout: Readout, moves: Mapping[int, Float64Array], bound: float, work: Work | None = None
) -> Verdict:
    """Whether no corner of a box, a move of each column in either direction, moves the raw score by more.

    None if deciding that takes more integers than ``work`` allows.
    """
    limit = Fraction(bound) / Fraction(readout.scale)
    parts = [[_factors(move, readout.columns[i].start) for move in own] for i, own in moves.items()]
    either = [parts[0], *([*own, *(_negative(move) for move in own)] for own in parts[1:])]
    return all_of(_is_below(readout, _joined(corner), limit, work) for corner in product(*either))


def slope_is_below(readout: Readout, direction: Direction, bound: float, work: Work | None = None) -> Verdict:
    """Whether no slope of the raw score, the real function, along a direction is more than ``bound``.

    None if deciding that takes more integers than ``work`` allows, or if there are too many choices of pieces.
    """
    limit = Fraction(bound) / Fraction(readout.scale)
    parts = [_slopes(readout.columns[i], Fraction(weight), len(direction) > 1) for i, weight in direction]
    if prod(map(len, parts)) > MOST_CHOICES:
        return None
    return all_of(_is_below(readout, _joined(own), limit, work, rounded=True) for own in product(*parts))


def _slopes(column: Column, weight: Fraction, ends: bool) -> list[dict[int, Fraction]]:
    """Weight · slope of each piece of a column, as factors of design columns; and zero, if its ends are flat."""
    steps = zip(rises(column.increments(), 1), column.exact_lengths(), strict=True)
    found = [{column.start + j: weight * q / length for j, q in step.items()} for step, length in steps]
    return [*found, {}] if ends and (column.bounded or not found) else found


def _factors(move: Float64Array, start: int) -> dict[int, Fraction]:
    return {start + int(j): Fraction(move[j]) for j in np.flatnonzero(move)}


def _negative(move: Mapping[int, Fraction]) -> dict[int, Fraction]:
    return {j: -q for j, q in move.items()}


def _joined(moves: Sequence[Mapping[int, Fraction]]) -> dict[int, Fraction]:
    return {j: q for move in moves for j, q in move.items()}


def _is_below(
    readout: Readout, factors: Mapping[int, Fraction], limit: Fraction, work: Work | None, rounded: bool = False
) -> Verdict:
    """Whether Σ_m w_m ‖Σ_j q_j C_m[j]‖₂ ≤ limit, for factors of design columns; None if that takes too much work.

    ``rounded``: the factors are no floats, so that what floats propose must allow for the rounding of products.
    """
    if not factors:
        return limit >= 0
    rows = readout.coef[:, list(factors)]  # (members, terms, D)
    floats = np.array([float(q) for q in factors.values()])
    packed, room = floats @ rows, np.zeros(len(rows))
    if rounded:
        room = (2 + len(floats)) * UNIT * (frobenius(rows) @ np.abs(floats))
    weights = list(map(Fraction, readout.weights.tolist()))
    terms = [list(zip(factors.values(), own, strict=True)) for own in rows]
    verdict: Verdict = False
    for propose, check in ((frobenius, frobenius_is_below), (norm_bound, norm_is_below)):
        proposed = [Fraction(n) for n in (_OUTWARDS * propose(packed) + room + _TINY * rows.any()).tolist()]
        total = _total(weights, proposed)
        if limit < total <= _CLOSE * limit:  # floats propose a little too much: what is left of the limit may do
            proposed = [Fraction(_INWARDS * float(n * limit / total)) for n in proposed]
            total = _total(weights, proposed)
        if total <= limit:
            verdict = all_of(check(own, n, work) for own, n in zip(terms, proposed, strict=True))
        if verdict is True:
            break
    return verdict


def _total(weights: Sequence[Fraction], norms: Sequence[Fraction]) -> Fraction:
    return sum((w * n for w, n in zip(weights, norms, strict=True)), Fraction(0))


def _difference(a: Mapping[int, Fraction], b: Mapping[int, Fraction], start: int) -> dict[int, Fraction]:
    """B − a, as factors of design columns."""
    differ = {start + j: b.get(j, Fraction(0)) - a.get(j, Fraction(0)) for j in {**a, **b}}
    return {j: q for j, q in differ.items() if q}
