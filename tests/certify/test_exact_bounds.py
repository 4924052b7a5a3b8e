"""Bounds on influence in integers: proven where they are true, whatever floating-point numbers propose."""

from __future__ import annotations

import numpy as np
import pytest
from fitted_models import fitted

from lambdak.certify.exact_bounds import any_change_is_below
from lambdak.eigen.rounding import eigenvalue_error
from lambdak.model.influence import any_change
from lambdak.model.readout import readouts


@pytest.mark.parametrize("kind", ["regressor", "linear", "straight", "single", "ordinal"])
def test_a_bound_below_what_floats_propose_is_proven_if_it_is_true(kind):
    """Rounding put the proposal of a fitted model above its own bound, so that both ways to prove disagreed."""
    readout = readouts(fitted(kind).model_)[0]
    for i in range(len(readout.columns)):
        bound = any_change(readout, i).bound
        assert any_change_is_below(readout, i, bound)
        if bound:
            assert any_change_is_below(readout, i, bound * (1 - 0.3 * eigenvalue_error(readout.dim)))
            assert not any_change_is_below(readout, i, bound * (1 - 1e-8))


def test_a_column_without_influence_is_bounded_by_zero():
    model = fitted("regressor").model_
    still = model.replace(coef=np.zeros_like(model.coef))
    assert any_change_is_below(readouts(still)[0], 0, 0.0)
