r"""The number of a monotone column that reaches a target prediction.

The prediction of a row rises or falls with a monotone column, so that it meets the target between two neighbouring
floats, or nowhere. Which two, halving finds: over floats, not over numbers, so that 64 steps always suffice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.model import Model
from lambdak.model.readout import Readout
from lambdak.model.rows import column_named
from lambdak.optimize.changes.goals import ChosenPrediction, chosen
from lambdak.optimize.changes.rows import DecidedRow, model_of, read_row
from lambdak.pencil.definite import UNIT, frobenius, proven_psd
from lambdak.pencil.statements import combined
from lambdak.table.category_levels import shown
from lambdak.table.numeric_column import Numeric
from lambdak.table.shown import Shown

_AT_ONCE = 16  # floats that are tried in one call
_DOUBLINGS = 200  # of the training range, after which a column that continues straight counts as followed


@final
@dataclass(frozen=True, eq=False, repr=False)
class Inverse(Shown):
    """What number of a column reaches a target.

    Attributes
    ----------
    column, output : str
        The column, and what is predicted.
    current : float or None
        The number that the row has.
    target : float
    value : float or None
        Of the numbers with which the prediction is the target, or just beyond it, the one that is closest to
        ``current``: with the next float on the way back, or of a whole column the next whole number, it is not yet
        there. None if no number reaches it.
    prediction : float
        What ``predict`` returns with ``value``; with ``current`` if no number reaches the target.
    reachable : tuple of float
        The lowest and highest prediction while the column moves over ``between`` and all others stay.
    between : tuple of float
        The training range, or, of a column that continues straight, as far as it was followed.
    """

    column: str
    output: str
    current: float | None
    target: float
    value: float | None
    prediction: float
    reachable: tuple[float, float]
    between: tuple[float, float]

    def __str__(self) -> str:
        now = "" if self.current is None else f" (now {shown(self.current)})"
        if self.value is not None:
            return (
                f"{self.column} = {shown(self.value)}{now} reaches {self.target:g}: {self.output} is then "
                f"{self.prediction:.6g}"
            )
        low, high = self.reachable
        return (
            f"no value of {self.column} reaches {self.target:g}: while it goes from {shown(self.between[0])} to "
            f"{shown(self.between[1])}{now}, {self.output} stays between {low:.6g} and {high:.6g}"
        )


def inverse(
    model: Any, row: Any, column: str, target: float, output: Any = None, offset: float | None = None,
    whole: bool | None = None,
) -> Inverse:  # fmt: skip
    """The number of a monotone column with which the prediction of a row reaches ``target``.

    ``row`` is a table with one row, a mapping or a one-dimensional array. Predictions are those of ``predict``; of
    quantiles ``output`` is a level, the middle one by default, of two classes the one whose probability counts, the
    second one by default, and of ordered classes the one up to which it does. ``whole`` says whether only a whole
    number will do; by default that is so if training saw no others in the column.

    Examples
    --------
    >>> from lambdak import SpectralRegressor
    >>> X = [[bid, size] for bid in range(20) for size in range(5)]
    >>> y = [bid * size for bid, size in X]
    >>> model = SpectralRegressor(effort="fast", monotonic_cst={"x0": 1}, random_state=0).fit(X, y)
    >>> found = inverse(model, [10, 3], "x0", 45.0)
    >>> found.value, round(inverse(model, [10, 3], "x0", 45.0, whole=False).prediction, 9)
    (15.0, 45.0)
    """
    decided = read_row(model_of(model), row, offset)
    i, wanted = column_named(decided.model, column), chosen(decided.model, output)
    sign = wanted.sign * _direction(decided.model, wanted.readout, i)
    goal = float(target)
    if np.isnan(goal):
        raise ValueError("target must be a number; got nan")
    number = decided.model.encoder.columns[i]
    only = isinstance(number, Numeric) and number.whole if whole is None else bool(whole)
    return _Search(decided, wanted, i, sign, goal, only).result()


def _direction(model: Model, readout: Readout, i: int) -> int:
    """Whether the raw score rises (1) or falls (-1) with a column; an error if neither is proven."""
    column = readout.columns[i]
    if not isinstance(column, Numeric):
        raise ValueError(
            f"column {column.name!r} is a category, which has no order: try its levels with predict, or use "
            f"minimize(free=[{column.name!r}])"
        )
    sign = model.promises.signs[i] * model.loss.sign or _proven_sign(readout, column, i)
    if not sign:
        raise ValueError(
            f"column {column.name!r} is not monotone, so that several of its values, or none, may reach a target: fit "
            f"with monotonic_cst={{{column.name!r}: 1}} (or -1), or use minimize(free=[{column.name!r}])"
        )
    return sign


def _proven_sign(readout: Readout, column: Numeric, i: int) -> int:
    """1 if every step of a column adds a semidefinite matrix in every member, -1 if it subtracts one, otherwise 0."""
    steps = combined(column.increments(), readout.column(i))  # (members, steps, D)
    flat = steps.reshape(-1, steps.shape[-1])
    rounding = 4 * UNIT * (abs(column.increments()) @ frobenius(readout.column(i)).T).T.ravel()
    error = np.where(flat.any(axis=1), rounding, 0.0)
    return next((sign for sign in (1, -1) if proven_psd(sign * flat, error).all()), 0)


@final
@dataclass(frozen=True, eq=False)
class _Search:
    """A row, one prediction, one column (its position, the sign of its slope, whether it is whole), and a target."""

    row: DecidedRow
    wanted: ChosenPrediction
    i: int
    sign: int
    target: float
    whole: bool

    @property
    def column(self) -> Numeric:
        """The column that moves."""
        column = self.wanted.readout.columns[self.i]
        assert isinstance(column, Numeric)
        return column

    def predictions(self, numbers: Sequence[float]) -> Float64Array:
        """What ``predict`` returns with these numbers in the column."""
        return self.wanted.predictions(self.row.raw([{self.column.name: number} for number in numbers]))

    def result(self) -> Inverse:
        """The whole search."""
        current = self.row.cells[self.column.name]
        begin = self.column.low if current is None else float(current)
        here = float(self.predictions([begin])[0])
        up = here < self.target
        value = begin if here == self.target else self._first(begin, up)
        between, reachable = self._range(begin, value)
        return Inverse(
            column=self.column.name,
            output=self.wanted.words,
            current=current,
            target=self.target,
            value=value,
            prediction=here if value is None else float(self.predictions([value])[0]),
            reachable=reachable,
            between=between,
        )

    def _first(self, begin: float, up: bool) -> float | None:
        """The first float from ``begin`` on with which the prediction is at or beyond the target."""
        for before, after in self._steps(begin, 1 if up == (self.sign > 0) else -1):
            if self._is_there([after], up)[0]:
                value = self._halved(before, after, up)
                return self._whole(value, begin) if self.whole else value
        return None

    def _whole(self, value: float, begin: float) -> float | None:
        """The next whole number on the way, if the column has it: it is beyond the target, as the slope has a sign."""
        found = float(np.ceil(value) if value > begin else np.floor(value))
        column = self.column
        return found if not column.clamp or column.low <= found <= column.high or found == value else None

    def _is_there(self, numbers: Sequence[float], up: bool) -> NDArray[np.bool_]:
        predicted = self.predictions(numbers)
        return np.asarray(predicted >= self.target if up else predicted <= self.target)

    def _steps(self, begin: float, way: int) -> list[tuple[float, float]]:
        """Intervals in which to look, one after the other: to the end of the training range, then ever further."""
        end = self.column.high if way > 0 else self.column.low
        ends = [begin] if (end - begin) * way <= 0 else [begin, end]
        if not self.column.clamp:
            width = max(self.column.high - self.column.low, abs(begin) * UNIT * 16, 1e-300)
            ends += [ends[-1] + way * width * 2.0**k for k in range(_DOUBLINGS)]
            ends = [end for end in ends if abs(end) < 1e300]
        return list(pairwise(ends))

    def _halved(self, before: float, after: float, up: bool) -> float:
        """The float next to one with which the prediction is not there yet."""
        low, high = _ordinal(before), _ordinal(after)
        while abs(high - low) > 1:
            tried = sorted({low + (high - low) * k // _AT_ONCE for k in range(1, _AT_ONCE)} - {low, high})
            tried = tried if high > low else tried[::-1]
            there = self._is_there([_float(number) for number in tried], up)
            first = int(np.argmax(there)) if there.any() else len(tried)
            low, high = [low, *tried][first], [*tried, high][first]
        return _float(high)

    def _range(self, begin: float, value: float | None) -> tuple[tuple[float, float], tuple[float, float]]:
        """The range over which the column moves, and the predictions there."""
        ends = [self.column.low, self.column.high, begin, begin if value is None else value]
        if not self.column.clamp and value is None:
            ends += [end for way in (1, -1) for _, end in self._steps(begin, way)[-1:]]
        between = (min(ends), max(ends))
        found = sorted(self.predictions(between).tolist())
        return between, (found[0], found[1])


def _ordinal(number: float) -> int:
    """Position of a number among all floats, counted from zero."""
    bits = int(np.float64(number + 0.0).view(np.int64))
    return bits if bits >= 0 else -(bits & 0x7FFFFFFFFFFFFFFF)


def _float(position: int) -> float:
    """The float at this position."""
    return float(np.copysign(np.int64(abs(position)).view(np.float64), position))
