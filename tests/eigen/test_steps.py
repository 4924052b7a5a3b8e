"""The kernel's training steps against the NumPy reference, LAPACK, finite differences and scalar arithmetic."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

import lambdak
from lambdak import eigenpair, eigenvalue, sym
from lambdak.eigen import steps as _steps
from lambdak.eigen.runtime import native
from lambdak.table import curve
from lambdak.table.curve import Curve

kernel = native()
if kernel is None:
    pytest.skip("this install has no compiled kernel", allow_module_level=True)

DTYPES = [np.float32, np.float64]
INDICES = {1: [[0]], 2: [[1], [0, 1]], 5: [[2], [0, 2, 4]], 15: [[7], [0, 3, 7, 14]]}
MODELS = [1, 3, 5]
BATCHES = [1, 63, 64, 65, 200]
N_ROWS, N_DESIGN, SLOTS = 40, 11, 4
PAD = 16


@pytest.fixture(params=kernel.available_isas())
def isa(request):
    before = kernel.isa()
    kernel.use_isa(request.param)
    yield request.param
    kernel.use_isa(before)


@pytest.fixture
def threads():
    before = lambdak.get_num_threads()
    yield lambdak.set_num_threads
    lambdak.set_num_threads(before)


@pytest.fixture
def lapack_reference(monkeypatch):
    """The reference without any help from the kernel."""
    monkeypatch.setattr(_steps, "eigenvalue", functools.partial(eigenvalue, backend="lapack"))
    monkeypatch.setattr(_steps, "eigenpair", functools.partial(eigenpair, backend="lapack"))
    return _steps


def tolerance(dtype):
    return 500 * float(np.finfo(dtype).eps)


def padded(values, filler=0.0):
    """A view of the values whose rows have room up to the next multiple of the padding."""
    width = values.shape[-1]
    base = np.full((*values.shape[:-1], -(-width // PAD) * PAD), filler, values.dtype)
    base[..., :width] = values
    return base[..., :width]


def design(rng, dtype):
    """Design rows that name some columns twice, and have slots of weight zero."""
    ids = rng.integers(0, N_DESIGN, (N_ROWS, SLOTS)).astype(np.int32)
    ids[::3, 1] = ids[::3, 0]
    weights = rng.standard_normal((N_ROWS, SLOTS)).astype(dtype)
    weights[::4, -1] = 0
    return ids, weights


def batch_of(rng, models, batch):
    """Rows of every model's own batch, drawn with repetition."""
    return rng.integers(0, N_ROWS, (models, batch)).astype(np.int32)


def coefficients(rng, models, dim, dtype, filler=0.0):
    return padded(rng.standard_normal((models, N_DESIGN, dim * (dim + 1) // 2)).astype(dtype), filler)


def dense_matrices(ids, weights, rows, coef):
    """A(row), (models, batch, d, d), in float64, through the dense design matrix."""
    Z = np.zeros((N_ROWS, N_DESIGN))
    np.add.at(Z, (np.arange(N_ROWS)[:, None], ids), weights.astype(np.float64))
    return sym(np.einsum("mbp,mpd->mbd", Z[rows], coef.astype(np.float64)))


def forward(engine, ids, weights, rows, coef, dim, index, want_vector=True):
    total = rows.size
    value = np.full((total, len(index)), np.nan, coef.dtype)
    vector = np.full((total, len(index), dim), np.nan, coef.dtype) if want_vector else None
    engine.forward(ids, weights, rows, coef, dim, index, value, vector)
    return value, vector


def backward(engine, ids, weights, rows, vector, factor, dim, filler=np.nan):
    grad = padded(np.full((len(rows), N_DESIGN, dim * (dim + 1) // 2), filler, vector.dtype), filler)
    engine.backward(ids, weights, rows, vector, factor, dim, grad)
    return grad


# ---- forward and backward --------------------------------------------------------------------------------------


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
        kernel.backward(ids, weights, rows, wanted[1], wanted[0], 5, apart)


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


# ---- multiply --------------------------------------------------------------------------------------------------


# Rows of the left factors as (how many, first column, last column) of their spans.
SPANS = {
    "a single entry": [(1, 0, 1)],
    "blocks": [(7, 0, 3), (1, 3, 8), (2, 8, 8), (13, 8, 16)],
    "blocks of more rows than a chunk": [(1, 0, 0), (61, 0, 30), (4, 30, 34), (53, 34, 74)],
    "rows that start together and end apart": [(3, 0, 2), (4, 0, 9), (2, 0, 0), (9, 0, 4), (2, 0, 9)],
    "rows that overlap in any order": [(5, 4, 9), (6, 0, 9), (1, 2, 3), (7, 7, 9), (1, 8, 8), (13, 1, 6)],
}
WHICH = [[0], [2, 0, 2], [1, 1, 2, 0, 1]]


def spans_of(blocks):
    return np.repeat([block[1:] for block in blocks], [block[0] for block in blocks], axis=0).astype(np.int32)


def compact(rng, spans, kinds, dtype):
    """Left factors (kinds, rows, reach): what row i holds between the columns spans[i], and zeros after that."""
    lengths = np.diff(spans, axis=1)
    reach = max(int(lengths.max()), 1)
    return np.where(np.arange(reach) < lengths, rng.standard_normal((kinds, len(spans), reach)), 0).astype(dtype)


def exact_product(left, which, right, spans):
    """(models, rows, width), row by row in float64."""
    rows = [(i, slice(first, last), last - first) for i, (first, last) in enumerate(spans.tolist())]
    wide = right.astype(np.float64)
    return np.array([[left[k, i, :n] @ wide[m, s] for i, s, n in rows] for m, k in enumerate(which)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", SPANS)
def test_multiply_of_compact_and_shared_left_factors_is_the_product_row_by_row(case, dtype, isa):
    rng, spans = np.random.default_rng(0), spans_of(SPANS[case])
    left = compact(rng, spans, 3, dtype)
    for which in WHICH:
        for width in (16, 48, 128, 144):
            right = rng.standard_normal((len(which), spans.max(), width)).astype(dtype)
            exact = exact_product(left, which, right, spans)
            for engine in (kernel, _steps):
                out = np.full(exact.shape, np.nan, dtype)
                engine.multiply(left, which, right, spans, out)
                np.testing.assert_allclose(out, exact, rtol=0, atol=tolerance(dtype) * np.abs(exact).max())


def test_multiply_looks_at_nothing_outside_of_the_spans(isa):
    rng, spans = np.random.default_rng(0), spans_of([(12, 0, 5), (12, 5, 11)])
    left = compact(rng, spans, 2, np.float32)
    right = rng.standard_normal((2, 11, 16)).astype(np.float32)
    clean, dirty = np.empty((2, 24, 16), np.float32), np.empty((2, 24, 16), np.float32)
    kernel.multiply(left, [0, 1], right, spans, clean)
    right[:, 5:] = np.nan  # only the second block multiplies these
    kernel.multiply(left, [0, 1], right, spans, dirty)
    np.testing.assert_array_equal(dirty[:, :12], clean[:, :12])
    assert np.isnan(dirty[:, 12:]).all()


def test_multiply_looks_only_at_the_left_factor_that_is_asked_for(isa):
    rng, spans = np.random.default_rng(0), spans_of(SPANS["blocks"])
    left = compact(rng, spans, 3, np.float32)
    right = rng.standard_normal((2, 16, 16)).astype(np.float32)
    left[1] = np.nan
    out = np.empty((2, len(spans), 16), np.float32)
    kernel.multiply(left, [2, 0], right, spans, out)
    assert np.isfinite(out).all()


# ---- adam ------------------------------------------------------------------------------------------------------

BETA1, BETA2, TINY = 0.9, 0.99, 1e-8


def scalar_adam(theta, grads, rate, keep):
    """Adam with decoupled weight decay on one number, as in Kingma and Ba with Loshchilov's and Hutter's decay."""
    m = v = 0.0
    for step, g in enumerate(grads, 1):
        m = BETA1 * m + (1 - BETA1) * g
        v = BETA2 * v + (1 - BETA2) * g * g
        theta = keep * theta - rate * (m / (1 - BETA1**step)) / (math.sqrt(v / (1 - BETA2**step)) + TINY)
    return theta


def run_adam(engine, theta, grads, rate, keep, spared=0):
    theta = theta.copy()
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    for step, grad in enumerate(grads, 1):
        rates = [r / (1 - BETA1**step) for r in rate]
        engine.adam(theta, grad, first, second, rates, keep, BETA1, BETA2, 1 / (1 - BETA2**step), TINY, spared)
    return theta, first, second


@pytest.mark.parametrize("spared", [0, 16, 48])
@pytest.mark.parametrize("dtype", DTYPES)
def test_adam_moves_every_number_as_the_scalar_formula_does_and_decays_all_but_the_spared(dtype, spared, isa):
    rng = np.random.default_rng(0)
    models, size, steps = 3, 48, 6
    theta = rng.standard_normal((models, size)).astype(dtype)
    grads = (10.0 ** rng.uniform(-3, 3, size) * rng.standard_normal((steps, models, size))).astype(dtype)
    grads[:, :, -2:] = 0  # numbers that no gradient reaches only decay
    rate, keep = [0.1, 0.02, 0.0], [1.0, 0.9, 0.5]
    got, _, _ = run_adam(kernel, theta, grads, rate, keep, spared)
    for model in range(models):
        for i in range(size):
            kept = 1.0 if i < spared else keep[model]
            wanted = scalar_adam(float(theta[model, i]), grads[:, model, i].tolist(), rate[model], kept)
            assert got[model, i] == pytest.approx(wanted, rel=tolerance(dtype), abs=tolerance(dtype))


@pytest.mark.parametrize("spared", [0, 32])
@pytest.mark.parametrize("dtype", DTYPES)
def test_adam_and_its_moments_equal_the_reference_after_several_steps(dtype, spared, isa):
    rng = np.random.default_rng(1)
    theta = rng.standard_normal((5, 64)).astype(dtype)
    grads = rng.standard_normal((7, 5, 64)).astype(dtype)
    rate, keep = rng.uniform(0, 0.1, 5).tolist(), rng.uniform(0.9, 1, 5).tolist()
    runs = [run_adam(engine, theta, grads, rate, keep, spared) for engine in (kernel, _steps)]
    for got, wanted in zip(*runs, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=tolerance(dtype), atol=tolerance(dtype))


# ---- descend ---------------------------------------------------------------------------------------------------

N_IDS = 2500  # several of them share a bucket


def descent(rng, dim, dtype, rows=200, slots=7, n_index=2):
    """Rows that name some ids often and some twice, with slots of weight zero, and a table that has seen steps."""
    ids = (N_IDS ** rng.random((rows, slots)) - 1).astype(np.int32)
    ids[:, 0] = 0
    ids[-1, -2:] = N_IDS - 1
    weights = rng.standard_normal((rows, slots)).astype(dtype)
    weights[::5, 2] = 0
    width = -(-dim * (dim + 1) // 2 // PAD) * PAD
    table = rng.standard_normal((N_IDS, 3, width)).astype(dtype)
    table[:, 2] **= 2
    return {
        "ids": ids,
        "weights": weights,
        "vector": rng.standard_normal((rows, n_index, dim)).astype(dtype),
        "grad_value": rng.standard_normal((rows, n_index)).astype(dtype),
        "dim": dim,
        "table": table,
        **{"rate": 0.1, "beta1": BETA1, "beta2": BETA2, "correct": 1.7, "tiny": TINY},
    }


def descended(engine, arguments):
    table = arguments["table"].copy()
    engine.descend(**(arguments | {"table": table}))
    return table


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", INDICES)
def test_descend_equals_the_reference_and_leaves_rows_that_no_slot_names_alone(dim, dtype, isa):
    rng = np.random.default_rng(dim)
    for rows in (1, 63, 300):
        arguments = descent(rng, dim, dtype, rows=rows)
        got, wanted = descended(kernel, arguments), descended(_steps, arguments)
        np.testing.assert_allclose(got, wanted, rtol=0, atol=tolerance(dtype) * np.abs(wanted).max())
        idle = np.setdiff1d(np.arange(N_IDS), arguments["ids"])
        np.testing.assert_array_equal(got[idle], arguments["table"][idle])
        named = np.unique(arguments["ids"])
        assert (got[named] != arguments["table"][named]).any(axis=(1, 2)).all()


@pytest.mark.parametrize("engine", [kernel, _steps], ids=["kernel", "reference"])
def test_descend_is_adam_with_the_gradient_of_backward_on_all_rows_if_all_are_named(engine):
    rng, dim = np.random.default_rng(0), 5
    arguments = descent(rng, dim, np.float64)
    arguments["ids"] = rng.permutation(np.resize(np.arange(N_DESIGN), 1400)).reshape(200, 7).astype(np.int32)
    arguments["table"] = arguments["table"][:N_DESIGN].copy()
    theta, first, second = (part[None] for part in arguments["table"].swapaxes(0, 1).reshape(3, -1).copy())
    rows = np.arange(200, dtype=np.int32)[None]
    ids, weights, vector, factor = (arguments[name] for name in ("ids", "weights", "vector", "grad_value"))
    grad = backward(_steps, ids, weights, rows, vector, factor, dim, filler=0.0)
    _steps.adam(theta, grad.base.reshape(1, -1), first, second, [0.1], [1.0], BETA1, BETA2, 1.7, TINY, 0)
    wanted = np.stack([theta, first, second]).reshape(3, N_DESIGN, -1).swapaxes(0, 1)
    np.testing.assert_allclose(descended(engine, arguments), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_descend_gives_the_same_bits_for_any_number_of_threads(dtype, threads):
    arguments = descent(np.random.default_rng(0), 7, dtype, rows=3000, slots=11)
    threads(1)
    alone = descended(kernel, arguments)
    for count in (2, 5):
        threads(count)
        np.testing.assert_array_equal(descended(kernel, arguments), alone)


def test_descend_needs_no_alignment_and_no_rows():
    arguments = descent(np.random.default_rng(0), 5, np.float32)
    table = arguments["table"]
    for shift in range(1, 4):
        moved = np.empty(table.size + shift, np.float32)[shift:].reshape(table.shape)
        moved[...] = table
        kernel.descend(**(arguments | {"table": moved}))
        np.testing.assert_array_equal(moved, descended(kernel, arguments))
    names = ("ids", "weights", "vector", "grad_value")
    np.testing.assert_array_equal(descended(kernel, arguments | {n: arguments[n][:0] for n in names}), table)
    np.testing.assert_array_equal(descended(kernel, arguments | {n: arguments[n][:, :0] for n in names[:2]}), table)


def test_descend_reads_its_input_before_it_writes():
    arguments = descent(np.random.default_rng(0), 5, np.float32, rows=200, slots=7, n_index=1)
    arguments["weights"] = arguments["table"].reshape(-1)[: 200 * 7].reshape(200, 7)  # of rows that are named
    wanted = descended(kernel, arguments | {"weights": arguments["weights"].copy()})
    kernel.descend(**arguments)
    np.testing.assert_array_equal(arguments["table"], wanted)


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
        kernel.multiply(left, which, right, spans, out)
        moved = run_adam(kernel, theta, grads.astype(dtype), [0.1] * models, [0.9] * models)
        return value, vector, grad, out, *moved

    threads(1)
    alone = everything()
    for count in (2, 5):
        threads(count)
        for got, wanted in zip(everything(), alone, strict=True):
            np.testing.assert_array_equal(got, wanted)


# ---- refusals --------------------------------------------------------------------------------------------------
# Views of larger arrays keep a call inside of allocated memory even where the kernel fails to refuse it.


def step_arguments():
    rng = np.random.default_rng(0)
    ids, weights = design(rng, np.float32)
    rows = batch_of(rng, 2, 9)
    base = np.zeros((2, 3 * N_DESIGN, PAD), np.float32)
    return {
        "ids": ids,
        "weights": weights,
        "rows": rows,
        "coef": base[:, N_DESIGN : 2 * N_DESIGN, :15],
        "dim": 5,
        "index": [2],
        "value": np.zeros((18, 1), np.float32),
        "vector": np.zeros((18, 1, 5), np.float32),
        "grad_value": np.zeros((18, 1), np.float32),
    }


def call_forward(arguments):
    names = ("ids", "weights", "rows", "coef", "dim", "index", "value", "vector")
    kernel.forward(*(arguments[name] for name in names))


def call_backward(arguments):
    names = ("ids", "weights", "rows", "vector", "grad_value", "dim", "coef")
    kernel.backward(*(arguments[name] for name in names))


def read_only(array):
    view = array.view()
    view.flags.writeable = False
    return view


def with_entry(array, entry):
    changed = array.copy()
    changed[-1, -1] = entry
    return changed


SHARED_FAULTS = {
    "ids with one axis": lambda a: {"ids": a["ids"][0]},
    "ids of int64": lambda a: {"ids": a["ids"].astype(np.int64)},
    "ids of floats": lambda a: {"ids": a["ids"].astype(np.float32)},
    "ids with other slots than weights": lambda a: {"ids": a["ids"][:, 1:].copy()},
    "ids that are not contiguous": lambda a: {"ids": np.asfortranarray(a["ids"])},
    "weights of another dtype": lambda a: {"weights": a["weights"].astype(np.float64)},
    "weights with fewer rows": lambda a: {"weights": a["weights"][1:]},
    "weights that are not contiguous": lambda a: {"weights": a["weights"][:, ::-1]},
    "rows with one axis": lambda a: {"rows": a["rows"][0]},
    "rows for another number of models": lambda a: {"rows": a["rows"][:1]},
    "rows of int64": lambda a: {"rows": a["rows"].astype(np.int64)},
    "rows that are not contiguous": lambda a: {"rows": a["rows"][:, ::-1]},
    "rows after the last": lambda a: {"rows": with_entry(a["rows"], N_ROWS)},
    "rows before the first": lambda a: {"rows": with_entry(a["rows"], -1)},
    "ids after the last": lambda a: {"ids": np.where(a["ids"] == 3, np.int32(N_DESIGN), a["ids"])},
    "ids before the first": lambda a: {"ids": np.where(a["ids"] == 3, np.int32(-1), a["ids"])},
    "coef with two axes": lambda a: {"coef": a["coef"][0]},
    "coef of another width": lambda a: {"coef": a["coef"][..., :10]},
    "coef for another dim": lambda a: {"dim": 4},
    "coef that is not padded": lambda a: {"coef": a["coef"].copy()},
    "coef with reversed rows": lambda a: {"coef": a["coef"][:, ::-1]},
    "coef with reversed entries": lambda a: {"coef": a["coef"][..., ::-1]},
    "coef of another dtype": lambda a: {"coef": padded(a["coef"].astype(np.float64))},
    "a list instead of coef": lambda a: {"coef": a["coef"].tolist()},
    "None instead of weights": lambda a: {"weights": None},
    "a negative dim": lambda a: {"dim": -5},
    "dim 0": lambda a: {"dim": 0, "coef": a["coef"][..., :0], "index": [], **empty_results(dim=0)},
    "dim that is no int": lambda a: {"dim": 5.0},
    "ints for floats": lambda a: {
        name: a[name].astype(np.int32) if name != "coef" else padded(a[name].astype(np.int32))
        for name in ("weights", "coef", "value", "vector", "grad_value")
    },
    "vector of another dtype": lambda a: {"vector": a["vector"].astype(np.float64)},
    "vector of another dim": lambda a: {"vector": a["vector"][..., :4].copy()},
    "vector with fewer rows": lambda a: {"vector": a["vector"][1:]},
    "vector with two axes": lambda a: {"vector": a["vector"][:, 0]},
    "no index at all": lambda a: {"index": [], **empty_results(dim=5)},
}


def empty_results(dim):
    rows = 18
    return {
        "value": np.zeros((rows, 0), np.float32),
        "vector": np.zeros((rows, 0, dim), np.float32),
        "grad_value": np.zeros((rows, 0), np.float32),
    }


FORWARD_FAULTS = SHARED_FAULTS | {
    "an index that does not exist": lambda a: {"index": [5]},
    "a negative index": lambda a: {"index": [-1]},
    "indices that do not increase": lambda a: {"index": [3, 1], **two_results()},
    "an index twice": lambda a: {"index": [1, 1], **two_results()},
    "an index that is no int": lambda a: {"index": [1.5]},
    "more indices than values": lambda a: {"index": [1, 2]},
    "value with one axis": lambda a: {"value": a["value"][:, 0]},
    "value of another dtype": lambda a: {"value": a["value"].astype(np.float64)},
    "value with fewer rows": lambda a: {"value": a["value"][1:]},
    "a read-only value": lambda a: {"value": read_only(a["value"])},
    "a read-only vector": lambda a: {"vector": read_only(a["vector"])},
    "None instead of value": lambda a: {"value": None},
}


def two_results():
    return {"value": np.zeros((18, 2), np.float32), "vector": np.zeros((18, 2, 5), np.float32)}


BACKWARD_FAULTS = SHARED_FAULTS | {
    "factors of another dtype": lambda a: {"grad_value": a["grad_value"].astype(np.float64)},
    "factors with fewer rows": lambda a: {"grad_value": a["grad_value"][1:]},
    "factors for more indices": lambda a: {"grad_value": np.zeros((18, 2), np.float32)},
    "factors with one axis": lambda a: {"grad_value": a["grad_value"][:, 0]},
    "None instead of vector": lambda a: {"vector": None},
    "a read-only gradient": lambda a: {"coef": read_only(a["coef"])},
    "an empty batch and a gradient that is not padded": lambda a: {
        "rows": a["rows"][:, :0].copy(),
        "coef": a["coef"].base[:, :4, ::2][..., :6],
        "dim": 3,
        "vector": np.zeros((0, 1, 3), np.float32),
        "grad_value": np.zeros((0, 1), np.float32),
    },
}


@pytest.mark.parametrize("fault", FORWARD_FAULTS)
def test_forward_refuses(fault):
    arguments = step_arguments()
    call_forward(arguments)
    with pytest.raises((ValueError, TypeError)):
        call_forward(arguments | FORWARD_FAULTS[fault](arguments))


@pytest.mark.parametrize("fault", BACKWARD_FAULTS)
def test_backward_refuses(fault):
    arguments = step_arguments()
    call_backward(arguments)
    with pytest.raises((ValueError, TypeError)):
        call_backward(arguments | BACKWARD_FAULTS[fault](arguments))


def multiply_arguments():
    spans = spans_of([(4, 0, 2), (3, 2, 5)])
    left = compact(np.random.default_rng(0), spans, 6, np.float32)[2:4]
    right, out = np.zeros((2, 5, PAD), np.float32), np.zeros((2, 7, PAD), np.float32)
    return {"left": left, "which": [0, 1], "right": right, "spans": spans, "out": out}


MULTIPLY_FAULTS = {
    "left with two axes": lambda a: {"left": a["left"][0]},
    "left of another dtype": lambda a: {"left": a["left"].astype(np.float64)},
    "left that is not contiguous": lambda a: {"left": a["left"][:, ::-1]},
    "left and right with reversed entries": lambda a: {"left": a["left"][..., ::-1], "right": a["right"][..., ::-1]},
    "a left factor after the last": lambda a: {"which": [0, 2]},
    "a left factor before the first": lambda a: {"which": [-1, 0]},
    "left factors for fewer models": lambda a: {"which": [0]},
    "left factors for more models": lambda a: {"which": [0, 1, 1]},
    "a left factor that is no int": lambda a: {"which": [0, 0.5]},
    "one left factor instead of a list": lambda a: {"which": 0},
    "right with two axes": lambda a: {"right": a["right"][0]},
    "right with fewer rows": lambda a: {"right": a["right"][:, 1:].copy()},
    "right for fewer models": lambda a: {"right": a["right"][:1]},
    "widths that are not padded": lambda a: {name: a[name][..., :15].copy() for name in ("right", "out")},
    "views of padded arrays": lambda a: {name: padded(a[name][..., :15]) for name in ("right", "out")},
    "out of another shape": lambda a: {"out": a["out"][:, 1:].copy()},
    "out that is not contiguous": lambda a: {"out": a["out"][:, ::-1]},
    "a read-only out": lambda a: {"out": read_only(a["out"])},
    "None instead of out": lambda a: {"out": None},
    "spans of int64": lambda a: {"spans": a["spans"].astype(np.int64)},
    "spans for fewer rows": lambda a: {"spans": a["spans"][1:]},
    "spans that are not contiguous": lambda a: {"spans": np.asfortranarray(a["spans"])},
    "spans after the last column": lambda a: {"spans": with_entry(a["spans"], 6)},
    "spans before the first column": lambda a: {"spans": a["spans"] - np.int32(1)},
    "spans longer than left": lambda a: {"spans": np.where(a["spans"] == 2, np.int32(1), a["spans"])},
    "ints for floats": lambda a: {name: a[name].astype(np.int32) for name in ("left", "right", "out")},
}


@pytest.mark.parametrize("fault", MULTIPLY_FAULTS)
def test_multiply_refuses(fault):
    arguments = multiply_arguments()
    kernel.multiply(**arguments)
    with pytest.raises((ValueError, TypeError)):
        kernel.multiply(**(arguments | MULTIPLY_FAULTS[fault](arguments)))


def adam_arguments():
    arrays = {name: np.ones((2, 32), np.float32) for name in ("theta", "grad", "first", "second")}
    numbers = {"beta1": BETA1, "beta2": BETA2, "correct": 1.0, "tiny": TINY, "spared": 16}
    return {**arrays, "rate": [0.1, 0.1], "keep": [1.0, 1.0], **numbers}


ADAM_FAULTS = {
    **{f"{name} of another dtype": functools.partial(
        lambda name, a: {name: a[name].astype(np.float64)}, name) for name in ("theta", "grad", "first", "second")},
    **{f"{name} of another size": functools.partial(
        lambda name, a: {name: a[name][:, :16].copy()}, name) for name in ("theta", "grad", "first", "second")},
    **{f"{name} that is not contiguous": functools.partial(
        lambda name, a: {name: a[name][:, ::-1]}, name) for name in ("theta", "grad", "first", "second")},
    **{f"a read-only {name}": functools.partial(
        lambda name, a: {name: read_only(a[name])}, name) for name in ("theta", "first", "second")},
    "a size that is not padded": lambda a: {n: a[n][:, :31].copy() for n in ("theta", "grad", "first", "second")},
    "ints for floats": lambda a: {n: a[n].astype(np.int32) for n in ("theta", "grad", "first", "second")},
    "theta with three axes": lambda a: {"theta": a["theta"][None]},
    "fewer rates than models": lambda a: {"rate": [0.1]},
    "fewer keeps than models": lambda a: {"keep": [1.0]},
    "one rate instead of a list": lambda a: {"rate": 0.1},
    "None instead of grad": lambda a: {"grad": None},
    "spared numbers that are not padded": lambda a: {"spared": 8},
    "spared numbers that are no int": lambda a: {"spared": 0.5},
}  # fmt: skip


@pytest.mark.parametrize("fault", ADAM_FAULTS)
def test_adam_refuses(fault):
    arguments = adam_arguments()
    kernel.adam(**arguments)
    with pytest.raises((ValueError, TypeError)):
        kernel.adam(**(arguments | ADAM_FAULTS[fault](arguments)))


def descend_arguments():
    return descent(np.random.default_rng(0), 5, np.float32, rows=9)


def within(table, **room):
    """A view of the same shape inside of a larger array."""
    base = np.zeros([n + room.get(axis, 0) for axis, n in zip("abc", table.shape, strict=True)], table.dtype)
    return base[tuple(slice(n) for n in table.shape)]


DESCEND_FAULTS = {
    "ids with one axis": lambda a: {"ids": a["ids"][0]},
    "ids of int64": lambda a: {"ids": a["ids"].astype(np.int64)},
    "ids of floats": lambda a: {"ids": a["ids"].astype(np.float32)},
    "ids after the last": lambda a: {"ids": with_entry(a["ids"], N_IDS)},
    "ids before the first": lambda a: {"ids": with_entry(a["ids"], -1)},
    "ids with other slots than weights": lambda a: {"ids": a["ids"][:, 1:].copy()},
    "ids with fewer rows": lambda a: {"ids": a["ids"][1:]},
    "ids that are not contiguous": lambda a: {"ids": np.asfortranarray(a["ids"])},
    "weights of another dtype": lambda a: {"weights": a["weights"].astype(np.float64)},
    "weights with fewer rows": lambda a: {"weights": a["weights"][1:]},
    "weights that are not contiguous": lambda a: {"weights": a["weights"][:, ::-1]},
    "vector with two axes": lambda a: {"vector": a["vector"][:, 0]},
    "vector with fewer rows": lambda a: {"vector": a["vector"][1:]},
    "vector of another dim": lambda a: {"vector": a["vector"][..., 1:]},
    "vector of another dtype": lambda a: {"vector": a["vector"].astype(np.float64)},
    "no vectors": lambda a: {"vector": a["vector"][:, :0], "grad_value": a["grad_value"][:, :0]},
    "factors for fewer vectors": lambda a: {"grad_value": a["grad_value"][:, :1]},
    "factors with one axis": lambda a: {"grad_value": a["grad_value"][:, 0]},
    "factors of another dtype": lambda a: {"grad_value": a["grad_value"].astype(np.float64)},
    "another dim": lambda a: {"dim": 4},
    "dim 0": lambda a: {"dim": 0, "vector": a["vector"][..., :0], "table": a["table"][..., :0]},
    "a negative dim": lambda a: {"dim": -5},
    "a table with two axes": lambda a: {"table": a["table"][:, 0]},
    "a table without rows": lambda a: {"table": a["table"][:0]},
    "a table without moments": lambda a: {"table": a["table"][:, :1].copy()},
    "a table that is not padded": lambda a: {"table": a["table"][..., :15].copy()},
    "a table of another dtype": lambda a: {"table": a["table"].astype(np.float64)},
    "a table with its rows apart": lambda a: {"table": within(a["table"], b=1)},
    "a table with its entries apart": lambda a: {"table": within(a["table"], c=16)},
    "a reversed table": lambda a: {"table": a["table"][::-1]},
    "a table whose rows are one": lambda a: {"table": np.lib.stride_tricks.as_strided(a["table"], strides=(0, 64, 4))},
    "a read-only table": lambda a: {"table": read_only(a["table"])},
    "a list instead of the table": lambda a: {"table": a["table"][:20].tolist()},
    "None instead of weights": lambda a: {"weights": None},
    "ints for floats": lambda a: {n: a[n].astype(np.int32) for n in ("weights", "vector", "grad_value", "table")},
    "a rate that is no number": lambda a: {"rate": [0.1]},
}


@pytest.mark.parametrize("engine", [kernel, _steps], ids=["kernel", "reference"])
@pytest.mark.parametrize("fault", ["ids after the last", "ids before the first"])
def test_descend_says_that_an_id_does_not_exist(fault, engine):
    arguments = descend_arguments()
    before = arguments["table"].copy()
    with pytest.raises(ValueError, match="ids holds a row that does not exist"):
        engine.descend(**(arguments | DESCEND_FAULTS[fault](arguments)))
    np.testing.assert_array_equal(arguments["table"], before)


@pytest.mark.parametrize("fault", DESCEND_FAULTS)
def test_descend_refuses_and_leaves_the_table_alone(fault):
    arguments = descend_arguments()
    kernel.descend(**arguments)
    before = arguments["table"].copy()
    with pytest.raises((ValueError, TypeError)):
        kernel.descend(**(arguments | DESCEND_FAULTS[fault](arguments)))
    np.testing.assert_array_equal(arguments["table"], before)


# ---- curve -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clamp", [True, False])
@pytest.mark.parametrize("knots", [[0.0, 1.0], [-1.0, 0.0, 0.5], list(np.arange(17.0) ** 2)])
def test_curve_fills_the_entries_that_numpy_finds(knots, clamp, monkeypatch):
    rng = np.random.default_rng(0)
    knots = np.array(knots)
    x = np.concatenate([knots, rng.uniform(knots[0] - 3, knots[-1] + 3, 200), [-np.inf, np.inf] if clamp else []])
    column = Curve("x", 5, knots=knots, clamp=clamp)
    for dtype in DTYPES:
        results = []
        for kernel_of in (lambda: kernel, lambda: None):
            monkeypatch.setattr(curve, "native", kernel_of)
            ids, weights = np.zeros((len(x), 4), np.int32), np.zeros((len(x), 4), dtype)
            column._write_numbers_(x, ids[:, 1:3], weights[:, 1:3])
            results.append((ids, weights))
        for got, wanted in zip(*results, strict=True):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(
    "fault", [{"knots": np.zeros(1)}, {"x": np.zeros(3, np.float32)}, {"ids": np.zeros((2, 2), np.int32)}]
)
def test_curve_refuses(fault):
    arguments = {"x": np.zeros(3), "knots": np.arange(2.0), "start": 0, "clamp": True}
    arguments |= {"ids": np.zeros((3, 2), np.int32), "weights": np.zeros((3, 2), np.float32)}
    kernel.curve(**arguments)
    with pytest.raises(ValueError, match="curve needs"):
        kernel.curve(**(arguments | fault))
