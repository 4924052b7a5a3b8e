"""The reference of the kernel's records, in plain NumPy, with the kernel's signatures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak._types import FloatArray
from lambdak.eigen.engine import DesignBatch, EntryKind, Ids, Numbers, RecordEngine
from lambdak.eigen.runtime import native

CODES_OF_PIECE = 6  # which weight is kept, and how far the other one is off


def pack(design: DesignBatch, fields: NDArray[np.int64], records: NDArray[np.uint8], threads: int) -> None:
    """Fill the bytes of the columns in records with ids and float32 weights (n, slots); others are not touched."""
    ids, weights = design
    slot = 1
    for entry, first, code_bytes, start, count, missing in fields.tolist():
        slots = slice(slot, slot + (2 if entry == EntryKind.PIECE else 1))
        code, kept = _ENCODERS[EntryKind(entry)](ids[:, slots], weights[:, slots], (start, count, missing))
        if code_bytes:
            write_numbers(records, first, f"u{code_bytes}", code)
        if kept is not None:
            write_numbers(records, first + code_bytes, "f4", kept)
        slot = slots.stop


def unpack(
    records: NDArray[np.uint8],
    order: NDArray[np.integer] | None,
    fields: NDArray[np.int64],
    out: DesignBatch,
    numbers: Numbers,
    threads: int,
) -> None:
    """Fill ids and float32 weights (n, slots), slot 0 the constant, with records[order]; numbers beside them, too."""
    if order is not None and len(order) and not 0 <= order.min() <= order.max() < len(records):
        raise ValueError("order holds a record that does not exist")
    chosen = records if order is None else records[order]
    ids, weights = out
    ids[:, 0], weights[:, 0] = 0, 1
    slot = 1
    for entry, first, code_bytes, start, count, missing in fields.tolist():
        slots = slice(slot, slot + (2 if entry == EntryKind.PIECE else 1))
        code = _code(chosen, first, code_bytes)
        weight = None if entry == EntryKind.LEVEL else _read(chosen, first + code_bytes, "f4")
        _DECODERS[EntryKind(entry)](code, weight, (start, count, missing), (ids[:, slots], weights[:, slots]))
        slot = slots.stop
    for first, kind, to in numbers:
        to[:] = _read(chosen, first, kind)


def write_numbers(records: NDArray[np.uint8], first: int, kind: str, values: NDArray[Any]) -> None:
    """Fill the bytes of a number in records, from its first one on."""
    numbers = np.ascontiguousarray(values.astype(kind, copy=False))
    records[:, first : first + numbers.itemsize] = numbers.view(np.uint8).reshape(len(numbers), numbers.itemsize)


def other_weight(weight: FloatArray) -> NDArray[np.float32]:
    """1 − w in double precision, rounded to float32: the second weight of a piece, up to one unit in its last place."""
    with np.errstate(over="ignore", invalid="ignore"):
        return (1.0 - weight.astype(np.float64)).astype(np.float32)


def _read(records: NDArray[np.uint8], first: int, kind: str) -> NDArray[Any]:
    dtype = np.dtype(kind)
    return np.ascontiguousarray(records[:, first : first + dtype.itemsize]).view(dtype)[:, 0]


def _code(records: NDArray[np.uint8], first: int, code_bytes: int) -> NDArray[np.int64]:
    if not code_bytes:
        return np.zeros(len(records), np.int64)
    return _read(records, first, f"u{code_bytes}").astype(np.int64)


def _decode_pieces(code: NDArray[np.int64], small: Any, bounds: tuple[int, int, int], out: DesignBatch) -> None:
    (start, count, missing), (ids, weights) = bounds, out
    end = CODES_OF_PIECE * count
    _check((code < end + (missing >= 0)).all())
    piece, within = np.divmod(code, CODES_OF_PIECE)
    large = (other_weight(small).view(np.int32) + (within % 3 - 1).astype(np.int32)).view(np.float32)
    first = within >= 3
    ids[:] = start + piece[:, None] + np.arange(2)
    weights[:, 0], weights[:, 1] = np.where(first, small, large), np.where(first, large, small)
    ids[code == end], weights[code == end] = missing, [1.0, 0.0]


def _decode_line(code: NDArray[np.int64], weight: Any, bounds: tuple[int, int, int], out: DesignBatch) -> None:
    (start, _, missing), (ids, weights) = bounds, out
    gone = np.isnan(weight)
    _check(missing >= 0 or not gone.any())
    ids[:, 0], weights[:, 0] = np.where(gone, missing, start), np.where(gone, 1.0, weight)


def _decode_levels(code: NDArray[np.int64], weight: Any, bounds: tuple[int, int, int], out: DesignBatch) -> None:
    (start, count, _), (ids, weights) = bounds, out
    _check((code <= count).all())
    ids[:, 0], weights[:, 0] = start + np.where(code < count, code, 0), code < count


def _encode_pieces(ids: Ids, weights: FloatArray, bounds: tuple[int, int, int]) -> tuple[Any, Any]:
    start, count, missing = bounds
    first = np.abs(weights[:, 0]) < np.abs(weights[:, 1])
    small, large = np.where(first, weights.T, weights.T[::-1])
    off = large.view(np.int32) - other_weight(small).view(np.int32)
    gone, piece = ids[:, 0] == missing, ids[:, 0] - start
    _check_design((gone | ((np.abs(off) <= 1) & (piece >= 0) & (piece < count))).all())
    return np.where(gone, CODES_OF_PIECE * count, piece * CODES_OF_PIECE + 3 * first + off + 1), small


def _encode_line(ids: Ids, weights: FloatArray, bounds: tuple[int, int, int]) -> tuple[Any, Any]:
    start, _, missing = bounds
    gone = ids[:, 0] == missing
    _check_design((gone | ((ids[:, 0] == start) & ~np.isnan(weights[:, 0]))).all())
    return None, np.where(gone, np.float32("nan"), weights[:, 0])


def _encode_levels(ids: Ids, weights: FloatArray, bounds: tuple[int, int, int]) -> tuple[Any, Any]:
    start, count, _ = bounds
    level = ids[:, 0] - start
    _check_design(((level >= 0) & (level < count)).all())
    return np.where(weights[:, 0] == 0.0, count, level), None


def _check_design(valid: Any) -> None:
    if not valid:
        raise ValueError("design holds an id or a weight that does not fit into its records")


def _check(valid: Any) -> None:
    if not valid:
        raise ValueError("records hold a code that does not exist")


_ENCODERS = {EntryKind.PIECE: _encode_pieces, EntryKind.LINE: _encode_line, EntryKind.LEVEL: _encode_levels}
_DECODERS = {EntryKind.PIECE: _decode_pieces, EntryKind.LINE: _decode_line, EntryKind.LEVEL: _decode_levels}


def record_engine() -> RecordEngine:
    """Return the module that decodes records: the kernel, or this one."""
    return native() or _REFERENCE


from lambdak.eigen import records as _this  # noqa: E402  # mypy compares this module, as its own import, with the protocol

_REFERENCE: RecordEngine = _this
