"""Header and tensors ⇄ the bytes of a safetensors file.

The file is read here and not by the safetensors library, so that every declared size is compared with the length of
the file before any memory is taken for it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from safetensors.numpy import save as as_safetensors

from lambdak._types import FloatArray
from lambdak.atomic import reason, regular_file
from lambdak.store._fields import ModelFileError, damaged, fields, items, shown, text, whole
from lambdak.store._text import canonical, measure, parse

MOST_HEADER_BYTES = 1 << 24
MOST_HEADER_VALUES = 1 << 20  # more of them, all tiny, would take gigabytes as Python objects
MOST_BYTES = 1 << 32
METADATA = "__metadata__"  # of what safetensors files hold beside tensors
KEY = "lambdak"  # of the model's own header in the header of the file
CHECKSUM = "sha256"
DTYPES: dict[str, np.dtype[np.floating]] = {"F32": np.dtype("<f4"), "F64": np.dtype("<f8")}
_LENGTH_BYTES = 8
_OUTER_BYTES = 1 << 12  # at most, of the file's header beside the model's own

Tensors = dict[str, FloatArray]


@dataclass(frozen=True)
class Form:
    """Dtype and shape of a tensor."""

    dtype: np.dtype[np.floating]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of bytes that the tensor takes in the file."""
        return math.prod(self.shape) * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{self.dtype.name} of shape {self.shape}"


@dataclass(frozen=True)
class Head:
    """What a file says before its tensors: the model's header, and form and offset of each tensor.

    ``outer`` is the header of the file, which contains that of the model, and ``raw`` its bytes, with their length.
    """

    outer: dict[str, Any]
    raw: bytes
    header: dict[str, Any]
    forms: dict[str, Form]
    starts: dict[str, int]


def floating(value: object, name: str) -> np.dtype[np.floating]:
    """A dtype by its name in a header."""
    if value not in ("float32", "float64"):
        raise damaged(f"{name} must be float32 or float64; got {shown(value)}")
    return np.dtype(str(value))


def digest(header: Mapping[str, Any], tensors: Tensors) -> str:
    """The checksum of a model: it reveals damage, and is no signature."""
    rest = {name: value for name, value in header.items() if name != CHECKSUM}
    result = hashlib.sha256(canonical(rest).encode())
    for name in sorted(tensors):
        array = tensors[name]
        result.update(f"{name}:{array.dtype.name}:{array.shape};".encode())
        result.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).data)
    return result.hexdigest()


def check_digest(header: Mapping[str, Any], tensors: Tensors) -> None:
    """Refuse a model that is not what was saved."""
    written = text(header.get(CHECKSUM), CHECKSUM)
    try:
        computed = digest(header, tensors)
    except ValueError:  # of a number such as 1e999, which no model has
        raise damaged("its header holds a number that is not finite") from None
    if written != computed:
        raise damaged("its checksum does not fit its contents, so something has changed since it was saved")


def to_bytes(header: Mapping[str, Any], tensors: Tensors) -> bytes:
    """The file; the same model always gives the same bytes."""
    plain, size = canonical(header), sum(array.nbytes for array in tensors.values())
    quoted = len(json.dumps(plain)) + _OUTER_BYTES
    if quoted > MOST_HEADER_BYTES or size + quoted > MOST_BYTES or measure(plain)[1] > MOST_HEADER_VALUES:
        raise ValueError(
            f"a model file holds at most {MOST_HEADER_BYTES:,} bytes of names, levels and knots and {MOST_BYTES:,} "
            "bytes of matrices; this model has more: fit fewer columns, or pickle it"
        )
    return bytes(as_safetensors(tensors, {KEY: plain}))


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[tuple[BinaryIO, int]]:
    """The file and its length."""
    way = "give the path of a file that model.save wrote"
    try:
        with regular_file(path) as found:
            yield found
    except FileNotFoundError:
        raise FileNotFoundError(f"cannot load {os.fspath(path)!r}: there is no such file: {way}") from None
    except OSError as error:
        raise ModelFileError(f"it cannot be read ({reason(error)}): {way}") from None


def read_head(file: BinaryIO, length: int) -> Head:
    """Everything before the tensors, with sizes that fit the length of the file."""
    declared = _header_length(file, length)
    try:
        raw = file.read(declared)
        outer = parse(raw.decode("utf-8"), "its header", MOST_HEADER_VALUES)
    except UnicodeDecodeError:
        raise damaged("its header is not text") from None
    if not isinstance(outer, dict) or not isinstance(outer.get(METADATA), dict):
        raise damaged("it is not a safetensors file with a header of lambdak")
    inner = text(outer[METADATA].get(KEY), f"the header {KEY!r}")
    header = parse(inner, f"the header {KEY!r}", MOST_HEADER_VALUES)
    if not isinstance(header, dict):
        raise damaged(f"the header {KEY!r} must be an object; got {shown(header)}")
    entries = {name: _entry(entry, name) for name, entry in outer.items() if name != METADATA}
    _check_gapless(entries, length - _LENGTH_BYTES - declared)
    offset = _LENGTH_BYTES + declared
    starts = {name: offset + start for name, (_, start) in entries.items()}
    raw = declared.to_bytes(_LENGTH_BYTES, "little") + raw
    return Head(outer, raw, header, {name: form for name, (form, _) in entries.items()}, starts)


def _header_length(file: BinaryIO, length: int) -> int:
    declared = int.from_bytes(file.read(_LENGTH_BYTES), "little")
    if declared > length - _LENGTH_BYTES:
        if file.read(1) != b"{":  # with which the header of every safetensors file begins
            raise ModelFileError("it is not a model file: give the path of a file that model.save wrote")
        what = f"it has {length:,} bytes, but declares a header of {declared:,} bytes"
        raise damaged(f"it is not a whole model file: {what}")
    if declared > MOST_HEADER_BYTES:
        raise damaged(f"it has a header of {declared:,} bytes, of which at most {MOST_HEADER_BYTES:,} are read")
    if length > MOST_BYTES:
        raise damaged(f"it has {length:,} bytes, of which at most {MOST_BYTES:,} are read")
    return declared


def _entry(value: object, name: str) -> tuple[Form, int]:
    """Form and start of a tensor."""
    what = f"tensor {shown(name)}"
    parts = fields(value, what, ("dtype", "shape", "data_offsets"))
    dtype = text(parts["dtype"], f"dtype of {what}")
    if dtype not in DTYPES:
        raise damaged(f"dtype of {what} must be one of {sorted(DTYPES)}; got {shown(dtype)}")
    shape = [whole(size, f"shape of {what}", 0, MOST_BYTES) for size in items(parts["shape"], f"shape of {what}", 0, 3)]
    form = Form(DTYPES[dtype], tuple(shape))
    start, stop = (
        whole(offset, f"data_offsets of {what}", 0, MOST_BYTES + 1)
        for offset in items(parts["data_offsets"], f"data_offsets of {what}", 2, 2)
    )
    if stop - start != form.size:
        raise damaged(f"{what} must take {form.size:,} bytes as {form}; it declares {stop - start:,}")
    return form, start


def _check_gapless(entries: Mapping[str, tuple[Form, int]], length: int) -> None:
    """Tensors follow one another from the first byte to the last."""
    end = 0
    for form, start in sorted(entries.values(), key=lambda entry: (entry[1], entry[0].size)):
        if start != end:
            raise damaged("its tensors overlap or leave gaps")
        end += form.size
    if end != length:
        raise damaged(f"its tensors must take {end:,} bytes as declared; it has {length:,} for them")


def check_forms(forms: Mapping[str, Form], wanted: Mapping[str, Form]) -> None:
    """Exactly the tensors that the header implies."""
    for name in sorted({*forms, *wanted}):
        if name not in wanted:
            raise damaged(f"it has an unknown tensor {shown(name)}")
        if name not in forms:
            raise damaged(f"its tensor {name!r} is missing")
        if forms[name] != wanted[name]:
            raise damaged(f"tensor {name!r} must be {wanted[name]}, as its header says; got {forms[name]}")


def read_tensors(file: BinaryIO, head: Head) -> Tensors:
    """The tensors, as new arrays."""
    tensors = {}
    for name, form in head.forms.items():
        file.seek(head.starts[name])
        data = file.read(form.size)
        if len(data) != form.size:
            raise damaged("it was cut while it was read")
        tensors[name] = np.frombuffer(data, form.dtype).reshape(form.shape).astype(form.dtype.newbyteorder("="))
    return tensors
