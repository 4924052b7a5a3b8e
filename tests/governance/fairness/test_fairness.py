"""Fairness: flips tried one by one through predict, bounds attacked, proxies and metrics against other libraries.

Tests ``assessing``, ``assessment``, ``flips`` and ``groups``.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from fitted_models import CUTS, SMALL, X, Y, fitted
from scipy.stats import contingency

from lambdak import SpectralClassifier, SpectralRegressor
from lambdak.governance.fairness import fairness
from lambdak.governance.fairness.flips import prediction_bound
from lambdak.governance.fairness.groups import cramers_v

CASES = [
    ("binary", {"threshold": 0.6}),
    ("multiclass", {"target": 2}),
    ("ordinal", {"target": (">=", 2)}),
    ("regressor", {"threshold": 2.0}),
    ("poisson", {"threshold": 1.5}),
    ("linear", {"threshold": 2.0}),
    ("convex", {}),
    ("quantiles", {"output": 0.9}),
]
COLUMNS = ["region", "age", "kind"]


@pytest.fixture(scope="module")
def loans():
    """Title says nearly the same as sex; the target depends on sex, which the free model uses."""
    rng = np.random.default_rng(0)
    sex, income = rng.integers(0, 2, 900), rng.normal(size=900)
    title = np.where(rng.random(900) < 0.9, sex, 1 - sex)
    rows = pd.DataFrame({
        "sex": np.where(sex == 1, "f", "m"), "title": np.where(title == 1, "Ms", "Mr"), "income": income,
        "job": rng.choice(list("abcde"), 900),
    })  # fmt: skip
    return rows, (income + sex + rng.normal(size=900) > 0.7).astype(int)


@pytest.fixture(scope="module")
def assessed(loans):
    rows, y = loans
    model = SpectralClassifier(effort="fast", random_state=0, n_jobs=1).fit(rows, y)
    return model, model.fairness(rows, "sex", y, threshold=0.5)


# ---- measured --------------------------------------------------------------------------------------------------------


def test_effects_are_those_of_rows_whose_cells_are_changed_one_by_one(loans, assessed):
    rows, _ = loans
    model, found = assessed
    p = np.stack([model.predict_proba(rows.assign(sex=level))[:, 1] for level in ("f", "m")])
    np.testing.assert_array_equal(found.flips.predictions, p)
    np.testing.assert_array_equal(found.effect, np.abs(p[1] - p[0]))
    (pair,) = found.flips.pairs
    assert (pair.first, pair.second) == ("f", "m")
    assert pair.mean == pytest.approx((p[1] - p[0]).mean())
    assert pair.largest == np.abs(p[1] - p[0]).max()
    assert pair.changed == found.changed == int(((p[0] >= 0.5) != (p[1] >= 0.5)).sum()) > 0


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize(("kind", "options"), CASES, ids=str)
def test_nothing_that_is_measured_or_tried_exceeds_what_is_proven(kind, options, column):
    model = fitted(kind)
    found = model.fairness(X, column, **options)
    rng, rows = np.random.default_rng(0), pd.concat([X] * 6, ignore_index=True)
    own = model.model_.encoder.columns[X.columns.get_loc(column)]
    if own.is_number:  # and missing, and far away where the column is constant there
        far = [-1e9, 1e9] if own.bounded else [own.low, own.high]
        cells = [rng.choice([*own.nodes(), np.nan, *far], len(rows)) for _ in range(2)]
    else:
        cells = [rng.choice(np.array(["north", "south", "a", "b", "never", None], object), len(rows)) for _ in range(2)]
    first, second = (model.model_.raw(rows.assign(**{column: own_cells})) for own_cells in cells)
    assert np.abs(first - second).max() <= found.alone.score
    assert 0.1 * found.alone.score < np.ptp(found.flips.scores, axis=0).max() <= found.alone.score
    for one, other in [(first, second)]:
        before, after = (model.model_.loss.predict(own) for own in (one, other))
        if kind == "ordinal":
            before, after = np.cumsum(before, axis=1), np.cumsum(after, axis=1)
        change = np.abs(after / before - 1) if found.factor else np.abs(after - before)
        assert change.max() <= found.alone.prediction + (1e-12 if kind == "ordinal" else 0.0)  # of the sum, in the test
    assert found.together.score >= found.alone.score or len(found.together.columns) == 1


@pytest.mark.parametrize("column", COLUMNS)
def test_decisions_that_are_proven_to_stay_do_so_for_every_value(column):
    model = fitted("binary")
    found = model.fairness(X, column, threshold=0.6, target="yes")
    own = model.model_.encoder.columns[X.columns.get_loc(column)]
    cells = [*own.nodes(), -1e9, 1e9] if own.is_number else ["north", "south", "a", "b", "never", "rare"]
    decided = np.stack([model.predict_proba(X.assign(**{column: cell}))[:, 1] >= 0.6 for cell in cells])
    stays = (decided == decided[0]).all(axis=0)
    assert found.flips.settled.any()
    assert not (found.flips.settled & ~stays).any()


@pytest.mark.parametrize("column", ["number", "level", "constant"])
def test_a_decision_that_a_missing_cell_changes_is_not_settled(column):
    rng, n = np.random.default_rng(0), 400
    unknown = rng.random(n) < 0.3
    rows = pd.DataFrame({"number": rng.uniform(0, 1, n), "level": rng.choice(["a", "b"], n), "constant": 1.0})
    rows[column] = rows[column].astype(object).where(~unknown, None)
    rows = rows.astype({"number": float, "constant": float})
    model = SpectralClassifier(effort="fast", max_iter=20, n_estimators=1, random_state=0).fit(rows, unknown)
    found = model.fairness(rows, column, threshold=0.5, target=True)
    known = {"number": 0.5, "level": "a", "constant": 1.0}[column]
    as_missing, as_known = (
        model.predict_proba(rows.assign(**{column: pd.Series([cell] * n, dtype=rows[column].dtype)}))[:, 1] >= 0.5
        for cell in (None, known)
    )
    assert (as_missing != as_known).all()
    assert not found.flips.settled.any()


def test_probabilities_move_by_no_more_than_the_bound_and_come_close_to_it():
    model, rng = fitted("binary").model_, np.random.default_rng(0)
    for delta in (1e-300, 1e-9, 0.1, 1.0, 8.0, 200.0):
        r = np.append(rng.normal(size=2000) * 3, -delta / 2)
        change = np.abs(model.loss.predict(r + delta) - model.loss.predict(r)).max()
        bound = prediction_bound(model, [delta])
        assert change <= bound
        assert bound <= change * (1 + 1e-9) + 1e-12
    several = fitted("multiclass").model_
    scores = rng.normal(size=(3000, 4)) * 3
    for deltas in ([0.1, 0.2, 0.3, 0.4], [2.0, 0.0, 0.0, 1.0], [5.0] * 4):
        moved = scores + rng.choice([-1, 1], scores.shape) * np.array(deltas)
        assert np.abs(several.loss.predict(moved) - several.loss.predict(scores)).max() <= prediction_bound(
            several, deltas
        )
    assert prediction_bound(model, [0.0]) == 0.0
    assert prediction_bound(fitted("poisson").model_, [1e4]) == np.inf


def test_a_cap_on_the_group_bounds_the_joint_effect(loans):
    rows, y = loans
    model = SpectralClassifier(effort="fast", random_state=0, max_influence={("sex", "title"): 0.2}, n_jobs=1).fit(
        rows, y
    )
    found = model.fairness(rows, "sex", y, threshold=0.5)
    assert found.together.columns == ("sex", "title")
    assert found.together.score <= 0.2
    assert found.together.prediction <= np.tanh(0.05) + 1e-12
    p = [model.predict_proba(rows.assign(sex=s, title=t))[:, 1] for s in ("f", "m", "x") for t in ("Ms", "Mr", None)]
    assert np.ptp(p, axis=0).max() <= found.together.prediction


# ---- proxies and groups ----------------------------------------------------------------------------------------------


def test_proxies_are_ranked_by_association_and_moved_together_if_it_is_strong(assessed):
    _, found = assessed
    assert found.proxies[0].column == "title"
    assert found.proxies[0].association > 0.7 > 0.2 > found.proxies[1].association
    assert found.together.columns == ("sex", "title")


def test_named_proxies_are_taken_and_others_are_not(loans, assessed):
    found = fairness(assessed[0], loans[0], "sex", proxies=["job", "sex"])
    assert found.together.columns == ("sex", "job")
    assert fairness(assessed[0], loans[0], "sex", proxies=[]).together.columns == ("sex",)


def test_cramers_v_is_that_of_scipy_for_many_rows_and_zero_for_columns_that_do_not_belong_together():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 4, 200_000)
    second = np.where(rng.random(200_000) < 0.4, first, rng.integers(0, 6, 200_000))
    table = contingency.crosstab(first, second).count
    assert cramers_v(first, second) == pytest.approx(contingency.association(table, "cramer"), abs=1e-3)
    many = [cramers_v(rng.integers(0, 2, 300), rng.integers(0, 40, 300)) for _ in range(20)]
    assert np.mean(many) < 0.1, "what chance gives is taken away"
    assert cramers_v(np.zeros(5, int), np.arange(5)) == 0.0


def test_group_metrics_are_those_of_fairlearn(loans, assessed):
    metrics = pytest.importorskip("fairlearn.metrics")
    rows, y = loans
    model, found = assessed
    own, approved = found.group_metrics(), model.predict_proba(rows)[:, 1] >= 0.5
    assert own.demographic_parity_difference == metrics.demographic_parity_difference(
        y, approved, sensitive_features=rows["sex"]
    )
    assert own.equalized_odds_difference == metrics.equalized_odds_difference(
        y, approved, sensitive_features=rows["sex"]
    )
    for level in ("f", "m"):
        here = (rows["sex"] == level).to_numpy()
        line = own.by_group.loc[level]
        assert line["selection rate"] == pytest.approx(approved[here].mean())
        assert line["true positive rate"] == pytest.approx(approved[here & (y == 1)].mean())
        assert line["false positive rate"] == pytest.approx(approved[here & (y == 0)].mean())
        assert line["observed share"] == pytest.approx(y[here].mean())
        assert line["mean prediction"] == pytest.approx(model.predict_proba(rows)[here, 1].mean())
    assert "equalised odds difference" in str(own)


def test_without_fairlearn_the_error_says_what_to_install(assessed, monkeypatch):
    monkeypatch.setitem(sys.modules, "fairlearn", None)
    with pytest.raises(ImportError, match=r"pip install 'lambdak\[fairness\]'"):
        assessed[1].group_metrics()


def test_metrics_need_decisions_and_targets_of_the_right_length(loans, assessed):
    with pytest.raises(ValueError, match="give fairness a threshold, or a target"):
        fitted("regressor").fairness(X, "kind").group_metrics()
    with pytest.raises(ValueError, match=r"y must have 900 entries, one per row of X; got 3"):
        fairness(assessed[0], loans[0], "sex", [1, 0, 1])
    with pytest.raises(ValueError, match="column must be one of the model's columns"):
        fairness(assessed[0], loans[0], "gender")


# ---- in words and as data --------------------------------------------------------------------------------------------


def test_it_prints_what_was_measured_and_what_is_proven(assessed):
    said = str(assessed[1])
    assert "Measured: flipping sex changes the probability of approval by" in said
    assert "Approved means: " in said
    assert "Decisions: " in said
    assert "Proven: no change of sex moves a raw score by more than" in said
    assert "Association of other columns with sex (0 none, 1 tells all): title 0." in said
    assert "Proven, with its proxies: no change of sex and title at once" in said
    assert "by a factor of more than" in str(fitted("poisson").fairness(X, "kind"))
    assert "within the training range" in str(fitted("convex").fairness(X, "kind"))


def test_tables_have_one_line_for_each_pair_proxy_and_row(assessed):
    _, found = assessed
    assert found.to_frame()["largest"].tolist() == [found.effect.max()]
    assert found.to_frame("proxies")["column"].tolist()[0] == "title"
    assert len(found.to_frame("rows")) == 900
    assert found.to_dict()["together"]["columns"] == ("sex", "title")
    with pytest.raises(ValueError, match="what must be 'pairs', 'proxies' or 'rows'; got 'all'"):
        found.to_frame("all")


@pytest.mark.parametrize("column", ["sex", "income"])
def test_the_picture_stays_inside_what_is_proven(assessed, loans, column):
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = fairness(assessed[0], loans[0], column, threshold=0.5).plot()
    proven = [line.get_xdata() for line in ax.lines if line.get_linewidth() == 12]
    seen = [line.get_xdata() for line in ax.lines if line.get_marker() == "|"]
    assert len(proven) == len(seen) == {"sex": 1, "income": 10}[column]
    assert all(p[0] <= s[0] <= s[1] <= p[1] for p, s in zip(proven, seen, strict=True))
    plt.close(ax.figure)


def test_hostile_names_no_rows_and_columns_of_one_value_are_no_trouble():
    rows = X.assign(one=1.0).rename(columns={"kind": "</script>\n$x$"})
    model = SpectralRegressor(**SMALL).fit(rows, Y)
    assert (
        str(model.fairness(rows, "</script>\n$x$", threshold=1.0)).isprintable() is False
    )  # line breaks of its own only
    assert all(line.isprintable() for line in str(model.fairness(rows, "</script>\n$x$")).splitlines())
    one = model.fairness(rows, "one", threshold=1.0)
    assert (one.alone.score, one.alone.prediction, one.changed) == (0.0, 0.0, 0)
    empty = model.fairness(rows.iloc[:0], "region", threshold=1.0)
    assert len(empty.effect) == 0
    assert "Proven: no change of region" in str(empty)


def test_targets_of_several_classes_count_as_the_named_one():
    found = fitted("multiclass").fairness(X, "kind", CUTS, target=2).group_metrics()
    approved = fitted("multiclass").predict(X) == 2
    here = (X["kind"] == "a").to_numpy()
    assert found.by_group.loc["a", "true positive rate"] == pytest.approx(approved[here & (CUTS == 2)].mean())


@pytest.mark.parametrize("offset", [1e9, 1e15, 1e17, -1e15])
def test_bounds_cover_what_rounding_does_to_an_offset(offset):
    found = fitted("free").fairness(X, "kind", offset=np.full(len(X), offset))
    assert found.effect.max() <= found.alone.prediction
    assert all(pair.largest <= min(pair.bound, pair.score_bound) for pair in found.flips.pairs)


def test_behind_a_log_link_the_measured_factor_is_said_beside_the_proven_one():
    found = fitted("poisson").fairness(X, "kind", offset=np.full(len(X), 3.0))
    ratio = (found.flips.predictions.max(axis=0) / found.flips.predictions.min(axis=0)).max()
    assert ratio <= 1 + found.alone.prediction
    assert f", and by a factor of {ratio:.4g} at most." in str(found)
    assert found.to_dict()["factor"] is True
