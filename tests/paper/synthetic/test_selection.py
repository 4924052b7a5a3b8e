"""The selection rule of the paper on errors made by hand; a loop over lists is the oracle."""

from __future__ import annotations

from math import inf, nan
from statistics import median

import numpy as np
import pytest

from lambdak.paper.synthetic.selection import quartiles, select
from lambdak.paper.synthetic.sweep import CellResult


def result(validation, test):
    """Errors given as (models, rates, checkpoints), each model a target of its own."""
    return CellResult(*(np.asarray(part, float)[:, None] for part in (validation, test)))


def by_hand(errors):
    """(rate, low, median, high) at every checkpoint, in plain Python."""
    rates, steps = errors.validation.shape[2:]
    validation, test = (part.reshape(-1, rates, steps).tolist() for part in (errors.validation, errors.test))
    found = []
    for step in range(steps):
        offers = []
        for rate in range(rates):
            chosen = [min(range(step + 1), key=lambda s, v=model[rate]: (inf if v[s] != v[s] else v[s], s))
                      for model in validation]  # fmt: skip
            offers.append([(validation[m][rate][s], test[m][rate][s]) for m, s in enumerate(chosen)])
        medians = [median(inf if v != v else v for v, _ in offer) for offer in offers]
        winner = medians.index(min(medians))
        tests = sorted(inf if t != t else t for _, t in offers[winner])
        found.append((winner, *(between(tests, q) for q in (0.25, 0.5, 0.75))))
    return found


def between(ordered, q):
    """The quantile that interpolates linearly between order statistics, where infinity is as good as any other."""
    place = q * (len(ordered) - 1)
    low, high = ordered[int(place)], ordered[min(int(place) + 1, len(ordered) - 1)]
    share = place - int(place)
    return low if share == 0 or low == high else low + (high - low) * share


def assert_as_by_hand(errors):
    curve = select(errors)
    for step, (rate, low, middle, high) in enumerate(by_hand(errors)):
        assert curve.rate[step] == rate
        np.testing.assert_allclose([curve.low[step], curve.median[step], curve.high[step]], [low, middle, high])


def test_each_model_offers_its_best_checkpoint_so_far():
    curve = select(result([[[5, 2, 9, 1]]], [[[50, 20, 90, 10]]]))
    np.testing.assert_array_equal(curve.median, [50, 20, 20, 10])


def test_the_offer_is_the_test_error_of_the_best_validation_not_the_best_test_error():
    curve = select(result([[[3, 2, 1]]], [[[0.1, 0.2, 0.9]]]))
    np.testing.assert_array_equal(curve.median, [0.1, 0.2, 0.9])


def test_the_rate_with_the_lowest_median_validation_wins_even_if_another_has_the_lowest_single_error():
    validation = [[[0.1], [2.0]], [[5.0], [2.1]], [[6.0], [2.2]]]
    curve = select(result(validation, [[[1.0], [7.0]], [[1.0], [8.0]], [[1.0], [9.0]]]))
    assert curve.rate.tolist() == [1]
    assert (curve.low[0], curve.median[0], curve.high[0]) == (7.5, 8.0, 8.5)


def test_the_winner_may_change_from_checkpoint_to_checkpoint():
    curve = select(result([[[1.0, 0.9, 0.8], [2.0, 0.5, 0.4]]], [[[10, 9, 8], [20, 5, 4]]]))
    assert curve.rate.tolist() == [0, 1, 1]
    assert curve.median.tolist() == [10, 5, 4]


def test_targets_and_seeds_are_pooled():
    rng = np.random.default_rng(0)
    validation, test = rng.uniform(0, 1, (2, 4, 3, 5, 6))
    apart = select(CellResult(validation, test))
    pooled = select(CellResult(validation.reshape(12, 1, 5, 6), test.reshape(12, 1, 5, 6)))
    for name in ("rate", "low", "median", "high"):
        np.testing.assert_array_equal(getattr(apart, name), getattr(pooled, name))


@pytest.mark.parametrize("seed", range(20))
def test_random_errors_are_selected_as_by_hand(seed):
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(1, 5)), int(rng.integers(1, 4)), int(rng.integers(1, 4)), int(rng.integers(1, 6)))
    validation, test = rng.integers(1, 6, shape).astype(float), rng.uniform(0, 1, shape)  # with ties
    assert_as_by_hand(CellResult(validation, test))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("bad", [nan, inf])
def test_diverged_models_count_as_infinitely_bad(seed, bad):
    rng = np.random.default_rng(seed)
    shape = (5, 1, 2, 4)
    validation, test = rng.uniform(0, 1, shape), rng.uniform(0, 1, shape)
    for model, rate in np.ndindex(5, 2):
        first = rng.integers(0, 6)  # the checkpoint from which on a model is lost, if there is one
        validation[model, 0, rate, first:] = test[model, 0, rate, first:] = bad
    assert_as_by_hand(CellResult(validation, test))


def test_a_model_that_diverges_keeps_what_it_had():
    curve = select(result([[[1.0, nan, nan]]], [[[7.0, nan, nan]]]))
    assert curve.median.tolist() == [7.0, 7.0, 7.0]


def test_a_model_that_recovers_counts_from_then_on():
    curve = select(result([[[nan, 2.0]]], [[[nan, 7.0]]]))
    assert curve.median.tolist() == [inf, 7.0]


@pytest.mark.parametrize("shape", [(7,), (8, 3), (5, 2, 3)])
def test_quartiles_are_numpys_along_the_first_axis_of_any_shape(shape):
    errors = np.random.default_rng(0).random(shape)
    np.testing.assert_allclose(quartiles(errors), np.quantile(errors, [0.25, 0.5, 0.75], axis=0))


def test_a_quartile_between_a_number_and_infinity_is_infinite():
    assert quartiles(np.array([0.5, 0.6, inf])).tolist() == [pytest.approx(0.55), 0.6, inf]


def test_quartiles_of_few_lost_models_stay_numbers():
    lost = result([[[1.0]]] * 3 + [[[nan]]] * 2, [[[1.0]], [[2.0]], [[3.0]], [[nan]], [[nan]]])
    curve = select(lost)
    assert (curve.low[0], curve.median[0], curve.high[0]) == (2.0, 3.0, inf)


@pytest.mark.parametrize("seed", range(10))
def test_test_errors_never_select(seed):
    rng = np.random.default_rng(seed)
    validation, test = rng.uniform(0, 1, (2, 6, 2, 4, 5))
    chosen = select(CellResult(validation, test)).rate
    shuffled = rng.permutation(test.ravel()).reshape(test.shape)
    for other in (shuffled, -test, np.zeros_like(test), np.full_like(test, nan)):
        np.testing.assert_array_equal(select(CellResult(validation, other)).rate, chosen)


def test_the_checkpoint_is_chosen_by_validation_alone():
    rng = np.random.default_rng(3)
    validation = rng.uniform(0, 1, (3, 1, 2, 5))
    # Each test error says which model, rate and checkpoint it came from.
    names = np.arange(validation.size, dtype=float).reshape(validation.shape)
    first, doubled = select(CellResult(validation, names)), select(CellResult(validation, 2 * names))
    np.testing.assert_array_equal(doubled.median, 2 * first.median)
    np.testing.assert_array_equal(select(CellResult(validation, -names)).median, -first.median)
