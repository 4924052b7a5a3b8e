"""What users give as parameters, levels and labels ⇄ JSON that keeps the type: tuples, keys, arrays, infinity, OTHER.

None, booleans, ints, finite floats, strings and lists are themselves. All else is an object with one field:
``{"float": "inf"}``, ``{"tuple": [...]}``, ``{"set": [...]}``, ``{"dict": [[key, value], ...]}``,
``{"array": {"dtype", "values"}}``, ``{"shape": [name, fields]}`` and ``{"level": "other"}``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak.shapes.contract import Shape
from lambdak.shapes.registry import SHAPES
from lambdak.store._fields import damaged, fields, is_number, items, shown, text
from lambdak.table.category_levels import OTHER

_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_DTYPE = re.compile(r"b1|[iu][1248]|f[248]|U[1-9][0-9]{0,5}|O")
_PLAIN_KINDS: dict[str, tuple[type, ...]] = {"b": (bool,), "i": (int,), "u": (int,), "f": (float,), "U": (str,)}
_MOST_TEXT_BYTES = 1 << 26  # of an array of strings, which NumPy makes as wide as the widest one


def encode(value: Any, name: str) -> Any:
    """The JSON value of ``value``; ``name`` says in an error what it is."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if value is OTHER:
        return {"level": "other"}
    if isinstance(value, Shape):
        return {"shape": [type(value).__name__, encode(value.saved(), name)]}
    if isinstance(value, list):
        return [encode(item, name) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(item, name) for item in value]}
    if isinstance(value, Set):
        return {"set": sorted((encode(item, name) for item in value), key=repr)}  # whatever order a set has
    if isinstance(value, Mapping):
        return {"dict": [[encode(key, name), encode(item, name)] for key, item in value.items()]}
    if hasattr(value, "__array__"):
        return _encode_array(np.asarray(value), name)
    raise TypeError(
        f"{name} must be made of None, booleans, numbers, strings, lists, tuples, sets, dicts and arrays to be saved; "
        f"got {type(value).__name__}"
    )


def _encode_array(array: NDArray[Any], name: str) -> Any:
    if array.ndim == 0:
        return encode(array.item(), name)
    kind = array.dtype.kind
    size = {"O": "", "U": array.dtype.itemsize // 4}.get(kind, array.dtype.itemsize)
    if array.ndim > 1 or not _DTYPE.fullmatch(f"{kind}{size}"):
        raise TypeError(f"{name} must be numbers, booleans or strings in one row to be saved; got {array.dtype} array")
    return {"array": {"dtype": f"{kind}{size}", "values": [encode(item, name) for item in array.tolist()]}}


def decode(value: Any, name: str) -> Any:
    """The value behind a JSON value."""
    if isinstance(value, list):
        return [decode(item, name) for item in value]
    if not isinstance(value, dict):
        return value
    tag = next(iter(value), "")
    if len(value) != 1 or tag not in _DECODERS:
        raise damaged(f"{name} must be a value; got an object with the fields {shown(', '.join(value))}")
    return _DECODERS[tag](value[tag], name)


def decode_array(value: Any, name: str) -> NDArray[Any]:
    """The array (n,) behind a JSON value."""
    result = decode(value, name)
    if not isinstance(result, np.ndarray):
        raise damaged(f"{name} must be an array; got {shown(value)}")
    return result


def _decode_float(value: Any, name: str) -> float:
    if text(value, name) not in _NOT_FINITE:
        raise damaged(f"{name} must be one of {sorted(_NOT_FINITE)}; got {shown(value)}")
    return _NOT_FINITE[value]


def _decode_tuple(value: Any, name: str) -> tuple[Any, ...]:
    return tuple(decode(item, name) for item in items(value, name))


def _decode_set(value: Any, name: str) -> frozenset[Any]:
    members = [decode(item, name) for item in items(value, name)]
    try:
        result = frozenset(members)
    except TypeError:
        raise damaged(f"{name} must have a set of strings, numbers, tuples or sets") from None
    if len(result) < len(members):
        raise damaged(f"{name} has an entry twice")
    return result


def _decode_dict(value: Any, name: str) -> dict[Any, Any]:
    pairs = [[decode(part, name) for part in items(pair, name, 2, 2)] for pair in items(value, name)]
    try:
        result = dict(pairs)
    except TypeError:
        raise damaged(f"{name} must have keys that are strings or numbers") from None
    if len(result) < len(pairs):
        raise damaged(f"{name} has a key twice")
    return result


def _decode_shape(value: Any, name: str) -> Shape:
    kind, saved = items(value, name, 2, 2)
    if not isinstance(kind, str) or kind not in SHAPES:
        raise damaged(f"{name} must hold shapes that this lambdak knows: {sorted(SHAPES)}; got {shown(kind)}")
    try:
        return SHAPES[kind].restored(decode(saved, name))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise damaged(f"{name} has a {kind} that cannot be: {error}") from None


def _decode_level(value: Any, name: str) -> Any:
    if value != "other":
        raise damaged(f"{name} must be the level 'other'; got {shown(value)}")
    return OTHER


def _decode_array(value: Any, name: str) -> NDArray[Any]:
    parts = fields(value, name, ("dtype", "values"))
    kind, values = text(parts["dtype"], name), [decode(item, name) for item in items(parts["values"], name)]
    if not _DTYPE.fullmatch(kind):
        raise damaged(f"{name} has an unknown dtype {shown(kind)}")
    plain = _PLAIN_KINDS.get(kind[0], (bool, int, float, str, type(None)))
    if not all(type(item) in plain for item in values):
        raise damaged(f"{name} must hold what its dtype {kind!r} says")
    if kind[0] == "U" and 4 * int(kind[1:]) * len(values) > _MOST_TEXT_BYTES:
        raise damaged(f"{name} is too large for strings of dtype {kind!r}")
    return _as_array(values, kind, name)


def _as_array(values: list[Any], kind: str, name: str) -> NDArray[Any]:
    try:
        with np.errstate(over="ignore"):
            array: NDArray[Any] = np.array(values, np.dtype(kind))
    except OverflowError:
        array = np.empty(0)
    if array.shape != (len(values),) or not all(map(_same, array.tolist(), values)):
        raise damaged(f"{name} holds values that do not fit into its dtype {kind!r}")
    return array


def _same(kept: Any, value: Any) -> bool:
    """Whether a value is what an array made of it; one NaN is as good as another."""
    return bool(kept == value or (kept != kept and value != value))


_DECODERS = {
    "float": _decode_float,
    "tuple": _decode_tuple,
    "set": _decode_set,
    "dict": _decode_dict,
    "level": _decode_level,
    "shape": _decode_shape,
    "array": _decode_array,
}


def is_level(value: object) -> bool:
    """Whether a value can be a level of a category."""
    return value is None or value is OTHER or isinstance(value, int | str) or is_number(value)
