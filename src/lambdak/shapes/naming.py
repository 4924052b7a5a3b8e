"""Columns named by name or position, and the older spellings: monotone signs and caps on the influence of columns."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lambdak.table.close_names import asked
from lambdak.table.column_contract import Column


def monotone_signs(monotonic_cst: Any, columns: Sequence[Column]) -> dict[int, int]:
    """Column position → +1 or -1, from any of the spellings of ``monotonic_cst``."""
    names = [column.name for column in columns]
    if isinstance(monotonic_cst, str):
        if monotonic_cst not in ("increasing", "decreasing"):
            raise ValueError(
                f"monotonic_cst must be 'increasing', 'decreasing', a dict or an array; got {monotonic_cst!r}"
            )
        sign = 1 if monotonic_cst == "increasing" else -1
        monotonic_cst = [sign if column.is_number else 0 for column in columns]
    signs = _by_position(monotonic_cst, names, "monotonic_cst", 0)
    for column, sign in zip(columns, signs, strict=True):
        if np.ndim(sign) or sign not in (-1, 0, 1):
            raise ValueError(f"monotonic_cst of column {column.name!r} must be -1, 0 or 1; got {sign!r}")
        if sign and not column.is_number and not column.order:
            raise ValueError(
                f"monotonic_cst of column {column.name!r} must be 0, because it is a category; got {sign}: give it as "
                "numbers if its levels are ordered"
            )
    return {i: int(sign) for i, sign in enumerate(signs) if sign}


def influence_caps(max_influence: Any, columns: Sequence[Column]) -> dict[int, float]:
    """Column position → cap on its proven influence, from one number for all, a dict or an array."""
    names = [column.name for column in columns]
    if isinstance(max_influence, Mapping):
        max_influence = {key: cap for key, cap in max_influence.items() if not isinstance(key, tuple)}
    if max_influence is not None and _axes(max_influence) == 0 and not isinstance(max_influence, Mapping):
        max_influence = [max_influence] * len(names)
    caps = _by_position(max_influence, names, "max_influence", np.inf)
    for name, cap in zip(names, caps, strict=True):
        if not is_cap(cap):
            raise ValueError(
                f"max_influence of column {name!r} must be a number that is not negative; got {cap!r}: 0 takes all "
                "influence from it"
            )
    return {i: float(cap) for i, cap in enumerate(caps) if cap < np.inf}


def influence_groups(max_influence: Any, columns: Sequence[Column]) -> dict[tuple[int, ...], float]:
    """Positions of columns → cap on what they can do together, from the tuples among the keys of a dict."""
    given = max_influence if isinstance(max_influence, Mapping) else {}
    found: dict[tuple[int, ...], float] = {}
    for key in (key for key in given if isinstance(key, tuple)):
        named = _by_position(dict.fromkeys(key, 1.0), [column.name for column in columns], "max_influence", 0.0)
        group = tuple(i for i, own in enumerate(named) if own)
        if len(group) < 2 or len(group) < len(key) or group in found:
            raise ValueError(f"max_influence of a group must name two columns or more, each group once; got {key!r}")
        if not is_cap(given[key]):
            raise ValueError(
                f"max_influence of the columns {key!r} must be a number that is not negative; got {given[key]!r}"
            )
        found[group] = float(given[key])
    return {group: cap for group, cap in found.items() if cap < np.inf}


def is_cap(cap: Any) -> bool:
    """Whether it is a number that is not negative and that a float can hold, or infinity."""
    if isinstance(cap, int):
        return not isinstance(cap, bool) and 0 <= cap <= sys.float_info.max
    return isinstance(cap, float | np.integer | np.floating) and bool(cap >= 0)


def _by_position(requested: Any, names: Sequence[str], what: str, default: float) -> Sequence[Any]:
    if requested is None:
        return [default] * len(names)
    if isinstance(requested, Mapping):
        positions = {name: i for i, name in enumerate(names)}
        found = {key: position_of(key, positions) for key in requested}
        unknown = [key for key, position in found.items() if position is None]
        if unknown:
            raise ValueError(unknown_columns(what, unknown, names))
        entries = {position: requested[key] for key, position in found.items()}
        if len(entries) < len(requested):
            raise ValueError(f"{what} must name a column once, by name or by position; got {list(requested)}")
        return [entries.get(i, default) for i in range(len(names))]
    if _axes(requested) != 1:
        raise ValueError(f"{what} must be a dict or an array with one entry per column; got {requested!r}")
    if len(requested) != len(names):
        raise ValueError(f"{what} must have {len(names)} entries, one per column; got {len(requested)}")
    return list(requested)


def _axes(requested: Any) -> int:
    """How deep a setting is nested; -1 if that differs from entry to entry."""
    try:
        return np.ndim(requested)
    except ValueError:
        return -1


def unknown_columns(what: str, unknown: Sequence[Any], names: Sequence[str]) -> str:
    """Return the message for columns that a table does not have."""
    return f"{what} names columns that X does not have: {list(unknown)}; X has {list(names)}{asked(unknown[0], names)}"


def position_of(key: Any, positions: Mapping[str, int]) -> int | None:
    """The position of the column that a name, or a whole number that is no column's name, stands for, if any."""
    if key in positions:
        return positions[key]
    if isinstance(key, bool) or not isinstance(key, int | np.integer) or str(key) in positions:
        return None
    return int(key) if 0 <= key < len(positions) else None


def check_positions(requested: Any, labels: Sequence[object], what: str) -> None:
    """Refuse a whole number that is the label of one column and the position of another."""
    if isinstance(requested, Mapping):
        named = {own for key in requested for own in (key, *(key if isinstance(key, tuple) else ()))}
        for position, label in enumerate(labels):
            if label in named and not isinstance(label, str) and label != position:
                raise ValueError(
                    f"{what} must name columns by position where their labels are not text; got {label!r}, the label "
                    f"of the column at {position}: use X.columns = X.columns.astype(str), and text for names"
                )
