"""Folds: no member trains on the rows that measure it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from training_cases import OUTPUTS, losses_of, regression, small_problem, smooth, table, trainer_of

from lambdak.table.encoder import TableEncoder
from lambdak.training.effort import Schedule
from lambdak.training.problem import Folds


def folds_of(rows=400, left_out=(0, 1, 2), folds=4):
    return Folds((np.random.default_rng(7).permutation(rows) % folds).astype(np.int32), left_out)


@given(
    hnp.arrays(np.int32, st.integers(1, 60), elements=st.integers(0, 3)),
    st.lists(st.integers(-1, 4), min_size=1, max_size=5).map(tuple),
)
def test_without_and_within_cut_every_order_into_the_rows_of_a_fold_and_the_others(fold, left_out):
    folds = Folds(fold, left_out)
    order = np.random.default_rng(0).permutation(len(fold)).astype(np.int32)
    others = [order[fold[order] != k] for k in left_out]
    own = [np.flatnonzero(fold == k) for k in left_out]
    for got, wanted in ((folds.without(order), others), (folds.within(), own)):
        assert got.dtype == np.int32
        assert got.shape == (len(left_out), min(len(rows) for rows in wanted))
        assert all(np.array_equal(some, rows[: got.shape[1]]) for some, rows in zip(got, wanted, strict=True))


@pytest.mark.parametrize("kind", ["one output", "several pencils"])
def test_no_member_ever_trains_on_a_row_of_its_fold_and_each_sees_all_others(kind, recorder):
    loss, outputs = OUTPUTS[kind]
    X, folds = table(), folds_of()
    encoder = TableEncoder(n_knots=8).fit(X)
    y = smooth(X) if outputs.pencils == 1 else np.digitize(smooth(X), [9.5, 10.5])
    problem = regression(X, y, encoder, loss, outputs=outputs)
    list(trainer_of(problem, None, encoder, folds=folds).run(Schedule(epochs=3, batch=50)))
    seen = np.concatenate(recorder.rows, axis=1).reshape(3, outputs.pencils, -1)
    for member, fold in zip(seen, folds.left_out, strict=True):
        assert (member == member[0]).all(), "the pencils of one member see the same rows"
        for epoch in np.split(member[0], 3):
            assert np.array_equal(np.sort(epoch), np.flatnonzero(folds.fold != fold))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["one output", "several pencils"])
def test_every_member_is_measured_on_its_fold_and_keeps_its_best_state_there(kind, weighted):
    loss, outputs = OUTPUTS[kind]
    X, folds = table(), folds_of()
    encoder = TableEncoder(n_knots=8).fit(X)
    y = smooth(X) if outputs.pencils == 1 else np.digitize(smooth(X), [9.5, 10.5])
    weight = np.random.default_rng(2).exponential(size=400).astype(np.float32) if weighted else None
    problem = regression(X, y, encoder, loss, weight, outputs=outputs)
    trainer = trainer_of(problem, None, encoder, folds=folds)

    def on_own_fold(coef):
        losses = []
        for member, fold in enumerate(folds.left_out):
            rows = np.flatnonzero(folds.fold == fold)
            part = replace(
                problem, design=problem.design.take(rows), y=y[rows], weight=weight[rows] if weighted else None
            )
            losses.append(losses_of(part, coef[member * outputs.pencils : (member + 1) * outputs.pencils])[0])
        return losses

    seen = []
    for event in trainer.run(Schedule(epochs=4, batch=50)):
        assert event.validation == pytest.approx(on_own_fold(trainer.parameters.coef), rel=1e-5)
        seen.append(event.validation)
    np.testing.assert_array_equal(trainer.best, np.min(seen, axis=0))
    assert on_own_fold(trainer.coef) == pytest.approx(trainer.best, rel=1e-5)


def test_validation_rows_measure_instead_of_the_folds_which_are_left_out_of_training_all_the_same(recorder):
    problem, validation, encoder = small_problem()
    folds = folds_of()
    trainer = trainer_of(problem, validation, encoder, folds=folds)
    list(trainer.run(Schedule(epochs=2, batch=50)))
    np.testing.assert_array_equal(losses_of(validation, trainer.coef), trainer.best)
    for member, rows in enumerate(np.concatenate(recorder.rows, axis=1)):
        assert (folds.fold[rows] != folds.left_out[member]).all()
