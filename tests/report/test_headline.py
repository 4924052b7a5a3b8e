"""Reports lead with what the field reads, beside what needs no model, and in colour only if something is wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from report_cases import X, Y, fitted
from sklearn.metrics import (
    d2_tweedie_score,
    log_loss,
    mean_absolute_error,
    mean_poisson_deviance,
    r2_score,
    roc_auc_score,
)

from lambdak.report.findings import Findings, Options
from lambdak.report.findings.headline import headline
from lambdak.report.sections import behaviour, performance
from lambdak.table.rows import read_rows

COUNTS, GOOD = np.maximum(Y, 0), np.where(Y > 4, "good", "<bad>")
CUTS = np.digitize(Y, [2.0, 4.0, 6.0])


def findings(kind, y, rows=slice(None), **beside):
    rows = read_rows(X[rows], y[rows])
    return Findings(fitted(kind).model_, rows, rows, None, Options(resamples=0), **beside)


def figures(kind, y):
    return {each.metric.name: (each.metric.value, each.base) for each in headline(findings(kind, y).assessment)}


def test_counts_lead_with_gini_and_deviance():
    found, predicted = figures("poisson", COUNTS), fitted("poisson").predict(X)
    assert list(found) == ["Gini", "mean poisson deviance"]
    value, base = list(found.values())[1]
    assert value == pytest.approx(mean_poisson_deviance(COUNTS, predicted))
    assert 1 - value / base == pytest.approx(d2_tweedie_score(COUNTS, predicted, power=1))
    assert found["Gini"][1] == 0


def test_two_classes_lead_with_the_area_and_log_loss():
    found, chance = figures("binary", GOOD), fitted("binary").predict_proba(X)
    shares = np.unique(GOOD, return_counts=True)[1] / len(GOOD)
    assert found == {
        "ROC AUC": (pytest.approx(roc_auc_score(GOOD == "good", chance[:, 1])), 0.5),
        "log loss": (
            pytest.approx(log_loss(GOOD, chance)),
            pytest.approx(log_loss(GOOD, np.tile(shares, (len(X), 1)))),
        ),
    }
    base = f"Base rate: {100 * shares[1]:.1f} % of the rows are good."
    assert base in performance.answer(findings("binary", GOOD)).lines[0]


def test_several_classes_lead_with_log_loss_and_accuracy():
    found = figures("multiclass", CUTS)
    assert list(found) == ["log loss", "accuracy"]
    assert found["accuracy"][1] == np.bincount(CUTS).max() / len(CUTS)


def test_numbers_lead_with_r2_and_mae_beside_the_mean():
    found, predicted = figures("regressor", Y), fitted("regressor").predict(X)
    mean = np.full(len(Y), Y.mean())
    assert found == {
        "R²": (pytest.approx(r2_score(Y, predicted)), 0.0),
        "MAE": (pytest.approx(mean_absolute_error(Y, predicted)), pytest.approx(mean_absolute_error(Y, mean))),
    }


def test_quantiles_have_no_base_and_nothing_that_is_wrong():
    found = headline(findings("quantiles", Y).assessment)
    assert [each.metric.name for each in found] == ["mean pinball loss"]
    assert math.isnan(found[0].base)
    assert not found[0].no_better


def test_colours_say_that_something_is_wrong():
    assert performance.answer(findings("poisson", COUNTS, slice(120))).tone == "plain"
    shuffled = np.random.default_rng(0).permutation(np.asarray(Y))
    spoilt = performance.answer(findings("regressor", shuffled, slice(120)))
    assert (spoilt.answer, spoilt.tone) == ("No better than a constant", "bad")
    seen = Findings(fitted("regressor").model_, *[read_rows(X, Y)] * 3, Options(resamples=0))
    assert performance.answer(seen).tone == "open"


def test_importances_are_factors_under_a_log_link_and_carry_units_elsewhere():
    log = findings("poisson", COUNTS)
    table = behaviour._sizes(log, log.behaviour.first, "")
    strongest = log.behaviour.first[0]
    assert table.names[2:] == ("Mean effect (factor)", "Proven at most (factor)")
    assert table.rows[0][2] == f"×{math.exp(log.importance[strongest]):.3g}"
    plain = findings("regressor", Y, target_name="cost", units={"cost": "EUR"})
    assert behaviour._sizes(plain, [0], "").names[2] == "Mean effect (EUR)"
    odds = findings("binary", GOOD)
    assert behaviour._sizes(odds, [0], "").names[2] == "Mean effect (log-odds)"
