r"""Quantile levels as one more column: f(x, q) = λ_k(A(x) + P(q)), with P rising by semidefinite steps from q to q.

An eigenvalue never falls when a semidefinite matrix is added, so quantiles of one row never cross. Every row appears
once for each level; the level is a curve whose knots are the levels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lambdak.table.columns import Column
from lambdak.table.encoder import Design

NAME = "quantile level"


def level_column(levels: Sequence[float], start: int) -> Column:
    """The column that holds the level of a row, with design columns from ``start`` on."""
    knots = np.asarray(levels, float)
    return Column(NAME, "curve", start, start + len(knots), knots=knots, low=float(knots[0]), high=float(knots[-1]))


def with_levels(design: Design, n_design: int, levels: int) -> Design:
    """Every row once for each level, the levels of a row after one another."""
    rows = len(design)
    ids = np.column_stack([np.repeat(design.ids, levels, axis=0), n_design + np.tile(np.arange(levels), rows)])
    weights = np.column_stack([np.repeat(design.weights, levels, axis=0), np.ones(rows * levels)])
    return Design(ids.astype(np.int32), weights.astype(design.weights.dtype))
