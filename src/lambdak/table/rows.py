"""Rows: a table with targets, weights, offsets and exposures, one entry per row, and the checks of all of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import column_or_1d

from lambdak._checks import check_numbers, check_per_row, check_unmasked, check_weight
from lambdak._types import Float64Array
from lambdak.table.cells import EVERY_ROW, RowIndex, is_missing
from lambdak.table.read import read_table

LARGEST_NUMBER = 2.0**1000  # of a target or an offset: scores that overshoot it are still finite
_MOST_REPEATS = 1 << 20  # of the lightest row: beyond, weights are no counts of rows
_LABEL_TYPES: tuple[tuple[type, ...], ...] = ((str,), (bool, np.bool_), (Integral,), (Real,))
_ROWS_SHOWN = 5  # in a message
_LIGHTEST = 2.0**-126  # in units of the heaviest row: float32 would round it to nothing


@dataclass(frozen=True, eq=False)
class Rows:
    """A table with, if given, a target, a weight, an offset and an exposure for each row.

    Attributes
    ----------
    X : Table or sparse matrix
        The table as it was read.
    y : array of shape (rows,), optional
        Targets; with an exposure, totals.
    weight, offset, exposure : arrays of shape (rows,), optional
    given : mapping
        Target and exposure as the user gave them, with their names.
    """

    X: Any
    y: NDArray[Any] | None = None
    weight: Float64Array | None = None
    offset: Float64Array | None = None
    exposure: Float64Array | None = None
    given: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def target(self) -> NDArray[Any]:
        """The targets; refused where none were given."""
        return target_rows(None) if self.y is None else self.y

    @property
    def target_name(self) -> str:
        """The name of the target, if it had one."""
        name = getattr(self.given.get("y"), "name", None)
        return name if isinstance(name, str) and name else "the target"

    @property
    def mass(self) -> Float64Array:
        """Exposure times weight of each row, (rows,): how much it counts."""
        exposure = np.ones(len(self)) if self.exposure is None else self.exposure
        return exposure if self.weight is None else exposure * self.weight

    def counted(self) -> NDArray[np.intp]:
        """Positions of the rows with exposure and weight; refused where there are none."""
        if not len(self):
            raise ValueError("X must have at least one row; got none")
        rows = np.flatnonzero(self.mass > 0)
        if not rows.size:
            raise ValueError("X must have a row with exposure and weight; got none: every row would be ignored")
        return rows

    @property
    def rates(self) -> NDArray[Any]:
        """Targets per unit of exposure, (rows,); 0 where there is none."""
        if self.exposure is None:
            return self.target
        totals = np.asarray(self.target, np.float64)
        return np.divide(totals, self.exposure, out=np.zeros(len(self)), where=self.exposure > 0)


def read_rows(
    X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None, offset: ArrayLike | None = None,
    exposure: ArrayLike | None = None, *, suffix: str = "", positive: bool = False, keep: bool = True,
) -> Rows:  # fmt: skip
    """Return what a user gives as rows, all of it checked.

    ``suffix`` is what the names of the arguments end with, as in ``X_val``, for errors. Exposures must be ``positive``
    where their logarithm is taken, and may be zero where rows without any do not count. A table that is used only once
    need not ``keep`` its columns.
    """
    table = X if issparse(X) else read_table(X, keep)
    rows = int(table.shape[0])
    target = None if y is None else target_rows(y, f"y{suffix}")
    if target is not None:
        if len(target) and not rows:
            raise ValueError(f"X{suffix} must have at least one row; got none")
        check_per_row(target, rows, f"y{suffix}", suffix)
    return Rows(
        table, target, None if sample_weight is None else check_weight(sample_weight, rows, suffix),
        optional_rows(offset, rows, f"offset{suffix}", suffix),
        None if exposure is None else exposure_rows(exposure, rows, f"exposure{suffix}", suffix, positive=positive),
        {"y": y, "exposure": exposure},
    )  # fmt: skip


def optional_read(
    X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None, offset: ArrayLike | None = None,
    exposure: ArrayLike | None = None, suffix: str = "",
) -> Rows | None:  # fmt: skip
    """Return what a user gives as rows, or None where nothing is given; a table must have a row."""
    if X is not None:
        rows = read_rows(X, y, sample_weight, offset, exposure, suffix=suffix)
        if not len(rows):
            raise ValueError(f"X{suffix} must have at least one row; got none: omit it, or give rows")
        return rows
    beside = {"y": y, "sample_weight": sample_weight, "offset": offset, "exposure": exposure}
    for name, values in beside.items():
        if values is not None:
            raise ValueError(f"X{suffix} must be given with {name}{suffix}; got {name}{suffix} alone")
    return None


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


def optional_rows(values: ArrayLike | None, rows: int, name: str, suffix: str = "") -> Float64Array | None:
    """Return one finite number per row, or None; a single number is that of every row."""
    if values is None:
        return None
    array = _per_row(values, rows, name, suffix)
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


def _per_row(values: ArrayLike, rows: int | None, name: str, suffix: str) -> Float64Array:
    """Return one number per row, from one per row or from one for all ``rows``, if that is known."""
    array = check_numbers(values, name)
    if rows is None:
        return array
    return check_per_row(np.full(rows, array) if array.ndim == 0 else array, rows, name, suffix)


def exposure_rows(
    exposure: ArrayLike, rows: int | None = None, name: str = "exposure", suffix: str = "", *, positive: bool = True
) -> Float64Array:
    """Return exposures, one entry per row: positive, or not negative where rows without exposure do not count."""
    array = _per_row(exposure, rows, name, suffix)
    bad = np.atleast_1d(~((array > 0 if positive else array >= 0) & (array < np.inf)))
    if bad.any():
        value, wanted = (
            np.atleast_1d(array)[int(np.argmax(bad))],
            "positive and finite" if positive else "finite and not negative",
        )
        raise ValueError(f"{name} must be {wanted}; got {value} at {rows_shown(bad)}: correct these rows, or drop them")
    return array


def log_exposure(
    exposure: ArrayLike, rows: int | None = None, name: str = "exposure", suffix: str = ""
) -> Float64Array:
    """Return the logarithm of exposures, which must be positive: what a log link adds to raw scores.

    One entry per row, or one number for all ``rows``, if that is known.
    """
    return np.asarray(np.log(exposure_rows(exposure, rows, name, suffix)))


def weighted_rows(sample_weight: ArrayLike | None, rows: int) -> tuple[RowIndex, Float64Array | None]:
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
