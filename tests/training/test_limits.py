"""What a fit can represent: targets within reach, and models whose raw scores are finite."""

from __future__ import annotations

import numpy as np
import pytest
from fit_cases import X, Y, new

from lambdak.losses import AbsoluteError, Poisson, SquaredError
from lambdak.training.limits import check_fit, check_log_mean, check_spread, within_reach

FITTED = new(max_iter=1).fit(X, Y).model_
DESIGN = FITTED.encoder.transform(X)


def test_targets_in_units_of_eigenvalues():
    units = within_reach(np.array([1.0, 3.0, 7.0]), None, 3.0, 2.0, SquaredError())
    assert units.tolist() == [-1.0, 0.0, 2.0]


def test_an_outlier_of_a_robust_loss_counts_as_near_enough_and_one_of_squared_error_is_refused():
    y = np.array([0.0, 1.0, -2.0, 1e300])
    units = within_reach(y, None, 0.0, 1.0, AbsoluteError())
    assert units.tolist() == [0.0, 1.0, -2.0, 2.0**12]
    with pytest.raises(ValueError, match=r"y less its offset must be within 0 ± .* got 1e\+300: fit a new model"):
        within_reach(y, None, 0.0, 1.0, SquaredError())
    without = within_reach(y, np.array([1.0, 1.0, 1.0, 0.0]), 0.0, 1.0, SquaredError())
    assert np.isfinite(without.astype(np.float32) ** 2).all()


def test_a_model_whose_targets_are_all_elsewhere_is_not_trained_further():
    with pytest.raises(ValueError, match=r"for loss='absolute_error'; got 1e\+300: fit a new model"):
        within_reach(np.full(5, 1e300), None, 0.0, 1.0, AbsoluteError())


def test_a_spread_that_loses_digits_is_refused():
    assert check_spread(1e-301, SquaredError()) == 1e-301
    with pytest.raises(ValueError, match=r"y must spread by at least 9\.3e-302 .*; got a spread of 1e-310: multiply y"):
        check_spread(1e-310, SquaredError())


def test_a_mean_that_no_float_holds_is_refused():
    assert check_log_mean(np.array([-690.0]), Poisson()) == -690.0
    with pytest.raises(ValueError, match=r"offset must fit y for loss='poisson': .* would be e\^-1e\+08; an offset is"):
        check_log_mean(np.array([-1e8]), Poisson())


@pytest.mark.parametrize("name", ["coef", "start", "scale"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_number_of_a_model_that_is_not_finite_is_named(name, bad):
    value = np.array(getattr(FITTED, name), float)
    value.flat[0] = bad
    broken = FITTED.replace(**{name: float(value) if name == "scale" else value})
    check_fit(FITTED, DESIGN, np.ones(1))
    with pytest.raises(ValueError, match=f"the fit failed: {name} of the model is not finite. Nothing was kept of it"):
        check_fit(broken, DESIGN, np.ones(1))


def test_a_model_whose_scores_could_overflow_is_refused():
    for changes in (
        {"scale": 1e308},
        {"coef": 1e300 * FITTED.coef, "scale": 1e10},
        {"start": np.full(1, 1.7e308), "scale": 1e308},
    ):
        with pytest.raises(ValueError, match="the fit failed: raw scores may leave the range of float64"):
            check_fit(FITTED.replace(**changes), DESIGN, np.ones(1))


def test_no_row_exceeds_the_bound_that_is_checked():
    scores = FITTED.raw(np.random.default_rng(0).normal(0, 100, (1000, 4)))
    norms = np.linalg.norm(FITTED.matrices.astype(float), axis=-1).sum(axis=-1)
    assert np.abs(scores).max() <= abs(FITTED.start[0]) + FITTED.scale * norms.max()


def test_a_member_that_never_had_a_finite_loss_is_refused():
    with pytest.raises(ValueError, match="the fit failed: the loss of a member was never finite"):
        check_fit(FITTED, DESIGN, np.array([1.0, np.inf]))
