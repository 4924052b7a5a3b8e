"""Training that continues: warm starts and partial fits."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_cases import ALL

from lambdak import SpectralClassifier, SpectralQuantileRegressor, SpectralRegressor


def test_continuing_with_other_settings_is_refused(table):
    X, y = table
    model = SpectralRegressor(effort="fast", warm_start=True, max_iter=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="n_estimators must stay 3 where training continues; got 2"):
        model.set_params(n_estimators=2).fit(X, y)


def test_warm_start_continues_and_gets_better(table):
    X, y = table
    model = SpectralRegressor(effort="fast", warm_start=True, max_iter=2, random_state=0).fit(X[:2000], y[:2000])
    before, knots = model.score(X[2000:], y[2000:]), model.model_.encoder
    model.set_params(max_iter=8).fit(X[:2000], y[:2000])
    assert model.score(X[2000:], y[2000:]) > before
    assert model.model_.encoder is knots


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL)
def test_partial_fit_learns_from_one_piece_after_the_other(table, kind):
    X, y = table
    target = np.digitize(y, np.quantile(y, [0.3, 0.7])) if "Classifier" in kind.__name__ else y
    pieces = [slice(start, start + 500) for start in range(0, 2500, 500)]
    model, alone = (kind(effort="fast", random_state=0).fit(X[pieces[0]], target[pieces[0]]) for _ in range(2))
    for piece in pieces[1:]:
        model.partial_fit(X[piece], target[piece])
    assert model.score(X[2500:], target[2500:]) > alone.score(X[2500:], target[2500:])


def test_partial_fit_of_a_classifier_can_name_classes_that_come_later(table):
    X, y = table
    target = (y > np.median(y)).astype(int)
    few = np.flatnonzero(target == 0)[:300]
    model = SpectralClassifier(effort="fast", random_state=0).partial_fit(X.iloc[few], target[few], classes=[0, 1])
    model.partial_fit(X, target)
    assert model.classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"y must hold known classes; got .*2.* at row 0"):
        model.partial_fit(X, target + 2)


@pytest.mark.parametrize("change", [{"monotonic_cst": {"income": -1}}, {"alpha": 3.0}, {"loss": "huber"}])
def test_continuing_refuses_what_it_cannot_change(table, change):
    X, y = table
    model = SpectralRegressor(effort="fast", max_iter=2, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=f"{next(iter(change))} must stay"):
        model.set_params(**change).fit(X, y)


def test_continuing_refuses_signs_by_position_where_they_were_by_name(table):
    X, y = table
    name = X.columns[0]
    model = SpectralRegressor(effort="fast", max_iter=2, monotonic_cst={name: 1}, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=f"monotonic_cst must stay {{'{name}': 1}} where training continues"):
        model.set_params(monotonic_cst=np.array([1] + [0] * (X.shape[1] - 1))).partial_fit(X, y)


def test_partial_fit_on_a_row_does_not_shift_the_quantiles_of_others(table):
    X, y = table
    model = SpectralQuantileRegressor((0.1, 0.5, 0.9), effort="fast", random_state=0).fit(X, y)
    before = model.predict_quantiles(X)
    after = model.partial_fit(X[:1], y[:1] + 30).predict_quantiles(X)
    assert np.abs(after - before).mean() < 0.5
