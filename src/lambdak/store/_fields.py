"""What is read from a file is checked field by field: each check names the field, what was expected and what came."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection
from typing import Any, TypeGuard

MOST_SHOWN = 60  # characters of a strange value
_MOST_SAID = 300  # characters of a reason


class ModelFileError(ValueError):
    """A file or text does not hold a model that this version can read; the message names what is wrong."""


def damaged(what: str) -> ModelFileError:
    """The error of a file that was cut or changed, or is invalid."""
    return ModelFileError(f"{what}: get it again from where it was saved, or save the model again")


def invalid(error: Exception) -> ModelFileError:
    """The error of a file whose settings no estimator would accept, for the reason that the estimator gives."""
    reason = str(error)
    return damaged(reason if len(reason) <= _MOST_SAID else reason[:_MOST_SAID] + "…")


def shown(value: object) -> str:
    """A value as it appears in a message, never long: of a huge int or a nested list only the type is shown."""
    if value is None or isinstance(value, bool | float):
        return repr(value)
    if isinstance(value, int):
        return repr(value) if abs(value) < 10**MOST_SHOWN else "an int of many digits"
    if isinstance(value, str):
        return repr(value if len(value) <= MOST_SHOWN else value[:MOST_SHOWN] + "…")
    return f"a {type(value).__name__}"


def fields(value: object, name: str, wanted: Collection[str]) -> dict[str, Any]:
    """Return an object that has exactly these fields."""
    if not isinstance(value, dict):
        raise damaged(f"{name} must be an object; got {shown(value)}")
    for missing in sorted(set(wanted) - set(value)):
        raise damaged(f"{name} must have the field {missing!r}")
    for foreign in sorted(set(value) - set(wanted)):
        raise damaged(f"{name} has an unknown field {shown(foreign)}")
    return value


def items(value: object, name: str, least: int = 0, most: int | None = None) -> list[Any]:
    """Return a list of ``least`` to ``most`` items."""
    if not isinstance(value, list):
        raise damaged(f"{name} must be a list; got {shown(value)}")
    if len(value) < least or (most is not None and len(value) > most):
        raise damaged(f"{name} must have {least} to {most} items; got {len(value)}")
    return value


def text(value: object, name: str) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise damaged(f"{name} must be a string; got {shown(value)}")
    return value


def flag(value: object, name: str) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise damaged(f"{name} must be true or false; got {shown(value)}")
    return value


def whole(value: object, name: str, low: int, high: int) -> int:
    """Return an int in [low, high)."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value < high:
        raise damaged(f"{name} must be an int in [{low}, {high}); got {shown(value)}")
    return value


def number(value: object, name: str, largest: float = math.inf) -> float:
    """Return a finite number as a float, at most this large."""
    if not is_number(value) or not abs(value) <= largest:
        raise damaged(f"{name} must be a finite number; got {shown(value)}")
    return float(value)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max
