"""JSON, strictly: no constants beyond the standard, no field twice, no depth that could exhaust the stack."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any, NoReturn

import numpy as np

from lambdak.store._fields import damaged, shown

MOST_DEPTH = 32

# Possessive, and content with an open end: one pass over any text, also an invalid one.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?+', re.DOTALL)
_TURNS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # one level down, or up: -1 as a byte
_NO_BRACKETS = bytes(set(range(256)) - set(b"[{]}"))


def parse(text: str, what: str, most: float = math.inf, most_depth: int = MOST_DEPTH) -> Any:
    """The value of a JSON text that holds at most ``most`` values, at most ``most_depth`` of them in one another."""
    depth, values = measure(text)
    if depth > most_depth:
        raise damaged(f"{what} is nested deeper than {most_depth} levels")
    if values > most:
        raise damaged(f"{what} holds {values:,} values, of which at most {most:,} are read")
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise damaged(f"{what} is not JSON ({error})") from None
    except _NotStrictError as error:
        raise damaged(f"{what} {error}") from None
    except ValueError:  # of Python, for an int of thousands of digits
        raise damaged(f"{what} holds a number with too many digits") from None


def measure(text: str) -> tuple[int, int]:
    """How deep a text is nested and about how many values it holds, without parsing it."""
    bare = _STRING.sub("", text).encode("utf-8", "replace")
    brackets = bare.translate(_TURNS, delete=_NO_BRACKETS)
    depth = np.cumsum(np.frombuffer(brackets, np.int8), dtype=np.int32).max(initial=0)
    return int(depth), bare.count(b",") + bare.count(b"[") + bare.count(b"{")


def canonical(value: Any) -> str:
    """The shortest text of a value, always the same for the same value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def layout(value: Any, indent: str = "") -> str:
    """A text to read and to compare line by line: what holds no list or object is one line.

    >>> print(layout({"knots": [0.5, 1.0], "dim": 3}))
    {
     "dim": 3,
     "knots": [0.5, 1.0]
    }
    """
    deeper = indent + " "
    if isinstance(value, dict) and value:
        lines = [f"{deeper}{json.dumps(key)}: {layout(item, deeper)}" for key, item in sorted(value.items())]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        return "[\n" + ",\n".join(deeper + layout(item, deeper) for item in value) + f"\n{indent}]"
    return json.dumps(value, allow_nan=False)


class _NotStrictError(Exception):
    """JSON that Python would take, but the standard does not, or that says two things at once."""


def _refuse_constant(name: str) -> NoReturn:
    raise _NotStrictError(f"holds {name}, which JSON does not know")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise _NotStrictError(f"holds the field {shown(twice)} twice")
    return result
