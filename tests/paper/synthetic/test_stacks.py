"""Models of a cell trained at once; the oracle is a float64 loop over single models: LAPACK, and Adam by the book."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lambdak.eigen.packing import packed_dim, packed_size, sym, unsym
from lambdak.paper.synthetic import stacks
from lambdak.paper.synthetic.grid import Cell, study
from lambdak.paper.synthetic.stacks import BandStack, Stack, make_stack
from lambdak.pencil.constraints import SEMIDEFINITE, Constraint, Factor, Family, Tridiagonal

BETAS, EPS = (0.9, 0.999), 1e-8
TINY_GRID = replace(study("bivariate", "quick"), protocol="own", targets=2, seeds=2, rates=(1e-3, 1e-1), batch=8)


def points(streams, batch, inputs, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-4, 4, (streams, batch, inputs)).astype(np.float32)
    return x, rng.standard_normal((streams, batch)).astype(np.float32)


def stack_of(cell, *constraints, grid=TINY_GRID):
    """Constraints are those of the last inputs."""
    return Stack(cell, grid, constraints, np.random.default_rng(5))


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
    """One model: parameters are packed matrices, except that a constrained last one is diag(squareplus(v)).

    With ``band``, only the three middle diagonals move.
    """

    def __init__(self, start, monotone, band=False):
        self.dim, self.monotone, self.band = start.shape[-1], monotone, band
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
        if self.band:
            full = np.triu(np.tril(full, 1), -1)
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
@pytest.mark.parametrize("constraints", [(), ("diagonal",)], ids=["free", "diagonal"])
def test_steps_equal_those_of_single_models_in_float64(inputs, dim, constraints):
    cell = Cell(inputs, "monotone", 5, 0.0, dim)
    stack = stack_of(cell, *constraints)
    references = [Reference(start, bool(constraints)) for start in matrices(stack, dim)]
    rates = len(TINY_GRID.rates)
    for step in range(3):
        x, y = points(4, 8, inputs, step)
        stack.step(x, y)
        for model, reference in enumerate(references):
            reference.step(x[model // rates], y[model // rates], TINY_GRID.rates[model % rates])
    expected = np.stack([reference.matrices() for reference in references])
    np.testing.assert_allclose(matrices(stack, dim), expected, atol=5e-5)
    moved = np.abs(expected - matrices(stack_of(cell, *constraints), dim)).max(axis=(1, 2, 3))
    assert (moved > 1e-3).all()  # far above the tolerance


def test_steps_equal_those_of_a_plain_torch_loop():
    torch = pytest.importorskip("torch")
    dim, (i, j), rates = 3, np.tril_indices(3), TINY_GRID.rates
    shrink = torch.tensor(np.where(i == j, 1.0, np.sqrt(0.5)))
    stack = stack_of(Cell(1, "general", 5, 0.0, dim))
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
    monkeypatch.setattr(stacks, "_MEASURED_ROWS", 1)  # a stream at a time
    np.testing.assert_array_equal(stack.errors(x, y), whole)


@pytest.mark.parametrize("both", [False, True], ids=["last", "both"])
@pytest.mark.parametrize("constraint", SEMIDEFINITE)
def test_constrained_matrices_stay_semidefinite_even_at_the_highest_rate(constraint, both):
    stack, first = stack_of(Cell(2, "monotone", 5, 0.0, 5), *[constraint] * (1 + both)), 1 if both else 2
    before = matrices(stack, 5)[:, first:]
    for step in range(60):
        x, y = points(4, 8, 2, step)
        stack.step(x, -x[..., 1] - y)  # the targets pull the other way
        values = np.linalg.eigvalsh(matrices(stack, 5)[:, first:])
        assert (values[..., 0] >= -1e-6 * values[..., -1]).all()
    assert (np.abs(matrices(stack, 5)[:, first:] - before).max(axis=(-2, -1)) > 1e-3).all()


class Lifted(Constraint):
    """A toy: A = L Lᵀ + I."""

    def size(self, dim):
        return packed_size(dim)

    def dim(self, size):
        return packed_dim(size)

    def _forward(self, theta):
        return Factor().forward(theta) + unsym(np.eye(self.dim(theta.shape[-1]), dtype=theta.dtype))

    def _vjp(self, theta, grad):
        return Factor().vjp(theta, grad)

    def _right_inverse(self, packed):
        return Factor().right_inverse(packed - unsym(np.eye(self.dim(packed.shape[-1]), dtype=packed.dtype)))

    def _contains(self, packed, tol):
        return np.linalg.eigvalsh(sym(packed))[..., 0] >= 1 - tol


def test_a_toy_constraint_is_a_class_and_one_line(monkeypatch):
    monkeypatch.setitem(SEMIDEFINITE, "lifted", Family(Lifted(), False, False, False))
    stack = stack_of(Cell(2, "monotone", 5, 0.0, 5), "lifted")
    for step in range(30):
        x, y = points(4, 8, 2, step)
        stack.step(x, -x[..., 1] - y)
    assert Lifted().contains(stack.coef[:, 2, : packed_size(5)]).all()


def squareplus(torch, x):
    return (x + torch.sqrt(1 + x**2)) / 2


def spectral(torch, function, matrix):
    values, basis = torch.linalg.eigh(matrix)
    return basis * function(values) @ basis.T


# name: (start of a diagonal matrix, lower triangle of parameters ─▶ matrix, whether off-diagonals carry √2)
FORMULAS = {
    "diagonal": (lambda a: a - 0.25 / a, lambda torch, t: torch.diag(squareplus(torch, torch.diagonal(t))), False),
    "factor": (np.sqrt, lambda torch, t: t @ t.T, False),
    "root": (lambda a: a, lambda torch, t: spectral(torch, torch.sqrt, t @ t.T), False),
    "squareplus": (
        lambda a: a - 0.25 / a,
        lambda torch, t: spectral(torch, lambda x: squareplus(torch, x), t + t.tril(-1).T),
        True,
    ),
}


@pytest.mark.parametrize("constraint", SEMIDEFINITE)
def test_steps_with_both_inputs_constrained_equal_those_of_torch(constraint):
    torch = pytest.importorskip("torch")
    dim, grid = 3, replace(TINY_GRID, targets=1, seeds=1, rates=(1e-2,))
    stack = stack_of(Cell(2, "monotone", 5, 0.0, dim), constraint, constraint, grid=grid)
    (start,) = matrices(stack, dim)
    begin, formula, isometric = FORMULAS[constraint]
    i, j = np.tril_indices(dim)
    thetas = [start[0], *(np.diag(begin(np.diag(each))) for each in start[1:])]
    packed = [torch.tensor(t[i, j] * np.where(i == j, 1, np.sqrt(2)), requires_grad=True) for t in thetas]
    adam = torch.optim.Adam(packed, lr=1e-2)

    def build():
        shrink = torch.tensor(np.where(i == j, 1.0, np.sqrt(0.5)))
        lower = [torch.zeros(dim, dim, dtype=torch.float64) for _ in packed]
        for place, (full, theta) in enumerate(zip(lower, packed, strict=True)):
            full[i, j] = theta * shrink if isometric or place == 0 else theta
        return torch.stack([lower[0] + lower[0].tril(-1).T, *(formula(torch, t) for t in lower[1:])])

    for step in range(4):
        x, y = points(1, 8, 2, step)
        stack.step(x, y)
        at = torch.tensor(np.column_stack([np.ones(8), x[0]]))
        values = torch.linalg.eigvalsh(torch.einsum("bi,ide->bde", at, build()))[:, dim // 2]
        adam.zero_grad()
        (values - torch.tensor(y[0])).square().mean().backward()
        adam.step()
    np.testing.assert_allclose(matrices(stack, dim)[0], build().detach().numpy(), atol=5e-5)
    assert (np.abs(matrices(stack, dim)[0] - start).max(axis=(1, 2)) > 1e-3).all()


def bands_as_matrices(stack, dim):
    return sym(Tridiagonal().forward(stack.coef[..., : 2 * dim - 1].astype(np.float64)))


@pytest.mark.parametrize(("inputs", "dim"), [(1, 3), (2, 8)])
def test_steps_of_tridiagonal_models_equal_those_of_dense_ones_that_keep_off_the_rest(inputs, dim):
    stack = make_stack(Cell(inputs, "tridiagonal", 5, 0.0, dim), TINY_GRID, np.random.default_rng(5))
    assert isinstance(stack, BandStack)
    starts = bands_as_matrices(stack, dim)
    references = [Reference(start, False, band=True) for start in starts]
    rates = len(TINY_GRID.rates)
    for step in range(3):
        x, y = points(4, 8, inputs, step)
        wrong = [each.values(x[model // rates])[1] - y[model // rates] for model, each in enumerate(references)]
        np.testing.assert_allclose(stack.errors(x, y), np.sqrt(np.square(wrong).mean(axis=1)), rtol=1e-4)
        stack.step(x, y)
        for model, reference in enumerate(references):
            reference.step(x[model // rates], y[model // rates], TINY_GRID.rates[model % rates])
    expected = np.stack([reference.matrices() for reference in references])
    np.testing.assert_allclose(bands_as_matrices(stack, dim), expected, atol=5e-5)
    assert (np.abs(expected - starts).max(axis=(1, 2, 3)) > 1e-3).all()


def test_tridiagonal_models_start_with_a_gap_and_in_one_piece():
    dim = 9
    stack = make_stack(Cell(2, "tridiagonal", 5, 0.0, dim), TINY_GRID, np.random.default_rng(5))
    constant = bands_as_matrices(stack, dim)[:, 0]
    off = np.diagonal(constant, 1, axis1=1, axis2=2)
    assert (np.abs(off) > 1e-3).all()
    spectrum = np.linalg.eigvalsh(constant)
    np.testing.assert_allclose(spectrum[:, dim // 2], 0, atol=1e-6)
    assert (np.abs(np.delete(spectrum, dim // 2, axis=1)) > 1).all()
    assert (np.diff(spectrum) > 0.1).all()  # distinct


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
