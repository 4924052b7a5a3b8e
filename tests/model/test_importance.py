"""``mean_effects`` and importances, against predictions of rows that were changed by hand."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from fitted_models import SPARSE, X, fitted
from score_cases import score_by_hand
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel

import lambdak
from lambdak import SpectralRegressor
from lambdak.model.mean_effects import mean_effects
from lambdak.model.readout import readouts

KINDS = ["regressor", "free", "linear", "poisson", "binary", "multiclass", "quantiles", "ordinal"]


def effects_by_hand(model, rows, i):
    """Mean |raw score − raw score with column i at its baseline| over rows and outputs."""
    column = model.model_.encoder.columns[i]
    found = []
    for _, row in rows.iterrows():
        cells = row.tolist()
        for output in range(len(model.model_.output_names)):
            here = score_by_hand(model, cells, output)
            found.append(abs(here - baseline_score(model, cells, i, column, output)))
    return np.mean(found)


def baseline_score(model, cells, i, column, output):
    if column.is_number:
        return score_by_hand(model, [*cells[:i], column.median, *cells[i + 1 :]], output)
    own = readouts(model.model_)[output]
    design = model.model_.encoder.transform(pd.DataFrame([cells], columns=X.columns), np.float64)
    Z = design.to_sparse(own.coef.shape[1]).toarray()
    Z[:, column.start : column.stop] = 0.0
    return own.score(Z @ own.coef + own.constant[:, None])[0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_effects_are_mean_absolute_changes_against_the_baseline(kind):
    model, rows = fitted(kind), X[:12]
    found = mean_effects(model.model_, model.model_.encoder.transform(rows))
    for i in range(X.shape[1]):
        assert found[i] == pytest.approx(effects_by_hand(model, rows, i), rel=1e-4, abs=1e-6)


def test_weights_count_as_repetitions():
    model = fitted("free").model_
    design, weight = model.encoder.transform(X[:4]), np.array([1.0, 0.0, 3.0, 2.0])
    repeated = design.take(np.repeat(np.arange(4), weight.astype(int)))
    np.testing.assert_allclose(mean_effects(model, design, weight), mean_effects(model, repeated))


def test_rows_of_weight_zero_do_not_count_however_many_they_are():
    model = fitted("free").model_
    many = model.encoder.transform(X).take(np.arange(240).repeat(5))
    weight = np.zeros(1200)
    weight[:3] = 1.0
    np.testing.assert_allclose(mean_effects(model, many, weight), mean_effects(model, many.take(slice(3))))


def test_sparse_columns_act_where_they_are_not_zero():
    model = fitted("sparse")
    rows = SPARSE[:40]
    found = mean_effects(model.model_, model.model_.encoder.transform(rows))
    here = model.model_.raw(rows)
    for i in range(rows.shape[1]):
        without = rows.toarray()
        without[:, i] = 0.0
        assert found[i] == pytest.approx(np.abs(here - model.model_.raw(without)).mean(), rel=1e-4, abs=1e-6)


def test_importances_find_the_columns_that_matter_and_stay_within_the_proven_bound():
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (600, 3))
    model = SpectralRegressor(effort="fast", random_state=0).fit(rows, 3 * rows[:, 0] + rows[:, 1])
    assert model.feature_importances_.shape == (3,)
    assert model.feature_importances_[0] > 2 * model.feature_importances_[1] > 10 * model.feature_importances_[2]
    assert (model.feature_importances_ <= model.feature_strengths_).all()
    chosen = SelectFromModel(model, prefit=True, threshold="mean").transform(rows)
    np.testing.assert_array_equal(chosen, rows[:, :1])
    assert not hasattr(clone(model), "feature_importances_")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).feature_importances_, model.feature_importances_)


def test_a_loaded_model_says_why_it_has_none(tmp_path):
    fitted("free").save(tmp_path / "m")
    with pytest.raises(AttributeError, match=r"needs the training rows.* use explain_global\(X\)"):
        lambdak.load(tmp_path / "m").feature_importances_  # noqa: B018


def test_rows_that_come_in_periods_are_looked_at_in_all_phases():
    model, period = fitted("free").model_, 100
    phases = model.encoder.transform(X).take(np.arange(period))
    long = phases.take(np.tile(np.arange(period), 299))  # 300 evenly spaced rows would all be of a few phases
    np.testing.assert_allclose(mean_effects(model, long), mean_effects(model, phases), rtol=0.05)
