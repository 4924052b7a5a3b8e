"""Products with compact and shared left factors, row by row, and arrays that they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from step_cases import DTYPES, compact, padded, read_only, spans_of, tolerance, with_entry

from lambdak.eigen import steps as _steps
from lambdak.eigen.packing import PAD
from lambdak.eigen.runtime import native

kernel = native()
if kernel is None:
    pytest.skip("this install has no compiled kernel", allow_module_level=True)


# Rows of the left factors as (how many, first column, last column) of their spans.
SPANS = {
    "a single entry": [(1, 0, 1)],
    "blocks": [(7, 0, 3), (1, 3, 8), (2, 8, 8), (13, 8, 16)],
    "blocks of more rows than a chunk": [(1, 0, 0), (61, 0, 30), (4, 30, 34), (53, 34, 74)],
    "rows that start together and end apart": [(3, 0, 2), (4, 0, 9), (2, 0, 0), (9, 0, 4), (2, 0, 9)],
    "rows that overlap in any order": [(5, 4, 9), (6, 0, 9), (1, 2, 3), (7, 7, 9), (1, 8, 8), (13, 1, 6)],
}
WHICH = [[0], [2, 0, 2], [1, 1, 2, 0, 1]]


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
                engine.multiply(left, which, right, spans, out, 0)
                np.testing.assert_allclose(out, exact, rtol=0, atol=tolerance(dtype) * np.abs(exact).max())


def test_multiply_looks_at_nothing_outside_of_the_spans(isa):
    rng, spans = np.random.default_rng(0), spans_of([(12, 0, 5), (12, 5, 11)])
    left = compact(rng, spans, 2, np.float32)
    right = rng.standard_normal((2, 11, 16)).astype(np.float32)
    clean, dirty = np.empty((2, 24, 16), np.float32), np.empty((2, 24, 16), np.float32)
    kernel.multiply(left, [0, 1], right, spans, clean, 0)
    right[:, 5:] = np.nan  # only the second block multiplies these
    kernel.multiply(left, [0, 1], right, spans, dirty, 0)
    np.testing.assert_array_equal(dirty[:, :12], clean[:, :12])
    assert np.isnan(dirty[:, 12:]).all()


def test_multiply_looks_only_at_the_left_factor_that_is_requested(isa):
    rng, spans = np.random.default_rng(0), spans_of(SPANS["blocks"])
    left = compact(rng, spans, 3, np.float32)
    right = rng.standard_normal((2, 16, 16)).astype(np.float32)
    left[1] = np.nan
    out = np.empty((2, len(spans), 16), np.float32)
    kernel.multiply(left, [2, 0], right, spans, out, 0)
    assert np.isfinite(out).all()


# ---- what it refuses -------------------------------------------------------------------------------------------


def multiply_arguments():
    spans = spans_of([(4, 0, 2), (3, 2, 5)])
    left = compact(np.random.default_rng(0), spans, 6, np.float32)[2:4]
    right, out = np.zeros((2, 5, PAD), np.float32), np.zeros((2, 7, PAD), np.float32)
    return {"left": left, "which": [0, 1], "right": right, "spans": spans, "out": out, "threads": 0}


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
