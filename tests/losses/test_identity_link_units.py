"""Units: an identity link knows none, up to the limits of float64, and weights have no scale."""

import numpy as np
import pytest
from loss_cases import LOCATION, LOG_LINK, LOSSES, targets, weights

from lambdak.losses import Huber, Poisson, SquaredError

Y, WEIGHT, OFFSET = targets(SquaredError(), 60), weights(60), np.linspace(-2.0, 2.0, 60)
every_location = pytest.mark.parametrize("loss", LOCATION, ids=repr)


@every_location
@pytest.mark.parametrize("power", [-900, -540, 540, 990])
def test_start_scale_and_spread_follow_a_power_of_two_to_the_last_bit(loss, power):
    loss, unit = loss.resolved(Y, WEIGHT, OFFSET), 2.0**power
    large = loss.resolved(unit * Y, WEIGHT, unit * OFFSET)
    np.testing.assert_array_equal(large.start(unit * Y, WEIGHT, unit * OFFSET), unit * loss.start(Y, WEIGHT, OFFSET))
    assert large.scale(unit * Y, WEIGHT, unit * OFFSET) == unit * loss.scale(Y, WEIGHT, OFFSET)
    assert getattr(large, "spread", 0.0) == unit * getattr(loss, "spread", 0.0)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("factor", [1e39, 1e-50, 1e307, 1e-315])
def test_the_scale_of_weights_means_nothing(loss, factor):
    y = targets(loss)
    np.testing.assert_allclose(loss.start(y, factor * weights()), loss.start(y, weights()), rtol=1e-6, atol=1e-9)
    assert loss.scale(y, factor * weights()) == pytest.approx(loss.scale(y, weights()), rel=1e-6)


@every_location
def test_a_target_without_weight_may_have_any_size(loss):
    y, weight = np.append(Y, 1e300), np.append(WEIGHT, 0.0)
    loss = loss.resolved(y, weight)
    assert loss == loss.resolved(Y, WEIGHT)
    np.testing.assert_array_equal(loss.start(y, weight), loss.start(Y, WEIGHT))
    assert loss.scale(y, weight) == loss.scale(Y, WEIGHT)


@pytest.mark.parametrize("outlier", [1e30, -1e300])
def test_no_outlier_however_far_moves_a_robust_loss(outlier):
    y = np.append(Y, outlier)
    for loss in LOCATION[1:]:
        resolved = loss.resolved(y)
        assert resolved.scale(y) < 15.0
        assert np.abs(resolved.start(y) - loss.resolved(Y).start(Y)).max() < 1.0
    assert Huber().resolved(y).spread == pytest.approx(Huber().resolved(Y).spread, rel=0.2)


@every_location
@pytest.mark.parametrize("level", [1e-300, -1e-5, 1e200, 2.0**1000])
def test_the_scale_of_a_constant_is_neither_lost_in_it_nor_larger_than_it(loss, level):
    y = np.full(77, level)
    scale, start = loss.scale(y), loss.start(y)
    assert scale <= max(1.0, 1e-12 * abs(level))
    assert scale <= abs(level) or abs(level) >= 1e-3
    assert np.abs(start - level).max() <= 0.1 * scale


@pytest.mark.parametrize("bad", [1e302, -1.7e308])
def test_targets_whose_scores_could_overflow_are_refused_with_the_way_out(bad):
    message = r"y must be within ±1\.1e\+301 for loss='.*'; got -?1.*e\+30\d at row 1: divide y by a constant"
    for loss in LOCATION:
        with pytest.raises(ValueError, match=message):
            loss.check_target([1.0, bad])
        assert loss.check_target([1.0, -1e301])[1] == -1e301


def test_a_whole_number_beyond_float64_is_named():
    for loss in [*LOCATION, *LOG_LINK]:
        with pytest.raises(ValueError, match=rf"y must fit into .* for loss='{loss.name}'; got 1e\+400 at row 1"):
            loss.check_target(np.array([1, 10**400], object))
    with pytest.raises(ValueError, match="y must hold numbers for loss='poisson'; got 'a' at row 1"):
        Poisson().check_target(np.array([1, "a"], object))
