"""The study of the influence bound on the reported HIGGS models."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from lambdak.paper.data.miniature import write_miniature
from lambdak.paper.parts import read_results
from lambdak.paper.real.influence import run_influence
from lambdak.paper.real.protocol import real_protocol
from lambdak.paper.real.ratios import BINS, SHELLS
from lambdak.paper.real.tuning import choose


@pytest.fixture(scope="module")
def measured(studies):
    """The results of the quick study."""
    assert list(run_influence("quick", studies, progress=False)) == [(0, 2), (1, 2), (2, 2)]
    return read_results(studies / "influence-quick").to_pandas()


@pytest.mark.slow
def test_the_bound_holds_on_the_test_rows_for_every_reported_model(measured):
    pairs = set(real_protocol("higgs", "quick").evaluation.pairs())
    assert set(measured[["data_seed", "start_seed"]].itertuples(index=False, name=None)) == pairs
    assert len(measured) == len(pairs) * 28 * SHELLS
    assert np.stack(measured["counts"]).shape[1] == BINS
    assert np.stack(measured["counts"]).sum() == len(pairs) * 28 * 200
    assert 0 < measured["largest"].max() <= 1 + 1e-9
    assert not measured["above"].any()


def test_in_full_there_are_twenty_four_models_per_dim_a_hundred_bins_and_sixteen_shells():
    assert len(list(real_protocol("higgs", "full").evaluation.pairs())) == 24
    assert (BINS, SHELLS) == (100, 16)


def test_the_small_profile_measures_every_dim_of_the_paper():
    assert real_protocol("higgs", "small").dims == real_protocol("higgs", "full").dims == (3, 7, 11)
    assert real_protocol("criteo", "small").dims == (3, 7)


@pytest.mark.slow
def test_models_have_the_rate_that_was_chosen_for_the_largest_sample_count(studies, measured):
    best = choose(read_results(studies / "higgs-quick"))
    assert set(measured["rate"]) == {best["spectral", 3, 2**12].rate}


@pytest.mark.slow
def test_the_study_tells_how_it_was_made(studies, measured):
    about = json.loads(pq.read_schema(studies / "influence-quick" / "results.parquet").metadata[b"lambdak"])
    config = json.loads((studies / "higgs-quick" / "study.json").read_text())
    assert about["data"] == config["data"]
    assert about["protocol"] == config["protocol"]
    assert about["influence"].keys() == {"noise", "bins", "shells", "seed", "rates"}
    assert about["version"] == config["version"]


@pytest.mark.slow
def test_a_study_that_lost_a_model_measures_that_one_again(studies, measured):
    part, *_ = (studies / "influence-quick" / "parts").iterdir()
    part.unlink()
    assert list(run_influence("quick", studies, progress=False)) == [(1, 2), (2, 2)]
    assert np.array_equal(
        np.stack(read_results(studies / "influence-quick").to_pandas()["counts"]), np.stack(measured["counts"])
    )


@pytest.mark.parametrize(("protocol", "command"), [("released", "higgs"), ("text", "higgs --protocol text")])
def test_influence_without_a_study_says_what_to_run(tmp_path, protocol, command):
    with pytest.raises(FileNotFoundError, match=f"run `lambdak reproduce {command} --profile quick` to its end"):
        run_influence("quick", tmp_path, protocol=protocol)


@pytest.mark.slow
def test_influence_on_another_file_than_the_studys_is_refused(studies, tmp_path):
    other = write_miniature("higgs", tmp_path, rows=300)
    with pytest.raises(ValueError, match="is not the file that the study"):
        run_influence("quick", studies, other, progress=False)
