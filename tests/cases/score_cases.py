"""Scores and predictions rebuilt from the coefficients and the columns alone, and cells to rebuild them for."""

from __future__ import annotations

import numpy as np
import pandas as pd
from fitted_models import rows_of
from scipy import sparse
from scipy.special import expit, softmax

from lambdak.table.category_column import Category
from lambdak.table.category_levels import OTHER
from lambdak.table.linear_column import Linear


def unpacked(packed):
    """Symmetric matrices (..., d, d) from their lower triangles, off-diagonals over √2."""
    packed = np.asarray(packed, np.float64)
    dim = int((np.sqrt(8 * packed.shape[-1] + 1) - 1) / 2)
    i, j = np.tril_indices(dim)
    out = np.zeros((*packed.shape[:-1], dim, dim))
    out[..., i, j] = out[..., j, i] = packed / np.where(i == j, 1.0, np.sqrt(2.0))
    return out


def packed_from(matrix):
    i, j = np.tril_indices(len(matrix))
    return np.asarray(matrix, float)[i, j] * np.where(i == j, 1.0, np.sqrt(2.0))


def matrices(model, member=0):
    """All matrices of one member, (P, d, d)."""
    return unpacked(model.model_.coef[member][:, : model.model_.dim * (model.model_.dim + 1) // 2])


def gap_in(cell):
    return cell is None or cell != cell


def cell_weights(column, cell):
    """How a cell mixes the column's matrices, as the documentation of the columns says."""
    own = np.zeros(column.stop - column.start)
    if isinstance(column, Category):
        level = None if gap_in(cell) else cell
        found = level if level in column.levels else OTHER
        if found in column.levels:
            own[column.levels.index(found)] = 1.0
        return own
    if gap_in(cell):
        if column.missing >= 0:
            own[column.missing - column.start] = 1.0
            return own
        cell = column.median
    x = min(max(cell, column.low), column.high) if column.clamp else cell
    if isinstance(column, Linear):
        own[0] = (x - column.center) / column.scale
    elif len(column.knots) == 1:
        own[0] = 1.0
    else:
        j = int(np.clip(np.searchsorted(column.knots, x, side="right") - 1, 0, len(column.knots) - 2))
        t = (x - column.knots[j]) / (column.knots[j + 1] - column.knots[j])
        own[[j, j + 1]] = 1.0 - t, t
    return own


def row_matrices(model, cells, output=0):
    """A(row) of each member of one output, (members, d, d); ``cells`` are in the order of the columns."""
    stack = []
    for member in range(
        output if model.model_.outputs.pencils > 1 else 0, len(model.model_.coef), model.model_.outputs.pencils
    ):
        C = matrices(model, member)
        A = C[0] + (C[model.model_.encoder.n_design + output] if model.model_.outputs.levels else 0.0)
        for column, cell in zip(model.model_.encoder.columns, cells, strict=True):
            A = A + np.tensordot(cell_weights(column, cell), C[column.start : column.stop], 1)
        stack.append(A)
    return np.array(stack)


def score_by_hand(model, cells, output=0):
    index = model.model_.outputs.indices[output if len(model.model_.outputs.indices) > 1 else 0]
    start = model.model_.start[output if len(model.model_.start) > output else 0]
    values = [np.linalg.eigvalsh(A)[index] for A in row_matrices(model, cells, output)]
    return start + model.model_.scale * np.dot(model.model_.weights, values)


def n_outputs(model):
    return len(model.model_.outputs.levels) or max(model.model_.outputs.pencils, len(model.model_.outputs.indices))


def choice(model, output):
    """What says that this output is meant; of two classes, that of the only raw score is the default."""
    return output if n_outputs(model) > 1 else None


def predictions_of(model, rows, output):
    """What ``predict`` and its like say about one output, in the precision of the model."""
    if model.model_.outputs.quantile_levels:
        return model.predict_quantiles(rows)[:, output]
    if not hasattr(model, "classes_"):
        return model.predict(rows)
    shares = model.predict_proba(rows)
    if model.model_.outputs.in_order:
        return shares.cumsum(axis=1)[:, output]
    return shares[:, output if model.model_.outputs.pencils > 1 else 1]


def predicted_by_hand(model, scores, output):
    """Predictions of one output from the scores (..., outputs) of all."""
    if model.model_.outputs.pencils > 1:
        return softmax(scores, axis=-1)[..., output]
    own = scores[..., output]
    if hasattr(model, "classes_"):
        return expit(own)
    return np.exp(own) if model.model_.loss.__class__.__name__ == "Poisson" else own


def cells_of(kind, row):
    rows = rows_of(kind)
    return rows.toarray()[row].tolist() if sparse.issparse(rows) else rows.iloc[row].tolist()


def random_cells(model, count, seed=0):
    """Lists of cells: numbers in and beyond the range, gaps, all levels, and a level that was never seen."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        row = []
        for column in model.model_.encoder.columns:
            if isinstance(column, Category):
                levels = ["never seen", *(level for level in column.levels if level is not OTHER)]
                row.append(levels[rng.integers(len(levels))])
            else:
                wide = 0.2 * (column.high - column.low)
                row.append(np.nan if rng.random() < 0.1 else rng.uniform(column.low - wide, column.high + wide))
        found.append(row)
    return found


def frame_of(model, cells):
    return pd.DataFrame(
        {
            column.name: pd.Series([row[i] for row in cells], dtype=float if column.is_number else object)
            for i, column in enumerate(model.model_.encoder.columns)
        }
    )
