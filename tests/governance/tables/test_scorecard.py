"""Scorecards: points that add up, which class is good, and what scores separate.

Tests ``cutoffs`` and ``scorecards``.
"""

from __future__ import annotations

import math

import jsonschema
import numpy as np
import pytest
from factor_table_cases import at_edges, extreme_rows, read_json
from fitted_models import SMALL, X, Y, fitted
from openpyxl import load_workbook
from scipy.stats import ks_2samp
from sklearn.metrics import roc_auc_score

from lambdak import SpectralClassifier, SpectralOrdinalClassifier
from lambdak.governance.tables import schema
from lambdak.governance.tables.cutoffs import separation

YES = np.where(Y > 1.5, "yes", "no")
WEIGHT = np.random.default_rng(2).integers(1, 4, len(X)).astype(float)


def card(**options):
    return fitted("binary").scorecard(X, YES, **{"time_limit": 0.3, **options})


def model_scores(own, rows, good_is_second=False):
    raw = fitted("binary").model_.raw(rows) * (1 if good_is_second else -1)
    return own.scale.offset + own.scale.factor * raw


@pytest.mark.parametrize("rounded", [True, False])
@pytest.mark.parametrize("good", ["yes", "no"])
def test_no_score_is_further_from_the_models_than_proven(good, rounded):
    own = card(good=good, rounded=rounded)
    rows = extreme_rows("binary", 3000)
    for table in (rows, at_edges(own, rows)):
        apart = np.abs(own.predict(table) - model_scores(own, table, good == "yes")).max()
        assert apart <= own.proven_points
    assert own.proven_points == pytest.approx(own.scale.factor * own.deviation.proven, rel=1e-9)


def test_points_are_whole_and_the_worst_row_of_each_table_has_none():
    own = card()
    for table in own:
        np.testing.assert_array_equal(table.value, np.round(table.value))
        assert table.value.min() == 0
    assert own.base == round(own.base)
    np.testing.assert_array_equal(own.predict(X), np.round(own.predict(X)))
    free = card(rounded=False)
    assert np.abs(own.predict(X) - free.predict(X)).max() <= len(own) / 2 + 0.5


def test_base_score_odds_and_pdo_mean_what_they_say():
    own = card(pdo=40, base_score=500, base_odds=10, rounded=False)
    bad = own.bad_probability(X)
    odds = (1 - bad) / bad
    np.testing.assert_allclose(own.predict(X), 500 + 40 * np.log2(odds / 10), rtol=1e-9)


@pytest.mark.parametrize(
    ("labels", "good"),
    [(("bad", "good"), "good"), (("Default", "other"), "other"), (("a", "b"), "a"), ((0, 1), 0), ((False, True), False),
     (("no default", "x"), "no default"), (("aa", "default"), "aa"), (("fraud", "zz"), "zz")],
)  # fmt: skip
def test_the_good_class_is_the_one_that_makes_sense_and_is_said(labels, good):
    y = np.array(labels)[(Y > 1.5).astype(int)]
    model = SpectralClassifier(**SMALL | {"max_iter": 1, "n_estimators": 1, "dim": 2, "n_knots": 2}).fit(
        X[["income", "kind"]], y
    )
    own = model.scorecard(X[["income", "kind"]], y, time_limit=0.1)
    assert own.scale.good == good
    assert f"good is {own.scale.good!r}" in str(own)
    rises = np.corrcoef(own.predict(X[["income", "kind"]]), y == good)[0, 1]
    assert rises > 0


def test_an_ordinal_classifier_of_two_classes_has_a_scorecard_too():
    model = SpectralOrdinalClassifier(**SMALL | {"dim": 3}).fit(X, (Y > 1.5).astype(int))
    own = model.scorecard(X, (Y > 1.5).astype(int), good=1, time_limit=0.5)
    apart = own.predict(X) - own.scale.offset + own.scale.factor * model.model_.raw(X).ravel()
    assert np.abs(apart).max() <= own.proven_points
    assert own.cutoffs.gini > 0.3


def test_monotone_columns_keep_their_direction_in_points():
    for good, sign in (("yes", 1), ("no", -1)):
        own = card(good=good)
        bands = sum(row.kind == "band" for row in own["income"].sides[0])
        assert own["income"].sign == sign
        assert (sign * np.diff(own["income"].value[:bands]) >= 0).all()


def test_bad_rates_are_those_of_the_rows():
    own = card(good="yes")
    kind = own["kind"]
    for label in ("a", "b"):
        at = kind.labels.index(label)
        assert kind.observed[at] == pytest.approx((YES[X["kind"] == label] == "no").mean())
        assert kind.exposure[at] == (X["kind"] == label).sum()


def test_ks_and_gini_are_those_of_scipy_and_scikit_learn():
    own = card(good="yes")
    scores, bad = own.predict(X), YES == "no"
    assert own.cutoffs.ks == pytest.approx(ks_2samp(scores[bad], scores[~bad]).statistic)
    assert own.cutoffs.gini == pytest.approx(2 * roc_auc_score(~bad, scores) - 1)
    model = fitted("binary").predict_proba(X)[:, 1]
    assert own.cutoffs.model_gini == pytest.approx(2 * roc_auc_score(~bad, model) - 1)


def test_weights_count_as_repeated_rows():
    rng = np.random.default_rng(0)
    score, bad = rng.integers(0, 9, 60).astype(float), (rng.random(60) < 0.4).astype(float)
    weight = rng.integers(1, 5, 60)
    again = np.repeat(np.arange(60), weight)
    one, other = separation(score, bad, weight.astype(float)), separation(score[again], bad[again], np.ones(len(again)))
    assert one == pytest.approx(other)
    heavy = card(sample_weight=WEIGHT)
    rows = np.repeat(np.arange(len(X)), WEIGHT.astype(int))
    full = fitted("binary").scorecard(X.iloc[rows], YES[rows], time_limit=1)
    np.testing.assert_array_equal(heavy.cutoffs.count.sum(), full.cutoffs.count.sum())
    assert heavy.cutoffs.gini == pytest.approx(full.cutoffs.gini, abs=0.01)


def test_cut_offs_add_up():
    own = card(good="yes", score_bands=6)
    cut, scores, bad = own.cutoffs, own.predict(X), YES == "no"
    assert len(cut.low) <= 6
    for i, low in enumerate(cut.low):
        approved = scores >= low
        assert cut.approval_rate[i] == pytest.approx(approved.mean())
        assert cut.approved_bad_rate[i] == pytest.approx(bad[approved].mean())
        assert cut.bad_declined[i] == pytest.approx((bad & ~approved).sum() / bad.sum())
        inside = approved & (scores < cut.high[i])
        assert (cut.count[i], cut.bad[i]) == (inside.sum(), (inside & bad).sum())
    assert list(cut.to_frame()["low"]) == cut.low.tolist()
    assert "approved" in str(cut)


def test_one_class_alone_has_no_separation():
    own = fitted("binary").scorecard(X[:5], np.array(["yes"] * 5), time_limit=0.1)
    assert math.isnan(own.cutoffs.gini)
    assert "KS" not in str(own)
    assert fitted("binary").scorecard(X, time_limit=0.1).cutoffs is None
    assert fitted("binary").scorecard(time_limit=0.1).rows == 0


def test_a_reader_of_the_json_alone_gets_the_same_score():
    own = card()
    document = own.to_dict()
    jsonschema.validate(document, schema())
    rows = extreme_rows("binary", 60, seed=4)
    np.testing.assert_array_equal([read_json(document, row) for row in rows.to_dict("records")], own.predict(rows))
    assert document["scale"]["good"] == "no"


def test_the_workbook_holds_points_and_cut_offs(tmp_path):
    own = card()
    own.to_excel(tmp_path / "card.xlsx")
    book = load_workbook(tmp_path / "card.xlsx")
    assert book.sheetnames[0] == "Summary"
    assert book.sheetnames[-1] == "Cut-offs"
    assert [row[3] for row in book["age"].iter_rows(min_row=3, values_only=True)] == own["age"].value.tolist()
    assert len(list(book["Cut-offs"].iter_rows(min_row=2))) == len(own.cutoffs.low)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("poisson", {}, "classifier of two classes; got a model that predicts numbers: use relativities"),
        ("multiclass", {}, "classifier of two classes; got 4 classes: fit a classifier of two, such as y == 0"),
        ("binary", {"good": "maybe"}, r"good must be one of the classes \['no', 'yes'\]; got 'maybe'"),
        ("binary", {"pdo": 0}, "pdo must be positive"),
        ("binary", {"base_odds": -1}, "base_odds must be positive"),
        ("binary", {"base_score": math.inf}, "base_score must be a finite number; got inf"),
        ("binary", {"base_score": "600"}, "base_score must be a finite number; got '600'"),
        ("binary", {"score_bands": 0}, r"score_bands must be in \[1, 1000\)"),
        ("binary", {"X": X, "y": Y}, "y must hold classes of the model"),
    ],
)
def test_what_cannot_be_is_refused_with_the_way_out(kind, options, message):
    with pytest.raises(ValueError, match=message):
        fitted(kind).scorecard(**options)


def test_other_rows_are_separated_as_scipy_and_scikit_learn_say():
    own, half = card(), slice(0, None, 2)
    found = own.evaluate(X[half], YES[half], sample_weight=WEIGHT[half], score_bands=5)
    score, bad = own.predict(X[half]), YES[half] == own.scale.bad
    assert found.gini == pytest.approx(2 * roc_auc_score(~bad, score, sample_weight=WEIGHT[half]) - 1)
    assert own.evaluate(X[half], YES[half]).ks == pytest.approx(ks_2samp(score[bad], score[~bad]).statistic)
    assert found.count.sum() == WEIGHT[half].sum()
    assert math.isnan(found.model_gini)
    np.testing.assert_array_equal(own.evaluate(X, YES).bad_rate, own.cutoffs.bad_rate)


def test_other_rows_must_have_the_classes_of_the_model():
    own = card()
    with pytest.raises(ValueError, match=r"classes of the model, \['no', 'yes'\]; got 'maybe' in row 1"):
        own.evaluate(X[:2], ["yes", "maybe"])
    with pytest.raises(ValueError, match="y must have 2 entries"):
        own.evaluate(X[:2], ["yes"])
    with pytest.raises(ValueError, match="score_bands must be"):
        own.evaluate(X[:2], ["yes", "no"], score_bands=0)
    with pytest.raises(ValueError, match="X must have at least one row"):
        own.evaluate(X[:0], [])
