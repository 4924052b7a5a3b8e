"""Eigenvalues of design rows, for a stack of models at once: one call of the kernel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lambdak._types import FloatArray
from lambdak.eigen.packing import packed_size
from lambdak.eigen.steps import step_engine
from lambdak.table.design import Design

_FEW = 1 << 16  # matrices times dim³: waking another thread takes longer


def evaluate(
    coef: FloatArray,
    dim: int,
    indices: Sequence[int],
    design: Design,
    rows: NDArray[np.int32] | None = None,
    threads: int = 0,
) -> FloatArray:
    """Eigenvalues (models, rows, indices) of design rows, from coefficients (models, P, padded width).

    ``rows`` (models, n) gives every model its own rows; None gives it all. ``threads`` = 0 takes the process's setting.
    """
    models = len(coef)
    if rows is None:
        rows = np.broadcast_to(np.arange(len(design), dtype=np.int32), (models, len(design)))
    value = np.empty((rows.size, len(indices)), coef.dtype)
    width, chosen = packed_size(dim), np.ascontiguousarray(rows)
    given = (design.ids, design.weights, chosen)
    threads = 1 if rows.size * dim**3 <= _FEW else threads
    step_engine().forward(given, coef[..., :width], dim, list(indices), (value, None), threads)
    return value.reshape(models, chosen.shape[1], len(indices))
