"""Rows with what was observed and what a model expects of them: totals, each with the exposure that it belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak._checks import check_numbers, check_weight, freeze_arrays
from lambdak._types import Float64Array
from lambdak.governance.performance.outcome import Outcome, outcome_of
from lambdak.model import Model
from lambdak.table.cells import factorise_list
from lambdak.table.rows import target_rows
from lambdak.table.visible import visible

_SMALLEST, _LARGEST = 1e-250, 1e250  # of totals: shares of them, and squares of shares, are then exact enough


@final
@dataclass(frozen=True)
class Words:
    """What is measured, in the user's words.

    Attributes
    ----------
    rate : str
        Observed and expected, per unit of exposure: "ClaimNb per Exposure", "share of class 'yes'".
    exposure : str
        What bars show: "Exposure", "rows", "weight".
    total : str
        What is summed up: "ClaimNb", "rows of class 'yes'".
    """

    rate: str
    exposure: str
    total: str


@final
@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows of positive exposure, with what was observed and what a model expects of them.

    Attributes
    ----------
    rows : array of shape (n,)
        Their positions in the table.
    exposure : array of shape (n,)
        Exposure times weight; 1 if neither is given.
    actual, expected : arrays of shape (n,)
        Totals: rates times exposure.
    predicted : array of shape (n,)
        What rows are ordered by: the prediction per unit of exposure, or a quantile.
    outcome : Outcome
        The same per unit of exposure, with losses.
    groups : array of shape (n,), optional
        Rows with the same number belong together, as those of a policy.
    table_rows : int
        Of the whole table.
    """

    rows: NDArray[np.intp]
    exposure: Float64Array
    actual: Float64Array
    expected: Float64Array
    predicted: Float64Array
    outcome: Outcome
    words: Words
    groups: NDArray[np.intp] | None
    table_rows: int

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __len__(self) -> int:
        return len(self.rows)


def score_rows(
    model: Model,
    X: Any,
    y: ArrayLike,
    exposure: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    output: Any = None,
    groups: ArrayLike | None = None,
) -> ScoredRows:
    """Predict the rows of a table, and put what was observed beside it.

    With ``exposure``, y holds totals, and the model predicts their rate per unit of exposure. Otherwise y is what the
    model predicts. Rows without exposure or weight do not count.
    """
    raw = model.raw(X, offset)
    target = target_rows(y)
    if len(target) != len(raw):
        raise ValueError(f"y must have {len(raw)} entries, one per row of X; got {len(target)}")
    units = Units.of(len(raw), exposure, sample_weight, offset)
    if exposure is not None and model.classes is None and not model.loss.quantile_levels:
        target = _rates(target, units)
    found = outcome_of(model, raw, target, units.rows, units.mass, output)
    actual, expected = units.mass * found.observed, units.mass * found.expected
    for name, total in (("y", np.abs(actual)), ("predictions", np.abs(expected)), ("exposure", units.mass)):
        check_total(total, name)
    return ScoredRows(
        units.rows, units.mass, actual, expected, found.order, found, _words(found, y, exposure, sample_weight),
        _codes(groups, len(raw), units.rows), len(raw),
    )  # fmt: skip


@final
@dataclass(frozen=True, eq=False)
class Units:
    """The rows that count, with their exposure and the product of exposure and weight."""

    rows: NDArray[np.intp]
    exposure: Float64Array
    mass: Float64Array

    @classmethod
    def of(
        cls, rows: int, exposure: ArrayLike | None, sample_weight: ArrayLike | None, offset: ArrayLike | None = None
    ) -> Units:
        """From what a user gives."""
        own = np.ones(rows) if exposure is None else checked_exposure(exposure, rows)
        weight = np.ones(rows) if sample_weight is None else check_weight(sample_weight, rows)
        if exposure is not None and offset is not None:
            _refuse_twice(own, np.broadcast_to(np.asarray(offset, np.float64), rows))
        mass = own * weight
        counted = np.flatnonzero(mass > 0)
        if not counted.size:
            raise ValueError("X must have a row with exposure and weight; got none: every row would be ignored")
        return cls(counted, own, mass[counted])


def checked_exposure(exposure: ArrayLike, rows: int) -> Float64Array:
    """Exposure (rows,), finite and not negative."""
    own = check_numbers(exposure, "exposure")
    own = np.full(rows, own) if own.ndim == 0 else own
    if own.shape != (rows,):
        raise ValueError(f"exposure must have shape ({rows},), one entry per row of X; got {own.shape}")
    for wrong, wanted in ((~np.isfinite(own), "be finite"), (own < 0, "not be negative")):
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(f"exposure must {wanted}; got {own[row]} at row {row}: correct or drop such rows")
    return own


def check_total(values: Float64Array, name: str) -> None:
    """Refuse numbers whose sum leaves the range in which shares of it can be computed; all may be zero."""
    with np.errstate(over="ignore"):
        total = values.sum()
    if total and not _SMALLEST <= total <= _LARGEST:
        raise ValueError(
            f"the sum of {name} must be between {_SMALLEST:g} and {_LARGEST:g}; got {total:.3g}: use other units"
        )


def _refuse_twice(exposure: Float64Array, offset: Float64Array) -> None:
    some = exposure > 0
    if some.any() and np.allclose(offset[some], np.log(exposure[some])) and not np.allclose(offset, 0.0):
        raise ValueError(
            "exposure is in offset already, as its logarithm: give exposure alone, and y as totals, so that rates are "
            "compared"
        )


def _rates(target: NDArray[Any], units: Units) -> Float64Array:
    """Totals per unit of exposure; those of rows that do not count mean nothing."""
    totals = check_numbers(target, "y")
    lost = (units.exposure == 0) & (totals != 0)
    if lost.any():
        row = int(np.argmax(lost))
        raise ValueError(
            f"exposure must be positive where y is not 0; got 0 at row {row}, where y is {totals[row]:g}: give such "
            "rows the exposure that they had, or drop them"
        )
    return np.asarray(totals / np.where(units.exposure > 0, units.exposure, 1.0))


def _words(found: Outcome, y: Any, exposure: Any, sample_weight: Any) -> Words:
    total, unit = name_of(y, "what was observed"), exposure_word(exposure, sample_weight)
    if found.words is not None:
        return Words(found.words, unit, found.words.replace("share", unit, 1))
    if exposure is not None:
        return Words(f"{total} per {name_of(exposure, 'unit of exposure')}", unit, total)
    return Words(f"mean {name_of(y, 'target')}", unit, total)


def exposure_word(exposure: Any, sample_weight: Any) -> str:
    """What the exposure of rows is called."""
    if exposure is not None:
        return name_of(exposure, "exposure")
    return "rows" if sample_weight is None else name_of(sample_weight, "weight")


def name_of(values: Any, otherwise: str) -> str:
    """The name of a column that was given as such."""
    name = getattr(values, "name", None)
    return visible(name) if isinstance(name, str) and name.strip() else otherwise


def _codes(groups: ArrayLike | None, rows: int, counted: NDArray[np.intp]) -> NDArray[np.intp] | None:
    if groups is None:
        return None
    values = np.asarray(groups)
    if values.shape != (rows,):
        raise ValueError(f"groups must have shape ({rows},), one entry per row of X; got {values.shape}")
    some = values[counted]
    if some.dtype.kind in "iub":
        return np.asarray(np.unique(some, return_inverse=True)[1], np.intp)
    return factorise_list(some.tolist())[0]
