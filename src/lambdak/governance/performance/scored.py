"""Rows with what was observed and what a model expects of them: totals, each with the exposure that it belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak._checks import check_numbers, check_per_row, freeze_arrays
from lambdak._types import Float64Array
from lambdak.governance.performance.outcome import Outcome, outcome_of
from lambdak.model import Model
from lambdak.model.rows import model_target
from lambdak.table.cells import factorise_list
from lambdak.table.rows import Rows, read_rows
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
    given = read_rows(X, y, sample_weight, offset, exposure, keep=False)
    raw = model.raw(given.X, given.offset)
    check_exposed(given, totals=model.classes is None and not model.loss.quantile_levels)
    rows = given.counted()
    mass = given.mass[rows]
    outcome = outcome_of(model, raw, model_target(model, given), rows, mass, output)
    actual, expected = mass * outcome.observed, mass * outcome.expected
    for name, total in (("y", np.abs(actual)), ("predictions", np.abs(expected)), ("exposure", mass)):
        check_total(total, name)
    return ScoredRows(
        rows, mass, actual, expected, outcome.order, outcome, _words(outcome, y, exposure, sample_weight),
        _codes(groups, len(raw), rows), len(raw),
    )  # fmt: skip


def check_total(values: Float64Array, name: str) -> None:
    """Refuse numbers whose sum leaves the range in which shares of it can be computed; all may be zero."""
    with np.errstate(over="ignore"):
        total = values.sum()
    if total and not _SMALLEST <= total <= _LARGEST:
        raise ValueError(
            f"the sum of {name} must be between {_SMALLEST:g} and {_LARGEST:g}; got {total:.3g}: use other units"
        )


def check_exposed(rows: Rows, totals: bool = False) -> None:
    """Refuse an exposure that is in the offset already, and one that is 0 where ``totals`` are not."""
    exposure, offset = rows.exposure, rows.offset
    if exposure is None:
        return
    some = exposure > 0
    twice = offset is not None and some.any() and np.allclose(offset[some], np.log(exposure[some]))
    if twice and not np.allclose(np.asarray(offset), 0.0):
        raise ValueError(
            "exposure is in offset already, as its logarithm: give exposure alone, and y as totals, so that rates are "
            "compared"
        )
    if totals and (lost := ~some & (check_numbers(rows.target, "y") != 0)).any():
        row = int(np.argmax(lost))
        raise ValueError(
            f"exposure must be positive where y is not 0; got 0 at row {row}, where y is {rows.target[row]:g}: give "
            "such rows the exposure that they had, or drop them"
        )


def _words(outcome: Outcome, y: Any, exposure: Any, sample_weight: Any) -> Words:
    total, unit = name_of(y, "what was observed"), exposure_word(exposure, sample_weight)
    if outcome.words is not None:
        return Words(outcome.words, unit, outcome.words.replace("share", unit, 1))
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
    some = check_per_row(np.asarray(groups), rows, "groups")[counted]
    if some.dtype.kind in "iub":
        return np.asarray(np.unique(some, return_inverse=True)[1], np.intp)
    return factorise_list(some.tolist())[0]
