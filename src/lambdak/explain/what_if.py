r"""Where a raw score stays while one column moves freely in a range and all others keep their cells: proven intervals.

Between two nodes a and b of a curve's piece A changes by E = A_i(b) − A_i(a), so that f(a) + t e₋ ≤ f ≤ f(a) + t e₊ at
the share t of the way, with e∓ = Σ_m w_m λ_1,d(E_m) (Weyl), and likewise from b backwards. The two lines of either side
meet in a saw tooth; with the values at the nodes computed, no point between them can leave its tips.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lambdak.eigen import eigenvalue
from lambdak.model.influence import weyl
from lambdak.model.readout import Readout, slots_of
from lambdak.pencil.spectrum import Float64Array
from lambdak.table.design import Design

TEETH = 24  # at least, over the range
_LEVELS_AT_ONCE = 300  # of a category


@dataclass(frozen=True, eq=False)
class WhatIf:
    """With ``column`` anywhere in ``between``, and all else as it is, no prediction leaves [lower, upper].

    Attributes
    ----------
    column : str
    between : tuple
        The two ends of the range, or the levels that were allowed; OTHER is any level unseen in training.
    lower, upper : arrays of shape (rows,)
        Of the prediction of each row.
    score_lower, score_upper : arrays of shape (rows,)
        Of its raw score.
    """

    column: str
    between: tuple[object, ...]
    lower: Float64Array
    upper: Float64Array
    score_lower: Float64Array
    score_upper: Float64Array


def score_interval(
    readout: Readout, design: Design, i: int, cells: Sequence[object]
) -> tuple[Float64Array, Float64Array]:
    """Lowest and highest computed raw score, each (rows,), while column i is at ``cells``, or between two numbers."""
    column = readout.columns[i]
    if not column.is_number and len(cells) > _LEVELS_AT_ONCE:
        some = [cells[first : first + _LEVELS_AT_ONCE] for first in range(0, len(cells), _LEVELS_AT_ONCE)]
        found = [score_interval(readout, design, i, part) for part in some]
        return np.min([low for low, _ in found], axis=0), np.max([high for _, high in found], axis=0)
    own = column.path(cells, TEETH)
    still = Design(design.ids, design.weights.copy())
    still.weights[:, list(slots_of(readout.columns)[i])] = 0.0
    others, reach = readout.packed(still), readout.reach(still)
    reach[:, i] = np.abs(own).sum(axis=1).max(initial=1.0)
    rounding = 2 * readout.errors(reach)  # of what is computed here, and of what is predicted
    matrices = own @ readout.column(i)  # (members, nodes, D)
    down, up = weyl(readout, np.diff(own, axis=0), i)
    lower, upper = np.empty(others.shape[1]), np.empty(others.shape[1])
    for rows in readout.blocks(others.shape[1], len(own) * others.shape[2]):
        packed = others[:, rows, None] + matrices[:, None]
        values = readout.start + readout.over_members(eigenvalue(packed, readout.dim, readout.index))
        low, high = saw_tooth(values, down, up) if column.is_number else (values, values)
        lower[rows], upper[rows] = low.min(axis=1) - rounding[rows], high.max(axis=1) + rounding[rows]
    return lower, upper


def saw_tooth(values: Float64Array, down: Float64Array, up: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Lower and upper tips (rows, nodes − 1), from values at the nodes (rows, nodes) and e∓ of the pieces.

    >>> saw_tooth(np.array([[0.0, 0.0]]), np.array([-1.0]), np.array([1.0]))
    (array([[-0.5]]), array([[0.5]]))
    """
    first, last = values[:, :-1], values[:, 1:]
    both = np.broadcast_to((down < 0) & (up > 0), first.shape)
    width = np.where(up > down, up - down, 1.0)
    share = np.clip((first - last + up) / width, 0.0, 1.0)
    low = np.where(both, first + share * down, np.minimum(first, last))
    share = np.clip((last - first - down) / width, 0.0, 1.0)
    high = np.where(both, first + share * up, np.maximum(first, last))
    return low, high
