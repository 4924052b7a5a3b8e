"""Large files as blocks of lines: broken, cut off or growing ones are refused, and where is said."""

from __future__ import annotations

import re
import zlib

import numpy as np
import paper_files
import pytest

from lambdak.paper.data import files
from lambdak.paper.data.criteo import raw_criteo
from lambdak.paper.data.higgs import higgs
from lambdak.paper.data.miniature import criteo_lines, higgs_lines


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("share", [0.5, 0.999])
def test_a_truncated_archive_is_reported_with_a_line_and_leaves_no_cache(higgs_file, tmp_path, ending, share):
    path = higgs_file(higgs_lines(400), ending)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"HIGGS\.csv.*, line \d+ or soon after: the archive is damaged or cut off"):
        higgs(path, tmp_path / "cache", progress=False)
    assert list(tmp_path.iterdir()) == [path]


def test_a_plain_file_that_ends_within_a_line_is_refused(higgs_file, tmp_path):
    path = higgs_file(higgs_lines(30))
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(ValueError, match="line 30: the file ends within a line"):
        higgs(path, tmp_path / "cache", progress=False)


def test_the_line_of_a_truncated_archive_is_the_last_that_can_be_read_or_a_few_before_it(higgs_file, tmp_path):
    path = higgs_file(higgs_lines(2000), ".gz")
    torn = path.read_bytes()[: path.stat().st_size // 2]
    path.write_bytes(torn)
    readable = zlib.decompressobj(wbits=31).decompress(torn).count(b"\n") + 1
    with pytest.raises(ValueError, match="cut off") as error:
        higgs(path, tmp_path / "cache", progress=False)
    line = int(re.search(r"line (\d+)", str(error.value))[1])
    assert readable - 30 < line <= readable


@pytest.mark.parametrize("load", [higgs, raw_criteo])
def test_what_is_no_parquet_file_is_named(tmp_path, load):
    path = tmp_path / "sample.parquet"
    path.write_bytes(b"PAR1 and then nothing")
    with pytest.raises(ValueError, match=r"sample\.parquet must be a Parquet file"):
        load(path, tmp_path / "cache", progress=False)
    assert not (tmp_path / "cache").exists()


def test_lines_may_end_as_on_windows(higgs_file, tmp_path):
    lines = higgs_lines(30)
    plain = higgs(higgs_file(lines), tmp_path / "plain", progress=False)
    other = higgs(higgs_file([line + b"\r" for line in lines]), tmp_path / "other", progress=False)
    np.testing.assert_array_equal(other.features, plain.features)
    lines[20] = lines[20].replace(b",", b";", 1)
    with pytest.raises(ValueError, match="line 21: must have 29 columns; got 28"):
        higgs(higgs_file([line + b"\r" for line in lines]), tmp_path / "other", progress=False)


@pytest.mark.parametrize(("load", "lines"), [(higgs, higgs_lines), (raw_criteo, criteo_lines)])
def test_a_file_that_grows_while_it_is_read_is_refused_and_leaves_no_cache(tmp_path, monkeypatch, load, lines):
    path = paper_files.write(tmp_path / "rows.txt", lines(200))
    read = files.Source._saw

    def grow(source, data):
        if not source.size:
            with path.open("ab") as file:
                file.write(lines(1)[0] + b"\n")
        read(source, data)

    monkeypatch.setattr(files.Source, "_saw", grow)
    with pytest.raises(ValueError, match=r"rows\.txt was changed while it was read"):
        load(path, tmp_path / "cache", progress=False)
    assert list(tmp_path.iterdir()) == [path]
