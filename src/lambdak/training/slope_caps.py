r"""The cap on slopes: along a column, or a direction of several columns, ‖Σ_i w_i A_i'(x_i)‖₂ is at most a limit.

A column's slope is that of one of its pieces between knots, or zero at a flat end. Of a column that may bend anywhere
every piece that is too steep is scaled down; any other, and all columns of a direction, are scaled as a whole, by the
same factor, as one column is by its cap. Matrices of missing cells stay as they are. Of many choices of pieces,
each step of training tries those that one column after the other makes steeper; the last word is a proof.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array, FloatArray
from lambdak.eigen import eigenvalue
from lambdak.eigen.packing import packed_dim, packed_size
from lambdak.model.slopes import MOST_CHOICES, choices_of, pieces_of
from lambdak.pencil.diameter import norms_and_slopes
from lambdak.table.column_contract import Column
from lambdak.training.caps import SMALLEST, Cap, GroupCap, scaled_limit, steepest

_FEW_CHOICES = 128  # all of which are tried at every step
_SWEEPS = 2  # over the columns of a direction, of which the second rarely finds a steeper choice


class SlopeCap(Cap):
    """The cap on the slope along a direction: columns of numbers, and by how much each moves."""

    def __init__(self, direction: Sequence[tuple[Column, float]], limit: float, dim: int, unit: float) -> None:
        self._width, self._many = packed_size(dim), False
        self._span = np.concatenate([np.arange(own.start, own.stop - (own.missing >= 0)) for own, _ in direction])
        pieces = _joined([pieces_of(own, weight, len(direction) > 1) for own, weight in direction], direction)
        self._limit, self._pieces = scaled_limit(limit / unit), [own / unit for own in pieces]
        self._few = choices_of(pieces) <= _FEW_CHOICES
        self._before_scaling()

    @property
    def span(self) -> NDArray[np.intp]:
        """The design columns that it measures."""
        return np.asarray(self._span)

    def measured(self, coef: FloatArray, threads: int, proven: bool) -> tuple[FloatArray, FloatArray]:
        """The steepest slope of each model, (models,), and its derivative with respect to the columns' rows."""
        rows, n_jobs = coef[:, self._span, : self._width], threads or None
        if proven or self._few:
            return steepest(_sums(self._pieces).astype(rows.dtype), rows, n_jobs)
        return self._climbed(rows, n_jobs)

    def _climbed(self, rows: FloatArray, n_jobs: int | None) -> tuple[FloatArray, FloatArray]:
        """The steepest slope that one column after the other finds, from the steepest piece of each."""
        moves = [own.astype(rows.dtype) @ rows for own in self._pieces]  # (models, pieces, D) of each column
        models, dim = np.arange(len(rows)), packed_dim(rows.shape[-1])
        chosen = [_norms(own, dim, n_jobs).argmax(axis=1) for own in moves]
        for _ in range(_SWEEPS):
            for i, own in enumerate(moves):
                others = sum(m[models, c] for j, (m, c) in enumerate(zip(moves, chosen, strict=True)) if j != i)
                chosen[i] = _norms(own + others[:, None], dim, n_jobs).argmax(axis=1)
        found = np.sum([m[models, c] for m, c in zip(moves, chosen, strict=True)], axis=0)
        swaps = np.sum([own[c] for own, c in zip(self._pieces, chosen, strict=True)], axis=0).astype(rows.dtype)
        norms, slopes = norms_and_slopes(found, n_jobs)
        return norms, np.asarray(swaps[:, :, None] * slopes[:, None, :])


class PieceCap:
    """The cap on every piece of one column by itself, around the mean of its knots.

    C' = C + T ((f − 1) Δ): Δ are the increments from knot to knot, f = min(1, limit · length / ‖Δ‖₂), and T sums up.
    """

    def __init__(self, column: Column, limit: float, dim: int) -> None:
        numbers, sums = column.stop - (column.missing >= 0), column.rising()
        self._span, self._width = slice(column.start, numbers), packed_size(dim)
        self._moves = column.increments().toarray()[:, : numbers - column.start]
        self._sums = sums - sums.mean(axis=0)
        self._limits = np.array([scaled_limit(own) for own in (limit * column.lengths()).tolist()])

    def apply_(self, coef: FloatArray, threads: int = 0, proven: bool = False) -> None:
        """Scale the pieces of coef (models, P, width) that are too steep."""
        rows = coef[:, self._span, : self._width]
        moves = self._moves.astype(rows.dtype) @ rows
        norms, slopes = norms_and_slopes(moves, threads or None)
        norms = np.maximum(norms, SMALLEST)
        factor = np.minimum(1.0, self._limits / norms)[..., None]  # (models, pieces, 1)
        self._factor, self._steep = factor.astype(rows.dtype), np.where(factor < 1, slopes / norms[..., None], 0.0)
        self._found = moves
        rows += self._sums.astype(rows.dtype) @ ((self._factor - 1) * moves)

    def pull_back_(self, grad_coef: FloatArray) -> None:
        """Turn the gradient with respect to the limited rows into that with respect to the rows before."""
        grad = grad_coef[:, self._span, : self._width]
        pieces = self._sums.T.astype(grad.dtype) @ grad
        along = (self._found * pieces).sum(axis=2, keepdims=True)
        change = (self._factor - 1) * pieces - self._factor * along * self._steep
        grad += self._moves.T.astype(grad.dtype) @ change.astype(grad.dtype)


def slope_cap(
    direction: Sequence[tuple[Column, float]],
    limit: float,
    dim: int,
    bends: bool = False,
    tied: NDArray[np.intp] | None = None,
) -> Cap | GroupCap | PieceCap:
    """The cap on the slope along a direction; with too many choices of pieces on the sum of its columns' slopes.

    ``bends`` says whether the columns may bend anywhere, so that each of their pieces can be scaled by itself; ``tied``
    are design columns that are scaled, too, because shapes compare them with those of the direction.
    """
    (first, weight), *others = direction
    if bends and limit and not others and first.n_ramps > 1:
        return PieceCap(first, limit / abs(weight), dim)
    pieces = [pieces_of(own, q, len(direction) > 1) for own, q in direction]
    # In units in which a typical slope is 1, so that float32 holds all of them.
    largest = np.concatenate([np.abs(own).max(axis=1, initial=0.0) for own in pieces])
    unit = float(np.median(largest[largest > 0])) if largest.any() else 1.0
    if choices_of(pieces) <= MOST_CHOICES:
        parts = [SlopeCap(direction, limit, dim, unit)]
    else:
        parts = [SlopeCap([own], limit, dim, unit) for own in direction]
    if tied is not None and len(tied):
        parts[0].scale_also_(
            np.setdiff1d(tied, np.concatenate([np.zeros(0, np.intp), *(own.span for own in parts[1:])]))
        )
    return parts[0] if len(parts) == 1 else GroupCap(parts, limit / unit)


def _joined(pieces: Sequence[Float64Array], direction: Sequence[tuple[Column, float]]) -> list[Float64Array]:
    """Pieces of each column over the numbers of all columns."""
    widths = [own.width - (own.missing >= 0) for own, _ in direction]
    first = np.cumsum([0, *widths])
    found = [np.zeros((len(own), first[-1])) for own in pieces]
    for own, wide, at, width in zip(pieces, found, first, widths, strict=False):
        wide[:, at : at + width] = own[:, :width]
    return found


def _sums(pieces: Sequence[Float64Array]) -> Float64Array:
    """All sums of one piece of each column."""
    total = pieces[0]
    for own in pieces[1:]:
        total = (total[:, None] + own).reshape(-1, total.shape[1])
    return total


def _norms(moves: FloatArray, dim: int, n_jobs: int | None) -> FloatArray:
    """‖M‖₂ of each matrix, (models, n)."""
    last = eigenvalue(moves, dim, dim - 1, n_jobs=n_jobs)
    return np.asarray(np.maximum(last, -eigenvalue(moves, dim, 0, n_jobs=n_jobs)))
