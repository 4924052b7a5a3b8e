"""Input checks with one wording: what was expected, what came, and the way out."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from lambdak._types import FloatArray

Scalar = TypeVar("Scalar", bound=np.generic)

MAX_DIM = 512


def check_dim(dim: int) -> int:
    """Return ``dim`` as an int in [1, 512], also of tridiagonal matrices."""
    if isinstance(dim, int) and dim > MAX_DIM:
        raise ValueError(f"dim must be in [1, {MAX_DIM + 1}), for tridiagonal matrices as for dense ones; got {dim}")
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


def check_index(index: int | Sequence[int], dim: int, name: str = "index") -> tuple[list[int], bool]:
    """Return the eigenvalue indices as a list, and whether a single int was given."""
    # PyTorch's compiler cannot look into np.ndim, so that plain sequences must not come to it.
    if isinstance(index, int) or (not isinstance(index, list | tuple | range) and np.ndim(index) == 0):
        return [check_int(index, name, 0, dim)], True  # type: ignore[arg-type]
    indices = [check_int(item, name, 0, dim) for item in index]
    if not indices:
        raise ValueError(f"{name} must hold at least one eigenvalue index; got an empty sequence")
    if any(low >= high for low, high in pairwise(indices)):
        raise ValueError(f"{name} must be increasing; got {indices}")
    return indices, False


def check_unmasked(values: object, name: str) -> None:
    """Refuse a masked array that hides an entry: NumPy would compute with the number below the mask."""
    if isinstance(values, np.ma.MaskedArray) and len(hidden := np.argwhere(np.ma.getmaskarray(values))):
        where = f"row {hidden[0, 0]}" if values.ndim == 1 else f"{name}{hidden[0].tolist()}"
        raise ValueError(
            f"{name} must not be masked; got a masked entry at {where}: drop such rows, or fill them with "
            f"{name}.filled(...)"
        )


def check_floats(array: ArrayLike, name: str, dtype: np.dtype[np.floating] | None = None) -> FloatArray:
    """Return ``array`` as a native float32 or float64 array (of the given ``dtype``), never rounding it."""
    check_unmasked(array, name)
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
    check_unmasked(out, name)
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


def check_numbers(values: ArrayLike, name: str, purpose: str = "") -> NDArray[np.float64]:
    """Return ``values`` as float64; what is no number, or a Python number beyond its range, is named."""
    check_unmasked(values, name)
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "biuf" and not all(_is_number(each) for _, each in _numbered(given)):
            raise ValueError  # NumPy would parse strings, and read dates and complex numbers as some number
        with np.errstate(over="ignore"):
            numbers = np.asarray(given, np.float64)
        large = bool(np.isinf(numbers).any())
    except OverflowError:
        large = True
    except (TypeError, ValueError):
        row, value = next(((i, each) for i, each in _numbered(values) if not _is_number(each)), (0, values))
        raise ValueError(
            f"{name} must hold numbers{purpose}; got {value!r} at row {row}: convert it to numbers, or drop such rows"
        ) from None
    for row, value in _numbered(values) if large else ():
        if not fits_float(value):
            raise ValueError(
                f"{name} must fit into float64, which ends at 1.8e+308{purpose}; "
                f"got {shown_large(value)} at row {row}: use larger units"
            )
    return numbers


def _numbered(values: ArrayLike) -> list[tuple[int, Any]]:
    array = values if isinstance(values, np.ndarray) else np.asarray(values, object)
    return list(enumerate(array.ravel() if array.dtype.kind in "Mm" else array.ravel().tolist()))  # dates stay dates


def _is_number(value: Any) -> bool:
    """Whether float64 has a value like it; None stands for NaN."""
    try:
        float(value or 0.0)
    except (TypeError, ValueError):
        return False
    except OverflowError:
        return True
    return not isinstance(value, str | bytes | complex | np.datetime64 | np.timedelta64)


def fits_float(value: Any) -> bool:
    """Whether float(value) is finite, or the value itself is not; what is no number does."""
    try:
        return not math.isinf(float(value)) or bool(value == float(value))
    except OverflowError:
        return False
    except (TypeError, ValueError):
        return True


def shown_large(value: Any) -> str:
    """A number beyond the range of float64 in a few digits: all of them may be thousands.

    >>> shown_large(-25 * 10**399)
    '-2.5e+400'
    """
    exponent, digits = divmod(math.log10(abs(int(value))), 1)
    return f"{'-' if value < 0 else ''}{10**digits:.4g}e+{int(exponent)}"


def check_per_row(values: NDArray[Scalar], rows: int, name: str, suffix: str = "") -> NDArray[Scalar]:
    """Return ``values`` if there is one for each row; ``suffix`` is that of the name of the table, as in ``X_val``."""
    if values.shape != (rows,):
        shape = str(len(values)) if values.ndim == 1 else f"shape {values.shape}"
        entries = "1 entry" if rows == 1 else f"{rows} entries"
        raise ValueError(f"{name} must have {entries}, one per row of X{suffix}; got {shape}")
    return values


def check_weight(sample_weight: ArrayLike, rows: int, suffix: str = "") -> NDArray[np.float64]:
    """Return weights (rows,) that are finite, not negative and not all zero; a number is the weight of every row.

    ``suffix`` is what the names of the weights and of their table end with, as in ``X_val``, for errors.
    """
    name = f"sample_weight{suffix}"
    weight = check_numbers(sample_weight, name)
    weight = check_per_row(np.full(rows, weight) if weight.ndim == 0 else weight, rows, name, suffix)
    for wrong, wanted in ((~np.isfinite(weight), "be finite"), (weight < 0, "not be negative")):
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(f"{name} must {wanted}; got {weight[row]} at row {row}")
    if not weight.any():
        raise ValueError(f"{name} must have a positive entry; got zeros only: every row would be ignored")
    return weight


def freeze_arrays(instance: object) -> None:
    """Make the arrays of an object immutable; NumPy forgets that in a pickle or a copy, so they do it again."""
    for name, value in vars(instance).items():
        if isinstance(value, np.ndarray):
            object.__setattr__(instance, name, frozen(value))


def frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """An array of the same shape and numbers that nobody can write to, nor make writable again.

    It is a view of bytes, which Python never changes; NumPy refuses to set its flag ``writeable``.

    >>> frozen(np.array([1.0, 2.0])).setflags(write=True)
    Traceback (most recent call last):
    ValueError: cannot set WRITEABLE flag to True of this array
    """
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    kept = isinstance(owner, bytes) or (isinstance(owner, memoryview) and owner.readonly)
    if kept and not array.flags.writeable:  # an unpickled array writes to its bytes
        return array
    if array.dtype.hasobject:  # which bytes cannot hold
        return np.asarray(array.copy().data.toreadonly())
    return np.ndarray(array.shape, array.dtype, array.tobytes())


def check_non_negative(value: float, name: str) -> float:
    """Return ``value`` if it is a number that is not negative."""
    if not (isinstance(value, int | float | np.integer | np.floating) and value >= 0):
        raise ValueError(f"{name} must be at least 0; got {value!r}")
    return value
