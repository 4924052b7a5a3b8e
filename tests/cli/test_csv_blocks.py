"""Blocks of a CSV file hold whole rows, whatever is quoted: pyarrow reads them as it reads the whole file.

Tests ``csv_stream``.
"""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lambdak.cli.csv_stream import blocks, end_of_header, end_of_last_row


def parsed(data, names):
    read = pa.csv.ReadOptions(use_threads=False, column_names=names, block_size=max(len(data), 1) + 1)
    text = pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
    rows = pa.csv.read_csv(pa.BufferReader(data), read, pa.csv.ParseOptions(newlines_in_values=True), text)
    return rows.to_pylist()


CELLS = st.one_of(
    st.text("ab1 .'", max_size=5),
    st.text('ab,\n\r"', max_size=6).map(lambda text: '"' + text.replace('"', '""') + '"'),
    st.sampled_from(['12"', 'a"b', '5" x 3"', '"', "", '""', '"a"b', 'x""y']),
)


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=12), st.sampled_from(["\n", "\r\n"]), st.integers(1, 30))
@example([('12"', "a"), ('"x\ny"', "b"), ('3"', '"\n"')], "\n", 5)
def test_blocks_read_as_the_whole_file_does(rows, end, size):
    data = "".join(f"{a},{b}{end}" for a, b in rows).encode()
    found = list(blocks(io.BytesIO(data), ",", size))
    assert b"".join(found) == data
    try:
        wanted = parsed(data, ["a", "b"])
    except pa.ArrowInvalid:  # a quote that is never closed, or another number of cells
        return
    assert [row for block in found if block.strip() for row in parsed(block, ["a", "b"])] == wanted


@pytest.mark.parametrize(("data", "end"), [
    (b"", 0), (b"a,b", 0), (b"a\nb", 2), (b"a\rb\rc", 4), (b'a\n"b\nc', 2), (b'"a\nb', 0), (b'a,12"\nb,12"\nc', 12),
])  # fmt: skip
def test_the_last_row_ends_outside_of_quotes(data, end):
    assert end_of_last_row(data, ",") == end


@pytest.mark.parametrize(("data", "end"), [
    (b"a,b\n1,2", 4), (b"\n\r\na,b\r\n1,2", 7), (b"\xef\xbb\xbfa\r1", 5), (b'"a\nb",c\n1,2', 8), (b"a,b", 3),
])  # fmt: skip
def test_the_header_ends_at_its_first_end_of_a_line_outside_of_quotes(data, end):
    assert end_of_header(data, ",") == end


def test_a_row_longer_than_a_block_is_one_block():
    data = b"1,2\n" + b'"' + b"x\n" * 1000 + b'",3\n4,5\n'
    first, *others = blocks(io.BytesIO(data), ",", 16)
    assert first == b"1,2\n"
    assert others[0].startswith(b'"' + b"x\n" * 1000 + b'",3\n')
    assert b"".join(others) == data[4:]
