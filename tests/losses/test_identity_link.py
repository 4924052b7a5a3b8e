"""What is special about the losses with an identity link."""

import numpy as np
import pytest
from loss_cases import LOCATION, MODELS, ROWS, scores, targets, weights

from lambdak.losses import AbsoluteError, Huber, Pinball, Quantile, SquaredError


class TestLocation:
    def test_identity_links_predict_the_raw_score(self):
        for loss in LOCATION:
            raw = np.sort(scores(loss, 2, 5), axis=-1)
            np.testing.assert_array_equal(loss.predict(raw), raw)

    def test_quantiles_that_rounding_has_put_out_of_order_become_equal(self):
        raw = np.array([[1.0, 1.0 - 1e-16, 2.0], [3.0, 3.0 - 4e-16, 3.0]])
        np.testing.assert_array_equal(Pinball((0.1, 0.5, 0.8)).predict(raw), [[1.0, 1.0, 2.0], [3.0, 3.0, 3.0]])

    def test_pinball_is_the_mean_of_its_quantile_losses(self):
        loss, y, weight = Pinball((0.1, 0.5, 0.8)), targets(SquaredError()), weights()
        raw = scores(loss, MODELS, ROWS)
        parts = [Quantile(q).value(raw[..., k], y, weight) for k, q in enumerate(loss.quantiles)]
        np.testing.assert_allclose(loss.value(raw, y, weight), np.mean(parts, axis=0), rtol=1e-13)
        np.testing.assert_array_equal(loss.start(y, weight), [Quantile(q).start(y, weight)[0] for q in loss.quantiles])

    def test_one_quantile_needs_no_output_axis(self):
        raw, y = scores(Quantile(0.7), MODELS, ROWS), targets(Quantile(0.7))
        np.testing.assert_array_equal(Pinball((0.7,)).gradient(raw, y), Quantile(0.7).gradient(raw, y))

    def test_start_of_quantiles_never_crosses(self):
        start = Pinball((0.1, 0.5, 0.50001, 0.9)).start([1.0, 1.0, 1.0, 5.0])
        assert (np.diff(start) >= 0).all()

    def test_huber_lies_between_squared_and_absolute_error(self):
        raw, y = scores(Huber(), MODELS, ROWS), targets(Huber())
        np.testing.assert_allclose(Huber(1e6).value(raw, y), SquaredError().value(raw, y), rtol=1e-12)
        np.testing.assert_allclose(Huber(1e-7).value(raw, y) / 1e-7, AbsoluteError().value(raw, y), rtol=1e-5)

    def test_huber_threshold_follows_the_units_of_the_target(self):
        y = targets(Huber(), 200)
        loss, large = Huber(1.35).resolved(y), Huber(1.35).resolved(1000 * y + 7)
        assert loss.delta == large.delta == 1.35
        assert loss.spread == pytest.approx(2.0, rel=0.2)
        assert large.spread == pytest.approx(1000 * loss.spread)
        np.testing.assert_allclose(large.start(1000 * y + 7), 1000 * loss.start(y) + 7)
        assert Huber().resolved(y, offset=y).spread == 1.0

    def test_huber_falls_back_where_half_of_the_target_is_one_value(self):
        y = np.r_[np.zeros(30), 1.0, 2.0, 3.0]
        assert Huber().resolved(y).spread == pytest.approx(np.std(y))
        assert Huber().resolved(np.full(5, 0.1)).spread == 1.0

    def test_huber_start_ignores_an_outlier(self):
        y = np.r_[targets(Huber(), 200), 1e12]
        assert Huber().resolved(y).start(y)[0] == pytest.approx(3.0, abs=0.5)

    @pytest.mark.parametrize("factor", [1e-9, 1.0, 1e9])
    def test_starts_are_equivariant(self, factor):
        y = targets(SquaredError(), 50)
        for loss in LOCATION:
            start = loss.resolved(y).start(y)
            np.testing.assert_allclose(loss.resolved(factor * y).start(factor * y), factor * start, rtol=1e-9)

    def test_scale_is_the_standard_deviation_of_what_the_offset_leaves(self):
        y, weight, offset = targets(SquaredError(), 100), weights(100), np.linspace(-5, 5, 100)
        for loss in LOCATION:
            assert loss.scale(y) == pytest.approx(np.std(y))
            assert loss.scale(y + offset, weight, offset) == pytest.approx(np.sqrt(np.cov(y, fweights=weight, ddof=0)))

    @pytest.mark.parametrize("level", [0.0, 0.1, -1e9 / 3])
    def test_scale_of_a_constant_target_is_one(self, level):
        for loss in LOCATION:
            assert loss.scale(np.full(77, level)) == 1.0
            assert loss.start(np.full(77, level)) == pytest.approx(np.full(loss.n_outputs, level))

    def test_scale_of_a_robust_loss_survives_an_outlier(self):
        y = np.r_[targets(SquaredError(), 200), 1e9]
        assert SquaredError().scale(y) > 1e7
        for loss in LOCATION[1:]:
            assert loss.scale(y) < 15.0
