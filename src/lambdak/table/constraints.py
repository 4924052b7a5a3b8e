"""What a user asks of single columns, by name or position: monotone signs and caps on their influence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lambdak.table.columns import Column


def monotone_signs(monotonic_cst: Any, columns: Sequence[Column]) -> dict[int, int]:
    """Column position → +1 or -1, from any of the spellings of ``monotonic_cst``."""
    names = [column.name for column in columns]
    if isinstance(monotonic_cst, str):
        if monotonic_cst not in ("increasing", "decreasing"):
            raise ValueError(
                f"monotonic_cst must be 'increasing', 'decreasing', a dict or an array; got {monotonic_cst!r}"
            )
        sign = 1 if monotonic_cst == "increasing" else -1
        monotonic_cst = [0 if column.kind == "category" else sign for column in columns]
    signs = _by_position(monotonic_cst, names, "monotonic_cst", 0)
    for column, sign in zip(columns, signs, strict=True):
        if sign not in (-1, 0, 1):
            raise ValueError(f"monotonic_cst of column {column.name!r} must be -1, 0 or 1; got {sign!r}")
        if sign and column.kind == "category":
            raise ValueError(
                f"monotonic_cst of column {column.name!r} must be 0, because it is a category; got {sign}: give it as "
                "numbers if its levels are ordered"
            )
    return {i: int(sign) for i, sign in enumerate(signs) if sign}


def influence_caps(max_influence: Any, columns: Sequence[Column]) -> dict[int, float]:
    """Column position → cap on its proven influence, from one number for all, a dict or an array."""
    names = [column.name for column in columns]
    if max_influence is not None and np.ndim(max_influence) == 0 and not isinstance(max_influence, Mapping):
        max_influence = [max_influence] * len(names)
    caps = _by_position(max_influence, names, "max_influence", np.inf)
    for name, cap in zip(names, caps, strict=True):
        if isinstance(cap, bool) or not (isinstance(cap, int | float | np.number) and cap > 0):
            raise ValueError(
                f"max_influence of column {name!r} must be a positive number; got {cap!r}: drop the column if it shall "
                "have no influence"
            )
    return {i: float(cap) for i, cap in enumerate(caps) if np.isfinite(cap)}


def _by_position(wish: Any, names: Sequence[str], what: str, default: float) -> Sequence[Any]:
    if wish is None:
        return [default] * len(names)
    if isinstance(wish, Mapping):
        places = {name: i for i, name in enumerate(names)}
        found = {key: places.get(key, _position(key, places)) for key in wish}
        unknown = [key for key, place in found.items() if place is None]
        if unknown:
            raise ValueError(f"{what} names columns that X does not have: {unknown}; X has {list(names)}")
        asked = {place: wish[key] for key, place in found.items()}
        if len(asked) < len(wish):
            raise ValueError(f"{what} must name a column once, by name or by position; got {list(wish)}")
        return [asked.get(i, default) for i in range(len(names))]
    if np.ndim(wish) != 1:
        raise ValueError(f"{what} must be a dict or an array with one entry per column; got {wish!r}")
    if len(wish) != len(names):
        raise ValueError(f"{what} must have {len(names)} entries, one per column; got {len(wish)}")
    return list(wish)


def _position(key: Any, places: Mapping[str, int]) -> int | None:
    """A whole number as the position that it is, unless a column is called so."""
    if isinstance(key, bool) or not isinstance(key, int | np.integer) or str(key) in places:
        return None
    return int(key) if 0 <= key < len(places) else None


def check_positions(wish: Any, labels: Sequence[object], what: str) -> None:
    """Refuse a whole number that is the label of one column and the position of another."""
    if isinstance(wish, Mapping):
        for place, label in enumerate(labels):
            if label in wish and not isinstance(label, str) and label != place:
                raise ValueError(
                    f"{what} must name columns by position where their labels are not text; got {label!r}, the label "
                    f"of the column at {place}: use X.columns = X.columns.astype(str), and text for names"
                )
