"""Times to an event as users give them, and as a fit takes them: a code, entry, lower and upper time for each row.

The lines of a fit are finite: of a right-censored row lower and upper are the time it was last seen, of an event they
are its time, a left-censored row has lower 0, and a row without late entry has entry 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak._checks import check_numbers
from lambdak._types import Float64Array
from lambdak.table.rows import rows_shown

RIGHT, EXACT, INTERVAL, LEFT = 0.0, 1.0, 2.0, 3.0  # codes: only right-censored rows have no event
LARGEST_TIME, SMALLEST_TIME = 1e100, 1e-100


def event_lines(event: ArrayLike, time: ArrayLike, entry: ArrayLike | None = None, name: str = "y") -> Float64Array:
    """Lines of rows with an event, or censored at their time, each seen from its entry on."""
    happened, times = _flags(event, f"event of {name}"), _times(time, f"time of {name}")
    check_same_length({"event": happened, "time": times})
    _refuse(~(times > 0) | ~np.isfinite(times), times, f"time of {name}", "be positive and finite",
            "give a small positive time to events at time 0, and drop rows that were never observed")  # fmt: skip
    lines = np.column_stack([np.where(happened, EXACT, RIGHT), np.zeros(len(times)), times, times])
    return with_entry(lines, entry, name)


def interval_lines(lower: ArrayLike, upper: ArrayLike, entry: ArrayLike | None = None, name: str = "y") -> Float64Array:
    """Lines of rows whose event was between two times; an infinite or missing upper one says that it was later."""
    low, high = _times(lower, "lower", missing=True), _times(upper, "upper", missing=True)
    check_same_length({"lower": low, "upper": high})
    low, high = np.where(np.isnan(low), 0.0, low), np.where(np.isnan(high), np.inf, high)
    _refuse((low < 0) | np.isinf(low), low, "lower", "be finite and not negative", "0 is an event before upper")
    _refuse(high <= 0, high, "upper", "be positive", "drop rows that were never observed")
    _refuse(high < low, high, "upper", "not be below lower", "swap the two")
    _refuse(np.isinf(high) & (low == 0), low, "lower", "be positive where upper is infinite",
            "drop rows of which nothing is known")  # fmt: skip
    code = np.select([np.isinf(high), high == low, low == 0], [RIGHT, EXACT, LEFT], INTERVAL)
    lines = np.column_stack([code, np.zeros(len(low)), low, np.where(np.isinf(high), low, high)])
    return with_entry(lines, entry, name)


def with_entry(lines: Float64Array, entry: ArrayLike | None, name: str = "y") -> Float64Array:
    """Lines of rows that were seen from their entries on only."""
    if entry is None:
        return check_event_times(lines, name)
    entries = _times(entry, "entry", missing=True)
    check_same_length({"entry": entries, "time": lines[:, 3]})
    entries = np.where(np.isnan(entries), 0.0, entries)
    _refuse((entries < 0) | np.isinf(entries), entries, "entry", "be finite and not negative",
            "0 is a row that was seen from the beginning")  # fmt: skip
    code, _, lower, upper = lines.T
    # A row that is censored when it enters says nothing.
    late = (entries > upper) | ((entries == upper) & (code != RIGHT))
    _refuse(late, entries, "entry", "be before the end of its row", "drop rows that ended before they were seen")
    between = np.isin(code, (LEFT, INTERVAL)) & (entries > 0)
    lower = np.where(between, np.maximum(lower, entries), lower)
    code = np.where(between, INTERVAL, code)  # what was not before the entry was after it
    return check_event_times(np.column_stack([code, entries, lower, upper]), name)


def check_event_times(lines: Float64Array, name: str = "y") -> Float64Array:
    """Return lines of a fit, if all of them can be."""
    if lines.ndim != 2 or lines.shape[1] != 4 or not len(lines):
        raise ValueError(
            f"{name} must have a code, an entry, a lower and an upper time in each row; got shape {lines.shape}"
        )
    for place, what in ((3, "time"), (2, "lower"), (1, "entry")):
        values = lines[:, place]
        known = values > 0 if place < 3 else np.ones(len(values), bool)
        bad = known & ~((values >= SMALLEST_TIME) & (values <= LARGEST_TIME))
        _refuse(bad, values, f"{what} of {name}", f"be in [{SMALLEST_TIME:g}, {LARGEST_TIME:g}]", "use another unit")
    return lines


def is_event_pair(y: Any) -> bool:
    """Whether ``y`` is a pair (time, event) of two arrays."""
    return isinstance(y, tuple) and len(y) == 2


def structured(y: Any) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Event and time of a structured array as scikit-survival has it; None if ``y`` is none."""
    names = getattr(getattr(y, "dtype", None), "names", None)
    if names is None:
        return None
    if len(names) != 2:
        raise ValueError(f"y must have two fields, the event and its time; got {list(names)}")
    flags = [name for name in names if y.dtype[name].kind == "b"]
    first = flags[0] if len(flags) == 1 else names[0]
    (second,) = (name for name in names if name != first)
    return np.asarray(y[first]), np.asarray(y[second])


def check_same_length(arrays: dict[str, NDArray[Any]]) -> None:
    """Refuse arrays of different lengths."""
    (first, one), *others = arrays.items()
    for name, other in others:
        if len(one) != len(other):
            raise ValueError(f"{first} and {name} must have the same length; got {len(one)} and {len(other)}")


def _flags(values: ArrayLike, name: str) -> NDArray[np.bool_]:
    array = np.asarray(values)
    if array.dtype.kind == "b":
        return array.ravel()
    numbers = check_numbers(array, name)
    unknown = ~np.isin(numbers, (0.0, 1.0))
    if unknown.any():
        raise ValueError(
            f"{name} must be True or 1 for an event and False or 0 for a censored row; got "
            f"{numbers[unknown][0]:g} at {rows_shown(unknown)}: several kinds of events are for SpectralCompetingRisks"
        )
    return np.asarray(numbers == 1)


def _times(values: ArrayLike, name: str, missing: bool = False) -> Float64Array:
    numbers = np.asarray(check_numbers(values, name), np.float64)
    if numbers.ndim != 1:
        raise ValueError(f"{name} must have one number per row; got shape {numbers.shape}")
    if not missing:
        _refuse(np.isnan(numbers), numbers, name, "be known", "drop these rows, or impute them")
    return numbers


def _refuse(bad: NDArray[np.bool_], values: Float64Array, name: str, rule: str, advice: str) -> None:
    if bad.any():
        raise ValueError(f"{name} must {rule}; got {values[int(np.argmax(bad))]:g} at {rows_shown(bad)}: {advice}")
