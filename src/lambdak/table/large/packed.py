r"""Design rows as compact records: a few bytes per column instead of sixteen, and not a bit is lost.

A curve takes 5 bytes (6 beyond 42 knots), a line 4, a category 1, 2 or 4; target, weight and offset follow. What the
bytes are is said by :class:`lambdak.eigen.engine.RecordEngine`, which reads them back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import freeze_arrays
from lambdak._types import Float64Array
from lambdak.eigen.engine import EntryKind
from lambdak.eigen.lazy import cached_property
from lambdak.eigen.records import CODES_OF_PIECE, record_engine, write_numbers
from lambdak.table.cells import Cells
from lambdak.table.column_contract import Column
from lambdak.table.design import Design
from lambdak.table.encoder import TableEncoder
from lambdak.table.read import Table

Records = NDArray[np.uint8]
Unpacked = tuple[Design, Float64Array, Float64Array | None, Float64Array | None]  # design, target, weight, offset

TARGETS: Final = {"float64": "f8", "float32": "f4", "int32": "i4", "uint8": "u1"}


@final
@dataclass(frozen=True, eq=False)
class RowPacking:
    """What each byte of a record stands for.

    Attributes
    ----------
    fields : int64 array of shape (columns, 6)
        How each column is kept, as :class:`lambdak.eigen.engine.RecordEngine` says.
    target : str
        Type of the target in a record: float64, float32, int32 or uint8. It must hold all targets without rounding.
    weighted, offset : bool
        Whether rows have a weight and an offset, in float64.

    Examples
    --------
    >>> encoder = TableEncoder(n_knots=3).fit([[0.0, "a"], [1.0, "b"], [4.0, "a"]])
    >>> packing = RowPacking.of(encoder)
    >>> records = packing.pack(encoder.transform([[2.5, "b"], [0.0, "c"]]), np.array([7.0, 8.0]))
    >>> records.shape
    (2, 14)
    >>> design, y, _, _ = packing.unpack(records, np.array([1]))
    >>> design.ids, design.weights, y
    (array([[0, 1, 2, 4]], dtype=int32), array([[1., 1., 0., 0.]], dtype=float32), array([8.]))
    """

    fields: NDArray[np.int64]
    target: str = "float64"
    weighted: bool = False
    offset: bool = False

    def __post_init__(self) -> None:
        if self.target not in TARGETS:
            raise ValueError(f"target must be one of {', '.join(TARGETS)}; got {self.target!r}")
        object.__setattr__(self, "fields", np.array(self.fields, np.int64).reshape(-1, 6))
        freeze_arrays(self)

    @classmethod
    def of(
        cls, encoder: TableEncoder, target: str = "float64", weighted: bool = False, offset: bool = False
    ) -> RowPacking:
        """The packing of the rows that an encoder makes; those of sparse tables have no fixed length."""
        if encoder.from_sparse:
            raise ValueError("a large table cannot be sparse: its rows have no fixed length; convert batches to tables")
        return cls(np.array(list(_fields(encoder.columns)), np.int64), target, weighted, offset)

    @property
    def n_slots(self) -> int:
        """Slots of a design row, the constant included."""
        return 1 + len(self.fields) + int(np.count_nonzero(self.fields[:, 0] == EntryKind.PIECE))

    @cached_property
    def _numbers(self) -> list[tuple[int, str]]:
        """First byte and type of the numbers beside the design: target, weight, offset."""
        first = int(sum(_width(*field[:3:2]) for field in self.fields.tolist()))
        kinds = [TARGETS[self.target], *["f8"] * (self.weighted + self.offset)]
        ends = first + np.cumsum([0, *(np.dtype(kind).itemsize for kind in kinds)])
        return [(int(at), kind) for at, kind in zip(ends, kinds, strict=False)]

    @cached_property
    def record_bytes(self) -> int:
        """Bytes of a row."""
        first, kind = self._numbers[-1]
        return first + np.dtype(kind).itemsize

    def saved(self) -> dict[str, Any]:
        """The packing as plain data."""
        return {
            "fields": self.fields.tolist(), "target": self.target, "weighted": self.weighted, "offset": self.offset,
        }  # fmt: skip

    def pack(
        self,
        design: Design,
        y: NDArray[Any],
        weight: Float64Array | None = None,
        offset: Float64Array | None = None,
        threads: int = 0,
    ) -> Records:
        """Records (rows, record_bytes) of design rows with float32 weights, as the encoder wrote them."""
        if design.weights.dtype != np.float32 or design.ids.shape[1] != self.n_slots:
            raise ValueError(
                f"design must have float32 weights in {self.n_slots} slots; "
                f"got {design.weights.dtype} in {design.ids.shape[1]}"
            )
        records = np.empty((len(design), self.record_bytes), np.uint8)
        ids, weights = np.ascontiguousarray(design.ids), np.ascontiguousarray(design.weights)
        record_engine().pack((ids, weights), self.fields, records, threads)
        self._write_numbers_(records, y, weight, offset)
        return records

    def pack_table(
        self,
        encoder: TableEncoder,
        table: Table,
        y: NDArray[Any],
        weight: Float64Array | None = None,
        offset: Float64Array | None = None,
        threads: int = 0,
        watch: Callable[[int, Cells], object] | None = None,
    ) -> Records:
        """The records of a table, the same as :meth:`pack` gives of its design: column by column, in less memory.

        ``watch`` is called with the position and the cells of every column.
        """
        rows = table.shape[0]
        records, engine = np.empty((rows, self.record_bytes), np.uint8), record_engine()
        for column, position, field in zip(encoder.columns, encoder.positions(table), self.fields, strict=True):
            ids = np.empty((rows, 1 + column.n_slots), np.int32)  # the first slot is that of the constant
            weights = np.empty(ids.shape, np.float32)
            cells = table.cells(position)
            if watch is not None:
                watch(position, cells)
            column.write_(cells, ids[:, 1:], weights[:, 1:], threads)
            engine.pack((ids, weights), field[None], records, threads)
        self._write_numbers_(records, y, weight, offset)
        return records

    def _write_numbers_(
        self, records: Records, y: NDArray[Any], weight: Float64Array | None, offset: Float64Array | None
    ) -> None:
        if (weight is None) == self.weighted or (offset is None) == self.offset:
            raise ValueError("weight and offset must be given if, and only if, the packing has room for them")
        for (first, kind), values in zip(self._numbers, (v for v in (y, weight, offset) if v is not None), strict=True):
            kept = np.asarray(values).astype(kind)
            if kind != "f8" and (kept != values).any():
                row = int(np.argmax(kept != values))
                raise ValueError(f"targets must fit into {self.target}; got {values[row]} at row {row}")
            write_numbers(records, first, kind, kept)

    def unpack(
        self,
        records: Records,
        order: NDArray[np.integer] | None = None,
        threads: int = 0,
        out: Design | None = None,
    ) -> Unpacked:
        """Design, target, weight and offset of ``records[order]``, bit for bit as they were packed.

        The target comes back as float64. ``threads`` = 0 takes the process's setting. ``out`` is a design whose first
        rows are filled and returned: memory that is used again need not be fetched from the system.
        """
        if records.shape[1:] != (self.record_bytes,):
            raise ValueError(f"records must have shape (rows, {self.record_bytes}); got {records.shape}")
        rows = len(records) if order is None else len(order)
        design = self.room(rows) if out is None else out.take(slice(rows))
        numbers = [(first, kind, np.empty(rows)) for first, kind in self._numbers]
        record_engine().unpack(records, order, self.fields, (design.ids, design.weights), numbers, threads)
        beside = iter([values for _, _, values in numbers])
        y = next(beside)
        weight = next(beside) if self.weighted else None
        return design, y, weight, next(beside) if self.offset else None

    def room(self, rows: int) -> Design:
        """A design with room for ``rows`` rows, whose contents are still undefined."""
        return Design(np.empty((rows, self.n_slots), np.int32), np.empty((rows, self.n_slots), np.float32))


def _fields(columns: Sequence[Column]) -> Iterator[tuple[int, ...]]:
    first = 0
    for column in columns:
        entry = column.packed_as
        count = {EntryKind.PIECE: column.n_ramps, EntryKind.LINE: 1, EntryKind.LEVEL: column.width}[entry]
        code_bytes = _code_bytes(entry, count, column.is_number)
        yield int(entry), first, code_bytes, column.start, count, column.missing
        first += _width(entry, code_bytes)


def _width(entry: int, code_bytes: int) -> int:
    return code_bytes + (0 if entry == EntryKind.LEVEL else 4)


def _code_bytes(entry: EntryKind, count: int, is_number: bool) -> int:
    """Bytes that the largest code needs; a number that is always the same needs none."""
    if entry == EntryKind.LINE or (is_number and count == 1 and entry == EntryKind.LEVEL):
        return 0
    largest = count * CODES_OF_PIECE if entry == EntryKind.PIECE else count
    return 1 if largest < 1 << 8 else 2 if largest < 1 << 16 else 4
