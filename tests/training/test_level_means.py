"""Shrunken means of levels: as random effects shrink them, and without a row's own target."""

from __future__ import annotations

import numpy as np
import pytest

from lambdak.training.level_means import Grouped

NOTHING = np.zeros((4000, 0))


def grouped(levels=200, spread=1.0, seed=0, rows=4000):
    rng = np.random.default_rng(seed)
    codes, effect = rng.integers(0, levels, rows), spread * rng.standard_normal(levels)
    fold = rng.permutation(rows) % 10
    return Grouped(codes, levels, fold, np.ones(rows)), effect[codes] + rng.standard_normal(rows), effect


@pytest.mark.parametrize("spread", [0.3, 1.0, 3.0])
def test_means_are_shrunken_by_the_ratio_of_the_variances(spread):
    group, pull, _ = grouped(spread=spread)
    found = group.means(pull[:, None], NOTHING).whole[:-1, 0]
    centred = pull - pull.mean()
    count = np.bincount(group.codes, minlength=200)
    wanted = np.bincount(group.codes, centred, 200) / (count + 1 / spread**2)
    np.testing.assert_allclose(found, wanted, atol=0.1 * spread)


def test_the_mean_of_a_row_does_not_know_its_target(monkeypatch):
    group, pull, _ = grouped()
    other = pull.copy()
    other[group.fold == 3] += 5.0 * np.sign(pull[group.fold == 3])
    monkeypatch.setattr(Grouped, "_prior", lambda *_: np.ones(1))  # the variances of all rows say little of one
    first, second = (group.means(some[:, None], NOTHING).unseen for some in (pull, other))
    own, shift = group.fold == 3, other.mean() - pull.mean()
    count = np.array([((group.codes == code) & ~own).sum() for code in group.codes[own]])
    np.testing.assert_allclose(second[own, 0], first[own, 0] - shift * count / (count + 1), atol=1e-9)


def test_an_unseen_level_has_means_of_zero():
    group, pull, _ = grouped()
    codes = np.where(np.arange(4000) < 7, 200, group.codes)
    means = Grouped(codes, 200, group.fold, group.mass).means(pull[:, None], NOTHING)
    assert not means.whole[-1].any()
    assert not means.unseen[:7].any()


def test_slopes_are_found_only_where_they_differ():
    group, pull, _ = grouped()
    rng = np.random.default_rng(5)
    along = rng.standard_normal((4000, 3))
    steep = rng.standard_normal(200)
    assert group.means(pull[:, None], along).whole.shape[1] == 1
    both = pull + steep[group.codes] * along[:, 1]
    slopes = group.means(both[:, None], along).whole
    assert slopes.shape[1] == 2
    assert abs(np.corrcoef(slopes[:-1, 1], steep)[0, 1]) > 0.9


def test_several_outputs_have_few_means():
    group, pull, effect = grouped()
    rng = np.random.default_rng(2)
    several = np.outer(pull, rng.standard_normal(9)) + 0.1 * rng.standard_normal((4000, 9))
    means = group.means(several, NOTHING).whole
    assert means.shape[1] == 3
    assert abs(np.corrcoef(means[:-1, 0], effect)[0, 1]) > 0.95
