"""What comes with a table: targets, weights and offsets, one entry per row."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import column_or_1d

from lambdak._checks import check_numbers, check_unmasked, check_weight
from lambdak._types import Float64Array
from lambdak.table.cells import EVERY_ROW, Rows, is_missing

LARGEST_NUMBER = 2.0**1000  # of a target or an offset: scores that overshoot it are still finite
_MOST_REPEATS = 1 << 20  # of the lightest row: beyond, weights are no counts of rows
_LABEL_TYPES: tuple[tuple[type, ...], ...] = ((str,), (bool, np.bool_), (Integral,), (Real,))
_ROWS_SHOWN = 5  # in a message
_LIGHTEST = 2.0**-126  # in units of the heaviest row: float32 would round it to nothing


def rows_shown(chosen: NDArray[np.bool_]) -> str:
    """Rows in words, the first few of many.

    >>> rows_shown(np.array([False, True, True])), rows_shown(np.ones(9, bool))
    ('rows 1 and 2', 'rows 0, 1, 2, 3, 4 and 4 more')
    """
    rows = np.flatnonzero(chosen).tolist()
    if len(rows) == 1:
        return f"row {rows[0]}"
    shown, more = rows[:_ROWS_SHOWN], len(rows) - _ROWS_SHOWN
    first, last = (shown, f"{more} more") if more > 0 else (shown[:-1], str(shown[-1]))
    return f"rows {', '.join(map(str, first))} and {last}"


def spread_rows(rows: int, most: int) -> NDArray[np.intp]:
    """Positions of at most so many of some rows, from the first to the last, evenly spread.

    >>> spread_rows(9, 3).tolist(), spread_rows(2, 3).tolist()
    ([0, 4, 8], [0, 1])
    """
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).astype(np.intp))


def optional_rows(values: ArrayLike | None, rows: int, name: str) -> Float64Array | None:
    """One finite number per row, or None; a single number is that of every row."""
    if values is None:
        return None
    array = check_numbers(values, name)
    if array.ndim == 0:
        array = np.full(rows, array)
    if array.shape != (rows,):
        raise ValueError(f"{name} must have shape ({rows},), one entry per row of X; got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(
            f"{name} must be finite; got {array[~np.isfinite(array)][0]} at row {np.argmin(np.isfinite(array))}"
        )
    large = np.abs(array) > LARGEST_NUMBER
    if large.any():
        row = int(np.argmax(large))
        raise ValueError(
            f"{name} must be within ±{LARGEST_NUMBER:.2g}; got {array[row]} at row {row}: use larger units of y"
        )
    return array


def log_exposure(exposure: ArrayLike, rows: int | None = None, name: str = "exposure") -> Float64Array:
    """The logarithm of exposures, which must be positive: what a log link adds to raw scores.

    One entry per row, or one number for all ``rows``, if that is known.
    """
    own = check_numbers(exposure, name)
    if own.ndim == 0 and rows is not None:
        own = np.full(rows, own)
    if rows is not None and own.shape != (rows,):
        raise ValueError(f"{name} must have shape ({rows},), one entry per row of X; got {own.shape}")
    bad = np.atleast_1d(~((own > 0) & (own < np.inf)))
    if bad.any():
        value = np.atleast_1d(own)[int(np.argmax(bad))]
        raise ValueError(
            f"{name} must be positive and finite; got {value} at {rows_shown(bad)}: correct these rows, or drop them"
        )
    return np.asarray(np.log(own))


def weighted_rows(sample_weight: ArrayLike | None, rows: int) -> tuple[Rows, Float64Array | None]:
    """Rows of positive weight and these weights, ascending: their sums then do not depend on the order of the rows."""
    if sample_weight is None:
        return EVERY_ROW, None
    weight = check_weight(sample_weight, rows)
    with np.errstate(over="ignore"):
        if not np.isfinite(weight.sum()):
            raise ValueError(f"sample_weight must have a finite sum, the number of rows; got {weight.max()} at most")
    order = np.argsort(weight)[np.count_nonzero(weight == 0.0) :]
    return order, weight[order]


def weights_in_units(weight: Float64Array) -> Float64Array | None:
    """Weights without their scale, which means nothing: whole multiples of a common unit, or the heaviest in [1, 2).

    Only the whole multiples count rows, and equal weights are as none. A row 2^126 times lighter than the heaviest one
    changes no digit of a fit, and counts as one of weight zero.

    >>> weights_in_units(np.array([3e300, 6e300, 1e-300, 0.0]))
    array([1., 2., 0., 0.])
    >>> weights_in_units(np.array([0.1, 0.3])).round(3)
    array([0.4, 1.2])
    """
    scaled = np.ldexp(weight, 1 - int(np.frexp(weight.max())[1]))  # by a power of two: not a digit changes
    scaled[scaled < _LIGHTEST] = 0.0
    scaled /= _common_unit(scaled) or 1.0
    return None if (scaled == 1.0).all() else scaled


def _common_unit(weight: Float64Array) -> float | None:
    """The largest number that all weights are whole multiples of, by Euclid's algorithm; None if they are no counts."""
    rest = some = np.unique(weight[weight > 0.0])
    while rest.size:
        unit = rest.min()
        if some[-1] > _MOST_REPEATS * unit:
            return None
        rest = np.fmod(some, unit)  # exact
        rest = rest[rest > 0.0]
    return float(unit)


def given_together(X_val: Any, y_val: ArrayLike | None) -> bool:
    """Whether validation rows are given: a table and its targets, never one alone."""
    if (X_val is None) != (y_val is None):
        one, other = ("X_val", "y_val") if y_val is None else ("y_val", "X_val")
        raise ValueError(f"X_val and y_val must be given together; got {one} without {other}")
    return X_val is not None


def target_rows(y: ArrayLike | None, name: str = "y") -> NDArray[Any]:
    """The target as one column; what is missing among objects is NaN."""
    if y is None:
        raise ValueError(f"{name} must be given: this estimator requires y to be passed, but the target y is None")
    if isinstance(y, str):
        raise TypeError(
            f"{name} must have one entry per row; got the text {y!r}: a column is named only where X is a path or "
            f"batches of rows, otherwise give X[{y!r}], and X without it"
        )
    check_unmasked(y, name)
    target = np.asarray(column_or_1d(y, warn=True))
    if target.dtype.kind in "OT":  # T is NumPy's type of strings of any length
        target = target.astype(object)
        target[[is_missing(cell) for cell in target]] = np.nan
    return target


def label_rows(y: ArrayLike | None, name: str = "y") -> NDArray[Any]:
    """The target as classes: strings, booleans, whole numbers or floats, none of them missing.

    >>> label_rows(np.array([True, False], object)).dtype
    dtype('bool')
    """
    target = target_rows(y, name)
    if target.dtype.kind == "O":
        _refuse_unknown(np.array([is_missing(cell) for cell in target], bool), "missing", name)
        target = _plain_labels(target, name)
    if target.dtype.kind not in "OUbiuf":
        _refuse_label(name, target[0], 0)
    if target.dtype.kind == "f":
        _refuse_unknown(np.isnan(target), "missing", name)
        _refuse_unknown(np.isinf(target), "infinite", name)
    return target


def _refuse_unknown(bad: NDArray[np.bool_], what: str, name: str) -> None:
    if bad.any():
        raise ValueError(
            f"{name} must hold a class in every row; it is {what} at {rows_shown(bad)}: fill them in, or drop them"
        )


def _plain_labels(target: NDArray[Any], name: str) -> NDArray[Any]:
    """Objects as an array of one kind."""
    kinds = [next((i for i, kind in enumerate(_LABEL_TYPES) if isinstance(cell, kind)), -1) for cell in target]
    if -1 in kinds:
        _refuse_label(name, target[kinds.index(-1)], kinds.index(-1))
    if len({kind == 0 for kind in kinds}) > 1:
        row = kinds.index(0)
        other = next(i for i, kind in enumerate(kinds) if kind)
        raise ValueError(
            f"{name} must hold classes of one kind; got {target[row]!r} at row {row} and {target[other]!r} at row "
            f"{other}: convert them all to strings"
        )
    if not kinds or kinds[0] == 0:
        return target
    try:
        return target.astype((bool, np.int64, np.float64)[max(kinds) - 1])
    except OverflowError:
        row = next(i for i, cell in enumerate(target) if abs(cell) >= 2**63)
        _refuse_label(name, target[row], row)


def _refuse_label(name: str, label: object, row: int) -> NoReturn:
    raise ValueError(
        f"{name} must hold strings, booleans or whole numbers of 64 bits as classes; got {label!r} at row {row}: "
        "convert them to strings"
    )
