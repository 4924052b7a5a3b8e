r"""What tables a model becomes: one for each column and one for each chosen pair, and the parameters they hold.

g(row) = base + Σ_i g_i(row of table i) + Σ_ij g_ij(row of table i, row of table j): a vector of parameters, the base
first, then table after table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, final

import numpy as np
from scipy import sparse

from lambdak._types import Float64Array
from lambdak.eigen.lazy import cached_property
from lambdak.governance.tables.factors import Factor, Positions
from lambdak.model.readout import dense_rows
from lambdak.table.encoder import TableEncoder
from lambdak.table.read import read_table

Pair = tuple[int, int]


@final
@dataclass(frozen=True, eq=False)
class Coded:
    """Rows of a user's table as rows of factor tables: positions and weights, (rows, slots) of each column."""

    ids: tuple[Positions, ...]
    weights: tuple[Float64Array, ...]

    def __len__(self) -> int:
        return len(self.ids[0])


def values_at(values: Float64Array, ids: Positions, weights: Float64Array) -> Float64Array:
    """The value of a table (n,) at rows (rows, slots) of it; between two of them never outside of theirs.

    So it rises from knot to knot wherever the knots do, whatever rounding does.
    """
    first = values[ids[:, 0]]
    if ids.shape[1] == 1:
        return np.asarray(first)
    last, share = values[ids[:, 1]], weights[:, 1]
    found = first + share * (last - first)
    inside = np.clip(found, np.minimum(first, last), np.maximum(first, last))
    return np.where((share < 0.0) | (share > 1.0), found, inside)


@final
@dataclass(frozen=True, eq=False)
class Layout:
    """Factors of all columns, in the order of the model, and pairs of columns whose factors are bands or levels."""

    encoder: TableEncoder
    factors: tuple[Factor, ...]
    pairs: tuple[Pair, ...] = ()

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Where the parameters of each table are: columns, then pairs."""
        one = [len(factor) for factor in self.factors]
        sizes = [*one, *(one[i] * one[j] for i, j in self.pairs)]
        return tuple(slice(*ends) for ends in pairwise(accumulate(sizes, initial=1)))

    @property
    def size(self) -> int:
        """The number of parameters, the base included."""
        return int(self.slices[-1].stop)

    def owner(self, column: int) -> list[int]:
        """The tables that a column is in: its own, and those of its pairs."""
        return [column, *(len(self.factors) + p for p, pair in enumerate(self.pairs) if column in pair)]

    def with_pairs(self, pairs: Sequence[Pair]) -> Layout:
        """Layout of these columns with other pairs."""
        return Layout(self.encoder, self.factors, tuple(pairs))

    def tie_(self, values: Float64Array) -> None:
        """Copy values to rows that repeat those of others."""
        tables = self.tables(values)
        for i, factor in enumerate(self.factors):
            if factor.tied is None:
                continue
            row, other = factor.tied
            for table in self.owner(i):
                first = table < len(self.factors) or self.pairs[table - len(self.factors)][0] == i
                turned = tables[table] if first else tables[table].T
                turned[row] = turned[other]

    def tables(self, values: Float64Array) -> list[Float64Array]:
        """The parameters of each table, (n,) or (n, m)."""
        shapes: list[tuple[int, ...]] = [(len(factor),) for factor in self.factors]
        shapes += [(len(self.factors[i]), len(self.factors[j])) for i, j in self.pairs]
        return [values[part].reshape(shape) for part, shape in zip(self.slices, shapes, strict=True)]

    def code(self, X: Any) -> Coded:
        """The rows of a user's table."""
        table = read_table(dense_rows(X), keep=False)
        positions = self.encoder.positions(table)
        found = [factor.entries(table.cells(i)) for factor, i in zip(self.factors, positions, strict=True)]
        return Coded(tuple(ids for ids, _ in found), tuple(weights for _, weights in found))

    def entries(self, coded: Coded) -> list[tuple[Positions, Float64Array]]:
        """Positions and weights of the rows, (rows, slots), table by table: columns and then pairs."""
        pairs = []
        for i, j in self.pairs:
            ids = coded.ids[i][:, :, None] * len(self.factors[j]) + coded.ids[j][:, None]
            weights = coded.weights[i][:, :, None] * coded.weights[j][:, None]
            pairs.append((ids.reshape(len(ids), -1), weights.reshape(len(ids), -1)))
        return [*zip(coded.ids, coded.weights, strict=True), *pairs]

    def matrix(self, coded: Coded) -> Any:
        """Z as a SciPy CSR array, (rows, size): g = Z values."""
        found = self.entries(coded)
        first = np.zeros((len(coded), 1), np.intp)
        ids = np.hstack([first, *(ids + part.start for (ids, _), part in zip(found, self.slices, strict=True))])
        weights = np.hstack([first + 1.0, *(weights for _, weights in found)])
        ends = np.arange(len(ids) + 1) * ids.shape[1]
        return sparse.csr_array(
            (weights.ravel(), ids.ravel().astype(np.int32), ends.astype(np.int32)), shape=(len(ids), self.size)
        )
