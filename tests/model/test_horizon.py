"""A model of times at one horizon: the same probabilities, as a classifier that all readers of models take.

They go through ``losses/event_loss``, too.
"""

import numpy as np
import pytest
from survival_cases import fitted_survival, simulated

from lambdak import SpectralRegressor, SpectralSurvival, load
from lambdak.model.horizon import at_horizon

X = simulated(40, 1)[0]


@pytest.mark.parametrize("horizon", [1e-3, 0.4, 1.0, 1e3])
def test_probabilities_are_those_of_the_curves(horizon):
    model = fitted_survival()
    chances = model.at(horizon).predict_proba(X)
    np.testing.assert_allclose(
        chances[:, 0], model.predict_survival_function(X, horizon)[:, 0], rtol=1e-12, atol=1e-300
    )
    np.testing.assert_allclose(chances[:, 1], -np.expm1(-model.predict_cumulative_hazard_function(X, horizon)[:, 0]))


def test_a_knot_of_time_needs_no_more_members():
    model = fitted_survival()
    knot = model.event_times_[2]
    assert len(model.at(knot).model_.weights) == len(model.model_.weights)
    np.testing.assert_allclose(
        model.at(knot).predict_proba(X)[:, 0], model.predict_survival_function(X, knot)[:, 0], rtol=1e-12
    )


@pytest.mark.parametrize("link", ["cloglog", "logit"])
def test_what_was_requested_is_proven_at_a_horizon_and_saved(link, tmp_path):
    rows, time, event = simulated(80)
    fitted = SpectralSurvival(
        link, dim=3, effort="fast", max_iter=2, n_estimators=1, monotonic_cst=[1, 0, -1], random_state=0
    ).fit(rows, (time, event))
    model = fitted.at(0.7)
    claims = [claim for claim in model.certify().claims if claim.requested]
    assert len(claims) == 2
    assert all(claim.proven for claim in claims)
    assert not sum(check.violations for check in model.verify(X, n=50).checks)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(X), model.predict_proba(X))
    assert model.classes_.tolist() == [False, True]


def test_explanations_add_up_and_readers_take_a_horizon():
    model = fitted_survival()
    one = model.explain_local(X[:3], horizon=0.7)
    frame = model.at(0.7).explain_local(X[:3])
    assert str(one) == str(frame)
    assert "log cumulative hazard" in str(model.explain_global(horizon=0.7))


def test_the_cheapest_change_brings_an_event_below_a_probability():
    model = fitted_survival().at(0.7)
    (row,) = np.flatnonzero(model.predict_proba(X)[:, 1] > 0.5)[:1]
    recourse = model.counterfactual(X[[row]], 0.4, ["x0", "x1"])
    assert "0.4" in str(recourse) or "40" in str(recourse)


def test_without_a_horizon_readers_refuse():
    with pytest.raises(ValueError, match=r"export of a SpectralSurvival needs a time: give horizon="):
        fitted_survival().export("model.c")
    with pytest.raises(ValueError, match="needs a time"):
        fitted_survival().explain_local(X)
    from lambdak.export import to_c

    with pytest.raises(ValueError, match=r"export model.at\(horizon\)"):
        to_c(fitted_survival(), "model.c")


@pytest.mark.parametrize("horizon", [0.0, -1.0, np.inf, [1.0, 2.0]])
def test_a_horizon_is_one_positive_time(horizon):
    with pytest.raises(ValueError, match="horizon must be"):
        fitted_survival().at(horizon)


def test_models_of_numbers_have_no_horizon():
    model = SpectralRegressor(effort="fast", max_iter=1, random_state=0).fit(np.eye(4), np.arange(4.0))
    with pytest.raises(TypeError, match="needs a model of times to an event"):
        at_horizon(model.model_, 1.0, "SpectralClassifier")
