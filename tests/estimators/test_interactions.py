"""interaction_cst: columns that must not interact do not, whatever the estimator, the columns and other settings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from interaction_cases import CLASSES, FEW, GROUPS, MODELS, SETTINGS, X, Y, fitted, mixed_difference
from large_cases import table as large_table
from sklearn.base import clone

import lambdak
from lambdak import SpectralClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.model.readout import readouts

APART = [("a", "kind"), ("a", "gaps"), ("b", "gaps"), ("a", "town"), ("kind", "town"), ("gaps", "town")]
TOGETHER = [("a", "b"), ("b", "kind")]


def rounding(model, rows):
    return rows * max(output.error for output in readouts(model.model_))


@pytest.mark.parametrize("kind", MODELS)
def test_columns_without_a_common_group_do_not_interact(kind):
    model = fitted(kind)
    for pair in APART:
        assert mixed_difference(model, pair) <= rounding(model, 4)
    assert max(mixed_difference(model, pair) for pair in TOGETHER) > 1e-3


@pytest.mark.parametrize("kind", ["regressor", "two classes", "three classes", "quantiles", "ordered classes"])
def test_no_interactions_is_a_sum_of_functions_of_single_columns(kind):
    model = fitted(kind, "no interactions")
    for pair in [*APART, *TOGETHER]:
        assert mixed_difference(model, pair) <= rounding(model, 4)
    assert (model.model_.dim == 1) == (kind != "quantiles")


@pytest.mark.parametrize("kind", ["regressor", "three classes", "quantiles"])
def test_pairwise_has_no_interactions_of_three_columns(kind):
    model = fitted(kind, "pairs")
    for three in [("a", "b", "kind"), ("a", "gaps", "town"), ("b", "kind", "gaps")]:
        assert mixed_difference(model, three) <= rounding(model, 8)
    assert mixed_difference(model, ("a", "b")) > 1e-3


@pytest.mark.parametrize("how", ["monotone and capped", "convex", "linear", "tiny"])
def test_other_guarantees_hold_beside_it(how):
    model = fitted("regressor", how)
    for pair in APART:
        assert mixed_difference(model, pair) <= rounding(model, 4)
    certificate = model.certify(exact=True)
    assert certificate.holds
    assert sum(claim.requested for claim in certificate.claims) == {"monotone and capped": 6, "convex": 2}.get(how, 1)


def test_quantiles_in_groups_do_not_cross_and_differ_by_more_than_a_shift():
    model = fitted("quantiles", "no interactions")
    quantiles = model.predict_quantiles(X)
    assert (np.diff(quantiles, axis=1) >= 0).all()
    assert np.ptp(quantiles[:, -1] - quantiles[:, 0]) > 1e-3
    assert model.certify().holds


def test_one_group_of_all_columns_is_the_free_model_bit_for_bit():
    free = SpectralRegressor(**FEW).fit(X, Y)
    grouped = SpectralRegressor(interaction_cst=[[*X.columns]], **FEW).fit(X, Y)
    assert (grouped.model_.coef == free.model_.coef).all()
    assert not [claim for claim in grouped.certify().claims if claim.kind == "interactions"]


def test_names_and_positions_are_the_same_bit_for_bit():
    named = fitted("regressor").model_
    at = SpectralRegressor(interaction_cst=[(1, 0), [1, 2], {3}, {4}], dim=4, **FEW).fit(X, Y).model_
    assert (named.coef == at.coef).all()
    assert named.promises == at.promises


def test_a_sum_of_groups_is_learnt_and_a_product_across_them_is_not():
    rng = np.random.default_rng(1)
    rows, unseen = rng.uniform(-1, 1, (2, 900, 4))
    groups, settings = [[0, 1], [2, 3]], {"effort": "fast", "random_state": 0}

    def law(x):
        return 2 * x[:, 0] * x[:, 1] + np.sin(3 * x[:, 2]) * x[:, 3]

    fits = SpectralRegressor(interaction_cst=groups, **settings).fit(rows, law(rows))
    assert fits.score(unseen, law(unseen)) > 0.97
    crossed = SpectralRegressor(interaction_cst=[[0, 2], [1, 3]], **settings).fit(rows, law(rows))
    assert crossed.score(unseen, law(unseen)) < 0.2


@pytest.mark.parametrize("how", ["groups", "no interactions", "pairs"])
@pytest.mark.parametrize("kind", ["regressor", "three classes", "quantiles"])
def test_a_saved_model_keeps_its_groups_and_its_training_can_continue(kind, how, tmp_path):
    model, y = fitted(kind, how), {"three classes": CLASSES}.get(kind, Y)
    model.save(tmp_path / "model", training_state=True)
    loaded = lambdak.load(tmp_path / "model")
    assert loaded.model_.promises == model.model_.promises
    assert (loaded.model_.coef == model.model_.coef).all()
    assert loaded.get_params()["interaction_cst"] == SETTINGS[how]["interaction_cst"]
    loaded.partial_fit(X, y)
    assert (loaded.model_.coef != model.model_.coef).any()
    assert loaded.model_.scale == pytest.approx(model.model_.scale)
    assert loaded.certify().holds
    assert mixed_difference(loaded, ("a", "gaps", "town")) <= rounding(loaded, 8)


def test_training_that_continues_is_the_same_whether_it_was_saved_or_not(tmp_path):
    model = clone(fitted("regressor")).fit(X, Y)
    model.save(tmp_path / "model", training_state=True)
    loaded = lambdak.load(tmp_path / "model").partial_fit(X, Y)
    assert (loaded.model_.coef == model.partial_fit(X, Y).model_.coef).all()


def test_groups_cannot_change_where_training_continues():
    model = clone(fitted("regressor")).set_params(warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="interaction_cst must stay"):
        model.set_params(interaction_cst=[["a"], ["b", "kind", "gaps"]]).fit(X, Y)
    model.set_params(interaction_cst=GROUPS).fit(X, Y)


def test_parameters_are_cloned_and_set_as_they_are():
    model = SpectralClassifier(interaction_cst=GROUPS)
    assert clone(model).get_params()["interaction_cst"] == GROUPS
    assert SpectralQuantileRegressor().set_params(interaction_cst="pairwise").interaction_cst == "pairwise"


def test_a_size_that_numbers_cannot_have_is_refused():
    with pytest.raises(ValueError, match="dim must be None or 1 where interaction_cst lets no columns interact; got 3"):
        SpectralRegressor(interaction_cst="no_interactions", dim=3, **FEW).fit(X, Y)
    with pytest.raises(ValueError, match="eig_idx must be None or 0 where interaction_cst lets no columns interact"):
        SpectralRegressor(interaction_cst="no_interactions", eig_idx=1, **FEW).fit(X, Y)


def test_a_label_that_is_the_position_of_another_column_is_refused():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 3)), columns=[2, 1, 0])
    with pytest.raises(ValueError, match="interaction_cst must name columns by position where their labels are not"):
        SpectralRegressor(interaction_cst=[[2, 1]], **FEW).fit(frame, np.arange(50.0))


@pytest.mark.parametrize("rows", [1, 5])
def test_tables_of_a_few_rows_are_fitted(rows):
    model = SpectralRegressor(interaction_cst=GROUPS, **FEW).fit(X.iloc[:rows], Y[:rows])
    assert model.certify().holds


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_units_of_any_size_keep_columns_apart(unit):
    numbers, groups = X[["a", "b", "gaps"]], [["a", "b"]]
    with np.errstate(all="ignore"):
        model = SpectralRegressor(interaction_cst=groups, **FEW).fit(numbers * unit, Y)
    assert model.certify(exact=True).holds


def test_a_table_larger_than_memory_is_fitted_with_its_groups(tmp_path, monkeypatch):
    monkeypatch.setattr("lambdak.training.large.choice.LargeRequest.is_small", lambda self, summary: False)
    frame = large_table()
    frame[["a", "b", "c", "kind", "target"]].to_parquet(tmp_path / "rows.parquet")
    model = SpectralRegressor(interaction_cst=[["a", "b"], ["c"]], **FEW).fit(tmp_path / "rows.parquet", "target")
    assert model.certify().holds
    raw = [model.model_.raw(frame.assign(**more)) for more in ({}, {"a": 0.0}, {"c": 0.0}, {"a": 0.0, "c": 0.0})]
    assert np.abs(raw[0] - raw[1] - raw[2] + raw[3]).max() <= rounding(model, 4)
