"""The kernel's step on the rows of a table that a batch names, against the reference and Adam on all rows."""

from __future__ import annotations

import numpy as np
import pytest
from step_cases import (
    BETA1,
    BETA2,
    DTYPES,
    INDICES,
    N_DESIGN,
    N_IDS,
    TINY,
    backward,
    call_descend,
    descended,
    descent,
    tolerance,
)

from lambdak.eigen import steps as _steps
from lambdak.eigen.runtime import native

kernel = native()
if kernel is None:
    pytest.skip("this install has no compiled kernel", allow_module_level=True)


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
    rule = BETA1, BETA2, 1.7, TINY
    _steps.adam((theta, grad.base.reshape(1, -1), first, second), [0.1], [1.0], rule, 0, 0)
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
        call_descend(kernel, arguments | {"table": moved})
        np.testing.assert_array_equal(moved, descended(kernel, arguments))
    names = ("ids", "weights", "vector", "grad_value")
    np.testing.assert_array_equal(descended(kernel, arguments | {n: arguments[n][:0] for n in names}), table)
    np.testing.assert_array_equal(descended(kernel, arguments | {n: arguments[n][:, :0] for n in names[:2]}), table)


def test_descend_reads_its_input_before_it_writes():
    arguments = descent(np.random.default_rng(0), 5, np.float32, rows=200, slots=7, n_index=1)
    arguments["weights"] = arguments["table"].reshape(-1)[: 200 * 7].reshape(200, 7)  # of rows that are named
    wanted = descended(kernel, arguments | {"weights": arguments["weights"].copy()})
    call_descend(kernel, arguments)
    np.testing.assert_array_equal(arguments["table"], wanted)
