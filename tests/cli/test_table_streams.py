"""Tables read some rows at a time are the tables that are read as a whole, types included."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pyarrow.parquet
import pytest

from lambdak.cli import csv_stream, table_streams, tables
from lambdak.cli.csv_stream import blocks
from lambdak.cli.errors import InputError
from lambdak.cli.table_streams import Wanted, table_stream

BODY = {
    "numbers": "1,2\n" * 40,
    "late floats": "1,2\n" * 40 + "1.5,2\n",
    "late text": "1,2\n" * 40 + "x,2\n",
    "late numbers": "x,2\n" * 40 + "1,2\n",
    "late gaps": "1,2\n" * 40 + ",\nNA,null\n",
    "early gaps": ",2\n" * 40 + "1,2\n",
    "gaps only": ",2\n" * 40,
    "booleans": "true,0\n" * 20 + "false,1\n" * 20,
    "zeros and late booleans": "1,2\n" * 20 + "true,2\n",
    "booleans and a late seven": "true,2\n" * 20 + "7,2\n",
    "dates": "2020-01-01,2\n" * 30,
    "dates and times": "2020-01-01,2\n" * 30 + "2020-01-01 10:00:00,2\n",
    "dates and late text": "2020-01-01,2\n" * 30 + "never,2\n",
    "hexadecimal": "1,2\n" * 20 + "0x1F,2\n",
    "huge": "1,2\n" * 20 + f"{10**30},2\n",
    "quoted ends of lines": '"a\nb",2\n' * 30,
    "quoted commas and quotes": '"a,""b""",2\n' * 30,
    "inches": '12",2\n' * 30,
    "windows": "1,2\r\n" * 30,
    "blank lines": "1,2\n\n" * 30 + "\n\n",
    "no last end": "1,2\n" * 30 + "3,4",
    "infinity": "1,2\n" * 30 + "inf,2\n",
}


@pytest.fixture
def small(monkeypatch):
    """Parts of few rows, so that a small file has many."""
    monkeypatch.setattr(csv_stream, "blocks", partial(blocks, size=16))
    monkeypatch.setattr(table_streams, "ROWS", 7)


def streamed(path, wanted):
    with table_stream(str(path)) as stream:
        rows = stream.prepare(wanted, lambda _: None)
        parts = list(stream.parts())
    assert sum(part.num_rows for part in parts) == rows
    assert len(parts) > 1
    return pa.concat_tables(parts)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", BODY)
def test_csv_in_blocks_is_the_table_that_is_read_as_a_whole(name, tmp_path):
    path = tmp_path / "in.csv"
    path.write_bytes(("a,b\n" + BODY[name]).encode())
    whole = tables.read(str(path))
    assert streamed(path, Wanted((), (), ("a", "b"), ("a", "b"))).equals(whole)
    assert streamed(path, Wanted(("a",), (), ("b",), ("b", "a"))).equals(
        tables.read(str(path), text=["a"]).select(["b", "a"])
    )
    if whole.schema.field("a").type in (pa.int64(), pa.float64(), pa.null()):
        as_numbers = streamed(path, Wanted((), ("a",), ("b",), ("a", "b")))
        assert as_numbers["a"].cast(pa.float64()).equals(whole["a"].cast(pa.float64()))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("kind", ["plain", "categories"])
def test_parquet_in_batches_is_the_table_that_is_read_as_a_whole(kind, tmp_path):
    data = pa.table({"a": [f"{i % 5:03}" for i in range(60)], "b": [None, 1.5, 2.0] * 20, "c": [b"x"] * 60})
    if kind == "categories":
        data = data.set_column(0, "a", data["a"].dictionary_encode())
    path = tmp_path / "in.parquet"
    pa.parquet.write_table(data, path, row_group_size=25)
    found = streamed(path, Wanted(("a",), ("b",), (), ("b", "a")))
    assert found.to_pydict() == {"b": data["b"].to_pylist(), "a": data["a"].to_pylist()}
    assert found.schema.field("a").type == pa.string()


@pytest.mark.usefixtures("small")
def test_text_among_numbers_is_named_with_its_row_in_the_file(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("a,b\n" + "1,2\n" * 40 + "?,2\n" + "1,2\n" * 40)
    with pytest.raises(InputError, match=r"column 'a' of .*in\.csv must hold numbers; got '\?' in row 40: convert it"):
        streamed(path, Wanted((), ("a",), (), ("a", "b")))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("column", ["a", "b"])
def test_text_that_is_not_utf_8_is_named(tmp_path, column):
    path = tmp_path / "in.csv"
    path.write_bytes(b"a,b\n" + b"x,y\n" * 40 + (b"\xff,y\n" if column == "a" else b"x,\xff\n"))
    with pytest.raises(InputError, match=f"column '{column}' of .* is not text in UTF-8"):
        streamed(path, Wanted(("a",), (), ("b",), ("a", "b")))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("line", "words"), [
    (b"1\n", "line 42 has 1 cell, but the header has 2"), (b"1,\0\n", "it holds bytes that no text has"),
])  # fmt: skip
def test_a_broken_line_far_below_is_named(tmp_path, line, words):
    path = tmp_path / "in.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 40 + line + b"1,2\n" * 40)
    with pytest.raises(InputError, match=rf"in\.csv cannot be read as csv: {words}"):
        streamed(path, Wanted((), ("a",), (), ("a", "b")))
