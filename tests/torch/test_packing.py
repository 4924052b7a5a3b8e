"""Coordinates of symmetric matrices."""

from __future__ import annotations

import numpy as np
import pytest
from torch_coords import random_coords

import lambdak
import torch
from lambdak.torch import (
    sym,
    unhermitian,
    unsym,
)


@pytest.mark.parametrize(("dim", "tridiagonal"), [(1, False), (5, False), (5, True), (1, True)])
def test_packing_is_an_isometry_that_agrees_with_the_core(dim, tridiagonal):
    coords = random_coords(dim, tridiagonal)
    matrix = sym(coords, dim, tridiagonal)
    assert torch.equal(matrix, matrix.mT)
    torch.testing.assert_close(unsym(matrix, tridiagonal), coords, rtol=1e-15, atol=1e-15)
    torch.testing.assert_close(matrix.square().sum((-1, -2)), coords.square().sum(-1))
    if not tridiagonal:
        np.testing.assert_allclose(matrix.numpy(), lambdak.sym(coords.numpy()), rtol=1e-15)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (5, 3, 2)])
@pytest.mark.parametrize("function", [unsym, unhermitian])
def test_what_is_not_square_is_refused(shape, function):
    with pytest.raises(ValueError, match=r"matrix must have shape \(\.\.\., d, d\); got"):
        function(torch.zeros(shape))
