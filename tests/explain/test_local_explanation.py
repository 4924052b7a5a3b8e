"""Why rows are predicted as they are: against finite differences, brute force and matrices rebuilt by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from fitted_models import (
    KINDS,
    NUMBERS,
    SPARSE,
    X,
    Y,
    by_hand,
    cell_weights,
    cells_of,
    changed,
    fitted,
    frame_of,
    matrices,
    n_outputs,
    packed_from,
    predictions_of,
    random_cells,
    row_matrices,
    rows_of,
    score_by_hand,
    symmetric,
)
from scipy import sparse

from lambdak import SpectralRegressor
from lambdak.explain import paths
from lambdak.table.encoder import OTHER

ROWS = 12
STEP = 1e-6


def position(local, row):
    return [output.name for output in local._source.outputs].index(local.output[row])


def slope(model, cells, i, output, step):
    """One-sided difference of the score in column i, to the side of the step."""
    moved = [*cells[:i], cells[i] + step, *cells[i + 1 :]]
    return (score_by_hand(model, moved, output) - score_by_hand(model, cells, output)) / step


# ---- predictions and attributions


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_and_scores_are_those_of_the_model(kind):
    model, rows = fitted(kind), rows_of(kind)[:ROWS]
    local = model.explain_local(rows)
    assert len(local) == ROWS
    for output in range(n_outputs(model)):
        one = model.explain_local(rows, output=output)
        np.testing.assert_allclose(one.prediction, predictions_of(model, rows, output), rtol=3e-4, atol=1e-5)
    for row in range(ROWS):
        expected = score_by_hand(model, cells_of(kind, row), position(local, row))
        assert local.score[row] == pytest.approx(expected, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_attributions_add_up_to_the_change_from_the_baseline(kind):
    model = fitted(kind)
    cells = random_cells(model, ROWS, seed=5)
    local = model.explain_local(frame_of(model, cells).to_numpy(object) if kind == "sparse" else frame_of(model, cells))
    np.testing.assert_allclose(local.attribution.sum(axis=1), local.score - local.baseline_score, atol=1e-6)
    for row in range(ROWS):
        expected = score_by_hand(model, cells[row], position(local, row))
        assert local.score[row] == pytest.approx(expected, rel=1e-11, abs=1e-12)


def test_the_default_baseline_is_medians_and_average_levels():
    model = fitted("free")
    income, age = (column.median for column in model.model_.encoder.columns[:2])
    assert income == pytest.approx(X["income"].median(), rel=0.02)
    C = [matrices(model, member) for member in range(2)]
    columns = model.model_.encoder.columns
    total = 0.0
    for weight, own in zip(model.model_.weights, C, strict=True):
        A = own[0]
        for column, median in zip(columns[:2], (income, age), strict=True):
            A = A + np.tensordot(cell_weights(column, median), own[column.start : column.stop], 1)
        total += weight * np.linalg.eigvalsh(A)[model.model_.outputs.indices[0]]
    local = model.explain_local(X[:3])
    np.testing.assert_allclose(local.baseline_score, model.model_.start[0] + model.model_.scale * total)


def test_a_column_that_does_nothing_gets_nothing():
    rng = np.random.default_rng(0)
    model = by_hand(symmetric(rng, 4), [symmetric(rng, 4), np.zeros((4, 4)), symmetric(rng, 4)], 1)
    local = model.explain_local(rng.uniform(-1, 1, (20, 3)))
    assert not local.attribution[:, 1].any()
    assert not local.influence[:, 1].any()
    assert np.abs(local.attribution[:, [0, 2]]).min() > 0


def test_columns_with_equal_matrices_and_cells_get_equal_shares():
    rng = np.random.default_rng(0)
    same = symmetric(rng, 4)
    model = by_hand(symmetric(rng, 4), [same, symmetric(rng, 4), same], 2)
    rows = rng.uniform(-1, 1, (20, 3))
    rows[:, 2] = rows[:, 0]
    local = model.explain_local(rows)
    np.testing.assert_allclose(local.attribution[:, 0], local.attribution[:, 2], atol=1e-9)


def test_an_additive_model_is_shared_out_as_it_was_made():
    model = by_hand(np.array([[3.0]]), [np.array([[2.0]]), np.array([[-1.0]])])
    local = model.explain_local([[0.5, -0.25]], baseline=[[0.25, 0.25]])
    np.testing.assert_allclose(local.attribution, [[0.5, 0.5]])
    assert local.gap.tolist() == [np.inf]


def test_attributions_are_integrated_gradients_also_across_a_kink():
    model = by_hand(np.diag([0.0, 0.3]), [np.diag([1.0, 0.0]), np.diag([0.0, -0.1])])
    local = model.explain_local([[1.0, 1.0]], baseline=[[0.0, 0.0]])
    # λ_1 = min(t, 0.3 − 0.1 t): the first column counts until t = 3/11, the second from there on
    np.testing.assert_allclose(local.attribution, [[3 / 11, -0.1 * 8 / 11]], atol=1e-7)


@pytest.fixture
def intervals(monkeypatch):
    """How many intervals of paths were looked at in each round: the work, whatever the machine."""
    seen, rules = [], paths._rules
    monkeypatch.setattr(paths, "_rules", lambda *given: seen.append(len(given[3])) or rules(*given))
    return seen


def test_rows_far_outside_of_a_range_that_goes_on_are_explained_with_bounded_work(intervals):
    model = fitted("convex")
    local = model.explain_local(X[:2].assign(income=1e9))
    assert sum(intervals) < 20_000
    np.testing.assert_allclose(local.attribution.sum(axis=1), local.score - local.baseline_score, rtol=1e-9)


def test_a_row_takes_a_few_intervals_on_average(intervals):
    model = SpectralRegressor(effort="fast", max_iter=3, random_state=0).fit(X, Y)
    rows = pd.concat([X] * 10, ignore_index=True)
    model.explain_local(rows)
    assert len(rows) <= sum(intervals) < 20 * len(rows)  # benchmarks/explain.py tells the rows per second


# ---- baselines and outputs


def test_a_baseline_is_one_row_or_one_for_each():
    model = fitted("free")
    one = model.explain_local(X[:4], baseline=X[7:8])
    many = model.explain_local(X[:4], baseline=X[7:11])
    for row in range(4):
        assert one.baseline_score[row] == pytest.approx(score_by_hand(model, cells_of("free", 7)))
        assert many.baseline_score[row] == pytest.approx(score_by_hand(model, cells_of("free", 7 + row)))
    np.testing.assert_allclose(many.attribution.sum(axis=1), many.score - many.baseline_score, atol=1e-6)
    np.testing.assert_allclose(many.baseline_prediction, model.predict(X[7:11]), rtol=1e-4)
    same = model.explain_local(X[:4], baseline=X[:4])
    assert np.abs(same.attribution).max() < 1e-12


@pytest.mark.parametrize("count", [0, 2, 5])
def test_a_baseline_of_another_length_is_refused(count):
    with pytest.raises(ValueError, match=f"baseline must have one row, or 4, one for each row of X; got {count}"):
        fitted("free").explain_local(X[:4], baseline=X[:count])


def test_the_predicted_class_is_explained_unless_another_is_asked_for():
    model = fitted("multiclass")
    local = model.explain_local(X[:ROWS])
    assert local.output == tuple(f"class {label}" for label in model.predict(X[:ROWS]))
    np.testing.assert_allclose(local.prediction, model.predict_proba(X[:ROWS]).max(axis=1), rtol=1e-4)
    assert set(model.explain_local(X[:ROWS], output=3).output) == {"class 3"}


def test_the_middle_quantile_is_explained_unless_another_is_asked_for():
    model = fitted("quantiles")
    np.testing.assert_allclose(model.explain_local(X[:5]).prediction, model.predict(X[:5]), rtol=1e-6)
    high = model.explain_local(X[:5], output=2)
    assert high.output == ("quantile 0.9",) * 5
    np.testing.assert_allclose(high.prediction, model.predict_quantiles(X[:5])[:, 2], rtol=1e-6)


@pytest.mark.parametrize("output", [-1, 3])
def test_an_output_that_is_not_there_is_refused(output):
    with pytest.raises(ValueError, match=r"output must be in \[0, 3\)"):
        fitted("quantiles").explain_local(X[:5], output=output)


# ---- slopes


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


def test_words_tell_the_units_of_the_score():
    assert "(log-odds)" in fitted("binary").explain_local(X.head(1)).why()
    assert "Score (" not in fitted("regressor").explain_local(X.head(1)).why()


@pytest.mark.parametrize("between", [("a", "b"), 5, (1.0,), (2.0, 1.0), (0.0, np.inf), "age"])
def test_what_is_not_a_range_is_refused(between):
    model = fitted("regressor")
    name = next(column.name for column in model.model_.encoder.columns if column.n_ramps)
    with pytest.raises(ValueError, match="between must hold two numbers"):
        model.explain_local(X.head(1)).what_if(name, between)


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


# ---- repeated eigenvalues


def repeated_at_zero():
    """λ_1 is repeated at x0 = 0, whatever x1 is: −|x0| √1.25 + 2 x1."""
    bend = np.zeros((3, 3))
    bend[:2, :2] = [[1.0, 0.5], [0.5, -1.0]]
    return by_hand(np.diag([0.0, 0.0, 5.0]), [bend, np.diag([2.0, 2.0, 0.0])])


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


def test_words_say_where_the_eigenvalue_is_repeated():
    local = repeated_at_zero().explain_local([[0.0, 0.4], [0.5, 0.1]])
    assert "The model may have a kink at this row" in local.why(0)
    assert "slope within ±2" in local.why(0)
    assert "Slopes have a sign at this row (gap 1.12)" in local.why(1)
    assert "within ±" not in local.why(1)


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


# ---- the game


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


# ---- words, frames, tables


def test_words_name_the_strongest_columns_their_cells_and_a_proven_interval():
    model = fitted("regressor")
    local = model.explain_local(X[:ROWS])
    for row in range(ROWS):
        text = local.why(row)
        first = local.columns[np.abs(local.attribution[row]).argmax()]
        lines = text.splitlines()
        assert f"{first} = {local.cells[row][local.columns.index(first)]}" in lines[2]
        assert f"{local.prediction[row]:.4g}" in lines[0]
        assert any(line.startswith("Proven: ") and first in line for line in lines)
        what_if = local.what_if(first)
        assert f"[{what_if.lower[row]:.4g}, {what_if.upper[row]:.4g}]" in text


def test_many_columns_are_told_together():
    rng = np.random.default_rng(0)
    model = by_hand(symmetric(rng, 3), [symmetric(rng, 3) for _ in range(9)])
    assert "the other 5 columns" in model.explain_local(rng.uniform(-1, 1, (1, 9))).why()


def test_the_words_about_a_category_hold_for_every_level():
    model = fitted("wide")
    rows = rows_of("wide")[:60]
    local = model.explain_local(rows)
    row = next(i for i in range(60) if np.abs(local.attribution[i]).argmax() == 0)
    assert "Proven: whatever code is" in local.why(row)
    table = pd.DataFrame({"code": pd.Categorical([0, 1] * 60), "income": 0.0})
    numbers = SpectralRegressor(effort="fast", max_iter=2, dim=3).fit(table, np.tile([0.0, 1.0], 60))
    assert "whatever code is" in numbers.explain_local(table[:1]).why()


def test_words_about_a_class_name_it():
    text = fitted("binary").explain_local(X[:1]).why()
    assert text.startswith("The prediction of class 'yes' is")


@pytest.mark.parametrize("row", [-1, 3])
def test_a_row_that_is_not_there_is_refused(row):
    local = fitted("free").explain_local(X[:3])
    for ask in (local.why, local.game, local.plot):
        with pytest.raises(ValueError, match=r"row must be in \[0, 3\)"):
            ask(row)


CONVERTED = {"pandas": lambda t: t, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}


@pytest.mark.parametrize("library", CONVERTED)
def test_frames_are_of_the_library_of_the_table_and_explanations_the_same(library):
    model = fitted("free")
    local, straight = model.explain_local(CONVERTED[library](X[:5])), model.explain_local(X[:5])
    frame = local.to_frame()
    assert type(frame).__module__.startswith(library)
    frame = frame if library == "pandas" else frame.to_pandas()
    assert len(frame) == 5 * 4
    assert frame["column"].tolist() == ["income", "age", "region", "kind"] * 5
    assert frame["row"].tolist() == np.repeat(np.arange(5), 4).tolist()
    for name in ("attribution", "influence", "influence_bound"):
        np.testing.assert_allclose(frame[name].to_numpy().reshape(5, 4), getattr(straight, name), atol=1e-12)
    np.testing.assert_allclose(frame["prediction"][::4], straight.prediction)
    np.testing.assert_allclose(frame["gap"][::4], straight.gap)
    assert not frame["repeated"].any()
    assert frame["cell"][2] == "rare"


def test_an_array_comes_back_as_a_frame_too():
    model = SpectralRegressor(effort="fast", max_iter=2, dim=3).fit(NUMBERS.to_numpy(), Y)
    frame = model.explain_local(NUMBERS.to_numpy()[:3]).to_frame()
    assert frame["column"].tolist() == ["x0", "x1"] * 3


def test_columns_may_come_in_any_order():
    model = fitted("free")
    turned = model.explain_local(X[X.columns[::-1]][:5])
    np.testing.assert_array_equal(turned.attribution, model.explain_local(X[:5]).attribution)
    assert turned.cells == model.explain_local(X[:5]).cells


def test_sparse_and_dense_rows_are_explained_the_same():
    model = fitted("sparse")
    assert sparse.issparse(SPARSE)
    local, dense = model.explain_local(SPARSE[:6]), model.explain_local(SPARSE[:6].toarray())
    for name in ("prediction", "attribution", "influence"):
        np.testing.assert_array_equal(getattr(local, name), getattr(dense, name))
    np.testing.assert_allclose(local.prediction, model.predict(SPARSE[:6]), rtol=1e-4, atol=1e-5)
    assert local.to_frame()["column"].tolist() == ["x0", "x1", "x2", "x3"] * 6


def test_cells_are_told_as_they_came():
    rows = frame_of(fitted("free"), [[1.25, np.nan, None, "never seen"]])
    local = fitted("free").explain_local(rows)
    assert local.cells == (("1.25", "missing", "missing", "never seen"),)
    assert local.kinds == ("number", "number", "category", "category")
    assert OTHER in fitted("free").model_.encoder.columns[2].levels


def test_no_rows_are_no_trouble():
    local = fitted("multiclass").explain_local(X[:0])
    assert len(local) == 0
    assert local.attribution.shape == (0, 4)
    assert len(local.to_frame()) == 0
