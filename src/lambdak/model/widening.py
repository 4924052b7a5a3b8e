r"""The last step of a fit: promises that hold to rounding are made to hold exactly.

Training keeps steps semidefinite by construction, but their sums, the matrices at the knots, are rounded when they are
stored. So every step that is not proven gets the least multiple of the identity that helps, a few units in the last
place at first and twice as much each time: I is the direction in which every eigenvalue rises alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from lambdak._types import Float64Array
from lambdak.eigen.packing import diagonal_indices, packed_dim
from lambdak.losses import Loss
from lambdak.model.outputs import Outputs
from lambdak.model.promises import Promises
from lambdak.model.statements import bending, rising
from lambdak.pencil.definite import UNIT
from lambdak.pencil.statements import Statements
from lambdak.shapes.anchored import Anchored
from lambdak.shapes.patterns import Patterned, all_spreads, pattern
from lambdak.shapes.spreads import Generated, Spread, Steps, dense
from lambdak.table.cell_rules import LineRule
from lambdak.table.column_contract import Column
from lambdak.table.curve_column import level_column
from lambdak.table.encoder import TableEncoder

_MOST_REPAIRS = 20  # of rounding that repairs of other promises leave: each is far smaller than the one before
_MOST_ROUNDS = 80  # of doubling: from the last place to beyond the first one
_MOST_MOVED = 1e-4  # of the largest entry: what is more than rounding is not widened away
_TINY = 1e-300
_HELPFUL = 1e-6  # that a generator moves a statement by, if it is to help it
_TOO_CLOSE = (
    "column {} must have knots further apart for what was requested of it: rounding breaks it; round its numbers, or "
    "lower n_knots"
)


def widen_(coef: Float64Array, encoder: TableEncoder, promises: Promises, loss: Loss, outputs: Outputs) -> None:
    """Make packed matrices (pencils, design columns, D) keep what was promised of them, exactly."""
    found = all_spreads(promises.shapes, encoder.columns, loss.sign)
    again = any(isinstance(spread, Patterned) for spread in found) or bool(promises.of(Anchored))
    for _ in range(_MOST_REPAIRS):
        before = coef.copy() if again else coef
        for spread in found:
            _widen_spread_(coef, spread)
        anchor_(coef, encoder.columns, promises)
        if (coef == before).all():
            break
    else:
        raise ValueError(_TOO_CLOSE.format(", ".join(repr(own.name) for own in encoder.columns)))
    if outputs.levels:
        _widen_column_(coef, level_column(outputs.levels, encoder.n_design), 1, 0)


def _widen_spread_(coef: Float64Array, spread: Spread) -> None:
    if isinstance(spread, Steps):
        _widen_column_(coef, spread.column, spread.sign, spread.bend)
    elif isinstance(spread, Generated):
        _widen_generated_(coef, spread)
    elif isinstance(spread, Patterned):
        if spread.base is not None:
            _widen_spread_(coef, spread.base)
        _widen_patterned_(coef, spread)


def _widen_patterned_(coef: Float64Array, spread: Patterned) -> None:
    """Move values on the pattern's ones to the next floats that keep their differences from the others in order."""
    dim, column = packed_dim(coef.shape[-1]), spread.column
    ones, diagonal = pattern(spread.pattern, dim), diagonal_indices(dim)
    cells = range(column.start, column.start + len(column.rising()))
    if ones.all():
        return
    for rows in coef:
        values = rows[list(cells)][:, diagonal]
        # In a term that reads no other column of the pattern, any matrices will do.
        if not all((values[:, side] == values[:, side][:, :1]).all() for side in (ones, ~ones)):
            continue
        height = Fraction(0) if len(cells) == column.n_steps else None  # a line starts from zero
        for j in cells:
            high, low = float(rows[j, diagonal[ones][0]]), Fraction(float(rows[j, diagonal[~ones][0]]))
            if height is not None and spread.direction * (Fraction(high) - low - height) < 0:
                high = _rounded(low + height, spread.direction)
                rows[j, diagonal[ones]] = high
            height = Fraction(high) - low


def _rounded(number: Fraction, direction: int) -> float:
    """The float nearest to a number that is not below it (1), or not above it (-1)."""
    near = float(number)
    return near if direction * (Fraction(near) - number) >= 0 else math.nextafter(near, direction * math.inf)


def anchor_(coef: Float64Array, columns: Sequence[Column], promises: Promises) -> None:
    """Make the matrix zero at every cell that adds nothing; the constant takes what it was."""
    for own in promises.of(Anchored):
        column = columns[own.positions[0]]
        cells = [j for j, factor in own.at(column).items() if factor]
        if cells and not isinstance(column.rule, LineRule):
            base = coef[:, cells].copy()
            coef[:, column.start : column.stop] -= base
            coef[:, :1] += base


def _widen_column_(coef: Float64Array, column: Column, sign: int, bend: int) -> None:
    dim = packed_dim(coef.shape[-1])
    numbers = column.rising().shape[0]
    spread = column.hinged(sign * bend) if bend else column.rising()  # (numbers, additions), each semidefinite
    rows = coef[:, column.start : column.start + numbers]
    # What rounding the matrices can do to a step, at most; for slopes that grows where knots are close.
    size = np.abs(rows).max(axis=(1, 2), initial=0.0)
    unit = np.maximum(4 * (dim + 6) * UNIT * size, _TINY)
    for _ in range(_MOST_ROUNDS):
        wanted = _wanted(coef, column, sign, bend, spread.shape[1])  # (pencils, additions), in units
        if not wanted.any():
            return
        amounts = (bend or sign) * unit[:, None] * wanted @ spread.T
        if (np.abs(amounts) > np.maximum(_MOST_MOVED * size, 1e3 * _TINY)[:, None]).any():
            break
        rows[..., diagonal_indices(dim)] += amounts[..., None]
        unit *= 2
    raise ValueError(_TOO_CLOSE.format(repr(column.name)))


def _widen_generated_(coef: Float64Array, spread: Generated) -> None:
    """Give statements that are not proven more of the generators that they are about."""
    dim, rows = packed_dim(coef.shape[-1]), coef[:, spread.start : spread.stop]
    gains = dense(spread.statements, spread.start, spread.stop) @ spread.weights  # (statements, generators)
    helpful = gains > np.maximum(gains.max(axis=1, keepdims=True, initial=0.0) / 2, _HELPFUL)
    needed = np.where(helpful, 1 / np.maximum(gains, _HELPFUL), 0.0)
    size = np.abs(rows).max(axis=(1, 2), initial=0.0)
    unit = np.maximum(4 * (dim + 6) * UNIT * size, _TINY)
    for _ in range(_MOST_ROUNDS):
        failing = _failing(Statements(coef, spread.statements), len(coef))  # (pencils, statements)
        if not failing.any():
            return
        wanted = (failing[:, :, None] * needed).max(axis=1)
        amounts = unit[:, None] * wanted @ spread.weights.T
        if (np.abs(amounts) > np.maximum(_MOST_MOVED * size, 1e3 * _TINY)[:, None]).any():
            break
        rows[..., diagonal_indices(dim)] += amounts[..., None]
        unit *= 2
    raise ValueError(_TOO_CLOSE.format(", ".join(repr(column.name) for column in spread.columns)))


def _wanted(coef: Float64Array, column: Column, sign: int, bend: int, additions: int) -> Float64Array:
    """How much of each addition the steps that are not proven need, (pencils, additions)."""
    wanted = np.zeros((len(coef), additions))
    if not bend:
        return _failing(rising(column, coef, sign), len(coef))
    lengths = column.lengths() / column.lengths().sum()
    inner = slice(1, None) if sign * bend > 0 else slice(0, len(lengths) - 1)  # the hinges at inner knots
    steep = 1 / np.maximum(np.minimum(lengths[1:], lengths[:-1]), UNIT)
    wanted[:, inner] = steep * _failing(bending(column, coef, bend), len(coef))
    if sign:
        straight = 0 if sign * bend > 0 else -1  # the hinge at an end
        wanted[:, straight] = (_failing(rising(column, coef, sign), len(coef)) / np.maximum(lengths, UNIT)).max(axis=1)
    return wanted


def _failing(statements: Statements, pencils: int) -> Float64Array:
    """1 where a statement is not proven, (pencils, statements)."""
    return np.asarray(~statements.proven().reshape(pencils, -1), np.float64)
