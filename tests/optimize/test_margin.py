"""How far a row may move before the decision changes: nothing closer does, and what was found does.

Tests ``distances`` and ``margins``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from fitted_models import X, fitted
from hand_made_models import by_hand
from move_cases import CLASSES, THRESHOLDS, grid, predictions, row_at, shaken, with_cells


def decide(model, kind, frame, limit):
    """The decision about each row."""
    return predictions(model, frame) >= limit if kind in THRESHOLDS else model.predict(frame)


def columns(model):
    return {column.name: column for column in model.model_.encoder.columns}


def check_single(model, kind, row, limit, own):
    """Nothing on a fine grid within the safe cells changes the decision, and the found cell does."""
    now = decide(model, kind, row, limit)[0]
    cells = grid(model, own.column, 400)
    changed = decide(model, kind, with_cells(row, len(cells), **{own.column: cells}), limit) != now
    if columns(model)[own.column].is_number:
        inside = (cells > own.safe[0]) & (cells < own.safe[1])
        assert not changed[inside].any()
        distances = np.abs(cells - own.cell)[changed]
        assert own.upper <= distances.min(initial=np.inf) + 1e-6 * np.ptp(cells)
    else:
        assert set(cells[changed]) <= {level for level in cells if level not in own.safe}
        assert (own.upper == 1.0) == changed.any()
    assert own.lower <= own.upper
    if own.flip is not None:
        assert decide(model, kind, with_cells(row, 1, **{own.column: [own.flip]}), limit)[0] != now
        assert own.upper - own.lower <= 1e-6 * max(np.ptp(cells), 1) if own.is_number else True


def check_joint(model, kind, row, limit, found, rng):
    """No random row within the proven distance changes the decision, and the found row does."""
    now, n = decide(model, kind, row, limit)[0], 3000
    cells = {}
    for own in found.columns:
        column = columns(model)[own.column]
        if column.is_number:
            reach = min(found.lower, 3.0) * column.spread
            cells[own.column] = own.cell + reach * rng.choice([-0.999, 0.999, 1.0, 0.5, 0.0], n) * rng.uniform(
                0.5, 0.999, n
            )
        elif found.lower > 1:
            cells[own.column] = rng.choice(grid(model, own.column), n)
    assert (decide(model, kind, with_cells(row, n, **cells), limit) == now).all()
    assert found.lower <= found.upper
    if found.cells is not None:
        after = with_cells(row, 1, **{name: [cell] for name, cell in found.cells.items()})
        assert decide(model, kind, after, limit)[0] != now


@pytest.mark.parametrize("kind", [*THRESHOLDS, *CLASSES])
def test_margins_hold_for_models_of_every_kind(kind):
    model, rng = fitted(kind), np.random.default_rng(0)
    for i in (5, 8, 17):
        row = X.iloc[[i]]
        limit = THRESHOLDS.get(kind)
        found = model.margin(row, limit, time_limit=3)[0]
        for own in found.columns:
            check_single(model, kind, row, limit, own)
        check_joint(model, kind, row, limit, found, rng)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["free", "single", "poisson", "binary", "multiclass", "ordinal"])
def test_margins_hold_for_random_matrices(kind, seed):
    model, rng = shaken(kind, seed), np.random.default_rng(seed)
    row = X.iloc[[seed + 20]].fillna({"age": 40.0, "region": "south"})
    limit = float(model.predict(row)[0]) + 0.2 if kind in THRESHOLDS else None
    found = model.margin(row, limit, time_limit=3)[0]
    for own in found.columns:
        check_single(model, kind, row, limit, own)
    check_joint(model, kind, row, limit, found, rng)


def test_bounds_meet_for_one_column():
    """λ of a scalar pencil: the crossing is known in closed form."""
    model = by_hand(np.array([[0.0]]), [np.array([[2.0]]), np.array([[0.0]])])
    found = model.margin([[0.1, 0.0]], 0.5)[0]
    first, second = found.columns
    assert first.lower == pytest.approx(0.15, abs=1e-8)
    assert first.upper == pytest.approx(0.15, abs=1e-8)
    assert first.safe[0] == -np.inf
    assert (second.lower, second.upper, second.flip) == (np.inf, np.inf, None)
    assert "no value of it changes the decision" in str(second)
    spreads = columns(model)["x0"].spread
    assert found.lower == pytest.approx(0.15 / spreads, rel=0.011)
    assert found.upper == pytest.approx(0.15 / spreads, rel=0.011)


def test_distance_of_all_together_is_that_of_the_corner():
    """x0 + x1 reaches the threshold where both move by the same."""
    model = by_hand(np.array([[0.0]]), [np.array([[1.0]]), np.array([[1.0]])])
    found = model.margin([[0.0, 0.0]], 1.0, scale={"x0": 1.0, "x1": 1.0}, gap=1e-4)[0]
    assert found.lower == pytest.approx(0.5, rel=1e-3)
    assert found.upper == pytest.approx(0.5, rel=1e-3)
    assert found.cells == pytest.approx({"x0": 0.5, "x1": 0.5}, rel=1e-2)


def test_never_is_proven_where_no_row_changes_the_decision():
    found = fitted("free").margin(row_at(), -50.0)[0]
    assert (found.lower, found.upper, found.cells) == (np.inf, np.inf, None)
    assert "no change of these columns changes the decision: proven" in str(found)


def test_a_column_that_continues_straight_has_no_proof_beyond_where_it_was_followed():
    found = fitted("convex").margin(row_at(), -500.0)[0]
    income = next(own for own in found.columns if own.column == "income")
    assert np.isfinite(income.lower)
    assert income.upper == np.inf
    assert np.isfinite(found.lower)


def test_missing_cells_do_not_move_and_categories_need_not():
    row = with_cells(row_at(), 1, age=[np.nan])
    found = fitted("free").margin(row, 1.2, levels=False)[0]
    assert [own.column for own in found.columns] == ["income"]
    assert fitted("free").margin(row, 1.2, ["age"])[0].lower == np.inf


def test_without_time_the_bounds_are_still_true():
    model, row = shaken("free", 1), X.iloc[[21]].fillna({"age": 40.0, "region": "south"})
    limit = float(model.predict(row)[0]) + 0.2
    quick, slow = (model.margin(row, limit, time_limit=seconds, gap=1e-3)[0] for seconds in (0, 5))
    assert quick.lower <= slow.upper
    assert slow.lower <= quick.upper


def test_result_is_a_table_and_words():
    found = fitted("binary").margin(X.iloc[[5, 8]])
    frame = found.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["row", "column", "cell", "lower", "upper", "changes_at"]
    assert len(found) == 2
    assert "the decision stays: proven" in str(found)
    assert (found.lower <= found.upper).all()


def test_errors_say_what_to_do():
    with pytest.raises(ValueError, match="threshold must be a number, such as"):
        fitted("free").margin(row_at())
    with pytest.raises(ValueError, match="column must be one of the model's columns"):
        fitted("free").margin(row_at(), 1.0, ["salary"])
    with pytest.raises(ValueError, match="scale of column 'income' must be positive"):
        fitted("free").margin(row_at(), 1.0, scale={"income": 0.0})
    with pytest.raises(ValueError, match="several classes"):
        fitted("multiclass").margin(row_at(), 0.5)
