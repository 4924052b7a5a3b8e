"""Published against ours: the oracle is the table of raw rows, worked through with pandas.

Tests ``published``.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from paper_files import by_pandas, loss, write_real_results

from lambdak.paper.output import compare as module
from lambdak.paper.output.compare import Comparison, compare, print_comparison
from lambdak.paper.output.published import BUDGET, REAL, published
from lambdak.paper.synthetic.grid import STUDIES, Cell


def test_every_published_number_is_compared_whether_it_was_run_or_not(synthetic_studies, tmp_path):
    numbers = sum(published(cell) is not None for grid in STUDIES.values() for cell in grid.cells())
    assert numbers == 2 * (18 + 6)
    assert len(compare(synthetic_studies, "quick")) == len(compare(tmp_path)) == numbers + len(REAL)
    assert {row.verdict for row in compare(tmp_path)} == {"not run"}
    run = [row for row in compare(synthetic_studies, "quick") if row.ours is not None]
    assert [row.about for row in run] == ["general/free, c = 5, clean, d = 5", "general/free, c = 5, noisy, d = 5"] * 2


def test_ours_stands_beside_the_published_number_of_the_same_cell(synthetic_studies):
    first = compare(synthetic_studies, "quick")[0]
    expected = by_pandas(synthetic_studies, "univariate", Cell(1, "general", 5, 0.0, 5))
    assert first.published == 0.0045
    np.testing.assert_allclose([first.rate, *first.ours], expected)


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [((0.1, 0.19, 0.3), "better"), ((0.1, 0.25, 0.3), "within"), ((0.21, 0.25, 0.3), "worse"), (None, "not run")],
)
def test_the_verdict_says_whether_the_published_number_is_beaten_or_within_our_quartiles(ours, verdict):
    assert Comparison("univariate", "a cell", 0.2, ours, samples=BUDGET).verdict == verdict


def test_numbers_after_fewer_samples_are_not_compared():
    assert Comparison("univariate", "a cell", 0.2, (0.1, 0.1, 0.1), samples=BUDGET - 32).verdict == "fewer samples"
    higgs = Comparison("higgs", "spectral, d = 3", 0.2, (0.1, 0.1, 0.1), samples=BUDGET, budget=2**26)
    assert higgs.verdict == "fewer samples"


def test_the_printed_table_has_a_line_per_cell_and_counts_the_verdicts(synthetic_studies):
    text = print_comparison(compare(synthetic_studies, "quick"))
    assert text.count("│ general/free") == 36
    assert "2 fewer samples, 22 not run" in text
    assert text.count("RMSE after 1,920 samples") == 2
    assert max(len(line) for line in text.splitlines()) <= 120


def test_another_data_set_joins_by_one_entry(monkeypatch, tmp_path):
    row = Comparison("higgs", "spectral, d = 3", 0.571, (0.56, 0.57, 0.58), 0.01, 2**26, budget=2**26)
    monkeypatch.setitem(module.SOURCES, "another", lambda study, folder, profile, protocol: iter([row]))
    assert compare(tmp_path)[-1] is row
    text = print_comparison([row])
    assert "│ 67,108,864 │" in text
    assert "read off" not in text


def write_real(folder, last, model="spectral"):
    """Runs of an earlier version, without phases: the higher rate is worse in everything."""
    (folder / "parts").mkdir(parents=True)
    (folder / "study.json").write_text('{"data": {"splits": {"train": [0, 800], "test": [900, 1000]}}}')
    runs = [
        {"model": model, "dim": 3, "rate": rate, "seed": seed, "samples": 2**k, "validation": loss, "test": test}
        for rate, more in ((0.01, 0.0), (0.1, 0.1))
        for seed in range(3)
        for k, loss, test in ((last - 1, 0.5 + more, 0.58 + more), (last, 0.51 + more, 0.56 + more))
    ]
    pq.write_table(pa.Table.from_pylist(runs), folder / "results.parquet")


def of_higgs(results, profile=None):
    return [row for row in compare(results, profile) if row.study == "higgs" and row.ours]


def test_real_data_are_compared_after_the_papers_samples(tmp_path):
    write_real(tmp_path / "higgs-full", 26)
    (row,) = of_higgs(tmp_path)
    assert (row.about, row.published, row.samples, row.rate) == ("spectral, d = 3", 0.571, 2**26, 0.01)
    assert row.ours == pytest.approx((0.56, 0.56, 0.56))
    assert row.verdict == "better"


def test_a_smaller_study_of_real_data_is_compared_after_the_samples_that_validation_chose(tmp_path):
    write_real(tmp_path / "higgs-small", 19)
    (row,) = of_higgs(tmp_path)
    assert (row.samples, row.rows, row.verdict) == (2**18, 800, "fewer samples")
    assert row.ours == pytest.approx((0.58, 0.58, 0.58))
    text = print_comparison([row])
    for words in ("262,144", "800 rows to train on", "10,000,000 rows to train on", "chosen by validation"):
        assert words in text


def test_the_largest_profile_that_was_run_is_compared_and_random_rows_never(tmp_path):
    write_real(tmp_path / "higgs-quick", 12)
    assert not of_higgs(tmp_path)
    assert not of_higgs(tmp_path, "quick")
    write_real(tmp_path / "higgs-small", 19)
    assert [row.samples for row in of_higgs(tmp_path)] == [2**18]
    assert not of_higgs(tmp_path, "full")


def test_losses_have_the_digits_of_the_published_ones(tmp_path):
    assert "0.45785" in print_comparison(compare(tmp_path))


def test_criteo_is_compared_up_to_the_largest_sample_count_of_the_released_runs(tmp_path):
    write_real(tmp_path / "criteo-full", 27, "spectral-bucketed")
    first, second = [row for row in compare(tmp_path) if row.about.startswith("spectral-bucketed, d = 3")]
    assert (first.published, first.budget, first.samples, first.verdict) == (0.45713, 2**26, 2**26, "worse")
    assert (second.published, second.budget, second.verdict) == (0.45635, 2**28, "fewer samples")
    assert second.about == "spectral-bucketed, d = 3, 2^28"
    text = print_comparison([first, second])
    assert "after 67,108,864 samples." in text
    assert "Rows that end in 2^28: after 268,435,456 samples." in text


def test_runs_that_follow_the_text_are_compared_when_it_is_said(tmp_path):
    write_real(tmp_path / "higgs-text-full", 26)
    assert not of_higgs(tmp_path)
    (row,) = [row for row in compare(tmp_path, protocol="text") if row.ours]
    assert row.samples == 2**26


def test_fresh_runs_are_compared_and_not_those_that_chose_the_rate(tmp_path):
    folder = write_real_results(tmp_path, "higgs", "full")
    row = next(row for row in of_higgs(tmp_path) if row.about == "spectral, d = 3")
    assert row.samples == 2**26
    assert row.ours[1] == pytest.approx(loss("spectral", 3, row.rate, 1, 2**26) + 0.05)
    assert folder.name == "higgs-full"
