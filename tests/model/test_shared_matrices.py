"""Outputs that differ by their constant only have one array of matrices, and what follows from it is computed once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor
from lambdak.certify import certify, promised
from lambdak.model import influence
from lambdak.model.influence import apart, changes, strengths
from lambdak.model.readout import readouts

SMALL = {"effort": "fast", "dim": 3, "max_iter": 1, "n_estimators": 2, "n_knots": 4, "random_state": 0}
NINE = tuple(np.arange(1, 10) / 10)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 9, (300, 2)), rng.integers(0, 150, 300)])
    return X, X[:, 0] + X[:, 2] % 7 + rng.normal(size=300)


def quantiles(rows, levels):
    settings = {**SMALL, "categorical_features": [2], "max_influence": [1e6] * 3}
    return SpectralQuantileRegressor(levels, **settings).fit(*rows).model_


@pytest.fixture
def normed(monkeypatch):
    """How many matrices had their norm bounded, in all calls so far."""
    counts, bound = [0], influence.norm_bound

    def counted(packed):
        counts[0] += int(np.prod(packed.shape[:-1]))
        return bound(packed)

    monkeypatch.setattr(influence, "norm_bound", counted)
    searched = influence._searched

    def search(readout, *which):
        counts[0] += readout.coef.shape[0] * readout.columns[which[0]].width
        return searched(readout, *which)

    monkeypatch.setattr(influence, "_searched", search)
    return counts


def work_of(counts, call):
    before = counts[0]
    call()
    return counts[0] - before


def test_quantiles_and_cut_points_have_one_array_of_matrices_and_classes_one_each(rows):
    X, y = rows
    codes = np.digitize(y, [3, 6, 9])
    ordinal = SpectralOrdinalClassifier(**SMALL).fit(X[:, :2], codes).model_
    classes = SpectralClassifier(**SMALL).fit(X[:, :2], codes).model_
    for model, outputs, arrays in ((quantiles(rows, NINE), 9, 1), (ordinal, 3, 1), (classes, 4, 4)):
        own = readouts(model)
        assert (len(own), len({id(output.coef) for output in own}), len(apart(own))) == (outputs, arrays, arrays)
        assert len({output.constant.tobytes() for output in own}) == outputs


@pytest.mark.parametrize(
    "work", [strengths, certify, lambda model: list(promised(model))], ids=["strengths", "certify", "load"]
)
def test_nine_quantiles_take_as_many_norms_as_two(rows, normed, work):
    two, nine = quantiles(rows, (0.1, 0.9)), quantiles(rows, NINE)
    assert 0 < work_of(normed, lambda: work(nine)) == work_of(normed, lambda: work(two))


def test_bounds_of_shared_matrices_are_those_of_outputs_apart(rows):
    shared = readouts(quantiles(rows, NINE))
    copies = [replace(output, coef=output.coef.copy()) for output in shared]
    assert len(apart(copies)) == 9
    for i in range(3):
        assert changes(shared, i) == changes(copies, i)
