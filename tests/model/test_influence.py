"""How far columns can move a score: against brute force over cells, with norms by NumPy."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from fitted_models import CAP, HONEST, KINDS, changed, fitted
from hand_made_models import by_hand, symmetric
from hypothesis import given, settings
from hypothesis import strategies as st
from score_cases import cell_weights, matrices, n_outputs, random_cells, score_by_hand

from lambdak import SpectralRegressor
from lambdak.model import influence as reach
from lambdak.model.influence import any_change, box, of_outputs, per_unit, weyl
from lambdak.model.readout import readouts
from lambdak.table.category_column import Category
from lambdak.table.category_levels import OTHER
from lambdak.table.curve_column import Curve
from lambdak.table.linear_column import Linear

CURVE = Curve("c", 1, knots=np.array([0.0, 1.0, 1.5, 4.0]), has_missing=True, median=1.0)


def norm_of(model, i, move, output=0):
    """Σ_m w_m ‖move · C_m‖₂ of one output."""
    column, total = model.model_.encoder.columns[i], 0.0
    for weight, member in zip(
        model.model_.weights, range(output, len(model.model_.coef), model.model_.outputs.pencils), strict=True
    ):
        own = matrices(model, member)[column.start : column.stop]
        total += weight * np.linalg.norm(np.tensordot(move, own, 1), 2)
    return model.model_.scale * total


def cells(column):
    if isinstance(column, Category):
        rows = [cell_weights(column, cell) for cell in column.levels if cell is not OTHER]
        return [*rows, np.eye(len(column.levels))[-1]] if OTHER in column.levels else rows
    knots = column.knots if isinstance(column, Curve) else []
    missing = [np.nan] if column.missing >= 0 else []
    return [cell_weights(column, cell) for cell in [*knots, column.low, column.high, *missing]]


@pytest.mark.parametrize("kind", HONEST)
def test_any_change_is_the_largest_norm_between_two_cells(kind):
    model = fitted(kind)
    for which, output in enumerate(readouts(model.model_)[: model.model_.outputs.pencils]):
        for i, column in enumerate(model.model_.encoder.columns):
            pairs = combinations(cells(column), 2)
            expected = max((norm_of(model, i, b - a, which) for a, b in pairs), default=0.0)
            assert any_change(output, i).bound == pytest.approx(expected, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_feature_strengths_are_the_largest_bounds_and_no_row_exceeds_them(kind):
    model = fitted(kind)
    rng = np.random.default_rng(3)
    for row in random_cells(model, 25, seed=4):
        i = int(rng.integers(len(row)))
        if not model.model_.encoder.columns[i].bounded:
            row[i] = model.model_.encoder.columns[i].low
        moved_row = row.copy()
        moved_row[i] = random_cells(model, 1, seed=int(rng.integers(1 << 30)))[0][i]
        if not model.model_.encoder.columns[i].bounded:
            moved_row[i] = model.model_.encoder.columns[i].high
        for output in range(n_outputs(model)):
            moved = abs(score_by_hand(model, moved_row, output) - score_by_hand(model, row, output))
            assert moved <= model.feature_strengths_[i]
    bounds = [
        [of_outputs(output, any_change(output, i).bound) for i in range(len(model.model_.encoder.columns))]
        for output in readouts(model.model_)
    ]
    np.testing.assert_array_equal(model.feature_strengths_, np.max(bounds, axis=0))


def test_the_cells_between_which_a_bound_is_attained_are_named():
    model = fitted("free")
    output = readouts(model.model_)[0]
    for i, column in enumerate(model.model_.encoder.columns):
        found = any_change(output, i)
        names = dict(zip(column.cell_names(), column.extreme_cells(), strict=True))
        first, second = (names[name] for name in found.cells)
        assert norm_of(model, i, second - first) == pytest.approx(found.bound)
    assert model.model_.encoder.columns[2].cell_names() == ["north", "south", "missing", "other"]


def test_a_level_that_was_never_seen_counts_even_if_levels_are_not_centred():
    rows = pd.DataFrame({"colour": ["red", "blue"] * 30, "x": np.linspace(0, 1, 60)})
    model = SpectralRegressor(effort="fast", max_iter=1, random_state=0).fit(rows, rows["x"])
    column, coef = model.model_.encoder.columns[0], model.model_.coef.copy()
    coef[:, column.start : column.stop, 0] += 100.0
    model = changed(model, coef=coef)
    known, unseen = (model.explain_local(rows.head(1).assign(colour=colour)).score for colour in ("red", "green"))
    assert 0.1 < abs(unseen - known) <= model.feature_strengths_[0]
    assert any_change(readouts(model.model_)[0], 0).cells[1] == "an unseen level"


def test_changes_to_missing_can_be_left_out():
    model = fitted("free")
    knots = model.model_.encoder.columns[1].knots
    own = [cell_weights(model.model_.encoder.columns[1], knot) for knot in knots]
    expected = max(norm_of(model, 1, b - a) for a, b in combinations(own, 2))
    found = any_change(readouts(model.model_)[0], 1, present_only=True)
    assert found.bound == pytest.approx(expected)
    assert "missing" not in found.cells
    assert found.bound <= any_change(readouts(model.model_)[0], 1).bound


def test_a_column_with_one_cell_moves_nothing():
    column = Curve("c", 1, knots=np.array([7.0]), median=7.0)
    output = readouts(by_hand(np.eye(2), [np.eye(2)]).model_)[0]
    object.__setattr__(output, "columns", (column,))
    assert any_change(output, 0) == (0.0, None)
    assert per_unit(output, 0) == (0.0, None)
    assert column.increments().shape == (0, 1)
    assert not column.nearby(3.0).any()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["free", "linear", "convex"])
def test_per_unit_is_the_steepest_that_secants_get(kind):
    model = fitted(kind)
    output = readouts(model.model_)[0]
    for i in (0, 1):
        column = model.model_.encoder.columns[i]
        grid = np.unique([*np.linspace(column.low, column.high, 2000), *column.nodes()])
        rows = np.array([cell_weights(column, x) for x in grid])
        secants = [norm_of(model, i, b - a) / h for a, b, h in zip(rows, rows[1:], np.diff(grid), strict=False)]
        assert max(secants) == pytest.approx(per_unit(output, i).bound, rel=1e-6)


def test_weyl_is_between_the_extreme_eigenvalues_of_the_move():
    model = fitted("free")
    output = readouts(model.model_)[0]
    moves = np.random.default_rng(0).normal(size=(4, 5))[:, : output.columns[2].stop - output.columns[2].start]
    low, high = weyl(output, moves, 2)
    for move, a, b in zip(moves, low, high, strict=True):
        column = output.columns[2]
        ends = [
            np.linalg.eigvalsh(np.tensordot(move, matrices(model, m)[column.start : column.stop], 1))[[0, -1]]
            for m in range(2)
        ]
        np.testing.assert_allclose([a, b], model.model_.scale * model.model_.weights @ ends, rtol=1e-10)


def test_increments_and_bends_are_differences_of_knots():
    np.testing.assert_array_equal(CURVE.increments().toarray(), np.diff(np.eye(5)[:4], axis=0))
    heights = np.array([2.0, 5.0, 4.0, 9.0, 77.0])
    np.testing.assert_allclose(CURVE.bends() @ heights, [-2.0 - 3.0, 2.0 + 2.0])
    assert Linear("l", 1, low=0.0, high=1.0).bends().shape == (0, 1)


@pytest.mark.parametrize("clamp", [True, False])
def test_cell_rows_are_the_weights_of_the_documentation(clamp):
    column = replace(CURVE, clamp=clamp)
    values = np.array([-3.0, 0.0, 0.25, 1.0, 1.2, 4.0, 9.0, np.nan])
    np.testing.assert_allclose(column.cell_rows(values), [cell_weights(column, value) for value in values], atol=1e-15)
    city = Category("c", 1, levels=("Bern", 3, None))
    np.testing.assert_array_equal(city.cell_rows(["Bern", 3, None, "new"]), [*np.eye(3), np.zeros(3)])


@settings(max_examples=100, deadline=None)
@given(st.floats(0, 6), st.floats(-2, 6), st.floats(-1, 1), st.booleans(), st.integers(0, 2**32 - 1))
def test_differences_within_a_tolerance_are_in_the_hull_of_those_listed(tolerance, a, share, clamp, seed):
    column = replace(CURVE, clamp=clamp)
    move = cell_weights(column, a + share * tolerance) - cell_weights(column, a)
    listed = column.nearby(tolerance)
    for direction in np.random.default_rng(seed).normal(size=(20, 5)):
        assert abs(move @ direction) <= np.abs(listed @ direction).max() + 1e-9


def test_the_box_of_linear_columns_is_brute_force_over_its_corners():
    rng = np.random.default_rng(0)
    slopes = [symmetric(rng, 3) for _ in range(3)]
    output = readouts(by_hand(symmetric(rng, 3), slopes, 1).model_)[0]
    sizes = {0: 0.3, 2: 0.7, 1: 5.0}  # the last is more than the range of 2 allows
    tolerances = [0.3, 2.0, 0.7]
    expected = max(
        np.linalg.norm(sum(s * t * A for s, t, A in zip(signs, tolerances, slopes, strict=True)), 2)
        for signs in product((-1, 1), repeat=3)
    )
    bound, how = box(output, sizes)
    assert bound == pytest.approx(expected)
    assert "4 corners" in how


def test_too_many_corners_are_added_up_and_it_is_said(monkeypatch):
    output = readouts(fitted("free").model_)[0]
    sizes = {0: 0.5, 1: 5.0, 3: None}
    exact, how = box(output, sizes)
    assert "relaxation" not in how
    monkeypatch.setattr(reach, "_MOST_CORNERS", 1)
    relaxed, how = box(output, sizes)
    assert "relaxation" in how
    single = sum(box(output, {i: size})[0] for i, size in sizes.items())
    assert relaxed == pytest.approx(single)
    assert exact <= relaxed


def test_caps_are_kept_by_the_bounds():
    assert any_change(readouts(fitted("capped").model_)[0], 0).bound <= CAP
