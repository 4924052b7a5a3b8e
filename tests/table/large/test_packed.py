"""Records hold design rows without losing a bit, in about five bytes per column."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from lambdak.eigen import records as reference
from lambdak.table.encoder import TableEncoder
from lambdak.table.large import packed
from lambdak.table.large.packed import RowPacking
from lambdak.table.read import read_table

NUMBERS = st.one_of(st.none(), st.integers(-3, 3), st.floats(-1e3, 1e3), st.floats(-1e200, 1e200), st.floats(0, 1e-300))
LEVELS = st.one_of(st.none(), st.sampled_from("abcdefgh"))


@st.composite
def tables(draw):
    """Training rows and other rows, with numbers and levels that may be missing, unseen or out of range."""
    rows, n_numbers = draw(st.integers(1, 40)), draw(st.integers(0, 3))
    cells = [NUMBERS] * n_numbers + [LEVELS] * draw(st.integers(0 if n_numbers else 1, 2))
    frame = lambda n: pd.DataFrame(  # noqa: E731
        {
            f"c{i}": pd.Series(
                draw(st.lists(own, min_size=n, max_size=n)), dtype="float64" if own is NUMBERS else object
            )
            for i, own in enumerate(cells)
        }
    )
    return frame(rows), frame(draw(st.integers(1, 20)))


def round_trip(packing, design, **beside):
    y = np.arange(len(design), dtype=np.float64)
    records = packing.pack(design, y, **beside)
    assert records.shape == (len(design), packing.record_bytes)
    back, target, weight, offset = packing.unpack(records)
    assert back.ids.tobytes() == design.ids.tobytes()
    assert back.weights.tobytes() == design.weights.tobytes()
    np.testing.assert_array_equal(target, y)
    return records, weight, offset


@settings(max_examples=150, deadline=None)
@given(
    tables(), st.sampled_from([0, 2, 5, "auto"]), st.booleans(), st.booleans(), st.sampled_from(["float64", "int32"])
)
def test_records_give_the_design_back_bit_for_bit(both, n_knots, clamp, pooled, target):
    train, other = both
    encoder = TableEncoder(n_knots=n_knots, clamp=clamp, min_level_count=2 if pooled else 1).fit(train)
    packing = RowPacking.of(encoder, target)
    with np.errstate(over="ignore"):
        round_trip(packing, encoder.transform(train))
        round_trip(packing, encoder.transform(other))


@settings(max_examples=60, deadline=None)
@given(tables(), st.sampled_from([0, 3]))
def test_a_table_is_packed_as_its_design_is(both, n_knots):
    train, other = both
    encoder = TableEncoder(n_knots=n_knots).fit(train)
    packing, y = RowPacking.of(encoder), np.zeros(len(other))
    records = packing.pack_table(encoder, read_table(other[other.columns[::-1]]), y)
    assert records.tobytes() == packing.pack(encoder.transform(other), y).tobytes()


@pytest.mark.parametrize("n_knots", [2, 42, 43, 44, 2000])
@pytest.mark.parametrize("clamp", [True, False])
def test_curves_of_any_number_of_knots_come_back_bit_for_bit(n_knots, clamp):
    rng = np.random.default_rng(n_knots)
    x = rng.standard_t(2, (5000, 2))
    x[::7, 1] = np.nan
    encoder = TableEncoder(n_knots=n_knots, clamp=clamp).fit(x[:4000])
    records, *_ = round_trip(RowPacking.of(encoder), encoder.transform(x))
    assert records.shape[1] == 8 + 2 * (5 if n_knots <= 43 else 6)


def test_the_other_weight_is_off_by_a_unit_somewhere_so_that_the_correction_is_needed():
    x = np.random.default_rng(0).uniform(0, 1, (20_000, 1))
    design = TableEncoder(n_knots=2).fit(x).transform(x)
    small = design.weights[:, 1:].min(axis=1)
    assert (reference.other_weight(small) != design.weights[:, 1:].max(axis=1)).any()


@pytest.mark.parametrize(("levels", "width"), [(2, 1), (255, 1), (256, 2), (70_000, 4)])
def test_levels_take_the_smallest_type_that_also_has_room_for_an_unseen_one(levels, width):
    frame = pd.DataFrame({"level": np.arange(levels).astype(str)})
    encoder = TableEncoder().fit(frame)
    unseen = encoder.transform(pd.DataFrame({"level": ["0", "unseen", "1"] * 10}))
    records, *_ = round_trip(RowPacking.of(encoder), unseen)
    assert records.shape[1] == 8 + width


def test_a_number_that_is_always_the_same_takes_no_bytes_unless_cells_are_missing():
    one, some = np.full((30, 1), 3.0), np.where(np.arange(30)[:, None] % 3, 3.0, np.nan)
    for x, width in ((one, 0), (some, 1)):
        encoder = TableEncoder(n_knots=4).fit(x)
        records, *_ = round_trip(RowPacking.of(encoder), encoder.transform(x))
        assert records.shape[1] == 8 + width


def test_weight_and_offset_come_back_in_any_order_of_rows():
    x = np.random.default_rng(0).normal(size=(500, 3))
    encoder = TableEncoder(n_knots=5).fit(x)
    packing = RowPacking.of(encoder, "uint8", weighted=True, offset=True)
    design, y, weight, offset = encoder.transform(x), np.arange(500) % 200, x[:, 0] ** 2, x[:, 1]
    order = np.random.default_rng(1).permutation(500)
    for threads in (1, 2):
        room = packing.room(800)
        back = packing.unpack(packing.pack(design, y, weight, offset), order, threads, room)
        assert back[0].weights.tobytes() == design.take(order).weights.tobytes()
        assert back[0].ids.base is room.ids
        for own, given_rows in zip(back[1:], (y, weight, offset), strict=True):
            np.testing.assert_array_equal(own, given_rows[order])


def test_the_reference_unpacks_the_same_without_a_kernel(monkeypatch):
    x = np.where(
        np.random.default_rng(0).random((300, 3)) < 0.1, np.nan, np.random.default_rng(1).normal(size=(300, 3))
    )
    encoder = TableEncoder(n_knots=5).fit(x)
    monkeypatch.setattr(packed, "record_engine", lambda: reference)
    round_trip(RowPacking.of(encoder), encoder.transform(x))


def test_a_packing_survives_pickling_and_its_plain_data():
    packing = RowPacking.of(TableEncoder(n_knots=3).fit(np.arange(30.0).reshape(10, 3)), "float32", offset=True)
    for copy in (pickle.loads(pickle.dumps(packing)), RowPacking(**packing.saved())):
        assert copy.saved() == packing.saved()
        assert copy.record_bytes == packing.record_bytes


def test_what_does_not_fit_is_refused():
    x = np.random.default_rng(0).normal(size=(50, 2))
    encoder, other = TableEncoder(n_knots=3).fit(x), TableEncoder(n_knots=9).fit(x)
    packing, design, y = RowPacking.of(encoder, "int32"), encoder.transform(x), np.zeros(50)
    with pytest.raises(ValueError, match="float32 weights in 5 slots; got float64 in 5"):
        packing.pack(encoder.transform(x, np.float64), y)
    with pytest.raises(ValueError, match="design holds an id or a weight that does not fit"):
        packing.pack(other.transform(x), y)
    with pytest.raises(ValueError, match=r"targets must fit into int32; got 0\.5 at row 0"):
        packing.pack(design, y + 0.5)
    with pytest.raises(ValueError, match="weight and offset must be given if, and only if"):
        packing.pack(design, y, weight=y)
    with pytest.raises(ValueError, match=r"records must have shape \(rows, 14\)"):
        packing.unpack(np.zeros((3, 13), np.uint8))
    with pytest.raises(ValueError, match="target must be one of float64"):
        RowPacking.of(encoder, "float16")
    with pytest.raises(ValueError, match="a large table cannot be sparse"):
        RowPacking.of(TableEncoder().fit(sparse.csr_array(np.eye(4))))
