"""Whole-number columns in reasons, counterfactuals, margins, inverses and optima: only what a reader could have."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from desk_cases import SMALL, WHOLE, X, Y, desk_model

import lambdak
from lambdak import SpectralClassifier, SpectralRegressor
from lambdak.optimize import minimize, reasons

ROWS = X[:120]
PREDICTED = desk_model().predict(ROWS)
DECLINED = ROWS[PREDICTED == "no"]


def found(**options):
    return desk_model().reasons(ROWS, target="yes", undirected="name", **options)


def numbers(cells):
    return [cells[name] for name in WHOLE if name in cells]


# ---- reasons


def test_every_range_of_a_whole_column_holds_a_whole_number_and_ends_at_one():
    ranges = [
        (reason.low, reason.high)
        for decision in reasons(desk_model(), ROWS, target="yes", undirected="name", top=9)
        for reason in decision.reasons
        if reason.column in WHOLE
    ]
    assert len(ranges) > 20
    ends = np.array([end for pair in ranges for end in pair if np.isfinite(end)])
    assert (ends == np.round(ends)).all()
    assert all(low <= high for low, high in ranges)


def test_every_whole_number_of_a_range_that_is_enough_is_approved():
    checked = 0
    for decision in found():
        for reason in decision.reasons:
            if reason.column in WHOLE and reason.enough:
                low, high = np.clip([reason.low, reason.high], X[reason.column].min(), X[reason.column].max())
                for x in np.arange(low, high + 1):
                    row = ROWS.iloc[[decision.row]].assign(**{reason.column: x})
                    assert desk_model().predict(row)[0] == "yes"
                    checked += 1
    assert checked > 20


def test_joint_changes_of_whole_columns_are_whole():
    together = [decision.together for decision in found(threshold=0.8) if decision.together]
    assert together
    assert all(float(x).is_integer() for cells in together for x in numbers(cells))


def test_a_column_of_two_values_should_have_been_the_other_one():
    said = [
        reason for one in reasons(desk_model(), ROWS, target="yes", undirected="name", top=9) for reason in one.reasons
    ]
    assert {reason.needed for reason in said if reason.column == "owner"} == {"1"}


def test_whole_overrides_what_training_saw():
    held = found(whole=[*WHOLE, "income"])
    ends = [reason.low for one in held for reason in one.reasons if reason.column == "income"]
    assert ends
    assert all(end == round(end) or not np.isfinite(end) for end in ends)
    free = [reason for one in found(whole=[]) for reason in one.reasons if reason.column == "lines"]
    assert any(not float(end).is_integer() for one in free for end in (one.low, one.high) if np.isfinite(end))


def test_columns_without_a_direction_are_told_once_and_can_be_left_out():
    with pytest.warns(
        UserWarning, match="without a promised direction, .*'ratio'.*monotonic_cst=.*undirected='exclude'"
    ):
        desk_model().reasons(ROWS, target="yes")
    named = {
        reason.column
        for one in desk_model().reasons(ROWS, target="yes", undirected="exclude")
        for reason in one.reasons
    }
    assert named == {"late"}
    with pytest.raises(ValueError, match="undirected must be one of 'warn', 'exclude', 'name'; got 'drop'"):
        desk_model().reasons(ROWS, target="yes", undirected="drop")


def test_a_range_that_is_narrow_beside_its_column_comes_last():
    x = np.linspace(0, 400, 400)
    side = np.tile([0.0, 1.0], 200)
    good = np.where((np.abs(x - 190) < 6) | (side > 0.5), "yes", "no")
    table = pd.DataFrame({"level": x, "side": side + np.linspace(0, 0.2, 400)})
    model = SpectralClassifier(effort="fast", dim=1, n_knots=60, random_state=0, n_estimators=1).fit(table, good)
    row = pd.DataFrame({"level": [120.0], "side": [0.0]})
    said = model.reasons(
        row, target="yes", undirected="name", baseline=table[good == "yes"][:1].assign(level=190.0, side=0.1)
    )
    level = next((reason for reason in said[0].reasons if reason.column == "level"), None)
    assert said[0].reasons[0].column == "side" or level is None or level.high - level.low > 10
    widths = [reason.high - reason.low for reason in said[0].reasons]
    assert widths == sorted(widths, reverse=True) or len(widths) < 2


def test_protected_features_are_given_once_never_named_and_still_counted(tmp_path):
    everywhere = reasons(desk_model(), ROWS, target="yes", undirected="name", top=9)
    assert any(reason.column == "owner" for one in everywhere for reason in one.reasons)
    desk_model().save(tmp_path / "model.safetensors")
    for model in (desk_model(), lambdak.load(tmp_path / "model.safetensors")):
        said = model.reasons(ROWS, target="yes", undirected="name", top=9)
        assert all(reason.column != "owner" for one in said for reason in one.reasons)
        assert all("owner" not in one.together for one in said)
        assert max(one.unnamed for one in said) > 0
    more = desk_model().reasons(ROWS, target="yes", undirected="name", exclude="late")
    assert all(reason.column not in ("owner", "late") for one in more for reason in one.reasons)


def test_protected_features_must_be_columns():
    with pytest.raises(ValueError, match=r"protected_features: column must be one of .*; got 'sex'"):
        SpectralClassifier(protected_features=["sex"], **SMALL).fit(X, Y)


# ---- changes


def test_counterfactuals_propose_whole_numbers_unless_the_row_has_a_fraction():
    changes = desk_model().counterfactual(DECLINED[:4], "yes", ["lines", "late"], time_limit=2)
    points = [change.changes for change in changes if change.changes]
    assert points
    assert all(isinstance(x, int) for point in points for x in numbers(point))
    odd = DECLINED[:1].assign(late=1.5)
    assert desk_model().counterfactual(odd, "yes", ["late"], time_limit=2)[0].changes["late"] != 1.5
    with pytest.raises(ValueError, match="'late' must hold a whole number in every row"):
        desk_model().counterfactual(odd, "yes", ["late"], whole=["late"])


def test_margins_end_at_whole_numbers_with_both_bounds_equal():
    flips = 0
    for margin in desk_model().margin(ROWS[:12], columns=WHOLE):
        for own in margin.columns:
            if own.flip is not None:
                flips += 1
                assert own.flip == round(own.flip)
                assert own.lower == own.upper  # no whole number before it changes anything
                between = np.arange(min(own.cell, own.flip) + 1, max(own.cell, own.flip))
                row = ROWS.iloc[[margin.row]]
                same = desk_model().predict(row)[0]
                assert all(desk_model().predict(row.assign(**{own.column: x}))[0] == same for x in between)
        if margin.cells:
            assert all(float(x).is_integer() for x in numbers(margin.cells))
    assert flips


def test_the_inverse_of_a_whole_column_is_the_next_whole_number():
    model = SpectralRegressor(effort="fast", monotonic_cst={"x0": 1}, random_state=0, n_estimators=1).fit(
        [[i % 12, i // 12] for i in range(144)], [3.0 * (i % 12) + i // 12 for i in range(144)]
    )
    for row, target in (([2, 3], 20.0), ([9, 3], 11.0)):
        exact, whole = model.inverse(row, "x0", target, whole=False), model.inverse(row, "x0", target)
        assert whole.value == (np.ceil if exact.value > row[0] else np.floor)(exact.value)
        assert (whole.prediction >= target) == (exact.value > row[0])
    assert model.inverse([2, 3], "x0", 1e6).value is None


def test_optima_are_whole_where_training_was():
    fixed = {"late": 0, "owner": 1, "ratio": 0.3, "income": 3000.0}
    model = SpectralRegressor(**SMALL).fit(X, (X["lines"] - 7.4) ** 2)
    best = minimize(model, ["lines"], fixed=fixed)
    assert isinstance(best.row["lines"], int)
    values = [
        model.predict(pd.DataFrame([fixed | {"lines": x}])[X.columns])[0] for x in range(int(X["lines"].max()) + 1)
    ]
    assert best.value == pytest.approx(min(values))
    assert not isinstance(minimize(model, ["lines"], fixed=fixed, whole=[]).row["lines"], int)
    with pytest.raises(ValueError, match=r"hold no whole number; .*list the columns of whole numbers in whole"):
        minimize(model, ["lines"], {"lines": (2.2, 2.8)}, fixed=fixed)


# ---- drawn


def test_effects_and_what_ifs_are_drawn_at_whole_numbers():
    effects = desk_model().explain_global(X)
    for name in WHOLE:
        assert all(float(x).is_integer() for x in effects[name].x)
        along, _ = desk_model().explain_local(ROWS[:1]).what_if(name).along(0)
        assert all(float(x).is_integer() for x in along)
