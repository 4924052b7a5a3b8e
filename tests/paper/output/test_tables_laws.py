"""The table of the scaling laws."""

from __future__ import annotations

import csv

import pytest
from law_cases import TRUTH, curves_of

from lambdak.paper.output.tables import write_laws


def test_the_table_names_the_best_form_and_its_exponents(tmp_path):
    as_csv, as_markdown = write_laws([curves_of("squares, coupled", spread=0.1)], tmp_path, times=5)
    with as_csv.open() as lines:
        (row,) = csv.DictReader(lines)
    for name, value in zip(("alpha", "beta", "gamma"), TRUTH[[1, 3, 4]], strict=True):
        assert float(row[name]) == pytest.approx(value, abs=0.01)
        assert float(row[f"{name}_low"]) <= float(row[f"{name}_high"]) + 1e-6
    assert float(row["fitted"]) == pytest.approx(1.0, abs=1e-3)
    text = as_markdown.read_text()
    assert "the best, squares, coupled" in text
    assert "| 1 | general | 20 | 0.0 | 0.90 [" in text
