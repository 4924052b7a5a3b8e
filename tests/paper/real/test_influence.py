"""The tightness of the influence bound on rows."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from lambdak.eigen.packing import packed_size
from lambdak.paper.data.miniature import write_miniature
from lambdak.paper.data.rows import DenseBatch
from lambdak.paper.real.influence import BINS, run_influence, tightness
from lambdak.pencil import Pencil


def random_pencil(dim, n=4, seed=0):
    return Pencil(np.random.default_rng(seed).standard_normal((n + 1, packed_size(dim))), dim // 2)


def rows(count, n=4, seed=1):
    x = np.random.default_rng(seed).standard_normal((count, n), np.float32)
    return [DenseBatch(part, np.zeros(len(part), np.float32)) for part in np.array_split(x, 3)]


@pytest.mark.parametrize("dim", [1, 2, 5, 9])
def test_no_ratio_exceeds_one_and_all_rows_are_counted(dim):
    found = tightness(random_pencil(dim), rows(2000), random_state=0)
    assert found.largest.max() <= 1 + 1e-9
    np.testing.assert_array_equal(found.counts.sum(axis=1), 2000)


def test_the_bound_of_an_additive_model_is_always_attained():
    found = tightness(random_pencil(1), rows(100), random_state=0)
    np.testing.assert_allclose(found.largest, 1.0, atol=1e-6)
    assert found.counts[:, -1].sum() > 0.9 * found.counts.sum()


def test_ratios_are_those_of_lapack():
    pencil, (batch, *_) = random_pencil(3), rows(90)
    found = tightness(pencil, [batch], random_state=7)
    rng = np.random.default_rng(7)
    matrices = pencil.matrices[0] + np.tensordot(batch.x.astype(float), pencil.matrices[1:], axes=1)
    for feature, matrix in enumerate(pencil.matrices[1:]):
        noise = rng.uniform(-0.5, 0.5, len(batch.x))
        moved = np.linalg.eigvalsh(matrices + noise[:, None, None] * matrix)[:, 1]
        change = np.abs(moved - np.linalg.eigvalsh(matrices)[:, 1])
        ratio = change / np.abs(noise) / np.linalg.norm(matrix, 2)
        np.testing.assert_allclose(found.largest[feature], ratio.max(), rtol=1e-9)


def test_a_feature_without_influence_has_ratio_zero():
    packed = random_pencil(3).packed.copy()
    packed[2] = 0.0
    found = tightness(Pencil(packed, 1), rows(60), random_state=0)
    assert found.largest[1] == 0
    assert found.counts[1, 0] == 60


def test_the_table_has_one_row_per_feature_and_bin():
    found = tightness(random_pencil(3), rows(60), random_state=0)
    table = found.table(dim=3)
    assert table.num_rows == 4 * BINS
    assert sum(table["count"].to_pylist()) == 4 * 60
    assert max(table["ratio"].to_pylist()) == 1 - 1 / BINS


@pytest.mark.slow
def test_the_bound_holds_on_the_test_rows_of_a_study(studies):
    assert list(run_influence("quick", studies, progress=False)) == [(0, 1), (1, 1)]
    table = pq.read_table(studies / "higgs-quick" / "influence.parquet")
    assert sum(table["count"].to_pylist()) == 28 * 200
    assert 0 < max(table["largest"].to_pylist()) <= 1 + 1e-9


def test_the_file_of_influence_tells_how_it_was_made(studies):
    list(run_influence("quick", studies, progress=False))
    about = json.loads(pq.read_schema(studies / "higgs-quick" / "influence.parquet").metadata[b"lambdak"])
    config = json.loads((studies / "higgs-quick" / "study.json").read_text())
    assert about.items() >= config.items()
    assert about["influence"].keys() == {"noise", "bins", "seed", "rates", "version"}
    assert about["influence"]["version"] == config["version"]


def test_influence_without_a_study_says_what_to_run(tmp_path):
    with pytest.raises(FileNotFoundError, match="run `lambdak reproduce higgs --profile quick` to its end"):
        list(run_influence("quick", tmp_path))


def test_influence_on_another_file_than_the_studys_is_refused(studies, tmp_path):
    other = write_miniature("higgs", tmp_path, rows=300)
    with pytest.raises(ValueError, match="is not the file that the study"):
        list(run_influence("quick", studies, other, progress=False))
