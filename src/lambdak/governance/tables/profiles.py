r"""What a column does on average: the raw score at each of its vertices, averaged over some rows, about its mean.

It tells where bands should end, and what rows of a table hold that no row of the user's table belongs to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.eigen import eigenvalue
from lambdak.governance.tables.factors import Factor, Positions
from lambdak.model.readout import Readout, slots_of
from lambdak.table.category_levels import OTHER
from lambdak.table.column_contract import Column
from lambdak.table.design import Design
from lambdak.table.numeric_column import Numeric
from lambdak.table.read import Table, named_array

_MOST_ROWS = 256
_MOST_MATRICES = 1 << 16  # rows times cells of a column


def profile(readout: Readout, design: Design, columns: Sequence[int], matrices: Float64Array) -> Float64Array:
    """The mean raw score with each of these matrices (members, cells, D) of some columns together, (cells,)."""
    most = int(np.clip(_MOST_MATRICES // matrices.shape[1], 1, _MOST_ROWS))
    rows = design.take(np.unique(np.linspace(0, len(design) - 1, most).astype(np.intp)))
    others = Design(rows.ids, rows.weights.copy())
    slots = slots_of(readout.columns)
    others.weights[:, [slot for i in columns for slot in slots[i]]] = 0.0
    packed = readout.packed(others)
    means = np.empty(matrices.shape[1])
    for some in readout.blocks(len(means), len(rows) * matrices.shape[2]):
        values = eigenvalue(packed[:, None] + matrices[:, some, None], readout.dim, readout.index)
        means[some] = readout.over_members(values).mean(axis=1)
    return means


def pair_profile(
    readout: Readout, design: Design, pair: tuple[int, int], first: Factor, second: Factor
) -> Float64Array:
    """The mean raw score in each cell of the table of two columns, at one vertex of each row, (n, m)."""
    own = []
    for column, factor in zip(pair, (first, second), strict=True):
        matrices = factor.matrices(readout.column(column))
        own.append(matrices[:, _middle_vertices(factor)])
    both = (own[0][:, :, None] + own[1][:, None]).reshape(len(readout.weights), -1, own[0].shape[-1])
    return profile(readout, design, pair, both).reshape(len(first), len(second))


def _middle_vertices(factor: Factor) -> Positions:
    """A vertex of each row of a table; any one of a row that has none."""
    owner = factor.vertices.owner
    order, count = np.argsort(owner, kind="stable"), np.bincount(owner, minlength=len(factor))
    return np.asarray(order[np.minimum(np.cumsum(count) - count + count // 2, len(order) - 1)])


def anywhere(columns: Sequence[Column], count: int, seed: int = 0) -> Table:
    """Rows whose cells are drawn independently: at the knots, of which there are more where training had more rows."""
    rng = np.random.default_rng(seed)
    cells = np.empty((count, len(columns)), object)
    for i, column in enumerate(columns):
        cells[:, i] = _drawn(column, count, rng)
    return named_array(cells, [column.name for column in columns])


def _drawn(column: Column, count: int, rng: np.random.Generator) -> NDArray[Any]:
    if isinstance(column, Numeric):
        nodes = column.nodes()
        line = not len(column.corners())
        return rng.uniform(nodes[0], nodes[-1], count) if line else rng.choice(nodes, count)
    known = [level for level in column.known_levels if level is not OTHER] or [None]
    levels = np.empty(len(known), object)
    levels[:] = known
    return levels[rng.integers(0, len(known), count)]
