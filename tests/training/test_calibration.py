"""Levels for the mean of all members, from those of teams and of single members; which columns may be groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from lambdak import SpectralQuantileRegressor
from lambdak.model.calibration import SHARES, Calibration
from lambdak.training import calibration as module


def of_levels(upper, groups=()):
    """A calibration whose upper ends are at these levels (tables, shares), and whose lower ends mirror them."""
    tables = np.stack([1 - upper, upper], axis=1)
    return Calibration(1.0, 1.0, tables, (50,) * len(upper), 0 if groups else None, groups)


def test_the_rest_of_the_way_is_added_in_normal_scores():
    together, alone = ndtr(1.1 * ndtri(SHARES)), ndtr(1.3 * ndtri(SHARES))
    found = module._of_all(of_levels(together[None]), of_levels(alone[None]), 0.5)
    np.testing.assert_allclose(ndtri(found.tables[0, 1]), 1.0 * ndtri(SHARES), atol=1e-6)
    np.testing.assert_allclose(found.tables[0, 0], 1 - found.tables[0, 1], atol=1e-9)


def test_groups_are_matched_and_ends_stay_in_order():
    rng = np.random.default_rng(0)
    one, two, three = np.sort(rng.random((3, len(SHARES))), axis=1)
    together = of_levels(np.stack([one, two]), (4,))
    alone = of_levels(np.stack([one, three, two]), (1, 4))
    found = module._of_all(together, alone, 2.0)
    np.testing.assert_allclose(found.tables, together.tables, atol=1e-9)  # where both say the same nothing moves
    found = module._of_all(together, of_levels(np.stack([three, one]), (4,)), 2.0)
    assert (np.diff(found.tables[:, 1], axis=1) >= 0).all()
    assert (np.diff(found.tables[:, 0], axis=1) <= 0).all()


def test_levels_that_no_row_reached_stay_infinite():
    together = np.append(np.linspace(0.1, 0.9, len(SHARES) - 20), np.ones(20))
    found = module._of_all(of_levels(together[None]), of_levels(np.full((1, len(SHARES)), 0.5)), 0.5)
    assert (found.tables[0, 1, -20:] == 1).all()
    assert (found.tables[0, 0, -20:] == 0).all()


def test_a_large_table_has_no_groups():
    with pytest.raises(ValueError, match="calibrate_by must be None with a large table"):
        SpectralQuantileRegressor(calibrate_by="g")._large_request()


def test_a_calibration_without_rows_keeps_its_tails():
    whole = replace(of_levels(np.linspace(0.1, 0.9, len(SHARES))[None]), below=2.0)
    assert not whole.uncounted().counted
    assert (whole.uncounted().below, whole.uncounted().above) == (2.0, 1.0)
