"""The matrices of a model as tables of literals, and A(row) as a chain of joins: one row for each row and pencil."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never, final

import numpy as np

from lambdak._types import Float64Array
from lambdak.eigen.packing import ROOT_HALF, diagonal_indices, packed_dim
from lambdak.export.formula import Formula
from lambdak.export.sql.cells import NEAR, ColumnReading
from lambdak.export.sql.script import Script, same
from lambdak.table.cell_rules import NOTHING, KnotRule, LevelRule, LineRule

ROW = ["lambdak_row", "output", "weight"]  # what is known of each pencil of a row


@final
@dataclass(frozen=True, eq=False)
class Pencils:
    """The matrices of all members and outputs, in units of a power of two, so that none is larger than about 1.

    Attributes
    ----------
    blocks : array of shape (blocks, P, D)
        Entries of the design columns; outputs may share a block.
    constant : array of shape (pencils, D)
        Those of A_0.
    block, output, index : tuples of int
        The block, the output and the position of the eigenvalue of each pencil.
    weight : array of shape (pencils,)
        Raw score per unit of its eigenvalue.
    """

    blocks: Float64Array
    constant: Float64Array
    block: tuple[int, ...]
    output: tuple[int, ...]
    index: tuple[int, ...]
    weight: Float64Array

    @classmethod
    def of(cls, formula: Formula) -> Pencils:
        """Matrices of all members and outputs of a formula, in units of a power of two."""
        model, members = formula.model, len(formula.model.weights)
        coefs = {id(family.coef): family.coef for family in formula.families}
        first = {key: i * members for i, key in enumerate(coefs)}
        blocks = np.concatenate(list(coefs.values()))
        entries = [
            (first[id(family.coef)] + m, output, index, family.constant[m], model.weights[m])
            for family in formula.families
            for output, index in zip(family.outputs, family.indices, strict=True)
            for m in range(members)
        ]
        block, output, index, constant, weights = zip(*entries, strict=True)
        size = max(float(np.abs(blocks).max()), float(np.abs(constant).max()))
        unit = float(np.exp2(np.frexp(size)[1])) if size else 1.0
        return cls(
            _entries(blocks / unit), _entries(np.array(constant) / unit), block, output, index,
            model.scale * np.array(weights) * unit,
        )  # fmt: skip

    @property
    def dim(self) -> int:
        """The matrices' number of rows."""
        return packed_dim(self.constant.shape[1])

    @property
    def one_index(self) -> int | None:
        """The position of the eigenvalue, if it is the same for all."""
        return self.index[0] if len(set(self.index)) == 1 else None

    @property
    def carried(self) -> list[str]:
        """Columns that every step passes on."""
        return ROW if self.one_index is not None else [*ROW, "place"]

    def at(self, reading: ColumnReading) -> tuple[Float64Array, Float64Array]:
        """Matrices and slopes at each choice of a column, both (choices, blocks, D)."""
        ids = np.array(reading.positions)
        matrices = np.where((ids == NOTHING)[:, None, None], 0.0, self.blocks[:, ids].transpose(1, 0, 2))
        slopes = np.zeros_like(matrices)
        match reading.rule:
            case LineRule():
                slopes[0], matrices[0] = matrices[0], 0.0
            case KnotRule() as rule:
                knots = slice(rule.start, rule.start + rule.n_entries)
                slopes[: rule.n_pieces] = np.diff(self.blocks[:, knots], axis=1).transpose(1, 0, 2)
            case LevelRule():
                pass
            case unknown:
                assert_never(unknown)
        return matrices, slopes


def entry(i: int, j: int) -> str:
    """The name of an entry of A."""
    return f"a{max(i, j)}_{min(i, j)}"


def entry_names(dim: int) -> list[str]:
    """The names of all entries, in packed order."""
    return [entry(i, j) for i in range(dim) for j in range(i + 1)]


def assemble(
    script: Script, pencils: Pencils, readings: Sequence[ColumnReading], offsets: Sequence[str], explain: bool
) -> None:
    """Add the steps from cells to the entries of A(row)."""
    names = entry_names(pencils.dim)
    _choose(script, readings, offsets, explain)
    keys = zip(pencils.block, pencils.index, pencils.output, strict=True)
    numbers = np.column_stack([pencils.weight, pencils.constant])
    table = script.numbers("pencils", ["block", "place", "output"], ["weight", *names], zip(keys, numbers, strict=True))
    left = {name: name for reading in readings for name in _choices(reading)}
    carried = [*pencils.carried, *offsets, "block"]
    passed = carried if explain else carried[:-1]
    script.select("start", same([*carried, *left, *names]), join=f" CROSS JOIN {table}")
    for reading in readings:
        for name in _choices(reading):
            left.pop(name)
        _add(script, pencils, reading, [*carried, *left], names)
    script.select("matrix", same(passed) | {name: script.dialect.settled(name) for name in names})


def lookup(script: Script, pencils: Pencils, reading: ColumnReading) -> tuple[str, list[int], list[int]]:
    """Add a table of the matrices of a column; its name, and which entries of matrices and slopes it has, (D,)."""
    matrices, slopes = pencils.at(reading)
    has_matrix, has_slope = (np.flatnonzero(some.any(axis=(0, 1))).tolist() for some in (matrices, slopes))
    i = reading.position
    columns = [*(f"c{e}" for e in has_matrix), *(f"s{e}" for e in has_slope)]
    numbers = np.concatenate([matrices[..., has_matrix], slopes[..., has_slope]], axis=-1).reshape(-1, len(columns))
    rows = (([place], each) for place, each in enumerate(numbers))
    return script.numbers(f"column_{i}", [f"m{i}"], columns, rows), has_matrix, has_slope


def matches(pencils: Pencils, reading: ColumnReading) -> str:
    """The row of that table."""
    i = reading.position
    return f"m{i} = k{i} * {len(pencils.blocks)} + block"


def _choose(script: Script, readings: Sequence[ColumnReading], offsets: Sequence[str], stored: bool) -> None:
    """Add the step from cells to choices: k, which piece or level, and t, how far along."""
    columns, joins = same(["lambdak_row", *offsets]), ""
    for reading in readings:
        chosen, join = reading.choose(script, [[str(place) for place in range(len(reading.positions))]])
        columns[f"k{reading.position}"] = chosen[0]
        joins += join
        along = reading.along()
        if along is not None:
            columns[f"t{reading.position}"] = reading.choose(script, [along])[0][0]
            if stored:
                columns[f"g{reading.position}"] = reading.rate()
    script.select("cells", columns, join=joins, stored=stored)


def _choices(reading: ColumnReading) -> list[str]:
    i = reading.position
    return [f"k{i}"] if reading.along() is None else [f"k{i}", f"t{i}"]


def _add(
    script: Script, pencils: Pencils, reading: ColumnReading, carried: Sequence[str], names: Sequence[str]
) -> None:
    """Add the step that adds the matrix of one column."""
    table, matrices, slopes = lookup(script, pencils, reading)
    sums = {name: [name] for name in names}
    for e in matrices:
        sums[names[e]].append(f"c{e}")
    for e in slopes:
        sums[names[e]].append(f"t{reading.position} * s{e}")
    script.select(
        f"with_{reading.position}",
        same(carried) | {name: " + ".join(terms) for name, terms in sums.items()},
        join=f" LEFT JOIN {table} ON {matches(pencils, reading)}",
    )


def used(pencils: Pencils, reading: ColumnReading) -> bool:
    """Whether a column changes any matrix."""
    return any(some.any() for some in pencils.at(reading))


def _entries(packed: Float64Array) -> Float64Array:
    """Entries of matrices instead of packed coordinates; nothing so small that its products would underflow."""
    factor = np.full(packed.shape[-1], ROOT_HALF)
    factor[diagonal_indices(packed_dim(packed.shape[-1]))] = 1.0
    entries = packed * factor
    return np.where(np.abs(entries) < NEAR, 0.0, entries)
