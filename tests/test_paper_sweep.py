"""A cell of models trained at once; the oracle is a float64 loop over single models: LAPACK, and Adam by the book."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lambdak.packing import packed_size, sym
from lambdak.paper import sweep
from lambdak.paper.grid import Cell, study
from lambdak.paper.sweep import CONSTRAINTS, Stack, run_cell
from lambdak.runtime import get_num_threads, set_num_threads

BETAS, EPS = (0.9, 0.999), 1e-8
TINY_GRID = replace(study("bivariate", "quick"), targets=2, seeds=2, rates=(1e-3, 1e-1), batch=8)


def points(streams, batch, inputs, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-4, 4, (streams, batch, inputs)).astype(np.float32)
    return x, rng.standard_normal((streams, batch)).astype(np.float32)


def stack_of(cell, constraint, grid=TINY_GRID):
    return Stack(cell, grid, constraint, np.random.default_rng(5))


def matrices(stack, dim):
    """(models, inputs + 1, d, d) in float64."""
    return sym(stack.coef[..., : packed_size(dim)].astype(np.float64))


def pack_gradient(full):
    """The gradient for lower-triangle coordinates whose off-diagonals carry √2, by the chain rule."""
    i, j = np.tril_indices(len(full))
    return np.where(i == j, 1.0, np.sqrt(2.0)) * full[i, j]


def from_packed(packed, dim):
    full, (i, j) = np.zeros((dim, dim)), np.tril_indices(dim)
    full[i, j] = full[j, i] = packed / np.where(i == j, 1.0, np.sqrt(2.0))
    return full


class Reference:
    """One model: parameters are packed matrices, except that a constrained last one is diag(squareplus(v))."""

    def __init__(self, start, monotone):
        self.dim, self.monotone = start.shape[-1], monotone
        i, j = np.tril_indices(self.dim)
        packed = start[:, i, j] * np.where(i == j, 1.0, np.sqrt(2.0))
        diagonal = np.diag(start[-1])
        self.params = [*packed[:-1], diagonal - 0.25 / diagonal] if monotone else list(packed)
        self.first = [np.zeros_like(p) for p in self.params]
        self.second = [np.zeros_like(p) for p in self.params]
        self.steps = 0

    def matrices(self):
        last = self.params[-1]
        tail = np.diag((last + np.sqrt(1 + last**2)) / 2) if self.monotone else from_packed(last, self.dim)
        return np.array([*(from_packed(p, self.dim) for p in self.params[:-1]), tail])

    def values(self, x):
        at = np.column_stack([np.ones(len(x)), x])
        spectra = np.linalg.eigh(np.einsum("bi,ide->bde", at, self.matrices()))
        k = self.dim // 2
        return at, spectra.eigenvalues[:, k], spectra.eigenvectors[:, :, k]

    def step(self, x, y, rate):
        at, value, v = self.values(x)
        slope = 2 * (value - y) / len(y)
        full = np.einsum("b,bi,bd,be->ide", slope, at, v, v)
        grads = [pack_gradient(g) for g in full]
        if self.monotone:
            last = self.params[-1]
            grads[-1] = np.diag(full[-1]) * (1 + last / np.sqrt(1 + last**2)) / 2
        self.steps += 1
        for p, g, m, s in zip(self.params, grads, self.first, self.second, strict=True):
            m[...] = BETAS[0] * m + (1 - BETAS[0]) * g
            s[...] = BETAS[1] * s + (1 - BETAS[1]) * g**2
            size = np.sqrt(s) / np.sqrt(1 - BETAS[1] ** self.steps) + EPS
            p -= rate / (1 - BETAS[0] ** self.steps) * m / size


@pytest.mark.parametrize(("inputs", "dim"), [(1, 5), (2, 3), (2, 9)])
@pytest.mark.parametrize("constraint", ["free", "diagonal"])
def test_steps_equal_those_of_single_models_in_float64(inputs, dim, constraint):
    cell = Cell(inputs, "monotone", 5, 0.0, dim)
    stack = stack_of(cell, constraint)
    references = [Reference(start, constraint == "diagonal") for start in matrices(stack, dim)]
    rates = len(TINY_GRID.rates)
    for step in range(3):
        x, y = points(4, 8, inputs, step)
        stack.step(x, y)
        for model, reference in enumerate(references):
            reference.step(x[model // rates], y[model // rates], TINY_GRID.rates[model % rates])
    expected = np.stack([reference.matrices() for reference in references])
    np.testing.assert_allclose(matrices(stack, dim), expected, atol=5e-5)
    moved = np.abs(expected - matrices(stack_of(cell, constraint), dim)).max(axis=(1, 2, 3))
    assert (moved > 1e-3).all()  # far above the tolerance


def test_steps_equal_those_of_a_plain_torch_loop():
    torch = pytest.importorskip("torch")
    dim, (i, j), rates = 3, np.tril_indices(3), TINY_GRID.rates
    shrink = torch.tensor(np.where(i == j, 1.0, np.sqrt(0.5)))
    stack = stack_of(Cell(1, "general", 5, 0.0, dim), "free")
    thetas = [torch.tensor(start, dtype=torch.float64, requires_grad=True) for start in stack.coef[..., :6]]
    adams = [torch.optim.Adam([theta], lr=rates[n % len(rates)]) for n, theta in enumerate(thetas)]
    for step in range(5):
        x, y = points(4, 8, 1, step)
        stack.step(x, y)
        for n, (theta, adam) in enumerate(zip(thetas, adams, strict=True)):
            stream = n // len(rates)
            at = torch.tensor(np.column_stack([np.ones(8), x[stream]]), dtype=torch.float64)
            lower = torch.zeros(8, dim, dim, dtype=torch.float64)
            lower[:, i, j] = at @ theta * shrink
            # eigvalsh reads the lower triangle only and returns a symmetric gradient.
            wrong = torch.linalg.eigvalsh(lower + lower.tril(-1).mT)[:, dim // 2] - torch.tensor(y[stream])
            adam.zero_grad()
            wrong.square().mean().backward()
            adam.step()
    expected = np.stack([theta.detach().numpy() for theta in thetas])
    np.testing.assert_allclose(stack.coef[..., :6], expected, atol=5e-5)


def test_errors_are_root_mean_squares_of_what_the_matrices_predict(monkeypatch):
    cell = Cell(2, "monotone", 5, 0.0, 5)
    stack = stack_of(cell, "diagonal")
    x, y = points(4, 50, 2)
    expected = []
    for model, start in enumerate(matrices(stack, 5)):
        _, value, _ = Reference(start, False).values(x[model // 2])
        expected.append(np.sqrt(np.mean((value - y[model // 2]) ** 2)))
    whole = stack.errors(x, y)
    np.testing.assert_allclose(whole, expected, rtol=1e-5)
    monkeypatch.setattr(sweep, "_MEASURED_ROWS", 1)  # a stream at a time
    np.testing.assert_array_equal(stack.errors(x, y), whole)


@pytest.mark.parametrize("constraint", [name for name in CONSTRAINTS if name != "tridiagonal"])
def test_constrained_matrices_stay_semidefinite_even_at_the_highest_rate(constraint):
    stack = stack_of(Cell(2, "monotone", 5, 0.0, 5), constraint)
    before = matrices(stack, 5)[:, -1]
    for step in range(60):
        x, y = points(4, 8, 2, step)
        stack.step(x, -x[..., 1] - y)  # the targets pull the other way
        last = np.linalg.eigvalsh(matrices(stack, 5)[:, -1])
        assert (last[:, 0] >= -1e-6 * last[:, -1]).all()
    assert (np.abs(matrices(stack, 5)[:, -1] - before).max(axis=(1, 2)) > 1e-3).all()


def test_a_monotone_model_of_a_cell_never_falls():
    stack = stack_of(Cell(2, "monotone", 5, 0.0, 5), "diagonal")
    for step in range(30):
        x, y = points(4, 8, 2, step)
        stack.step(x, y)
    along = np.linspace(-4, 4, 40)
    for start in matrices(stack, 5):
        for first in (-3.0, 0.0, 2.0):
            _, value, _ = Reference(start, False).values(np.column_stack([np.full(40, first), along]))
            assert (np.diff(value) >= -1e-12).all()


def test_models_that_differ_in_their_rate_alone_start_alike_and_see_the_same_points(monkeypatch):
    cell = Cell(1, "general", 5, 0.1, 3)
    starts, seen = [], []

    class Watched(Stack):
        def step(self, x, y):
            seen.append((x.copy(), y.copy()))
            if len(seen) == 1:
                starts.append(self.coef.copy())
            super().step(x, y)

    monkeypatch.setattr(sweep, "Stack", Watched)
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


def test_a_rate_does_not_notice_the_other_rates():
    cell = Cell(1, "general", 5, 0.0, 3)
    grid = replace(TINY_GRID, inputs=1)
    both, alone = run_cell(grid, cell), run_cell(replace(grid, rates=grid.rates[1:]), cell)
    np.testing.assert_array_equal(both.validation[:, :, 1:], alone.validation)
    np.testing.assert_array_equal(both.test[:, :, 1:], alone.test)


@pytest.mark.parametrize("fit", ["general", "free", "monotone"])
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
    grid = replace(study("univariate", "quick"), checkpoints=(1, 300, 600), measured=512, rates=(1e-2, 1e-1))
    clean, noisy = (run_cell(grid, Cell(1, "general", 5, noise, 5)) for noise in (0.0, 0.1))
    for result in (clean, noisy):
        assert result.test.shape == (2, 1, 2, 3)
        assert (result.test[..., -1] < 0.5 * result.test[..., 0]).all()
    best = noisy.validation[..., -1].min(axis=2)
    assert (best > 0.085).all()  # noise of 0.1 bounds the validation error from below
    assert np.median(noisy.test[..., -1].min(axis=2)) < 0.1


def test_the_caller_is_told_of_every_step():
    told = []
    run_cell(TINY_GRID, Cell(2, "general", 5, 0.0, 3), told.append)
    assert sum(told) == TINY_GRID.checkpoints[-1]
