"""One cell of a study: which points its models see, and what is measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lambdak.eigen.runtime import get_num_threads, set_num_threads
from lambdak.paper.synthetic import stacks
from lambdak.paper.synthetic.grid import Cell, study
from lambdak.paper.synthetic.stacks import Stack
from lambdak.paper.synthetic.sweep import run_cell
from lambdak.pencil.initial import gapped

TINY_GRID = replace(study("bivariate", "quick"), protocol="own", targets=2, seeds=2, rates=(1e-3, 1e-1), batch=8)


def test_models_that_differ_in_their_rate_alone_start_alike_and_see_the_same_points(monkeypatch):
    cell = Cell(1, "general", 5, 0.1, 3)
    starts, seen = [], []

    class Watched(Stack):
        def step(self, x, y):
            seen.append((x.copy(), y.copy()))
            if len(seen) == 1:
                starts.append(self.coef.copy())
            super().step(x, y)

    monkeypatch.setattr(stacks, "Stack", Watched)
    grid = replace(TINY_GRID, inputs=1)
    run_cell(grid, cell)
    models = starts[0].reshape(4, 2, -1)
    np.testing.assert_array_equal(models[:, 0], models[:, 1])
    assert all(np.abs(models[0] - models[other]).max() > 1e-3 for other in (1, 2, 3))
    assert len(seen) == grid.checkpoints[-1]
    x, y = (np.stack(part) for part in zip(*seen, strict=True))
    assert x.shape == (60, 4, 8, 1)  # streams, not models: one set of points for all rates
    assert len(np.unique(x)) > 0.99 * x.size
    assert -4 <= x.min() < -3.9 < 3.9 < x.max() <= 4
    assert np.isfinite(y).all()


@pytest.mark.parametrize(("fit", "place", "sign"), [("general", 0, 0), ("free", 1, 0), ("monotone", 2, 1)])
@pytest.mark.parametrize("inputs", [1, 2])
def test_starts_and_points_are_those_of_the_published_runs(monkeypatch, inputs, fit, place, sign):
    """Numbers drawn in this order from this generator made the results in the documentation."""
    cell, grid, seen = Cell(inputs, fit, 5, 0.1, 3), replace(TINY_GRID, inputs=inputs), []

    class Watched(Stack):
        def step(self, x, y):
            seen.append((self.coef[..., :6].copy(), x))
            super().step(x, y)

    monkeypatch.setattr(stacks, "Stack", Watched)
    run_cell(grid, cell)
    rng, streams = np.random.default_rng((inputs, place, 5, 100, 3)), grid.targets * grid.seeds
    signs = [0] * (inputs - 1) + [sign]
    starts = [gapped(inputs, 3, random_state=rng, monotonic_cst=signs, dtype=np.float64) for _ in range(streams)]
    np.testing.assert_array_equal(seen[0][0], np.repeat(np.float32(starts), len(grid.rates), axis=0))
    for steps, batch in ((1, grid.measured), (1, grid.batch)):
        x = rng.uniform(-4, 4, (steps, streams, batch, inputs))
        rng.standard_normal((steps, streams, batch))
    np.testing.assert_array_equal(seen[0][1], np.float32(x[0]))


def test_a_rate_does_not_notice_the_other_rates():
    cell = Cell(1, "general", 5, 0.0, 3)
    grid = replace(TINY_GRID, inputs=1)
    both, alone = run_cell(grid, cell), run_cell(replace(grid, rates=grid.rates[1:]), cell)
    np.testing.assert_array_equal(both.validation[:, :, 1:], alone.validation)
    np.testing.assert_array_equal(both.test[:, :, 1:], alone.test)


@pytest.mark.parametrize("fit", ["general", "free", "monotone", "rising-root", "tridiagonal"])
def test_the_number_of_threads_changes_no_bit(fit):
    cell, before = Cell(2, fit, 5, 0.1, 5), get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            set_num_threads(threads)
            results.append(run_cell(TINY_GRID, cell))
    finally:
        set_num_threads(before)
    for other in results[1:]:
        np.testing.assert_array_equal(other.validation, results[0].validation)
        np.testing.assert_array_equal(other.test, results[0].test)


def test_training_learns_and_noise_stays_out_of_the_test_error():
    grid = replace(
        study("univariate", "quick"), protocol="own", checkpoints=(1, 300, 600), measured=512, rates=(1e-2, 1e-1)
    )
    clean, noisy = (run_cell(grid, Cell(1, "general", 5, noise, 5)) for noise in (0.0, 0.1))
    for result in (clean, noisy):
        assert result.test.shape == (2, 1, 2, 3)
        assert (result.test[..., -1] < 0.5 * result.test[..., 0]).all()
    best = noisy.validation[..., -1].min(axis=2)
    assert (best > 0.085).all()  # noise of 0.1 bounds the validation error from below
    assert np.median(noisy.test[..., -1].min(axis=2)) < 0.1
