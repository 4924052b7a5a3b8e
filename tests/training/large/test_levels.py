"""Categories of many levels in fits of files: as good as in memory, whatever is requested, and no target is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from large_cases import chosen
from level_cases import FAST, QUICK, many_levels
from sklearn.metrics import r2_score

from lambdak import SpectralClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.estimators.base import SpectralEstimator
from lambdak.table.category_levels import OTHER
from lambdak.table.encoder import TableEncoder
from lambdak.table.large.batches import as_batches, drawn
from lambdak.training.large.fit import summarised
from lambdak.training.large.levels import fold_of
from lambdak.training.level_means import FOLDS


@pytest.fixture
def sample_of(monkeypatch):
    """Sets the rows of the sample, so that short tables count as large."""
    whole = SpectralEstimator._large_request

    def set_to(rows):
        monkeypatch.setattr(
            SpectralEstimator,
            "_large_request",
            lambda self, checkpoint=None: replace(whole(self, checkpoint), sample_rows=rows),
        )

    return set_to


def halves(table):
    """A table as batches of one half each."""
    return [table[: len(table) // 2], table[len(table) // 2 :]]


def test_a_fit_of_batches_is_as_good_as_one_in_memory(sample_of):
    sample_of(10_000)
    X, y, other, unseen = many_levels(1000, rows=40)
    options = FAST | {"max_iter": 6}
    large = SpectralRegressor(**options).fit(halves(X.assign(y=y)), "y")
    usual = SpectralRegressor(**options).fit(X, y)
    scores = [r2_score(unseen, model.predict(other)) for model in (large, usual)]
    assert scores[0] > scores[1] - 0.002


def test_levels_that_mean_nothing_tell_no_target(sample_of):
    """Of a level's few rows each would know its own target from their mean."""
    sample_of(1_500)
    X, _, other, _ = many_levels(2000, rows=3)
    y, unseen = X["b"].to_numpy(), other["b"].to_numpy()
    noise = np.random.default_rng(1).standard_normal(len(y))
    model = SpectralRegressor(**FAST).fit(halves(X.assign(y=y + noise)), "y")
    assert r2_score(unseen, model.predict(other)) > 0.97


SETTINGS = {
    "weights and offsets of counts": (SpectralRegressor, {"loss": "poisson"}, {"sample_weight": "w", "offset": "o"}),
    "monotone": (SpectralRegressor, {"monotonic_cst": {"b": 1}}, {}),
    "a cap": (SpectralRegressor, {"max_influence": {"code": 0.5}}, {}),
    "vanishing columns": (SpectralRegressor, {"alpha": 1e-3}, {}),
    "convex": (SpectralRegressor, {"shape": "convex"}, {}),
    "groups": (SpectralRegressor, {"interaction_cst": [["a", "code"], ["b", "code2"]]}, {}),
    "additive": (SpectralRegressor, {"interaction_cst": "no_interactions", "dim": None}, {}),
    "pooled levels": (SpectralRegressor, {"max_categories": 60}, {}),
    "a loss in Python": (SpectralRegressor, {"loss": "huber"}, {"sample_weight": "w"}),
    "two classes": (SpectralClassifier, {"class_weight": "balanced"}, {}),
    "several classes": (SpectralClassifier, {}, {"sample_weight": "w"}),
    "quantiles": (SpectralQuantileRegressor, {}, {}),
}


@pytest.mark.filterwarnings("ignore:column 'code")
@pytest.mark.parametrize("case", SETTINGS)
def test_whatever_is_requested_holds_with_several_categories_of_many_levels(sample_of, case):
    sample_of(1_000)
    kind, settings, columns = SETTINGS[case]
    X, y, _, _ = many_levels(120, rows=20)
    rng = np.random.default_rng(3)
    code2 = rng.integers(0, 300, len(X))
    y = y + np.sin(code2)
    few = [f"rare {i % 3}" if i < 6 else "often" for i in range(len(X))]
    X = X.assign(code2=code2.astype(str), few=few)
    cuts = [0.0] if case == "two classes" else [-0.5, 0.5]
    target = np.digitize(y, cuts) if kind is SpectralClassifier else y
    target = np.round(np.exp(y / 2)) if settings.get("loss") == "poisson" else target
    table = X.assign(y=target, w=rng.integers(1, 4, len(X)).astype(float), o=rng.uniform(-0.1, 0.1, len(X)))
    table = table.drop(columns=[name for name in "wo" if name not in columns.values()])
    model = kind(**QUICK | settings).fit(halves(table), "y", **columns)
    assert model.certify().holds
    new = X.head(200).assign(code="never seen", few=None)
    for rows in (X, new):
        found = np.asarray(model.predict(rows))
        assert np.isfinite(found.astype(float)).all()
    found = np.asarray(model.predict(X), float)
    assert np.corrcoef(found.reshape(len(X), -1)[:, 0], np.asarray(target, float))[0, 1] > 0.4
    assert model._state.plan.trained.levels  # some share matrices


def test_rows_of_levels_are_those_of_the_whole_table():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"code": rng.zipf(1.5, 4000).clip(max=400).astype(str), "y": rng.random(4000)})
    table.loc[:9, "code"] = None
    request = replace(SpectralRegressor(**QUICK, max_categories=20)._large_request(), sample_rows=500)
    summary = summarised(request, drawn(as_batches(halves(table)), "y"))
    with pytest.warns(UserWarning, match="the rarest are pooled"):
        (column,) = summary.encoder(TableEncoder(max_categories=20)).columns
    counts = table["code"].value_counts()
    rows = dict(zip(column.levels, summary.level_rows(column), strict=True))
    assert rows.pop(None) == 10
    pooled = rows.pop(OTHER)
    assert rows == {level: counts[level] for level in rows}
    assert pooled == 3990 - sum(rows.values())


def test_folds_are_about_as_long_and_depend_on_the_position_alone():
    order = np.random.default_rng(0).permutation(50_000)
    fold = fold_of(order)
    np.testing.assert_array_equal(fold, fold_of(np.arange(50_000))[order])
    assert np.abs(np.bincount(fold, minlength=FOLDS) - 5_000).max() < 300
    for period in (2, 7, 10, 24):
        assert np.abs(np.bincount(fold_of(np.arange(0, 50_000 * period, period))) - 5_000).max() < 300


def test_what_a_sample_chose_knows_the_levels_of_all_rows():
    choice, _ = chosen("squared error")
    rows = dict(zip(choice.session.draft.encoder.columns[4].levels, choice.sharing.many_levels[4], strict=True))
    assert sum(rows.values()) == 900
