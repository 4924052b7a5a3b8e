"""What is special about the losses with a log link."""

import numpy as np
import pytest
from loss_cases import CLASSES, LOG_LINK, numeric_gradient, targets, weights

from lambdak.losses import BinaryLog, Gamma, Poisson, Tweedie


class TestLogLink:
    def test_predict_inverts_the_link_and_saturates(self):
        for loss in LOG_LINK:
            np.testing.assert_allclose(loss.predict(np.log([0.01, 1.0, 1e6])), [0.01, 1.0, 1e6])
            assert loss.predict(np.array([-1e4, 1e4])).tolist() == [0.0, np.exp(40.0)]

    def test_scale_is_one(self):
        for loss in [*LOG_LINK, BinaryLog(), *CLASSES]:
            assert loss.scale(targets(loss)) == 1.0

    @pytest.mark.parametrize("loss", LOG_LINK, ids=repr)
    def test_a_perfect_score_costs_nothing(self, loss):
        y = np.array([1e-12, 0.01, 1.0, 3.0, 1e12])
        np.testing.assert_allclose(loss._loss(np.log(y), y) / y, 0.0, atol=1e-12)

    @pytest.mark.parametrize("loss", LOG_LINK, ids=repr)
    def test_float32_keeps_its_digits_near_a_large_target(self, loss):
        y = np.linspace(1e6, 3e6, 500).astype(np.float32)
        raw = (np.log(y) + 1e-3).astype(np.float32)
        exact = loss.value(raw.astype(np.float64), y.astype(np.float64))
        assert loss.value(raw, y) == pytest.approx(exact, rel=5e-3)

    @pytest.mark.parametrize("loss", LOG_LINK, ids=repr)
    def test_gradient_is_the_derivative_on_both_sides_of_the_limit(self, loss):
        y = targets(loss, 4)[:, None]  # one row each, so that a huge loss cannot hide a small one
        for at in (-100.0, -39.0, 39.0, 41.0, 100.0, 1e4):
            raw = np.full((4, 1), at)
            numeric = numeric_gradient(loss, raw, y, None, step=1e-4)
            np.testing.assert_allclose(loss.gradient(raw, y), numeric, rtol=1e-4, atol=1e-9)

    def test_start_is_the_log_of_events_per_exposure(self):
        y, exposure = np.array([0.0, 1.0, 0.0, 2.0]), np.array([1.0, 1.0, 2.0, 2.0])
        assert Poisson().start(y, offset=np.log(exposure))[0] == pytest.approx(np.log(3 / 6))
        for loss in LOG_LINK:
            assert loss.start([2.0, 4.0])[0] == pytest.approx(np.log(3.0))
            assert loss.start([2e-9, 4e-9])[0] == pytest.approx(np.log(3e-9))
            assert loss.start([2.0, 4.0], offset=[800.0, 800.0])[0] == pytest.approx(np.log(3.0) - 800)

    def test_start_without_events_counts_half_an_event(self):
        for loss in (Poisson(), Tweedie()):
            assert loss.start(np.zeros(50))[0] == pytest.approx(np.log(0.5 / 50))
            assert loss.start(np.zeros(50), weights(50))[0] == pytest.approx(np.log(0.5 / 50))
        assert Poisson().start(np.zeros(50), offset=np.full(50, 2.0))[0] == pytest.approx(np.log(0.5 / 50) - 2)

    @pytest.mark.parametrize(
        ("loss", "bad", "message"),
        [
            (Poisson(), -1.0, r"y must be >= 0 for loss='poisson'; got -1.0 at rows 2 and 3: .*squared_error"),
            (Tweedie(), -0.5, r"y must be >= 0 for loss='tweedie'; got -0.5 at rows 2 and 3"),
            (Gamma(), 0.0, r"y must be > 0 for loss='gamma'; got 0.0 at rows 2 and 3: loss='tweedie' takes zeros"),
            (Gamma(), -3.0, r"y must be > 0 for loss='gamma'; got -3.0 at rows 2 and 3"),
            (Gamma(), 1e-20, r"y must be >= 1e-15 for loss='gamma'; got 1e-20 at rows 2 and 3: divide y by its mean"),
            (
                Poisson(),
                1e20,
                r"y must be <= 1e\+15 for loss='poisson'; got 1e\+20 at rows 2 and 3: divide y by its mean",
            ),
        ],
    )
    def test_targets_outside_the_domain_are_refused(self, loss, bad, message):
        with pytest.raises(ValueError, match=message):
            loss.check_target([1.0, 2.0, bad, bad])
