"""Curves over time: valid for all rows and times, inverted exactly, means by quadrature; ``step_functions`` of rows."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from survival_cases import fitted_survival, simulated

from lambdak import SpectralRegressor
from lambdak.losses.survival import Survival
from lambdak.model.event_curves import EventCurves


@pytest.fixture(scope="module")
def curves():
    return fitted_survival().curves(simulated(50, 1)[0])


def test_survival_never_rises_from_one_to_nothing(curves):
    times = np.unique(np.concatenate([np.geomspace(1e-9, 1e9, 400), curves.loss.times, [0.0]]))
    survival = curves.survival(times)
    assert (np.diff(survival, axis=1) <= 0).all()
    np.testing.assert_array_equal(survival[:, 0], 1.0)
    np.testing.assert_array_equal(survival[:, -1], 0.0)


def test_survival_never_rises_by_a_last_bit():
    """What log(1 + e^r) is in float64 falls from some raw scores to the next float."""
    low = np.linspace(0.1, 0.4, 100_000)
    curves = EventCurves(Survival("logit", (1.0, 2.0)), np.column_stack([low, np.nextafter(low, np.inf)]))
    assert (np.diff(curves.survival([1.0, 2.0]), axis=1) <= 0).all()
    assert (np.diff(curves.survival([2.0, 1.0]), axis=1) >= 0).all()


def test_order_of_times_does_not_matter(curves):
    times = np.random.default_rng(0).permutation(np.geomspace(0.01, 10, 30))
    np.testing.assert_array_equal(curves.survival(times), np.stack([curves.survival(t)[:, 0] for t in times], axis=1))


def test_given_survival_to_a_time_is_the_ratio_of_probabilities(curves):
    times, after = np.array([0.5, 1.0, 2.0]), 0.4
    expected = curves.survival(times) / curves.survival(after)
    np.testing.assert_allclose(curves.survival(times, after), expected, rtol=1e-12)
    np.testing.assert_array_equal(curves.survival([0.1, 0.4], after), 1.0)
    own = np.linspace(0.1, 1.0, len(curves.raw))
    expected = curves.survival(times)[7] / curves.survival(own[7])[7, 0]
    np.testing.assert_allclose(curves.survival(times, own)[7], expected, rtol=1e-12)


@pytest.mark.parametrize("probability", [1e-6, 0.1, 0.5, 0.9, 1 - 1e-9])
@pytest.mark.parametrize("after", [None, 0.7])
def test_quantiles_are_where_the_curve_has_their_probability(curves, probability, after):
    times = curves.quantile(probability, after)
    survival = np.array([curves.take([i]).survival(t, after)[0, 0] for i, t in enumerate(times)])
    np.testing.assert_allclose(survival, 1 - probability, rtol=1e-6)


@pytest.mark.parametrize("horizon", [0.01, 0.7, 3.0, 50.0])
def test_restricted_mean_is_the_integral_of_survival(curves, horizon):
    one = curves.take([3])
    places = [0.0, *(t for t in curves.loss.times if t < horizon), horizon]
    expected = sum(quad(lambda t: one.survival(t)[0, 0], *part, epsabs=1e-12)[0] for part in pairwise(places))
    assert one.restricted_mean(horizon)[0] == pytest.approx(expected, rel=1e-5)


def test_bad_times_are_refused_by_name(curves):
    with pytest.raises(ValueError, match=r"times must be finite and not negative; got -1 at position 1"):
        curves.survival([0.5, -1.0])
    with pytest.raises(ValueError, match="conditional_after must be one time, or one for each of 50 rows; got 2"):
        curves.survival([0.5], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"probability must be in \(0, 1\)"):
        curves.quantile(1.0)
    with pytest.raises(ValueError, match="horizon must be after 2"):
        curves.restricted_mean(1.0, 2.0)


def test_models_of_numbers_have_no_curves():
    model = SpectralRegressor(effort="fast", max_iter=1, random_state=0).fit(np.eye(4), np.arange(4.0))
    with pytest.raises(TypeError, match="need a model of times to an event"):
        EventCurves.of(model.model_, model.model_.raw(np.eye(4)))
