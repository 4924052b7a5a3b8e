"""Eigenvalues in C are as exact as LAPACK's on hard matrices: one level of a category for each of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from exported_c import opened
from fitted_models import fitted
from matrices import FACTORIES

from lambdak.eigen.packing import padded_size, unsym
from lambdak.model.outputs import SingleOutput
from lambdak.table.category_column import Category

SCALES = (1.0, 1e150, 1e-150, 1e-300)
RATIO = 10.0  # error over ‖A‖_F ε, as the kernel's own bound has it for each unit of dim


def of_matrices(full, index):
    """A model whose prediction for level i is an eigenvalue of matrix i."""
    packed, model = unsym(full), fitted("single").model_
    coef = np.zeros((1, 1 + len(full), padded_size(full.shape[-1])))
    coef[0, 1:, : packed.shape[1]] = packed
    column = Category("matrix", 1, levels=tuple(range(len(full))))
    encoder = replace(model.encoder, columns=(column,), from_names=True)
    outputs, start = SingleOutput((index,)), np.zeros(1)
    return model.replace(encoder=encoder, coef=coef, dim=full.shape[-1], outputs=outputs, start=start, scale=1.0)


@pytest.mark.parametrize("dim", [1, 2, 3, 9, 20, 35])
def test_hard_matrices_of_any_scale(dim, tmp_path):
    rng = np.random.default_rng(dim)
    plain = np.concatenate([factory(rng, 6, dim) for factory in FACTORIES.values()])
    index = int(rng.integers(dim))
    model = of_matrices(np.concatenate([plain * scale for scale in SCALES]), index)
    found = opened(model, tmp_path)(pd.DataFrame({"matrix": range(len(SCALES) * len(plain))})).raw[:, 0]
    wanted, norm = np.linalg.eigvalsh(plain)[:, index], np.linalg.norm(plain, axis=(1, 2))
    for scale, own in zip(SCALES, found.reshape(len(SCALES), -1), strict=True):
        off = np.abs(own / scale - wanted)
        room = 1e-323 / scale if scale < 1e-290 else 0.0  # what numbers that small are rounded to
        assert (off <= RATIO * dim * np.finfo(float).eps * norm + room).all()


def test_a_matrix_that_overflows_gives_nan(tmp_path):
    model = of_matrices(np.full((1, 3, 3), 8e307), 1)
    coef = model.coef.copy()
    coef[0, 0] = coef[0, 1]
    with np.errstate(over="ignore"):  # of the norm of the constant, which no export needs
        found = opened(model.replace(coef=coef), tmp_path)(pd.DataFrame({"matrix": [0, -1]})).raw[:, 0]
    assert np.isnan(found[0])
    assert np.isfinite(found[1])
