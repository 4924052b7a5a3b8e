"""Classifiers: accuracy, weights of classes, and classes in an order."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import cohen_kappa_score
from sklearn.model_selection import cross_val_score

import lambdak
from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralRegressor


def test_class_weight_is_the_weight_of_the_rows_of_a_class(table):
    X, y = table
    target = np.where(y > np.quantile(y, 0.9), "rare", "usual")
    settings = {"effort": "fast", "max_iter": 5, "random_state": 0}
    weighted = SpectralClassifier(class_weight={"rare": 4.0, "usual": 1.0}, **settings).fit(X, target)
    rows = SpectralClassifier(**settings).fit(X, target, np.where(target == "rare", 4.0, 1.0))
    np.testing.assert_array_equal(weighted.predict_proba(X), rows.predict_proba(X))
    balanced = SpectralClassifier(class_weight="balanced", **settings).fit(X, target)
    plain = SpectralClassifier(**settings).fit(X, target)
    assert (balanced.predict(X) == "rare").mean() > 1.2 * (plain.predict(X) == "rare").mean()


@pytest.mark.slow
def test_classifiers_reach_the_usual_accuracy():
    X, y = load_breast_cancer(return_X_y=True)
    assert cross_val_score(SpectralClassifier(effort="fast", random_state=0), X, y, cv=3).mean() > 0.94
    X, y = load_wine(return_X_y=True)
    assert cross_val_score(SpectralClassifier(effort="fast", random_state=0), X, y, cv=3).mean() > 0.93


def test_ordinal_probabilities_are_a_distribution_and_rise_with_a_monotone_column():
    rng = np.random.default_rng(5)
    X = rng.uniform(-2, 2, (2000, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.standard_normal(2000), [-1, 0, 1])
    model = SpectralOrdinalClassifier(monotonic_cst=[1, 0], effort="fast", random_state=0).fit(X, y)
    assert model.score(X, y) > 0.6
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-6)
    assert (p >= 0).all()
    low, high = (np.column_stack([np.full(500, x), rng.uniform(-2, 2, 500)]) for x in (-0.7, 0.9))
    high[:, 1] = low[:, 1]
    at_most = [np.cumsum(model.predict_proba(part), axis=1) for part in (low, high)]
    assert (at_most[1] <= at_most[0] + 1e-6).all()


def test_a_class_of_weight_zero_does_not_count(table):
    X, y = table
    target = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    model = SpectralClassifier(effort="fast", max_iter=2, random_state=0).fit(X, target, (target != 1) * 1.0)
    assert model.classes_.tolist() == [0, 2]
    with pytest.raises(ValueError, match="at least two classes"):
        SpectralClassifier().fit(X, target, (target == 1) * 1.0)


@pytest.mark.parametrize("dim", [None, 3])
def test_ordinal_classifiers_have_more_classes_than_rows_of_a_matrix(table, dim):
    X, y = table
    target = np.digitize(y, np.quantile(y, np.linspace(0.08, 0.92, 12)))
    model = SpectralOrdinalClassifier(dim=dim, effort="fast", max_iter=2, random_state=0).fit(X, target)
    assert model.predict_proba(X).shape == (len(X), 13)


def test_the_median_class_of_balanced_is_as_good_as_its_rounded_regression_and_as_fast():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (2400, 6))
    level = np.sin(4 * X[:, 0] + 2 * X[:, 1]) + X[:, 2] * X[:, 3] * 2 + 0.1 * rng.standard_normal(2400)
    y = np.digitize(level, np.quantile(level, [0.1, 0.3, 0.7, 0.9]))
    train, test = slice(0, 1200), slice(1200, None)

    def agreement(model):
        codes = np.clip(np.rint(model.fit(X[train], y[train]).predict(X[test])), 0, 4).astype(int)
        return cohen_kappa_score(y[test], codes, weights="quadratic")

    balanced = agreement(SpectralOrdinalClassifier(random_state=0))
    assert balanced > agreement(SpectralRegressor(random_state=0)) - 0.005
    assert balanced > agreement(SpectralOrdinalClassifier(effort="fast", random_state=0))


GRADES = ["good", "watch", "bad"]


@pytest.mark.parametrize("library", ["pandas", "polars", "frame", "categorical"])
def test_ordered_words_are_classes_in_the_order_of_their_type(library, tmp_path):
    X, codes = np.arange(60.0)[:, None], np.repeat([0, 1, 2], 20)
    labels = np.array(GRADES)[codes]
    ordered = pd.Categorical(labels, [*GRADES, "unused"], ordered=True)
    y = {
        "pandas": pd.Series(ordered),
        "polars": pl.Series(labels, dtype=pl.Enum([*GRADES, "unused"])),
        "frame": pd.DataFrame({"grade": ordered}),
        "categorical": ordered,
    }[library]
    settings = {"effort": "fast", "max_iter": 3, "monotonic_cst": [1], "random_state": 0, "scoring": "neg_log_loss"}
    model = SpectralOrdinalClassifier(**settings)
    by_codes = SpectralOrdinalClassifier(**settings).fit(X, codes)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A column-vector y was passed")
        model.fit(X, y)
    assert model.classes_.tolist() == GRADES
    np.testing.assert_array_equal(model.predict_proba(X), by_codes.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), np.array(GRADES)[by_codes.predict(X)])
    model.save(tmp_path / "model")
    assert lambdak.load(tmp_path / "model").classes_.tolist() == GRADES


def test_further_rows_have_their_ordered_classes_in_the_order_of_the_first():
    X, labels = np.arange(60.0)[:, None], np.repeat(GRADES, 20)
    y = pd.Series(pd.Categorical(labels, GRADES, ordered=True))
    model = SpectralOrdinalClassifier(effort="fast", max_iter=2, warm_start=True, random_state=0)
    first = model.partial_fit(X, y, classes=pd.Categorical(GRADES, GRADES, ordered=True))
    assert first.classes_.tolist() == GRADES
    turned = y.cat.reorder_categories(GRADES[::-1])
    for again in (model.partial_fit, model.fit):
        with pytest.raises(ValueError, match="in the order of the first fit, 'good' < 'watch' < 'bad'; got 'bad' <"):
            again(X, turned)
    assert model.fit(X, y).classes_.tolist() == model.partial_fit(X[:9], y[:9]).classes_.tolist() == GRADES


def test_numbers_as_ordered_classes_ascend():
    y = pd.Series(pd.Categorical(np.repeat([1, 2, 3], 20), [3, 2, 1], ordered=True))
    with pytest.raises(ValueError, match=r"y is ordered 3 < 2 < 1, but numbers .*: give codes, such as y.cat.codes"):
        SpectralOrdinalClassifier().fit(np.arange(60.0)[:, None], y)


def test_words_are_no_order_and_sorted_grades_are():
    X, labels = np.arange(60.0)[:, None], np.repeat(["good", "watch", "bad"], 20)
    model = SpectralOrdinalClassifier(effort="fast", max_iter=2, random_state=0)
    with pytest.warns(UserWarning, match="'bad' < 'good' < 'watch': if that is not their order"):
        model.fit(X, labels)
    for sorted_labels in (["A", "B", "C"], ["1 low", "2 middle", "3 high"], ["grade 1", "grade 2", "grade 3"]):
        model.fit(X, np.repeat(sorted_labels, 20))  # a warning would be an error
