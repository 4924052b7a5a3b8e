"""The cheapest change that reaches a target: valid on predict, and never dearer than its proof says.

Tests ``counterfactuals``, ``goals``, ``moves``, ``recourse`` and ``rows``.
"""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from fitted_models import SMALL, X, Y, fitted, rows_of
from hand_made_models import by_hand
from move_cases import CLASSES, THRESHOLDS, grid, predictions, row_at, shaken, with_cells

from lambdak import SpectralRegressor
from lambdak.optimize.changes.goals import Region
from lambdak.optimize.changes.moves import hitting_sets

GAP = 0.01


def targets(model, kind, row):
    """Targets for a row, each with what tells whether a prediction has reached it."""
    if kind in THRESHOLDS:
        now = float(model.predict(row)[0])
        low, high = now - 0.3, now + 0.3
        return [((">=", high), lambda p: p >= high), (("<=", low), lambda p: p <= low), (high, lambda p: p >= high)]
    if kind == "binary":
        now = float(predictions(model, row)[0])
        most = min(now + 0.1, 0.99)
        other = model.classes_[int(now <= 0.5)]
        return [((">=", most), lambda p: p >= most), (other, lambda p: (p > 0.5) == (other == model.classes_[1]))]
    return [(label, lambda p, label=label: p == label) for label in model.classes_.tolist()[:3]]


def price(model, row, frame, names, weights=None):
    """What moving to the rows of a frame costs, spelled independently."""
    total = np.zeros(len(frame))
    for name in names:
        column = next(own for own in model.model_.encoder.columns if own.name == name)
        old, weight = row[name].iloc[0], (weights or {}).get(name, 1.0)
        if column.is_number:
            total += weight * np.abs(frame[name].to_numpy(float) - old) / column.spread
        else:
            total += weight * (frame[name].to_numpy(object) != old)
    return total


def oracle(model, row, names, points):
    """All combinations of a grid, with the row's own cells in it."""
    own = [[*grid(model, name, points).tolist(), row[name].iloc[0]] for name in names]
    cells = list(zip(*product(*own), strict=True))
    return with_cells(row, len(cells[0]), **dict(zip(names, cells, strict=True)))


def check(model, kind, row, names, points=40, **options):
    """Compare with brute force; how many targets were reached, and how many not."""
    frame = oracle(model, row, names, points)
    every, prices = predictions(model, frame), price(model, row, frame, names)
    seen = {True: 0, False: 0}
    for target, is_there in targets(model, kind, row):
        (change,) = model.counterfactual(row, target, names, gap=GAP, time_limit=20, **options)
        cheapest = prices[is_there(every)].min(initial=np.inf)
        seen[change.changes is not None] += 1
        assert change.bound <= cheapest
        assert change.cost * (1 - 1.001 * GAP) <= cheapest
        if change.changes is None:
            assert change.status == "infeasible"
            continue
        after = with_cells(row, 1, **{name: [cell] for name, cell in change.changes.items()})
        assert is_there(predictions(model, after)).all()
        assert price(model, row, after, names)[0] == pytest.approx(change.cost, rel=1e-9, abs=1e-12)
        assert change.bound <= change.cost
    return seen


@pytest.mark.parametrize("names", [["income"], ["income", "age"], ["age", "region", "kind"]])
@pytest.mark.parametrize("kind", [*THRESHOLDS, *CLASSES])
def test_no_point_of_a_grid_is_cheaper_than_the_bound(kind, names):
    for i in (5, 8):
        row = X.iloc[[i]].fillna({"age": 40.0, "region": "north"})
        check(fitted(kind), kind, row, names)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["free", "single", "poisson", "binary", "multiclass", "ordinal", "quantiles"])
def test_no_point_of_a_grid_is_cheaper_for_random_matrices(kind, seed):
    row = X.iloc[[seed + 10]].fillna({"age": 40.0, "region": "south"})
    check(shaken(kind, seed), kind, row, ["income", "age"])


def test_some_targets_are_out_of_reach_and_others_are_not():
    found = check(fitted("multiclass"), "multiclass", row_at().assign(region="north"), ["income", "region"])
    assert found[True]
    change = fitted("binary").counterfactual(row_at(), (">=", 0.9999), ["income"])[0]
    assert change.status == "infeasible"
    assert (change.cost, change.bound, change.changes) == (np.inf, np.inf, None)
    over = predictions(fitted("binary"), with_cells(row_at(), 300, income=np.linspace(0, 20, 300)))
    assert change.reachable == pytest.approx(over.max(), abs=1e-9)
    assert "no change of these columns reaches the goal" in str(change)


def test_one_way_whole_and_bounded_columns_are_kept():
    model, row = fitted("free"), row_at(8)
    row = row.assign(age=40.0)
    now = float(model.predict(row)[0])
    for target in ((">=", now + 0.2), ("<=", now - 0.2)):
        options = {"directions": {"income": "up"}, "whole": ["age"], "bounds": {"age": (30, 50)}}
        change = model.counterfactual(row, target, ["income", "age"], gap=0.0, **options)[0]
        frame = oracle(model, row, ["income", "age"], 80)
        ages = np.tile(np.arange(30, 51), len(frame) // 21 + 1)[: len(frame)]
        frame = frame.assign(age=ages.astype(float))
        frame = frame[frame["income"] >= row["income"].iloc[0]]
        p = model.predict(frame)
        there = p >= target[1] if target[0] == ">=" else p <= target[1]
        cheapest = price(model, row, frame, ["income", "age"])[there].min(initial=np.inf)
        assert change.bound <= cheapest
        if change.changes is not None:
            assert change.point["income"] >= row["income"].iloc[0]
            assert change.point["age"] == round(change.point["age"])
            assert 30 <= change.point["age"] <= 50


def test_weights_make_a_column_dearer():
    model, row = fitted("regressor"), X.iloc[[8]].assign(age=40.0)
    target = (">=", float(model.predict(row)[0]) + 0.1)
    plain = model.counterfactual(row, target, ["income", "age"])[0]
    only = next(iter(plain.changes))
    dear = model.counterfactual(row, target, ["income", "age"], cost={only: 100.0})[0]
    assert plain.cost <= dear.cost
    assert 100 * model.counterfactual(row, target, [only])[0].cost >= dear.cost * 0.98


def test_columns_that_are_not_actionable_stay():
    change = fitted("free").counterfactual(row_at(), (">=", 1.6), ["income", "kind"])[0]
    assert set(change.changes) <= {"income", "kind"}
    assert {name: change.point[name] for name in ("age", "region")} == {
        name: change.cells[name] for name in ("age", "region")
    }


def test_missing_cells_stay_missing():
    row = with_cells(row_at(), 1, age=[np.nan])
    change = fitted("free").counterfactual(row, (">=", 1.6), ["age", "income"])[0]
    assert "age" not in change.changes
    nothing = fitted("free").counterfactual(row, (">=", 99.0), ["age"])[0]
    assert nothing.status == "infeasible"


def test_an_unseen_level_is_where_the_row_starts():
    row = with_cells(row_at(), 1, kind=["unheard of"])
    change = fitted("free").counterfactual(
        row, (">=", float(fitted("free").predict(row)[0]) + 0.2), ["kind", "income"]
    )[0]
    after = with_cells(row, 1, **{name: [cell] for name, cell in change.changes.items()})
    assert fitted("free").predict(after)[0] >= fitted("free").predict(row)[0] + 0.2


def test_further_changes_leave_a_column_of_each_earlier_one():
    model, row = fitted("free"), X.iloc[[8]].assign(age=40.0, region="north")
    target = (">=", float(model.predict(row)[0]) + 0.15)
    found = list(model.counterfactual(row, target, ["income", "age", "region", "kind"], n=4))
    assert len(found) > 1
    sets = [set(change.changes) for change in found]
    for k, own in enumerate(sets):
        assert not any(earlier <= own for earlier in sets[:k])
    costs = [change.cost for change in found]
    assert all(later >= first * (1 - GAP) for first, later in pairwise(costs))
    for change in found:
        after = with_cells(row, 1, **{name: [cell] for name, cell in change.changes.items()})
        assert model.predict(after)[0] >= target[1]


def test_hitting_sets_take_one_of_each():
    assert hitting_sets([]) == [frozenset()]
    assert set(hitting_sets([frozenset({0, 1}), frozenset({1, 2})])) == {frozenset({1}), frozenset({0, 2})}


def test_a_row_that_is_there_needs_no_change():
    model, row = fitted("binary"), row_at()
    label = model.predict(row)[0]
    change = model.counterfactual(row, label, ["income"])[0]
    assert (change.changes, change.cost, change.bound) == ({}, 0.0, 0.0)
    assert "as it is" in str(change)


def test_without_time_the_bound_is_still_true():
    model, row = shaken("free", 3), X.iloc[[12]].fillna({"age": 40.0, "region": "south"})
    target = (">=", float(model.predict(row)[0]) + 0.3)
    quick = model.counterfactual(row, target, ["income", "age"], time_limit=0)[0]
    slow = model.counterfactual(row, target, ["income", "age"], time_limit=20, gap=1e-4)[0]
    assert quick.bound <= slow.cost
    assert quick.cost >= slow.bound
    assert quick.status in ("time limit", "optimal")


def test_ordered_classes_have_sides():
    model, row = fitted("ordinal"), row_at()
    change = model.counterfactual(row, (">=", 3), ["income", "age"])[0]
    if change.changes is not None:
        after = with_cells(row, 1, **{name: [cell] for name, cell in change.changes.items()})
        assert model.predict(after)[0] >= 3
    less = model.counterfactual(row, ("<=", 0), ["income"])[0]
    over = model.predict(with_cells(row, 300, income=np.linspace(0, 20, 300)))
    assert (less.changes is None) == (over.min() > 0)


def test_result_is_a_table_and_words():
    model = fitted("binary")
    rows = X.iloc[[5, 8]].fillna({"age": 40.0, "region": "north"})
    found = model.counterfactual(rows, "no", ["income", "kind", "region"])
    frame = found.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == len(found) == 2
    assert set(rows.columns) <= set(frame.columns)
    valid = frame[frame["cost"] < np.inf]
    assert (model.predict(valid[list(rows.columns)]) == "no").all()
    assert "row 0: the class is 'no'" in str(found)


def test_sparse_tables_and_arrays_work():
    model, rows = fitted("sparse"), rows_of("sparse")[[0]]
    now = float(model.predict(rows)[0])
    change = model.counterfactual(rows, (">=", now + 0.1), ["x0", "x1"])[0]
    if change.changes is not None:
        after = np.array([[change.point[f"x{i}"] for i in range(4)]])
        assert model.predict(after)[0] >= now + 0.1


def test_a_constant_column_and_one_row_models():
    flat = by_hand(np.eye(2), [np.zeros((2, 2)), np.eye(2)])
    change = flat.counterfactual([[0.0, 0.0]], (">=", 1.5), ["x0", "x1"])[0]
    assert change.changes == pytest.approx({"x1": 0.5}, abs=2e-6)
    assert flat.counterfactual([[0.0, 0.0]], (">=", 1.5), ["x0"])[0].status == "infeasible"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("maybe", ["income"]), "target must be a number or one of the classes.*'maybe'"),
        (((">", 0.5), ["income"]), "target must be a class, a number, or"),
        (("no", []), "actionable must name at least one column"),
        (("no", ["salary"]), "column must be one of the model's columns.*'salary'"),
        (("no", ["income"], "l2"), "cost must be 'l1' or weights by column name; got 'l2'"),
        (("no", ["income"], {"income": -1.0}), "cost of column 'income' must be positive"),
        (("no", ["income"], "l1", {"income": "sideways"}), "directions of column 'income' must be 'up' or 'down'"),
        (("no", ["kind"], "l1", {"kind": "up"}), "column 'kind' is a category, which has no direction"),
        (("no", ["income"], "l1", None, 0), "n must be in"),
    ],
)
def test_errors_say_what_to_do(arguments, message):
    with pytest.raises(ValueError, match=message):
        fitted("binary").counterfactual(row_at(), *arguments)


def test_more_errors_name_the_column():
    row = row_at()
    with pytest.raises(ValueError, match="'income' must hold a whole number"):
        fitted("binary").counterfactual(row, "no", ["income"], whole=["income"])
    with pytest.raises(ValueError, match="bounds of column 'income'"):
        fitted("binary").counterfactual(row, "no", ["income"], bounds={"income": (3, 1)})
    with pytest.raises(ValueError, match="depends on all of them: name one of"):
        fitted("multiclass").counterfactual(row, (">=", 0.5), ["income"])


def test_an_interrupt_returns_the_best_change_with_a_true_bound(monkeypatch):
    model, row = shaken("free", 3), X.iloc[[12]].fillna({"age": 40.0, "region": "south"})
    target = (">=", float(model.predict(row)[0]) + 0.3)
    slow = model.counterfactual(row, target, ["income", "age"], gap=1e-4)[0]
    for calls in (1, 2, 4):
        left, uppers = [calls], Region.uppers

        def interrupted(self, boxes, steps=0, left=left, uppers=uppers):
            left[0] -= 1
            if not left[0]:
                raise KeyboardInterrupt
            return uppers(self, boxes, steps)

        with monkeypatch.context() as patch:
            patch.setattr(Region, "uppers", interrupted)
            found = model.counterfactual(pd.concat([row, row]), target, ["income", "age"], gap=1e-4)
        assert [own.status for own in found] == ["interrupted"]
        assert found[0].bound <= slow.cost
        assert found[0].cost >= slow.bound


def test_offset_counts_as_in_predict():
    model, row = fitted("regressor"), row_at()
    target = (">=", float(model.predict(row, offset=[0.7])[0]) + 0.3)
    change = model.counterfactual(row, target, ["income"], offset=[0.7])[0]
    after = with_cells(row, 1, **{name: [cell] for name, cell in change.changes.items()})
    assert model.predict(after, offset=[0.7])[0] >= target[1]
    plain = model.counterfactual(row, (">=", target[1] - 0.7), ["income"])[0]
    assert plain.cost == pytest.approx(change.cost, rel=1e-4)


def test_printed_numbers_are_those_that_were_checked():
    model, row = fitted("free"), row_at()
    change = model.counterfactual(row, (">=", float(model.predict(row)[0]) + 0.1), ["income"])[0]
    text = str(change).split(" to ")[1].split(" ")[0]
    assert float(text.replace(",", "")) == change.changes["income"]
    assert len(text) <= 12


def test_levels_that_are_numbers_do_not_rise():
    codes = X.assign(kind=np.where(X["kind"] == "a", 1.0, 2.0))
    settings = SMALL | {"max_categories": 3, "categorical_features": ["region", "kind"]}
    with pytest.warns(UserWarning, match="pooled"):
        model = SpectralRegressor(**settings).fit(codes, Y)
    row = codes.iloc[[5]]
    other = with_cells(row, 1, kind=[3.0 - row["kind"].iloc[0]])
    now, then = float(model.predict(row)[0]), float(model.predict(other)[0])
    change = model.counterfactual(row, (">=" if then > now else "<=", (now + then) / 2), ["kind"])[0]
    assert "kind changes from" in str(change)


def test_progress_is_told_and_bounds_only_rise():
    model, row, seen = shaken("free", 3), X.iloc[[12]].fillna({"age": 40.0, "region": "south"}), []
    target = (">=", float(model.predict(row)[0]) + 0.3)
    model.counterfactual(row, target, ["income", "age"], progress=seen.append, gap=1e-3)
    assert len(seen) > 1
    assert all(later.bound >= first.bound - 1e-12 for first, later in pairwise(seen))
    assert all(later.value <= first.value for first, later in pairwise(seen))
