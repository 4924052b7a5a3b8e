"""The step on tridiagonal matrices in one call, against the reference, finite differences, and more threads."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from step_cases import DTYPES, padded, read_only, tolerance

from lambdak import tridiagonal_eigenpair, tridiagonal_eigenvalue
from lambdak.eigen import steps
from lambdak.eigen.packing import padded_width
from lambdak.eigen.runtime import native

kernel = native()
if kernel is None:
    pytest.skip("this install has no compiled kernel", allow_module_level=True)

DIMS, BATCHES, INPUTS = [1, 2, 5, 17], [1, 8, 15, 32, 33, 100], [1, 2, 4]
STREAMS, COPIES = 3, 2


def case(dim, dtype, inputs=3, batch=20):
    """Points, targets, and coefficients whose padding holds what must not be read."""
    rng = np.random.default_rng(dim + batch)
    coef = padded(rng.standard_normal((STREAMS * COPIES, inputs, 2 * dim - 1)).astype(dtype), np.nan)
    points = rng.standard_normal((STREAMS, batch, inputs)).astype(dtype)
    return points, rng.standard_normal((STREAMS, batch)).astype(dtype), coef


def gradient(engine, points, target, coef, dim, threads=0):
    grad = padded(np.full(coef.shape, np.nan, coef.dtype), np.nan)
    engine.band_gradient(points, target, coef, dim, dim // 2, grad, threads)
    return grad


@pytest.fixture
def lapack_reference(monkeypatch):
    """The reference without any help from the kernel."""
    monkeypatch.setattr(steps, "tridiagonal_eigenpair", functools.partial(tridiagonal_eigenpair, backend="lapack"))
    return steps


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", DIMS)
def test_the_gradient_is_that_of_the_reference_for_every_batch(dim, dtype, isa, lapack_reference):
    for inputs in INPUTS:
        for batch in BATCHES:
            given = case(dim, dtype, inputs, batch)
            wanted = gradient(lapack_reference, *given, dim)
            largest = max(1, np.abs(wanted).max())
            np.testing.assert_allclose(gradient(kernel, *given, dim), wanted, rtol=0, atol=tolerance(dtype) * largest)


@pytest.mark.parametrize("dim", [1, 2, 6])
@pytest.mark.parametrize("engine", [kernel, steps], ids=["kernel", "reference"])
def test_the_gradient_matches_central_differences(dim, engine):
    points, target, coef = case(dim, np.float64)
    direction = np.random.default_rng(1).standard_normal(coef.shape)

    def errors(step):
        entries = np.repeat(points, COPIES, axis=0) @ (coef + step * direction)
        value = tridiagonal_eigenvalue(entries[..., :dim], entries[..., dim:] / np.sqrt(2), dim // 2)
        return np.square(value - np.repeat(target, COPIES, axis=0)).mean(axis=1)

    slope = (errors(1e-6) - errors(-1e-6)) / 2e-6
    got = (gradient(engine, points, target, coef, dim) * direction).sum(axis=(1, 2))
    np.testing.assert_allclose(got, slope, rtol=1e-6, atol=1e-6)


def test_threads_and_other_models_do_not_change_a_bit_of_the_gradient():
    points, target, coef = case(9, np.float32, batch=50)
    wanted = gradient(kernel, points, target, coef, 9, threads=1)
    for threads in (2, 3, 8):
        assert gradient(kernel, points, target, coef, 9, threads).tobytes() == wanted.tobytes()
    alone = gradient(kernel, points[1:2], target[1:2], coef[2:4], 9)
    assert alone.tobytes() == wanted[2:4].tobytes()


def test_a_model_that_is_not_finite_spoils_its_own_gradient_only():
    points, target, coef = case(5, np.float32)
    clean = gradient(kernel, points, target, coef, 5)
    coef[1, 0, 3] = np.inf
    got = gradient(kernel, points, target, coef, 5)
    assert np.isnan(got[1]).all()
    np.testing.assert_array_equal(np.delete(got, 1, axis=0), np.delete(clean, 1, axis=0))


def test_nothing_beyond_the_gradient_is_written():
    points, target, coef = case(5, np.float32)
    base = np.full((*coef.shape[:-1], padded_width(9)), 7, np.float32)
    kernel.band_gradient(points, target, coef, 5, 2, base[..., :9], 0)
    assert (base[..., 9:] == 7).all()
    assert (base[..., :9] != 7).all()


FAULTS = {
    "points with two axes": lambda a: {"points": a["points"][0]},
    "points of another dtype": lambda a: {"points": a["points"].astype(np.float64)},
    "points that are not contiguous": lambda a: {"points": a["points"][..., ::-1]},
    "points of other inputs": lambda a: {"points": a["points"][..., 1:].copy()},
    "points without rows": lambda a: {"points": a["points"][:, :0], "target": a["target"][:, :0]},
    "no streams": lambda a: {"points": a["points"][:0], "target": a["target"][:0]},
    "models that no number of copies gives": lambda a: {"coef": a["coef"][1:], "grad": a["grad"][1:]},
    "target of another dtype": lambda a: {"target": a["target"].astype(np.float64)},
    "target with fewer rows": lambda a: {"target": a["target"][:, 1:].copy()},
    "target that is not contiguous": lambda a: {"target": a["target"][:, ::-1]},
    "coef of the wrong width": lambda a: {"dim": 4},
    "coef with rows that are not contiguous": lambda a: {"coef": a["coef"][..., ::-1]},
    "grad of another dtype": lambda a: {"grad": a["grad"].astype(np.float64)},
    "grad of fewer models": lambda a: {"grad": a["grad"][1:]},
    "grad of fewer coefficients": lambda a: {"grad": a["grad"][:, 1:]},
    "grad with rows that are not contiguous": lambda a: {"grad": a["grad"][..., ::-1]},
    "a read-only grad": lambda a: {"grad": read_only(a["grad"])},
    "an index beyond the matrix": lambda a: {"index": 5},
    "a negative index": lambda a: {"index": -1},
    "a matrix without rows": lambda a: {"dim": 0},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_arrays_that_do_not_fit_are_refused(fault):
    points, target, coef = case(5, np.float32)
    given = {"points": points, "target": target, "coef": coef, "dim": 5, "index": 2, "grad": np.zeros_like(coef)}
    kernel.band_gradient(*given.values(), 0)
    given |= FAULTS[fault](given)
    with pytest.raises((ValueError, TypeError)):
        kernel.band_gradient(*given.values(), 0)
