"""The trainer: transposes, the best state of every model, reproducibility, constraints, and the schedule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import lambdak
from lambdak import Pencil, _steps, train
from lambdak.coordinates import ConeCoordinates, FreeCoordinates, design_moments, free_ramps
from lambdak.encode import TableEncoder
from lambdak.losses import Pinball, SoftmaxLog, SquaredError
from lambdak.train import Schedule, Task, Trainer, evaluate

DIM, INDEX, WIDTH = 5, 2, 15
DAMPING, DECAY = (0.1, 1.0, 10.0), (1.0, 3.0, 1.0)


@pytest.fixture
def threads():
    before = lambdak.get_num_threads()
    yield lambdak.set_num_threads
    lambdak.set_num_threads(before)


def table(rows=400, columns=2, seed=0):
    return np.random.default_rng(seed).uniform(-2, 2, (rows, columns))


def smooth(X):
    return np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 0] + 10.0


def regression(X, y, encoder, loss=None, weight=None, offset=None, indices=(INDEX,), neurons=1):
    loss = SquaredError() if loss is None else loss
    start, scale = loss.start(y, weight, offset), loss.scale(y, weight, offset)
    return Task(encoder.transform(X), y, weight, offset, loss, start, scale, indices, neurons)


def trainer_of(task, validation, encoder, signs=None, damping=DAMPING, decay=DECAY, seed=0):
    """A trainer of one model per damping and decay (and neuron), with columns by position → +1 or −1 in cones."""
    signs = signs or {}
    moments = design_moments(task.design, encoder.n_design, task.weight)
    ramps = free_ramps(encoder.columns, encoder.n_design, list(signs))
    ladder = np.repeat([damping, decay], task.neurons, axis=1)
    free = FreeCoordinates(ramps, moments, ladder[0].tolist())
    cones = [ConeCoordinates(encoder.columns[i], sign, moments, DIM) for i, sign in signs.items()]
    return Trainer(task, validation, free, cones, DIM, ladder[1].tolist(), np.random.default_rng(seed))


def small_problem(rows=400, n_knots=8, linear=()):
    """A trainer's task, its validation rows, and the encoder of both."""
    X, held = table(rows), table(150, seed=1)
    encoder = TableEncoder(n_knots=n_knots, linear=linear).fit(X)
    task = regression(X, smooth(X), encoder)
    return task, replace(task, design=encoder.transform(held), y=smooth(held)), encoder


def noisy_problem():
    """The same with few and noisy rows, so that models without decay get worse again."""
    task, held, encoder = small_problem(rows=80)
    rng = np.random.default_rng(3)
    noisy = [replace(part, y=part.y + rng.standard_normal(len(part.y))) for part in (task, held)]
    return *noisy, encoder


def losses_of(task, coef):
    return task.losses(evaluate(coef, DIM, task.indices, task.design))


# ---- from eigenvalues to raw scores and back -------------------------------------------------------------------

ROWS = 12
OUTPUTS = {
    "one output": (SquaredError(), (2,), 1),
    "several indices": (Pinball((0.1, 0.5, 0.9)), (1, 2, 4), 1),
    "several neurons": (SoftmaxLog(3), (2,), 3),
}


def task_of(kind, with_offset):
    loss, indices, neurons = OUTPUTS[kind]
    rng = np.random.default_rng(0)
    encoder = TableEncoder(n_knots=3).fit(table(ROWS))
    y = rng.integers(0, 3, ROWS)
    offset = rng.standard_normal(ROWS) if with_offset else None
    start = rng.standard_normal(loss.n_outputs)
    return Task(encoder.transform(table(ROWS)), y, None, offset, loss, start, 1.7, indices, neurons)


@pytest.mark.parametrize("with_offset", [False, True])
@pytest.mark.parametrize("kind", OUTPUTS)
def test_the_eigenvalue_gradient_is_the_transpose_of_raw(kind, with_offset):
    task, rng = task_of(kind, with_offset), np.random.default_rng(1)
    models, rows = 4, np.array([3, 1, 1, 7, 11], np.int32)
    values = rng.standard_normal((models * task.neurons, len(rows), len(task.indices)))
    linear = task.raw(values, rows) - task.raw(np.zeros_like(values), rows)
    grad_raw = rng.standard_normal(linear.shape)
    pulled = task.eigenvalue_gradient(grad_raw)
    assert pulled.shape == (models * task.neurons * len(rows), len(task.indices))
    assert pulled.flags.c_contiguous
    assert np.vdot(grad_raw, linear) == pytest.approx(np.vdot(pulled.reshape(values.shape), values), rel=1e-12)


@pytest.mark.parametrize("with_offset", [False, True])
@pytest.mark.parametrize("kind", OUTPUTS)
def test_a_raw_score_is_start_plus_scaled_eigenvalue_plus_the_offset_of_its_row(kind, with_offset):
    task, rng = task_of(kind, with_offset), np.random.default_rng(1)
    models, rows = 2, np.array([3, 1, 1, 7, 11], np.int32)
    values = rng.standard_normal((models * task.neurons, len(rows), len(task.indices)))
    raw = task.raw(values, rows)
    outputs = task.loss.n_outputs
    assert raw.shape == ((models, len(rows), outputs) if outputs > 1 else (models, len(rows)))
    for model in range(models):
        for b, row in enumerate(rows):
            for k in range(outputs):
                eigenvalue = values[model * 3 + k, b, 0] if task.neurons > 1 else values[model, b, k]
                shift = task.offset[row] if with_offset else 0.0
                got = raw[model, b, k] if outputs > 1 else raw[model, b]
                assert got == pytest.approx(task.start[k] + 1.7 * eigenvalue + shift, rel=1e-12)


@pytest.mark.parametrize("kind", OUTPUTS)
def test_losses_are_those_of_every_row_for_each_model(kind):
    task, rng = task_of(kind, with_offset=True), np.random.default_rng(1)
    values = rng.standard_normal((2 * task.neurons, ROWS, len(task.indices)))
    every = np.arange(ROWS, dtype=np.int32)
    expected = task.loss.value(task.raw(values, every), task.y)
    assert expected.shape == (2,)
    np.testing.assert_array_equal(task.losses(values), expected)


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


def test_evaluate_of_no_rows_is_empty():
    design, n_design = mixed_design()
    assert evaluate(np.zeros((3, n_design, 16)), DIM, (2,), design.take(np.arange(0))).shape == (3, 0, 1)


# ---- training --------------------------------------------------------------------------------------------------


def test_training_lowers_the_validation_loss_of_every_model_far_below_its_start():
    task, held, encoder = small_problem()
    trainer = trainer_of(task, held, encoder)
    start = losses_of(held, trainer.coef)
    events = list(trainer.run(Schedule(epochs=25, batch=25)))
    assert (trainer.best < 0.1 * start).all()
    assert (trainer.best < 0.1 * np.var(held.y) / 2).all()
    assert [event.epoch for event in events] == list(range(1, 26))
    assert {event.epochs for event in events} == {25}
    assert (np.diff([event.seconds for event in events]) > 0).all()


def test_the_kept_state_of_each_model_has_exactly_its_best_validation_loss():
    task, held, encoder = noisy_problem()
    trainer = trainer_of(task, held, encoder, decay=(0.0, 3.0, 9.0))
    seen = np.array([event.validation for event in trainer.run(Schedule(epochs=12, batch=25, rate=0.2))])
    np.testing.assert_array_equal(trainer.best, seen.min(axis=0))
    np.testing.assert_array_equal(losses_of(held, trainer.coef), trainer.best)
    assert len(set(seen.argmin(axis=0))) > 1, "the test needs models whose best epochs differ"


def test_without_validation_rows_the_training_rows_choose_the_state():
    task, _, encoder = small_problem()
    trainer = trainer_of(task, None, encoder)
    list(trainer.run(Schedule(epochs=3, batch=50)))
    np.testing.assert_array_equal(losses_of(task, trainer.coef), trainer.best)


def anchored(task):
    """The same outputs from one common start, their differences left to the eigenvalues."""
    middle = task.start[1]
    anchors = tuple(((task.start - middle) / task.scale).tolist())
    return replace(task, start=np.full_like(task.start, middle), anchors=anchors)


def test_several_indices_start_at_their_anchors():
    X = table()
    encoder = TableEncoder(n_knots=8).fit(X)
    loss, indices, _ = OUTPUTS["several indices"]
    task = anchored(regression(X, smooth(X), encoder, loss, indices=indices))
    spectrum = np.linalg.eigvalsh(lambdak.sym(mean_matrices(trainer_of(task, None, encoder), task, encoder)))
    np.testing.assert_allclose(spectrum[:, indices], np.tile(task.anchors, (3, 1)), atol=1e-4)
    assert (np.diff(spectrum, axis=1) > 0.01).all()


@pytest.mark.parametrize("kind", ["several indices", "several neurons"])
def test_several_outputs_learn_and_keep_the_best_state_of_each_model(kind):
    loss, indices, neurons = OUTPUTS[kind]
    X = table(300)
    y = smooth(X) if neurons == 1 else np.digitize(smooth(X), [9.5, 10.5])
    encoder = TableEncoder(n_knots=8).fit(X)
    task = regression(X, y, encoder, loss, indices=indices, neurons=neurons)
    if neurons == 1:
        task = anchored(task)
    trainer = trainer_of(task, None, encoder, damping=(1.0, 10.0), decay=(1.0, 1.0))
    assert len(trainer.coef) == 2 * neurons
    start = losses_of(task, trainer.coef)
    list(trainer.run(Schedule(epochs=15, batch=30)))
    assert trainer.best.shape == (2,)
    assert (trainer.best < 0.5 * start).all()
    np.testing.assert_array_equal(losses_of(task, trainer.coef), trainer.best)


def test_an_offset_carries_what_the_model_then_need_not_learn():
    X = table()
    encoder = TableEncoder(n_knots=8).fit(X)
    jumps = 100.0 * np.random.default_rng(5).standard_normal(len(X)).astype(np.float32)
    task = regression(X, smooth(X) + jumps, encoder, offset=jumps)
    assert task.scale < 5
    trainer = trainer_of(task, None, encoder)
    list(trainer.run(Schedule(epochs=15, batch=25)))
    assert (trainer.best < 0.2 * np.var(smooth(X)) / 2).all()


def test_the_same_seed_gives_the_same_bits_for_one_and_two_threads(threads):
    results = []
    for count in (1, 2, 1):
        threads(count)
        task, held, encoder = small_problem()
        trainer = trainer_of(task, held, encoder, signs={0: 1})
        curves = [event.validation for event in trainer.run(Schedule(epochs=3, batch=150))]
        results.append((trainer.coef, trainer.best, np.array(curves)))
    for other in results[1:]:
        for got, wanted in zip(other, results[0], strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_another_seed_gives_other_models():
    task, held, encoder = small_problem()
    first, second = (trainer_of(task, held, encoder, seed=seed) for seed in (0, 1))
    assert (first.coef[:, 0] != second.coef[:, 0]).any()
    assert (first.coef[0] != first.coef[1]).any(), "models of one stack start apart"


def test_the_reference_engine_trains_like_the_kernel(monkeypatch):
    task, held, encoder = small_problem()
    trained = []
    for engine in (_steps.step_engine(), _steps):
        monkeypatch.setattr("lambdak.train.step_engine", lambda engine=engine: engine)
        monkeypatch.setattr("lambdak.coordinates.step_engine", lambda engine=engine: engine)
        trainer = trainer_of(task, held, encoder, signs={1: 1})
        list(trainer.run(Schedule(epochs=2, batch=100)))
        trained.append(trainer)
    start = trainer_of(task, held, encoder, signs={1: 1}).coef
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
        task = replace(regression(X, smooth(X), encoder, weight=weight), y=y)
        trainer = trainer_of(task, None, encoder)
        list(trainer.run(Schedule(epochs=3, batch=50)))
        trained.append(trainer)
    np.testing.assert_array_equal(trained[0].coef, trained[1].coef)
    np.testing.assert_array_equal(trained[0].best, trained[1].best)


def test_decay_shrinks_everything_but_the_constant():
    task, _, encoder = small_problem(linear=("x1",))
    shifted = replace(task, start=task.start + 3.0)  # the constant has something to learn
    trainer = trainer_of(shifted, None, encoder, signs={1: 1}, decay=(1e9, 1e9, 0.0))
    before = trainer.coef.copy()
    list(trainer.run(Schedule(epochs=20, batch=50)))
    np.testing.assert_array_equal(trainer.coef[:2, 1:], 0)
    assert (np.abs(trainer.coef[2, 1:]).max(axis=0)[:WIDTH] > 0).all()
    assert (np.abs(trainer.coef[:, 0] - before[:, 0]).max(axis=1) > 0.1).all()
    values = evaluate(trainer.coef, DIM, (INDEX,), task.design)[:2, :, 0]
    np.testing.assert_array_equal(values, np.broadcast_to(values[:, :1], values.shape))
    assert losses_of(shifted, trainer.coef)[:2] == pytest.approx(np.var(task.y) / 2, rel=0.05)


def test_a_table_of_constants_learns_the_best_constant():
    X, y = np.full((64, 2), 3.0), np.random.default_rng(0).normal(5.0, 1.0, 64)
    encoder = TableEncoder(n_knots=4).fit(X)
    task = regression(X, y, encoder)
    trainer = trainer_of(replace(task, start=task.start + 1.0), None, encoder)
    list(trainer.run(Schedule(epochs=40, batch=16)))
    assert trainer.best == pytest.approx(np.var(y) / 2, rel=0.02)


def test_a_batch_larger_than_the_table_takes_all_rows():
    task, held, encoder = small_problem()
    trainer = trainer_of(task, held, encoder)
    (first, *_) = trainer.run(Schedule(epochs=2, batch=10**6))
    fresh = trainer_of(task, held, encoder)
    np.testing.assert_allclose(first.train, losses_of(task, fresh.coef), rtol=1e-5)


# ---- stopping --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("patience", [1, 3])
def test_training_stops_when_patience_is_over(patience):
    task, held, encoder = small_problem()
    trainer = trainer_of(task, held, encoder)
    events = list(trainer.run(Schedule(epochs=50, batch=100, rate=0.0, patience=patience)))
    assert len(events) == 1 + patience  # the first epoch is better than none, and nothing moves afterwards


def test_an_improvement_of_less_than_tol_counts_as_none():
    task, held, encoder = small_problem()
    trainer = trainer_of(task, held, encoder)
    assert len(list(trainer.run(Schedule(epochs=50, batch=100, patience=2, tol=1e6)))) == 3


class Scripted:
    """Validation rows whose losses are written down beforehand, one line per epoch."""

    def __init__(self, task, script):
        self.design, self.indices, self.neurons = task.design, task.indices, task.neurons
        self.script, self.seen = iter(np.array(script, float)), []

    def losses(self, eigenvalues):
        self.seen.append(eigenvalues)
        return next(self.script)


def test_patience_waits_as_long_as_any_model_improves():
    task, held, encoder = small_problem()
    script = [[9, 9, 9], [9, 8, 9], [9, 9, 7], [9, 9, 9], [5, 9, 9], [5, 8, 7], [6, 9, 9], [0, 0, 0]]
    trainer = trainer_of(task, Scripted(held, script), encoder)
    assert len(list(trainer.run(Schedule(epochs=8, batch=100, patience=2)))) == 7
    assert trainer.best.tolist() == [5, 8, 7]


def test_every_model_keeps_the_state_of_its_own_best_epoch():
    task, held, encoder = small_problem()
    validation = Scripted(held, [[9, 3, 9], [8, 4, 9], [9, 3, np.nan], [np.inf, 5, 8]])
    trainer = trainer_of(task, validation, encoder)
    list(trainer.run(Schedule(epochs=4, batch=100)))
    kept = evaluate(trainer.coef, DIM, task.indices, held.design)
    for model, epoch in enumerate([1, 0, 3]):
        np.testing.assert_array_equal(kept[model], validation.seen[epoch][model])
        assert all((kept[model] != validation.seen[other][model]).any() for other in range(4) if other != epoch)


def test_a_run_that_is_left_in_the_middle_leaves_the_best_models_so_far():
    task, held, encoder = small_problem()
    trainer = trainer_of(task, held, encoder)
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
    task, held, encoder = small_problem()
    trainer = trainer_of(task, held, encoder)
    assert np.isinf(trainer.best).all()
    assert np.isfinite(losses_of(held, trainer.coef)).all()
    np.testing.assert_array_equal(trainer.coef[..., WIDTH:], 0)
    gaps = np.linalg.eigvalsh(lambdak.sym(mean_matrices(trainer, task, encoder)))
    np.testing.assert_allclose(gaps, np.broadcast_to([-1, -1, 0, 1, 1], gaps.shape), atol=1e-4)


def mean_matrices(trainer, task, encoder):
    """The mean of A(row) over the training rows, packed, in float64."""
    return np.einsum("p,mpd->md", task.design.to_sparse(encoder.n_design).mean(axis=0), trainer.coef[..., :WIDTH])


# ---- constraints -----------------------------------------------------------------------------------------------


def predictions_along(column, trainer, task, encoder, grid):
    """Raw predictions (models, other rows, grid) as one column moves along the grid."""
    others = table(20, seed=9)
    curves = []
    for row in others:
        X = np.repeat(row[None], len(grid), axis=0)
        X[:, column] = grid
        curves.append(evaluate(trainer.coef, DIM, task.indices, encoder.transform(X))[..., 0])
    return np.stack(curves, axis=1) * task.scale


@pytest.mark.parametrize("linear", [(), ("x0",)], ids=["curve", "linear"])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_monotone_column_never_goes_the_other_way_after_training(sign, linear):
    X = table()
    y = -sign * X[:, 0] + np.sin(3 * X[:, 0]) + X[:, 1]  # the data pull the other way, with bumps
    encoder = TableEncoder(n_knots=8, linear=linear).fit(X)
    task, grid = regression(X, y, encoder), np.linspace(-2.5, 2.5, 101)
    constrained = trainer_of(task, None, encoder, signs={0: sign})
    list(constrained.run(Schedule(epochs=8, batch=40)))
    steps = sign * np.diff(predictions_along(0, constrained, task, encoder, grid), axis=-1)
    assert steps.min() > -1e-5 * task.scale
    free = trainer_of(task, None, encoder)
    list(free.run(Schedule(epochs=8, batch=40)))
    assert (sign * np.diff(predictions_along(0, free, task, encoder, grid), axis=-1)).min() < -0.01 * task.scale


def test_a_monotone_column_follows_data_that_rise():
    X = table()
    y = np.tanh(3 * X[:, 0]) + np.sin(2 * X[:, 1])
    encoder = TableEncoder(n_knots=8).fit(X)
    task = regression(X, y, encoder)
    trainer = trainer_of(task, None, encoder, signs={0: 1})
    list(trainer.run(Schedule(epochs=25, batch=25)))
    assert (trainer.best < 0.1 * np.var(y) / 2).all()
    rise = np.diff(predictions_along(0, trainer, task, encoder, np.array([-2.0, 2.0])), axis=-1)
    assert rise.min() > 1.0


# ---- the schedule ----------------------------------------------------------------------------------------------


class Recorder:
    """The step engine, with an ear on the rates and corrections that reach adam."""

    def __init__(self, engine):
        self.engine, self.rates, self.corrections = engine, [], []

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def adam(self, theta, grad, first, second, rate, keep, *rest):
        self.rates.append(rate)
        self.corrections.append(rest[2])
        self.engine.adam(theta, grad, first, second, rate, keep, *rest)


@pytest.fixture
def recorder(monkeypatch):
    result = Recorder(_steps.step_engine())
    monkeypatch.setattr(train, "step_engine", lambda: result)
    return result


def test_the_rate_warms_up_and_falls_to_zero_along_half_a_cosine(recorder):
    task, held, encoder = small_problem()
    trainer = trainer_of(task, held, encoder)
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


def test_every_row_is_seen_exactly_once_in_an_epoch(recorder, monkeypatch):
    task, held, encoder = small_problem()
    trainer = trainer_of(task, held, encoder)
    seen = []

    def forward(ids, weights, rows, *rest):
        seen.append(rows.copy())
        recorder.engine.forward(ids, weights, rows, *rest)

    monkeypatch.setattr(recorder, "forward", forward, raising=False)
    list(trainer.run(Schedule(epochs=2, batch=64)))
    steps = [rows for rows in seen if rows.shape[1] <= 64]  # seven batches of nearly the same size
    assert len(steps) == 2 * 7
    for epoch in (steps[:7], steps[7:]):
        rows = np.concatenate(epoch, axis=1)
        assert all(np.array_equal(np.sort(model), np.arange(400)) for model in rows)
    assert (np.concatenate(steps[:7], axis=1) != np.concatenate(steps[7:], axis=1)).any()


def test_even_a_single_step_moves_the_models():
    task, _, encoder = small_problem()
    trainer = trainer_of(task, None, encoder)
    before = trainer.coef.copy()
    list(trainer.run(Schedule(epochs=1, batch=len(task.design))))
    assert (trainer.coef != before).any()
