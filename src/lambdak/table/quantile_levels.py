r"""Quantile levels as one more column: f(x, q) = λ_k(A(x) + P(q)), with P rising by semidefinite steps with q.

An eigenvalue never falls when a semidefinite matrix is added, so quantiles of one row never cross. Every row appears
once for each quantile level; the column is a curve whose knots are the quantile levels. (A level that is
not called a quantile level is one of a category.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lambdak.table.curve_column import Curve
from lambdak.table.design import Design

NAME = "quantile level"


def level_column(quantile_levels: Sequence[float], start: int) -> Curve:
    """The column that holds the quantile level of a row, whose first design column is ``start``."""
    return Curve(NAME, start, knots=np.asarray(quantile_levels, float))


def with_levels(design: Design, n_design: int, n_levels: int) -> Design:
    """Every row once for each of ``n_levels`` quantile levels, the copies of one row next to each other."""
    rows = len(design)
    ids = np.column_stack([np.repeat(design.ids, n_levels, axis=0), n_design + np.tile(np.arange(n_levels), rows)])
    weights = np.column_stack([np.repeat(design.weights, n_levels, axis=0), np.ones(rows * n_levels)])
    return Design(ids.astype(np.int32), weights.astype(design.weights.dtype))
