"""Two sides on the same rows: sums add up, differences are paired, changes are those of the prices.

Tests ``rate_change`` and ``rival``.
"""

from __future__ import annotations

import numpy as np
import pytest
from fitted_models import CUTS, KINDS, SMALL, X, Y, fitted, rows_of
from portfolio_cases import CLAIMS, LATE, POLICIES, YEARS, default, frequency
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import mean_poisson_deviance, roc_auc_score

from lambdak import SpectralRegressor

SOME = YEARS > 0
TARIFF = np.linspace(0.2, 0.9, 600)


@pytest.fixture(scope="module")
def both():
    return frequency().compare(TARIFF, POLICIES, CLAIMS, exposure=YEARS, names=("new", "current"), n_resamples=60)


def test_double_lift_bins_hold_the_same_exposure_and_all_totals(both):
    found = both.double_lift(5)
    rate = frequency().predict(POLICIES)
    assert found.exposure == pytest.approx(YEARS.sum() / 5, rel=0.03)
    assert found.actual.sum() == CLAIMS.sum()
    assert found.expected.sum() == pytest.approx((rate * YEARS).sum())
    assert found.other.sum() == pytest.approx((TARIFF * YEARS).sum())
    assert (np.diff(found.expected / found.other) > 0).all()
    frame = found.to_frame()
    assert frame["predicted_other"].tolist() == pytest.approx((found.other / found.exposure).tolist())


def test_metrics_of_both_sides_are_those_of_scikit_learn(both):
    observed, weight = CLAIMS[SOME] / YEARS[SOME], YEARS[SOME]
    own = both["mean poisson deviance"]
    rate = frequency().predict(POLICIES[SOME])
    assert own.model == pytest.approx(mean_poisson_deviance(observed, rate, sample_weight=weight))
    assert own.other == pytest.approx(mean_poisson_deviance(observed, TARIFF[SOME], sample_weight=weight))
    assert own.difference == pytest.approx(own.model - own.other)
    assert own.low < own.difference < own.high < 0
    assert own.better == "new"
    assert both["Gini"].better == "new"
    assert both["actual / expected"].better == ""


def test_a_model_does_not_differ_from_itself_on_any_resample():
    found = frequency().compare(frequency(), POLICIES, CLAIMS, exposure=YEARS, n_resamples=20)
    for own in found.metrics:
        assert (own.difference, own.low, own.high) == pytest.approx((0, 0, 0), abs=1e-14)
        assert own.better == ""
    assert found.off_balance == 1


def test_pairing_makes_intervals_narrower_than_those_of_two_separate_models():
    model = fitted("regressor")
    other = model.predict(X) + 0.01 * np.sin(np.arange(len(Y)))
    paired = model.compare(other, X, Y)["RMSE"]
    alone = model.performance(X, Y)["RMSE"]
    assert paired.high - paired.low < 0.1 * (alone.high - alone.low)


def test_differences_are_seeded():
    found = [frequency().compare(TARIFF, POLICIES, CLAIMS, n_resamples=20, random_state=seed) for seed in (3, 3, 4)]
    assert found[0].metrics == found[1].metrics
    assert found[0].metrics != found[2].metrics


def test_the_other_side_may_be_a_model_an_array_a_number_or_a_column():
    model = fitted("linear")
    table = X.assign(tariff=model.predict(X))
    wanted = fitted("free").compare(model, X, Y, n_resamples=0)["RMSE"].other
    for other in (model.model_, model.predict(X), table["tariff"], "tariff"):
        assert fitted("free").compare(other, table, Y, n_resamples=0)["RMSE"].other == pytest.approx(wanted)
    flat = fitted("free").compare(2.0, X, Y, n_resamples=0)["RMSE"].other
    assert flat == pytest.approx(np.sqrt(np.mean((Y - 2) ** 2)))
    numbers = POLICIES[["power"]]
    line = LinearRegression().fit(numbers, CLAIMS)
    own = SpectralRegressor(**SMALL).fit(numbers, CLAIMS)
    assert own.compare(line, numbers, CLAIMS, n_resamples=0)["R²"].other == pytest.approx(line.score(numbers, CLAIMS))


def test_classifiers_of_any_library_are_compared_by_the_same_class():
    numbers = POLICIES[["power"]]
    other = LogisticRegression().fit(numbers, LATE)
    found = default().compare(other.predict_proba(numbers)[:, 1], POLICIES, LATE, n_resamples=0)
    chance = other.predict_proba(numbers)[:, 1]
    assert found["ROC AUC"].other == pytest.approx(roc_auc_score(LATE == "yes", chance))
    prior = DummyClassifier().fit(POLICIES, LATE)
    assert default().compare(prior, POLICIES, LATE, n_resamples=0)["ROC AUC"].other == pytest.approx(0.5)
    with pytest.raises(ValueError, match="other must know class 'yes'; got one of"):
        default().compare(DummyClassifier().fit(POLICIES, CLAIMS), POLICIES, LATE)
    with pytest.raises(ValueError, match=r"other must be probabilities in \[0, 1\]; got 2 at row 0"):
        default().compare(2.0, POLICIES, LATE)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "quantile" not in kind])
def test_every_model_can_be_compared(kind):
    output = 1 if kind in ("multiclass", "ordinal") else None
    table, model = rows_of(kind), fitted(kind)
    rows = table.shape[0]
    target = {"binary": np.where(Y > 1.5, "yes", "no"), "multiclass": CUTS, "ordinal": CUTS}
    y = target.get(kind, np.maximum(np.resize(Y, rows), 0))
    found = model.compare(0.5, table, y, output=output, n_resamples=2)
    assert found.double_lift(4).rows.sum() == rows
    assert len(found.to_frame()) == len(found.metrics)
    assert "off-balance factor" in str(found)


def test_a_side_that_predicts_something_else_is_refused():
    numbers, classes = fitted("free"), fitted("binary")
    trees = DummyClassifier().fit(POLICIES[["power"]], LATE)
    for other in (classes, classes.model_, trees):
        for y in (None, Y):
            with pytest.raises(ValueError, match=r"model does, numbers; it predicts probabilities of classes: compare"):
                numbers.compare(other, X, y)
    for other in (numbers, LinearRegression().fit(POLICIES[["power"]], CLAIMS)):
        with pytest.raises(ValueError, match=r"model does, probabilities of classes; it predicts numbers: compare"):
            classes.compare(other, X)
    with pytest.raises(ValueError, match="model does, numbers; it predicts quantiles: compare models of the same"):
        numbers.compare(fitted("quantiles"), X, Y)
    with pytest.raises(ValueError, match="other must know class 'yes'; got one of"):
        classes.compare(fitted("multiclass"), X)


def test_the_same_class_is_compared_wherever_it_is_among_the_others():
    found = default().compare(default(), POLICIES, output="no")
    assert found.other == pytest.approx(default().predict_proba(POLICIES)[:, 0])


def test_quantiles_are_compared_without_what_was_observed():
    model = fitted("quantiles")
    with pytest.raises(ValueError, match="this model predicts quantiles: leave y out"):
        model.compare(1.0, X, Y)
    found = model.compare(2.0, X)
    assert found.model == pytest.approx(model.predict(X))
    with pytest.raises(ValueError, match=r"this needs what was observed: call compare\(other, X, y\)"):
        found.double_lift()


def test_changes_are_those_of_the_prices(both):
    ratio = (frequency().predict(POLICIES) / TARIFF - 1)[SOME]
    weight = YEARS[SOME].to_numpy()
    found = both.changes(limits=(0.1, 0.3))
    share = [weight[own].sum() / weight.sum() for own in (ratio < -0.1, ratio > 0.1)]
    assert found.share_beyond(0.1) == pytest.approx(tuple(share))
    assert found.names == ("below −30 %", "−30 to −10 %", "within ±10 %", "+10 to +30 %", "above +30 %")
    assert found.rows.tolist() == [
        (ratio < -0.3).sum(), ((ratio >= -0.3) & (ratio < -0.1)).sum(), (np.abs(ratio) <= 0.1).sum(),
        ((ratio > 0.1) & (ratio <= 0.3)).sum(), (ratio > 0.3).sum(),
    ]  # fmt: skip
    assert found.mean == pytest.approx(np.average(ratio, weights=weight))
    old, new = (TARIFF[SOME] * weight).sum(), (frequency().predict(POLICIES[SOME]) * weight).sum()
    assert (found.old.sum(), found.new.sum()) == pytest.approx((old, new))
    assert found.off_balance == pytest.approx(new / old)
    wanted = np.quantile(ratio, 0.5, weights=weight, method="inverted_cdf")
    assert found.quantiles[0.5] == pytest.approx(wanted)
    assert found.to_frame()["share"].sum() == pytest.approx(1)
    assert "new against current: off-balance factor" in str(found)


def test_changes_by_segment_are_those_of_its_rows(both):
    ratio, rate = frequency().predict(POLICIES) / TARIFF - 1, frequency().predict(POLICIES)
    found = both.changes_by("region")
    for i, name in enumerate(found.names):
        own = (SOME & (POLICIES["region"] == name)).to_numpy()
        weight = YEARS[own]
        assert found.change[i] == pytest.approx((rate[own] * weight).sum() / (TARIFF[own] * weight).sum() - 1)
        ends = np.quantile(ratio[own], [0.05, 0.95], weights=weight, method="inverted_cdf")
        assert (found.low[i], found.high[i]) == pytest.approx(tuple(ends))
        assert found.rises[i] == pytest.approx(weight[ratio[own] > 0].sum() / weight.sum())
    assert found.new.sum() == pytest.approx(both.changes().new.sum())
    assert both.changes_by("age").names[-1] == "missing"
    assert len(found.to_frame()) == 3


def test_no_change_is_within_every_limit():
    found = frequency().compare(frequency(), POLICIES).changes()
    assert found.share_beyond(0) == (0, 0)
    assert found.rows.tolist() == [0, 0, 0, 0, 600, 0, 0, 0, 0]


def test_rebasing_makes_totals_equal():
    found = frequency().compare(7 * TARIFF, POLICIES, CLAIMS, exposure=YEARS, rebase=True, n_resamples=0)
    assert found.off_balance == pytest.approx(1)
    assert found.rebased[1] == pytest.approx(CLAIMS.sum() / (7 * TARIFF * YEARS).sum())
    assert found.double_lift().expected.sum() == pytest.approx(CLAIMS.sum())
    assert found["actual / expected"].other == pytest.approx(1)
    without = frequency().compare(7 * TARIFF, POLICIES, exposure=YEARS, rebase=True)
    assert without.off_balance == pytest.approx(1)
    assert without.rebased[1] == 1
    with pytest.raises(ValueError, match="rebase needs positive totals"):
        frequency().compare(TARIFF, POLICIES, np.zeros(600), rebase=True)


def test_what_is_not_positive_is_sorted_by_difference_and_has_no_change():
    found = fitted("regressor").compare(np.linspace(-1, 1, len(Y)), X, Y, n_resamples=0)
    lift = found.double_lift(6)
    assert lift.about == "difference"
    assert (np.diff((lift.expected - lift.other) / lift.exposure) > 0).all()
    with pytest.raises(ValueError, match="a change in per cent needs positive predictions; other has -1 at row 0"):
        found.changes()


@pytest.mark.parametrize(
    ("other", "options", "message"),
    [
        (np.ones(3), {}, r"other must have 600 entries, one per row of X; got 3"),
        (np.full(600, np.nan), {}, "other must be finite; got nan at row"),
        (np.zeros(600), {}, "other must be positive for loss='poisson'; got 0 at row"),
        ("premium", {}, "other must name a column of X, 'age', 'region', 'power', or be an array"),
        (["a"] * 600, {}, "other must hold numbers; got 'a' at row 0"),
        (TARIFF, {"names": ("a", "a")}, "names must be two different ones"),
    ],
)
def test_what_cannot_be_compared_is_refused(other, options, message):
    with pytest.raises(ValueError, match=message):
        frequency().compare(other, POLICIES, CLAIMS, exposure=YEARS, **options)


def test_there_must_be_another_side():
    with pytest.raises(TypeError, match="other must be a fitted model, an array, a number, or the name of a column"):
        frequency().compare(None, POLICIES)


def test_limits_are_positive(both):
    with pytest.raises(ValueError, match="limits must be positive"):
        both.changes(limits=(0.0, 0.1))
