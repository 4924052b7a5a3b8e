"""Outputs of fitted models, in float64: against NumPy's eigenvalues of matrices rebuilt by hand."""

from __future__ import annotations

import numpy as np
import pytest
from fitted_models import KINDS, X, fitted, rows_of
from score_cases import (
    cells_of,
    frame_of,
    matrices,
    n_outputs,
    predicted_by_hand,
    predictions_of,
    random_cells,
    row_matrices,
    score_by_hand,
    unpacked,
)
from sklearn.exceptions import NotFittedError

from lambdak import SpectralRegressor
from lambdak.losses.links import SOFTMAX
from lambdak.model.readout import active_values, dense_rows, readouts, slots_of
from lambdak.table.category_levels import OTHER, shown


@pytest.mark.parametrize("kind", KINDS)
def test_every_output_scores_rows_like_matrices_rebuilt_by_hand(kind):
    model = fitted(kind)
    cells = random_cells(model, 6)
    design = model.model_.encoder.transform(frame_of(model, cells).to_numpy(object), np.float64)
    outputs = readouts(model.model_)
    assert len(outputs) == n_outputs(model)
    for i, output in enumerate(outputs):
        packed = output.packed(design)
        for row, own in enumerate(cells):
            np.testing.assert_allclose(unpacked(packed[:, row]), row_matrices(model, own, i), atol=1e-12)
        expected = [score_by_hand(model, own, i) for own in cells]
        np.testing.assert_allclose(output.score(packed), expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_those_of_the_estimator_to_its_precision(kind):
    model, rows = fitted(kind), rows_of(kind)[:8]
    outputs = readouts(model.model_)
    design = model.model_.encoder.transform(dense_rows(rows), np.float64)
    scores = np.stack([output.score(output.packed(design)) for output in outputs], axis=-1)
    found = outputs[0].link.predictions(scores)
    for i in range(len(outputs)):
        np.testing.assert_allclose(found[:, i], predictions_of(model, rows, i), rtol=2e-4, atol=2e-5)
        np.testing.assert_allclose(found[:, i], predicted_by_hand(model, scores, i), rtol=1e-12)


def test_softmax_of_huge_scores_does_not_overflow():
    np.testing.assert_array_equal(SOFTMAX.predictions(np.array([[1e4, 0.0]])), [[1.0, 0.0]])


NAMES = {
    "regressor": ["prediction"],
    "binary": ["class 'yes'"],
    "multiclass": ["class 0", "class 1", "class 2", "class 3"],
    "quantiles": ["quantile 0.1", "quantile 0.5", "quantile 0.9"],
    "ordinal": ["y ≤ 0", "y ≤ 1", "y ≤ 2"],
}


@pytest.mark.parametrize("kind", NAMES)
def test_outputs_are_named_after_what_they_are_of(kind):
    assert [output.name for output in readouts(fitted(kind).model_)] == NAMES[kind]


def test_a_model_that_is_not_fitted_has_nothing_to_read():
    with pytest.raises(NotFittedError):
        SpectralRegressor().feature_strengths_  # noqa: B018


def test_blocks_cover_all_rows_once_and_stay_small():
    output = readouts(fitted("regressor").model_)[0]
    every = np.arange(1_000_000)
    places = [every[rows] for rows in output.blocks(len(every), 64)]
    np.testing.assert_array_equal(np.concatenate(places), every)
    assert max(len(rows) for rows in places) * 64 * len(output.weights) <= 1 << 21
    assert list(output.blocks(2, 1 << 40)) == [slice(0, 1), slice(1, 2)]


def test_active_values_are_inner_products_with_the_matrix_of_each_column():
    model = fitted("regressor")
    output = readouts(model.model_)[0]
    design = model.model_.encoder.transform(X[:3], np.float64)
    weight = np.random.default_rng(0).normal(size=(2, 3, output.coef.shape[2]))
    found = active_values(output, weight, design)
    for member in range(2):
        C, W = matrices(model, member), unpacked(weight[member])
        for row in range(3):
            for i, column in enumerate(output.columns):
                own = model.model_.encoder.transform(X[row : row + 1], np.float64).to_sparse(len(C)).toarray()[0]
                A = np.tensordot(own[column.start : column.stop], C[column.start : column.stop], 1)
                assert found[member, row, i] == pytest.approx(np.trace(W[row] @ A), abs=1e-12)
    assert [len(slots) for slots in slots_of(output.columns)] == [2, 2, 1, 1]
    assert cells_of("regressor", 0)[2] == "rare"


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, "missing"),
        (np.nan, "missing"),
        (OTHER, "other"),
        (0.1 + 0.2, "0.3"),
        (3, "3"),
        ("a", "a"),
        (True, "True"),
    ],
)
def test_cells_are_shown_as(cell, text):
    assert shown(cell) == text
