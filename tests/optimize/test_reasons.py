"""Reasons: every claim tried through predict, order and words of hand-made rows, hostile names and bad requests.

Tests ``alternatives``, ``declines``, ``sweeps`` and ``targets``.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from fitted_models import NUMBERS, SMALL, WIDE, X, Y, fitted
from reason_cases import broken_claims, decided_by

import lambdak
from lambdak import SpectralClassifier, SpectralRegressor
from lambdak.optimize import reasons
from lambdak.optimize.changes import alternatives
from lambdak.optimize.changes import reasons as reasoning
from lambdak.optimize.changes.alternatives import short_end

pytestmark = pytest.mark.filterwarnings("ignore:reasons name columns without a promised direction")

CASES = [
    ("binary", {"target": "yes"}),
    ("binary", {"target": "no", "threshold": 0.9}),
    ("multiclass", {"target": 2}),
    ("ordinal", {"target": (">=", 2)}),
    ("ordinal", {"target": 1}),
    ("regressor", {"threshold": 2.0}),
    ("regressor", {"threshold": 1.0, "target": "<="}),
    ("poisson", {"threshold": 1.5}),
    ("linear", {"threshold": 2.0}),
    ("convex", {"threshold": 2.0}),
    ("concave", {"threshold": 2.0}),
    ("additive", {"threshold": 2.0}),
    ("capped", {"threshold": 2.5}),
]


@pytest.mark.parametrize(("kind", "request_"), CASES, ids=str)
def test_no_claim_of_any_reason_is_broken_by_what_predict_returns(kind, request_):
    model = fitted(kind)
    found = model.reasons(X, **request_)
    rises = request_.get("target") != "<="
    tried, broken = broken_claims(model, X, found, *decided_by(kind, **request_), rises=rises)
    assert tried > 60
    assert not broken
    assert any(reason.enough for own in found.declined for reason in own.reasons)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "request_"), [CASES[0], CASES[2], CASES[5], CASES[9]], ids=str)
def test_ranges_that_end_within_rounding_of_the_threshold_break_no_claim(kind, request_, monkeypatch):
    monkeypatch.setattr(reasoning, "short_end", lambda end, *_: end)  # which would move ends into the range
    monkeypatch.setattr(alternatives, "_ROUNDS", 18)
    model = fitted(kind)
    tried, broken = broken_claims(model, X, model.reasons(X, **request_), *decided_by(kind, **request_))
    assert tried > 60
    assert not broken


@pytest.mark.parametrize("gaps", ["missing numbers", "missing levels", "unseen levels"])
def test_claims_about_cells_that_are_missing_or_unseen_hold(gaps):
    rows = {"missing numbers": X.assign(age=np.nan), "missing levels": X.assign(region=None)}
    table = rows.get(gaps, X.assign(region="never", kind="never"))
    found = fitted("binary").reasons(table, 0.8, target="yes")
    tried, broken = broken_claims(fitted("binary"), table, found, *decided_by("binary", 0.8, "yes"))
    assert tried > 60
    assert not broken


@pytest.mark.slow
def test_rows_exactly_at_the_threshold_are_approved_and_one_bit_below_declined():
    model = fitted("binary")
    here = model.predict_proba(X)[:, 1]
    for threshold in (here[3], np.nextafter(here[3], 1.0), 0, 1, here.max(), 1e-300):
        found = model.reasons(X, threshold, target="yes")
        _, broken = broken_claims(model, X, found, *decided_by("binary", threshold, "yes"), most=8)
        assert not broken
        assert all(own.reasons for own in found.declined)


@pytest.mark.parametrize("scale", [1e-280, 1e30, 1e290])
def test_extreme_scales_of_columns_and_targets_break_no_claim(scale):
    model = SpectralRegressor(**SMALL).fit(NUMBERS * scale, Y * min(scale, 1e140))
    limit, rows = 1.8 * min(scale, 1e140), NUMBERS * scale
    tried, broken = broken_claims(
        model, rows, model.reasons(rows, limit), lambda T: model.predict(T) >= limit, model.predict
    )
    assert tried > 60
    assert not broken


@pytest.mark.slow
def test_categories_of_many_levels_name_levels_that_are_enough():
    model, limit = fitted("wide"), float(np.quantile(fitted("wide").predict(WIDE), 0.9))
    found = model.reasons(WIDE, limit)
    for own in found.declined[:30]:
        for reason in own.reasons:
            if reason.levels and reason.enough:
                rows = pd.concat([WIDE.iloc[[own.row]]] * len(reason.levels)).assign(code=list(reason.levels))
                assert (model.predict(rows) >= limit).all()
    assert any(reason.levels and reason.enough for own in found for reason in own.reasons)


def test_offsets_count_as_predict_counts_them():
    model, offset = fitted("poisson"), np.linspace(-1.0, 1.0, len(X))
    found = model.reasons(X, 1.5, offset=offset)
    assert [own.approved for own in found] == (model.predict(X, offset=offset) >= 1.5).tolist()
    for own in found.declined[:40]:
        for reason in own.reasons:
            if reason.enough and reason.low is not None:
                cell = reason.low if np.isfinite(reason.low) else reason.high
                row = X.iloc[[own.row]].assign(**{reason.column: cell})
                assert model.predict(row, offset=offset[[own.row]])[0] >= 1.5


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_a_row_has_the_same_reasons_alone_in_any_order_and_with_any_threads(kind):
    model, target = fitted(kind), {"binary": "yes", "multiclass": 2}[kind]

    def data(found):
        return [json.dumps({**own, "row": 0, "why": "", "reasons": [{**r, "row": 0} for r in own["reasons"]]})
                for own in found.to_dict()["decisions"]]  # fmt: skip

    whole = data(model.reasons(X, target=target))
    assert data(model.reasons(X.iloc[::-1], target=target))[::-1] == whole
    assert [data(model.reasons(X.iloc[[i]], target=target))[0] for i in range(20)] == whole[:20]
    threads = lambdak.get_num_threads()
    try:
        lambdak.set_num_threads(1)
        assert data(model.reasons(X, target=target)) == whole
    finally:
        lambdak.set_num_threads(threads)


def test_a_monotone_column_is_never_blamed_the_wrong_way():
    signs = fitted("regressor").model_.promises.signs  # income never lowers predictions, age never raises them
    assert signs[:2] == (1, -1)
    for target, way in ((">=", 1), ("<=", -1)):
        limit = np.median(fitted("regressor").predict(X))
        seen = set()
        for own in fitted("regressor").reasons(X, limit, target=target).declined:
            for reason in own.reasons:
                sign = {"income": way, "age": -way}.get(reason.column, 0)
                if sign and reason.value is not None:
                    seen.add(reason.column)
                    assert reason.low > reason.value if sign > 0 else reason.high < reason.value
        assert seen == {"income", "age"}


def test_what_is_needed_lies_in_the_training_range_and_straight_columns_say_where_it_ends():
    for kind in ("binary", "convex"):
        model = fitted(kind)
        columns = {column.name: column for column in model.model_.encoder.columns}
        found = model.reasons(X, 2.0) if kind == "convex" else model.reasons(X, target="yes")
        for reason in (reason for own in found.declined for reason in own.reasons if reason.low is not None):
            ends = [end for end in (reason.low, reason.high) if np.isfinite(end)]
            column = columns[reason.column]
            assert all(column.low <= end <= column.high for end in ends)
            assert len(ends) == 2 or column.bounded


# ---- by hand ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def additive():
    """Approval needs 2 a + b − c ≥ about 10, where housing "own" counts 4; the model is additive."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.uniform(0, 10, (1500, 3)), columns=["a", "b", "c"]).assign(
        housing=rng.choice(["own", "rent"], 1500)
    )
    score = 2 * rows["a"] + rows["b"] - rows["c"] + 4 * (rows["housing"] == "own")
    settings = {"effort": "fast", "dim": 1, "random_state": 0, "monotonic_cst": {"a": 1, "b": 1, "c": -1}}
    return SpectralRegressor(**settings).fit(rows, score)


def test_reasons_are_ranked_by_what_columns_add_towards_the_decline(additive):
    row = {"a": 1.0, "b": 4.0, "c": 9.0, "housing": "own"}  # against 5, 5, 5: a takes 8, c takes 4, b takes 1
    found = additive.reasons(row, 10.0, baseline={"a": 5.0, "b": 5.0, "c": 5.0, "housing": "own"})[0]
    assert [reason.column for reason in found.reasons] == ["a", "c", "b"]
    np.testing.assert_allclose([reason.contribution for reason in found.reasons], [8, 4, 1], atol=0.5)
    first = found.reasons[0]
    assert first.enough  # 2 a + 4 − 9 + 4 = 10 at a = 5.5
    assert first.low == pytest.approx(5.5, abs=0.5)
    assert first.high == np.inf
    assert first.text == "a is too low"
    assert [reason.enough for reason in found.reasons] == [True, False, False]


def test_levels_are_needed_where_they_are_enough(additive):
    found = additive.reasons({"a": 5.0, "b": 4.0, "c": 5.0, "housing": "rent"}, 10.0)[0]
    own = next(reason for reason in found.reasons if reason.column == "housing")
    assert (own.levels, own.enough, own.low, own.text) == (("own",), True, None, "housing is rent")


def test_columns_that_are_enough_together_are_found_where_none_is_alone(additive):
    row = {"a": 1.0, "b": 0.0, "c": 9.5, "housing": "rent"}
    found = additive.reasons(row, 13.0, baseline={"a": 8.0, "b": 8.0, "c": 2.0, "housing": "own"})[0]
    assert not any(reason.enough for reason in found.reasons)
    assert all(reason.never_enough for reason in found.reasons)
    assert len(found.together) == 2
    assert additive.predict(pd.DataFrame([{**row, **found.together}]))[0] >= 13.0
    assert not additive.reasons(row, 13.0, together=False)[0].together


def test_a_row_that_is_as_good_as_the_baseline_gets_what_would_help_most(additive):
    row = {"a": 5.0, "b": 5.0, "c": 5.0, "housing": "rent"}
    found = additive.reasons(row, 25.0, baseline=row)[0]
    assert found.compared == "the best value of each column"
    assert found.reasons[0].column == "a"


def test_a_baseline_of_many_rows_is_the_typical_one_of_those_approved(additive):
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(rng.uniform(0, 10, (301, 3)), columns=["a", "b", "c"]).assign(housing="own")
    approved = rows[additive.predict(rows) >= 14.0]
    middle = {name: np.sort(approved[name])[len(approved) // 2] for name in ("a", "b", "c")} | {"housing": "own"}
    row = {"a": 1.0, "b": 4.0, "c": 9.0, "housing": "rent"}
    several, one = (additive.reasons(row, 14.0, baseline=own)[0].reasons for own in (rows, middle))
    assert several == one


def test_columns_are_excluded_or_named_without_what_they_should_have_been(additive):
    row = {"a": 1.0, "b": 4.0, "c": 9.0, "housing": "rent"}
    found = additive.reasons(row, 10.0, exclude=["a"], immutable=["c"])[0]
    assert "a" not in [reason.column for reason in found.reasons]
    own = next(reason for reason in found.reasons if reason.column == "c")
    assert (own.low, own.high, own.needed, own.then, own.enough, own.proven) == (None, None, "", None, False, False)
    assert not {"a", "c"} & set(found.together)
    assert 0.3 < found.unnamed < 0.9


# ---- in words and as data --------------------------------------------------------------------------------------------


def test_words_for_a_customer_carry_the_users_texts_and_no_terminal_obeys_them(additive):
    texts = {"a": ("R01", "Income\x1b[2J is too low"), "c": "Debt is too high"}
    found = additive.reasons(
        [{"a": 1.0, "b": 4.0, "c": 9.0, "housing": "own"}][0],
        10.0,
        texts=texts,
        baseline={"a": 5.0, "b": 5.0, "c": 5.0, "housing": "own"},
    )
    said = found.why()
    assert "  1. [R01] Income\\x1b[2J is too low (a: 1). Had it been " in said
    assert " or more, the decision would have been approval." in said
    assert "  2. Debt is too high (c: 9). Had it been 0" in said
    assert "the prediction would have been at least" in said
    assert "no value of it alone is enough" in said
    assert str(found) == said
    assert not any(word in said.lower() for word in ("raw score", "eigen", "log-odds"))


def test_rows_that_are_approved_say_so_and_have_no_reasons(additive):
    found = additive.reasons({"a": 9.0, "b": 9.0, "c": 1.0, "housing": "own"}, 10.0)
    assert found[0].approved
    assert found[0].reasons == ()
    assert found.why() == "Row 0: approved, so there are no reasons."
    assert not len(found.to_frame())
    none = additive.reasons(pd.DataFrame(columns=["a", "b", "c", "housing"]), 10.0)
    assert len(none) == 0
    assert str(none) == "no rows"


def test_data_are_one_line_for_each_reason_and_plain():
    found = fitted("binary").reasons(X, target="yes", top=2)
    frame = found.to_frame()
    assert frame.columns.tolist()[:6] == ["row", "rank", "column", "code", "text", "value"]
    assert frame.groupby("row").size().max() == 2
    assert len(frame) == sum(len(own.reasons) for own in found)
    data = json.loads(json.dumps(found.to_dict()))
    assert len(data["decisions"]) == len(X)
    assert data["approval"] == "the class is 'yes'"
    assert reasons(fitted("binary"), X, target="yes", top=2).to_dict() == found.to_dict()


def test_ends_of_ranges_have_few_digits_and_stay_in_the_range():
    rng = np.random.default_rng(0)
    for end, other, start in rng.normal(size=(300, 3)) * 10.0 ** rng.uniform(-12, 12, (300, 1)):
        short = short_end(end, other, start, False)
        assert min(end, other) <= short <= max(end, other)
        assert abs(short - end) <= 0.05 * abs(end - start) + 1e-300
    assert short_end(3.0, 3.0, 1.0, True) == 3.0


def test_both_ends_of_a_range_have_few_digits():
    rows = np.random.default_rng(1).uniform(-1.0, 1.0, (400, 1))
    model = SpectralRegressor(dim=3, effort="fast", random_state=0).fit(rows, np.abs(rows[:, 0]))
    ranges = [own.reasons[0] for own in model.reasons(rows, 0.2, target="<=").declined if own.reasons]
    ends = [end for own in ranges for end in (own.low, own.high) if np.isfinite(end)]
    assert ranges
    assert max(len(repr(end)) for end in ends) <= 7


BAD = {
    "no class": ({}, "target must be the class that is an approval, one of ['no', 'yes']; got None"),
    "an unknown class": ({"target": "maybe"}, "target must be the class that is an approval"),
    "a threshold that is text": ({"target": "yes", "threshold": "high"}, "threshold must be a finite number; got"),
    "a threshold of nan": ({"target": "yes", "threshold": np.nan}, "threshold must be a finite number; got nan"),
    "a percentage": ({"target": "yes", "threshold": 60}, "threshold must be a probability, in [0, 1]; got 60"),
    "an unknown column": ({"target": "yes", "exclude": ["sex"]}, "exclude: column must be one of the model's columns"),
    "a text for no column": ({"target": "yes", "texts": {"sex": "x"}}, "texts: column must be one of"),
    "a text that is a number": ({"target": "yes", "texts": {"age": 3}}, "texts: that of column 'age' must be a text"),
    "no reasons": ({"target": "yes", "top": 0}, "top must be in [1, "),
    "an output": ({"target": "yes", "output": "yes"}, "output must be None"),
    "a baseline that is declined": ({"target": "yes", "baseline": X.iloc[:0]}, "baseline must have rows that"),
}  # fmt: skip


@pytest.mark.parametrize("fault", BAD)
def test_requests_that_make_no_sense_are_refused(fault):
    request_, message = BAD[fault]
    with pytest.raises(ValueError, match=r"\w") as caught:
        fitted("binary").reasons(X, **request_)
    assert message in str(caught.value)


@pytest.mark.parametrize(("kind", "request_", "message"), [
    ("multiclass", {"target": 1, "threshold": 0.5}, "threshold must be None with 4 classes"),
    ("regressor", {}, "threshold must be the prediction from which on a row is approved; got None"),
    ("regressor", {"threshold": 1, "target": "up"}, "target must be '>=' or '<='"),
])  # fmt: skip
def test_requests_must_fit_the_model(kind, request_, message):
    with pytest.raises(ValueError, match=r"\w") as caught:
        fitted(kind).reasons(X, **request_)
    assert message in str(caught.value)


def test_hostile_names_of_columns_and_levels_are_data():
    names = ["a'; DROP TABLE x;--", "</script>\n", "ü*/"]
    rows = NUMBERS.assign(level=np.where(np.arange(len(X)) % 2, '"quoted\n"', "\u202eback"))
    rows.columns = names
    model = SpectralClassifier(**SMALL).fit(rows, Y + (np.arange(len(X)) % 2) > 2)
    found = model.reasons(rows, target=True)
    assert {reason.column for own in found for reason in own.reasons} <= set(names)
    assert all(line.isprintable() for line in str(found).splitlines())


def test_of_many_rows_only_the_first_declined_are_printed(additive):
    rows = pd.DataFrame({"a": np.tile([1.0, 9.0], 15), "b": 5.0, "c": 5.0, "housing": "own"})
    found = additive.reasons(rows, 10.0)
    said = str(found).splitlines()
    assert said[0] == f"{len(found.declined)} of 30 rows declined"
    assert sum(line.startswith("Row ") for line in said) == 10
    assert "approved, so" not in str(found)
    assert said[-1] == f"… and {len(found.declined) - 10} more: why(row) says it of one, to_frame() of all"
