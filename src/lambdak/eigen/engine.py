"""What an engine offers, compiled or reference: many small eigenproblems, and the steps of training.

An engine fills the arrays that it is given and checks no more than it must to stay within them. ``threads`` is the
number of threads of one call; 0 is the process's setting, see :func:`lambdak.set_num_threads`. mypy compares the
stub of the compiled kernel and the reference modules with these protocols.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array, FloatArray

Ids: TypeAlias = NDArray[np.int32]

Matrices: TypeAlias = tuple[FloatArray, FloatArray | None, int]  # packed rows, None, dim; diagonal, off-diagonal, dim
Solution: TypeAlias = tuple[FloatArray, FloatArray | None]  # value (rows, m) and, if wanted, vector (rows, m, d)
Pair: TypeAlias = tuple[FloatArray, FloatArray]  # value and vector, or the derivatives with respect to them
Gradient: TypeAlias = tuple[FloatArray, FloatArray | None]  # packed and None; diagonal and off-diagonal

DesignRows: TypeAlias = tuple[Ids, FloatArray, Ids]  # ids and weights (n, slots); which rows of them (models, batch)
DesignBatch: TypeAlias = tuple[Ids, FloatArray]  # ids and weights (rows, slots)
AdamState: TypeAlias = tuple[FloatArray, FloatArray, FloatArray, FloatArray]  # θ, gradient, both moments (models, size)
AdamRule: TypeAlias = tuple[float, float, float, float]  # β1, β2, correction of the second moment, tiny
RowTargets: TypeAlias = tuple[
    Float64Array, Float64Array | None, Float64Array | None
]  # targets or codes, importance, offsets (n,)
DescentRule: TypeAlias = tuple[float, float, float, float, float]  # rate, then Adam's rule
Numbers: TypeAlias = list[
    tuple[int, str, Float64Array]
]  # of records: first byte, type (f8, f4, i4 or u1), where to (n,)


class EntryKind(IntEnum):
    """How the active entries of a cell are kept in a record, see :class:`RecordEngine`."""

    PIECE = 0  # two neighbours, with weights that add up to one
    LINE = 1  # one, with any weight
    LEVEL = 2  # one of several, with weight one


Knots: TypeAlias = tuple[
    Float64Array, int, bool
]  # of a curve, its first design column, and whether it ends at the knots
RowCells: TypeAlias = list[Any] | tuple[Any, ...]
CellEntries: TypeAlias = Callable[[Any, bool], tuple[tuple[int, ...], tuple[float, ...]] | None]  # of a cell, if named


class AdamConstants(NamedTuple):
    """How fast the two moments of Adam forget, and what keeps a step finite where the second one is zero."""

    beta1: float
    beta2: float
    tiny: float

    def rate_correction(self, step: int) -> float:
        """What the learning rate of a step, counted from one, is divided by: the first moment starts at zero."""
        return 1.0 - self.beta1**step

    def rule(self, step: int) -> AdamRule:
        """What :meth:`StepEngine.adam` takes at a step, counted from one."""
        return self.beta1, self.beta2, 1.0 / (1.0 - self.beta2**step), self.tiny


class Basis(NamedTuple):
    """B of C = B θ, for each of several kinds of models: L (I + V D Vᵀ), and the means that the constant gives up.

    Rows of L and of its transpose are stored between the columns that their spans name, as ``multiply`` takes them.
    """

    left: FloatArray  # L, (kinds, P, reach)
    left_spans: Ids
    back: FloatArray  # its transpose, (kinds, size, reach)
    back_spans: Ids
    thin: FloatArray  # Vᵀ, (kinds, r, size)
    wide: FloatArray  # V D, and as a last column the negative means of B's columns, (kinds, size, r + 1)
    constant: FloatArray  # row 0 of B: one, and the same negative means, (kinds, 1, size)
    which: list[int]  # kind of each model


class Cones(NamedTuple):
    """Constrained columns, whose C = M (± L Lᵀ) is added to that of the free ones: triangles L, and ± M for all models.

    Rows of ± M and of its transpose are stored like those of :class:`Basis`.
    """

    theta: FloatArray  # the triangles, row by row, (models, size, padded D)
    first: FloatArray  # both moments of Adam
    second: FloatArray
    spread: FloatArray  # ± M, (P, reach)
    spread_spans: Ids
    back: FloatArray  # its transpose, (size, reach)
    back_spans: Ids
    constant: FloatArray  # the negative means of the columns of ± M, which the constant gives up, (size,)
    share: float  # of the decay of the free columns


EpochState: TypeAlias = tuple[FloatArray, FloatArray, FloatArray, FloatArray, Cones | None]  # θ, moments, coefficients


class LossHead(NamedTuple):
    """How losses come from eigenvalues: raw = start + scale λ + offset, one pencil for each raw score."""

    dim: int
    eig_idx: int
    pencils: int
    start: list[float]  # of each raw score
    scale: float
    loss: str  # squared_error, absolute_error, huber, quantile, log_loss, half_deviance, softmax
    numbers: list[float]  # threshold of huber, level of quantile, exponents of half_deviance


class Pace(NamedTuple):
    """The steps of an epoch: one for each rate."""

    rates: list[float]
    decays: list[float]  # of each model: a step keeps 1 − rate · decay of its parameters, the constant apart
    steps_before: int
    beta1: float
    beta2: float
    tiny: float


Rows: TypeAlias = tuple[DesignRows, RowTargets]  # of one shard; which of them (members, n)
Together: TypeAlias = tuple[list[int], NDArray[np.int64], Callable[[], object]]  # rows of each step in all shards; sums
LossSums: TypeAlias = list[tuple[float, float]]  # Σ weight · loss and Σ weight


class EigenEngine(Protocol):
    """Eigenvalues, eigenvectors and their derivatives, row by row."""

    def solve(self, matrices: Matrices, index: Sequence[int], out: Solution, threads: int) -> None:
        """Fill value and, unless it is None, vector with those of increasing indices."""

    def outer(self, vector: FloatArray, grad_value: FloatArray, out: Gradient, threads: int) -> None:
        """Fill the gradient with Σ_m g_m v_m v_mᵀ in the coordinates of the matrices."""

    def vjp(self, matrices: Matrices, pair: Pair, grads: Pair, near: float, out: Gradient, threads: int) -> None:
        """Fill the gradient with the reverse derivative through value and vector.

        Eigenvalues within near ‖A‖_F of a value count as equal to it; see :func:`lambdak.eigen.rounding.equal_within`.
        """


class StepEngine(Protocol):
    """One step of a stack of models on sparse design rows; rows of coefficients are of padded width."""

    def forward(
        self, design: DesignRows, coef: FloatArray, dim: int, index: Sequence[int], out: Solution, threads: int
    ) -> None:
        """Fill value (models * batch, m) and vector (models * batch, m, d) of A(row) = Σ_s weight_s coef[id_s]."""

    def backward(
        self, design: DesignRows, vector: FloatArray, grad_value: FloatArray, dim: int, grad: FloatArray, threads: int
    ) -> None:
        """Fill grad (models, n_design, D) with the transpose of :meth:`forward` applied to g v vᵀ."""

    def band_gradient(
        self,
        points: FloatArray,
        target: FloatArray,
        coef: FloatArray,
        dim: int,
        index: int,
        grad: FloatArray,
        threads: int,
    ) -> None:
        """Fill grad, like coef (models, inputs, 2 d − 1), with that of the mean squared error of tridiagonal models.

        Models take the points (streams, batch, inputs) and targets (streams, batch) of their streams in turn, equally
        many for each. Such a model is λ_k(Σ_i x_i A_i); A_i is its diagonal, followed by its off-diagonal times √2.
        """

    def multiply(
        self, left: FloatArray, which: Sequence[int], right: FloatArray, spans: Ids, out: FloatArray, threads: int
    ) -> None:
        """Fill out with L @ right; row i of a model's L is left[which, i] in the columns spans[i], else zero."""

    def adam(
        self,
        state: AdamState,
        rate: Sequence[float],
        keep: Sequence[float],
        rule: AdamRule,
        spared: int,
        threads: int,
    ) -> None:
        """θ = keep θ − rate m / (√(correct v) + tiny); the first ``spared`` numbers of θ do not decay."""

    def epoch(
        self,
        design: DesignRows,
        target: RowTargets,
        head: LossHead,
        state: EpochState,
        basis: Basis,
        pace: Pace,
        threads: int,
    ) -> list[float]:
        """Take the steps of an epoch, each on the next part of rows (members, n); the mean loss of each member."""

    def shared_epoch(
        self,
        shards: Sequence[Rows],
        head: LossHead,
        state: EpochState,
        basis: Basis,
        pace: Pace,
        together: Together,
        threads: int,
    ) -> LossSums:
        """Take steps together with other processes, each on the next part of every shard: the sums of losses by shard.

        The gradient of a shard is rounded to whole multiples of 2⁻⁴⁰, which are summed up in ``together[1]``, (models ·
        P · width + 1); ``together[2]`` sums these over all processes, in place. The last number counts those whose
        gradient is too large: the step is then repeated with units 2¹⁶ times as large.
        """

    def descend(
        self,
        batch: DesignBatch,
        vector: FloatArray,
        grad_value: FloatArray,
        dim: int,
        table: FloatArray,
        rule: DescentRule,
        threads: int,
    ) -> None:
        """Take a step of :meth:`adam` on the rows of table (n_ids, 3, padded D), θ and its moments, that ids name."""


class RecordEngine(Protocol):
    """Design rows as compact records of equal length, in bytes.

    A line of ``fields`` (columns, 6) says how one column is kept: its :class:`EntryKind`, first byte, bytes of its
    code, first design column, pieces or levels, and the design column of a missing cell (-1: there is none).

    PIECE: a code, then the weight w of smaller size as float32. The other weight is 1 − w in double precision, rounded
    to float32, plus −1, 0 or 1 units in its last place; code = 6 piece + 3 (w is the first one) + 1 + these units. The
    code 6 pieces stands for a missing cell, whose weights are 1 and 0.
    LINE: the weight as float32; NaN stands for a missing cell, whose weight is 1.
    LEVEL: the level as a code; one more than the last stands for an unseen level, which is the first one with weight 0.
    Without bytes the code is 0.
    """

    def pack(self, design: DesignBatch, fields: NDArray[np.int64], records: NDArray[np.uint8], threads: int) -> None:
        """Fill the bytes of the columns in records with ids and float32 weights (n, slots); others are not touched."""

    def unpack(
        self,
        records: NDArray[np.uint8],
        order: NDArray[np.integer] | None,
        fields: NDArray[np.int64],
        out: DesignBatch,
        numbers: Numbers,
        threads: int,
    ) -> None:
        """Fill ids and float32 weights (n, slots), slot 0 the constant, with records[order], and the numbers beside."""


class RowSolver(Protocol):
    """The eigenvalues of single rows; it never changes, and any number of threads may call it."""

    def __call__(self, cells: RowCells, named: bool) -> list[float] | None:
        """Eigenvalues (models, levels, index), one after the other; None where some cell is not plain."""


class CompiledEngine(EigenEngine, StepEngine, RecordEngine, Protocol):
    """The kernel: all of these, the entries of curves, single rows, and which build of it is in use."""

    def one_row(
        self,
        curves: Sequence[Knots | None],
        entries: tuple[CellEntries, ...],
        largest: float,
        coef: Float64Array,
        dim: int,
        index: Sequence[int],
        levels: Sequence[int],
    ) -> RowSolver:
        """What solves A(row) = Σ_s weight_s coef[id_s] for single rows, with coef (models, P, D).

        A float or an int up to ``largest`` in a column with knots becomes two entries of its curve; ``entries``, one
        function per column, turns all other cells into ids and weights, or None. Design columns in ``levels`` are
        added to a row one at a time.
        """

    def solve_plain(
        self, packed: FloatArray, dim: int, index: int, value: FloatArray, vector: FloatArray | None, threads: int
    ) -> bool:
        """Whether contiguous packed (..., D) and outputs for one index are ready to use; if so, fill the outputs."""

    def curve(
        self,
        x: NDArray[np.float64],
        knots: NDArray[np.float64],
        start: int,
        clamp: bool,
        out: DesignBatch,
        threads: int,
    ) -> None:
        """Fill ids and weights (n, 2) with the two active entries of a curve through knots at every x."""

    def isa(self) -> str:
        """The instruction set in use."""

    def use_isa(self, name: str) -> None:
        """Use another one of those available."""

    def available_isas(self) -> list[str]:
        """Instruction sets that this machine has, best last."""

    def num_threads(self) -> int:
        """Threads of a call that does not say how many."""

    def set_num_threads(self, threads: int) -> None:
        """Set the same."""
