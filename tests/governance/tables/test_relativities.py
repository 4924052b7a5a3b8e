"""Factor tables: what they predict, what stays monotone, and what is refused.

Tests ``factor_table``, ``factors``, ``layout``, ``making``, ``relativity``, ``subject`` and ``two_way``.
"""

from __future__ import annotations

import pickle
import re
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from fitted_models import CUTS, SMALL, X, Y, changed, fitted
from sklearn.isotonic import isotonic_regression
from sklearn.linear_model import PoissonRegressor
from sklearn.preprocessing import OneHotEncoder

from lambdak import SpectralClassifier, SpectralRegressor
from lambdak.table.category_levels import OTHER

COUNTS = np.maximum(Y, 0)
QUICK = {"time_limit": 0.05}  # for what is not about the proof
EXPOSURE = np.random.default_rng(5).uniform(0.2, 2.0, len(X))
YES = np.where(Y > 1.5, "yes", "no")


def bands_of(tables, X):
    """Each column as the labels of its rows, found from their ends."""
    found = {}
    for table in tables:
        rows, cells = table.sides[0], X[table.columns[0]]
        found[table.columns[0]] = [next(row.label for row in rows if _in(row, cell, rows)) for cell in cells]
    return pd.DataFrame(found)


def _in(row, cell, rows):
    if cell is None or cell != cell:
        return row.kind == "missing" or (row.kind == "other" and "missing" not in [each.kind for each in rows])
    if row.kind == "band":
        return (row.low is None or cell >= row.low) and (row.high is None or cell < row.high)
    return row.level == cell if row.kind == "level" else row.kind == "other"


def test_a_prediction_is_the_base_times_one_relativity_of_each_table():
    tables = fitted("poisson").relativities(X, COUNTS, **QUICK)
    labels = bands_of(tables, X)
    expected = np.full(len(X), tables.base)
    for table in tables:
        value = dict(zip(table.labels, table.value, strict=True))
        expected *= labels[table.columns[0]].map(value).to_numpy()
    np.testing.assert_allclose(tables.predict(X), expected, rtol=1e-13)


def test_amounts_are_added_and_odds_multiplied():
    amounts = fitted("free").relativities(X, **QUICK)
    labels = bands_of(amounts, X)
    total = sum(labels[t.columns[0]].map(dict(zip(t.labels, t.value, strict=True))) for t in amounts) + amounts.base
    np.testing.assert_allclose(amounts.predict(X), total, rtol=1e-12)
    odds = fitted("binary").relativities(X, **QUICK)
    multiplied = odds.base * np.prod([labels_of(odds, t) for t in odds], axis=0)
    np.testing.assert_allclose(odds.predict(X), multiplied / (1 + multiplied), rtol=1e-12)
    assert (amounts.value_name, odds.value_name) == ("amount", "odds_relativity")


def labels_of(tables, table):
    return bands_of(tables, X)[table.columns[0]].map(dict(zip(table.labels, table.value, strict=True))).to_numpy(float)


def steep(kind, *logarithms):
    """An additive model of categories "l" and "m" in which "m" of each column has this logarithm, and its rows."""
    names = [f"x{i}" for i in range(len(logarithms))]
    rows = pd.DataFrame(list(product("lm", repeat=len(names))), columns=names)
    rows = pd.concat([rows, pd.DataFrame("l", range(40), names)], ignore_index=True)
    y = np.arange(len(rows)) % 2
    made = SpectralClassifier if kind == "logit" else partial(SpectralRegressor, "gamma")
    model = made(**SMALL | {"dim": 1, "n_estimators": 1}).fit(rows, y if kind == "logit" else 1.0 + y)
    coef = np.zeros_like(model.model_.coef)
    for column, own in zip(model.model_.encoder.columns, logarithms, strict=True):
        coef[:, column.start + 1, 0] = own / model.model_.scale
    return changed(model, coef=coef), rows


@pytest.mark.parametrize("kind", ["log", "logit"])
def test_relativities_whose_products_overflow_on_the_way_still_multiply_to_the_prediction(kind):
    model, rows = steep(kind, 500.0, 500.0, -500.0, -500.0)
    tables = model.relativities(rows, **QUICK)
    expected = model.predict(rows) if kind == "log" else model.predict_proba(rows)[:, 1]
    np.testing.assert_allclose(tables.predict(rows), expected, rtol=2 * tables.deviation.proven)


def test_relativities_too_small_for_all_their_digits_are_refused():
    model, rows = steep("log", -744.0, 0.0)
    with pytest.raises(ValueError, match=r"a relativity of 'x0' has the logarithm -744, beyond what float64 holds"):
        model.relativities(rows, **QUICK)


def test_tables_are_the_glm_of_the_models_own_predictions():
    model = fitted("poisson")
    tables = model.relativities(X, exposure=EXPOSURE, **QUICK)
    hot = OneHotEncoder(sparse_output=False).fit_transform(bands_of(tables, X))
    glm = PoissonRegressor(alpha=0, max_iter=5000, tol=1e-12).fit(hot, model.predict(X), sample_weight=EXPOSURE)
    np.testing.assert_allclose(tables.predict(X), glm.predict(hot), rtol=2e-3)


@pytest.mark.parametrize("kind", ["poisson", "free", "binary"])
def test_every_row_of_every_table_expects_what_the_model_does(kind):
    tables = fitted(kind).relativities(X, **QUICK)
    for table in tables:
        seen = table.exposure > 0
        if not table.sign:
            np.testing.assert_allclose(table.expected[seen], table.model[seen], rtol=2e-4)


def test_exposure_observed_and_expected_are_weighted_sums():
    tables = fitted("poisson").relativities(X, COUNTS, exposure=EXPOSURE, sample_weight=2.0, **QUICK)
    labels, predicted = bands_of(tables, X), tables.predict(X)
    for table in tables:
        for label, exposure, observed, expected in zip(
            table.labels, table.exposure, table.observed, table.expected, strict=True
        ):
            own = (labels[table.columns[0]] == label).to_numpy()
            assert exposure == pytest.approx(2 * EXPOSURE[own].sum())
            if own.any():
                assert observed == pytest.approx(COUNTS[own].sum() / EXPOSURE[own].sum())
                assert expected == pytest.approx(np.average(predicted[own], weights=EXPOSURE[own]))
            else:
                assert np.isnan(observed)


def test_observed_of_a_quantile_is_that_quantile():
    tables = fitted("quantiles").relativities(X, Y, output=0.9, **QUICK)
    labels = bands_of(tables, X)
    for table in tables:
        for label, observed in zip(table.labels, table.observed, strict=True):
            own = Y[(labels[table.columns[0]] == label).to_numpy()]
            assert not len(own) or observed == np.quantile(own, 0.9, method="inverted_cdf")


def test_a_table_holds_no_row_of_the_users():
    tables = fitted("poisson").relativities(X, COUNTS, **QUICK)
    again = pickle.loads(pickle.dumps(tables))
    np.testing.assert_array_equal(again.predict(X), tables.predict(X))
    assert isinstance(again.to_frame(), pd.DataFrame)
    assert len(tables._like) == 0


def test_observed_is_the_share_of_the_class_that_is_meant():
    yes, no = (fitted("binary").relativities(X, YES, output=own) for own in ("yes", "no"))  # searched to the end
    for one, other in zip(yes, no, strict=True):
        np.testing.assert_allclose(one.observed, 1 - other.observed)
        np.testing.assert_allclose(np.log(one.value), -np.log(other.value), atol=1e-6)
    np.testing.assert_allclose(yes.predict(X), 1 - no.predict(X), atol=1e-6)
    assert "class 'no'" in no.output
    assert (yes.deviation.above, yes.deviation.below) == pytest.approx(
        (no.deviation.below, no.deviation.above), rel=1e-2
    )


def test_an_ordinal_output_is_the_probability_up_to_a_class():
    tables = fitted("ordinal").relativities(X, CUTS, output=1, **QUICK)
    close = fitted("ordinal").predict_proba(X)[:, :2].sum(axis=1)
    assert np.abs(tables.predict(X) - close).mean() < 0.05
    assert tables["income"].sign == -1
    assert np.average(tables["kind"].observed[:2], weights=tables["kind"].exposure[:2]) == pytest.approx(
        (CUTS <= 1).mean()
    )


@pytest.mark.parametrize("kind", ["regressor", "binary", "quantiles"])
@pytest.mark.parametrize("form", ["bands", "interpolated"])
def test_monotone_columns_stay_monotone(kind, form):
    output = 0.5 if kind == "quantiles" else None
    tables = fitted(kind).relativities(X, form=form, output=output, **QUICK)
    assert tables["income"].sign == 1
    n = sum(row.kind in ("band", "knot") for row in tables["income"].sides[0])
    assert (np.diff(tables["income"].value[:n]) >= 0).all()
    rows = X.loc[np.repeat(np.arange(20), 200)].assign(income=np.tile(np.linspace(-1, 30, 200), 20))
    assert (np.diff(tables.predict(rows).reshape(20, 200)) >= 0).all()


@pytest.mark.parametrize("pairs", [[("income", "age")], [("income", "age"), ("income", "kind"), ("age", "region")]])
def test_two_way_tables_stay_monotone_along_both_columns(pairs):
    model = fitted("regressor")  # income rises, age falls
    tables = model.relativities(X, two_way=pairs, time_limit=0.5)
    assert [table.columns for table in tables][4:] == pairs
    for column, sign, grid in (("income", 1, np.linspace(-1, 30, 300)), ("age", -1, np.linspace(10, 99, 300))):
        rows = X.loc[np.repeat(np.arange(40), 300)].assign(**{column: np.tile(grid, 40)})
        assert (sign * np.diff(tables.predict(rows).reshape(40, 300)) >= 0).all()


def test_rows_beyond_the_training_range_of_a_line_count():
    model, rows = fitted("convex"), X.assign(income=X["income"] + 10 * X["income"].max())
    table = model.relativities(rows, Y, form="interpolated", **QUICK)["income"]
    assert (np.diff(table.value[: len(table.value) - 1]) >= 0).all()
    assert table.exposure.tolist() == [0.0] * (len(table.value) - 2) + [len(X), 0.0]  # all at the last knot
    np.testing.assert_allclose(table.observed[-2], Y.mean())


def test_equal_knots_are_one_number_to_the_last_bit():
    from lambdak.governance.tables.layout import values_at

    share = np.random.default_rng(0).random(10_000)
    ids, weights = np.tile([0, 1], (10_000, 1)), np.stack([1 - share, share], axis=1)
    for value in (0.1, 1 / 3, 1e300, -np.pi):
        np.testing.assert_array_equal(values_at(np.array([value, value]), ids, weights), value)
    found = values_at(np.array([0.1, np.nextafter(0.1, 1.0)]), ids[np.argsort(share)], np.sort(weights, axis=0))
    assert set(found) <= {0.1, np.nextafter(0.1, 1.0)}


def test_a_projection_is_only_where_least_squares_would_fall():
    rng = np.random.default_rng(0)
    values = rng.normal(size=12)
    rising = isotonic_regression(values)
    assert not np.allclose(rising, values)  # the oracle of the next line is not the identity
    from lambdak.governance.tables.additive import _along

    np.testing.assert_allclose(_along(values, np.ones(12), 1, 12), rising)
    np.testing.assert_allclose(_along(values, np.ones(12), -1, 12), -isotonic_regression(-values))
    kept = _along(values, np.ones(12), 1, 5)
    np.testing.assert_array_equal(kept[5:], values[5:])


def test_two_way_tables_come_closer_to_the_model():
    model = fitted("poisson")
    means = [model.relativities(X, two_way=k, **QUICK).deviation.mean for k in (0, 1, 3)]
    assert means[0] > means[1] > means[2]


def test_the_base_row_is_one_and_the_base_rate_its_prediction():
    tables = fitted("poisson").relativities(X, COUNTS, two_way=1, **QUICK)
    for table in list(tables)[:4]:
        assert table.value[np.argmax(table.exposure)] == 1.0
    mean = fitted("poisson").relativities(X, COUNTS, two_way=1, base="mean", **QUICK)
    np.testing.assert_allclose(mean.predict(X), tables.predict(X), rtol=1e-10)
    for table in list(mean)[:4]:
        assert np.average(table.raw, weights=table.exposure) == pytest.approx(0, abs=1e-9)


def test_decimals_round_what_is_multiplied_and_the_proof_is_about_that():
    tables = fitted("poisson").relativities(X, decimals=1, **QUICK)
    for table in tables:
        np.testing.assert_array_equal(table.value, np.round(table.value, 1))
    apart = np.abs(np.log(fitted("poisson").predict(X) / tables.predict(X))).max()
    assert apart <= tables.deviation.proven
    with pytest.raises(ValueError, match=r"decimals=0 would round a relativity of .* to 0: use more decimals"):
        fitted("poisson").relativities(X, decimals=0, bands=10, **QUICK)


def test_bands_are_at_most_as_many_as_requested_and_end_where_requested():
    flat = fitted("poisson").relativities(X, bands=2, **QUICK)
    assert all(sum(row.kind == "band" for row in table.sides[0]) <= 2 for table in flat)
    own = fitted("poisson").relativities(X, bands={"income": [2, 4.5], "age": 3}, **QUICK)
    assert [(row.low, row.high) for row in own["income"].sides[0]] == [(None, 2), (2, 4.5), (4.5, None), (None, None)]
    assert sum(row.kind == "band" for row in own["age"].sides[0]) <= 3


def test_without_rows_the_tables_are_close_all_the_same():
    model = fitted("additive")
    tables = model.relativities(form="interpolated")
    np.testing.assert_allclose(tables.predict(X), model.predict(X), rtol=1e-10, atol=1e-12)
    tables = fitted("poisson").relativities()
    assert tables.rows == 0
    assert np.isnan(tables["income"].exposure).all()
    assert np.isnan(tables.deviation.observed)
    rate = np.log(tables.predict(X) / fitted("poisson").predict(X))
    assert np.abs(rate).mean() < 0.4


def test_frames_are_of_the_users_library():
    frame = fitted("poisson").relativities(X, COUNTS, **QUICK).to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns[:7]) == ["column", "row", "kind", "low", "high", "level", "relativity"]
    assert frame.groupby("column")["exposure"].sum().round(6).eq(len(X)).all()
    tables = fitted("poisson").relativities(pl.from_pandas(X), COUNTS, two_way=1, **QUICK)
    assert isinstance(tables.to_frame(), pl.DataFrame)
    pair = tables.to_frame(tables.tables[-1].columns)
    assert len(pair) == tables.tables[-1].value.size


def test_tables_do_not_change():
    tables = fitted("poisson").relativities(X, **QUICK)
    with pytest.raises(AttributeError):
        tables.base = 2.0
    with pytest.raises(ValueError, match="read-only"):
        tables["income"].value[0] = 2.0


def test_print_claims_no_more_of_the_observed_deviation_than_its_size():
    model = fitted("poisson")
    tables = model.relativities(X, **QUICK)
    apart = np.exp(np.abs(np.log(tables.predict(X) / model.predict(X))).max())
    found = re.search(r"at most a factor of ([0-9.]+) above or below", str(tables))
    assert apart * (1 - 1e-9) <= float(found[1]) <= apart * 1.001


def test_print_says_what_is_proven_and_what_was_observed():
    text = str(fitted("regressor").relativities(X, Y, **QUICK))
    assert "proven, for every possible row" in text
    assert "observed, on 240 rows" in text
    assert text.index("observed, on 240 rows") < text.index("proven, for every possible row")  # what readers ask first
    assert "the worst row that was found" in text
    assert "income  (never falls)" in text
    assert "missing, or any other level" in text
    convex = str(fitted("convex").relativities(X, **QUICK))
    assert "within the training range of income, age" in convex


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("multiclass", {}, "a probability among 4 classes needs 4 of them: fit a classifier of two classes"),
        ("quantiles", {}, r"output must name the quantile level, .* one of \[0.1, 0.5, 0.9\]; got None"),
        ("ordinal", {}, r"output must name the class up to which .* one of \[0, 1, 2\]; got None"),
        ("poisson", {"output": "yes"}, "output must be None"),
        ("free", {"X": X, "exposure": EXPOSURE}, "exposure belongs to models with a log link.*use sample_weight"),
        ("poisson", {"y": Y}, "X must be given with y; got y alone"),
        ("poisson", {"X": X, "y": Y[:3]}, "y must have 240 entries"),
        ("poisson", {"X": X, "exposure": -EXPOSURE}, "exposure must be finite and not negative; got"),
        ("poisson", {"X": X[:0]}, "X must have at least one row"),
        ("binary", {"X": X, "y": Y}, r"y must hold classes of the model, \['no', 'yes'\]"),
        ("poisson", {"form": "splines"}, "form must be one of 'bands', 'interpolated'; got 'splines'"),
        ("poisson", {"bands": 0}, r"bands must be in \[1, 1000\); got 0"),
        ("poisson", {"bands": {"region": 3}}, r"bands must name columns of numbers, \['age', 'income'\]; got 'region'"),
        ("poisson", {"bands": {"age": [3, 3]}}, r"bands\['age'\] must hold increasing numbers"),
        ("poisson", {"base": "first"}, "base must be one of 'largest', 'mean'; got 'first'"),
        ("poisson", {"two_way": 7}, r"two_way must be in \[0, 7\); got 7"),
        ("poisson", {"two_way": [("age", "size")]}, "two_way must name columns of the model, .*; got 'size'"),
        ("poisson", {"two_way": [("age", "age")]}, "two_way must hold pairs of two columns"),
        ("poisson", {"two_way": [("age", "kind"), ("kind", "age")]}, "two_way must name every pair once"),
        ("poisson", {"two_way": "age"}, "two_way must be a number of pairs"),
        ("poisson", {"two_way": 1, "form": "interpolated"}, "two_way needs form='bands'"),
        ("poisson", {"whole": ["kind"]}, r"whole must name columns of numbers, \['income', 'age'\]; got 'kind'"),
        ("poisson", {"time_limit": 0}, "time_limit must be positive"),
    ],
)
def test_what_cannot_be_is_refused_with_the_way_out(kind, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        fitted(kind).relativities(**options)


def test_one_row_and_one_column_are_enough():
    from lambdak import SpectralRegressor

    tables = fitted("poisson").relativities(X[:1], COUNTS[:1], **QUICK)
    assert tables.predict(X[:1]) == pytest.approx(fitted("poisson").predict(X[:1]), rel=1e-3)
    single = SpectralRegressor(effort="fast", dim=3, max_iter=2, n_estimators=1, random_state=0).fit(X[["income"]], Y)
    assert len(single.relativities(X[["income"]], Y)) == 1
    assert OTHER not in single.relativities().deviation.worst_row.values()
