"""Competing risks: incidences are valid, add up to 1 − S, and are those of Aalen and Johansen where rows are alike.

They go through ``model/incidence``, too.
"""

import numpy as np
import pandas as pd
import pytest
from survival_cases import structured

from lambdak import SpectralCompetingRisks, SpectralSurvival

SMALL = SpectralSurvival("cloglog", dim=3, effort="fast", n_estimators=2, max_iter=4, random_state=0)


def two_causes(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2))
    first = rng.exponential(size=rows) / np.exp(X[:, 0])
    second, seen = rng.weibull(2.0, size=rows), rng.exponential(2.0, size=rows)
    times = np.column_stack([seen, first, second])
    return X, times.min(axis=1), times.argmin(axis=1)


@pytest.fixture(scope="module")
def fitted():
    X, time, cause = two_causes()
    return SpectralCompetingRisks(SMALL).fit(X, (time, cause))


def aalen_johansen(time, cause, which, at):
    """The share of rows with an event of a cause by a time, of which each loses as many as are still at risk."""
    alive, incidence = 1.0, 0.0
    for t in np.unique(time[cause > 0]):
        if t > at:
            break
        risk = (time >= t).sum()
        incidence += alive * ((time == t) & (cause == which)).sum() / risk
        alive *= 1 - ((time == t) & (cause > 0)).sum() / risk
    return incidence


def test_incidences_rise_and_add_up_with_survival_to_one(fitted):
    X, times = two_causes(100, 1)[0], np.concatenate([[0.0], np.geomspace(1e-3, 1e3, 60)])
    incidence = fitted.predict_cumulative_incidence(X, times)
    assert incidence.shape == (100, 2, 61)
    assert (incidence >= 0).all()
    assert (np.diff(incidence, axis=2) >= 0).all()
    whole = incidence.sum(axis=1) + fitted.predict_survival_function(X, times)
    np.testing.assert_allclose(whole, 1, atol=1e-12)


def test_order_and_choice_of_times_do_not_matter_much(fitted):
    X = two_causes(20, 2)[0]
    some, one = fitted.predict_cumulative_incidence(X, [2.0, 0.5]), fitted.predict_cumulative_incidence(X, [0.5])
    np.testing.assert_allclose(some[..., 1], one[..., 0], atol=2e-3)


@pytest.mark.slow
def test_without_columns_that_matter_it_is_aalen_johansen():
    _, time, cause = two_causes(1000)
    X = np.random.default_rng(1).normal(size=(1000, 1))
    longer = SpectralSurvival("cloglog", dim=3, effort="fast", random_state=0)
    model = SpectralCompetingRisks(longer).fit(X, (time, cause))
    for at in (0.3, 0.8, 1.5):
        incidence = model.predict_cumulative_incidence(X, [at]).mean(axis=0)[:, 0]
        expected = [aalen_johansen(time, cause, which, at) for which in (1, 2)]
        np.testing.assert_allclose(incidence, expected, atol=0.03)


def test_all_spellings_and_late_entry():
    X, time, cause = two_causes(120)
    table = pd.DataFrame(X, columns=["a", "b"]).assign(T=time, E=cause, S=0.2 * time)
    named = SpectralCompetingRisks(SMALL).fit(table, time="T", event="E", entry="S")
    given = SpectralCompetingRisks(SMALL).fit(table[["a", "b"]], (time, cause), entry=0.2 * time)
    np.testing.assert_array_equal(
        named.predict_cumulative_incidence(table, [1.0]), given.predict_cumulative_incidence(table[["a", "b"]], [1.0])
    )
    assert named.causes_.tolist() == [1, 2]
    assert 0.5 < named.score(table, time="T", event="E") <= 1


def test_what_cannot_be_is_refused():
    X, time, cause = two_causes(40)
    with pytest.raises(ValueError, match=r"event must be 0 for censored rows, and 1, 2, … for causes; got -1 at rows"):
        SpectralCompetingRisks(SMALL).fit(X, (time, -cause))
    with pytest.raises(ValueError, match="at least one cause other than 0; got none"):
        SpectralCompetingRisks(SMALL).fit(X, (time, 0 * cause))
    with pytest.raises(TypeError, match="estimator must be a SpectralSurvival; got str"):
        SpectralCompetingRisks("cloglog").fit(X, structured(time, cause > 0))
