"""The cap of a category whose levels are combinations of the design columns it is trained in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lambdak._types import FloatArray
from lambdak.eigen.packing import packed_size
from lambdak.training.caps import Cap, scaled_limit, steepest_of_many
from lambdak.training.trained_columns import Entries

_MOST_TRIED = 500  # levels, at each step of training


class LevelCap(Cap):
    """Caps the distance between any two levels, an unseen one among them, by scaling all columns of the category."""

    def __init__(self, span: slice, levels: Entries, limit: float, dim: int) -> None:
        self._span, self._width, self._limit, self._many = span, packed_size(dim), scaled_limit(limit), True
        self._before_scaling()
        self._levels = Entries(levels.ids - np.int32(span.start), levels.weights)
        self._tried = self._levels.take(_spread(self._levels))

    def _steepest(self, rows: FloatArray, n_jobs: int | None) -> tuple[FloatArray, FloatArray]:
        norms, slopes = steepest_of_many(self._tried.combined(rows), n_jobs)
        return norms, self._tried.combined_back(slopes, rows.shape[1])

    def _cells(self, rows: FloatArray) -> FloatArray:
        return self._levels.combined(rows)


def _spread(levels: Entries) -> NDArray[np.intp]:
    """Some levels, evenly, and those at both ends of every slot."""
    height = levels.ids + levels.weights.astype(np.float64)
    ends = [height.argmin(axis=0), height.argmax(axis=0)]
    every = np.arange(0, len(height), max(len(height) // _MOST_TRIED, 1))
    return np.unique(np.concatenate([*ends, every, [len(height) - 1]])).astype(np.intp)
