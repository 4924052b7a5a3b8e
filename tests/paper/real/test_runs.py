"""The studies of HIGGS and Criteo, end to end on generated files."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow.parquet as pq
import pytest

from lambdak.paper.data.miniature import write_miniature
from lambdak.paper.real import runs
from lambdak.paper.real.protocol import DATASETS, Protocol, real_protocol
from lambdak.paper.real.runs import load, log_loss, run_real, train
from lambdak.paper.real.tuning import tune

pytest.importorskip("torch")


@pytest.mark.slow
@pytest.mark.parametrize("name", DATASETS)
def test_a_quick_study_has_a_row_per_run_and_sample_count(studies, name):
    protocol = real_protocol(name, "quick")
    table = pq.read_table(studies / f"{name}-quick" / "results.parquet")
    assert table.num_rows == len(list(protocol.runs())) * len(protocol.samples)
    assert set(table["model"].to_pylist()) == set(protocol.models)
    losses = np.stack([table[part].to_numpy() for part in ("validation", "test")])
    assert np.isfinite(losses).all()
    assert losses.min() > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("name", DATASETS)
def test_models_learn_something(studies, name):
    curves = list(tune(pq.read_table(studies / f"{name}-quick" / "results.parquet")))
    for model in real_protocol(name, "quick").models:
        first, *later = [curve.median for curve in curves if curve.model == model]
        assert min(later) < first, model  # at the end, they know the few rows of the file by heart


@pytest.mark.slow
@pytest.mark.parametrize("name", DATASETS)
def test_a_study_that_lost_parts_ends_with_the_same_rows(studies, name, tmp_path):
    folder = studies / f"{name}-quick"
    whole = pq.read_table(folder / "results.parquet")
    parts = sorted((folder / "parts").iterdir())
    for part in parts[::4]:
        part.unlink()
    parts[1].write_bytes(parts[1].read_bytes()[:100])  # a torn file counts as lost
    assert next(run_real(name, "quick", studies, progress=False)) == (20 - len(parts[::4]) - 1, 20)
    for _ in run_real(name, "quick", studies, progress=False):
        pass
    assert pq.read_table(folder / "results.parquet").equals(whole)


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


def test_training_stops_at_every_sample_count(tmp_path):
    data = load("higgs", write_miniature("higgs", tmp_path, rows=200), tmp_path, progress=False)["dense"]

    class Counter:
        seen = 0

        def step(self, batch):
            self.seen += len(batch.y)

    model, protocol = Counter(), Protocol((), (), samples=(64, 256, 1024), batch=64)
    assert [(samples, model.seen) for samples in train(model, data, protocol, 0)] == [(n, n) for n in (64, 256, 1024)]


def test_log_loss_of_a_constant_is_that_of_the_label_rate(tmp_path):
    data = load("higgs", write_miniature("higgs", tmp_path, rows=200), tmp_path, progress=False)["dense"]

    class Constant:
        def scores(self, batch):
            return np.full(len(batch.y), 0.5, np.float32)

    y, p = data.labels[160:180], 1 / (1 + np.exp(-0.5))
    expected = -np.mean(np.where(y == 1, np.log(p), np.log(1 - p)))
    assert log_loss(Constant(), data, "validation") == pytest.approx(expected, rel=1e-6)


def test_runs_on_real_data_are_sent_to_workers_without_the_data(tmp_path, monkeypatch):
    sent = []

    def note(folder, config, pieces, workers, dask):
        sent.extend(pieces)
        return iter([])

    monkeypatch.setattr(runs, "run_pieces", note)
    list(run_real("criteo", "quick", tmp_path, progress=False))
    assert len(sent) == 20
    assert all(len(pickle.dumps(piece)) < 5000 for piece in sent)
