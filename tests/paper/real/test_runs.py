"""The studies of HIGGS and Criteo, end to end on generated files.

Tests ``origin``.
"""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from lambdak.paper.data.ids import KINDS
from lambdak.paper.data.miniature import write_miniature
from lambdak.paper.real import runs
from lambdak.paper.real.origin import Origin, find_origin
from lambdak.paper.real.protocol import DATASETS, real_protocol
from lambdak.paper.real.runs import log_loss, run_real, train
from lambdak.paper.real.tuning import choose, tune

pytest.importorskip("torch")


TUNING = 20  # runs: five models, two rates, two starts


@pytest.mark.slow
@pytest.mark.parametrize("name", DATASETS)
def test_a_quick_study_has_a_row_per_run_and_sample_count_of_its_phase(studies, name):
    protocol = real_protocol(name, "quick")
    table = pq.read_table(studies / f"{name}-quick" / "results.parquet").to_pandas()
    tuning, evaluation = (table[table["phase"] == phase] for phase in ("tuning", "evaluation"))
    assert len(tuning) == TUNING * len(protocol.samples)
    assert len(evaluation) == len(protocol.models) * len(list(protocol.evaluation.pairs())) * len(protocol.samples)
    assert set(table["model"]) == set(protocol.models)
    for rows, seen, hidden in ((tuning, "validation", "test"), (evaluation, "test", "validation")):
        assert rows[seen].between(0.1, 10).all()
        assert rows[hidden].isna().all()


@pytest.mark.slow
@pytest.mark.parametrize("name", DATASETS)
def test_only_rates_that_were_chosen_are_evaluated_with_fresh_seeds(studies, name):
    table = pq.read_table(studies / f"{name}-quick" / "results.parquet")
    best = {point: chosen.rate for point, chosen in choose(table).items()}
    rows = table.to_pandas()
    evaluation = rows[rows["phase"] == "evaluation"]
    assert all(best[row.model, row.dim, row.samples] == row.rate for row in evaluation.itertuples())
    assert set(evaluation["data_seed"]) == {1, 2}
    assert set(rows[rows["phase"] == "tuning"]["data_seed"]) == {0}


@pytest.mark.slow
@pytest.mark.parametrize("name", DATASETS)
def test_models_learn_something(studies, name):
    curves = list(tune(pq.read_table(studies / f"{name}-quick" / "results.parquet")))
    for model in real_protocol(name, "quick").models:
        first, *later = [curve.median for curve in curves if curve.model == model]
        assert min(later) < first, model  # at the end, they know the few rows of the file by heart


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["tuning", "evaluation"])
@pytest.mark.parametrize("name", DATASETS)
def test_a_study_that_lost_parts_of_either_phase_ends_with_the_same_rows(studies, name, phase):
    folder = studies / f"{name}-quick"
    whole = pq.read_table(folder / "results.parquet")
    parts = sorted((folder / "parts").glob(f"{phase}-*"))
    lost = parts[::4]
    for part in lost:
        part.unlink()
    parts[1].write_bytes(parts[1].read_bytes()[:100])  # a torn file counts as lost
    steps = run_real(name, "quick", studies, progress=False)
    assert next(steps)[0] == TUNING - (len(lost) + 1) * (phase == "tuning")
    for done, total in steps:
        assert done <= total
    assert done == total == len(list((folder / "parts").iterdir()))
    assert pq.read_table(folder / "results.parquet").to_pandas().equals(whole.to_pandas())  # for which NaN is NaN


@pytest.mark.slow
def test_an_unfinished_evaluation_has_no_results(tmp_path):
    steps = run_real("higgs", "quick", tmp_path, progress=False)
    while next(steps)[0] <= TUNING:
        pass
    steps.close()
    assert not (tmp_path / "higgs-quick" / "results.parquet").exists()


@pytest.mark.slow
def test_the_text_is_a_study_of_its_own(tmp_path):
    *_, (done, total) = run_real("higgs-text", "quick", tmp_path, progress=False)
    assert done == total
    table = pq.read_table(tmp_path / "higgs-text-quick" / "results.parquet").to_pandas()
    assert set(table[table["phase"] == "evaluation"]["start_seed"]) == {5}


@pytest.mark.slow
def test_a_folder_of_other_data_is_refused(studies, tmp_path):
    other = write_miniature("higgs", tmp_path, rows=300)
    with pytest.raises(ValueError, match="holds another study, other data"):
        list(run_real("higgs", "quick", studies, other, progress=False))


def test_the_larger_profiles_ask_for_the_data(tmp_path):
    with pytest.raises(ValueError, match=r"higgs needs its data: give the file with --data, HIGGS\.csv"):
        list(run_real("higgs", "small", tmp_path))


def test_an_unknown_profile_is_refused(tmp_path):
    with pytest.raises(ValueError, match="profile one of"):
        list(run_real("higgs", "huge", tmp_path))


@pytest.fixture
def rows(tmp_path):
    """200 rows of HIGGS."""
    return Origin("higgs", write_miniature("higgs", tmp_path, rows=200), tmp_path).load()["dense"]


def test_training_stops_at_every_sample_count(rows):
    class Counter:
        seen = 0

        def step(self, batch):
            self.seen += len(batch.y)

    model, counts = Counter(), (64, 256, 1024)
    assert [(samples, model.seen) for samples in train(model, rows, counts, 64, 0)] == [(n, n) for n in counts]


def test_the_order_of_the_rows_and_the_start_have_seeds_of_their_own(rows):
    def learned(run):
        model = runs.make_model(run, rows)
        list(train(model, rows, (64,), 64, run.data_seed))
        return model.coef

    base = runs.Run("tuning", "spectral", 3, 0.01, data_seed=0, start_seed=0)
    first, again, order, start = (
        learned(replace(base, **seeds)) for seeds in ({}, {}, {"data_seed": 1}, {"start_seed": 1})
    )
    np.testing.assert_array_equal(first, again)
    assert 0 < np.abs(first - order).max() <= 0.02 + 1e-6  # one step of Adam apart
    assert np.abs(first - start).max() > 0.1


def test_log_loss_of_a_constant_is_that_of_the_label_rate(rows):
    class Constant:
        def scores(self, batch):
            return np.full(len(batch.y), 0.5, np.float32)

    y, p = rows.labels[160:180], 1 / (1 + np.exp(-0.5))
    expected = -np.mean(np.where(y == 1, np.log(p), np.log(1 - p)))
    assert log_loss(Constant(), rows, "validation") == pytest.approx(expected, rel=1e-6)


def test_runs_on_real_data_are_sent_to_workers_without_the_data(tmp_path, monkeypatch):
    sent = []

    def note(folder, config, pieces, workers, dask):
        sent.extend(pieces)
        return iter([(0, len(pieces))])

    monkeypatch.setattr(runs, "make_parts", note)
    next(run_real("criteo", "quick", tmp_path, progress=False))
    assert len(sent) == TUNING
    assert all(len(pickle.dumps(piece)) < 5000 for piece in sent)


def test_protocols_share_the_raw_columns_and_nothing_else(tmp_path):
    for protocol in ("released", "text"):
        for dataset in DATASETS:
            find_origin(dataset, "quick", tmp_path, None, protocol).load()
    caches = {path.name for path in (tmp_path / "cache").iterdir() if path.is_dir()}
    encoded = {f"{name}-miniature-train.txt-{kind}" for name in ("criteo", "criteo-text") for kind in KINDS}
    dense = {f"{name}-miniature-HIGGS.csv" for name in ("higgs", "higgs-text")}
    assert caches == encoded | dense | {"criteo-miniature-train.txt"}
