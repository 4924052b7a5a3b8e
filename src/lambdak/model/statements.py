"""What the promises of a model say about its matrices, as statements that can be proven."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lambdak._types import Float64Array
from lambdak.model.outputs import Outputs
from lambdak.pencil.statements import Statements, bends, rises
from lambdak.shapes.contract import Shape
from lambdak.shapes.spreads import turned
from lambdak.table.column_contract import Column
from lambdak.table.curve_column import level_column


def rising(column: Column, coef: Float64Array, sign: int) -> Statements:
    """Going up along a column adds a semidefinite matrix of this sign at every step, in every pencil of ``coef``."""
    return Statements(_own(column, coef), rises(column.increments(), sign))


def bending(column: Column, coef: Float64Array, sign: int) -> Statements:
    """The slope of a column changes by a semidefinite matrix of this sign at every inner knot, in every pencil."""
    return Statements(_own(column, coef), bends(column.increments(), column.exact_lengths(), sign))


def ordered_levels(outputs: Outputs, coef: Float64Array) -> Statements:
    """Going from one quantile or cut-point to the next adds a positive semidefinite matrix, in every pencil."""
    levels = outputs.levels
    return rising(level_column(levels, coef.shape[1] - len(levels)), coef, 1)


def all_bending(columns: Sequence[Column], coef: Float64Array, sign: int) -> Iterator[Statements]:
    """Statements that slopes change by semidefinite matrices of this sign, column by column of those of numbers."""
    return (bending(column, coef, sign) for column in columns if column.is_number)


def shape_statements(shape: Shape, columns: Sequence[Column], coef: Float64Array, flip: int) -> Statements:
    """What a placed shape asks of the matrices of every pencil, for a loss of this sign."""
    return Statements(coef, [turned(own, shape, flip) for own in shape.statements(columns)])


def _own(column: Column, coef: Float64Array) -> Float64Array:
    return coef[:, column.start : column.stop]
