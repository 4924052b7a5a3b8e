"""Performance of every kind of model: totals add up, metrics are those of scikit-learn, intervals are seeded.

Tests ``bootstrap``, ``measures``, ``outcome``, ``scored`` and ``segments``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from fitted_models import CUTS, KINDS, SPARSE, X, Y, fitted, rows_of
from portfolio_cases import CLAIMS, LATE, POLICIES, YEARS, default, frequency
from sklearn import metrics

SOME = YEARS > 0
TARGETS = {
    "binary": np.where(Y > 1.5, "yes", "no"),
    "multiclass": CUTS,
    "ordinal": CUTS,
    "poisson": np.maximum(Y, 0),
    "sparse": SPARSE.sum(axis=1),
    "wide": np.resize(Y, 700),
}


@pytest.fixture(scope="module")
def claims():
    return frequency().performance(POLICIES, CLAIMS, exposure=YEARS, n_resamples=60)


def test_exposure_makes_rates_of_totals_and_rows_without_it_do_not_count(claims):
    rate = frequency().predict(POLICIES[SOME])
    assert claims.rows == SOME.sum()
    assert claims.actual == CLAIMS.sum()
    assert claims.exposure == pytest.approx(YEARS.sum())
    assert claims.expected == pytest.approx((rate * YEARS[SOME]).sum())
    assert claims["actual / expected"].value == pytest.approx(CLAIMS.sum() / claims.expected)


def test_deviance_and_errors_are_those_of_scikit_learn(claims):
    rate, observed, weight = frequency().predict(POLICIES[SOME]), CLAIMS[SOME] / YEARS[SOME], YEARS[SOME]
    deviance = metrics.mean_poisson_deviance(observed, rate, sample_weight=weight)
    assert claims["mean poisson deviance"].value == pytest.approx(deviance)
    d2 = metrics.d2_tweedie_score(observed, rate, power=1, sample_weight=weight)
    assert claims["deviance explained"].value == pytest.approx(d2)
    rmse = metrics.root_mean_squared_error(observed, rate, sample_weight=weight)
    assert claims["RMSE"].value == pytest.approx(rmse)
    assert claims["MAE"].value == pytest.approx(metrics.mean_absolute_error(observed, rate, sample_weight=weight))


def test_rates_with_weights_say_the_same_as_totals_with_exposure(claims):
    other = frequency().performance(POLICIES[SOME], CLAIMS[SOME] / YEARS[SOME], sample_weight=YEARS[SOME])
    assert [each.value for each in other.metrics] == pytest.approx([each.value for each in claims.metrics])


def test_regression_metrics_are_those_of_scikit_learn():
    found = fitted("regressor").performance(X, Y, n_resamples=0)
    assert found["R²"].value == pytest.approx(metrics.r2_score(Y, fitted("regressor").predict(X)))
    assert np.isnan(found["R²"].low)
    assert "Gini" not in [each.name for each in found.metrics]  # some targets are negative
    with pytest.raises(ValueError, match="cannot be negative; mean target is, in 8 rows"):
        found.lorenz()


@pytest.mark.parametrize("value", [0.0, 0.1, 3.0])  # the mean of a hundred times 0.1 is not 0.1
def test_nothing_is_explained_where_all_rows_are_alike(value):
    rates = np.full(SOME.sum(), value)
    found = frequency().performance(POLICIES[SOME], rates * YEARS[SOME], exposure=YEARS[SOME], n_resamples=20)
    values = {own.name: own.value for own in found.metrics}
    assert np.isnan(values["deviance explained"])
    assert values["mean poisson deviance"] > 0
    if value:
        assert values["Gini"] == 0.0
        assert np.isnan(values["normalised Gini"])
        assert np.isnan(found.lorenz().normalised_gini)
    numbers = fitted("regressor").performance(X, np.full(len(X), value), n_resamples=20)
    assert np.isnan(numbers["R²"].value)
    one_class = fitted("binary").performance(X, np.full(len(X), "no"), n_resamples=0)
    assert np.isnan(one_class["loss explained"].value)
    quantile = fitted("quantiles").performance(X, np.full(len(X), value), n_resamples=0)
    assert np.isnan(quantile["loss explained"].value)


def test_classifier_metrics_are_those_of_scikit_learn():
    weight = np.linspace(0.5, 2, len(LATE))
    found = default().performance(POLICIES, LATE, sample_weight=weight, n_resamples=0)
    chance = default().predict_proba(POLICIES)[:, 1]
    assert found["ROC AUC"].value == pytest.approx(metrics.roc_auc_score(LATE == "yes", chance, sample_weight=weight))
    assert found["normalised Gini"].value == pytest.approx(2 * found["ROC AUC"].value - 1)
    assert found["normalised Gini"].value == pytest.approx(found.lorenz().normalised_gini)
    assert found["Brier score"].value == pytest.approx(
        metrics.brier_score_loss(LATE == "yes", chance, sample_weight=weight)
    )
    assert found["mean log loss"].value == pytest.approx(metrics.log_loss(LATE == "yes", chance, sample_weight=weight))
    assert found["KS"].value == pytest.approx(found.roc().ks)
    first = default().performance(POLICIES, LATE, sample_weight=weight, output="no", n_resamples=0)
    assert first["ROC AUC"].value == pytest.approx(found["ROC AUC"].value)


def test_the_classes_of_several_are_compared_one_by_one():
    model = fitted("multiclass")
    with pytest.raises(ValueError, match=r"which of 4 classes is meant, one of \[0, 1, 2, 3\]"):
        model.performance(X, CUTS)
    found = model.performance(X, CUTS, output=3, n_resamples=0)
    assert found["ROC AUC"].value == pytest.approx(metrics.roc_auc_score(CUTS == 3, model.predict_proba(X)[:, 3]))
    with pytest.raises(ValueError, match="y must hold known classes; got 'blue'"):
        model.performance(X, np.full(len(X), "blue"), output=0)


def test_quantiles_are_read_by_how_often_they_hold():
    model = fitted("quantiles")
    low, _, high = model.predict_quantiles(X).T
    whole = model.performance(X, Y, n_resamples=0)
    name = "share between quantiles 0.1 and 0.9"
    assert whole[name].value == pytest.approx(np.mean((low <= Y) & (high >= Y)))
    assert whole.by("kind").predicted == pytest.approx(0.8)
    last = model.performance(X, Y, output=0.9, n_resamples=0)
    assert last["share up to quantile 0.9"].value == pytest.approx(np.mean(high >= Y))
    assert last["mean pinball loss"].value == pytest.approx(metrics.mean_pinball_loss(Y, high, alpha=0.9))
    with pytest.raises(ValueError, match="a quantile has no Lorenz curve"):
        last.lorenz()


@pytest.mark.parametrize("kind", KINDS)
def test_segments_of_every_model_add_up_to_its_totals(kind):
    several = 1 if kind in ("multiclass", "ordinal") else None
    table = rows_of(kind)
    found = fitted(kind).performance(table, TARGETS.get(kind, Y), output=several, n_resamples=0)
    for own in (found.lift(7), found.by(found.columns.names[0]), found.by_time(np.arange(found.rows) % 5)):
        assert own.rows.sum() == found.rows
        for name in ("exposure", "actual", "expected"):
            assert getattr(own, name).sum() == pytest.approx(getattr(found, name))
    assert len(found.to_frame()) == len(found.metrics)
    assert str(found).startswith(f"{found.rows:,} rows")


def test_lift_bins_hold_the_same_exposure_and_never_split_equal_predictions(claims):
    lift = claims.lift(5)
    assert lift.exposure == pytest.approx(YEARS.sum() / 5, rel=0.03)
    assert (np.diff(lift.predicted) > 0).all()
    flat = frequency().performance(POLICIES.iloc[[1] * 9], CLAIMS[:9], exposure=np.ones(9), n_resamples=0)
    assert len(flat.lift()) == 1
    assert flat.lift().actual[0] == CLAIMS[:9].sum()
    assert flat["Gini"].value == pytest.approx(0)
    assert np.isnan(flat.calibration().slope)


def test_calibration_of_what_the_model_predicts_is_perfect():
    rate = frequency().predict(POLICIES)
    found = frequency().performance(POLICIES, rate, n_resamples=0).calibration()
    assert found.balance == pytest.approx(1)
    assert found.slope == pytest.approx(1)
    assert found.error == pytest.approx(0, abs=1e-12)


def test_missing_cells_levels_and_extra_columns_are_segments():
    table = POLICIES.assign(channel=["agent", "web", None] * 200)
    found = frequency().performance(table, CLAIMS, exposure=YEARS, n_resamples=0)
    by_age = found.by("age", bands=4)
    assert by_age.names[-1] == "missing"
    assert by_age.rows[-1] == (POLICIES["age"].isna() & SOME).sum()
    by_region = found.by("region")
    assert by_region.names == ("north", "south", "west")  # by exposure
    wanted = CLAIMS.groupby(POLICIES["region"]).sum()
    assert dict(zip(by_region.names, by_region.actual, strict=True)) == wanted.to_dict()
    assert set(found.by("channel").names) == {"agent", "web", "missing"}
    assert found.by(table["channel"]).actual.tolist() == found.by("channel").actual.tolist()
    assert found.by(table["channel"]).about == "channel"
    with pytest.raises(ValueError, match="by must name a column of X, 'age', 'region', 'power', 'channel', or be an"):
        found.by("agent")
    with pytest.raises(ValueError, match=r"or have shape \(600,\), an entry for each row of X; got shape \(3,\)"):
        found.by([1, 2, 3])


@pytest.mark.parametrize("library", [pd.DataFrame, lambda table: pl.from_pandas(table), lambda t: t.to_numpy()])
def test_tables_of_any_library_give_the_same_segments(library):
    table = POLICIES[["age", "power"]]
    model = fitted_on_numbers()
    found = model.performance(library(table), CLAIMS, exposure=YEARS, n_resamples=0)
    wanted = model.performance(table, CLAIMS, exposure=YEARS, n_resamples=0)
    name = found.columns.names[1]
    assert found.by(name).actual.tolist() == wanted.by("power").actual.tolist()


def fitted_on_numbers():
    from lambdak import SpectralRegressor

    some = POLICIES.loc[SOME, ["age", "power"]]
    return SpectralRegressor("poisson", effort="fast", max_iter=1, dim=1, random_state=0).fit(some, CLAIMS[SOME])


def test_intervals_are_seeded_and_hold_the_value(claims):
    again = frequency().performance(POLICIES, CLAIMS, exposure=YEARS, n_resamples=60)
    other = frequency().performance(POLICIES, CLAIMS, exposure=YEARS, n_resamples=60, random_state=1)
    assert again.metrics == claims.metrics
    assert other.metrics != claims.metrics
    for metric in claims.metrics:
        assert metric.low < metric.value < metric.high


def test_intervals_of_a_mean_are_as_wide_as_its_standard_error():
    found = fitted("regressor").performance(X, Y, n_resamples=2000)["MAE"]
    error = np.abs(Y - fitted("regressor").predict(X)).std() / len(Y) ** 0.5
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * error, rel=0.1)


def test_rows_of_a_policy_are_resampled_together():
    often = np.repeat(np.arange(len(X)), 4)
    four = fitted("regressor").performance(X.iloc[often], Y[often], groups=often)["MAE"]
    alone = fitted("regressor").performance(X.iloc[often], Y[often])["MAE"]
    once = fitted("regressor").performance(X, Y)["MAE"]
    assert (four.low, four.high) == pytest.approx((once.low, once.high))  # copies of a row tell nothing new
    assert (alone.high - alone.low) / (four.high - four.low) == pytest.approx(0.5, abs=0.1)
    segments = fitted("regressor").performance(X.iloc[often], Y[often], groups=often).by("kind")
    wanted = fitted("regressor").performance(X, Y).by("kind")
    assert segments.observed_high == pytest.approx(wanted.observed_high)


def test_the_interval_of_a_segment_is_that_of_its_mean():
    found = fitted("regressor").performance(X, Y, n_resamples=0).by("kind")
    for name, low, high in zip(found.names, found.observed_low, found.observed_high, strict=True):
        own = Y[X["kind"] == name]
        error = own.std(ddof=1) / len(own) ** 0.5
        assert (low, high) == pytest.approx((own.mean() - 1.959964 * error, own.mean() + 1.959964 * error))


def test_one_row_and_no_claims_are_described_without_a_warning():
    one = frequency().performance(POLICIES[:1], CLAIMS[:1], exposure=[1.0])
    assert len(one.lift()) == 1
    assert np.isnan(one["MAE"].low)
    none = frequency().performance(POLICIES, np.zeros(600), exposure=np.ones(600), n_resamples=5)
    assert none["actual / expected"].value == 0
    assert np.isnan(none.by("region").observed_low).all()
    with pytest.raises(ValueError, match="is 0 in every row"):
        none.lorenz()
    same = default().performance(POLICIES, np.full(600, "no"), n_resamples=5)
    assert np.isnan(same["ROC AUC"].value)
    with pytest.raises(ValueError, match="a ROC curve needs rows of the class and of others"):
        same.roc()
    with pytest.raises(ValueError, match="a ROC curve needs a classifier"):
        none.roc()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"exposure": np.full(600, -1.0)}, "exposure must be finite and not negative; got -1.0 at rows 0, 1, 2"),
        ({"exposure": np.full(600, np.nan)}, "exposure must be finite and not negative; got nan at rows 0, 1, 2"),
        ({"exposure": np.arange(600) % 5}, "exposure must be positive where y is not 0; got 0 at row 0, where y is 1"),
        ({"exposure": np.ones(3)}, r"exposure must have 600 entries"),
        ({"exposure": np.full(600, 2.0), "offset": np.log(np.full(600, 2.0))}, "exposure is in offset already"),
        ({"sample_weight": np.full(600, 1e300)}, "the sum of y must be between 1e-250 and 1e\\+250"),
        ({"groups": [1, 2]}, r"groups must have 600 entries"),
        ({"n_resamples": -1}, "n_resamples must be in"),
        ({"confidence": 1.0}, r"confidence must be in \(0, 1\)"),
        ({"output": 1}, "output must be None: this model predicts one number; got 1"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(given, message):
    with pytest.raises(ValueError, match=message):
        frequency().performance(POLICIES, np.ones(600), **given)


def test_zero_exposure_without_claims_is_ignored_and_all_of_it_refused():
    with pytest.raises(ValueError, match="X must have a row with exposure and weight"):
        frequency().performance(POLICIES, np.zeros(600), exposure=np.zeros(600))
    with pytest.raises(ValueError, match="y must have 600 entries, one per row of X; got 2"):
        frequency().performance(POLICIES, [1, 2])


def test_words_are_the_users():
    words = frequency().performance(POLICIES, CLAIMS, exposure=YEARS).scored.words
    assert (words.rate, words.exposure, words.total) == ("claims per years", "years", "claims")
    words = default().performance(POLICIES, LATE).scored.words
    assert (words.rate, words.exposure, words.total) == ("share of class 'yes'", "rows", "rows of class 'yes'")


@pytest.mark.parametrize("unit", [1e-200, 1e-100, 1e100, 1e200])
def test_the_unit_of_weights_means_nothing(claims, unit):
    table, weight = POLICIES[SOME], YEARS[SOME]
    found = frequency().performance(table, CLAIMS[SOME] / weight, sample_weight=weight * unit, n_resamples=60)
    assert [each.low for each in found.metrics] == pytest.approx([each.low for each in claims.metrics])
    assert found.by("age").observed_high == pytest.approx(claims.by("age").observed_high, nan_ok=True)
    assert found.lift().observed == pytest.approx(claims.lift().observed)


def test_rows_are_named_by_their_place_in_the_table_and_those_that_do_not_count_may_hold_anything():
    weight = np.ones(600)
    weight[:5] = 0
    y = CLAIMS.to_numpy(float).copy()
    y[:5] = -9
    assert frequency().performance(POLICIES, y, sample_weight=weight, n_resamples=0).actual == CLAIMS[5:].sum()
    y[7] = -1
    with pytest.raises(ValueError, match=r"y must be >= 0 for loss='poisson'; got -1.0 at row 7"):
        frequency().performance(POLICIES, y, sample_weight=weight)
    labels = LATE.to_numpy(object).copy()
    labels[[0, 9]] = "perhaps"
    with pytest.raises(ValueError, match="y must hold known classes; got 'perhaps' at row 9"):
        default().performance(POLICIES, labels, sample_weight=weight)


def test_one_exposure_may_be_that_of_every_row():
    found = frequency().performance(POLICIES, CLAIMS, exposure=0.5, n_resamples=0)
    assert found.exposure == 300
