"""Why rows are predicted as they are: predictions and attributions against matrices rebuilt by hand.

Tests ``local_explanation`` and ``rows``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from fitted_models import KINDS, X, Y, fitted, rows_of
from hand_made_models import by_hand, symmetric
from local_cases import ROWS, position
from score_cases import (
    cell_weights,
    cells_of,
    choice,
    frame_of,
    matrices,
    n_outputs,
    predictions_of,
    random_cells,
    score_by_hand,
)

from lambdak import SpectralRegressor
from lambdak.pencil import paths

# ---- predictions and attributions ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_and_scores_are_those_of_the_model(kind):
    model, rows = fitted(kind), rows_of(kind)[:ROWS]
    local = model.explain_local(rows)
    assert len(local) == ROWS
    for output in range(n_outputs(model)):
        one = model.explain_local(rows, output=choice(model, output))
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
    monkeypatch.setattr(paths, "_rules", lambda all_, some: seen.append(len(some.path)) or rules(all_, some))
    return seen


def test_rows_far_outside_of_a_range_that_continues_are_explained_with_bounded_work(intervals):
    model = fitted("convex")
    local = model.explain_local(X[:2].assign(income=1e9))
    assert sum(intervals) < 20_000
    np.testing.assert_allclose(local.attribution.sum(axis=1), local.score - local.baseline_score, rtol=1e-9)


def test_a_row_takes_a_few_intervals_on_average(intervals):
    model = SpectralRegressor(effort="fast", max_iter=3, random_state=0).fit(X, Y)
    rows = pd.concat([X] * 10, ignore_index=True)
    model.explain_local(rows)
    assert len(rows) <= sum(intervals) < 20 * len(rows)  # benchmarks/explain.py tells the rows per second


# ---- baselines and outputs -------------------------------------------------------------------------------------


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


def test_the_predicted_class_is_explained_unless_another_is_requested():
    model = fitted("multiclass")
    local = model.explain_local(X[:ROWS])
    assert local.output == tuple(f"class {label}" for label in model.predict(X[:ROWS]))
    np.testing.assert_allclose(local.prediction, model.predict_proba(X[:ROWS]).max(axis=1), rtol=1e-4)
    assert set(model.explain_local(X[:ROWS], output=3).output) == {"class 3"}


def test_the_middle_quantile_is_explained_unless_another_is_requested():
    model = fitted("quantiles")
    np.testing.assert_allclose(model.explain_local(X[:5]).prediction, model.predict(X[:5]), rtol=1e-6)
    high = model.explain_local(X[:5], output=0.9)
    assert high.output == ("quantile 0.9",) * 5
    np.testing.assert_allclose(high.prediction, model.predict_quantiles(X[:5])[:, 2], rtol=1e-6)


@pytest.mark.parametrize("output", [-1, 3])
def test_an_output_that_is_not_there_is_refused(output):
    words = r"output must be a quantile level of \[0.1, 0.5, 0.9\], or its position in \[0, 3\)"
    with pytest.raises(ValueError, match=words):
        fitted("quantiles").explain_local(X[:5], output=output)
