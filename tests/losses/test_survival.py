"""The likelihood of times to an event: gradient, terms against integrals of the density, and no cancellation.

They go through ``hazards``, ``event_loss`` and ``time_knots``, from whose cumulative hazard a fit starts.
"""

from itertools import pairwise

import numpy as np
import pytest
from loss_cases import numeric_gradient
from scipy.integrate import quad
from scipy.optimize import minimize
from survival_cases import lines_of_all_kinds, resolved, simulated

from lambdak.losses.hazards import LINKS
from lambdak.losses.survival import Survival
from lambdak.losses.time_knots import baseline
from lambdak.model.event_curves import EventCurves

every_link = pytest.mark.parametrize("kind", LINKS)


def rising_scores(loss, *lead, seed=0):
    return np.sort(np.random.default_rng(seed).normal(size=(*lead, loss.n_outputs)), axis=-1)


@every_link
def test_gradient_is_the_derivative_of_the_likelihood(kind):
    lines = lines_of_all_kinds(16)
    loss = resolved(kind, lines)
    raw = rising_scores(loss, 2, len(lines))
    np.testing.assert_allclose(
        loss.gradient(raw, lines), numeric_gradient(loss, raw, lines, None), rtol=1e-5, atol=1e-8
    )


@every_link
def test_probability_of_everything_that_may_be_observed_is_one(kind):
    """The density of all exact times, integrated without the library, and survival beyond them."""
    lines = lines_of_all_kinds()
    loss = resolved(kind, lines)
    raw = rising_scores(loss, 1)

    def likelihood(*line):
        return float(np.exp(-loss.of_rows(raw, np.array([line]))[0]))

    low, high = 1e-4, 40.0
    places = np.log([low, *loss.times, high])
    inside = sum(
        quad(lambda u: likelihood(1, 0, np.exp(u), np.exp(u)), start, end)[0] for start, end in pairwise(places)
    )
    assert inside + likelihood(3, 0, 0, low) + likelihood(0, 0, high, high) == pytest.approx(1, abs=1e-6)


@every_link
def test_intervals_and_late_entries_are_integrals_of_the_density(kind):
    lines = lines_of_all_kinds()
    loss = resolved(kind, lines)
    raw = rising_scores(loss, 1)

    def likelihood(*line):
        return float(np.exp(-loss.of_rows(raw, np.array([line]))[0]))

    start, end = loss.times[1], loss.times[2]
    density = quad(lambda u: likelihood(1, 0, np.exp(u), np.exp(u)), np.log(start), np.log(end))[0]
    assert likelihood(2, 0, start, end) == pytest.approx(density, rel=1e-6)
    alive = likelihood(0, 0, start, start)
    assert likelihood(2, start, start, end) == pytest.approx(density / alive, rel=1e-6)
    assert likelihood(3, 0, 0, start) == pytest.approx(1 - alive, rel=1e-9)
    assert likelihood(0, start, end, end) == pytest.approx(likelihood(0, 0, end, end) / alive, rel=1e-9)


@every_link
def test_nothing_cancels_where_events_are_rare_or_certain(kind):
    """Probabilities of 1e-12 and below keep their digits, where 1 − exp(−Λ) would lose them all."""
    loss = Survival(kind, (1.0, 2.0, 4.0))
    rare = np.array([[-30.0, -29.0, -28.0]])
    one = np.exp(-loss.of_rows(rare, np.array([[3.0, 0.0, 0.0, 2.0]])))
    np.testing.assert_allclose(one, np.exp(-29.0), rtol=1e-9)
    between = np.exp(-loss.of_rows(rare, np.array([[2.0, 0.0, 1.0, 2.0]])))
    np.testing.assert_allclose(between, np.exp(-30.0) * np.expm1(1.0), rtol=1e-9)
    certain = np.array([[3.0, 4.0, 5.0]], np.float32)
    for line in ([0.0, 0.0, 4.0, 4.0], [1.0, 0.0, 2.0, 2.0], [2.0, 0.0, 1.0, 4.0], [3.0, 0.0, 0.0, 4.0]):
        assert np.isfinite(loss.of_rows(certain, np.array([line]))).all()
        assert np.isfinite(loss.gradient(certain * 40, np.array([line]))).all()


def test_equal_ends_of_an_interval_do_not_break_the_gradient():
    loss = Survival("cloglog", (1.0, 2.0, 4.0))
    flat = np.zeros((1, 3), np.float32)
    grad = loss.gradient(flat, np.array([[2.0, 0.0, 1.0, 2.0]]))
    assert np.isfinite(grad).all()
    assert grad[0, 0] > 0 > grad[0, 1]


def test_start_is_the_nelson_aalen_estimate():
    _, time, event = simulated(80)
    lines = np.column_stack([event, np.zeros(80), time, time])
    loss = resolved("cloglog", lines)
    expected = [sum(1 / (time >= t).sum() for t in time[event] if t <= knot) for knot in loss.times]
    np.testing.assert_allclose(np.exp(loss.start(lines)), expected, rtol=0.02)  # knots rise by a thousandth at least


def test_maximum_likelihood_of_two_knots_is_weibull_regression():
    """Raw scores a + X b at both knots of log time: Cox's family with e^r t^c, whose likelihood is written out here."""
    X, time, event = simulated(200)
    lines = np.column_stack([event, np.zeros(200), time, time])
    loss = Survival("cloglog", (time.min(), time.max()))
    ends = np.log(loss.times)

    def ours(p):
        return float(loss.value((X @ p[:3])[:, None] + p[3] + np.exp(p[4]) * ends, lines))

    def weibull(p):
        r = X @ p[:3] + p[3] + np.exp(p[4]) * np.log(time)
        return float(np.mean(np.exp(r) - event * (r + p[4])))

    first, second = (minimize(f, np.zeros(5), tol=1e-9) for f in (ours, weibull))
    assert first.fun == pytest.approx(second.fun, abs=1e-9)
    np.testing.assert_allclose(first.x, second.x, atol=1e-4)


def test_late_entries_are_not_at_risk_before_they_enter():
    lines = np.array([[1, 0, 1, 1], [1, 2, 3, 3], [0, 0, 4, 4]], float)
    np.testing.assert_allclose(baseline(lines, np.ones(3), (1.0, 3.0)), [1 / 2, 1 / 2 + 1 / 2], rtol=2e-3)


def test_knots_are_event_times_from_the_first_to_the_last():
    _, time, event = simulated(300)
    lines = np.column_stack([event, np.zeros(300), time, time])
    times = Survival().resolved(lines).times
    assert set(times) <= set(time[event])
    assert (times[0], times[-1]) == (time[event].min(), time[event].max())


def test_a_single_event_time_is_enough():
    lines = np.array([[1, 0, 2, 2], [1, 0, 2, 2], [0, 0, 3, 3]], float)
    assert Survival().resolved(lines).times == (1.0, 4.0)


def test_rows_without_any_event_are_refused():
    lines = np.array([[0, 0, 2, 2], [0, 0, 3, 3]], float)
    with pytest.raises(ValueError, match="at least one event; got none"):
        Survival().resolved(lines)


@pytest.mark.parametrize("wrong", [{"link_name": "probit"}, {"event_times": (2.0, 1.0)}, {"tail": 0.0}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ValueError, match="must be"):
        Survival(**wrong)


@every_link
def test_curves_are_those_of_the_likelihood(kind):
    """The density of the likelihood is the slope of the curve, and their survival is the same."""
    loss = resolved(kind, lines_of_all_kinds())
    curves = EventCurves(loss, rising_scores(loss, 3))
    t, step = 0.9, 1e-6
    density = -np.diff(curves.survival([t * np.exp(-step), t * np.exp(step)]))[:, 0] / (2 * step)
    lines = np.tile([1.0, 0.0, t, t], (3, 1))
    np.testing.assert_allclose(np.exp(-loss.of_rows(curves.raw, lines)), density, rtol=1e-6)
    lines[:, 0] = 0
    np.testing.assert_allclose(np.exp(-loss.of_rows(curves.raw, lines)), curves.survival([t])[:, 0], rtol=1e-12)
