"""Where along a column a score can be lowest, whatever the other columns are: nothing else is to be searched.

A step that adds a semidefinite matrix never lowers an eigenvalue (Weyl). So a run of steps up is lowest at its first
point, a run of steps down at its last one: a monotone column is pinned to an end, a valley to its turn, a peak to one
of two ends. A first eigenvalue along a concave curve, and any along a concave curve of multiples of I, is lowest at an
end. What a step or a bend lacks of that, by rounding, is charged to the bound. Matrices decide, not promises.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.eigen import eigenvalue
from lambdak.eigen.packing import diagonal_indices
from lambdak.eigen.rounding import eigenvalue_error
from lambdak.optimize.axes import Axis
from lambdak.optimize.scores import Score
from lambdak.pencil.definite import UNIT, frobenius

_NEGLIGIBLE = 1e-10  # of the size of the matrices: what the steps of a column may lack together


def pin(score: Score, used: NDArray[np.bool_]) -> tuple[Score, float]:
    """Return the score over the points where it can be lowest, and what to take off a bound of it.

    ``used`` says which axes something else depends on.
    """
    axes, curves, charge = list(score.axes), list(score.curves), 0.0
    for i, axis in enumerate(score.axes):
        if axis.levels or used[i] or len(axis.points) == 1:
            continue
        kept, between, lacking = _lowest(score, i)
        places = np.flatnonzero(kept)
        if len(places) == len(kept) or (axis.whole and len(places) > 1):  # between whole numbers others may be chosen
            continue
        jumps = np.array([last > first + 1 or not between[first] for first, last in pairwise(places)], np.bool_)
        axes[i] = Axis(axis.name, axis.points[places], (), axis.whole, jumps if len(jumps) else None)
        curves[i] = score.curves[i][:, places]
        charge += lacking
    return replace(score, axes=tuple(axes), curves=tuple(curves)), charge


def _lowest(score: Score, i: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_], float]:
    """Return which points of a column can be lowest, between which there may be lower ones, and what that lacks."""
    ways, lacking = _ways(score, i)
    before, after = np.concatenate([[-1], ways]), np.concatenate([ways, [1]])
    kept = ((before <= 0) & (after >= 0)) | (before == 0) | (after == 0)
    bend = _bend(score, i) if (ways == 0).any() and kept.sum() > 2 else np.inf
    if bend < _most(score):
        kept = np.zeros(len(kept), bool)
        kept[[0, -1]] = True
        return kept, np.zeros(len(ways), bool), bend
    return kept, ways == 0, lacking


def _ways(score: Score, i: int) -> tuple[NDArray[np.intp], float]:
    """Return of each step along a column whether it goes up (1), down (-1), or perhaps both (0); and what they lack."""
    lacks = np.array([_lacks(score, i, sign) for sign in (1.0, -1.0)])  # (ways, steps)
    enough = lacks <= _most(score) / lacks.shape[1]
    ways = np.where(enough.all(axis=0), 0, enough[0].astype(np.intp) - enough[1])
    flat = enough.all(axis=0)
    decided = ways[~flat]
    for step in np.flatnonzero(flat):  # goes on as the step before it, or as the first one that is not flat
        ways[step] = ways[step - 1] if step else (decided[0] if len(decided) and decided[0] else 1)
    chosen = np.where(ways > 0, lacks[0], np.where(ways < 0, lacks[1], 0.0))
    return ways, float(chosen.sum())


def _lacks(score: Score, i: int, sign: float) -> Float64Array:
    """Return how far each step along column i, or back with -1, can lower the score, (steps,)."""
    steps = sign * np.diff(score.curves[i], axis=1)
    error = eigenvalue_error(score.dim) * frobenius(steps) + 4 * UNIT * frobenius(score.curves[i]).max(axis=-1)[:, None]
    least = np.asarray(eigenvalue(steps, score.dim, 0)) - error
    return np.asarray(np.abs(score.weights) @ np.maximum(-least, 0.0))


def _bend(score: Score, i: int) -> float:
    """Return how far below the lower end of a column the score can be; infinite if it need not be concave there."""
    points, curve = score.axes[i].points, score.curves[i]
    if not (_reads_first(score) or _only_adds(curve, score.dim)):
        return float(np.inf)
    lengths = np.diff(points)
    bends = np.diff(np.diff(curve, axis=1) / lengths[:, None], axis=1)
    rounding = 8 * UNIT * frobenius(curve).max(axis=-1)[:, None] * (1 / lengths[1:] + 1 / lengths[:-1])
    most = np.maximum(np.asarray(eigenvalue(bends, score.dim, score.dim - 1)), 0.0)
    most += rounding + eigenvalue_error(score.dim) * frobenius(bends)
    room = (points[1:-1] - points[0]) * (points[-1] - points[1:-1]) / (points[-1] - points[0])
    return float(np.abs(score.weights) @ (most @ room))


def _reads_first(score: Score) -> bool:
    return score.index == 0 and bool((score.weights >= 0).all())


def _only_adds(curve: Float64Array, dim: int) -> bool:
    """Return whether a column only adds a number to every eigenvalue: its matrices are multiples of I, bit by bit."""
    diagonal = diagonal_indices(dim)
    same = (curve[..., diagonal] == curve[..., diagonal[:1]]).all()
    return bool(same and not np.delete(curve, diagonal, axis=-1).any())


def _most(score: Score) -> float:
    return float(_NEGLIGIBLE * np.abs(score.weights) @ score.size)
