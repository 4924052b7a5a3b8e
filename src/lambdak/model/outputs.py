"""How the outputs of a model come from its matrices: one eigenvalue, one per class, or one at several levels.

Coefficients are stacked, (models, design columns, width): the pencils of a member follow one another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from lambdak._checks import check_int
from lambdak._types import FloatArray
from lambdak.losses import Arrangement, Loss
from lambdak.table.curve_column import with_levels
from lambdak.table.design import Design


class Outputs:
    """Where the raw scores of a row come from. Immutable."""

    indices: tuple[int, ...]  # zero-based positions of the eigenvalues that are read off each pencil
    pencils: int = 1  # of a member
    quantile_levels: tuple[float, ...] = ()
    in_order: bool = False  # whether each output is never below the one before it
    refits: bool = True  # whether members may learn from the rows they were measured on
    single: bool = False  # whether raw scores are (rows,): without an axis of outputs

    @property
    def levels(self) -> tuple[float, ...]:
        """Knots of the column that tells outputs of one eigenvalue apart: design columns beyond those of the table."""
        return ()

    def expand(self, design: Design, n_design: int) -> Design:
        """The design rows to evaluate for these rows of a table."""
        return design

    def arrange(self, eigenvalues: FloatArray) -> FloatArray:
        """(members, rows, outputs) from the eigenvalues (models, expanded rows, indices)."""
        return eigenvalues

    def arrange_back(self, grad: FloatArray) -> FloatArray:
        """The transpose of :meth:`arrange`: (models * rows, indices) from (members, rows, outputs)."""
        return _flat(grad)

    def own_pencils(self, i: int) -> slice:
        """The pencils of output ``i`` among those of all members."""
        return slice(None)

    def own_index(self, i: int) -> int:
        """The position of the eigenvalue of output ``i``."""
        return self.indices[0]

    def own_level(self, i: int) -> int | None:
        """The design column, counted from the table's last one, that output ``i`` adds to the constant."""
        return None


@final
@dataclass(frozen=True)
class SingleOutput(Outputs):
    """One eigenvalue of one pencil."""

    indices: tuple[int, ...]
    single = True


@final
@dataclass(frozen=True)
class ClassOutputs(Outputs):
    """One eigenvalue of each of several pencils, one per class."""

    indices: tuple[int, ...]
    pencils: int

    def arrange(self, eigenvalues: FloatArray) -> FloatArray:
        """The pencils of a member become its outputs."""
        models, rows, _ = eigenvalues.shape
        return eigenvalues.reshape(models // self.pencils, self.pencils, rows).transpose(0, 2, 1)

    def arrange_back(self, grad: FloatArray) -> FloatArray:
        """The outputs of a member become its pencils."""
        return _flat(grad.transpose(0, 2, 1)[..., None])

    def own_pencils(self, i: int) -> slice:
        """The pencils of class ``i`` among those of all members."""
        return slice(i, None, self.pencils)


@final
@dataclass(frozen=True)
class OrderedOutputs(Outputs):
    """Several eigenvalues of one pencil, in files that were saved before: they are always in order."""

    indices: tuple[int, ...]
    in_order = True

    def own_index(self, i: int) -> int:
        """The position of the eigenvalue of output ``i``: outputs have different ones."""
        return self.indices[i]


class LevelOutputs(Outputs):
    """One eigenvalue of A(x) + P(l) for every level l, in order because P rises by semidefinite steps."""

    in_order = True
    refits = False

    def expand(self, design: Design, n_design: int) -> Design:
        """Every row once for each level."""
        return with_levels(design, n_design, len(self.levels))

    def arrange(self, eigenvalues: FloatArray) -> FloatArray:
        """The copies of a row become its outputs."""
        return eigenvalues.reshape(len(eigenvalues), -1, len(self.levels))

    def arrange_back(self, grad: FloatArray) -> FloatArray:
        """The outputs of a row become its copies."""
        return _flat(grad[..., None])

    def own_level(self, i: int) -> int | None:
        """The design column of level ``i``, counted from the table's last one, that output ``i`` adds."""
        return i


@final
@dataclass(frozen=True)
class QuantileOutputs(LevelOutputs):
    """One eigenvalue of A(x) + P(q) for every quantile level q: quantiles never cross."""

    indices: tuple[int, ...]
    quantile_levels: tuple[float, ...]

    @property
    def levels(self) -> tuple[float, ...]:
        """The quantile levels."""
        return self.quantile_levels


@final
@dataclass(frozen=True)
class CutPointOutputs(LevelOutputs):
    """The levels are the first classes of several, counted from 1: cumulative probabilities never fall."""

    indices: tuple[int, ...]
    cut_points: int

    @property
    def levels(self) -> tuple[float, ...]:
        """The first classes up to each cut-point, counted."""
        return tuple(float(level) for level in range(1, self.cut_points + 1))


@final
@dataclass(frozen=True)
class TimeOutputs(LevelOutputs):
    """One eigenvalue of A(x) + P(t) at each of several times: the probability of an event never falls with time."""

    indices: tuple[int, ...]
    times: tuple[float, ...]
    refits = True

    @property
    def levels(self) -> tuple[float, ...]:
        """Logarithms of the times."""
        return tuple(math.log(time) for time in self.times)


@final
@dataclass(frozen=True)
class CopyOutputs(Outputs):
    """One eigenvalue of each of several design rows, the copies of a row, whose loss takes them together."""

    indices: tuple[int, ...]
    copies: int

    def arrange(self, eigenvalues: FloatArray) -> FloatArray:
        """The copies of a row become its outputs."""
        return eigenvalues.reshape(len(eigenvalues), -1, self.copies)

    def arrange_back(self, grad: FloatArray) -> FloatArray:
        """The outputs of a row become its copies."""
        return _flat(grad[..., None])


def outputs_of(loss: Loss, indices: tuple[int, ...]) -> Outputs:
    """The outputs that a loss needs, read off at these eigenvalues."""
    match loss.arrangement:
        case Arrangement.PER_CLASS:
            return ClassOutputs(indices, loss.n_outputs)
        case Arrangement.ORDERED:
            several = len(indices) > 1  # in files that were saved before
            return OrderedOutputs(indices) if several else CutPointOutputs(indices, loss.n_outputs)
        case Arrangement.QUANTILES:
            return QuantileOutputs(indices, loss.quantile_levels)
        case Arrangement.TIMES:
            return TimeOutputs(indices, loss.times)
        case Arrangement.COPIES:
            return CopyOutputs(indices, loss.n_outputs)
        case Arrangement.SINGLE:
            return SingleOutput(indices)


def eigenvalue_indices(dim: int, end: int = 0, eig_idx: int | None = None) -> tuple[int, ...]:
    """Which eigenvalue is read off matrices of this size.

    A convex function is the last one (``end`` 1), a concave one the first (-1), and any other the one that was
    requested, or the middle one.
    """
    if end:
        return (dim - 1,) if end > 0 else (0,)
    return (dim // 2,) if eig_idx is None else (check_int(eig_idx, "eig_idx", 0, dim),)


def _flat(grad: FloatArray) -> FloatArray:
    return np.ascontiguousarray(grad).reshape(-1, grad.shape[-1])
