"""The kernel's forward and backward steps against the NumPy reference, LAPACK and finite differences."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from step_cases import (
    DTYPES,
    INDICES,
    MODELS,
    N_DESIGN,
    N_ROWS,
    backward,
    batch_of,
    coefficients,
    compact,
    design,
    forward,
    padded,
    run_adam,
    spans_of,
    tolerance,
)

from lambdak import eigenpair, eigenvalue, sym
from lambdak.eigen import steps as _steps
from lambdak.eigen.packing import PAD
from lambdak.eigen.runtime import native

kernel = native()
if kernel is None:
    pytest.skip("this install has no compiled kernel", allow_module_level=True)

BATCHES = [1, 63, 64, 65, 200]


@pytest.fixture
def lapack_reference(monkeypatch):
    """The reference without any help from the kernel."""
    monkeypatch.setattr(_steps, "eigenvalue", functools.partial(eigenvalue, backend="lapack"))
    monkeypatch.setattr(_steps, "eigenpair", functools.partial(eigenpair, backend="lapack"))
    return _steps


def dense_matrices(ids, weights, rows, coef):
    """A(row), (models, batch, d, d), in float64, through the dense design matrix."""
    Z = np.zeros((N_ROWS, N_DESIGN))
    np.add.at(Z, (np.arange(N_ROWS)[:, None], ids), weights.astype(np.float64))
    return sym(np.einsum("mbp,mpd->mbd", Z[rows], coef.astype(np.float64)))


# ---- forward and backward --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", INDICES)
def test_forward_yields_the_eigenvalues_that_lapack_finds_for_every_model_and_batch(dim, dtype, isa, lapack_reference):
    rng = np.random.default_rng(dim)
    ids, weights = design(rng, dtype)
    for models in MODELS:
        coef = coefficients(rng, models, dim, dtype)
        for batch in BATCHES:
            rows = batch_of(rng, models, batch)
            full = dense_matrices(ids, weights, rows, coef)
            oracle = np.linalg.eigvalsh(full).reshape(models * batch, dim)
            atol = tolerance(dtype) * np.abs(oracle).max()
            for index in INDICES[dim]:
                value, _ = forward(kernel, ids, weights, rows, coef, dim, index, want_vector=False)
                reference, _ = forward(lapack_reference, ids, weights, rows, coef, dim, index, want_vector=False)
                np.testing.assert_allclose(value, oracle[:, index], rtol=0, atol=atol)
                np.testing.assert_allclose(value, reference, rtol=0, atol=atol)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", INDICES)
def test_forward_yields_orthonormal_eigenvectors_for_every_model_and_batch(dim, dtype, isa):
    rng = np.random.default_rng(dim)
    ids, weights = design(rng, dtype)
    for models in MODELS:
        coef = coefficients(rng, models, dim, dtype)
        for batch in BATCHES:
            rows = batch_of(rng, models, batch)
            full = dense_matrices(ids, weights, rows, coef).reshape(models * batch, dim, dim)
            for index in INDICES[dim]:
                value, vector = forward(kernel, ids, weights, rows, coef, dim, index)
                residual = np.einsum("bij,bmj->bmi", full, vector) - value[..., None] * vector.astype(np.float64)
                assert np.abs(residual).max() < dim * tolerance(dtype) * np.abs(full).max()
                gram = vector.astype(np.float64) @ vector.transpose(0, 2, 1)
                np.testing.assert_allclose(gram, np.broadcast_to(np.eye(len(index)), gram.shape), atol=tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", INDICES)
def test_backward_sums_what_the_reference_sums_for_every_model_and_batch(dim, dtype, isa):
    rng = np.random.default_rng(dim)
    ids, weights = design(rng, dtype)
    for models in MODELS:
        for batch in BATCHES:
            rows = batch_of(rng, models, batch)
            for index in INDICES[dim]:
                vector = rng.standard_normal((models * batch, len(index), dim)).astype(dtype)
                factor = rng.standard_normal((models * batch, len(index))).astype(dtype)
                grad = backward(kernel, ids, weights, rows, vector, factor, dim)
                reference = backward(_steps, ids, weights, rows, vector, factor, dim)
                atol = tolerance(dtype) * np.abs(reference).max()
                np.testing.assert_allclose(grad, reference, rtol=0, atol=atol)


@pytest.mark.parametrize("engine", [kernel, _steps], ids=["kernel", "reference"])
@pytest.mark.parametrize("dim", INDICES)
def test_backward_is_the_derivative_of_forward_by_central_differences(dim, engine):
    rng = np.random.default_rng(dim)
    ids, weights = design(rng, np.float64)
    models, batch, h = 3, 65, 1e-6
    rows = batch_of(rng, models, batch)
    coef = coefficients(rng, models, dim, np.float64)
    for index in INDICES[dim]:
        _, vector = forward(engine, ids, weights, rows, coef, dim, index)
        factor = rng.standard_normal((models * batch, len(index)))
        grad = backward(engine, ids, weights, rows, vector, factor, dim)
        for _ in range(5):
            direction = rng.standard_normal(coef.shape)
            ends = [
                forward(engine, ids, weights, rows, padded(coef + sign * h * direction), dim, index, False)[0]
                for sign in (1, -1)
            ]
            slope = (factor * (ends[0] - ends[1])).sum() / (2 * h)
            assert np.vdot(grad, direction) == pytest.approx(slope, rel=1e-5, abs=1e-5 * np.linalg.norm(grad))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", INDICES)
def test_padding_is_never_read_as_a_coefficient_and_holds_zeros_after_backward(dim, dtype, isa):
    rng = np.random.default_rng(dim)
    ids, weights = design(rng, dtype)
    rows = batch_of(rng, 3, 65)
    index = INDICES[dim][-1]
    clean = coefficients(rng, 3, dim, dtype)
    value, vector = forward(kernel, ids, weights, rows, clean, dim, index)
    dirty = forward(kernel, ids, weights, rows, padded(clean, np.nan), dim, index)
    np.testing.assert_array_equal(dirty[0], value)
    np.testing.assert_array_equal(dirty[1], vector)
    grad = backward(kernel, ids, weights, rows, vector, np.ones_like(value), dim)
    assert np.isfinite(grad).all()
    np.testing.assert_array_equal(grad.base[..., grad.shape[-1] :], 0)


def test_forward_reads_rows_that_lie_apart_and_backward_refuses_to_write_them(isa):
    rng = np.random.default_rng(0)
    ids, weights = design(rng, np.float32)
    rows, coef = batch_of(rng, 1, 65), coefficients(rng, 1, 5, np.float32)
    apart = np.full((1, 30_000, 5, PAD), np.nan, np.float32)[:, :, 2, :15]  # too large for a cache
    apart[:, :N_DESIGN] = coef
    wanted = forward(kernel, ids, weights, rows, coef, 5, [2])
    for got, expected in zip(forward(kernel, ids, weights, rows, apart, 5, [2]), wanted, strict=True):
        np.testing.assert_array_equal(got, expected)
    with pytest.raises(ValueError, match="no further apart"):
        kernel.backward((ids, weights, rows), wanted[1], wanted[0], 5, apart, 0)


def test_forward_spoils_only_the_rows_and_models_that_touch_a_nan_coefficient_with_some_weight(isa):
    rng = np.random.default_rng(0)
    ids, weights = design(rng, np.float32)
    rows = batch_of(rng, 3, 200)
    coef = coefficients(rng, 3, 5, np.float32)
    clean, _ = forward(kernel, ids, weights, rows, coef, 5, [2])
    coef[1, 4] = np.nan
    value, _ = forward(kernel, ids, weights, rows, coef, 5, [2])
    touched = np.zeros((3, 200), bool)
    touched[1] = ((ids == 4) & (weights != 0)).any(axis=1)[rows[1]]
    assert (touched[1] != (ids == 4).any(axis=1)[rows[1]]).any(), "the test needs a row that names it with weight zero"
    np.testing.assert_array_equal(np.isnan(value[:, 0]), touched.ravel())
    np.testing.assert_array_equal(value[~touched.ravel()], clean[~touched.ravel()])


def test_an_empty_batch_has_no_values_and_a_gradient_of_zero():
    ids, weights = design(np.random.default_rng(0), np.float32)
    rows = np.zeros((3, 0), np.int32)
    coef = padded(np.ones((3, N_DESIGN, 15), np.float32))
    value, vector = forward(kernel, ids, weights, rows, coef, 5, [2])
    assert value.shape == (0, 1)
    grad = backward(kernel, ids, weights, rows, vector, value, 5)
    np.testing.assert_array_equal(grad, 0)


# ---- threads ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("models", MODELS)
def test_every_step_gives_the_same_bits_for_any_number_of_threads(models, dtype, threads):
    rng = np.random.default_rng(0)
    dim, index, batch = 15, [3, 7], 200
    ids, weights = design(rng, dtype)
    rows, coef = batch_of(rng, models, batch), coefficients(rng, models, dim, dtype)
    factor = rng.standard_normal((models * batch, 2)).astype(dtype)
    spans = spans_of([(70, 0, 30), (50, 30, 80)])
    left, which = compact(rng, spans, 2, dtype), [model % 2 for model in range(models)]
    right = rng.standard_normal((models, 80, 128)).astype(dtype)
    theta, grads = rng.standard_normal((models, 8192)).astype(dtype), rng.standard_normal((2, models, 8192))

    def everything():
        value, vector = forward(kernel, ids, weights, rows, coef, dim, index)
        grad = backward(kernel, ids, weights, rows, vector, factor, dim)
        out = np.empty((models, 120, 128), dtype)
        kernel.multiply(left, which, right, spans, out, 0)
        moved = run_adam(kernel, theta, grads.astype(dtype), [0.1] * models, [0.9] * models)
        return value, vector, grad, out, *moved

    threads(1)
    alone = everything()
    for count in (2, 5):
        threads(count)
        for got, wanted in zip(everything(), alone, strict=True):
            np.testing.assert_array_equal(got, wanted)
