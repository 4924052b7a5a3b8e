"""Input checks with one wording: what was expected, what came, and the way out."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

FloatArray = NDArray[np.floating]

MAX_DIM = 512


def check_dim(dim: int) -> int:
    """Return ``dim`` as an int in [1, 512]."""
    return check_int(dim, "dim", 1, MAX_DIM + 1)


def check_int(value: int, name: str, low: int, high: int) -> int:
    """Return ``value`` as an int in [low, high)."""
    try:
        if isinstance(value, (bool, np.bool_)):  # a mask is not a list of positions
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an int; got {value!r}") from None
    if not low <= number < high:
        raise ValueError(f"{name} must be in [{low}, {high}); got {number}")
    return number


def check_index(index: int | Sequence[int], dim: int) -> tuple[list[int], bool]:
    """Return the eigenvalue indices as a list, and whether a single int was given."""
    if isinstance(index, int) or np.ndim(index) == 0:
        return [check_int(index, "index", 0, dim)], True  # type: ignore[arg-type]
    indices = [check_int(item, "index", 0, dim) for item in index]
    if not indices:
        raise ValueError("index must hold at least one eigenvalue index; got an empty sequence")
    if any(low >= high for low, high in pairwise(indices)):
        raise ValueError(f"index must be increasing; got {indices}")
    return indices, False


def check_floats(array: ArrayLike, name: str, dtype: np.dtype[np.floating] | None = None) -> FloatArray:
    """Return ``array`` as a native float32 or float64 array (of the given ``dtype``), never rounding it."""
    result = np.asarray(array)
    wanted = "float32 or float64" if dtype is None else str(dtype)
    allowed = (np.float32, np.float64) if dtype is None else (dtype,)
    if result.dtype not in allowed:
        raise TypeError(f"{name} must be {wanted}; got {result.dtype}: convert it with np.asarray({name}, np.float64)")
    return result


def check_width(array: FloatArray, name: str, width: int, reason: str) -> FloatArray:
    """Return ``array`` if its last axis has ``width`` entries."""
    if array.ndim == 0 or array.shape[-1] != width:
        raise ValueError(f"{name} must have {width} entries on its last axis ({reason}); got shape {array.shape}")
    return array


def check_shape(array: FloatArray, name: str, shape: tuple[int, ...]) -> FloatArray:
    """Return ``array`` if it has exactly this shape."""
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}; got {array.shape}")
    return array


def check_out(out: object, name: str, shape: tuple[int, ...], dtype: np.dtype[np.floating]) -> FloatArray:
    """Return a writable output array of this shape and dtype, new if ``out`` is None."""
    if out is None:
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray):
        raise TypeError(f"{name} must be a NumPy array; got {type(out).__name__}")
    if out.dtype != dtype:
        raise TypeError(f"{name} must be {dtype}; got {out.dtype}")
    check_shape(out, name, shape)
    if not out.flags.writeable:
        raise ValueError(f"{name} must be writable; got a read-only array")
    return out


def check_finite(array: FloatArray, name: str) -> FloatArray:
    """Return ``array`` if it holds neither nan nor infinity."""
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise ValueError(f"{name} must be finite; got {array[where]} at {name}{list(where)}")
    return array


def check_dtype(dtype: DTypeLike) -> np.dtype[np.floating]:
    """Return ``dtype`` as the NumPy dtype float32 or float64."""
    result: np.dtype[Any] = np.dtype(dtype)
    if result not in (np.float32, np.float64):
        raise TypeError(f"dtype must be float32 or float64; got {result}")
    return result


def check_positive(value: float, name: str) -> float:
    """Return ``value`` as a finite float above zero."""
    number = float(value)
    if not 0.0 < number < np.inf:
        raise ValueError(f"{name} must be positive and finite; got {number}")
    return number


def check_weight(sample_weight: ArrayLike, rows: int) -> NDArray[np.float64]:
    """Return weights (rows,) that are finite, not negative and not all zero; a number is the weight of every row."""
    weight = np.asarray(sample_weight, np.float64)
    weight = np.full(rows, weight) if weight.ndim == 0 else weight
    if weight.shape != (rows,):
        raise ValueError(f"sample_weight must have shape ({rows},), one entry per row of X; got {weight.shape}")
    for wrong, wanted in ((~np.isfinite(weight), "be finite"), (weight < 0, "not be negative")):
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(f"sample_weight must {wanted}; got {weight[row]} at row {row}")
    if not weight.any():
        raise ValueError("sample_weight must have a positive entry; got zeros only: every row would be ignored")
    return weight


def freeze_arrays(instance: object) -> None:
    """Make the arrays of an object read-only; NumPy forgets that in a pickle or a copy, so they do it again."""
    for value in vars(instance).values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False


def check_tol(tol: float) -> float:
    """Return ``tol`` if it is a number that is not negative."""
    if not (isinstance(tol, int | float | np.integer | np.floating) and tol >= 0):
        raise ValueError(f"tol must be at least 0; got {tol!r}")
    return tol
