"""What users give of times to an event, in any of its spellings, and the table without the columns that hold it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import check_numbers
from lambdak._types import Float64Array
from lambdak.table.close_names import asked, shown_names
from lambdak.table.event_times import event_lines, interval_lines, structured
from lambdak.table.frames import column_names, column_values, without
from lambdak.table.rows import rows_shown

_SPELLINGS = (
    "give y as a structured array (event, time), a pair (time, event) or a table of two columns, or give time= and "
    "event=, or lower= and upper="
)


_MOST_CAUSES = 1000  # more are times or identifiers


class Observed(NamedTuple):
    """A table, and a line for each row that says what was observed of it: see :mod:`lambdak.table.event_times`."""

    X: Any
    lines: Float64Array


def observed(X: Any, y: Any, given: Mapping[str, Any], suffix: str = "") -> Observed:
    """Return the table without the columns that ``given`` names, and the lines; errors call y by this suffix."""
    X, values = _taken(X, {name: value for name, value in given.items() if value is not None})
    name = f"y{suffix}"
    beside = {key for key in values if key != "entry"}
    if y is not None:
        if beside:
            raise ValueError(f"{name} and {', '.join(sorted(beside))} must not both be given: {_SPELLINGS}")
        time, event = _pair(y, name)
        return Observed(X, event_lines(event, time, values.get("entry"), name))
    if beside == {"time", "event"}:
        return Observed(X, event_lines(values["event"], values["time"], values.get("entry"), name))
    if beside == {"time"}:
        return Observed(X, event_lines(np.ones(len(values["time"]), bool), values["time"], values.get("entry"), name))
    if beside == {"lower", "upper"}:
        return Observed(X, interval_lines(values["lower"], values["upper"], values.get("entry"), name))
    got = (
        f"got {', '.join(sorted(beside))} alone"
        if beside
        else f"requires {name} to be passed, but the target {name} is None"
    )
    raise ValueError(f"{name} must say when events were; {got}: {_SPELLINGS}")


class ObservedCauses(NamedTuple):
    """A table, times, causes (0: censored) and entries of its rows, and the names of the columns that held them."""

    X: Any
    time: Float64Array
    cause: NDArray[np.int64]
    entry: Float64Array | None
    names: frozenset[str]


def causes_of(X: Any, y: Any, given: Mapping[str, Any]) -> ObservedCauses:
    """Return times and causes, in any of the spellings of :func:`observed` but intervals."""
    X, values = _taken(X, {name: value for name, value in given.items() if value is not None})
    if y is None and not {"time", "event"} <= values.keys():
        raise ValueError(f"y must say when events were, and of which cause; got nothing: {_SPELLINGS}")
    time, event = (values["time"], values["event"]) if y is None else _pair(y, "y")
    cause = check_numbers(event, "event")
    whole = (cause >= 0) & (cause == np.floor(cause)) & (cause < _MOST_CAUSES)
    if not whole.all():
        raise ValueError(
            f"event must be 0 for censored rows, and 1, 2, … for causes; got {cause[~whole][0]:g} at "
            f"{rows_shown(~whole)}: number the causes"
        )
    lines = event_lines(cause > 0, time, values.get("entry"))
    entry = lines[:, 1] if "entry" in values else None
    names = frozenset(value for value in given.values() if isinstance(value, str))
    return ObservedCauses(X, lines[:, 3], cause.astype(np.int64), entry, names)


def without_columns(X: Any, names: Collection[str]) -> Any:
    """Return the table without these columns, where it has them."""
    return without(X, set(names).intersection(column_names(X))) if names else X


def _pair(y: Any, name: str) -> tuple[Any, Any]:
    """Time and event."""
    fields = structured(y)
    if fields is not None:
        event, time = fields
        return time, event
    if isinstance(y, tuple | list) and len(y) == 2 and np.ndim(y[0]) == 1:
        return y[0], y[1]
    columns = column_names(y)
    if columns:
        if len(columns) != 2:
            raise ValueError(f"{name} must have two columns, the time and the event; got {shown_names(columns)}")
        first, second = (column_values(y, column) for column in columns)
        return (second, first) if first.dtype.kind == "b" else (first, second)
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 2 and array.dtype.kind in "biuf":
        return array[:, 0], array[:, 1]
    raise ValueError(f"{name} must hold times and events; got shape {array.shape}: {_SPELLINGS}")


def _taken(X: Any, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return X without the columns that are named, and all values as arrays."""
    names = {key: value for key, value in given.items() if isinstance(value, str)}
    columns = column_names(X) if names else []
    for key, name in names.items():
        if name not in columns:
            raise ValueError(f"{key}={name!r} must name a column of X, {shown_names(columns)}{asked(name, columns)}")
    values = {key: column_values(X, names[key]) if key in names else _plain(value) for key, value in given.items()}
    return (without(X, set(names.values())), values) if names else (X, values)


def _plain(values: Any) -> NDArray[Any]:
    """Values as an array; booleans among objects stay booleans, and what is missing is NaN."""
    array = np.asarray(values)
    if array.dtype.kind != "O":
        return array
    known = [value is not None and value == value for value in array.tolist()]
    if all(known) and all(isinstance(value, bool | np.bool_) for value in array.tolist()):
        return array.astype(bool)
    return np.array([value if seen else np.nan for value, seen in zip(array.tolist(), known, strict=True)])
