"""Shrunken means of levels: as random effects shrink them, and without a row's own target."""

from __future__ import annotations

import numpy as np
import pytest

from lambdak.training import level_means
from lambdak.training.level_means import FOLDS, LevelRows, all_level_means

NOTHING = np.zeros((4000, 0))


def grouped(levels=200, spread=1.0, seed=0, rows=4000):
    rng = np.random.default_rng(seed)
    codes, effect = rng.integers(0, levels, rows), spread * rng.standard_normal(levels)
    fold = rng.permutation(rows) % FOLDS
    gradient = effect[codes] + rng.standard_normal(rows)
    return LevelRows(codes, fold, np.ones(rows), gradient[:, None], NOTHING), gradient, effect


def means_of(*blocks, levels=200):
    """The means of the rows of all blocks."""

    def total(measures):
        return {i: [sum(parts) for parts in zip(*map(measure, blocks), strict=True)] for i, measure in measures.items()}

    return all_level_means({0: levels}, total)[0]


@pytest.mark.parametrize("spread", [0.3, 1.0, 3.0])
def test_means_are_shrunken_by_the_ratio_of_the_variances(spread):
    group, gradient, _ = grouped(spread=spread)
    found = means_of(group).whole[:-1, 0]
    centred = gradient - gradient.mean()
    count = np.bincount(group.codes, minlength=200)
    wanted = np.bincount(group.codes, centred, 200) / (count + 1 / spread**2)
    np.testing.assert_allclose(found, wanted, atol=0.1 * spread)


def test_the_mean_of_a_row_does_not_know_its_target(monkeypatch):
    group, gradient, _ = grouped()
    other = gradient.copy()
    other[group.fold == 3] += 5.0 * np.sign(gradient[group.fold == 3])
    monkeypatch.setattr(level_means, "_prior", lambda *_: np.ones(1))  # the variances of all rows say little of one
    groups = (group._replace(gradient=some[:, None]) for some in (gradient, other))
    first, second = (means_of(one).unseen[group.codes, group.fold] for one in groups)
    own, shift = group.fold == 3, other.mean() - gradient.mean()
    count = np.array([((group.codes == code) & ~own).sum() for code in group.codes[own]])
    np.testing.assert_allclose(second[own, 0], first[own, 0] - shift * count / (count + 1), atol=1e-9)


def test_an_unseen_level_has_means_of_zero():
    group, _, _ = grouped()
    codes = np.where(np.arange(4000) < 7, 200, group.codes)
    means = means_of(group._replace(codes=codes))
    assert not means.whole[-1].any()
    assert not means.unseen[-1].any()
    assert means.rows[-1].sum() == 7


def test_slopes_are_found_only_where_they_differ():
    group, gradient, _ = grouped()
    rng = np.random.default_rng(5)
    along = rng.standard_normal((4000, 3))
    steep = rng.standard_normal(200)
    assert means_of(group._replace(along=along)).whole.shape[1] == 1
    both = gradient + steep[group.codes] * along[:, 1]
    slopes = means_of(group._replace(gradient=both[:, None], along=along)).whole
    assert slopes.shape[1] == 2
    assert abs(np.corrcoef(slopes[:-1, 1], steep)[0, 1]) > 0.9


def test_several_outputs_have_few_means():
    group, gradient, effect = grouped()
    rng = np.random.default_rng(2)
    several = np.outer(gradient, rng.standard_normal(9)) + 0.1 * rng.standard_normal((4000, 9))
    means = means_of(group._replace(gradient=several)).whole
    assert means.shape[1] == 3
    assert abs(np.corrcoef(means[:-1, 0], effect)[0, 1]) > 0.95


def test_sums_of_blocks_give_the_means_of_all_rows():
    group, gradient, _ = grouped()
    rng = np.random.default_rng(5)
    along, steep = rng.standard_normal((4000, 3)), rng.standard_normal(200)
    gradient = np.outer(gradient + steep[group.codes] * along[:, 1], [1.0, 0.5])
    whole = group._replace(gradient=gradient, along=along, mass=rng.uniform(0.5, 2, 4000))
    blocks = [LevelRows(*(part[own] for part in whole)) for own in np.array_split(rng.permutation(4000), 7)]
    for one, other in zip(means_of(whole), means_of(*blocks), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
