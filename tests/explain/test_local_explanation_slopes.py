"""Influences are slopes, against finite differences; where the eigenvalue is repeated there is a bound."""

from __future__ import annotations

import numpy as np
import pytest
from fitted_models import KINDS, X, changed, fitted
from hand_made_models import by_hand
from local_cases import ROWS, position, repeated_at_zero
from score_cases import cells_of, frame_of, matrices, packed_from, random_cells, row_matrices, score_by_hand

STEP = 1e-6


def slope(model, cells, i, output, step):
    """One-sided difference of the score in column i, to the side of the step."""
    moved = [*cells[:i], cells[i] + step, *cells[i + 1 :]]
    return (score_by_hand(model, moved, output) - score_by_hand(model, cells, output)) / step


# ---- slopes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_influences_are_slopes_of_the_score(kind):
    model = fitted(kind)
    cells = random_cells(model, ROWS, seed=6)
    local = model.explain_local(frame_of(model, cells).to_numpy(object) if kind == "sparse" else frame_of(model, cells))
    for row, own in enumerate(cells):
        for i, column in enumerate(model.model_.encoder.columns):
            if column.kind != "category":
                sides = [slope(model, own, i, position(local, row), side * STEP) for side in (1, -1)]
                expected = 0.0 if np.isnan(own[i]) else np.mean(sides)
                assert local.influence[row, i] == pytest.approx(expected, rel=1e-4, abs=1e-5 * model.model_.scale)
                assert local.influence_bound[row, i] >= abs(local.influence[row, i]) - 1e-12


def test_at_a_knot_the_influence_is_the_slope_to_the_right_and_at_the_last_to_the_left():
    model = fitted("free")
    knots = model.model_.encoder.columns[0].knots
    cells = [[knot, 40.0, "north", "a"] for knot in knots]
    local = model.explain_local(frame_of(model, cells))
    for row, own in enumerate(cells):
        side = STEP if row < len(knots) - 1 else -STEP
        assert local.influence[row, 0] == pytest.approx(slope(model, own, 0, 0, side), rel=1e-4)
    jumps = [abs(slope(model, own, 0, 0, STEP) - slope(model, own, 0, 0, -STEP)) for own in cells[1:-1]]
    assert max(jumps) > 0.01


def test_at_a_knot_no_slope_to_either_side_exceeds_the_bound():
    model = fitted("regressor")
    i, column = next((i, column) for i, column in enumerate(model.model_.encoder.columns) if column.n_ramps > 2)
    rows = X.head(len(column.knots)).copy()
    rows[column.name] = column.knots[: len(rows)]
    local, step = model.explain_local(rows), 1e-7 * (column.high - column.low)
    for side in (-step, step):
        moved = rows.copy()
        moved[column.name] = np.clip(rows[column.name] + side, column.low, column.high)
        slopes = (model.explain_local(moved).score - local.score) / side
        assert (np.abs(slopes) <= local.influence_bound[:, i] * (1 + 1e-4) + 1e-4).all()
    assert (local.influence_bound[:, i] > np.abs(local.influence[:, i]) * 1.01).any()  # somewhere the left is steeper


def test_outside_of_a_clamped_range_nothing_moves():
    column = fitted("free").model_.encoder.columns[0]
    for kind, moves in (("free", False), ("convex", True)):
        rows = X[:2].assign(income=[column.low - 1, column.high + 1])
        assert fitted(kind).explain_local(rows).influence[:, 0].any() == moves


def test_the_influence_of_a_level_is_its_first_order_effect():
    model = fitted("free")
    cells = [2.0, 40.0, "north", "b"]
    local = model.explain_local(frame_of(model, [cells]))
    column = model.model_.encoder.columns[2]
    total = 0.0
    for member, A in enumerate(row_matrices(model, cells)):
        own = matrices(model, member)[column.start + column.levels.index("north")]
        ends = [np.linalg.eigvalsh(A + side * STEP * own)[model.model_.outputs.indices[0]] for side in (1, -1)]
        total += model.model_.weights[member] * (ends[0] - ends[1]) / (2 * STEP)
    assert local.influence[0, 2] == pytest.approx(model.model_.scale * total, rel=1e-4)


@pytest.mark.parametrize("kind", ["single", "free", "ordinal"])
def test_the_gap_is_the_distance_to_the_nearest_eigenvalue(kind):
    model = fitted(kind)
    local = model.explain_local(X[:ROWS])
    for row in range(ROWS):
        output = position(local, row)
        index = model.model_.outputs.indices[output if len(model.model_.outputs.indices) > 1 else 0]
        gaps = []
        for A in row_matrices(model, cells_of(kind, row), output):
            values = np.linalg.eigvalsh(A)
            gaps.append(np.abs(np.delete(values, index) - values[index]).min())
        assert local.gap[row] == pytest.approx(model.model_.scale * min(gaps), rel=1e-8)
    assert not local.repeated.any()


# ---- repeated eigenvalues --------------------------------------------------------------------------------------


def test_where_the_eigenvalue_is_repeated_there_is_a_bound_and_no_sign():
    model = repeated_at_zero()
    rows = [[0.0, 0.0], [0.0, 0.4], [0.5, 0.1]]
    local = model.explain_local(rows)
    assert local.repeated.tolist() == [True, True, False]
    assert np.isnan(local.influence[:2]).all()
    np.testing.assert_allclose(local.influence[2], [-np.sqrt(1.25), 2.0])
    np.testing.assert_allclose(local.influence_bound, [[np.sqrt(1.25), 2.0]] * 3)
    np.testing.assert_allclose(local.gap, [0.0, 0.0, np.sqrt(1.25)], atol=1e-12)
    for row, own in enumerate(rows):
        for i in range(2):
            for side in (STEP, -STEP):
                assert abs(slope(model, own, i, 0, side)) <= local.influence_bound[row, i] + 1e-6
    np.testing.assert_allclose(local.attribution.sum(axis=1), local.score - local.baseline_score, atol=1e-6)


def test_one_repeated_member_is_enough_and_the_bounds_of_members_add_up():
    model = repeated_at_zero()
    second = np.zeros_like(model.model_.coef)
    second[0, 0, :6] = packed_from(np.diag([1.0, 2.0, 3.0]))
    second[0, 1, :6] = packed_from(np.diag([-4.0, 0.0, 0.0]))
    model = changed(model, coef=np.concatenate([model.model_.coef, second]), weights=np.array([0.25, 0.75]))
    local = model.explain_local([[0.0, 0.0]])
    assert local.repeated.all()
    np.testing.assert_allclose(local.influence_bound, [[0.25 * np.sqrt(1.25) + 0.75 * 4.0, 0.25 * 2.0]])


def test_an_eigenvalue_that_is_repeated_everywhere_is_explained_in_time():
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    model = by_hand(turn @ np.diag([1.0, 1.0, 2.0]) @ turn.T, [turn @ np.diag([0.5, 0.5, 3.0]) @ turn.T])
    local = model.explain_local([[0.5], [-0.2]])
    assert local.repeated.all()
    np.testing.assert_allclose(local.attribution.sum(axis=1), [0.25, -0.1], atol=1e-9)


# ---- the game --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("member", [0, 1])
def test_the_game_is_won_by_the_eigenvectors(member):
    model = fitted("free")
    local = model.explain_local(X[:3])
    game = local.game(1, member)
    A = row_matrices(model, cells_of("free", 1))[member]
    values, vectors = np.linalg.eigh(A)
    k = model.model_.outputs.indices[0]
    assert game.value == pytest.approx(values[k])
    assert abs(game.u @ vectors[:, k]) == pytest.approx(1.0)
    np.testing.assert_allclose(game.C.T @ game.C, vectors[:, :k] @ vectors[:, :k].T, atol=1e-9)
    np.testing.assert_allclose(game.C @ game.u, 0.0, atol=1e-9)
    with pytest.raises(ValueError, match=r"member must be in \[0, 2\)"):
        local.game(1, 2)
