"""The competitors in PyTorch, and the plain reference of our own model.

Tests ``learner``.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
from lambdak.paper.data.rows import DenseBatch, SparseBatch
from lambdak.paper.real.baselines import (
    dense_reference,
    factorisation_machine,
    matched_width,
    perceptron,
    sparse_reference,
)  # fmt: skip
from lambdak.paper.real.learners import DenseSpectral, SparseSpectral


@pytest.mark.slow
def test_widths_and_sizes_are_those_of_the_released_runs():
    released = {3: (6, 5, 4), 7: (27, 17, 14), 11: (64, 31, 24)}
    counts = {3: (181, 181, 161), 7: (811, 817, 841), 11: (1921, 1923, 1921)}
    for dim, widths in released.items():
        parameters = 29 * dim * (dim + 1) // 2
        assert tuple(matched_width(28, depth, parameters) for depth in (1, 2, 3)) == widths
        nets = [perceptron(28, [width] * depth, 0.1, 0) for depth, width in enumerate(widths, 1)]
        assert tuple(net.n_parameters for net in nets) == counts[dim]


@pytest.mark.parametrize("jitter", [0.0, 1.0])
def test_the_dense_reference_is_our_model(jitter):
    rng = np.random.default_rng(0)
    ours, theirs = DenseSpectral(6, 5, 1e-2, 3, jitter=jitter), dense_reference(6, 5, 1e-2, 3, jitter)
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
