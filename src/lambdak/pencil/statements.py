r"""Lists of statements "this symmetric matrix is positive semidefinite", about combinations of stored matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lambdak._types import Float64Array
from lambdak.eigen.lazy import cached_property
from lambdak.eigen.packing import packed_dim
from lambdak.eigen.rounding import eigenvalue_error
from lambdak.pencil.definite import SAFE, UNIT, frobenius, proven_psd
from lambdak.pencil.exact import Verdict, Work, all_of, combination_is_psd
from lambdak.pencil.spectrum import extremes

Combination = Mapping[int, Fraction]  # position of a row → its factor

_DENSE = 1 << 14  # entries of moves: of fewer, a dense product takes less time than SciPy needs to begin a sparse one


@final
@dataclass(frozen=True, eq=False)
class Statements:
    """Σ_j q_j C_m[j] ⪰ 0 for every combination q and every member m.

    Attributes
    ----------
    rows : array of shape (members, p, D)
        Packed matrices, as they are stored.
    combinations : sequence
        Factors of each statement, rational numbers.
    """

    rows: Float64Array
    combinations: Sequence[Combination]

    def __len__(self) -> int:
        return len(self.rows) * len(self.combinations)

    def all_true(self, work: Work, exact: bool = False) -> Verdict:
        """Whether all are true: in float64 where that is a proof, and otherwise, or if asked, in integers.

        None if deciding that takes more of these than ``work`` allows.
        """
        if exact:
            return all_of(self._is_true(which, work) for which in range(len(self)))
        unproven = np.flatnonzero(~self.proven())
        if self._refuted(unproven).any():
            return False
        return all_of(self._is_true(which, work) for which in unproven.tolist())

    def proven(self) -> NDArray[np.bool_]:
        """Which are proven in float64, (members * combinations,)."""
        return proven_psd(*self._rounded)

    @cached_property
    def least(self) -> float:
        """The smallest eigenvalue of all matrices, about; infinite if there are none."""
        return float(extremes(self._rounded[0])[0].min()) if len(self) else np.inf

    @cached_property
    def _rounded(self) -> tuple[Float64Array, Float64Array]:
        """The matrices (members * combinations, D) in float64, and how far each may be off, in Frobenius norm."""
        factors = self._factors()
        packed = combined(factors, self.rows).reshape(-1, self.rows.shape[-1])
        # A row, or a difference of two rows, is rounded once; other combinations have rounded factors and products.
        used, sizes = np.diff(factors.indptr), np.abs(factors)
        others = np.flatnonzero(sizes.data != 1)  # factors
        once = used <= 2
        once[np.searchsorted(factors.indptr, others, side="right") - 1] = False
        parts = (sizes @ frobenius(self.rows).T).T
        error = np.where(np.tile(once, len(self.rows)), UNIT * frobenius(packed), 6 * UNIT * parts.reshape(-1))
        return packed, np.asarray(SAFE * error)

    def _factors(self) -> Any:
        """The combinations as a sparse matrix (combinations, p), without the factors that are zero."""
        ends = np.cumsum([0, *map(len, self.combinations)])
        ids = [j for combination in self.combinations for j in combination]
        values = [float(q) for combination in self.combinations for q in combination.values()]
        shape = (len(self.combinations), self.rows.shape[1])
        factors = sparse.csr_array((np.array(values, float), np.array(ids, np.int64), ends), shape)
        factors.eliminate_zeros()
        return factors

    def _refuted(self, which: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which of these have an eigenvalue that is certainly negative."""
        packed, error = self._rounded[0][which], self._rounded[1][which]
        if not len(which):
            return np.zeros(0, np.bool_)
        slack = error + SAFE * eigenvalue_error(packed_dim(packed.shape[-1])) * frobenius(packed)
        return np.asarray(extremes(packed)[0] < -slack)

    def _is_true(self, which: int, work: Work) -> Verdict:
        member, own = divmod(which, len(self.combinations))
        factors = self.combinations[own]
        return combination_is_psd([(q, self.rows[member, j]) for j, q in factors.items()], work=work)


def combined(moves: Any, rows: Float64Array) -> Float64Array:
    """Moves (n, p), also sparse ones, of packed matrices (members, p, D), (members, n, D)."""
    if not isinstance(moves, np.ndarray) and moves.shape[0] * moves.shape[1] <= _DENSE:
        moves = moves.toarray()
    if isinstance(moves, np.ndarray):
        return np.asarray(moves @ rows, np.float64)
    return np.stack([moves @ member for member in rows]) if len(rows) else np.zeros((0, moves.shape[0], rows.shape[-1]))


def rises(increments: Any, sign: int) -> list[Combination]:
    """Every increment (steps, p), dense or sparse, with factors 1 and −1, is semidefinite of this sign."""
    return [{j: Fraction(sign * q) for j, q in step} for step in _nonzero(increments)]


def bends(increments: Any, lengths: Sequence[Fraction], sign: int) -> list[Combination]:
    """The slope changes from each increment to the next by a semidefinite matrix of this sign, times both lengths."""
    found: list[Combination] = []
    for (one, other), (before, after) in zip(pairwise(_nonzero(increments)), pairwise(lengths), strict=True):
        factors: dict[int, Fraction] = {}
        for step, length in ((other, before), (one, -after)):
            for i, q in step:
                factors[i] = factors.get(i, Fraction(0)) + sign * Fraction(q) * length
        found.append(factors)
    return found


def _nonzero(moves: Any) -> list[list[tuple[int, float]]]:
    """Positions and values of what is not zero in each row."""
    own = sparse.csr_array(moves)
    entries = list(zip(own.indices.tolist(), own.data.tolist(), strict=True))
    return [entries[first:last] for first, last in pairwise(own.indptr.tolist())]
