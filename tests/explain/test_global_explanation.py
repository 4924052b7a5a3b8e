"""What each column does as a whole: bands, effects and slopes against brute force over rows and cells.

Tests ``global_explanation`` and ``column_effect``.
"""

from __future__ import annotations

import numpy as np
import pytest
from effect_cases import change
from fitted_models import HONEST, X, changed, fitted, own_coef, rows_of
from hand_made_models import by_hand, symmetric
from score_cases import cell_weights, cells_of, matrices, n_outputs, random_cells, score_by_hand

from lambdak.table.category_levels import OTHER

SHARED = ["regressor", "free", "linear", "convex", "poisson", "binary", "multiclass", "quantiles", "ordinal", "sparse"]


def middle(model):
    return 0 if model.model_.outputs.pencils > 1 else n_outputs(model) // 2


def points(model, i, effect):
    """(place, cell) of some points of an effect."""
    column = model.model_.encoder.columns[i]
    if column.kind == "category":
        cells = [level for level in column.levels if level is not OTHER]
        return [(effect.x.index("missing" if cell is None else cell), cell) for cell in cells]
    return [(p, effect.x[p]) for p in range(0, len(effect.x), 17)]


@pytest.mark.parametrize("kind", SHARED)
def test_no_row_leaves_the_proven_band(kind):
    model = fitted(kind)
    found = model.explain_global(rows_of(kind)[:20])
    for i, column in enumerate(model.model_.encoder.columns):
        effect = found[column.name]
        for row in random_cells(model, 4, seed=8):
            for place, cell in points(model, i, effect):
                moved = change(model, row, i, cell, middle(model))
                assert effect.low[place] - 1e-9 <= moved <= effect.high[place] + 1e-9
        assert (np.abs(effect.low) <= effect.norm + 1e-9).all()
        assert (np.abs(effect.high) <= effect.norm + 1e-9).all()
        assert (effect.norm <= effect.proven + 1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", SHARED)
def test_effects_are_means_and_quantiles_of_changes_of_the_rows(kind):
    model, rows = fitted(kind), 9
    found = model.explain_global(rows_of(kind)[:rows])
    assert found.rows == rows
    for i, column in enumerate(model.model_.encoder.columns):
        effect = found[column.name]
        for place, cell in points(model, i, effect)[:5]:
            moved = [change(model, cells_of(kind, row), i, cell, middle(model)) for row in range(rows)]
            assert effect.effect[place] == pytest.approx(np.mean(moved), abs=1e-9)
            ends = [effect.observed_low[place], effect.observed_high[place]]
            np.testing.assert_allclose(ends, np.quantile(moved, [0.05, 0.95]), atol=1e-9)


def test_the_norm_of_the_band_is_that_of_the_difference_of_matrices():
    model = fitted("free")
    effect, column = model.explain_global(X)["income"], model.model_.encoder.columns[0]
    for place in (0, 40, len(effect.x) - 1):
        move = cell_weights(column, effect.x[place]) - cell_weights(column, column.median)
        own = [np.tensordot(move, matrices(model, m)[column.start : column.stop], 1) for m in range(2)]
        expected = model.model_.scale * model.model_.weights @ [np.linalg.norm(A, 2) for A in own]
        assert effect.norm[place] == pytest.approx(expected)


@pytest.mark.parametrize("kind", HONEST)
def test_what_is_observed_is_within_what_is_proven(kind):
    model = fitted(kind)
    found = model.explain_global(rows_of(kind))
    importance = [each.importance for each in found.effects]
    assert importance == sorted(importance, reverse=True)
    bare = [each.proven for each in model.explain_global().effects]  # without rows nothing else is known
    assert bare == sorted(bare, reverse=True)
    for each in found.effects:
        assert 0 <= each.observed <= each.proven * (1 + 1e-9) + 1e-12
        assert 0 <= each.tightness <= 1 + 1e-9
        assert each.tightness == pytest.approx(each.observed / each.proven if each.proven else 0.0)
        assert (each.ratios >= 0).all()
        assert (each.ratios <= 1 + 1e-6).all()
        if n_outputs(model) == 1:
            i = model.model_.encoder.feature_names.index(each.column)
            assert each.proven == model.feature_strengths_[i]


def test_a_bound_that_ends_with_the_training_range_says_so():
    limited = {each.column: each.within_range for each in fitted("convex").explain_global().effects}
    assert limited == {"income": True, "age": True, "region": False, "kind": False}
    assert not any(each.within_range for each in fitted("free").explain_global().effects)


def test_observed_is_the_largest_change_between_two_points_of_a_row():
    model, rows = fitted("free"), 4
    found = model.explain_global(X[:rows])
    for i, column in enumerate(model.model_.encoder.columns[:1]):
        effect, spans = found[column.name], []
        for row in range(rows):
            own = cells_of("free", row)
            scores = [score_by_hand(model, [*own[:i], x, *own[i + 1 :]]) for x in effect.x]
            spans.append(np.ptp(scores))
        assert effect.observed == pytest.approx(max(spans))


def test_a_bound_that_is_attained_is_tight():
    model = by_hand(np.zeros((2, 2)), [np.eye(2), np.diag([1.0, -1.0])])
    found = model.explain_global(np.random.default_rng(0).uniform(-1, 1, (20, 2)))
    assert found["x0"].tightness == pytest.approx(1.0)
    assert found["x1"].tightness == pytest.approx(0.5)
    np.testing.assert_allclose(found["x0"].ratios, 1.0)


@pytest.mark.parametrize("kind", ["regressor", "linear", "poisson", "quantiles", "sparse"])
def test_slopes_are_finite_differences_of_the_rows(kind):
    model, rows, step = fitted(kind), 15, 1e-6
    found = model.explain_global(rows_of(kind)[:rows])
    for i, column in enumerate(model.model_.encoder.columns):
        effect, slopes = found[column.name], []
        if column.kind == "category":
            assert np.isnan([effect.slope_min, effect.slope_median, effect.slope_max, effect.per_unit]).all()
            continue
        for row in range(rows):
            own = cells_of(kind, row)
            side = -step if own[i] == column.high else step
            moved = [*own[:i], own[i] + side, *own[i + 1 :]]
            ends = [score_by_hand(model, each, middle(model)) for each in (own, moved)]
            slopes.append(0.0 if np.isnan(own[i]) else (ends[1] - ends[0]) / side)
        expected = np.quantile(slopes, [0.0, 0.5, 1.0])
        np.testing.assert_allclose(
            [effect.slope_min, effect.slope_median, effect.slope_max], expected, rtol=1e-3, atol=1e-5
        )
        assert max(abs(effect.slope_min), abs(effect.slope_max)) <= effect.per_unit * (1 + 1e-9)


@pytest.mark.parametrize("kind", SHARED)
def test_a_sign_is_given_where_the_certificate_holds_one(kind):
    model = fitted(kind)
    found = model.explain_global()
    flip = -1 if kind == "ordinal" else 1
    for claim in model.certify().claims:
        if claim.kind == "monotone":
            assert found[claim.subject].sign == (flip * claim.details["sign"] if claim.proven else 0)
    for column in model.model_.encoder.columns:
        if column.kind == "category":
            assert found[column.name].sign == 0


def test_a_step_that_falls_by_nothing_but_rounding_is_refuted():
    model, coef = own_coef("regressor")
    start = model.model_.encoder.columns[0].start
    coef[:, start] = np.nextafter(coef[:, start + 1], np.random.default_rng(0).choice([-9, 9], 16))
    model = changed(model, coef=coef)
    assert not next(claim for claim in model.certify().claims if claim.subject == "income").proven
    assert model.explain_global()["income"].sign == 0


def test_monotone_columns_have_bands_on_one_side_of_zero():
    effect = fitted("regressor").explain_global(X)["income"]
    right = np.array(effect.x) >= effect.reference
    assert (effect.low[right] >= -1e-9).all()
    assert (effect.high[~right] <= 1e-9).all()
    assert (np.diff(effect.effect) >= -1e-9).all()


def test_changes_are_counted_from_the_median_and_the_average_level():
    found = fitted("free").explain_global(X)
    income = found["income"]
    assert income.reference == fitted("free").model_.encoder.columns[0].median
    assert income.effect[income.x.index(income.reference)] == 0.0
    assert income.norm[income.x.index(income.reference)] == 0.0
    assert set(fitted("free").model_.encoder.columns[0].knots) <= set(income.x)
    assert found["region"].reference == "average level"
    assert found["region"].x == ("north", "south", "missing", "other")


def test_missing_cells_have_an_effect_of_their_own_where_training_had_some():
    model, rows = fitted("free"), 9
    found = model.explain_global(X[:rows])
    moved = [change(model, cells_of("free", row), 1, np.nan, 0) for row in range(rows)]
    assert found["age"].missing == pytest.approx(np.mean(moved))
    assert np.isnan(found["income"].missing)
    assert np.isnan(found["region"].missing)


def test_a_column_that_does_nothing_is_last_and_flat():
    rng = np.random.default_rng(0)
    model = by_hand(symmetric(rng, 3), [symmetric(rng, 3), np.zeros((3, 3))])
    found = model.explain_global(rng.uniform(-1, 1, (10, 2)))
    assert found.effects[-1].column == "x1"
    assert found["x1"].tightness == 0.0
    assert not found["x1"].effect.any()
    assert found["x1"].ratios.size == 0


def test_slopes_leave_out_rows_with_a_repeated_eigenvalue():
    model = by_hand(np.zeros((2, 2)), [np.diag([1.0, -1.0])])
    found = model.explain_global([[0.0], [0.5]])["x0"]
    assert (found.slope_min, found.slope_max) == pytest.approx((-1.0, -1.0))
    assert np.isnan(model.explain_global([[0.0]])["x0"].slope_min)
