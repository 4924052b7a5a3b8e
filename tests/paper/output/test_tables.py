"""Tables of all studies: one line per cell, or per point of a curve, of those that are finished."""

from __future__ import annotations

import csv

import pytest

pa = pytest.importorskip("pyarrow")

from lambdak.paper import parts  # noqa: E402
from lambdak.paper.output.summary import summarise  # noqa: E402
from lambdak.paper.output.tables import write_tables  # noqa: E402
from lambdak.paper.real.tuning import tune  # noqa: E402
from lambdak.paper.synthetic import results  # noqa: E402
from lambdak.paper.synthetic.grid import study  # noqa: E402

SYNTHETIC = ("univariate", "univariate-scaling")
LOSSES = {"model": ["linear"] * 4, "dim": [0] * 4, "rate": [0.1, 0.1, 0.2, 0.2], "seed": [0, 1] * 2}
LOSSES |= {"samples": [64] * 4, "validation": [0.6, 0.7, 0.4, 0.5], "test": [0.61, 0.71, 0.41, 0.51]}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("studies")
    for name in SYNTHETIC:
        list(results.run_study(name, "quick", out))
    piece = parts.Piece("all", 4, lambda threads: pa.table(LOSSES))
    list(parts.run_pieces(out / "higgs-quick", {"study": "higgs"}, [piece]))
    return out


@pytest.fixture(scope="module")
def written(finished, tmp_path_factory):
    return write_tables(finished, tmp_path_factory.mktemp("tables") / "new", times=2)


def lines(path):
    with path.open() as text:
        return list(csv.DictReader(text))


@pytest.mark.slow
def test_every_finished_study_has_its_tables_and_scaling_studies_their_laws(written):
    names = [f"{name}.{end}" for name in ("univariate-quick", "univariate-scaling-quick") for end in ("csv", "md")]
    assert [path.name for path in written.paths] == [*names, "higgs-quick.csv", "scaling-laws.csv", "scaling-laws.md"]
    assert all(path.exists() for path in written.paths)
    assert written.unfinished == ()


@pytest.mark.slow
def test_a_synthetic_study_has_a_line_per_cell_with_its_median(finished, written):
    found = lines(written.paths[0])
    medians = [each.median for each in summarise(finished / "univariate-quick")]
    assert [float(line["median"]) for line in found] == pytest.approx(medians, rel=1e-5)


@pytest.mark.slow
def test_the_heading_and_the_facts_are_those_of_the_grid_that_was_run(written):
    grid = study("univariate-scaling", "quick")
    text = written.paths[3].read_text()
    assert text.startswith(f"# One input, dims up to {max(grid.dims)}\n")
    assert f"- models: {len(list(grid.cells())) * grid.models}; targets: 2, seeds: 1, rates: 0.001, 0.01, 0.1" in text
    assert written.paths[1].read_text().startswith("# One input: the quick grid\n")


@pytest.mark.slow
def test_a_data_set_has_a_line_per_point_of_the_curves(written):
    (line,), (curve,) = lines(written.paths[4]), tune(pa.table(LOSSES))
    assert (line["model"], float(line["rate"]), float(line["median"])) == ("linear", 0.2, pytest.approx(0.46))
    assert line.keys() == vars(curve).keys()


def test_an_unfinished_study_is_reported_and_has_no_table(tmp_path):
    next(results.run_study("univariate", "small", tmp_path))
    found = write_tables(tmp_path, tmp_path / "tables")
    assert found.paths == ()
    assert found.unfinished == (tmp_path / "univariate-small",)


def test_influence_and_tightness_have_a_line_per_dim_and_strength(real_results, tmp_path):
    found = {path.name: lines(path) for path in write_tables(real_results, tmp_path).paths}
    assert set(found) == {f"{name}-quick.csv" for name in ("higgs", "criteo", "influence", "tightness")}
    assert [(line["dim"], line["models"], line["above"]) for line in found["influence-quick.csv"]] == [
        ("3", "2", "0"), ("7", "2", "0"),
    ]  # fmt: skip
    assert [(line["dim"], line["strength"]) for line in found["tightness-quick.csv"]] == [
        (dim, strength) for dim in ("3", "7") for strength in ("0", "0.01", "0.1")
    ]
    first = found["higgs-quick.csv"][0]
    assert (first["model"], first["rate"]) == ("spectral", "0.01")
    assert float(first["median"]) > float(first["validation"]) + 0.04  # tested by fresh runs, validated by others
