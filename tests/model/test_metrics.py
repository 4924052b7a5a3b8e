"""One set of measures, for the report and for the command line."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from report_cases import X, Y, fitted
from sklearn import metrics

from lambdak.cli import fit_summary
from lambdak.cli.dataset import Dataset
from lambdak.cli.errors import InputError
from lambdak.model.metrics import METRICS, Metric, area_under_roc, model_metrics
from lambdak.table.rows import Rows

LABELS = np.where(Y > 4, "good", "<bad>")
TARGETS = {
    "regressor": Y.to_numpy(),
    "poisson": np.maximum(Y.to_numpy(), 0),
    "binary": LABELS,
    "multiclass": np.digitize(Y, [2.0, 4.0, 6.0]),
    "quantiles": Y.to_numpy(),
    "ordinal": np.digitize(Y, [2.0, 4.0, 6.0]),
}
WEIGHT = np.random.default_rng(0).uniform(0.5, 2.0, len(Y))


@pytest.mark.parametrize("kind", TARGETS)
def test_report_and_command_line_show_the_same_numbers_by_the_same_names(kind, tmp_path):
    model, y = fitted(kind), TARGETS[kind]
    printed = fit_summary.metrics(model, Dataset(Rows(pa.Table.from_pandas(X), y)))
    model.report(tmp_path / "report.html", X, y)
    page = (tmp_path / "report.html").read_text()
    cells = dict(re.findall(r"<tr><t[hd][^>]*>([^<]+)</t[hd]><td[^>]*>([^<]+)</td>", page))
    assert set(printed) <= set(cells)
    for name, value in printed.items():
        assert float(cells[name].replace(",", "").replace("−", "-")) == pytest.approx(value, rel=6e-3)
    assert all(np.isfinite(value) for value in printed.values())


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_targets_that_are_all_alike_have_no_variance_to_explain_whatever_rounding_says(weight):
    y = np.full(len(X), 0.1)
    found = {own.name: own.value for own in model_metrics(fitted("regressor").model_, X, y, weight)}
    assert found["R²"] == 0.0  # as scikit-learn says of 0.5, whose mean is exact


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_measures_of_numbers_are_those_of_scikit_learn(weight):
    model, y = fitted("poisson"), TARGETS["poisson"]
    found = {own.name: own.value for own in model_metrics(model.model_, X, y, weight, offset=0.5)}
    predicted, weighted = model.predict(X, offset=np.full(len(y), 0.5)), {"sample_weight": weight}
    assert found == pytest.approx(
        {
            "R²": metrics.r2_score(y, predicted, **weighted),
            "RMSE": metrics.root_mean_squared_error(y, predicted, **weighted),
            "MAE": metrics.mean_absolute_error(y, predicted, **weighted),
            "mean poisson deviance": metrics.mean_poisson_deviance(y, predicted, **weighted),
        },
        rel=1e-5,
    )


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_measures_of_classes_are_those_of_scikit_learn(weight):
    model, weighted = fitted("binary"), {"sample_weight": weight}
    found = {own.name: own.value for own in model_metrics(model.model_, X, LABELS, weight)}
    chance = model.predict_proba(X)
    shares = [np.average(own == LABELS, weights=weight) for own in model.classes_]
    assert found == pytest.approx(
        {
            "accuracy": metrics.accuracy_score(LABELS, model.predict(X), **weighted),
            "share of the largest class": max(shares),
            "log loss": metrics.log_loss(LABELS, chance, **weighted),
            "ROC AUC": metrics.roc_auc_score(model.classes_[1] == LABELS, chance[:, 1], **weighted),
        },
        rel=1e-5,
    )


def test_the_accuracy_of_ordered_classes_is_that_of_the_median_class():
    model, y = fitted("ordinal"), TARGETS["ordinal"]
    found = {own.name: own.value for own in model_metrics(model.model_, X, y, WEIGHT)}
    assert found["accuracy"] == metrics.accuracy_score(y, model.predict(X), sample_weight=WEIGHT)
    assert found["accuracy"] == model.score(X, y, WEIGHT)
    assert (model.predict(X) != model.predict_proba(X).argmax(axis=1)).any()


def test_a_class_that_the_model_does_not_know_is_measured_as_wrong_and_refused_by_the_command_line():
    model, y = fitted("binary"), np.array([None, "never seen", *LABELS[2:]], object)
    found = {own.name: own.value for own in model_metrics(model.model_, X, y)}
    assert set(found) == {"accuracy", "share of the largest class"}
    assert found["accuracy"] == pytest.approx(np.mean(model.predict(X)[2:] == LABELS[2:]) * (len(y) - 2) / len(y))
    with pytest.raises(InputError, match="a class that the model does not know: 'never seen'"):
        fit_summary.metrics(
            model, Dataset(Rows(pa.Table.from_pandas(X), np.array(["never seen", *LABELS[1:]], np.str_)))
        )


@pytest.mark.parametrize("unit", [2.0**-980, 2.0**980])
def test_measures_follow_the_units_of_the_target_and_weights_have_none(unit):
    model, y = fitted("regressor").model_, TARGETS["regressor"]
    other = model.replace(start=unit * model.start, scale=unit * model.scale)
    plain, large = (
        {own.name: own.value for own in found}
        for found in (model_metrics(model, X, y, WEIGHT), model_metrics(other, X, unit * y, unit * WEIGHT))
    )
    assert large == {name: value if name == "R²" else unit * value for name, value in plain.items()}


@pytest.mark.parametrize("weight", [None, WEIGHT[:90]])
def test_the_area_under_the_curve_counts_equal_scores_half_as_scikit_learn_does(weight):
    rng = np.random.default_rng(3)
    score, positive = rng.integers(0, 9, 90) / 8, rng.random(90) < 0.3
    expected = metrics.roc_auc_score(positive, score, sample_weight=weight)
    assert area_under_roc(positive, score, weight) == pytest.approx(expected, rel=1e-12)


def test_r2_of_a_constant_target_is_that_of_scikit_learn():
    model, y = fitted("regressor"), np.full(len(X), 3.0)
    found = {own.name: own.value for own in model_metrics(model.model_, X, y)}
    assert found["R²"] == metrics.r2_score(y, model.predict(X))


class MeanError(Metric):
    """Mean of observed minus predicted."""

    @classmethod
    def of(cls, scores):
        return (cls("mean error", "0 is in balance", 0),) if scores.kind == "numbers" else ()

    def value(self, scores):
        scores.error = scores.observed - scores.predicted
        return scores.mean("error")


def test_a_new_metric_is_one_class_and_one_line_and_every_reader_shows_it(monkeypatch, tmp_path):
    monkeypatch.setattr("lambdak.model.metrics.METRICS", [*METRICS, MeanError])
    monkeypatch.setattr("lambdak.governance.performance.measures.METRICS", [*METRICS, MeanError])
    model, y = fitted("regressor"), TARGETS["regressor"]
    expected = np.mean(y - model.predict(X))
    assert fit_summary.metrics(model, Dataset(Rows(pa.Table.from_pandas(X), y)))["mean error"] == expected
    performance = model.performance(X, y, n_resamples=20)["mean error"]
    assert performance.value == pytest.approx(expected, abs=1e-12)
    assert performance.low < performance.value < performance.high
    difference = model.compare(model, X, y, n_resamples=2)["mean error"]
    assert difference.difference == 0.0
    model.report(tmp_path / "report.html", X, y, n_resamples=2)
    with pytest.warns(UserWarning, match="These rows look like the training rows"):
        model.dossier(tmp_path / "dossier.html", X, y, n_resamples=2, search=0, exact=False)
    for name in ("report", "dossier"):
        assert "mean error" in (tmp_path / f"{name}.html").read_text()


@pytest.mark.parametrize("kind", TARGETS)
def test_a_resample_is_measured_as_rows_that_occur_that_often(kind):
    model, y = fitted(kind), np.asarray(TARGETS[kind])
    output = 2 if kind in ("multiclass", "ordinal") else None
    counts = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    measures = model.performance(X, y, output=output)._measures
    repeated = np.repeat(np.arange(len(y)), counts.astype(int))
    again = model.performance(X.iloc[repeated], y[repeated], output=output)._measures
    names = [metric.name for metric in measures.known]
    drawn, rows = (dict(zip(names, values, strict=True)) for values in (measures(counts), again()))
    for name in set(names) - {"R²", "loss explained", "deviance explained"}:  # the best constant is that of all rows
        assert drawn[name] == pytest.approx(rows[name], rel=1e-9), name
