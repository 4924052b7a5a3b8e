"""Levels that cover shares of rows: ranks with one row more, order, groups, and the guarantee in simulations."""

from __future__ import annotations

import numpy as np
import pytest

from lambdak.model.calibration import FEWEST, SHARES, Calibration, counted, tails_of
from lambdak.model.level_curve import LevelCurve

CURVE = LevelCurve((0.1, 0.5, 0.9), 0.5, 0.5)
TAILS = Calibration(0.5, 0.5, np.empty((0, 2, len(SHARES))))
RNG = np.random.default_rng(0)


def of_levels(levels, **more):
    """A calibration on rows whose targets are at these levels of one distribution."""
    quantiles = np.tile([-1.0, 0.0, 1.0], (len(levels), 1))
    targets = np.diagonal(CURVE.at(quantiles, np.asarray(levels)))
    return counted(TAILS, CURVE, quantiles, targets, **more)


def test_the_level_is_that_of_the_rank_with_one_row_more():
    levels = np.sort(RNG.random(99))
    found = of_levels(RNG.permutation(levels))
    for share in (0.05, 0.5, 0.9, 0.95, 0.99):
        rank = int(np.ceil(round(share * 100, 9)))  # of 99 + 1
        assert found.end(share, upper=True)[0] == pytest.approx(levels[rank - 1], rel=1e-9)
        assert found.end(share, upper=False)[0] == pytest.approx(levels[-rank], rel=1e-9)
    assert found.end(0.999, upper=True)[0] == 1
    assert found.end(0.999, upper=False)[0] == 0


def test_a_larger_coverage_has_a_wider_interval_around_the_median():
    for levels in (RNG.random(40), np.full(40, 0.999), np.full(40, 1e-9), np.tile([0.01, 0.02], 30)):
        found = of_levels(levels)
        ends = np.array([found.interval(coverage)[0] for coverage in np.linspace(0.01, 0.999, 300)])
        assert (np.diff(ends[:, 0]) <= 0).all()
        assert (np.diff(ends[:, 1]) >= 0).all()
        assert (ends[:, 0] <= 0.5).all()
        assert (ends[:, 1] >= 0.5).all()


def test_targets_at_equal_quantiles_are_covered():
    quantiles = np.tile([3.0, 3.0, 3.0], (60, 1))
    found = counted(TAILS, CURVE, quantiles, np.full(60, 3.0))
    low, high = found.interval(0.9)[0]
    assert CURVE.at(quantiles[:1], [low])[0, 0] <= 3.0 <= CURVE.at(quantiles[:1], [high])[0, 0]


def test_groups_with_enough_rows_have_levels_of_their_own():
    codes = np.repeat([0, 1, 2, -1], [50, 60, FEWEST - 1, 30])
    levels = np.where(codes == 1, 0.9, 0.5) + 0.05 * RNG.random(len(codes))
    found = of_levels(levels, codes=codes, column=3)
    assert (found.column, found.groups, found.rows) == (3, (0, 1), (len(codes), 50, 60))
    ends = found.of_rows(found.end(0.5, upper=True)[:, None], np.array([0, 1, 2, -1, 7]))[:, 0]
    assert ends[0] < 0.6 < 0.9 < ends[1]
    assert (ends[2:] == found.end(0.5, upper=True)[0]).all()


def test_a_whole_weight_is_a_repetition_up_to_the_room_for_a_row():
    levels, weight = RNG.random(400), RNG.integers(1, 4, 400)
    repeated = of_levels(np.repeat(levels, weight))
    weighed = of_levels(levels, weight=weight.astype(float))
    np.testing.assert_allclose(weighed.tables[..., :990], repeated.tables[..., :990], atol=0.02)


@pytest.mark.parametrize("coverage", [0.5, 0.9])
@pytest.mark.parametrize("rows", [19, 57])
def test_new_rows_are_covered_as_often_as_the_theorem_says(coverage, rows):
    """Over draws of calibration rows the coverage of a wrong distribution is in [c, c + 2/(n + 1)], up to chance."""
    rng = np.random.default_rng(rows)
    draws, inside = 1500, 0
    quantiles = np.tile([-1.0, 0.0, 1.0], (rows, 1))
    for _ in range(draws):
        targets = rng.standard_t(3, rows + 1) * 2 + 0.5
        found = counted(TAILS, CURVE, quantiles, targets[1:])
        low, high = CURVE.at(quantiles[:1], found.interval(coverage)[0])[0]
        inside += low <= targets[0] <= high
    error = 4 * np.sqrt(coverage * (1 - coverage) / draws)
    assert coverage - error <= inside / draws <= coverage + 2 / (rows + 1) + error


def test_tails_have_the_mean_of_what_is_beyond_the_outer_levels():
    y = RNG.exponential(2.0, 50_000)
    quantiles = np.tile(np.quantile(y, [0.1, 0.5, 0.9]), (len(y), 1))
    found = tails_of((0.1, 0.5, 0.9), quantiles, y)
    assert found.above == pytest.approx(2.0 / 1.5, rel=0.03)  # an exponential forgets where it begins
    few = tails_of((0.1, 0.5, 0.9), quantiles[:3], np.full(3, quantiles[0, 1]))
    assert few.above > 0  # from the levels next to it
    assert few.below > 0
