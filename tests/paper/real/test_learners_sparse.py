"""The spectral neuron on sparse rows: the same as on dense ones, and rows that are not active stand still."""

import numpy as np

from lambdak.eigen import steps as _steps
from lambdak.eigen.packing import sym
from lambdak.paper.data.rows import SparseBatch
from lambdak.paper.real import learners
from lambdak.paper.real.learners import SparseSpectral


def make_batch(rows, n_ids, active=3, seed=0):
    rng = np.random.default_rng(seed)
    ids = np.zeros((rows, active + 1), np.int32)
    ids[:, 1:] = rng.integers(1, n_ids, (rows, active))
    weights = rng.uniform(0.5, 1.5, ids.shape).astype(np.float32)
    weights[:, 0] = 1.0
    return SparseBatch(ids, weights, (rng.random(rows) < 0.5).astype(np.float32))


def as_dense(batch, n_ids):
    design = np.zeros((len(batch.y), n_ids))
    np.add.at(design, (np.arange(len(batch.y))[:, None], batch.ids), batch.weights)
    return design


def gradient(coef, batch, index):
    """Of the mean log-loss, in float64, by LAPACK, in packed coordinates."""
    design = as_dense(batch, len(coef))
    values, vectors = np.linalg.eigh(sym(design @ coef))
    value, v = values[:, index], vectors[:, :, index]
    slope = (1 / (1 + np.exp(-value)) - batch.y) / len(value)
    row, column = np.tril_indices(v.shape[1])
    outer = v[:, row] * v[:, column] * np.where(row == column, 1.0, np.sqrt(2.0))
    return design.T @ (slope[:, None] * outer)


def test_scores_and_the_gradient_of_a_first_step_equal_those_of_dense_rows():
    model, batch = SparseSpectral(12, 3, 1e-2, 0, active=3), make_batch(50, 12)
    coef = model.coef.astype(np.float64)
    expected = np.linalg.eigvalsh(sym(as_dense(batch, 12) @ coef))[:, 1]
    np.testing.assert_allclose(model.scores(batch), expected, atol=2e-6)
    model.step(batch)
    assert not model.table[..., 6:].any()
    np.testing.assert_allclose(model.table[:, 1, :6], 0.1 * gradient(coef, batch, 1), atol=1e-7)


def test_steps_are_those_of_sparse_adam():
    model = SparseSpectral(40, 3, 1e-2, 0, active=3)
    coef = model.coef.astype(np.float64)
    first, second = np.zeros_like(coef), np.zeros_like(coef)
    for step in range(1, 5):
        batch = make_batch(16, 40, seed=step)
        touched = np.unique(batch.ids)
        grad = gradient(coef, batch, 1)[touched]
        first[touched] += 0.1 * (grad - first[touched])
        second[touched] += 0.001 * (grad**2 - second[touched])
        size = np.sqrt(second[touched] / (1 - 0.999**step)) + 1e-8
        coef[touched] -= 1e-2 / (1 - 0.9**step) * first[touched] / size
        model.step(batch)
    sizeable = (np.abs(first) > 1e-5) | (first == 0)  # Adam turns a gradient lost in rounding into a full step
    assert sizeable.mean() > 0.9
    np.testing.assert_allclose(model.coef[sizeable], coef[sizeable], atol=3e-5)


def test_rows_that_are_not_active_stay_bit_identical():
    model, batch = SparseSpectral(500, 5, 1e-1, 0, active=3), make_batch(32, 500)
    model.step(make_batch(32, 500, seed=1))
    before = model.table.copy()
    model.step(batch)
    idle = np.setdiff1d(np.arange(500), batch.ids)
    assert idle.size
    np.testing.assert_array_equal(model.table[idle], before[idle])
    named = np.unique(batch.ids)
    assert (model.table[named, 0] != before[named, 0]).any(axis=1).all()


def test_a_second_thread_does_not_change_a_bit():
    batch, tables = make_batch(4096, 50_000, active=6), []
    for threads in (1, 2):
        model = SparseSpectral(50_000, 3, 1e-2, 0, active=6, threads=threads)
        model.step(batch)
        model.step(batch)
        tables.append(model.table)
    np.testing.assert_array_equal(*tables)


def test_the_kernel_and_the_reference_learn_the_same(monkeypatch):
    batches, models = [make_batch(64, 300, seed=seed) for seed in range(3)], []
    for engine in (_steps.step_engine(), _steps):
        monkeypatch.setattr(learners, "step_engine", lambda engine=engine: engine)
        models.append(SparseSpectral(300, 5, 1e-3, 0, active=3))
        for batch in batches:
            models[-1].step(batch)
    first, second = (model.table for model in models)
    np.testing.assert_allclose(first[:, 1:], second[:, 1:], atol=1e-7)  # the moments
    sizeable = np.abs(first[:, 1]) > 1e-5  # Adam turns a gradient lost in rounding into a full step
    assert sizeable.sum() > 1000
    np.testing.assert_allclose(first[:, 0][sizeable], second[:, 0][sizeable], atol=1e-5)


def test_a_row_of_the_table_begins_where_a_cache_line_does():
    assert SparseSpectral(12, 3, 1e-2, 0, active=3).table.ctypes.data % 64 == 0


def test_the_start_is_gapped_for_the_active_ids_of_a_row():
    coef = SparseSpectral(200_000, 3, 1e-2, 0).coef
    np.testing.assert_allclose(np.linalg.eigvalsh(sym(coef[0].astype(np.float64))), [-1, 0, 1], atol=1e-6)
    diagonal = coef[1:, [0, 2, 5]]
    assert np.abs(diagonal).max() <= 39**-0.5 + 1 / (4 * 5 * 39) + 1e-6
    assert len(np.unique(diagonal[:, 0])) > 190_000  # blocks do not repeat each other
    assert not coef[1:, [1, 3, 4]].any()
