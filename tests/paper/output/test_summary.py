"""Summaries of a study: the oracle is the table of raw rows, worked through with pandas."""

from __future__ import annotations

import csv
from io import StringIO

import numpy as np
import pytest
from paper_files import by_pandas

from lambdak.paper.output.summary import Summary, as_csv, as_markdown, summarise, write_summary
from lambdak.paper.synthetic.grid import STUDIES, Cell


@pytest.mark.parametrize("name", STUDIES)
def test_a_summary_is_what_the_rows_say(synthetic_studies, name):
    summaries = list(summarise(synthetic_studies / f"{name}-quick"))
    assert len(summaries) == 12
    for each in summaries:
        expected = by_pandas(synthetic_studies, name, each.cell)
        np.testing.assert_allclose([each.rate, each.low, each.median, each.high], expected)
        assert each.samples == 60 * 32


SUMMARIES = [
    Summary(Cell(1, "monotone", 5, 0.1, 5), 320, 0.1, 0.1, 0.2, 0.3),
    Summary(Cell(1, "general", 5, 0.0, 15), 320, 0.01, 0.001, 0.00212345, 0.003),
    Summary(Cell(1, "general", 5, 0.0, 5), 320, 0.1, 0.01, 0.02, float("inf")),
]


def test_the_csv_has_one_line_per_cell():
    lines = list(csv.DictReader(StringIO(as_csv(SUMMARIES))))
    assert [(line["fit"], int(line["dim"]), float(line["median"])) for line in lines] == [
        ("monotone", 5, 0.2), ("general", 15, 0.00212345), ("general", 5, 0.02),
    ]  # fmt: skip


def test_the_markdown_table_has_cells_in_rows_and_dims_in_columns():
    lines = as_markdown("One input", SUMMARIES, {"time": "3 minutes"}).splitlines()
    assert lines[:3] == ["# One input", "", "- time: 3 minutes"]
    assert lines[-4:] == [
        "| target/model | d = 5 | d = 15 |",
        "|---|---|---|",
        "| general/free, c = 5, clean | 0.02 [0.01, inf] | 0.00212 [0.001, 0.003] |",
        "| monotone/monotone, c = 5, noisy | 0.2 [0.1, 0.3] |  |",
    ]


def test_a_summary_is_written_beside_others(synthetic_studies, tmp_path):
    paths = [
        path for name in STUDIES for path in write_summary(synthetic_studies / f"{name}-quick", tmp_path / "docs", name)
    ]
    assert [path.name for path in paths] == [f"{n}-quick.{end}" for n in STUDIES for end in ("csv", "md")]
    assert all(path.stat().st_size > 300 for path in paths)


def test_an_unfinished_study_has_no_summary(tmp_path):
    with pytest.raises(FileNotFoundError, match="lambdak reproduce"):
        write_summary(tmp_path / "univariate-full", tmp_path, "One input")
