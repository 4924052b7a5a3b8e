"""Small random files in the formats of the published ones."""

from __future__ import annotations

import pytest

from lambdak.paper.data.miniature import write_miniature


@pytest.mark.parametrize(("name", "separator", "columns"), [("higgs", ",", 29), ("criteo", "\t", 40)])
def test_a_file_has_the_columns_of_the_published_one_and_is_written_once(tmp_path, name, separator, columns):
    path = write_miniature(name, tmp_path / "new", rows=30)
    lines = path.read_text().splitlines()
    assert len(lines) == 30
    assert {len(line.split(separator)) for line in lines} == {columns}
    assert write_miniature(name, tmp_path / "new", rows=60) == path
    assert len(path.read_text().splitlines()) == 30
