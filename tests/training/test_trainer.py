"""The trainer: transposes, the best state of every model, folds, reproducibility, constraints, and the schedule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from training_cases import (
    DECAY,
    DIM,
    WIDTH,
    losses_of,
    noisy_problem,
    regression,
    small_problem,
    smooth,
    table,
    trainer_of,
)

import lambdak
from lambdak import Pencil
from lambdak.eigen import steps as _steps
from lambdak.losses import Pinball, SoftmaxLog, SquaredError
from lambdak.model.evaluate import evaluate
from lambdak.model.outputs import ClassOutputs, OrderedOutputs, SingleOutput
from lambdak.table.encoder import TableEncoder
from lambdak.training import coordinates, parameters
from lambdak.training import trainer as train
from lambdak.training.problem import Problem
from lambdak.training.trainer import Folds, Schedule, Trainer


@pytest.fixture
def threads():
    before = lambdak.get_num_threads()
    yield lambdak.set_num_threads
    lambdak.set_num_threads(before)


class Recorder:
    """The step engine, with an ear on the rates that reach adam, and on the rows and slopes of training steps."""

    def __init__(self, engine):
        self.engine, self.rates, self.corrections, self.rows, self.slopes = engine, [], [], [], []
        self.threads = set()

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def adam(self, state, rate, keep, rule, spared, threads):
        self.rates.append(rate)
        self.corrections.append(rule[2])
        self.threads.add(threads)
        self.engine.adam(state, rate, keep, rule, spared, threads)

    def forward(self, design, coef, dim, index, out, threads):
        if out[1] is not None:  # a training step
            self.rows.append(design[2].copy())
        self.threads.add(threads)
        self.engine.forward(design, coef, dim, index, out, threads)

    def backward(self, design, vector, slope, dim, grad, threads):
        self.slopes.append(slope.reshape(design[2].shape))
        self.threads.add(threads)
        self.engine.backward(design, vector, slope, dim, grad, threads)

    def multiply(self, left, which, right, spans, out, threads):
        self.threads.add(threads)
        self.engine.multiply(left, which, right, spans, out, threads)


@pytest.fixture
def recorder(monkeypatch):
    result = Recorder(_steps.step_engine())
    for module in (train, parameters, coordinates):
        monkeypatch.setattr(module, "step_engine", lambda: result)
    return result


# ---- from eigenvalues to raw scores and back -------------------------------------------------------------------

ROWS = 12
OUTPUTS = {
    "one output": (SquaredError(), SingleOutput((2,))),
    "several indices": (Pinball((0.1, 0.5, 0.9)), OrderedOutputs((1, 2, 4))),
    "several pencils": (SoftmaxLog(3), ClassOutputs((2,), 3)),
}


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


OWN_ROWS = np.array([[3, 1, 1, 7, 11], [0, 2, 11, 5, 4]], np.int32)


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


# ---- evaluation ------------------------------------------------------------------------------------------------


def wide_design():
    X = sparse.random_array((70, 9), density=0.3, rng=np.random.default_rng(0), format="csr")
    encoder = TableEncoder().fit(X)
    return encoder.transform(X, dtype=np.float64), encoder.n_design


def mixed_design():
    X = table(70, 3)
    X[::5, 1] = np.nan
    X[:, 2] = np.round(X[:, 2])
    encoder = TableEncoder(n_knots=4, categorical_features=[2], min_level_count=1).fit(X)
    return encoder.transform(X, dtype=np.float64), encoder.n_design


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [wide_design, mixed_design])
def test_evaluate_equals_the_pencil_on_the_dense_design(make, dtype):
    design, n_design = make()
    coef = np.zeros((3, n_design, 16), dtype)
    coef[..., :WIDTH] = np.random.default_rng(0).standard_normal((3, n_design, WIDTH))
    typed = replace(design, weights=design.weights.astype(dtype))
    got = evaluate(coef, DIM, (0, 2, 4), typed)
    Z = design.to_sparse(n_design).toarray()
    assert got.dtype == dtype
    assert got.shape == (3, len(design), 3)
    for model in range(3):
        for position, index in enumerate((0, 2, 4)):
            expected = Pencil(coef[model, :, :WIDTH].astype(np.float64), index)(Z[:, 1:])
            np.testing.assert_allclose(got[model, :, position], expected, atol=100 * np.finfo(dtype).eps)


@pytest.mark.parametrize("make", [wide_design, mixed_design])
def test_evaluate_gives_every_model_its_own_rows(make):
    design, n_design = make()
    coef = np.zeros((2, n_design, 16))
    coef[..., :WIDTH] = np.random.default_rng(0).standard_normal((2, n_design, WIDTH))
    got, every = evaluate(coef, DIM, (1, 3), design, OWN_ROWS), evaluate(coef, DIM, (1, 3), design)
    np.testing.assert_array_equal(got, np.stack([every[model, rows] for model, rows in enumerate(OWN_ROWS)]))


def test_evaluate_of_no_rows_is_empty():
    design, n_design = mixed_design()
    assert evaluate(np.zeros((3, n_design, 16)), DIM, (2,), design.take(np.arange(0))).shape == (3, 0, 1)


# ---- training --------------------------------------------------------------------------------------------------


def test_training_lowers_the_validation_loss_of_every_model_far_below_its_start():
    problem, held, encoder = small_problem()
    trainer = trainer_of(problem, held, encoder)
    start = losses_of(held, trainer.coef)
    events = list(trainer.run(Schedule(epochs=25, batch=25)))
    assert (trainer.best < 0.1 * start).all()
    assert (trainer.best < 0.1 * np.var(held.y) / 2).all()
    assert [event.epoch for event in events] == list(range(1, 26))
    assert {event.epochs for event in events} == {25}
    assert (np.diff([event.seconds for event in events]) > 0).all()


def test_the_kept_state_of_each_model_has_exactly_its_best_validation_loss():
    problem, held, encoder = noisy_problem()
    trainer = trainer_of(problem, held, encoder, decay=(0.0, 3.0, 9.0))
    seen = np.array([event.validation for event in trainer.run(Schedule(epochs=12, batch=25, rate=0.2))])
    np.testing.assert_array_equal(trainer.best, seen.min(axis=0))
    np.testing.assert_array_equal(losses_of(held, trainer.coef), trainer.best)
    assert len(set(seen.argmin(axis=0))) > 1, "the test needs models whose best epochs differ"


def test_without_validation_rows_the_training_rows_choose_the_state():
    problem, _, encoder = small_problem()
    trainer = trainer_of(problem, None, encoder)
    list(trainer.run(Schedule(epochs=3, batch=50)))
    np.testing.assert_array_equal(losses_of(problem, trainer.coef), trainer.best)


def in_one_place(problem):
    """The same outputs from one common start, and the anchors of the eigenvalues, to which their differences go."""
    middle = problem.start[1]
    return replace(problem, start=np.full_like(problem.start, middle)), (problem.start - middle) / problem.scale


def test_several_indices_start_at_their_anchors():
    X = table()
    encoder = TableEncoder(n_knots=8).fit(X)
    loss, outputs = OUTPUTS["several indices"]
    problem, anchors = in_one_place(regression(X, smooth(X), encoder, loss, outputs=outputs))
    trainer = trainer_of(problem, None, encoder, anchors=anchors)
    spectrum = np.linalg.eigvalsh(lambdak.sym(mean_matrices(trainer, problem, encoder)))
    np.testing.assert_allclose(spectrum[:, outputs.indices], np.tile(anchors, (3, 1)), atol=1e-4)
    assert (np.diff(spectrum, axis=1) > 0.01).all()


@pytest.mark.parametrize("kind", ["several indices", "several pencils"])
def test_several_outputs_learn_and_keep_the_best_state_of_each_model(kind):
    loss, outputs = OUTPUTS[kind]
    X = table(300)
    y = smooth(X) if outputs.pencils == 1 else np.digitize(smooth(X), [9.5, 10.5])
    encoder = TableEncoder(n_knots=8).fit(X)
    problem = regression(X, y, encoder, loss, outputs=outputs)
    problem, anchors = in_one_place(problem) if outputs.pencils == 1 else (problem, None)
    trainer = trainer_of(problem, None, encoder, damping=(1.0, 10.0), decay=(1.0, 1.0), anchors=anchors)
    assert len(trainer.coef) == 2 * outputs.pencils
    start = losses_of(problem, trainer.coef)
    list(trainer.run(Schedule(epochs=15, batch=30)))
    assert trainer.best.shape == (2,)
    assert (trainer.best < 0.5 * start).all()
    np.testing.assert_array_equal(losses_of(problem, trainer.coef), trainer.best)


def test_an_offset_carries_what_the_model_then_need_not_learn():
    X = table()
    encoder = TableEncoder(n_knots=8).fit(X)
    jumps = 100.0 * np.random.default_rng(5).standard_normal(len(X)).astype(np.float32)
    problem = regression(X, smooth(X) + jumps, encoder, offset=jumps)
    assert problem.scale < 5
    trainer = trainer_of(problem, None, encoder)
    list(trainer.run(Schedule(epochs=15, batch=25)))
    assert (trainer.best < 0.2 * np.var(smooth(X)) / 2).all()


def test_the_same_seed_gives_the_same_bits_for_one_and_two_threads(threads):
    results = []
    for count in (1, 2, 1):
        threads(count)
        problem, held, encoder = small_problem()
        trainer = trainer_of(problem, held, encoder, signs={0: 1})
        curves = [event.validation for event in trainer.run(Schedule(epochs=3, batch=150))]
        results.append((trainer.coef, trainer.best, np.array(curves)))
    for other in results[1:]:
        for got, wanted in zip(other, results[0], strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_every_call_of_the_kernel_gets_the_threads_of_the_parameters(recorder):
    task, held, encoder = small_problem()
    trainer = trainer_of(task, held, encoder, signs={0: 1})
    assert recorder.threads == {0}
    recorder.threads.clear()
    trainer.parameters.threads = 2
    list(trainer.run(Schedule(epochs=1, batch=150)))
    trainer.unseen()
    assert recorder.threads == {2}


def test_another_seed_gives_other_models():
    problem, held, encoder = small_problem()
    first, second = (trainer_of(problem, held, encoder, seed=seed) for seed in (0, 1))
    assert (first.coef[:, 0] != second.coef[:, 0]).any()
    assert (first.coef[0] != first.coef[1]).any(), "models of one stack start apart"


def test_the_reference_engine_trains_like_the_kernel(monkeypatch):
    problem, held, encoder = small_problem()
    trained = []
    for engine in (_steps.step_engine(), _steps):
        for module in ("trainer", "parameters", "coordinates"):
            monkeypatch.setattr(f"lambdak.training.{module}.step_engine", lambda engine=engine: engine)
        trainer = trainer_of(problem, held, encoder, signs={1: 1})
        list(trainer.run(Schedule(epochs=2, batch=100)))
        trained.append(trainer)
    start = trainer_of(problem, held, encoder, signs={1: 1}).coef
    moved = np.abs(trained[0].coef - start).max()
    assert moved > 0.05
    np.testing.assert_allclose(trained[1].coef, trained[0].coef, atol=1e-3 * moved)
    np.testing.assert_allclose(trained[1].best, trained[0].best, rtol=1e-4)


def test_rows_of_weight_zero_do_not_move_the_models():
    X = table()
    encoder = TableEncoder(n_knots=8).fit(X)
    weight = np.ones(len(X), np.float32)
    weight[::3] = 0
    trained = []
    for nonsense in (0.0, 1e3):
        y = smooth(X) + nonsense * (weight == 0)
        problem = replace(regression(X, smooth(X), encoder, weight=weight), y=y)
        trainer = trainer_of(problem, None, encoder)
        list(trainer.run(Schedule(epochs=3, batch=50)))
        trained.append(trainer)
    np.testing.assert_array_equal(trained[0].coef, trained[1].coef)
    np.testing.assert_array_equal(trained[0].best, trained[1].best)


@pytest.mark.parametrize("kind", ["one output", "several pencils"])
def test_in_a_step_a_row_counts_by_its_weight_relative_to_the_whole_table(kind, recorder):
    loss, outputs = OUTPUTS[kind]
    X = table(100)
    encoder = TableEncoder(n_knots=8).fit(X)
    y = smooth(X) if outputs.pencils == 1 else np.digitize(smooth(X), [9.5, 10.5])
    problem = regression(X, y, encoder, loss, outputs=outputs)
    weight = np.random.default_rng(2).exponential(size=100).astype(np.float32)
    for some in (problem, replace(problem, weight=weight)):
        start = trainer_of(problem, None, encoder).parameters
        list(Trainer(some, start, np.random.default_rng(3)).run(Schedule(epochs=1, batch=20, rate=0.0)))
    assert len(recorder.rows) == 10
    for i in range(5):
        np.testing.assert_array_equal(recorder.rows[i], recorder.rows[i + 5])
        relative = weight[recorder.rows[i]] / weight.mean()
        np.testing.assert_allclose(recorder.slopes[i + 5], relative * recorder.slopes[i], rtol=1e-4, atol=1e-9)


def test_decay_shrinks_everything_but_the_constant():
    problem, _, encoder = small_problem(linear=("x1",))
    shifted = replace(problem, start=problem.start + 3.0)  # the constant has something to learn
    trainer = trainer_of(shifted, None, encoder, signs={1: 1}, decay=(1e9, 1e9, 0.0))
    before = trainer.coef.copy()
    list(trainer.run(Schedule(epochs=20, batch=50)))
    after = trainer.parameters.coef  # the last step is tiny, and nothing is left of those before it
    np.testing.assert_allclose(after[:2, 1:], 0, atol=1e-4)
    assert (np.abs(after[2, 1:]).max(axis=0)[:WIDTH] > 0.01).all()
    assert (np.abs(after[:, 0] - before[:, 0]).max(axis=1) > 0.1).all()
    assert losses_of(shifted, after)[:2] == pytest.approx(np.var(problem.y) / 2, rel=0.05)


def test_a_table_of_constants_learns_the_best_constant():
    X, y = np.full((64, 2), 3.0), np.random.default_rng(0).normal(5.0, 1.0, 64)
    encoder = TableEncoder(n_knots=4).fit(X)
    problem = regression(X, y, encoder)
    trainer = trainer_of(replace(problem, start=problem.start + 1.0), None, encoder)
    list(trainer.run(Schedule(epochs=40, batch=16)))
    assert trainer.best == pytest.approx(np.var(y) / 2, rel=0.02)


def test_the_training_loss_of_an_epoch_is_the_mean_over_its_steps():
    problem, held, encoder = small_problem()
    (event,) = trainer_of(problem, held, encoder).run(Schedule(epochs=1, batch=100, rate=0.0))
    np.testing.assert_allclose(event.train, losses_of(problem, trainer_of(problem, held, encoder).coef), rtol=1e-5)


def test_a_batch_larger_than_the_table_takes_all_rows():
    problem, held, encoder = small_problem()
    trainer = trainer_of(problem, held, encoder)
    (first, *_) = trainer.run(Schedule(epochs=2, batch=10**6))
    fresh = trainer_of(problem, held, encoder)
    np.testing.assert_allclose(first.train, losses_of(problem, fresh.coef), rtol=1e-5)


# ---- stopping --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("patience", [1, 3])
def test_training_stops_when_patience_is_over(patience):
    problem, held, encoder = small_problem()
    trainer = trainer_of(problem, held, encoder)
    events = list(trainer.run(Schedule(epochs=50, batch=100, rate=0.0, patience=patience)))
    assert len(events) == 1 + patience  # the first epoch is better than none, and nothing moves afterwards


def test_an_improvement_of_less_than_tol_counts_as_none():
    problem, held, encoder = small_problem()
    trainer = trainer_of(problem, held, encoder)
    assert len(list(trainer.run(Schedule(epochs=50, batch=100, patience=2, tol=1e6)))) == 3


class Scripted:
    """Validation rows whose losses are written down beforehand, one line per epoch."""

    def __init__(self, problem, script):
        self.design, self.outputs = problem.design, problem.outputs
        self.script, self.seen = iter(np.array(script, float)), []

    def losses(self, eigenvalues, rows):
        assert rows == slice(None)
        self.seen.append(eigenvalues)
        return next(self.script)


def test_patience_waits_as_long_as_any_model_improves():
    problem, held, encoder = small_problem()
    script = [[9, 9, 9], [9, 8, 9], [9, 9, 7], [9, 9, 9], [5, 9, 9], [5, 8, 7], [6, 9, 9], [0, 0, 0]]
    trainer = trainer_of(problem, Scripted(held, script), encoder)
    assert len(list(trainer.run(Schedule(epochs=8, batch=100, patience=2)))) == 7
    assert trainer.best.tolist() == [5, 8, 7]


def test_every_model_keeps_the_state_of_its_own_best_epoch():
    problem, held, encoder = small_problem()
    validation = Scripted(held, [[9, 3, 9], [8, 4, 9], [9, 3, np.nan], [np.inf, 5, 8]])
    trainer = trainer_of(problem, validation, encoder)
    list(trainer.run(Schedule(epochs=4, batch=100)))
    kept = evaluate(trainer.coef, DIM, problem.outputs.indices, held.design)
    for model, epoch in enumerate([1, 0, 3]):
        np.testing.assert_array_equal(kept[model], validation.seen[epoch][model])
        assert all((kept[model] != validation.seen[other][model]).any() for other in range(4) if other != epoch)


def test_a_run_that_is_left_in_the_middle_leaves_the_best_models_so_far():
    problem, held, encoder = small_problem()
    trainer = trainer_of(problem, held, encoder)
    start = losses_of(held, trainer.coef)
    run = trainer.run(Schedule(epochs=20, batch=25))
    seen = np.array([next(run).validation for _ in range(4)])
    run.close()
    np.testing.assert_array_equal(trainer.best, seen.min(axis=0))
    np.testing.assert_array_equal(losses_of(held, trainer.coef), trainer.best)
    assert (trainer.best < start).all()
    kept = trainer.best.copy()
    list(trainer.run(Schedule(epochs=2, batch=25)))  # and it can go on
    assert (trainer.best <= kept).all()


def test_before_training_the_coefficients_are_a_usable_start():
    problem, held, encoder = small_problem()
    trainer = trainer_of(problem, held, encoder)
    assert np.isinf(trainer.best).all()
    assert np.isfinite(losses_of(held, trainer.coef)).all()
    np.testing.assert_array_equal(trainer.coef[..., WIDTH:], 0)
    gaps = np.linalg.eigvalsh(lambdak.sym(mean_matrices(trainer, problem, encoder)))
    np.testing.assert_allclose(gaps, np.broadcast_to([-1, -1, 0, 1, 1], gaps.shape), atol=1e-4)


def mean_matrices(trainer, problem, encoder):
    """The mean of A(row) over the training rows, packed, in float64."""
    return np.einsum("p,mpd->md", problem.design.to_sparse(encoder.n_design).mean(axis=0), trainer.coef[..., :WIDTH])


# ---- folds -----------------------------------------------------------------------------------------------------


def folds_of(rows=400, held=(0, 1, 2), folds=4):
    return Folds((np.random.default_rng(7).permutation(rows) % folds).astype(np.int32), held)


@given(
    hnp.arrays(np.int32, st.integers(1, 60), elements=st.integers(0, 3)),
    st.lists(st.integers(-1, 4), min_size=1, max_size=5).map(tuple),
)
def test_without_and_within_cut_every_order_into_the_rows_of_a_fold_and_the_others(fold, held):
    folds = Folds(fold, held)
    order = np.random.default_rng(0).permutation(len(fold)).astype(np.int32)
    others = [order[fold[order] != k] for k in held]
    own = [np.flatnonzero(fold == k) for k in held]
    for got, wanted in ((folds.without(order), others), (folds.within(), own)):
        assert got.dtype == np.int32
        assert got.shape == (len(held), min(len(rows) for rows in wanted))
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
    problem, held, encoder = small_problem()
    folds = folds_of()
    trainer = trainer_of(problem, held, encoder, folds=folds)
    list(trainer.run(Schedule(epochs=2, batch=50)))
    np.testing.assert_array_equal(losses_of(held, trainer.coef), trainer.best)
    for member, rows in enumerate(np.concatenate(recorder.rows, axis=1)):
        assert (folds.fold[rows] != folds.left_out[member]).all()


def test_the_kept_parameters_belong_to_the_kept_coefficients():
    problem, held, encoder = noisy_problem()
    trainer = trainer_of(problem, held, encoder, signs={0: 1}, decay=(0.0, 3.0, 9.0))
    list(trainer.run(Schedule(epochs=12, batch=25, rate=0.2)))
    assert (trainer.coef != trainer.parameters.coef).any(), "the test needs a model whose last epoch is not its best"
    trainer.parameters.continue_(trainer.theta)
    np.testing.assert_array_equal(trainer.parameters.coef, trainer.coef)


# ---- constraints -----------------------------------------------------------------------------------------------


def predictions_along(column, trainer, problem, encoder, grid):
    """Raw predictions (models, other rows, grid) as one column moves along the grid."""
    others = table(20, seed=9)
    curves = []
    for row in others:
        X = np.repeat(row[None], len(grid), axis=0)
        X[:, column] = grid
        curves.append(evaluate(trainer.coef, DIM, problem.outputs.indices, encoder.transform(X))[..., 0])
    return np.stack(curves, axis=1) * problem.scale


@pytest.mark.parametrize("linear", [(), ("x0",)], ids=["curve", "linear"])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_monotone_column_never_goes_the_other_way_after_training(sign, linear):
    X = table()
    y = -sign * X[:, 0] + np.sin(3 * X[:, 0]) + X[:, 1]  # the data pull the other way, with bumps
    encoder = TableEncoder(n_knots=8, linear=linear).fit(X)
    problem, grid = regression(X, y, encoder), np.linspace(-2.5, 2.5, 101)
    constrained = trainer_of(problem, None, encoder, signs={0: sign})
    list(constrained.run(Schedule(epochs=8, batch=40)))
    steps = sign * np.diff(predictions_along(0, constrained, problem, encoder, grid), axis=-1)
    assert steps.min() > -1e-5 * problem.scale
    free = trainer_of(problem, None, encoder)
    list(free.run(Schedule(epochs=8, batch=40)))
    assert (sign * np.diff(predictions_along(0, free, problem, encoder, grid), axis=-1)).min() < -0.01 * problem.scale


def test_a_monotone_column_follows_data_that_rise():
    X = table()
    y = np.tanh(3 * X[:, 0]) + np.sin(2 * X[:, 1])
    encoder = TableEncoder(n_knots=8).fit(X)
    problem = regression(X, y, encoder)
    trainer = trainer_of(problem, None, encoder, signs={0: 1})
    list(trainer.run(Schedule(epochs=25, batch=25)))
    assert (trainer.best < 0.1 * np.var(y) / 2).all()
    rise = np.diff(predictions_along(0, trainer, problem, encoder, np.array([-2.0, 2.0])), axis=-1)
    assert rise.min() > 1.0


# ---- the schedule ----------------------------------------------------------------------------------------------


def test_the_rate_warms_up_and_falls_to_zero_along_half_a_cosine(recorder):
    problem, held, encoder = small_problem()
    trainer = trainer_of(problem, held, encoder)
    list(trainer.run(Schedule(epochs=20, batch=40, rate=0.03)))
    total = 20 * 10
    step = np.arange(1, total + 1)
    rates = np.array(recorder.rates)  # (steps, models)
    assert rates.shape == (total, len(DECAY))
    assert (rates == rates[:, :1]).all()
    np.testing.assert_allclose(recorder.corrections, 1 / (1 - 0.99**step), rtol=1e-9)
    shape = rates[:, 0] * (1 - 0.9**step) / 0.03  # without the correction of Adam's first moment
    warm = total // 20 + 1
    assert (np.diff(shape[:warm]) > 0).all()
    assert shape[0] < 0.2
    np.testing.assert_allclose(shape[warm:], 0.5 * (1 + np.cos(np.pi * step[warm:] / total)), atol=0.02)
    assert (np.diff(shape[warm + 1 :]) < 0).all()
    assert shape[-1] < 1e-3


def test_every_row_is_seen_exactly_once_in_an_epoch(recorder):
    problem, held, encoder = small_problem()
    list(trainer_of(problem, held, encoder).run(Schedule(epochs=2, batch=64)))
    steps = recorder.rows  # six batches of nearly the same size
    assert [rows.shape for rows in steps] == [(3, 67)] * 4 + [(3, 66)] * 2 + [(3, 67)] * 4 + [(3, 66)] * 2
    for epoch in (steps[:6], steps[6:]):
        rows = np.concatenate(epoch, axis=1)
        assert all(np.array_equal(np.sort(model), np.arange(400)) for model in rows)
    assert (np.concatenate(steps[:6], axis=1) != np.concatenate(steps[6:], axis=1)).any()


def test_even_a_single_step_moves_the_models():
    problem, _, encoder = small_problem()
    trainer = trainer_of(problem, None, encoder)
    before = trainer.coef.copy()
    list(trainer.run(Schedule(epochs=1, batch=len(problem.design))))
    assert (trainer.coef != before).any()
