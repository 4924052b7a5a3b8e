"""Recipes: how long, in which steps, where on the grid, and with how many knots."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from lambdak.training.effort import GRID, MIDDLE, RECIPES, Recipe

TABLES = [1, 10, 40, 300, 3_000, 30_000, 300_000, 3_000_000]
RECIPE = Recipe(
    dim=9, members=5, row_steps=100_000, pilot_dim=5, pilot_steps=20_000, pilot_epochs=30, pilots=24, knots=30
)


@pytest.mark.parametrize("effort", RECIPES)
def test_large_tables_get_few_epochs_but_every_table_gets_its_rows_or_eighty_epochs(effort):
    recipe = RECIPES[effort]
    epochs = [recipe.schedule(rows, None).epochs for rows in TABLES]
    assert all(isinstance(count, int) for count in epochs)
    assert all(more >= fewer for more, fewer in pairwise(epochs))
    assert epochs[0] == 80
    assert 1 < epochs[-1] < 10
    assert all(count == 80 or count * rows >= recipe.row_steps for count, rows in zip(epochs, TABLES, strict=True))


@pytest.mark.parametrize("effort", RECIPES)
def test_pilots_see_no_more_rows_than_they_are_given_beyond_two_epochs(effort):
    recipe = RECIPES[effort]
    for rows in TABLES:
        pilots = recipe.pilot_schedule(rows, None)
        assert 1 <= pilots.epochs <= 30
        assert pilots.epochs <= 2 or pilots.epochs * rows <= recipe.pilot_steps
        assert pilots.epochs <= recipe.schedule(rows, None).epochs


def test_pilots_with_one_matrix_per_class_of_many_see_fewer_rows():
    epochs = [RECIPES["balanced"].pilot_schedule(20_000, None, classes).epochs for classes in (1, 3, 4, 10, 100)]
    assert epochs == [5, 5, 5, 2, 2]


@pytest.mark.parametrize("effort", RECIPES)
def test_many_classes_choose_between_few_knots_and_the_usual_number(effort):
    recipe = RECIPES[effort]
    few = recipe.of_many_classes()
    assert (few.dim, few.n_knots(10_000, 10)) == (recipe.dim, 8)
    assert few.enlarged() == replace(recipe, larger=None)
    assert recipe.bent().of_many_classes() == recipe.bent()


@pytest.mark.parametrize("max_iter", [1, 7, 1000])
def test_max_iter_sets_the_epochs_and_the_most_of_pilots_and_nothing_else(max_iter):
    for rows in TABLES:
        schedule, pilots = RECIPE.schedule(rows, None), RECIPE.pilot_schedule(rows, None)
        assert RECIPE.schedule(rows, max_iter) == replace(schedule, epochs=max_iter)
        assert RECIPE.pilot_schedule(rows, max_iter) == replace(pilots, epochs=min(pilots.epochs, max_iter))


def test_small_tables_get_small_batches_and_large_ones_at_least_eight_steps_an_epoch():
    batches = [RECIPE.schedule(rows, None).batch for rows in TABLES]
    assert batches == sorted(batches)
    assert (batches[0], batches[-1]) == (32, 2048)
    assert all(rows // batch >= 8 for rows, batch in zip(TABLES, batches, strict=True) if rows >= 256)
    assert all(RECIPE.pilot_schedule(rows, None).batch <= batch for rows, batch in zip(TABLES, batches, strict=True))


def test_four_members_take_the_best_strength_and_two_the_next_one():
    (first, second), (third, fourth) = GRID[4], GRID[1]
    assert replace(RECIPE, members=7).regularisations([4, 1, 0]) == [first, second, third, fourth, first, second, first]
    assert RECIPE.regularisations([4]) == [first, second, first, second, first]


def test_a_larger_capacity_has_more_of_everything_and_none_beyond():
    larger = RECIPES["balanced"].enlarged()
    assert larger.dim > RECIPES["balanced"].dim
    assert all(larger.n_knots(rows, 5) >= RECIPES["balanced"].n_knots(rows, 5) for rows in TABLES)
    assert larger.n_knots(30_000, 5) == larger.knots
    assert larger.enlarged() is None
    assert RECIPES["fast"].enlarged() is None


def test_strengths_are_pairs_of_positive_regularisations_and_shaped_models_decay_less():
    regularisations = [regularisation for pair in RECIPE.grid for regularisation in pair]
    assert len(regularisations) == 2 * len(GRID) == len(set(regularisations))
    assert min(number for place in regularisations for number in place) > 0
    assert MIDDLE in range(len(GRID))
    shaped = [regularisation for pair in RECIPE.shaped().grid for regularisation in pair]
    assert all(a[0] == b[0] and a[1] < b[1] for a, b in zip(shaped, regularisations, strict=True))


def test_shaped_models_may_decay_far_less_where_there_is_no_noise_and_nearly_as_much_where_there_is():
    own, shaped = (np.array([[place.decay for place in pair] for pair in r.grid]) for r in (RECIPE, RECIPE.shaped()))
    factors = (shaped / own).mean(axis=1)
    np.testing.assert_allclose(shaped / own, factors[:, None] * np.ones(2))
    assert factors[0] < 0.05
    assert factors[-1] > 0.2
    assert (np.diff(factors) > 0).all()


def test_shaped_models_take_larger_steps_and_cost_no_more_than_eight_times_as_much():
    shaped = RECIPE.shaped()
    for rows in TABLES:
        assert shaped.schedule(rows, None).rate > 2 * RECIPE.schedule(rows, None).rate
        # A row costs about the square of dim, for these dims.
        cost, free = (r.dim**2 * r.schedule(rows, None).epochs for r in (shaped, RECIPE))
        assert cost <= 8 * free


def test_models_of_which_some_columns_bend_cost_no_more_than_free_ones():
    bent = RECIPE.bent()
    for rows in TABLES:
        assert bent.n_knots(rows, 5) <= RECIPE.n_knots(rows, 5)
        assert bent.schedule(rows, None).epochs == RECIPE.schedule(rows, None).epochs
    assert (bent.dim, bent.enlarged()) == (RECIPE.dim, None)


def test_wide_and_short_tables_get_fewer_knots_per_column_but_at_least_five():
    widths = [RECIPE.n_knots(10_000, columns) for columns in (0, 1, 10, 50, 100, 1_000, 100_000)]
    lengths = [RECIPE.n_knots(rows, 1) for rows in reversed(TABLES)]
    for knots in (widths, lengths):
        assert all(isinstance(count, int) for count in knots)
        assert knots == sorted(knots, reverse=True)
        assert (knots[0], knots[1], knots[-1]) == (30, 30, 5)


def test_more_effort_is_never_less_of_anything():
    fields = ("dim", "members", "row_steps", "pilot_dim", "pilot_steps", "pilot_epochs", "pilots", "knots")
    for name in fields:
        values = [getattr(RECIPES[effort], name) for effort in ("fast", "balanced", "best")]
        assert values == sorted(values)
    assert all(recipe.pilot_dim <= recipe.dim for recipe in RECIPES.values())


def test_short_tables_compare_pilots_over_several_folds_unless_there_are_many_classes():
    assert RECIPES["balanced"].pilot_folds(200, 5, 1) == 2
    assert RECIPES["balanced"].pilot_folds(200, 5, 10) == 1
    assert RECIPES["balanced"].pilot_folds(100_000, 5, 1) == 1


def test_large_batches_take_larger_steps():
    small, large = RECIPE.schedule(10_000, None), RECIPE.schedule(1_000_000, None)
    assert large.rate == pytest.approx(small.rate * 2**0.5)
