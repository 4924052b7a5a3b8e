"""What the columns of a model do to rows on average: how far raw scores move when a column goes to its baseline."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import frozen
from lambdak._types import Float64Array, FloatArray
from lambdak.eigen import eigenvalue
from lambdak.model.model import Model
from lambdak.model.readout import Readout, readouts
from lambdak.table.column_contract import Column
from lambdak.table.design import Design

_MOST_ROWS = 300  # of the training table
_FEWEST_ROWS = 20
_FLOATS_AT_ONCE = 1 << 21  # 16 MB of the matrices of all rows and members: fewer rows where they are large


def mean_effects(model: Model, design: Design, weight: FloatArray | None = None, threads: int = 0) -> Float64Array:
    """Mean |raw score(row) − raw score(row with column i at its baseline)| over rows and outputs, (columns,).

    The baseline of a number is its median, that of a category the average of its levels. At most 300 rows are used.
    """
    mass = np.ones(len(design)) if weight is None else weight.astype(np.float64)
    counted = np.flatnonzero(mass)  # rows of weight zero are no training rows
    most = int(np.clip(_FLOATS_AT_ONCE // model.matrices[:, 0].size, _FEWEST_ROWS, _MOST_ROWS))
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
    for i in readout.acting:
        moves, own = _to_baseline(Z, readout.columns[i])
        rows = np.flatnonzero(moves.any(axis=1))
        if rows.size:
            moved = packed[:, rows] + moves[rows] @ readout.column(i)[:, own]
            values = readout.over_members(eigenvalue(moved, readout.dim, readout.index, n_jobs=n_jobs))
            effects[i] = mass[rows] @ np.abs(values - score[rows]) / mass.sum()
    return effects


def _to_baseline(Z: Any, column: Column) -> tuple[Float64Array, NDArray[np.intp]]:
    """The moves of design rows Z (CSC) to the baseline of a column, (rows, used), and which design columns they use."""
    ends, baseline = Z.indptr[column.start : column.stop + 1], column.baseline()
    filled = np.diff(ends)
    if not filled.any():  # a sparse column that is zero in all of these rows
        return np.zeros((Z.shape[0], 0)), np.zeros(0, np.intp)
    used = np.flatnonzero((filled > 0) | (baseline != 0))
    place = np.zeros(column.width, np.intp)
    place[used] = np.arange(len(used))
    moves, entries = np.tile(baseline[used], (Z.shape[0], 1)), slice(ends[0], ends[-1])
    np.subtract.at(moves, (Z.indices[entries], np.repeat(place, filled)), Z.data[entries])
    return moves, used
