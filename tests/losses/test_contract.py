"""One contract that every loss passes, scikit-learn's metrics as peers, and the way from a name to a loss."""

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from loss_cases import (
    CLASSES,
    LOG_LINK,
    LOSSES,
    MODELS,
    ROWS,
    SMOOTH,
    every_dtype,
    numeric_gradient,
    scores,
    targets,
    weights,
)
from sklearn import metrics

from lambdak.losses import (
    AbsoluteError,
    BinaryLog,
    Gamma,
    Huber,
    Loss,
    Ordinal,
    Pinball,
    Poisson,
    Quantile,
    SoftmaxLog,
    SquaredError,
    Tweedie,
    make_loss,
)

every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def constant(loss, start, offset):
    raw = offset[:, None] + start
    return raw[:, 0] if loss.n_outputs == 1 else raw


@every_loss
class TestContract:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_gradient_is_the_derivative_of_value(self, loss, weighted):
        raw, y = scores(loss, MODELS, ROWS), targets(loss)
        weight = weights() if weighted else None
        np.testing.assert_allclose(
            loss.gradient(raw, y, weight), numeric_gradient(loss, raw, y, weight), rtol=1e-5, atol=1e-8
        )

    def test_each_model_may_have_its_own_batch(self, loss):
        raw = scores(loss, MODELS, ROWS)
        y = np.stack([targets(loss, seed=seed) for seed in range(MODELS)])
        weight = np.stack([weights(seed=seed) for seed in range(MODELS)])
        for w in (None, weight):
            value, grad = loss.value(raw, y, w), loss.gradient(raw, y, w)
            for m in range(MODELS):
                own = None if w is None else w[m]
                np.testing.assert_allclose(value[m], loss.value(raw[m], y[m], own), rtol=1e-14)
                np.testing.assert_allclose(grad[m], loss.gradient(raw[m], y[m], own), rtol=1e-14)

    @every_dtype
    @pytest.mark.parametrize("weighted", [False, True])
    def test_shapes_and_dtype_follow_raw_which_is_left_alone(self, loss, dtype, weighted):
        raw, y = scores(loss, MODELS, ROWS, dtype=dtype), targets(loss)
        weight, before = weights() if weighted else None, raw.copy()
        value, grad, prediction = loss.value(raw, y, weight), loss.gradient(raw, y, weight), loss.predict(raw)
        assert (value.shape, grad.shape, prediction.shape[:2]) == ((MODELS,), raw.shape, (MODELS, ROWS))
        assert {value.dtype, grad.dtype, prediction.dtype} == {np.dtype(dtype)}
        assert grad.flags.c_contiguous
        assert not np.shares_memory(grad, raw)
        assert not np.shares_memory(prediction, raw)
        np.testing.assert_array_equal(raw, before)

    def test_float32_agrees_with_float64(self, loss):
        raw, y = scores(loss, MODELS, ROWS, dtype=np.float32), targets(loss)
        double = raw.astype(np.float64)
        np.testing.assert_allclose(loss.value(raw, y), loss.value(double, y), rtol=1e-5)
        np.testing.assert_allclose(loss.gradient(raw, y), loss.gradient(double, y), rtol=1e-4, atol=1e-7)

    def test_layout_of_raw_does_not_matter(self, loss):
        raw, y = scores(loss, MODELS, ROWS), targets(loss)
        for same in (np.asfortranarray(raw), np.repeat(raw, 2, axis=-1)[..., ::2]):
            np.testing.assert_allclose(loss.value(same, y), loss.value(raw, y), rtol=1e-14)
            np.testing.assert_allclose(loss.gradient(same, y), loss.gradient(raw, y), rtol=1e-14)
            np.testing.assert_allclose(loss.predict(same), loss.predict(raw), rtol=1e-14)

    def test_weights_equal_repetition_of_rows(self, loss):
        raw, y, weight = scores(loss, MODELS, ROWS), targets(loss), weights()
        rows = np.repeat(np.arange(ROWS), weight.astype(int))
        offset = np.random.default_rng(3).standard_normal(ROWS)
        np.testing.assert_allclose(loss.value(raw, y, weight), loss.value(raw[:, rows], y[rows]), rtol=1e-12)
        total = np.zeros_like(raw)
        np.add.at(total, (slice(None), rows), loss.gradient(raw[:, rows], y[rows]))
        np.testing.assert_allclose(loss.gradient(raw, y, weight), total, rtol=1e-12, atol=1e-15)
        for measure in (loss.start, loss.scale):
            np.testing.assert_allclose(
                measure(y, weight, offset), measure(y[rows], offset=offset[rows]), rtol=1e-6, atol=1e-9
            )
        assert loss.resolved(y, weight, offset) == loss.resolved(y[rows], None, offset[rows])

    def test_scaling_all_weights_changes_nothing_and_zero_weights_drop_rows(self, loss):
        raw, y, weight = scores(loss, MODELS, ROWS), targets(loss), weights()
        np.testing.assert_allclose(loss.gradient(raw, y, 1e-9 * weight), loss.gradient(raw, y, weight), rtol=1e-12)
        keep = np.arange(ROWS) < 20
        np.testing.assert_allclose(loss.value(raw, y, 1.0 * keep), loss.value(raw[:, keep], y[keep]), rtol=1e-12)
        assert not loss.gradient(raw, y, 1.0 * keep)[:, ~keep].any()
        np.testing.assert_allclose(loss.start(y, 1.0 * keep), loss.start(y[keep]), rtol=1e-9)

    @every_dtype
    def test_a_batch_without_weight_has_no_value_and_no_gradient(self, loss, dtype):
        raw, y = scores(loss, MODELS, ROWS, dtype=dtype), targets(loss)
        assert not loss.value(raw, y, np.zeros(ROWS)).any()
        assert not loss.gradient(raw, y, np.zeros(ROWS)).any()

    @pytest.mark.parametrize("shifted", [False, True])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_no_step_away_from_start_lowers_the_value(self, loss, weighted, shifted):
        y, weight = targets(loss, 60), weights(60) if weighted else None
        offset = np.random.default_rng(3).standard_normal(60) if shifted else np.zeros(60)
        loss = loss.resolved(y, weight, offset)
        start = loss.start(y, weight, offset if shifted else None)
        assert start.shape == (loss.n_outputs,)
        assert start.dtype == np.float64
        best = loss.value(constant(loss, start, offset), y, weight)
        directions = np.vstack([np.eye(loss.n_outputs), np.ones(loss.n_outputs)])
        for step in (-0.3, -1e-3, 1e-3, 0.3):
            for direction in directions:
                assert loss.value(constant(loss, start + step * direction, offset), y, weight) >= best - 1e-13
        if loss in SMOOTH:
            slope = loss.gradient(constant(loss, start, offset), y, weight)
            np.testing.assert_allclose(slope.reshape(60, -1).sum(axis=0), 0.0, atol=1e-6)

    @every_dtype
    def test_extreme_scores_stay_finite(self, loss, dtype):
        y = targets(loss)
        grid = np.array([-1e4, -1e4, -100.0, -30.0, 0.0, 30.0, 100.0, 1e4, 1e4])
        index = np.random.default_rng(0).integers(0, len(grid), (50, ROWS, loss.n_outputs))
        raw = grid[np.sort(index, axis=-1)].astype(dtype)
        raw = raw[..., 0] if loss.n_outputs == 1 else raw
        for weight in (None, weights()):
            assert np.isfinite(loss.value(raw, y, weight)).all()
            assert np.isfinite(loss.gradient(raw, y, weight)).all()
        assert np.isfinite(loss.predict(raw)).all()

    def test_value_is_convex_also_far_out(self, loss):
        y, rng = targets(loss), np.random.default_rng(4)
        a, b = (
            10.0 ** rng.uniform(-2, 4, (200, 1, 1)) * rng.standard_normal((200, ROWS, loss.n_outputs)) for _ in "ab"
        )
        a, b = (x[..., 0] if loss.n_outputs == 1 else x for x in (a, b))
        chord = (loss.value(a, y) + loss.value(b, y)) / 2
        assert (loss.value((a + b) / 2, y) <= chord * (1 + 1e-12) + 1e-12).all()

    def test_a_loss_is_an_immutable_final_value(self, loss):
        assert isinstance(loss, Loss)
        assert getattr(type(loss), "__final__", False)
        assert hash(loss) == hash(pickle.loads(pickle.dumps(loss)))
        assert loss == pickle.loads(pickle.dumps(loss)) == replace(loss)
        with pytest.raises(FrozenInstanceError):
            loss.anything = 1.0

    def test_good_targets_pass_as_a_list_and_keep_their_values(self, loss):
        y = targets(loss)
        checked = loss.check_target(y.tolist())
        np.testing.assert_array_equal(checked, y)
        assert checked.dtype == (np.intp if isinstance(loss, SoftmaxLog | Ordinal) else np.float64)

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_targets_that_are_not_finite_are_refused(self, loss, bad):
        y = targets(loss).astype(float)
        y[5] = bad
        with pytest.raises(ValueError, match=rf"for loss='{loss.name}'; got {bad} at row 5"):
            loss.check_target(y)

    @pytest.mark.parametrize("bad", [[], [[1.0]], 1.0])
    def test_targets_that_are_not_a_column_are_refused(self, loss, bad):
        with pytest.raises(ValueError, match=r"y must have shape \(rows,\) with at least one row; got shape"):
            loss.check_target(bad)

    @pytest.mark.parametrize("bad", [["a", "b"], [1j, 2.0], np.array(["2020"], "M8[Y]"), np.array([{}])])
    def test_targets_that_are_not_numbers_are_refused(self, loss, bad):
        with pytest.raises(ValueError, match=f"y must hold numbers for loss='{loss.name}'; got"):
            loss.check_target(bad)

    def test_bad_weights_and_offsets_are_refused(self, loss):
        y = targets(loss)
        with pytest.raises(ValueError, match=r"weight must be >= 0 and not all zero; got a minimum of -1.0"):
            loss.start(y, -np.ones(ROWS))
        with pytest.raises(ValueError, match="not all zero"):
            loss.start(y, np.zeros(ROWS))
        with pytest.raises(ValueError, match=r"offset must have shape \(24,\); got \(3,\)"):
            loss.scale(y, None, np.zeros(3))
        with pytest.raises(ValueError, match=r"offset must be finite; got inf at offset\[0\]"):
            loss.scale(y, None, np.full(ROWS, np.inf))


def assert_metric(loss, metric, link=lambda raw: raw):
    raw, y, weight = scores(loss, ROWS), targets(loss), weights()
    np.testing.assert_allclose(loss.value(raw, y), metric(y, link(raw)), rtol=1e-12)
    np.testing.assert_allclose(loss.value(raw, y, weight), metric(y, link(raw), sample_weight=weight), rtol=1e-12)


class TestAgainstScikitLearn:
    def test_squared_error_is_half_the_mean_squared_error(self):
        assert_metric(SquaredError(), lambda *args, **kw: metrics.mean_squared_error(*args, **kw) / 2)

    def test_absolute_error(self):
        assert_metric(AbsoluteError(), metrics.mean_absolute_error)

    @pytest.mark.parametrize("quantile", [0.05, 0.5, 0.9])
    def test_quantile(self, quantile):
        assert_metric(Quantile(quantile), lambda *args, **kw: metrics.mean_pinball_loss(*args, alpha=quantile, **kw))

    @pytest.mark.parametrize("loss", LOG_LINK, ids=repr)
    def test_log_links_are_half_the_deviance(self, loss):
        power = {Poisson(): 1, Gamma(): 2}.get(loss) or loss.power
        assert_metric(loss, lambda *args, **kw: metrics.mean_tweedie_deviance(*args, power=power, **kw) / 2, np.exp)
        if loss == Poisson():
            assert_metric(loss, lambda *args, **kw: metrics.mean_poisson_deviance(*args, **kw) / 2, loss.predict)
        if loss == Gamma():
            assert_metric(loss, lambda *args, **kw: metrics.mean_gamma_deviance(*args, **kw) / 2, loss.predict)

    def test_binary_log_loss(self):
        loss, y = BinaryLog(), np.arange(ROWS) % 2
        for weight in (None, weights()):
            raw = scores(loss, ROWS)
            expected = metrics.log_loss(y, loss.predict(raw), sample_weight=weight)
            np.testing.assert_allclose(loss.value(raw, y, weight), expected, rtol=1e-12)

    @pytest.mark.parametrize("loss", CLASSES, ids=repr)
    def test_multiclass_and_ordinal_log_loss(self, loss):
        y, weight = targets(loss), weights()
        raw = scores(loss, ROWS)
        expected = metrics.log_loss(y, loss.predict(raw), sample_weight=weight, labels=range(loss.n_classes))
        np.testing.assert_allclose(loss.value(raw, y, weight), expected, rtol=1e-12)


class TestMakeLoss:
    @pytest.mark.parametrize(
        ("name", "options", "loss"),
        [
            ("squared_error", {}, SquaredError()),
            ("absolute_error", {}, AbsoluteError()),
            ("huber", {"delta": 2.0}, Huber(2.0)),
            ("quantile", {"quantile": 0.9}, Quantile(0.9)),
            ("poisson", {}, Poisson()),
            ("gamma", {}, Gamma()),
            ("tweedie", {}, Tweedie(1.5)),
            ("tweedie", {"power": 1}, Poisson()),
            ("tweedie", {"power": 2.0}, Gamma()),
        ],
    )
    def test_names_lead_to_losses(self, name, options, loss):
        assert make_loss(name, **options) == loss
        assert make_loss(loss.name, **options).name == loss.name

    def test_unknown_name_lists_the_known_ones(self):
        with pytest.raises(ValueError, match=r"loss must be one of 'squared_error', .*'tweedie'; got 'mse'"):
            make_loss("mse")

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: Quantile(1.0), r"quantile must be in \(0, 1\); got 1.0"),
            (lambda: make_loss("quantile", quantile=-0.1), r"quantile must be in \(0, 1\); got -0.1"),
            (lambda: Pinball((0.5, 0.1)), r"quantiles must be increasing, and at least one; got \(0.5, 0.1\)"),
            (lambda: Pinball(()), r"quantiles must be increasing, and at least one; got \(\)"),
            (lambda: Pinball((0.5, 1.5)), r"quantiles must be in \(0, 1\); got 1.5"),
            (lambda: Huber(0.0), "delta must be positive and finite; got 0.0"),
            (lambda: Huber(spread=np.inf), "spread must be positive and finite; got inf"),
            (lambda: make_loss("tweedie", power=0.5), r"power must be in \(1, 2\); got 0.5: Poisson\(\)"),
            (lambda: SoftmaxLog(1), r"n_classes must be in \[2, .*; got 1"),
            (lambda: Ordinal(1), r"n_classes must be in \[2, .*; got 1"),
        ],
    )
    def test_bad_parameters_are_refused(self, make, message):
        with pytest.raises(ValueError, match=message):
            make()

    def test_quantiles_become_a_tuple(self):
        assert Pinball([0.1, 0.9]) == Pinball((0.1, 0.9))
        assert hash(Pinball(np.array([0.1, 0.9]))) == hash(Pinball((0.1, 0.9)))
