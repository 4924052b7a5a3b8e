r"""Columns that show no effect: a test of every column by itself, before any model is trained.

Where the loss is −g at the best constant, a column that does nothing has n bᵀ Σ⁻¹ b ~ χ², b = mean(z g), where z are
its first ramps and Σ is their covariance. The squares of g are tested too: a column that acts only through its
interactions makes them larger in some of its cells. What is found here is only suspected: pilot models decide whether
they do better without such columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import chi2

from lambdak._types import Float64Array
from lambdak.table.column_contract import Column
from lambdak.table.design import Design
from lambdak.training.plan import Plan
from lambdak.training.problem import Problem

_LEVEL = 0.01  # of the test: a column of noise passes it with this probability
_SLOW = 5  # directions of a column in which most effects are: the first ones, which change slowly along it
_SAMPLE = 40_000  # rows of a long table: with more, every column has an effect
_TAILS = 0.005  # of the gradients, cut off: few rows must not decide
_RANK = 1e-6  # eigenvalues below this share of the largest are zero


def columns_without_effect(problem: Problem, plan: Plan, copies: int) -> frozenset[int]:
    """Columns whose test finds nothing, unless it finds nothing in any; the table's rows come in so many ``copies``."""
    design, weight, gradient = _sample(problem, copies)
    targets = [_standard(_clipped(target), weight) for target in (gradient, gradient**2)]
    share, rows = weight / weight.sum(), weight.sum() ** 2 / (weight**2).sum()
    Z = design.to_sparse(len(plan.moments.mean)).T
    means = [Z @ (share[:, None] * target) for target in targets]
    candidates = [i for i in range(len(plan.columns)) if i not in plan.rises]
    found = [_smallest_p_value(plan.columns[i], plan, means, rows) for i in candidates]
    suspected = [i for i, p in zip(candidates, found, strict=True) if p > _LEVEL]
    return frozenset(suspected) if len(suspected) < len(candidates) else frozenset()


def _sample(problem: Problem, copies: int) -> tuple[Design, Float64Array, Float64Array]:
    """Rows, their weights, and the gradients of the loss at the start (rows, outputs or copies)."""
    rows = len(problem.design) // copies
    chosen = np.arange(0, rows, max(rows // _SAMPLE, 1), dtype=np.int32)
    each = (copies * chosen[:, None] + np.arange(copies)).ravel()
    zero = np.zeros((problem.pencils, len(each), len(problem.outputs.indices)), np.float32)
    raw = problem.raw(zero, each[None])
    gradient = problem.loss.gradient(raw, problem.y[each][None])[0].reshape(len(chosen), -1).astype(np.float64)
    weight = np.ones(len(chosen)) if problem.weight is None else problem.weight[each[::copies]].astype(np.float64)
    return problem.design.take(each[::copies]), weight, gradient


def _clipped(target: Float64Array) -> Float64Array:
    low, high = np.quantile(target, [_TAILS, 1 - _TAILS], axis=0)
    return np.asarray(np.clip(target, low, np.maximum(high, low)))


def _standard(target: Float64Array, weight: Float64Array) -> Float64Array:
    """Centred, uncorrelated, of unit variance; directions that never vary are left out."""
    share = weight / weight.sum()
    centred = target - share @ target
    values, basis = np.linalg.eigh((share[:, None] * centred).T @ centred)
    size = float((share @ target**2).max())  # next to which rounding is nothing
    varies = values > _RANK * max(size, 1e-300)
    return np.asarray(centred @ (basis[:, varies] / np.sqrt(values[varies])))


def _smallest_p_value(column: Column, plan: Plan, means: Sequence[Float64Array], rows: float) -> float:
    """Over both targets, and over the slow directions of the column and all of them; corrected for so many tests."""
    values, directions = _directions(column, plan)
    kept = values > _RANK * values.max(initial=1e-300)
    found = [1.0]
    for mean in means:
        terms = rows * (directions[kept] @ mean[column.start : column.stop]) ** 2 / values[kept, None]
        found += [chi2.sf(part.sum(), max(part.size, 1)) for part in (terms, terms[-_SLOW:])]
    return float(min(found)) * (len(found) - 1)


def _directions(column: Column, plan: Plan) -> tuple[Float64Array, Any]:
    """Uncorrelated directions (n, p) of a column and their variances, those that change slowly along it last."""
    own, covariance = slice(column.start, column.stop), plan.moments.covariance
    if covariance.ndim == 1 or not column.is_number:  # levels are uncorrelated but for the constant
        return (covariance if covariance.ndim == 1 else covariance.diagonal())[own], sparse.eye_array(
            column.width
        ).tocsr()
    ramps = column.ramps()
    values, basis = np.linalg.eigh(ramps.T @ plan.moments.block(own) @ ramps)
    return values, (ramps @ basis).T
