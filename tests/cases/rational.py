"""What is true of a model, decided slowly: its matrices as fractions, and LDLᵀ without rounding.

It shares no code with the library. Only norms that are far from a cap, by more than 1e-9 of it, are left to LAPACK;
others are bracketed by LDLᵀ, too. ``shape_truths.py`` says what each shape means in these terms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np

Key = tuple[str, str]  # kind and subject of a claim
Matrix = list[list[Fraction]]

ROOT_HALF = Fraction(6369051672525773, 2**53)
_CLEAR = 1e-9  # relative: LAPACK's eigenvalues are good to 1e-12 of the norm
_FINEST = Fraction(1, 10**30)

_known: dict[bytes, bool] = {}  # matrices that were decided before: most of a tampered model is as it was


def orders(model: Any) -> dict[Key, bool | None]:
    """Quantiles, cut-points and probabilities at times."""
    levels, indices = model.outputs.levels, model.outputs.indices
    kinds = {"Pinball": "quantiles", "Survival": "survival"}
    kind = kinds.get(type(model.loss).__name__, "cut-points")
    same = len(set(model.start.tolist())) == 1
    first = model.encoder.columns[-1].stop
    if len(levels) > 1:
        rows = [first + i for i in range(len(levels))]
        return {(kind, "all"): same and all(map(semidefinite, _steps(model, rows)))}
    if len(indices) > 1:
        return {("cut-points", "all"): same and all(low < high for low, high in pairwise(indices))}
    return {}


def bends(model: Any, sign: int) -> bool:
    """Whether the raw score is convex (1) or concave (-1) in all columns of numbers."""
    if model.encoder.clamp or set(model.outputs.indices) != {model.dim - 1 if sign > 0 else 0}:
        return False
    return all(semidefinite(each) for column in model.encoder.columns for each in _bends(model, column, sign))


def _bends(model: Any, column: Any, sign: int) -> Iterator[dict[bytes, Fraction]]:
    """(C_{j+2} − C_{j+1}) (κ_{j+1} − κ_j) − (C_{j+1} − C_j) (κ_{j+2} − κ_{j+1}), of curves."""
    if not hasattr(column, "knots"):
        return
    knots = [Fraction(knot) for knot in column.knots.tolist()]
    for own in model.matrices:
        for j in range(len(knots) - 2):
            before, after = knots[j + 1] - knots[j], knots[j + 2] - knots[j + 1]
            terms = {0: after, 1: -before - after, 2: before}
            yield _combined({column.start + j + k: sign * q for k, q in terms.items()}, own)


def _is_linear(column: Any) -> bool:
    return hasattr(column, "center")


def _steps(model: Any, rows: Sequence[int]) -> Iterator[dict[bytes, Fraction]]:
    """From each of these design columns to the next, in every pencil."""
    for own in model.matrices:
        for low, high in pairwise(rows):
            yield _combined({high: Fraction(1), low: Fraction(-1)}, own)


def _combined(factors: dict[int, Fraction], matrices: np.ndarray) -> dict[bytes, Fraction]:
    """A combination of stored matrices, as their bytes → factors."""
    found: dict[bytes, Fraction] = {}
    for j, q in factors.items():
        key = np.ascontiguousarray(matrices[j], np.float64).tobytes()
        found[key] = found.get(key, Fraction(0)) + q
    return found


def full(combination: dict[bytes, Fraction], identity: Fraction = Fraction(0), sign: int = 1) -> Matrix:
    """A combination as a matrix, times a sign, plus so many identities."""
    packed: list[Fraction] = []
    for key, q in combination.items():
        own = [sign * q * Fraction(x) for x in np.frombuffer(key).tolist()]
        packed = own if not packed else [a + b for a, b in zip(packed, own, strict=True)]
    dim = int((np.sqrt(8 * len(packed) + 1) - 1) / 2)
    matrix = [[Fraction(0)] * dim for _ in range(dim)]
    for i in range(dim):
        for j in range(i + 1):
            entry = packed[i * (i + 1) // 2 + j]
            matrix[i][j] = matrix[j][i] = entry + identity if i == j else entry * ROOT_HALF
    return matrix


def semidefinite(combination: dict[bytes, Fraction]) -> bool:
    """Whether a combination of stored matrices is positive semidefinite."""
    key = b"|".join(part + str(q).encode() for part, q in combination.items())
    if key not in _known:
        _known[key] = decided(full(combination))
    return _known[key]


def decided(matrix: Matrix) -> bool:
    """LDLᵀ: no pivot may be negative, and one that is zero needs a column of zeros."""
    dim = len(matrix)
    for k in range(dim):
        pivot = matrix[k][k]
        column = [matrix[i][k] for i in range(k + 1, dim)]
        if pivot < 0 or (pivot == 0 and any(column)):
            return False
        if pivot == 0:
            continue
        for i in range(k + 1, dim):
            if column[i - k - 1]:
                share = column[i - k - 1] / pivot
                for j in range(k + 1, i + 1):
                    matrix[i][j] -= share * column[j - k - 1]
    return True


# ---- caps --------------------------------------------------------------------------------------------------------


def cells(column: Any) -> list[dict[int, Fraction]]:
    """Between which the largest changes lie: design column − start → weight."""
    if hasattr(column, "levels"):
        own: list[dict[int, Fraction]] = [{i: Fraction(1)} for i in range(len(column.levels))]
        return own if any(repr(level) == "OTHER" for level in column.levels) else [*own, {}]
    if _is_linear(column):
        ends = (column.low, column.high)
        own = [{0: (Fraction(x) - Fraction(column.center)) / Fraction(column.scale)} for x in ends]
        return [*own, *([{1: Fraction(1)}] if column.has_missing else [])]
    return [{i: Fraction(1)} for i in range(len(column.knots) + column.has_missing)]


def below_cap(model: Any, column: Any, cap: Fraction) -> bool | None:
    """Whether scale Σ_m w_m ‖A_m(b) − A_m(a)‖₂ ≤ cap for any two cells a and b, for all outputs."""
    answers = [
        pair_below(model, column, a, b, first, cap / Fraction(model.scale))
        for a, b in combinations(cells(column), 2)
        for first in range(model.outputs.pencils)
    ]
    return False if False in answers else None if None in answers else True


def pair_below(
    model: Any, column: Any, a: dict[int, Fraction], b: dict[int, Fraction], first: int, limit: Fraction
) -> bool | None:
    """Whether Σ_m w_m ‖A_m(b) − A_m(a)‖₂ ≤ limit for one output."""
    factors = {column.start + j: b.get(j, Fraction(0)) - a.get(j, Fraction(0)) for j in {*a, *b}}
    return norm_below(model, factors, first, limit)


def total_below(model: Any, columns: Sequence[Any], cap: float) -> bool | None:
    """Whether the largest changes of these columns together are at most a cap; None where that is no counterexample."""
    total = 0.0
    for column in columns:
        pairs = combinations(cells(column), 2)
        total += max((_largest(model, column, a, b) for a, b in pairs), default=0.0)
    close = abs(total - cap) <= _CLEAR * max(total, cap)
    return None if close or total > cap else True  # largest changes of two columns need not be of one row


def _largest(model: Any, column: Any, a: dict[int, Fraction], b: dict[int, Fraction]) -> float:
    """scale Σ_m w_m ‖A_m(b) − A_m(a)‖₂, about, of the output where it is largest."""
    factors = {column.start + j: b.get(j, Fraction(0)) - a.get(j, Fraction(0)) for j in {*a, *b}}
    sizes = np.array([guess(_combined(factors, matrices)) for matrices in model.matrices])
    return float(model.scale * (model.weights @ sizes.reshape(-1, model.outputs.pencils)).max())


def norm_below(model: Any, factors: dict[int, Fraction], first: int, limit: Fraction) -> bool | None:
    """Whether Σ_m w_m ‖Σ_j q_j C_m[j]‖₂ ≤ limit, for the pencils of one output; None if it is too close to say."""
    if not any(factors.values()):
        return True
    own = [_combined(factors, matrices) for matrices in model.matrices[first :: model.outputs.pencils]]
    weights = [Fraction(w) for w in model.weights.tolist()]
    guesses = [guess(each) for each in own]
    total = sum(float(w) * n for w, n in zip(weights, guesses, strict=True))
    if abs(total - float(limit)) > _CLEAR * max(total, float(limit)):
        return bool(total <= float(limit))
    width = Fraction(2 * _CLEAR)
    brackets = [(Fraction(n) * (1 - width), Fraction(n) * (1 + width)) for n in guesses]
    while width > _FINEST:
        low, high = (sum(w * ends[i] for w, ends in zip(weights, brackets, strict=True)) for i in (0, 1))
        if high <= limit or low > limit:
            return bool(high <= limit)
        width /= 2
        brackets = [halved(each, ends) for each, ends in zip(own, brackets, strict=True)]
    return None


def guess(combination: dict[bytes, Fraction]) -> float:
    """‖D‖₂, about."""
    matrix = np.array([[float(entry) for entry in row] for row in full(combination)])
    return float(np.abs(np.linalg.eigvalsh(matrix)).max()) if matrix.any() else 0.0


def halved(combination: dict[bytes, Fraction], ends: tuple[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
    """A bracket of ‖D‖₂, half as wide."""
    middle = (ends[0] + ends[1]) / 2
    middle = Fraction(round(middle * 2**400), 2**400) if middle else middle
    inside = all(decided(full(combination, middle, sign)) for sign in (1, -1))
    return (ends[0], middle) if inside else (middle, ends[1])
