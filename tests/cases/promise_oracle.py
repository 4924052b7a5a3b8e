"""Which promises a file breaks: slow and simple, in fractions. It shares nothing with the checker or the proofs.

Only reading is lambdak's. Caps are compared in float64, and called close where that could err.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
from score_cases import unpacked

from lambdak.store import ModelFileError
from lambdak.store._header import Blueprint
from lambdak.store._tensors import check_forms

ROOT_HALF = Fraction(6369051672525773, 2**53)
CLOSE = 1e-9


def positive(M):
    """Whether a symmetric matrix of fractions is positive semidefinite: one Schur complement after the other."""
    if not M:
        return True
    (pivot, *rest), below = M[0], M[1:]
    if pivot < 0 or (pivot == 0 and any(rest)):
        return False
    if pivot == 0:
        return positive([row[1:] for row in below])
    return positive([[x - row[0] * y / pivot for x, y in zip(row[1:], rest, strict=True)] for row in below])


def matrix(packed, dim):
    """A packed matrix in fractions."""
    M = [[Fraction(0)] * dim for _ in range(dim)]
    numbers = iter(packed.tolist())
    for i in range(dim):
        for j in range(i + 1):
            M[i][j] = M[j][i] = Fraction(next(numbers)) * (1 if i == j else ROOT_HALF)
    return M


def combined(*terms):
    """Σ q M."""
    size = range(len(terms[0][1]))
    return [[sum(q * M[i][j] for q, M in terms) for j in size] for i in size]


def broken(header, tensors):
    """(kinds and subjects of broken promises, those of caps too close to call); None if lambdak refuses to read it."""
    try:
        blueprint = Blueprint.read(header, {header["estimator"]: set(header["parameters"])})
        check_forms({name: type(form)(tensors[name].dtype, form.shape) for name, form in blueprint.forms.items()},
                    blueprint.forms)  # fmt: skip
        blueprint._check_tensors(tensors)
    except (ModelFileError, ValueError):
        return None
    if blueprint.loss.link.joint and any(blueprint.promises.signs):  # no direction of several probabilities at once
        return None
    if blueprint.encoder.clamp == (blueprint.promises.shape is not None):  # of columns that end in the range
        return None
    found = {*_monotone(blueprint, tensors), *_bent(blueprint, tensors), *_crossing(blueprint, tensors)}
    capped = dict(_reaches(blueprint, tensors))
    close = {key for key, ratio in capped.items() if abs(ratio - 1) <= CLOSE}
    return found | {key for key, ratio in capped.items() if ratio > 1} - close, close


def _monotone(blueprint, tensors):
    for i, sign in blueprint.promises.monotone.items():
        column, flip = blueprint.encoder.columns[i], sign * blueprint.loss.sign
        for own in tensors["coef"]:
            rows = [matrix(row, blueprint.dim) for row in own[column.start : column.start + column.n_entries]]
            steps = [combined((flip, rows[0]))] if column.kind == "linear" else [
                combined((flip, high), (-flip, low)) for low, high in pairwise(rows)
            ]  # fmt: skip
            if not all(map(positive, steps)):
                yield "monotone", column.name


def _bent(blueprint, tensors):
    shape = blueprint.promises.shape
    if shape is None:
        return
    sign, end = (1, blueprint.dim - 1) if shape == "convex" else (-1, 0)
    straight = not blueprint.encoder.clamp and set(blueprint.outputs.indices) == {end}
    if not (straight and all(_bends(blueprint, own, sign) for own in tensors["coef"])):
        yield shape, "all columns of numbers together"


def _bends(blueprint, own, sign):
    for column in blueprint.encoder.columns:
        if column.kind != "curve":
            continue
        knots = [Fraction(knot) for knot in column.knots.tolist()]
        rows = [matrix(row, blueprint.dim) for row in own[column.start : column.start + len(knots)]]
        for j in range(len(knots) - 2):
            before, after = knots[j + 1] - knots[j], knots[j + 2] - knots[j + 1]
            terms = (sign / after, rows[j + 2]), (-sign / after - sign / before, rows[j + 1]), (sign / before, rows[j])
            if not positive(combined(*terms)):
                return False
    return True


def _crossing(blueprint, tensors):
    same = len(set(tensors["start"].tolist())) == 1
    if len(blueprint.outputs.levels) > 1:
        steps = [
            combined((1, matrix(high, blueprint.dim)), (-1, matrix(low, blueprint.dim)))
            for own in tensors["coef"]
            for low, high in pairwise(own[blueprint.encoder.n_design :])
        ]
        if not (same and all(map(positive, steps))):
            yield "quantiles" if blueprint.outputs.quantile_levels else "cut-points", "all"
    if len(blueprint.outputs.indices) > 1 and not same:
        yield "cut-points", "all"


def _reaches(blueprint, tensors):
    """Influence over cap of each capped column."""
    full = unpacked(tensors["coef"])
    for i, cap in blueprint.promises.capped.items():
        column = blueprint.encoder.columns[i]
        cells = column.all_cells()[0]
        worst = 0.0
        for output in range(blueprint.outputs.pencils):
            own = np.tensordot(cells, full[output :: blueprint.outputs.pencils, column.start : column.stop], (1, 1))
            sizes = np.abs(np.linalg.eigvalsh(own[:, None] - own[None])).max(axis=-1)  # (cells, cells, members)
            worst = max(worst, float((sizes @ tensors["weights"]).max()) * blueprint.scale)
        yield ("influence", column.name), worst / cap
