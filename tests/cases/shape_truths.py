"""What is true of every shape that a model was asked to keep, from its definition, in fractions.

No code of the library decides anything here: neither the statements of shapes nor proofs. Slopes are read off stored
matrices piece by piece, pieces beyond the training range included, and compared as each definition says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
from rational import Key, below_cap, bends, norm_below, orders, semidefinite, total_below

INF = float("inf")
Factors = dict[int, Fraction]  # design column → factor
Truth = bool | None  # None: too close to say

_UNORDERED = (  # which speak of raw scores
    "Convex", "Concave", "MaxSlope", "Anchored", "MaxInfluence", "Interactions", "OutputRange",
)  # fmt: skip


def truths(model: Any) -> dict[Key, Truth]:
    """Return what is true of each promise of a model, by kind and subject of its claim: quantiles in order, too."""
    found: dict[Key, Truth] = {}
    for shape in model.promises.shapes:
        name = type(shape).__name__
        if name == "MaxInfluence" and not shape.cap < INF:
            continue
        key, own = key_of(model, shape), TRUTHS[name](model, shape)
        found[key] = all_true([found.get(key, True), own])
    return found | orders(model)


def key_of(model: Any, shape: Any) -> Key:
    """Return kind and subject of the claim about a shape."""
    name, names = type(shape).__name__, [column.name for column in model.encoder.columns]
    if name == "Interactions":
        return "interactions", "all columns"
    if name in ("Convex", "Concave") and not shape.columns:
        return name.lower(), "all columns of numbers together"
    if name == "OutputRange":
        return "range", "predictions"
    kind = "joint influence" if name == "MaxInfluence" and len(shape.positions) > 1 else shape.kind
    return kind, ", ".join(names[i] for i in shape.positions) or "all columns"


def all_true(answers: Sequence[Truth]) -> Truth:
    """Return whether all are true; None if nothing is false and something is too close to say."""
    return False if False in answers else None if None in answers else True


# ---- pieces of a column --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Piece:
    """A part of the numbers on which a column is straight: from, to, and its slope."""

    low: float
    high: float
    slope: Factors


def pieces(column: Any) -> list[Piece]:
    """Return all pieces of a column of numbers, the two beyond the training range included."""
    if hasattr(column, "center"):
        inner = [Piece(column.low, column.high, {column.start: 1 / Fraction(column.scale)})]
    else:
        knots = column.knots.tolist()
        inner = [
            Piece(low, high, _difference(column.start + i, column.start + i + 1, 1 / (Fraction(high) - Fraction(low))))
            for i, (low, high) in enumerate(pairwise(knots))
        ]
    if not inner:
        return [Piece(-INF, INF, {})]
    first, last = ({}, {}) if column.clamp else (inner[0].slope, inner[-1].slope)
    return [Piece(-INF, inner[0].low, first), *inner, Piece(inner[-1].high, INF, last)]


def _difference(low: int, high: int, factor: Fraction) -> Factors:
    return {low: -factor, high: factor}


def summed(*terms: tuple[Any, Factors]) -> Factors:
    """Return Σ q · factors."""
    found: Factors = {}
    for q, factors in terms:
        for j, factor in factors.items():
            found[j] = found.get(j, Fraction(0)) + Fraction(q) * factor
    return {j: factor for j, factor in found.items() if factor}


def at_cell(column: Any, cell: Any) -> Factors:
    """Return the factors of a column's matrices at a cell."""
    if hasattr(column, "levels"):
        return {column.start + i: Fraction(1) for i, level in enumerate(column.levels) if level == cell}
    if hasattr(column, "center"):
        x = min(max(cell, column.low), column.high) if column.clamp else cell
        return {column.start: (Fraction(x) - Fraction(column.center)) / Fraction(column.scale)}
    knots = column.knots.tolist()
    x = min(max(cell, knots[0]), knots[-1]) if column.clamp else cell
    i = min(max(int(np.searchsorted(knots, x, side="right")) - 1, 0), max(len(knots) - 2, 0))
    if len(knots) == 1:
        return {column.start: Fraction(1)}
    share = (Fraction(x) - Fraction(knots[i])) / (Fraction(knots[i + 1]) - Fraction(knots[i]))
    return summed((1 - share, {column.start + i: Fraction(1)}), (share, {column.start + i + 1: Fraction(1)}))


def all_semidefinite(model: Any, statements: Sequence[Factors]) -> bool:
    """Return whether all these sums of matrices are positive semidefinite in every pencil."""
    return all(semidefinite(own) for own in combined(model, statements))


def combined(model: Any, statements: Sequence[Factors]) -> Iterator[dict[bytes, Fraction]]:
    """Yield these sums in every pencil, as bytes of stored matrices → factors."""
    for matrices in model.matrices:
        for factors in statements:
            found: dict[bytes, Fraction] = {}
            for j, q in factors.items():
                row = np.ascontiguousarray(matrices[j], np.float64).tobytes()
                found[row] = found.get(row, Fraction(0)) + q
            if found:
                yield found


def direction(model: Any, shape: Any) -> int:
    """Return -1 where a higher raw score is a lower prediction, and the shape is about predictions."""
    return -1 if type(model.loss).__name__ == "Ordinal" and type(shape).__name__ not in _UNORDERED else 1


# ---- one shape each ------------------------------------------------------------------------------------------------


def _monotone(model: Any, shape: Any) -> Truth:
    sign = direction(model, shape) * (1 if type(shape).__name__ == "Rising" else -1)
    column = model.encoder.columns[shape.positions[0]]
    if column.is_number:
        return all_semidefinite(model, [summed((sign, piece.slope)) for piece in pieces(column)])
    places = [[repr(level) for level in column.levels].index(repr(level)) for level in shape.order]
    return all_semidefinite(
        model, [_difference(column.start + i, column.start + j, Fraction(sign)) for i, j in pairwise(places)]
    )


def _bending(model: Any, shape: Any) -> Truth:
    sign = 1 if type(shape).__name__ == "Convex" else -1
    if not shape.columns:
        return bends(model, sign)
    columns = [model.encoder.columns[i] for i in shape.positions]
    end = model.dim - 1 if sign > 0 else 0
    if set(model.outputs.indices) != {end} and not all(only_adds(model, column) for column in columns):
        return False
    changes = [
        summed((sign, after.slope), (-sign, before.slope))
        for column in columns
        for before, after in pairwise(pieces(column))
    ]
    return all_semidefinite(model, changes)


def only_adds(model: Any, column: Any) -> bool:
    """Return whether all matrices of a column are multiples of I."""
    i, j = np.tril_indices(model.dim)
    own = np.asarray(model.matrices)[:, column.start : column.stop]
    diagonal = own[..., i == j]
    return bool(not own[..., i != j].any() and (diagonal == diagonal[..., :1]).all())


def _turning(model: Any, shape: Any) -> Truth:
    sign = direction(model, shape) * (1 if type(shape).__name__ == "Valley" else -1)
    column = model.encoder.columns[shape.positions[0]]
    if column.is_number:
        return all_semidefinite(model, list(_turned(pieces(column), shape.at, sign)))
    levels = [repr(level) for level in column.levels]
    places, turn = [levels.index(repr(level)) for level in column.order], column.order.index(shape.at)
    steps = [
        _difference(column.start + i, column.start + j, Fraction(sign if rank >= turn else -sign))
        for rank, (i, j) in enumerate(pairwise(places))
    ]
    return all_semidefinite(model, steps)


def _turned(own: Sequence[Piece], turn: float, sign: int) -> Iterator[Factors]:
    for piece in own:
        if piece.low < turn:
            yield summed((-sign, piece.slope))
        if piece.high > turn:
            yield summed((sign, piece.slope))


def _along(model: Any, shape: Any, weights: dict[int, float]) -> Truth:
    sign = direction(model, shape)
    return all_semidefinite(model, [summed((sign, own)) for own in slopes_along(model, weights)])


def slopes_along(model: Any, weights: dict[int, float]) -> list[Factors]:
    """Return all slopes along a direction: any piece of each column with any of the others."""
    each = [[(Fraction(w), piece.slope) for piece in pieces(model.encoder.columns[i])] for i, w in weights.items()]
    found = [summed(*terms) for terms in product(*each)]
    return list({tuple(sorted(own.items())): own for own in found}.values())


def _slope(model: Any, shape: Any) -> Truth:
    limit = Fraction(shape.limit) / Fraction(model.scale)
    if isinstance(shape.columns, tuple):
        directions = [dict(shape.columns)]
    else:
        columns = model.encoder.columns
        alone = shape.positions or [i for i, column in enumerate(columns) if column.is_number]
        directions = [{i: 1.0} for i in alone]
    return all_true([
        norm_below(model, own, first, limit)
        for weights in directions
        for own in slopes_along(model, weights)
        for first in range(model.outputs.pencils)
    ])  # fmt: skip


def _influence(model: Any, shape: Any) -> Truth:
    columns = [model.encoder.columns[i] for i in shape.positions]
    if len(columns) == 1:
        return below_cap(model, columns[0], Fraction(shape.cap))
    return total_below(model, columns, shape.cap)


def _interactions(model: Any, shape: Any) -> Truth:
    i, j = np.tril_indices(model.dim)
    for matrices in np.asarray(model.matrices):
        read = set()
        for place, column in enumerate(model.encoder.columns):
            own = matrices[column.start : column.stop]
            diagonal = own[:, i == j]
            if own[:, i != j].any() or (diagonal != diagonal[:, :1]).any():
                read.add(place)
        few = len(read) <= (2 if shape.pairs else 1)
        if not few and not any(read <= set(group) for group in shape.groups):
            return False
    return True


def _joint(model: Any, shape: Any) -> Truth:
    """Matrices c I + g P with one diagonal P of zeros and ones: a convex (concave) function of sums of g."""
    ends, wanted = set(model.outputs.indices), None  # between the ends no sum of columns is known to bend
    if ends <= {0} or ends <= {model.dim - 1}:
        curvature = 1 if ends <= {model.dim - 1} else -1
        wanted = curvature * direction(model, shape) * (1 if type(shape).__name__ == "Complements" else -1)
    columns = [model.encoder.columns[i] for i in shape.positions]
    return model.dim == 1 or all(_works_together(matrices, columns, wanted) for matrices in np.asarray(model.matrices))


def _works_together(matrices: np.ndarray, columns: Sequence[Any], wanted: int | None) -> bool:
    i, j = np.tril_indices(int((np.sqrt(8 * matrices.shape[-1] + 1) - 1) / 2))
    rows = [matrices[c.start : c.start + (1 if hasattr(c, "center") else len(c.knots))] for c in columns]
    moving = [(c, own) for c, own in zip(columns, rows, strict=True) if not _is_scalar(own, i == j)]
    if len(moving) < 2 or wanted is None:
        return len(moving) < 2
    diagonals = [(column, own[:, i == j]) for column, own in moving]
    patterns = {tuple((row == row[0]).tolist()) for _, own in diagonals for row in own if (row != row[0]).any()}
    two = all(len({*row}) <= 2 for _, own in diagonals for row in own.tolist())
    if len(patterns) != 1 or not two or any(own[:, i != j].any() for _, own in moving):
        return False
    other = patterns.pop().index(False)
    ways = [
        _way(column, [Fraction(row[0]) - Fraction(row[other]) for row in own.tolist()]) for column, own in diagonals
    ]
    return all(a is not None and b is not None and a * b in (0, wanted) for k, a in enumerate(ways) for b in ways[:k])


def _is_scalar(own: np.ndarray, diagonal: np.ndarray) -> bool:
    return bool((own[:, diagonal] == own[:, diagonal][:, :1]).all() and not own[:, ~diagonal].any())


def _way(column: Any, sizes: Sequence[Fraction]) -> int | None:
    """1 if they never fall, -1 if they never rise, 0 if they stay; None if they do both."""
    steps = sizes if hasattr(column, "center") else [high - low for low, high in pairwise(sizes)]
    up, down = any(step > 0 for step in steps), any(step < 0 for step in steps)
    return None if up and down else int(up) - int(down)


def _anchored(model: Any, shape: Any) -> Truth:
    column = model.encoder.columns[shape.positions[0]]
    missing = shape.cell is None and column.is_number
    factors = {column.missing: Fraction(1)} if missing else at_cell(column, shape.cell)
    rows = [[sum(q * Fraction(x[k]) for q, x in terms) for k in range(len(terms[0][1]))]
            for matrices in model.matrices
            if (terms := [(q, matrices[j].tolist()) for j, q in factors.items()])]  # fmt: skip
    return not any(any(row) for row in rows)


def _bounded(model: Any, shape: Any) -> Truth:
    """Predictions of raw scores that no model exceeds, and of those between, stay in the range."""
    scores = np.concatenate([-(10.0 ** np.arange(-3, 25)), [0.0], 10.0 ** np.arange(-3, 25)])
    found = np.asarray(model.loss.output_link.predictions(scores[:, None]))
    low, high = (end if given is None else given for given, end in ((shape.low, -INF), (shape.high, INF)))
    return bool(((found >= low) & (found <= high)).all())


TRUTHS: dict[str, Callable[[Any, Any], Truth]] = {
    "Rising": _monotone,
    "Falling": _monotone,
    "Convex": _bending,
    "Concave": _bending,
    "Valley": _turning,
    "Peak": _turning,
    "Dominates": lambda model, shape: _along(model, shape, {shape.positions[0]: 1.0, shape.positions[1]: -1.0}),
    "RisingAlong": lambda model, shape: _along(model, shape, dict(zip(shape.positions, shape.weights, strict=True))),
    "Complements": _joint,
    "Substitutes": _joint,
    "OutputRange": _bounded,
    "MaxSlope": _slope,
    "MaxInfluence": _influence,
    "Interactions": _interactions,
    "Anchored": _anchored,
}
