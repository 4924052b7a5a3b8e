"""The derivative of a vector by kernel, LAPACK and ``torch.linalg.eigh``: one width makes eigenvalues equal."""

from __future__ import annotations

import gap_cases
import numpy as np
import pytest

import torch
from lambdak import eigenpair, eigenpair_vjp, unsym
from lambdak.torch import operators

ROWS = 5
SCALES = {np.float32: (1e-15, 1.0, 1e15), np.float64: (1e-150, 1.0, 1e150)}


def by_eigh(packed, dim, value, vector, right):
    """The path of every other device."""
    tensors = [torch.from_numpy(part) for part in (packed, value[:, None], vector[:, None], right[:, None])]
    coords, values, vectors, grad_vector = tensors
    grads = torch.zeros_like(values), grad_vector
    return operators.eigenpair_vjp(coords, values, vectors, *grads, dim, False).numpy()


@pytest.mark.parametrize("dtype", SCALES)
@pytest.mark.parametrize("dim", [2, 5, 9, 20])
def test_kernel_lapack_and_eigh_agree_for_every_gap_at_every_scale(dim, dtype, monkeypatch):
    monkeypatch.setattr(torch.Tensor, "is_cpu", False)
    rng = np.random.default_rng(dim)
    for scale in SCALES[dtype]:
        for gap in gap_cases.gaps(dim, dtype):
            matrix = gap_cases.neighbours(rng, ROWS, dim, gap)
            packed = unsym(matrix * scale).astype(dtype)
            value, vector = eigenpair(packed, dim, dim // 2)
            right = rng.standard_normal((ROWS, dim)).astype(dtype)
            args, zero = (packed, dim, value, vector), np.zeros(ROWS, dtype)
            ours, theirs = (eigenpair_vjp(*args, zero, right, backend=b) * scale for b in ("native", "lapack"))
            bound = gap_cases.tolerance(matrix, dim, gap, dtype)
            for other in (theirs, by_eigh(*args, right) * scale):
                assert (np.abs(ours - other).max(-1) <= bound).all(), (gap, scale)
