"""The studies of HIGGS and Criteo, end to end on generated files."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lambdak.paper.data.miniature import write_miniature
from lambdak.paper.real.influence import run_influence
from lambdak.paper.real.protocol import DATASETS, Protocol, Run, real_protocol
from lambdak.paper.real.runs import load, log_loss, run_real, train
from lambdak.paper.real.tuning import tune

pytest.importorskip("torch")
from lambdak.paper.data.rows import DenseBatch, SparseBatch
from lambdak.paper.real.baselines import (
    dense_reference,
    factorisation_machine,
    matched_width,
    perceptron,
    sparse_reference,
)  # fmt: skip
from lambdak.paper.real.dense import DenseSpectral
from lambdak.paper.real.sparse import SparseSpectral


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    out = tmp_path_factory.mktemp("studies")
    for name in DATASETS:
        assert list(run_real(name, "quick", out, progress=False))[-1] == (20, 20)
    return out


@pytest.mark.parametrize("name", DATASETS)
def test_a_quick_study_has_a_row_per_run_and_sample_count(studies, name):
    protocol = real_protocol(name, "quick")
    table = pq.read_table(studies / f"{name}-quick" / "results.parquet")
    assert table.num_rows == len(list(protocol.runs())) * len(protocol.samples)
    assert set(table["model"].to_pylist()) == set(protocol.models)
    losses = np.stack([table[part].to_numpy() for part in ("validation", "test")])
    assert np.isfinite(losses).all()
    assert losses.min() > 0.1


@pytest.mark.parametrize("name", DATASETS)
def test_models_learn_something(studies, name):
    curves = list(tune(pq.read_table(studies / f"{name}-quick" / "results.parquet")))
    for model in real_protocol(name, "quick").models:
        first, *later = [curve.median for curve in curves if curve.model == model]
        assert min(later) < first, model  # at the end, they know the few rows of the file by heart


def test_the_bound_holds_on_the_test_rows_of_a_study(studies):
    assert list(run_influence("quick", studies, progress=False)) == [(0, 1), (1, 1)]
    table = pq.read_table(studies / "higgs-quick" / "influence.parquet")
    assert sum(table["count"].to_pylist()) == 28 * 200
    assert 0 < max(table["largest"].to_pylist()) <= 1 + 1e-9


def test_the_file_of_influence_tells_how_it_was_made(studies):
    list(run_influence("quick", studies, progress=False))
    about = json.loads(pq.read_schema(studies / "higgs-quick" / "influence.parquet").metadata[b"lambdak"])
    claim = json.loads((studies / "higgs-quick" / "study.json").read_text())
    assert about.items() >= claim.items()
    assert about["influence"].keys() == {"noise", "bins", "seed", "rates", "version"}
    assert about["influence"]["version"] == claim["version"]


def test_influence_without_a_study_says_what_to_run(tmp_path):
    with pytest.raises(FileNotFoundError, match="run `lambdak reproduce higgs --profile quick` to its end"):
        list(run_influence("quick", tmp_path))


def test_influence_on_another_file_than_the_studys_is_refused(studies, tmp_path):
    other = write_miniature("higgs", tmp_path, rows=300)
    with pytest.raises(ValueError, match="is not the file that the study"):
        list(run_influence("quick", studies, other, progress=False))


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


def test_a_folder_of_other_data_is_refused(studies, tmp_path):
    other = write_miniature("higgs", tmp_path, rows=300)
    with pytest.raises(ValueError, match="holds another study, other data"):
        list(run_real("higgs", "quick", studies, other, progress=False))


def test_the_larger_profiles_ask_for_the_data(tmp_path):
    with pytest.raises(ValueError, match=r"higgs needs its data: name the file by --data, HIGGS\.csv"):
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


def test_validation_chooses_the_rate_and_test_does_not():
    table = pa.table(
        {
            "model": ["m"] * 6,
            "dim": [3] * 6,
            "rate": [0.1, 0.1, 0.1, 0.01, 0.01, 0.01],
            "seed": [0, 1, 2] * 2,
            "samples": [64] * 6,
            "validation": [0.5, 0.4, np.nan, 0.45, 0.46, 0.47],
            "test": [0.1, 0.1, 0.1, 0.3, 0.2, 0.4],
        }
    )
    (found,) = tune(table)
    assert (found.rate, found.validation, found.low, found.median, found.high) == (0.01, 0.46, 0.25, 0.3, 0.35)


def test_runs_know_their_preprocessing():
    assert [Run(model, 3, 0.1, 0).kind for model in ("spectral", "mlp-2", "fm", "linear-continuous")] == [
        "dense", "dense", "bucketed", "continuous",
    ]  # fmt: skip


# PyTorch's side


def test_widths_and_sizes_are_those_of_the_released_runs():
    released = {3: (6, 5, 4), 7: (27, 17, 14), 11: (64, 31, 24)}
    counts = {3: (181, 181, 161), 7: (811, 817, 841), 11: (1921, 1923, 1921)}
    for dim, widths in released.items():
        parameters = 29 * dim * (dim + 1) // 2
        assert tuple(matched_width(28, depth, parameters) for depth in (1, 2, 3)) == widths
        nets = [perceptron(28, [width] * depth, 0.1, 0) for depth, width in enumerate(widths, 1)]
        assert tuple(net.n_parameters for net in nets) == counts[dim]


def test_the_dense_reference_is_our_model():
    rng = np.random.default_rng(0)
    ours, theirs = DenseSpectral(6, 5, 1e-2, 3), dense_reference(6, 5, 1e-2, 3)
    for _ in range(5):
        x = rng.standard_normal((256, 6), np.float32)
        batch = DenseBatch(x, (x[:, 0] > 0).astype(np.float32))
        np.testing.assert_allclose(ours.scores(batch), theirs.scores(batch), atol=1e-4)
        ours.step(batch)
        theirs.step(batch)


def sparse_batch(rng, rows=64, n_ids=30):
    ids = np.zeros((rows, 4), np.int32)
    ids[:, 1:] = rng.integers(1, n_ids, (rows, 3))
    return SparseBatch(ids, np.ones(ids.shape, np.float32), (ids[:, 1] < 10).astype(np.float32))


def test_the_sparse_reference_is_our_model():
    rng = np.random.default_rng(0)
    ours = SparseSpectral(30, 3, 1e-2, 0, active=3)
    theirs = sparse_reference(ours.coef, 3, 1e-2)
    for _ in range(5):
        batch = sparse_batch(rng)
        np.testing.assert_allclose(ours.scores(batch), theirs.scores(batch), atol=2e-3)
        ours.step(batch)
        theirs.step(batch)


def test_the_factorisation_machine_adds_up_all_pairs():
    rng = np.random.default_rng(0)
    model, batch = factorisation_machine(30, 4, 1e-1, 0), sparse_batch(rng)
    for _ in range(20):
        model.step(sparse_batch(rng))
    (weight,), (constant,) = model.sparse_parameters, model.dense_parameters
    rows = weight.detach().numpy()[batch.ids[:, 1:]].astype(np.float64)  # (rows, 3, 1 + 4)
    pairs = sum((rows[:, i, 1:] * rows[:, j, 1:]).sum(axis=1) for i in range(3) for j in range(i))
    expected = constant.item() + rows[..., 0].sum(axis=1) + pairs
    np.testing.assert_allclose(model.scores(batch), expected, atol=1e-5)
    assert np.abs(pairs).max() > 1e-3


def test_seeds_make_baselines_reproducible_and_leave_the_global_state_alone():
    import torch

    before = torch.random.get_rng_state()
    batch = DenseBatch(np.ones((3, 5), np.float32), np.ones(3, np.float32))
    first, again, other = (perceptron(5, [4], 0.1, seed).scores(batch) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()
    assert torch.equal(before, torch.random.get_rng_state())
