"""What the report says without JavaScript: what is predicted, how well and on which rows, and what is guaranteed.

Tests ``live_page``, ``comparison``, and of the findings ``assessment``, ``behaviour`` and ``table``.
"""

from __future__ import annotations

import html
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from reader_cases import other_model, wide_model, wide_table
from report_cases import CERTIFICATE, X, Y, fitted
from sklearn.metrics import mean_absolute_error, r2_score, roc_auc_score

import lambdak
from lambdak.model.influence import strengths
from lambdak.model.mean_effects import mean_effects
from lambdak.report import write_report
from lambdak.report.findings.assessment import assess
from lambdak.report.findings.table import describe
from lambdak.report.payload import drawn
from lambdak.table.rows import optional_read

LABELS = np.where(Y > 4, "good", "<bad>")


def text_of(path):
    """What a browser without JavaScript would show, in the order of the page."""
    page = path.read_text(encoding="utf-8")
    return html.unescape(re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]*>", " ", page, flags=re.DOTALL))


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    X, y = wide_table()
    path = tmp_path_factory.mktemp("wide") / "report.html"
    return wide_model().report(
        path, X[:200], y[:200], X_test=X[200:], y_test=y[200:], units={"price": "EUR", "amount_0": "kg"}, n_resamples=20
    )


def test_the_page_opens_with_what_is_predicted_how_well_and_what_is_guaranteed(wide):
    text, (X, y) = text_of(wide), wide_table()
    answers = ["What it predicts", "How well it predicts", "What is guaranteed"]
    places = [text.index(words) for words in answers]
    page = wide.read_text(encoding="utf-8")
    assert places == sorted(places)
    assert page.index("What is guaranteed") < page.index('id="try"') < page.index('id="certificate"')
    predicted = wide_model().predict(X[200:])
    assert f"Measured on 100 rows that the fit did not see: R² {r2_score(y[200:], predicted):.3f}" in text
    assert f"MAE {mean_absolute_error(y[200:], predicted):,.0f} EUR" in text
    assert "1 of 1 guarantee proven The prediction never falls as amount_0 rises." in re.sub(r"\s+", " ", text)


@pytest.mark.parametrize(
    ("rows", "test", "words"),
    [
        (slice(0, 200), slice(200, 300), "on 100 rows that the fit did not see"),
        (slice(0, 200), slice(0, 150), "on the 150 rows that the model was fitted to"),
        (slice(0, 200), None, "These rows look like the training rows"),
        (slice(150, 300), None, "the fit may have seen some of them"),
    ],
)
def test_the_report_says_on_which_rows_the_model_was_measured(tmp_path, rows, test, words):
    X, y = wide_table()
    beside = {} if test is None else {"X_test": X[test], "y_test": y[test]}
    text = text_of(wide_model().report(tmp_path / "r.html", X[rows], y[rows], n_resamples=0, **beside))
    assert words in text
    assert ("X_test and y_test" in text) == (words.find("did not see") < 0)


def test_without_targets_nothing_is_said_to_be_measured(tmp_path):
    text = text_of(wide_model().report(tmp_path / "r.html", wide_table()[0]))
    assert "Not measured" in text
    assert "R²" not in text


def test_what_was_not_requested_is_information_and_no_verdict(wide):
    text = text_of(wide)
    assert "1 of 1 requested guarantee is proven." in text
    assert "✓ proven The prediction never falls as amount_0 rises." in re.sub(r"\s+", " ", text)
    assert "not proven" not in text
    assert "does not hold" not in text
    assert re.search(
        r"No direction was requested of \d+ other columns, and none is proven: customer_id, amount_1, ", text
    )


def test_a_requested_guarantee_that_is_not_proven_is_said_so(tmp_path):
    claims = tuple(replace(claim, requested=True) for claim in CERTIFICATE.claims)
    certificate = replace(CERTIFICATE, claims=claims)
    text = text_of(write_report(fitted("regressor").model_, tmp_path / "r.html", certificate=certificate))
    assert "1 of 2 guarantees proven" in text
    assert "Not proven: Is convex." in text
    assert "1 of 2 requested guarantees is proven." in text


def test_each_guarantee_has_its_proof_behind_a_fold(wide):
    page = wide.read_text(encoding="utf-8")
    fold = re.search(r"<details><summary>[^/]*proven</span> The prediction never falls.*?</details>", page, re.DOTALL)[
        0
    ]
    assert "increment matrices" in fold


def test_numbers_have_separators_and_no_exponents(wide):
    text = text_of(wide)
    assert not re.search(r"\d[eE][+-]\d", text)
    assert re.search(r"\d{3},\d{3}", text)


def test_importance_is_the_mean_effect_and_the_proven_bound_and_identifiers_come_last(wide):
    model, (X, _) = wide_model().model_, wide_table()
    rows = re.findall(
        r'<td class="number" data-name="Place">(\d+)</td><td class="words[^>]*>(.*?)</td>'
        r'<td class="number"[^>]*>(.*?)</td><td class="number"[^>]*>(.*?)</td>',
        wide.read_text(encoding="utf-8"),
    )
    typical = mean_effects(model, model.encoder.transform(X[:200], np.float64))
    for _, name, effect, bound in rows:
        i = X.columns.get_loc(name)
        assert float(effect.replace(",", "")) == pytest.approx(typical[i], rel=0.01, abs=1)
        assert float(bound.replace(",", "")) == pytest.approx(strengths(model)[i], rel=1e-3)
        assert float(bound.replace(",", "")) >= strengths(model)[i]
    assert [int(place) for place, *_ in rows] == list(range(1, len(rows) + 1))
    named = [name for _, name, *_ in rows]
    assert "customer_id" not in named[:-1]
    assert "Looks like an identifier, which names rows instead of describing them: customer_id." in text_of(wide)


def test_metrics_effects_pairs_and_columns_are_tables(wide):
    text = text_of(wide)
    for words in (
        "95 % interval",
        "Effects as numbers",
        "Pairs of columns that act together most",
        "What the columns hold",
    ):
        assert words in text


def test_units_of_unknown_columns_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"units must be those of columns or of the target.*got 'size'"):
        fitted("regressor").report(tmp_path / "r.html", units={"size": "m"})


def test_a_rate_is_said_to_be_one(tmp_path):
    years = pd.Series(np.linspace(0.5, 1.0, len(X)), name="year")
    counts = pd.Series(np.maximum(Y, 0).round() * years, name="claims")
    path = fitted("poisson").report(tmp_path / "r.html", X, counts, exposure=years, n_resamples=0)
    assert "claims per year" in text_of(path)
    assert "units of exposure" in text_of(path)


# ---- rows -----------------------------------------------------------------------------------------------------------


def test_the_typical_row_is_the_real_row_that_is_nearest_to_all_others():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60), "c": rng.choice(["x", "y"], 60)})
    model = lambdak.SpectralRegressor(max_iter=1, n_estimators=1, dim=3, n_jobs=1).fit(table, table["a"])
    found = describe(model.model_.encoder, optional_read(table, None, None, None).X, None, None)
    typical = found["examples"][found["typical"]]["row"]
    distance = np.zeros((60, 60))
    for name, column in zip(table, model.model_.encoder.columns, strict=True):
        x = table[name].to_numpy()
        if name == "c":
            distance += x[:, None] != x[None]
        else:
            wide = np.subtract(*np.quantile(column.knots, [0.75, 0.25]))
            distance += np.minimum(np.abs(x[:, None] - x[None]) / (2 * wide), 1)
    assert typical == distance.sum(axis=1).argmin()


def test_rows_are_called_by_their_index_or_by_a_column_that_names_them():
    X, _ = wide_table()
    encoder = wide_model().model_.encoder
    read = optional_read(X, None, None, None).X
    assert describe(encoder, read, None, None)["examples"][0]["name"] == "50000"
    named = [f"house {i}" for i in range(len(X))]
    assert describe(encoder, read, None, named)["examples"][0]["name"] == "house 0"
    assert describe(encoder, read, None, None)["identifiers"] == [0]


def test_whole_numbers_that_repeat_and_numbers_that_are_not_whole_are_no_identifiers():
    found = describe(fitted("regressor").model_.encoder, optional_read(X, None, None, None).X, None, None)
    assert found["identifiers"] == []


# ---- charts as data --------------------------------------------------------------------------------------------------


def test_the_roc_curve_and_calibration_are_those_of_the_rows():
    model, rows = fitted("binary"), optional_read(X, LABELS, None, None)
    found = drawn(model.model_, assess(model.model_, rows, None, False, 0, 0))
    (output,) = found["outputs"]
    assert output["roc"]["auc"] == pytest.approx(roc_auc_score(LABELS == "good", model.predict_proba(X)[:, 1]))
    assert sum(output["bins"]["rows"]) == len(X)
    assert np.sum(found["confusion"]) == len(X)
    assert np.trace(found["confusion"]) == (model.predict(X) == LABELS).sum()


def test_points_are_predictions_and_targets():
    model, rows = fitted("regressor"), optional_read(X, Y, None, None)
    points = drawn(model.model_, assess(model.model_, rows, None, False, 0, 0))["outputs"][0]["points"]
    np.testing.assert_allclose(points["predicted"], model.predict(X), rtol=1e-4)
    np.testing.assert_allclose(points["observed"], Y, rtol=1e-4)


# ---- two models ------------------------------------------------------------------------------------------------------


def test_models_that_do_not_predict_the_same_are_not_compared(tmp_path):
    with pytest.raises(ValueError, match="models must predict the same to be compared"):
        lambdak.compare_report(tmp_path / "r.html", {"a": fitted("regressor"), "b": fitted("binary")})
    with pytest.raises(ValueError, match=r"models must be two, by their names; got \['a'\]"):
        lambdak.compare_report(tmp_path / "r.html", {"a": fitted("regressor")})
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_comparison_has_metrics_of_both_and_intervals_of_their_differences(tmp_path):
    X, y = wide_table()
    models = {"ours": wide_model(), "theirs": other_model()}
    path = lambdak.compare_report(
        tmp_path / "r.html", models, X[:200], y[:200], X_test=X[200:], y_test=y[200:], n_resamples=20
    )
    text = text_of(path)
    for model in models.values():
        assert f"{r2_score(y[200:], model.predict(X[200:][model.feature_names_in_])):.4g}" in text
    assert "ours minus theirs" in text
    assert "not used" in text
    assert "the same for both" in text


def test_a_model_that_explains_nothing_is_said_to_be_no_better_than_a_constant(tmp_path):
    wrong = Y.max() - Y
    for kind, target in (("regressor", wrong), ("poisson", np.maximum(wrong, 0))):
        path = fitted(kind).report(tmp_path / "r.html", X_test=X, y_test=target, n_resamples=0)
        assert "No better than a constant" in text_of(path)


def test_a_certificate_as_plain_data_is_refused(tmp_path):
    with pytest.raises(TypeError, match="certificate must be what certify returns; got a dict: omit it"):
        write_report(fitted("regressor").model_, tmp_path / "r.html", certificate=CERTIFICATE.to_dict())


@pytest.mark.parametrize("name", ["report.pdf", "report"])
def test_a_name_that_is_not_of_a_page_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match=r"must end with .html"):
        write_report(fitted("regressor").model_, tmp_path / name)
    assert not any(tmp_path.iterdir())


def test_classes_name_what_is_predicted_where_the_target_has_no_name(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"built": rng.integers(1900, 2020, 300), "size": rng.uniform(size=300)})
    labels = np.array(["bad", "good", "watch"])[np.digitize(table["built"], [1940, 1980])]
    settings = {"effort": "fast", "max_iter": 3, "random_state": 0}
    model = lambdak.SpectralClassifier(max_influence={"size": 0.5}, **settings).fit(table, labels)
    text = re.sub(r"\s+", " ", text_of(model.report(tmp_path / "report.html", table, labels, n_resamples=0)))
    assert "Prediction of bad, good or watch" in text
    assert re.search(r"\(limit: 0\.5\), so the odds between two classes change by a factor of [12]\.\d+ at most", text)
    assert "1900 to 2019" in text
    assert "1,9" not in text
