"""What is special about the losses of classes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loss_cases import CLASSES, MODELS, ROWS, every_dtype, numeric_gradient, scores, targets, weights

from lambdak.losses import SMALLEST_GAP, BinaryLog, Ordinal, SoftmaxLog


class TestClasses:
    @every_dtype
    @pytest.mark.parametrize("loss", [BinaryLog(), *CLASSES], ids=repr)
    def test_probabilities_sum_to_one(self, loss, dtype):
        raw = 5 * scores(loss, MODELS, ROWS, dtype=dtype)
        prob = loss.predict(raw)
        assert prob.shape == (MODELS, ROWS, getattr(loss, "n_classes", 2))
        assert (prob >= 0).all()
        np.testing.assert_allclose(prob.sum(axis=-1), 1.0, rtol=20 * np.finfo(dtype).eps)

    def test_predict_inverts_the_link(self):
        prob = np.array([0.1, 0.2, 0.3, 0.4])
        np.testing.assert_allclose(SoftmaxLog(4).predict(np.log(prob) + 7.0), prob)
        below = np.cumsum(prob)[:-1]
        np.testing.assert_allclose(Ordinal(4).predict(np.log(below / (1 - below))), prob)
        np.testing.assert_allclose(BinaryLog().predict(np.log(prob / (1 - prob)))[:, 1], prob)

    def test_start_reproduces_the_class_shares(self):
        y, weight = targets(Ordinal(5), 60), weights(60)
        share = np.bincount(y, weight) / weight.sum()
        for loss in (SoftmaxLog(5), Ordinal(5)):
            np.testing.assert_allclose(loss.predict(loss.start(y, weight)), share)
        assert SoftmaxLog(5).start(y).sum() == pytest.approx(0.0, abs=1e-12)

    def test_two_classes_agree_whatever_the_loss(self):
        raw, y = scores(BinaryLog(), MODELS, ROWS), np.arange(ROWS) % 2
        value = BinaryLog().value(raw, y)
        np.testing.assert_allclose(Ordinal(2).value(-raw, y), value)
        np.testing.assert_allclose(SoftmaxLog(2).value(np.stack([0 * raw, raw], axis=-1), y), value)
        np.testing.assert_allclose(Ordinal(2).gradient(-raw, y), -BinaryLog().gradient(raw, y))

    def test_a_confident_score_keeps_its_digits(self):
        raw = np.array([30.0, -30.0], np.float32)
        np.testing.assert_allclose(BinaryLog()._loss(raw, np.array([1.0, 0.0], np.float32)), np.exp(-30.0), rtol=1e-5)

    @pytest.mark.parametrize("gap", [0.9, 0.5, 0.0, -1.0, -1e6])
    def test_ordinal_gradient_is_the_derivative_where_neighbours_touch_or_cross(self, gap):
        raw = np.array([[[-0.3, -0.3 + gap * SMALLEST_GAP, 2.0]]])
        for y in range(4):
            numeric = numeric_gradient(Ordinal(4), raw, np.array([y]), None, step=1e-7)
            np.testing.assert_allclose(Ordinal(4).gradient(raw, np.array([y])), numeric, rtol=1e-4, atol=1e-4)

    def test_ordinal_neighbours_that_touch_are_pushed_apart_by_their_class(self):
        grad = Ordinal(4).gradient(np.zeros((1, 1, 3)), np.array([1]))[0, 0]
        assert grad[0] > 0 > grad[1]
        np.testing.assert_allclose(np.abs(grad[:2]), 1 / SMALLEST_GAP, rtol=1e-3)

    def test_ordinal_probabilities_stay_a_distribution_when_scores_cross_by_rounding(self):
        prob = Ordinal(4).predict(np.array([0.5, 0.5 - 1e-7, 0.4]))
        assert (prob >= 0).all()
        assert prob.sum() == pytest.approx(1.0, abs=1e-15)

    def test_ordinal_prediction_is_the_first_class_with_half_of_the_probability(self):
        raw = np.array([[-3.0, -1.0, 2.0], [0.0, 1.0, 1.0], [-2.0, -1.0, -1e-300], [-1.0, 0.0, -1e-9]])
        np.testing.assert_array_equal(Ordinal(4).classify(raw), [2, 0, 3, 1])
        np.testing.assert_array_equal(Ordinal(2).classify(np.array([-0.5, 0.0, 0.5])), [1, 0, 0])
        below = Ordinal(4).predict(raw).cumsum(axis=1)
        np.testing.assert_array_equal(Ordinal(4).classify(raw[:2]), (below[:2] >= 0.5).argmax(axis=1))

    def test_other_predictions_are_the_most_probable_class(self):
        raw = np.random.default_rng(0).normal(size=(50, 4))
        np.testing.assert_array_equal(SoftmaxLog(4).classify(raw), raw.argmax(axis=1))
        np.testing.assert_array_equal(BinaryLog().classify(raw[:, 0]), raw[:, 0] > 0)

    def test_ordinal_class_far_from_the_centre_keeps_its_digits(self):
        upper, lower = np.exp(-40.0), np.exp(-41.0)
        assert Ordinal(3).predict(np.array([40.0, 41.0]))[1] == pytest.approx(upper - lower, rel=1e-12)
        value = Ordinal(3).value(np.array([[[40.0, 41.0]]]), np.array([1]))
        assert value[0] == pytest.approx(-np.log(upper - lower), rel=1e-12)

    @pytest.mark.parametrize("shifted", [False, True])
    def test_start_is_finite_where_a_class_is_missing(self, shifted):
        offset = np.linspace(-1, 1, 40) if shifted else np.zeros(40)
        assert BinaryLog().start(np.zeros(40), offset=offset)[0] == pytest.approx(np.log(0.5 / 40), abs=1.5)
        assert BinaryLog().start(np.ones(40), offset=offset)[0] == pytest.approx(np.log(40 / 0.5), abs=1.5)
        for missing in range(4):
            y = np.delete(np.arange(4), missing)[np.arange(40) % 3]
            start = Ordinal(4).start(y, offset=offset)
            assert (np.diff(start) >= 0).all()
            assert np.abs(start).max() < 10
            assert np.abs(SoftmaxLog(4).start(y, offset=offset)).max() < 10

    @pytest.mark.parametrize("loss", CLASSES, ids=repr)
    @pytest.mark.parametrize("bad", [-1.0, 0.5, 5.0])
    def test_targets_that_are_no_codes_are_refused(self, loss, bad):
        message = rf"y must hold class codes 0 to {loss.n_classes - 1} for .*; got {bad} at row 1: .*np.unique"
        with pytest.raises(ValueError, match=message):
            loss.check_target([0, bad])

    def test_binary_targets_outside_the_unit_interval_are_refused(self):
        with pytest.raises(ValueError, match=r"y must be in \[0, 1\] for loss='log_loss'; got 2.0 at row 1: code the"):
            BinaryLog().check_target([1, 2])
        assert BinaryLog().check_target([True, False]).tolist() == [1.0, 0.0]

    @settings(max_examples=100, deadline=None)
    @given(st.lists(st.floats(-1e4, 1e4), min_size=3, max_size=3), st.integers(0, 3))
    def test_ordinal_gradient_is_finite_for_any_ordered_scores(self, cuts, code):
        raw, y = np.sort(cuts).reshape(1, 1, 3), np.array([code])
        assert np.isfinite(Ordinal(4).value(raw, y)).all()
        assert (np.abs(Ordinal(4).gradient(raw, y)) <= 1 + 1 / SMALLEST_GAP).all()


@pytest.mark.parametrize("classes", [3, 9, 130])
def test_probabilities_of_a_row_do_not_depend_on_the_others(classes):
    raw = np.random.default_rng(0).normal(size=(40, classes))
    whole = SoftmaxLog(classes).predict(raw)
    for count in range(1, 20):
        np.testing.assert_array_equal(SoftmaxLog(classes).predict(raw[:count]), whole[:count])


def test_ordered_classes_are_one_question_for_each_cut_point():
    loss, y = Ordinal(4).at_levels(np.array([0, 3, 1]))
    assert loss == BinaryLog()
    np.testing.assert_array_equal(y.reshape(3, 3), [[1, 1, 1], [0, 0, 0], [0, 1, 1]])


def test_losses_without_levels_say_so():
    with pytest.raises(NotImplementedError, match="loss='log_loss' has no levels"):
        BinaryLog().at_levels(np.zeros(2))
