"""The eigenvalues of a stack of matrices at encoded rows, against pencils on the dense design."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from training_cases import DIM, OWN_ROWS, WIDTH, table

from lambdak import Pencil
from lambdak.model.model import evaluate
from lambdak.table.encoder import TableEncoder


def wide_design():
    X = sparse.random_array((70, 9), density=0.3, rng=np.random.default_rng(0), format="csr")
    encoder = TableEncoder().fit(X)
    return encoder.transform(X, dtype=np.float64), encoder.n_design


def mixed_design():
    X = table(70, 3)
    X[::5, 1] = np.nan
    X[:, 2] = np.round(X[:, 2])
    encoder = TableEncoder(n_knots=4, categorical_features=[2], min_level_count=1).fit(X)
    return encoder.transform(X, dtype=np.float64), encoder.n_design


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [wide_design, mixed_design])
def test_evaluate_equals_the_pencil_on_the_dense_design(make, dtype):
    design, n_design = make()
    coef = np.zeros((3, n_design, 16), dtype)
    coef[..., :WIDTH] = np.random.default_rng(0).standard_normal((3, n_design, WIDTH))
    typed = replace(design, weights=design.weights.astype(dtype))
    got = evaluate(coef, DIM, (0, 2, 4), typed)
    Z = design.to_sparse(n_design).toarray()
    assert got.dtype == dtype
    assert got.shape == (3, len(design), 3)
    for model in range(3):
        for position, index in enumerate((0, 2, 4)):
            expected = Pencil(coef[model, :, :WIDTH].astype(np.float64), index)(Z[:, 1:])
            np.testing.assert_allclose(got[model, :, position], expected, atol=100 * np.finfo(dtype).eps)


@pytest.mark.parametrize("make", [wide_design, mixed_design])
def test_evaluate_gives_every_model_its_own_rows(make):
    design, n_design = make()
    coef = np.zeros((2, n_design, 16))
    coef[..., :WIDTH] = np.random.default_rng(0).standard_normal((2, n_design, WIDTH))
    got, every = evaluate(coef, DIM, (1, 3), design, OWN_ROWS), evaluate(coef, DIM, (1, 3), design)
    np.testing.assert_array_equal(got, np.stack([every[model, rows] for model, rows in enumerate(OWN_ROWS)]))


def test_evaluate_of_no_rows_is_empty():
    design, n_design = mixed_design()
    assert evaluate(np.zeros((3, n_design, 16)), DIM, (2,), design.take(np.arange(0))).shape == (3, 0, 1)
