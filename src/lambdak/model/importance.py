"""What a column does on average: the mean absolute change of the raw score against the baseline of the column."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from lambdak._checks import frozen
from lambdak._types import Float64Array, FloatArray
from lambdak.eigen import eigenvalue
from lambdak.model.model import Model
from lambdak.model.readout import Readout, readouts
from lambdak.table.design import Design

_MOST_ROWS = 300  # of the training table
_FEWEST_ROWS = 20
_MOST_FLOATS = 1 << 21  # 16 MB of the matrices of all rows and members: fewer rows where they are large


def mean_effects(model: Model, design: Design, weight: FloatArray | None = None, threads: int = 0) -> Float64Array:
    """Mean |raw score(row) − raw score(row with column i at its baseline)| over rows and outputs, (columns,).

    The baseline of a number is its median, that of a category the average of its levels. At most 300 rows are used.
    """
    mass = np.ones(len(design)) if weight is None else weight.astype(np.float64)
    counted = np.flatnonzero(mass)  # rows of weight zero are no training rows
    most = int(np.clip(_MOST_FLOATS // model.matrices[:, 0].size, _FEWEST_ROWS, _MOST_ROWS))
    if len(counted) > most:  # at random, because rows may come in periods
        counted = np.sort(np.random.default_rng(0).choice(counted, most, replace=False))
    some, mass = design.take(counted), mass[counted]
    effects = np.mean([column_effects(readout, some, mass, threads or None) for readout in readouts(model)], axis=0)
    return frozen(np.asarray(effects))


def column_effects(readout: Readout, design: Design, mass: Float64Array, n_jobs: int | None = None) -> Float64Array:
    """Weighted mean |change of the raw score| of each column, for one output."""
    Z = design.to_sparse(readout.coef.shape[1]).astype(np.float64).tocsc()
    packed = readout.packed(design)
    score = readout.over_members(eigenvalue(packed, readout.dim, readout.index, n_jobs=n_jobs))
    effects = np.zeros(len(readout.columns))
    for i, column in enumerate(readout.columns):
        if Z.indptr[column.start] == Z.indptr[column.stop]:  # a sparse column that is zero in all of these rows
            continue
        baseline = sparse.csr_array(column.baseline()[None])
        moves = (sparse.csr_array(np.ones((len(design), 1))) @ baseline - Z[:, column.start : column.stop]).tocsr()
        rows = np.flatnonzero(np.abs(moves).sum(axis=1))
        if rows.size:
            moved = packed[:, rows] + np.stack([moves[rows] @ own for own in readout.column(i)])
            values = readout.over_members(eigenvalue(moved, readout.dim, readout.index, n_jobs=n_jobs))
            effects[i] = mass[rows] @ np.abs(values - score[rows]) / mass.sum()
    return effects
