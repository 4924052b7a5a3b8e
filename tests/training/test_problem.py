"""A problem: from eigenvalues to raw scores and losses, and back by the transpose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from training_cases import OUTPUTS, OWN_ROWS, table

from lambdak.table.encoder import TableEncoder
from lambdak.training.problem import Problem

ROWS = 12


def task_of(kind, with_offset):
    loss, outputs = OUTPUTS[kind]
    rng = np.random.default_rng(0)
    encoder = TableEncoder(n_knots=3).fit(table(ROWS))
    y = rng.integers(0, 3, ROWS)
    offset = rng.standard_normal(ROWS) if with_offset else None
    start = rng.standard_normal(loss.n_outputs)
    return Problem(encoder.transform(table(ROWS)), y, None, offset, loss, start, 1.7, outputs)


@pytest.mark.parametrize("with_offset", [False, True])
@pytest.mark.parametrize("kind", OUTPUTS)
def test_the_eigenvalue_gradient_is_the_transpose_of_raw(kind, with_offset):
    problem, rng = task_of(kind, with_offset), np.random.default_rng(1)
    models, rows = 4, np.array([3, 1, 1, 7, 11], np.int32)
    values = rng.standard_normal((models * problem.outputs.pencils, len(rows), len(problem.outputs.indices)))
    linear = problem.raw(values, rows) - problem.raw(np.zeros_like(values), rows)
    grad_raw = rng.standard_normal(linear.shape)
    pulled = problem.eigenvalue_gradient(grad_raw)
    assert pulled.shape == (models * problem.outputs.pencils * len(rows), len(problem.outputs.indices))
    assert pulled.flags.c_contiguous
    assert np.vdot(grad_raw, linear) == pytest.approx(np.vdot(pulled.reshape(values.shape), values), rel=1e-12)


@pytest.mark.parametrize("with_offset", [False, True])
@pytest.mark.parametrize("kind", OUTPUTS)
def test_a_raw_score_is_start_plus_scaled_eigenvalue_plus_the_offset_of_its_row(kind, with_offset):
    problem, rng = task_of(kind, with_offset), np.random.default_rng(1)
    models, rows = 2, np.array([3, 1, 1, 7, 11], np.int32)
    values = rng.standard_normal((models * problem.outputs.pencils, len(rows), len(problem.outputs.indices)))
    raw = problem.raw(values, rows)
    outputs = problem.loss.n_outputs
    assert raw.shape == ((models, len(rows), outputs) if outputs > 1 else (models, len(rows)))
    for model in range(models):
        for b, row in enumerate(rows):
            for k in range(outputs):
                eigenvalue = values[model * 3 + k, b, 0] if problem.outputs.pencils > 1 else values[model, b, k]
                shift = problem.offset[row] if with_offset else 0.0
                got = raw[model, b, k] if outputs > 1 else raw[model, b]
                assert got == pytest.approx(problem.start[k] + 1.7 * eigenvalue + shift, rel=1e-12)


@pytest.mark.parametrize("kind", OUTPUTS)
def test_losses_are_those_of_every_row_for_each_model(kind):
    problem, rng = task_of(kind, with_offset=True), np.random.default_rng(1)
    values = rng.standard_normal((2 * problem.outputs.pencils, ROWS, len(problem.outputs.indices)))
    every = np.arange(ROWS, dtype=np.int32)
    expected = problem.loss.value(problem.raw(values, every), problem.y)
    assert expected.shape == (2,)
    np.testing.assert_array_equal(problem.losses(values), expected)


@pytest.mark.parametrize("kind", OUTPUTS)
def test_where_every_model_has_its_own_rows_raw_and_losses_are_those_of_each_model_alone(kind):
    rng = np.random.default_rng(1)
    problem = replace(task_of(kind, with_offset=True), weight=rng.exponential(size=ROWS))
    values = rng.standard_normal((2 * problem.outputs.pencils, 5, len(problem.outputs.indices)))
    raw, losses = problem.raw(values, OWN_ROWS), problem.losses(values, OWN_ROWS)
    assert losses.shape == (2,)
    for model, (own, rows) in enumerate(zip(np.split(values, 2), OWN_ROWS, strict=True)):
        np.testing.assert_array_equal(raw[[model]], problem.raw(own, rows))
        assert losses[model] == pytest.approx(problem.losses(own, rows)[0], rel=1e-12)
