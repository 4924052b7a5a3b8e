"""Design rows, sparse and rectangular: z = Σ_s w_s e_{id_s}."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lambdak._types import FloatArray


@final
@dataclass(frozen=True, eq=False)
class Design:
    """z = Σ_s w_s e_{id_s}: the active entries of every row.

    Attributes
    ----------
    ids : int32 array of shape (rows, slots)
        Design columns; slot 0 is the constant, id 0.
    weights : float array of shape (rows, slots)
        Their weights; slot 0 has weight 1. A slot that is not needed has weight 0.
    """

    ids: NDArray[np.int32]
    weights: FloatArray

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: NDArray[Any] | Sequence[int] | slice) -> Design:
        """The design of some rows, given by their indices, a boolean mask or a slice."""
        return Design(self.ids[rows], self.weights[rows])

    def to_sparse(self, n_design: int, only: NDArray[np.bool_] | None = None) -> Any:
        """Z as a SciPy CSR array of shape (rows, n_design), perhaps of some design columns ``only``: the others are 0.

        >>> ids, weights = np.array([[0, 1, 2]], np.int32), np.array([[1.0, 0.75, 0.25]])
        >>> Design(ids, weights).to_sparse(4).toarray()
        array([[1.  , 0.75, 0.25, 0.  ]])
        """
        rows, slots = self.ids.shape
        if only is None:
            parts = self.weights.ravel(), self.ids.ravel(), np.arange(rows + 1) * slots
        else:
            kept = only[self.ids]
            parts = self.weights[kept], self.ids[kept], np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        return sparse.csr_array(parts, shape=(rows, n_design))
