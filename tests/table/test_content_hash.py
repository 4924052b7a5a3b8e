"""The hash of a table: the same whoever holds it, another one if anything in it changes."""

from __future__ import annotations

import hashlib
import json
import struct

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from lambdak.table.content_hash import content_hash, row_hashes, target_hash

COLUMNS = {
    'age "x"\n': [31, None, 0, 2],
    "town": ["Bern", None, "é\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"), "Uri"],
    "late": [True, False, None, True],
}


def test_it_is_as_documented():
    """The recipe of the module's first lines, by hand."""
    data = b"lambdak table 1\n4 3\n"
    for (name, cells), kind in zip(COLUMNS.items(), ("number", "text", "bool"), strict=True):
        data += f"{json.dumps(name)} {kind}\n".encode()
        if kind == "number":
            missing = bytes.fromhex("000000000000f87f")
            data += b"".join(missing if cell is None else struct.pack("<d", cell) for cell in cells)
        else:
            data += json.dumps(cells, separators=(",", ":")).encode() + b"\n"
    assert content_hash(pl.DataFrame(COLUMNS)) == hashlib.sha256(data).hexdigest()


def test_it_does_not_depend_on_the_library():
    tables = [pl.DataFrame(COLUMNS), pa.table(COLUMNS), pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS).to_pandas()]
    assert len({content_hash(own) for own in tables}) == 1


def test_columns_can_be_chosen_whatever_the_others_hold():
    frame = pd.DataFrame(COLUMNS)
    more = frame[["late", "town"]].assign(day=pd.Timestamp("2026-01-01"))
    assert content_hash(more, ["town", "late"]) == content_hash(frame[["town", "late"]])
    assert (row_hashes(more, columns=["town", "late"]) == row_hashes(frame[["town", "late"]])).all()
    with pytest.raises(ValueError, match="columns must be among those of the table; got 'age'"):
        content_hash(more, ["age"])


def test_minus_zero_and_every_nan_are_one_number():
    odd = np.array([[np.float64(-0.0)], [np.frombuffer(struct.pack("<Q", 0xFFF8000000000001))[0]]])
    assert content_hash(odd) == content_hash(np.array([[0.0], [np.nan]]))


@pytest.mark.parametrize(
    "change",
    [
        lambda own: own[::-1], lambda own: own[own.columns[::-1]], lambda own: own.rename(columns={"town": "city"}),
        lambda own: own.assign(town=own["town"].fillna("missing")), lambda own: own.iloc[:3],
        lambda own: own.assign(late=own["late"].map({True: 1.0, False: 0.0})),
    ],
)  # fmt: skip
def test_any_change_changes_it(change):
    frame = pd.DataFrame(COLUMNS)
    assert content_hash(change(frame)) != content_hash(frame)


def test_sparse_tables_are_their_non_zeros():
    dense = np.array([[0.0, 2.0], [0.0, 0.0], [1.5, 0.0]])
    data = b"lambdak sparse table 1\n3 2\n" + struct.pack("<2q", 0, 2) + struct.pack("<2q", 1, 0)
    wanted = hashlib.sha256(data + struct.pack("<2d", 2.0, 1.5)).hexdigest()
    stored = sparse.coo_array(([1.5, 2.0, 0.0], ([2, 0, 1], [0, 1, 1])), shape=(3, 2))  # one zero is stored
    assert content_hash(stored) == content_hash(sparse.csc_array(dense)) == wanted


def test_targets_are_tables_of_one_column():
    assert target_hash(["a", "b"]) == content_hash([["a"], ["b"]])
    assert target_hash(pd.Series([1.0, 2.0])) == target_hash(np.array([1.0, 2.0]))


def test_equal_rows_have_equal_hashes_and_others_do_not():
    frame = pd.DataFrame({"a": [1.0, 1.0, 2.0, np.nan, np.nan], "b": ["x", "x", "x", "y", "y"]})
    hashes = row_hashes(frame, [0, 0, 0, 1, 2])
    assert hashes[0] == hashes[1]
    assert len(set(hashes.tolist())) == 4
    swapped = row_hashes(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert swapped[0] != swapped[1]
    many = np.random.default_rng(0).integers(0, 1000, (100_000, 3)).astype(float)
    assert len(np.unique(row_hashes(many))) == len(np.unique(many, axis=0))
