"""Columns in which a score is monotone stay at their best end: nothing is to be searched there.

A column that adds a semidefinite matrix at every step never lowers an eigenvalue (Weyl). What a step lacks of that, by
rounding, is charged to the bound.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lambdak._types import Float64Array
from lambdak.eigen import eigenvalue
from lambdak.eigen.rounding import eigenvalue_error
from lambdak.optimize.axes import Axis
from lambdak.optimize.scores import Score
from lambdak.pencil.definite import UNIT, frobenius

_NEGLIGIBLE = 1e-10  # of the size of the matrices: what the steps of a column may lack together


def pin(score: Score, used: Float64Array) -> tuple[Score, float]:
    """The score with monotone columns at the end where it is lowest, and what to take off a bound of it.

    ``used`` says which axes something else depends on.
    """
    axes, curves, charge = list(score.axes), list(score.curves), 0.0
    for i, axis in enumerate(score.axes):
        if axis.levels or used[i] or len(axis.points) == 1:
            continue
        lacks = [float(np.abs(score.weights) @ _lacks(score, i, sign)) for sign in (1.0, -1.0)]
        if min(lacks) > _NEGLIGIBLE * float(np.abs(score.weights) @ score.size):
            continue
        end = 0 if lacks[0] <= lacks[1] else len(axis.points) - 1
        axes[i] = Axis(axis.name, axis.points[[end]], (), axis.whole)
        curves[i] = score.curves[i][:, [end]]
        charge += min(lacks)
    return replace(score, axes=tuple(axes), curves=tuple(curves)), charge


def _lacks(score: Score, i: int, sign: float) -> Float64Array:
    """How far a way along column i, from any point to its end, can lower an eigenvalue, (members,)."""
    steps = sign * np.diff(score.curves[i], axis=1)
    error = eigenvalue_error(score.dim) * frobenius(steps) + 4 * UNIT * frobenius(score.curves[i]).max(axis=-1)[:, None]
    least = np.asarray(eigenvalue(steps, score.dim, 0)) - error
    return np.asarray(np.maximum(-least, 0.0).sum(axis=1))
