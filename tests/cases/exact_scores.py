"""An oracle without rounding: the real raw score of a row, from the stored numbers, in rational arithmetic.

It shares nothing with the package: cells are weighed and matrices unpacked here, and an eigenvalue is bracketed by
counting the negative pivots of A − x I.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

from score_cases import gap_in

from lambdak.table.category_column import Category
from lambdak.table.category_levels import OTHER
from lambdak.table.linear_column import Linear

ROOT_HALF = Fraction(6369051672525773, 2**53)


def exact_weights(column, cell):
    """Position of a design column → its weight, for one cell."""
    if isinstance(column, Category):
        level = None if gap_in(cell) else cell
        found = level if level in column.levels else OTHER
        return {column.levels.index(found): Fraction(1)} if found in column.levels else {}
    if gap_in(cell) and column.missing >= 0:
        return {column.missing - column.start: Fraction(1)}
    x = Fraction(float(column.median if gap_in(cell) else cell))
    if column.clamp:
        x = min(max(x, Fraction(column.low)), Fraction(column.high))
    if isinstance(column, Linear):
        return {0: (x - Fraction(column.center)) / Fraction(column.scale)}
    knots = [Fraction(knot) for knot in column.knots.tolist()]
    if len(knots) == 1:
        return {0: Fraction(1)}
    j = min(max(sum(knot <= x for knot in knots) - 1, 0), len(knots) - 2)
    t = (x - knots[j]) / (knots[j + 1] - knots[j])
    return {j: 1 - t, j + 1: t}


def real_score(model, row, output=0, width=Fraction(1, 10**22)):
    """Two rational numbers, at most this far apart in units of eigenvalues, between which the real raw score lies."""
    weights = {0: Fraction(1)}
    for column, cell in zip(model.encoder.columns, row, strict=True):
        weights |= {column.start + j: q for j, q in exact_weights(column, cell).items()}
    level = model.outputs.own_level(output)
    if level is not None:
        weights[model.encoder.n_design + level] = Fraction(1)
    low = high = Fraction(0)
    for w, coef in zip(model.weights.tolist(), model.matrices[model.outputs.own_pencils(output)], strict=True):
        ends = eigenvalue_between(combined(coef, weights), model.outputs.own_index(output), width)
        low, high = low + Fraction(w) * ends[0], high + Fraction(w) * ends[1]
    start, scale = Fraction(float(model.start[output])), Fraction(float(model.scale))
    return start + scale * low, start + scale * high


def combined(coef, weights):
    """Σ_j q_j C_j as a full matrix of rational numbers."""
    width = coef.shape[1]
    dim = int((8 * width + 1) ** 0.5 - 1) // 2
    packed = [sum(q * Fraction(coef[j, i].item()) for j, q in weights.items()) for i in range(width)]
    full = [[Fraction(0)] * dim for _ in range(dim)]
    for i in range(dim):
        for j in range(i + 1):
            entry = packed[i * (i + 1) // 2 + j]
            full[i][j] = full[j][i] = entry if i == j else entry * ROOT_HALF
    return full


def eigenvalue_between(matrix, index, width):
    """Rational numbers around the eigenvalue with this zero-based position in ascending order."""
    radius = max(sum(map(abs, row)) for row in matrix) + 1
    low, high = -radius, radius
    while high - low > width:
        middle = _dyadic((low + high) / 2)
        count = below(matrix, middle)
        low, high = (low, middle) if count > index else (middle, high)
    return low, high


def below(matrix, x):
    """How many eigenvalues are below x: the negative pivots of A − x I (x is moved a little if a pivot is zero)."""
    while True:
        shifted = [[entry - (x if i == j else 0) for j, entry in enumerate(row)] for i, row in enumerate(matrix)]
        unit = lcm(*(entry.denominator for row in shifted for entry in row))
        count = _negative_pivots([[int(entry * unit) for entry in row] for row in shifted])
        if count is not None:
            return count
        x += Fraction(1, 10**40)


def _negative_pivots(rows):
    """By elimination without fractions; None if a pivot is zero."""
    previous, negative = 1, 0
    for k in range(len(rows)):
        pivot = rows[k][k]
        if pivot == 0:
            return None
        negative += (pivot < 0) != (previous < 0)
        for i in range(k + 1, len(rows)):
            rows[i] = [(pivot * rows[i][j] - rows[i][k] * rows[k][j]) // previous for j in range(len(rows))]
        previous = pivot
    return negative


def _dyadic(x):
    return Fraction(round(x * 2**90), 2**90)
