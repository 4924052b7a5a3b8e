"""What a column does on average: the mean absolute change of the raw score against a typical cell of the column."""

from __future__ import annotations

import numpy as np

from lambdak._checks import FloatArray
from lambdak.eigen import eigenvalue
from lambdak.model.model import Model
from lambdak.model.readout import Readout, readouts
from lambdak.pencil.spectrum import Float64Array
from lambdak.table.encoder import Design

_MOST_ROWS = 300  # of the training table, evenly spread


def mean_effects(model: Model, design: Design, weight: FloatArray | None = None, threads: int = 0) -> Float64Array:
    """Mean |raw score(row) − raw score(row with a typical cell in column i)| over rows and outputs, (columns,).

    A typical number is the median, a typical level the average of all levels. At most 300 rows are used.
    """
    rows = np.unique(np.linspace(0, len(design) - 1, min(len(design), _MOST_ROWS)).astype(int))
    mass = np.ones(len(rows)) if weight is None or not weight[rows].any() else weight[rows].astype(np.float64)
    some = design.take(rows)
    return np.asarray(np.mean([_effects(readout, some, mass, threads or None) for readout in readouts(model)], axis=0))


def _effects(readout: Readout, design: Design, mass: Float64Array, n_jobs: int | None) -> Float64Array:
    """Weighted mean |change of the raw score| of each column, for one output."""
    Z = design.to_sparse(readout.coef.shape[1]).astype(np.float64).tocsc()
    packed = readout.packed(design)
    score = readout.over_members(eigenvalue(packed, readout.dim, readout.index, n_jobs=n_jobs))
    effects = np.zeros(len(readout.columns))
    for i, column in enumerate(readout.columns):
        moves = column.typical() - Z[:, column.start : column.stop].toarray()
        rows = np.flatnonzero(moves.any(axis=1))
        if rows.size:
            moved = packed[:, rows] + moves[rows] @ readout.column(i)
            values = readout.over_members(eigenvalue(moved, readout.dim, readout.index, n_jobs=n_jobs))
            effects[i] = mass[rows] @ np.abs(values - score[rows]) / mass.sum()
    return effects
