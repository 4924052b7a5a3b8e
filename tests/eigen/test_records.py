"""The kernel decodes records as NumPy does, refuses codes that do not exist, and stays within its arrays."""

from __future__ import annotations

import numpy as np
import pytest

from lambdak.eigen import records as reference
from lambdak.eigen.engine import EntryKind
from lambdak.eigen.runtime import native

kernel = native()
pytestmark = pytest.mark.skipif(kernel is None, reason="no compiled kernel here")

#                entry, first byte, bytes of the code, first design column, pieces or levels, missing
FIELDS = np.array(
    [
        [EntryKind.PIECE, 0, 1, 1, 8, 10],
        [EntryKind.PIECE, 5, 2, 11, 300, -1],
        [EntryKind.LINE, 11, 0, 312, 1, 313],
        [EntryKind.LEVEL, 15, 0, 314, 1, -1],
        [EntryKind.LEVEL, 15, 1, 315, 5, -1],
        [EntryKind.LEVEL, 16, 2, 320, 400, 719],
        [EntryKind.LEVEL, 18, 4, 720, 70_000, -1],
    ],
    np.int64,
)
KINDS = [(22, "f8"), (30, "f4"), (34, "i4"), (38, "u1")]
SLOTS, BYTES = 10, 39


def random_records(rows, seed=0):
    rng = np.random.default_rng(seed)
    layout = np.dtype(
        [("a", "u1"), ("wa", "f4"), ("b", "u2"), ("wb", "f4"), ("line", "f4"), ("l1", "u1"), ("l2", "u2"), ("l4", "u4")]
        + [(kind, kind) for _, kind in KINDS]
    )
    own = np.zeros(rows, layout)
    own["a"], own["b"] = rng.integers(0, 49, rows), rng.integers(0, 1800, rows)
    own["wa"], own["wb"] = rng.uniform(0, 0.5, rows), rng.normal(0, 5, rows)
    own["line"] = np.where(rng.random(rows) < 0.2, np.nan, rng.normal(size=rows))
    own["l1"], own["l2"], own["l4"] = (rng.integers(0, most + 1, rows) for most in (5, 400, 70_000))
    for _, kind in KINDS:
        own[kind] = rng.integers(0, 200, rows)
    assert layout.itemsize == BYTES
    return own.view(np.uint8).reshape(rows, BYTES)


def unpacked(engine, records, order, threads=2, fields=FIELDS, kinds=KINDS):
    rows = len(records) if order is None else len(order)
    ids, weights = np.full((rows, SLOTS), -7, np.int32), np.full((rows, SLOTS), np.nan, np.float32)
    numbers = [(first, kind, np.full(rows, np.nan)) for first, kind in kinds]
    engine.unpack(records, order, fields, (ids, weights), numbers, threads)
    return ids, weights, *(values for _, _, values in numbers)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, None])
@pytest.mark.parametrize("rows", [1, 127, 5000])
def test_records_are_decoded_as_numpy_decodes_them(rows, dtype):
    records = random_records(rows)
    order = None if dtype is None else np.random.default_rng(1).integers(0, rows, 2 * rows).astype(dtype)
    for own, other in zip(unpacked(kernel, records, order), unpacked(reference, records, order), strict=True):
        np.testing.assert_array_equal(own, other)


@pytest.mark.parametrize("rows", [1, 127, 5000])
def test_rows_are_encoded_as_numpy_encodes_them_and_give_the_same_records(rows):
    records = random_records(rows)
    ids, weights, *_ = unpacked(reference, records, None)
    one, other = np.zeros_like(records), np.zeros_like(records)
    kernel.pack((ids, weights), FIELDS, one, 2)
    reference.pack((ids, weights), FIELDS, other, 2)
    np.testing.assert_array_equal(one, other)
    back = unpacked(kernel, one, None)
    assert back[0].tobytes() == ids.tobytes()
    assert back[1].tobytes() == weights.tobytes()


@pytest.mark.parametrize("engine", [kernel, reference], ids=["kernel", "reference"])
@pytest.mark.parametrize(
    ("slot", "id_", "weight"),
    [
        (1, 0, 0.5),
        (1, 9, 0.5),
        (1, 5, 0.3),
        (3, 311, 0.5),
        (5, 314, 1.0),
        (5, 312, np.nan),
        (7, 320, 1.0),
        (7, -1, 1.0),
    ],
)
def test_a_design_that_does_not_fit_is_refused(engine, slot, id_, weight):
    ids, weights, *_ = unpacked(reference, random_records(300), None)
    ids[7, slot], weights[7, slot] = id_, weight
    with pytest.raises(ValueError, match="design holds an id or a weight that does not fit into its records"):
        engine.pack((ids, weights), FIELDS, np.zeros((300, BYTES), np.uint8), 1)


def test_the_number_of_threads_does_not_change_a_bit():
    records = random_records(20_000)
    order = np.random.default_rng(2).permutation(20_000)
    for own, other in zip(unpacked(kernel, records, order, 1), unpacked(kernel, records, order, 3), strict=True):
        assert own.tobytes() == other.tobytes()


@pytest.mark.parametrize("engine", [kernel, reference], ids=["kernel", "reference"])
@pytest.mark.parametrize(("byte", "value"), [(0, 49), (0, 255), (6, 255), (15, 6), (17, 255), (21, 1)])
def test_a_code_that_does_not_exist_is_refused(engine, byte, value):
    records = random_records(300).copy()
    records[-1, byte] = value
    with pytest.raises(ValueError, match="records hold a code that does not exist"):
        unpacked(engine, records, None)


@pytest.mark.parametrize("engine", [kernel, reference], ids=["kernel", "reference"])
def test_a_missing_number_is_refused_where_none_can_be_missing(engine):
    fields = FIELDS.copy()
    fields[2, 5] = -1
    with pytest.raises(ValueError, match="code that does not exist"):
        unpacked(engine, random_records(300), None, fields=fields)


@pytest.mark.parametrize("engine", [kernel, reference], ids=["kernel", "reference"])
@pytest.mark.parametrize("row", [-1, 300])
def test_a_record_that_does_not_exist_is_refused(engine, row):
    with pytest.raises(ValueError, match="order holds a record that does not exist"):
        unpacked(engine, random_records(300), np.array([0, row, 1]))


@pytest.mark.parametrize(
    ("line", "entry", "value"),
    [(0, 0, 3), (0, 0, -1), (0, 1, -1), (6, 1, 36), (0, 2, 4), (4, 2, 3), (0, 3, -1), (0, 4, 1 << 40), (0, 5, -2)],
)
def test_fields_that_describe_no_record_are_refused(line, entry, value):
    fields = FIELDS.copy()
    fields[line, entry] = value
    with pytest.raises(ValueError, match="fields does not describe"):
        unpacked(kernel, random_records(3), None, fields=fields)


@pytest.mark.parametrize(("kinds", "says"), [([(32, "f8")], "of this length"), ([(0, "f2")], "must be f8")])
def test_numbers_that_are_in_no_record_are_refused(kinds, says):
    with pytest.raises(ValueError, match=says):
        unpacked(kernel, random_records(3), None, kinds=kinds)


def test_arrays_that_do_not_fit_are_refused():
    records = random_records(3)
    ids, weights = np.zeros((3, SLOTS), np.int32), np.zeros((3, SLOTS), np.float32)
    for out in (
        (ids[:, :-1], weights),
        (ids, weights[:2]),
        (ids, weights.astype(np.float64)),
        (ids[::2], weights[::2]),
    ):
        with pytest.raises(ValueError, match="wrong shape, dtype or layout"):
            kernel.unpack(records, None, FIELDS, out, [], 1)
    with pytest.raises(ValueError, match="order has the wrong"):
        kernel.unpack(records, np.zeros(3), FIELDS, (ids, weights), [], 1)
