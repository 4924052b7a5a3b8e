"""What the steps in a pipeline file become in memory, counted before skops reads any of them.

A file may name one array a hundred times, or a list twice in a list that is twice in a list …: then a few bytes become
gigabytes, or take years to walk through. Arrays may claim a shape, and compressed ones a length, that nothing in the
file is behind. All of that is counted here from names, lengths and headers, and what would take more memory than a file
of its length may is refused. Three nodes make more of what they hold than its bytes, and are held to what skops writes
of honest objects: a scalar of bytes from a number (so many zeros), a masked array from a list of texts (each as long as
the longest), and a random generator whose seed sequence mixes a pool of any size, which takes the square of it.
"""

from __future__ import annotations

import math
import zipfile
from collections import defaultdict
from collections.abc import Hashable
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy

from lambdak.store import ModelFileError
from lambdak.store._text import measure, parse

_SCHEMA, _LOADER = "schema.json", "__loader__"
_MOST_DEPTH = 250  # of brackets in the schema; a pipeline in a pipeline in a pipeline has about 40
_SPARE = 1 << 24  # bytes that any file may take, and this many times its length:
_TIMES = 10
# Bytes of memory that skops takes for a node, and for one that has a list of all types known to be safe beside it.
_NODE, _LONG_NODE = 1 << 11, 1 << 14
_SHORT = ("JsonNode", "ListNode", "TupleNode", "DictNode", "SetNode", "NdArrayNode")
_NODE_TIMES = 32  # nodes may take so many times the length of the file: a node for a number is that much longer than it
_OBJECT = 64  # bytes of one number as an object in an array of objects
_MOST_POOL = 64  # words of entropy that a seed sequence mixes; NumPy takes 4
_OF_KIND = {"void": "V", "bytes_": "S", "str_": "U"}  # scalars that NumPy would make of numbers, as many bytes long
_SEED = {"entropy", "spawn_key", "pool_size", "n_children_spawned"}


def check_stored(archive: zipfile.ZipFile, length: int) -> None:
    """Refuse an archive of this length that has a compressed entry, or entries that are the same bytes."""
    total = 0
    for entry in archive.infolist():
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
            raise ModelFileError(f"{entry.filename!r} in it must be stored as it is, not compressed")
        total += entry.file_size
    if total > length:
        raise ModelFileError(f"the files in it must not overlap; they claim {total:,} of its {length:,} bytes")
    if len({*archive.namelist()}) < len(archive.namelist()):
        raise ModelFileError("it holds two files of one name")


def check_contents(steps: bytes) -> None:
    """Refuse steps that would take much more memory, or time, than their length says."""
    with zipfile.ZipFile(BytesIO(steps)) as archive:
        check_stored(archive, len(steps))
        text = archive.read(_SCHEMA).decode()
        schema = parse(text, "the schema of its steps", most_depth=_MOST_DEPTH)
        _Expansion(archive, len(steps), schema).counted(schema)


class _Bytes(NamedTuple):
    """Memory that something takes."""

    nodes: int
    arrays: int


class _Expansion:
    """Memory of nodes and of the arrays that they name, with all that references repeat."""

    def __init__(self, archive: zipfile.ZipFile, length: int, root: Any) -> None:
        self._archive, self._length = archive, length
        self._sizes: dict[str, int] = {}  # of files, once they are arrays
        self._counts: dict[Any, _Bytes | None] = {}  # by name; None while they are counted
        self._named: defaultdict[Any, list[Any]] = defaultdict(list)
        waiting = [root]
        while waiting:
            state = waiting.pop()
            waiting += _inner(state)
            if (name := _name(state)) is not None and _LOADER in state:
                self._named[name].append(state)

    def counted(self, state: Any) -> _Bytes:
        """Bytes of nodes and of arrays in a JSON value.

        A name stands for the largest node that has it: which one skops means depends on the order in which it looks.
        """
        name = _name(state)
        if name is None:
            return self._all_of(state)
        if name not in self._counts:
            self._counts[name] = None
            meant = [self._all_of(own) for own in self._named[name]]
            self._counts[name] = _Bytes(*(max(sizes) for sizes in zip(*meant, strict=True))) if meant else _Bytes(0, 0)
        found = self._counts[name]
        if found is None:
            raise ModelFileError("its steps refer to something that contains the reference")
        return found

    def _all_of(self, state: Any) -> _Bytes:
        nodes, arrays = self._alone(state)
        for inner in _inner(state):
            below = self.counted(inner)
            nodes, arrays = nodes + below.nodes, arrays + below.arrays
            self._check(nodes, arrays)
        if isinstance(state, dict) and state.get("type") == "json":  # an array of objects makes numbers objects
            arrays *= _OBJECT
        self._check(nodes, arrays)
        return _Bytes(nodes, arrays)

    def _alone(self, state: Any) -> _Bytes:
        """Bytes of a node itself, and of the file that it names."""
        if not isinstance(state, dict) or _LOADER not in state:
            return _Bytes(0, 0)
        loader, file, content = state[_LOADER], state.get("file"), state.get("content")
        self._check_kind(loader, state)
        nodes = _NODE if loader in _SHORT else _LONG_NODE
        if isinstance(content, str):  # JSON in JSON
            nodes += len(content) + _OBJECT * measure(content)[1]
        if not isinstance(file, str):
            return _Bytes(nodes, 0)
        if file not in self._sizes:
            self._sizes[file] = self._size(file, loader)
        return _Bytes(nodes, self._sizes[file] * (_OBJECT if loader == "BytearrayNode" else 1))

    def _check_kind(self, loader: object, state: dict[str, Any]) -> None:
        """Refuse a node that would make more of what it holds than skops ever wrote."""
        content = state.get("content")
        if loader == "NdArrayNode" and state.get("type") == "numpy":
            kind, file = _OF_KIND.get(str(state.get("__class__"))), state.get("file")
            if kind and (not isinstance(file, str) or _header(BytesIO(self._read(file)))[1].kind != kind):
                raise ModelFileError(f"a {state['__class__']} of its steps must be stored as one, not as a number")
        elif loader == "MaskedArrayNode":
            for part in ("data", "mask"):
                if any(node.get(_LOADER) != "NdArrayNode" for node in self._meant(content, part)):
                    raise ModelFileError(f"the {part} of a masked array of its steps must be an array")
        elif loader == "RandomGeneratorNode" and not all(map(self._is_seed, self._meant(content, "seed_seq"))):
            raise ModelFileError("the seed sequence of a random generator of its steps must be one of NumPy's")

    def _is_seed(self, node: dict[str, Any]) -> bool:
        """Whether a node is the state of a seed sequence whose pool is small."""
        state = node.get("content")
        if node.get(_LOADER) != "DictNode" or not isinstance(state, dict) or not set(state) <= _SEED:
            return False
        return all(_is_small(pool) for pool in self._meant(state, "pool_size"))

    def _meant(self, content: Any, part: str) -> list[dict[str, Any]]:
        """The nodes that a part of a content may mean: itself, and all that have its name."""
        node = content.get(part) if isinstance(content, dict) else None
        if not isinstance(node, dict):
            return []
        return self._named[name] or [node] if (name := _name(node)) is not None else [node]

    def _read(self, file: str) -> bytes:
        try:
            return self._archive.read(file)
        except KeyError:
            raise ModelFileError(f"its steps name a file {file!r:.80} that it does not hold") from None

    def _check(self, nodes: int, arrays: int) -> None:
        if arrays > _TIMES * self._length + _SPARE or nodes > _NODE_TIMES * self._length + _SPARE:
            raise ModelFileError(
                f"its steps would take more than {max(arrays, nodes):,} bytes of memory, too much for the "
                f"{self._length:,} bytes that they have in the file: what they refer to is repeated or compressed"
            )

    def _size(self, file: str, loader: object) -> int:
        """Bytes that a file takes when it is read."""
        data = self._read(file)
        if loader == "NdArrayNode":
            return max(len(data), _array_bytes(BytesIO(data), len(data)))
        if loader == "SparseMatrixNode":
            with zipfile.ZipFile(BytesIO(data)) as archive:
                total = sum(entry.file_size for entry in archive.infolist())
                self._check(0, total)
                for entry in archive.infolist():
                    with archive.open(entry) as stream:
                        _array_bytes(stream, entry.file_size)
            return max(len(data), total)
        return len(data)


def _name(state: Any) -> Hashable | None:
    """The name by which a node may be referred to."""
    name = state.get("__id__") if isinstance(state, dict) else None
    return name if name and isinstance(name, Hashable) else None


def _inner(state: Any) -> list[Any]:
    """What may hold nodes in a JSON value."""
    values = state.values() if isinstance(state, dict) else state if isinstance(state, list) else ()
    return [value for value in values if isinstance(value, dict | list)]


def _is_small(node: dict[str, Any]) -> bool:
    """Whether a node is the number of words in a pool of entropy, and not too many."""
    text = node.get("content") if node.get(_LOADER) == "JsonNode" else None
    return isinstance(text, str) and len(text) < 3 and text.isdecimal() and int(text) <= _MOST_POOL


def _header(stream: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type that an array in NumPy's format says it has."""
    version = npy.read_magic(stream)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(stream)
    return shape, dtype


def _array_bytes(stream: Any, length: int) -> int:
    """Bytes of an array in NumPy's format, which must be as long as its shape says."""
    shape, dtype = _header(stream)
    numbers: int = math.prod([int(axis) for axis in shape])
    size = numbers * dtype.itemsize
    if dtype.hasobject or size > length or (not dtype.itemsize and numbers) or min(shape, default=0) < 0:
        raise ModelFileError(f"an array of its steps must have as many numbers as its shape {shape} says")
    return size
