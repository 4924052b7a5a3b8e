"""How much of the influence bound is used on rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lambdak.eigen.packing import packed_size
from lambdak.paper.data.rows import DenseBatch
from lambdak.paper.real.ratios import BINS, SHELLS, by_dim, histogram_median, measure_ratios, read_ratios
from lambdak.pencil import Pencil


def random_pencil(dim, n=4, seed=0):
    return Pencil(np.random.default_rng(seed).standard_normal((n + 1, packed_size(dim))), dim // 2)


def rows(count, n=4, seed=1):
    x = np.random.default_rng(seed).standard_normal((count, n), np.float32)
    return [DenseBatch(part, np.zeros(len(part), np.float32)) for part in np.array_split(x, 3)]


def by_lapack(pencil, x, seed):
    """|δ| and ratios (features, rows), feature after feature."""
    rng = np.random.default_rng(seed)
    matrices = pencil.matrices[0] + np.tensordot(x.astype(float), pencil.matrices[1:], axes=1)
    before = np.linalg.eigvalsh(matrices)[:, pencil.eig_idx]
    sizes, ratios = [], []
    for matrix in pencil.matrices[1:]:
        noise = rng.uniform(-0.5, 0.5, len(x))
        moved = np.linalg.eigvalsh(matrices + noise[:, None, None] * matrix)[:, pencil.eig_idx]
        sizes.append(np.abs(noise))
        ratios.append(np.abs(moved - before) / np.abs(noise) / np.linalg.norm(matrix, 2))
    return np.array(sizes), np.array(ratios)


@pytest.mark.parametrize("dim", [1, 2, 5, 9])
def test_no_ratio_exceeds_one_and_all_rows_are_counted(dim):
    found = measure_ratios(random_pencil(dim), rows(2000), random_state=0)
    assert found.largest.max() <= 1 + 1e-9
    assert not found.above.any()
    np.testing.assert_array_equal(found.counts.sum(axis=(1, 2)), 2000)


def test_the_bound_of_an_additive_model_is_always_attained():
    found = measure_ratios(random_pencil(1), rows(100), random_state=0)
    np.testing.assert_allclose(found.largest[found.largest > 0], 1.0, atol=1e-6)
    assert found.counts[..., -1].sum() > 0.9 * found.counts.sum()
    assert found.mean == pytest.approx(1.0)


def test_ratios_are_those_of_lapack_in_every_shell_and_bin():
    pencil, (batch, *_) = random_pencil(3), rows(900)
    found = measure_ratios(pencil, [batch], random_state=7)
    for feature, (sizes, ratios) in enumerate(zip(*by_lapack(pencil, batch.x, 7), strict=True)):
        edges = np.linspace(0, 0.5, SHELLS + 1), np.linspace(0, 1, BINS + 1)
        np.testing.assert_array_equal(found.counts[feature], np.histogram2d(sizes, ratios, edges)[0])
        shell = np.digitize(sizes, edges[0]) - 1
        for place in range(SHELLS):
            own = ratios[shell == place]
            np.testing.assert_allclose(found.largest[feature, place], own.max(), rtol=1e-9)
            np.testing.assert_allclose(found.sums[feature, place], own.sum(), rtol=1e-9)


def test_a_change_beyond_the_bound_would_be_counted(monkeypatch):
    pencil = random_pencil(3)
    monkeypatch.setattr(Pencil, "norms", property(lambda self: np.full(4, 1e-3)))
    assert measure_ratios(pencil, rows(60), random_state=0).above.sum() > 200


def test_a_feature_without_influence_has_no_ratios():
    packed = random_pencil(3).packed.copy()
    packed[2] = 0.0
    found = measure_ratios(Pencil(packed, 1), rows(60), random_state=0)
    np.testing.assert_array_equal(found.counts.sum(axis=(1, 2)), [60, 0, 60, 60])
    assert found.largest[1].max() == 0


def test_the_median_is_that_of_the_ratios_to_a_bin():
    pencil, (batch, *_) = random_pencil(5), rows(900)
    found, ratios = measure_ratios(pencil, [batch], 3), by_lapack(pencil, batch.x, 3)[1]
    assert found.median == pytest.approx(np.median(ratios), abs=1 / BINS)
    assert found.mean == pytest.approx(ratios.mean())
    assert np.isnan(histogram_median(np.zeros(BINS, int)))


def test_tables_of_several_models_add_up():
    pencils = [random_pencil(dim, seed=seed) for dim in (3, 5) for seed in (0, 1)]
    found = [measure_ratios(pencil, rows(60), random_state=0) for pencil in pencils]
    facts = [{"dim": pencil.dim, "data_seed": 1, "start_seed": i % 2} for i, pencil in enumerate(pencils)]
    tables = [each.table(about) for each, about in zip(found, facts, strict=True)]
    assert {table.num_rows for table in tables} == {4 * SHELLS}
    for dim, (first, second), each in zip(
        (3, 5), (found[:2], found[2:]), by_dim(pa.concat_tables(tables)), strict=True
    ):
        assert (each.dim, each.models, each.ratios, each.above) == (dim, 2, 2 * 4 * 60, 0)
        assert each.largest == max(first.largest.max(), second.largest.max())
        assert each.mean == pytest.approx((first.mean + second.mean) / 2)
    both = read_ratios(pa.concat_tables(tables[:2]))
    np.testing.assert_array_equal(both.counts, found[0].counts + found[1].counts)
    np.testing.assert_array_equal(both.largest, np.maximum(found[0].largest, found[1].largest))
