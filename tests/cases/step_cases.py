"""Design rows, coefficients and the calls of a training step, for the kernel and for its reference."""

from __future__ import annotations

import numpy as np

from lambdak.eigen.packing import padded_size, padded_width

DTYPES = [np.float32, np.float64]
INDICES = {1: [[0]], 2: [[1], [0, 1]], 5: [[2], [0, 2, 4]], 15: [[7], [0, 3, 7, 14]]}
MODELS = [1, 3, 5]
N_ROWS, N_DESIGN, SLOTS = 40, 11, 4
BETA1, BETA2, TINY = 0.9, 0.99, 1e-8
BATCH, RULE = ("ids", "weights"), ("rate", "beta1", "beta2", "correct", "tiny")


def tolerance(dtype):
    return 500 * float(np.finfo(dtype).eps)


def padded(values, filler=0.0):
    """A view of the values whose rows have room up to the next multiple of the padding."""
    width = values.shape[-1]
    base = np.full((*values.shape[:-1], padded_width(width)), filler, values.dtype)
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


def forward(engine, ids, weights, rows, coef, dim, index, want_vector=True, threads=0):
    total = rows.size
    value = np.full((total, len(index)), np.nan, coef.dtype)
    vector = np.full((total, len(index), dim), np.nan, coef.dtype) if want_vector else None
    engine.forward((ids, weights, rows), coef, dim, index, (value, vector), threads)
    return value, vector


def backward(engine, ids, weights, rows, vector, factor, dim, filler=np.nan, threads=0):
    grad = padded(np.full((len(rows), N_DESIGN, dim * (dim + 1) // 2), filler, vector.dtype), filler)
    engine.backward((ids, weights, rows), vector, factor, dim, grad, threads)
    return grad


def spans_of(blocks):
    return np.repeat([block[1:] for block in blocks], [block[0] for block in blocks], axis=0).astype(np.int32)


def compact(rng, spans, kinds, dtype):
    """Left factors (kinds, rows, reach): what row i holds between the columns spans[i], and zeros after that."""
    lengths = np.diff(spans, axis=1)
    reach = max(int(lengths.max()), 1)
    return np.where(np.arange(reach) < lengths, rng.standard_normal((kinds, len(spans), reach)), 0).astype(dtype)


def run_adam(engine, theta, grads, rate, keep, spared=0, threads=0):
    theta = theta.copy()
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    for step, grad in enumerate(grads, 1):
        rates = [r / (1 - BETA1**step) for r in rate]
        rule = BETA1, BETA2, 1 / (1 - BETA2**step), TINY
        engine.adam((theta, grad, first, second), rates, keep, rule, spared, threads)
    return theta, first, second


N_IDS = 2500  # several of them share a bucket


def descent(rng, dim, dtype, rows=200, slots=7, n_index=2):
    """Rows that name some ids often and some twice, with slots of weight zero, and a table that has seen steps."""
    ids = (N_IDS ** rng.random((rows, slots)) - 1).astype(np.int32)
    ids[:, 0] = 0
    ids[-1, -2:] = N_IDS - 1
    weights = rng.standard_normal((rows, slots)).astype(dtype)
    weights[::5, 2] = 0
    table = rng.standard_normal((N_IDS, 3, padded_size(dim))).astype(dtype)
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


def call_descend(engine, arguments, threads=0):
    """Numbers of Adam's rule and arrays by their names, as a call groups them."""
    batch, rule = (tuple(arguments[name] for name in names) for names in (BATCH, RULE))
    vector, grad_value, dim, table = (arguments[name] for name in ("vector", "grad_value", "dim", "table"))
    engine.descend(batch, vector, grad_value, dim, table, rule, threads)


def descended(engine, arguments, threads=0):
    table = arguments["table"].copy()
    call_descend(engine, arguments | {"table": table}, threads)
    return table


def read_only(array):
    view = array.view()
    view.flags.writeable = False
    return view


def with_entry(array, entry):
    changed = array.copy()
    changed[-1, -1] = entry
    return changed
