"""Sketches are exact for few distinct values, close for many, and do not depend on who saw which batch."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from lambdak.table.cells import Cells
from lambdak.table.knots import center_and_scale, choose_knots, distinct
from lambdak.table.large import sketches
from lambdak.table.large.sketches import LevelCounts, NumberSketch

KNOTS = 32


def sketched(parts, seed=0, share=1.0):
    own, rng = NumberSketch(share), np.random.default_rng([seed, 1])
    for part in parts:
        own.add_(Cells("x", np.asarray(part, float), "number"), rng.random(len(part)))
    return own


def merged(groups):
    first, *others = groups
    for other in others:
        first.merge_(other)
    return first


def rank_error(x, sketch, n_knots=KNOTS):
    """How far knots are from those of all rows, as a share of the rows."""
    x = np.sort(x[~np.isnan(x)])
    numbers = sketch.numbers()
    knots, best = choose_knots(numbers.values, numbers.mass, n_knots), choose_knots(*distinct(x), n_knots)
    assert (knots[0], knots[-1]) == (x[0], x[-1])
    return np.abs(np.searchsorted(x, knots) - np.searchsorted(x, best)).max() / len(x)


@pytest.mark.parametrize("values", [2, 100, sketches.EXACT_VALUES])
def test_few_distinct_values_are_counted_exactly(values):
    rng = np.random.default_rng(values)
    x = np.concatenate([np.arange(values), rng.integers(0, values, 30_000)]) / 7
    x[rng.random(len(x)) < 0.1] = np.nan
    own = merged([sketched(np.array_split(part, 3)) for part in np.array_split(x, 4)])
    numbers, (there, mass) = own.numbers(), distinct(x[~np.isnan(x)])
    np.testing.assert_array_equal(numbers.values, there)
    np.testing.assert_array_equal(numbers.mass, mass)
    assert (own.exact, numbers.rows, numbers.missing) == (True, len(x), True)
    assert numbers.center_and_scale() == center_and_scale(there, mass)


SHAPES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "sorted": lambda rng, n: np.sort(rng.normal(size=n)),
    "heavy tails": lambda rng, n: rng.standard_cauchy(n),
    "spikes": lambda rng, n: np.where(rng.random(n) < 0.92, 0.0, rng.lognormal(3, 2, n)),
    "large integers": lambda rng, n: rng.integers(0, 10**12, n).astype(float),
    "with missing": lambda rng, n: np.where(rng.random(n) < 0.5, np.nan, rng.exponential(size=n)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("share", [1.0, 0.15])
def test_knots_of_many_values_are_near_those_of_all_rows(shape, share):
    x = SHAPES[shape](np.random.default_rng(0), 200_000)
    own = merged([sketched(np.array_split(part, 5), i, share) for i, part in enumerate(np.array_split(x, 3))])
    assert not own.exact
    assert rank_error(x, own) < (0.002 if share == 1.0 else 0.01)
    assert own.numbers().mass.sum() == pytest.approx(np.count_nonzero(~np.isnan(x)))
    assert len(pickle.dumps(own)) < 50_000


def test_a_spike_stays_a_spike():
    x = SHAPES["spikes"](np.random.default_rng(0), 100_000)
    own = sketched(np.array_split(x, 7)).numbers()
    assert own.mass[own.values == 0.0] == pytest.approx(np.count_nonzero(x == 0.0), rel=0.01)


@pytest.mark.parametrize("size", [1.0, 1e200, 1e-200])
def test_mean_and_deviation_are_those_of_all_rows(size):
    x = np.random.default_rng(0).lognormal(0, 2, 60_000) * size
    center, scale = (
        merged([sketched(np.array_split(part, 3)) for part in np.array_split(x, 2)]).numbers().center_and_scale()
    )
    assert center == pytest.approx((x / size).mean() * size, rel=1e-12)
    assert scale == pytest.approx((x / size).std() * size, rel=1e-12)


def test_merging_in_any_grouping_gives_nearly_the_same_and_in_the_same_one_the_same_bits():
    x = np.random.default_rng(0).normal(size=160_000)
    parts = np.array_split(x, 8)
    one_by_one = merged([sketched([part], i) for i, part in enumerate(parts)])
    pairs = [merged([sketched([parts[i]], i), sketched([parts[i + 1]], i + 1)]) for i in range(0, 8, 2)]
    as_tree = merged([merged(pairs[:2]), merged(pairs[2:])])
    again = merged([sketched([part], i) for i, part in enumerate(parts)])
    assert one_by_one.numbers().values.tobytes() == again.numbers().values.tobytes()
    assert pickle.loads(pickle.dumps(again)).numbers().values.tobytes() == again.numbers().values.tobytes()
    for own in (one_by_one, as_tree):
        assert rank_error(x, own) < 0.002


def test_nothing_but_missing_cells_is_known_as_zero():
    own = sketched([[np.nan] * 5, [np.nan]]).numbers()
    assert (own.values.tolist(), own.mass.tolist(), own.missing, own.rows) == ([0.0], [1.0], False, 6)


def test_counts_of_booleans_become_numbers():
    own = NumberSketch.of_counts({True: 3.0, False: 5.0, None: 2.0}).numbers()
    assert (own.values.tolist(), own.mass.tolist(), own.missing, own.rows) == ([0.0, 1.0], [5.0, 3.0], True, 10)


def test_levels_are_counted_and_merged():
    one, two = LevelCounts("c"), LevelCounts("c")
    one.add_(np.array([0, 1, 0]), ["a", None])
    two.add_(np.array([0, 1, 1]), ["b", "a"])
    one.merge_(two)
    assert one.counts == {"a": 4.0, None: 1.0, "b": 1.0}


def test_beyond_the_most_levels_the_frequent_ones_stay(monkeypatch):
    monkeypatch.setattr(sketches, "MOST_LEVELS", 10)
    own = LevelCounts("c")
    own.add_(np.repeat(np.arange(4), 5), ["a", "b", "c", None])
    with pytest.warns(UserWarning, match="column 'c' has more than 10 levels: the rarest are not counted"):
        own.add_(np.arange(8), [f"rare {i}" for i in range(8)][::-1])
    assert own.counts == {"a": 5.0, "b": 5.0, "c": 5.0, "rare 0": 1.0, "rare 1": 1.0, None: 5.0}
    own.add_(np.arange(8), [f"new {i}" for i in range(8)])  # warns once
    assert len(own.counts) <= 10


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_sketches_that_travel_between_processes_have_the_bits_of_those_that_do_not(share):
    parts = np.array_split(np.random.default_rng(0).normal(size=90_000), 6)

    def together(travel):
        groups = [travel(sketched([part, part + 0.1], i, share)) for i, part in enumerate(parts)]
        halves = [travel(merged(groups[:3])), travel(merged(groups[3:]))]
        return merged(halves).numbers()

    here, there = together(lambda own: own), together(lambda own: pickle.loads(pickle.dumps(own)))
    np.testing.assert_array_equal(here.values, there.values)
    np.testing.assert_array_equal(here.mass, there.mass)


def test_the_kinds_of_forgotten_levels_are_not_forgotten(monkeypatch):
    monkeypatch.setattr("lambdak.table.large.sketches.MOST_LEVELS", 8)
    counts = LevelCounts("zip")
    counts.add_(np.zeros(1, np.intp), ["unknown"])
    with pytest.warns(UserWarning, match="more than 8 levels"):
        counts.add_(np.repeat(np.arange(10), 3), list(range(10)))
    assert counts.counts["unknown"] == 1.0
    assert len(counts.counts) == 5
