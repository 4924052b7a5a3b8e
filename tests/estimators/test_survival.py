"""SpectralSurvival: valid curves, order at every time, known laws recovered, and scikit-survival's conventions.

They go through ``event_arguments``, ``horizon_methods`` and ``model/step_functions``, too.
"""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from survival_cases import SHAPE, fitted_survival, risks, simulated, structured

from lambdak import SpectralSurvival

SMALL = {"dim": 3, "effort": "fast", "n_estimators": 2, "max_iter": 4, "random_state": 0}
ADDITIVE = {"dim": 1, "n_knots": 0, "n_time_knots": 2, "effort": "fast", "random_state": 0}


def weibull(X, times):
    return np.exp(-np.exp(risks(X))[:, None] * np.asarray(times) ** SHAPE)


def test_curves_never_rise_and_a_monotone_column_orders_them_at_every_time():
    model, rng = fitted_survival(), np.random.default_rng(1)
    X = 3 * rng.normal(size=(1000, 3))
    times = np.concatenate([[0.0], np.geomspace(1e-3, 1e3, 99)])
    survival = model.predict_survival_function(X, times)
    assert (np.diff(survival, axis=1) <= 0).all()
    more = X + np.abs(rng.normal(size=X.shape)) * [1, -1, 0]
    assert (model.predict_survival_function(more, times) <= survival + 1e-12).all()
    assert (model.predict(more) >= model.predict(X) - 1e-12).all()


@pytest.mark.slow
def test_one_dimension_and_two_knots_find_a_weibull_law():
    """The truth is in the family: straight columns, hazards that are proportional, a cumulative hazard e^r t^a."""
    X, time, event = simulated(2000)
    model = SpectralSurvival("cloglog", **ADDITIVE).fit(X, (time, event))
    unseen, times = simulated(500, 1)[0], [0.3, 0.7, 1.5, 3.0]
    error = model.predict_survival_function(unseen, times) - weibull(unseen, times)
    assert np.abs(error).mean() < 0.04  # of all rows together it is .15
    np.testing.assert_allclose(error.mean(axis=0), 0, atol=0.03)
    median = (np.log(2) / np.exp(risks(unseen))) ** (1 / SHAPE)
    np.testing.assert_allclose(np.median(model.predict_quantile(unseen) / median), 1, atol=0.05)


@pytest.mark.slow
def test_every_way_to_observe_the_same_law_leads_to_it():
    """Interval-censored rows, and rows that entered late, against the known curves."""
    X, unseen, times = simulated(1500)[0], simulated(500, 1)[0], [0.5, 1.0, 2.0]
    rng = np.random.default_rng(2)
    true = (rng.exponential(size=len(X)) / np.exp(risks(X))) ** (1 / SHAPE)
    visits = np.sort(rng.exponential(0.7, size=(len(X), 3)).cumsum(axis=1), axis=1)
    edges = np.column_stack([np.zeros(len(X)), visits, np.full(len(X), np.inf)])
    place = (visits < true[:, None]).sum(axis=1)
    rows = np.arange(len(X))
    between = SpectralSurvival("cloglog", **ADDITIVE).fit(X, lower=edges[rows, place], upper=edges[rows, place + 1])
    assert np.abs(between.predict_survival_function(unseen, times) - weibull(unseen, times)).mean() < 0.04
    entry = rng.uniform(0, 1, len(X))
    late = entry < true
    entered = SpectralSurvival("cloglog", **ADDITIVE).fit(X[late], (true[late], late[late]), entry=entry[late])
    assert np.abs(entered.predict_survival_function(unseen, times) - weibull(unseen, times)).mean() < 0.04


@pytest.mark.slow
def test_cutting_rows_in_two_changes_next_to_nothing():
    """A row until t, and the same as one until s and another from s to t, have the same likelihood."""
    X, time, event = simulated(400)
    whole = SpectralSurvival("cloglog", **ADDITIVE).fit(X, (time, event))
    cut = time / 2
    halves = SpectralSurvival("cloglog", **ADDITIVE).fit(
        np.concatenate([X, X]),
        (np.concatenate([cut, time]), np.concatenate([np.zeros(400, bool), event])),
        entry=np.concatenate([np.zeros(400), cut]),
    )
    times = [0.3, 1.0, 2.0]
    np.testing.assert_allclose(
        halves.predict_survival_function(X, times), whole.predict_survival_function(X, times), atol=0.05
    )


def test_all_spellings_of_what_was_observed_give_the_same_model():
    X, time, event = simulated(80)
    table = pd.DataFrame(X, columns=list("abc")).assign(T=time, E=event.astype(int))
    plain = table[list("abc")]
    models = [
        SpectralSurvival("cloglog", **SMALL).fit(plain, structured(time, event)),
        SpectralSurvival("cloglog", **SMALL).fit(plain, (time, event)),
        SpectralSurvival("cloglog", **SMALL).fit(plain, pd.DataFrame({"t": time, "e": event})),
        SpectralSurvival("cloglog", **SMALL).fit(table, time="T", event="E"),
        SpectralSurvival("cloglog", **SMALL).fit(plain, time=time, event=event),
        SpectralSurvival("cloglog", **SMALL).fit(plain, lower=time, upper=np.where(event, time, np.inf)),
    ]
    first, *others = (model.predict(plain) for model in models)
    for other in others:
        np.testing.assert_array_equal(first, other)
    np.testing.assert_array_equal(models[3].predict(table), first)
    assert models[3].score(table, time="T", event="E") == models[0].score(plain, (time, event))


def test_whole_weights_are_repeated_rows():
    X, time, event = simulated(80)
    weight = np.arange(80) % 3
    weighted = SpectralSurvival("cloglog", **SMALL).fit(X, (time, event), weight)
    again = np.repeat(np.arange(80), weight)
    repeated = SpectralSurvival("cloglog", **SMALL).fit(X[again], (time[again], event[again]))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-5)


def test_it_works_with_cross_validation_and_clone():
    X, time, event = simulated(120)
    model = clone(SpectralSurvival("cloglog", **SMALL))
    scores = cross_val_score(model, X, structured(time, event), cv=2)
    assert scores.shape == (2,)
    assert (scores > 0.5).all()


def test_functions_of_time_have_the_values_of_the_array():
    model, X = fitted_survival(), simulated(5, 3)[0]
    functions, array = model.predict_survival_function(X), model.predict_survival_function(X, return_array=True)
    np.testing.assert_array_equal(np.stack([own.y for own in functions]), array)
    np.testing.assert_array_equal(functions[2].x, model.event_times_)
    np.testing.assert_array_equal(functions[2]([0.5, 1.0]), model.predict_survival_function(X[2:3], [0.5, 1.0])[0])
    assert functions[2](0.0) == 1.0
    assert functions[2].domain == (0.0, np.inf)
    hazards = model.predict_cumulative_hazard_function(X)
    assert hazards[0](1.0) == pytest.approx(-np.log(functions[0](1.0)), rel=1e-12)


def test_the_link_is_chosen_by_unseen_rows():
    X, time, event = simulated(200)
    model = SpectralSurvival(**SMALL).fit(X, (time, event))
    assert model.model_.loss.link_name in ("cloglog", "logit")


def test_one_event_is_enough_and_none_is_too_few():
    X, time, event = simulated(30)
    one = np.zeros(30, bool)
    one[4] = True
    model = SpectralSurvival("cloglog", **SMALL).fit(X, (time, one))
    assert (np.diff(model.predict_survival_function(X, np.geomspace(0.01, 100, 50)), axis=1) <= 0).all()
    with pytest.raises(ValueError, match="at least one event; got none"):
        SpectralSurvival("cloglog", **SMALL).fit(X, (time, ~event & event))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "y must say when events were"),
        ({"time": "T"}, "time='T' must name a column of X"),
        ({"lower": np.ones(30)}, "got lower alone"),
        ({"y": (np.ones(30), np.ones(30)), "time": np.ones(30)}, "y and time must not both be given"),
        ({"y": np.ones(30)}, r"must hold times and events; got shape \(30,\)"),
        ({"y": (np.ones(29), np.ones(29))}, "y must have 30 entries"),
    ],
)
def test_what_cannot_be_read_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        SpectralSurvival("cloglog", **SMALL).fit(pd.DataFrame(simulated(30)[0], columns=list("abc")), **given)


@pytest.mark.parametrize("knots", [1, "many", True, 2.5])
def test_knots_of_time_must_be_a_number(knots):
    X, time, event = simulated(30)
    with pytest.raises(ValueError, match="n_time_knots must be an int >= 2"):
        SpectralSurvival(n_time_knots=knots).fit(X, (time, event))
