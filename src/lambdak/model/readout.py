"""One output of a fitted model in float64: raw score = start + scale Σ_m w_m λ_k(A_m(row)).

A regressor and a classifier of two classes have one output; a classifier of several has one for each class, quantiles
one for each quantile level, an ordinal classifier one for each cut-point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from lambdak._types import Float64Array
from lambdak.eigen import eigenvalue
from lambdak.eigen.lazy import cached_property
from lambdak.eigen.packing import packed_dim
from lambdak.eigen.rounding import eigenvalue_error
from lambdak.losses import Link
from lambdak.model.model import Model
from lambdak.pencil.definite import SAFE, UNIT, frobenius
from lambdak.table.column_contract import Column
from lambdak.table.design import Design

_BLOCK_FLOATS = 1 << 21  # 16 MB of float64 at a time


@final
@dataclass(frozen=True, eq=False)
class Readout:
    """raw score(row) = start + scale Σ_m w_m λ_k(constant_m + Σ_s weight_s coef_m[id_s]).

    Attributes
    ----------
    name : str
        What the raw score stands for, in words: "prediction", "class 'good'", "quantile 0.95", "y ≤ 2".
    columns : tuple of Column
        The user's columns; column i owns the design columns [start, stop).
    coef : array of shape (members, P, D)
        Packed matrices of the design columns; that of design column 0 is zero, because ``constant`` holds it.
    constant : array of shape (members, D)
        Packed A_0.
    constant_size : array of shape (members,)
        ‖A_0‖_F, or the sum of the norms of what A_0 is the sum of.
    weights : array of shape (members,)
        Convex weights of the members.
    index : int
        Zero-based position of the eigenvalue.
    link : Link
        How predictions come from raw scores, with the range that was requested of them.
    """

    name: str
    columns: tuple[Column, ...]
    coef: Float64Array
    constant: Float64Array
    constant_size: Float64Array
    weights: Float64Array
    index: int
    start: float
    scale: float
    link: Link

    @property
    def dim(self) -> int:
        """The matrices' number of rows."""
        return packed_dim(self.coef.shape[-1])

    @cached_property
    def filled(self) -> NDArray[np.bool_]:
        """Which design columns have a matrix that is not zero, (P,)."""
        return np.asarray((self.coef != 0).any(axis=(0, 2)))

    @cached_property
    def acts(self) -> NDArray[np.bool_]:
        """Which columns can move a raw score, (columns,): those with a matrix that is not zero."""
        return np.array([self.filled[column.start : column.stop].any() for column in self.columns], bool)

    @property
    def acting(self) -> list[int]:
        """Positions of the columns that can move a raw score."""
        return list(np.flatnonzero(self.acts).tolist())

    @cached_property
    def slots(self) -> list[range]:
        """The slots of a dense design row that belong to each column."""
        return slots_of(self.columns)

    @cached_property
    def error(self) -> float:
        """How far a computed raw score can be from the real function: of any row, if no column continues straight.

        Otherwise of any row within the training range; :meth:`errors` tells it of others.
        """
        return float(score_error(self, in_range(self.columns)))

    def errors(self, reach: Float64Array) -> Float64Array:
        """How far computed raw scores can be from the real function, (rows,).

        ``reach`` (rows, columns) is what the absolute weights of the rows sum up to.
        """
        return score_error(self, reach)

    def reach(self, design: Design) -> Float64Array:
        """The sum of absolute weights of each row and column, (rows, columns), but at least 1."""
        sums = [np.abs(design.weights[:, list(slots)]).sum(axis=1) for slots in self.slots]
        return np.asarray(np.maximum(np.stack(sums, axis=1), 1.0))

    def packed(self, design: Design) -> Float64Array:
        """A_m(row), (members, rows, D)."""
        Z = design.to_sparse(self.coef.shape[1], self.filled)
        return np.stack([Z @ own + first for own, first in zip(self.coef, self.constant, strict=True)])

    def column(self, i: int) -> Float64Array:
        """The matrices of one of the user's columns, (members, p, D)."""
        return self.coef[:, self.columns[i].start : self.columns[i].stop]

    def score(self, packed: Float64Array) -> Float64Array:
        """Raw scores (rows,) of A_m(row), (members, rows, D)."""
        return self.start + self.over_members(eigenvalue(packed, self.dim, self.index))

    def over_members(self, values: NDArray[np.floating]) -> Float64Array:
        """Scale Σ_m w_m value_m: from units of eigenvalues, (members, ...), to those of raw scores, (...)."""
        return np.asarray(self.scale * np.tensordot(self.weights, values, 1), np.float64)

    def negated(self, name: str) -> Readout:
        """The output whose raw score is minus this one: −λ_k(A) = λ_{d−1−k}(−A)."""
        other = replace(self, name=name, coef=-self.coef, constant=-self.constant, start=-self.start)
        return replace(other, index=self.dim - 1 - self.index, link=self.link.other)

    def blocks(self, rows: int, floats_per_row: int) -> Iterator[slice]:
        """Slices over rows whose work arrays stay small."""
        step = max(1, _BLOCK_FLOATS // max(1, floats_per_row * len(self.weights)))
        return (slice(first, min(first + step, rows)) for first in range(0, rows, step))


def readouts(model: Model) -> tuple[Readout, ...]:
    """All outputs of a model; those that differ by their constant only have one array of matrices."""
    shared: dict[str, Float64Array] = {}
    return tuple(_readout(model, i, name, shared) for i, name in enumerate(model.output_names))


def _readout(model: Model, i: int, name: str, shared: dict[str, Float64Array]) -> Readout:
    outputs, n_design = model.outputs, model.encoder.n_design
    pencils = outputs.own_pencils(i)
    own = model.matrices[pencils]
    level = outputs.own_level(i)
    parts = own[:, [0] if level is None else [0, n_design + level]]
    if str(pencils) not in shared:
        shared[str(pencils)] = own[:, :n_design].copy()
        shared[str(pencils)][:, 0] = 0.0
    features = shared[str(pencils)]
    return Readout(
        name=name,
        columns=model.encoder.columns,
        coef=features,
        constant=parts.sum(axis=1),
        constant_size=frobenius(parts).sum(axis=1),
        weights=model.weights,
        index=outputs.own_index(i),
        start=float(model.start[i]),
        scale=model.scale,
        link=model.loss.output_link,
    )


def dense_rows(X: Any) -> Any:
    """The table with all cells of every row; a sparse one becomes dense."""
    return X.toarray() if issparse(X) else X


def active_values(readout: Readout, weight: Float64Array, design: Design) -> Float64Array:
    """⟨W_m(row), A_m,i(row)⟩ for matrices W (members, rows, D) such as w_m v vᵀ, (members, rows, columns)."""
    out = np.zeros((len(readout.coef), len(design), len(readout.columns)))
    for own, matrices, values in zip(readout.coef, weight, out, strict=True):
        for column in readout.acting:
            for slot in readout.slots[column]:
                part = np.einsum("rd,rd->r", matrices, own[design.ids[:, slot]])
                values[:, column] += design.weights[:, slot] * part
    return out


def slots_of(columns: Sequence[Column]) -> list[range]:
    """The slots of a dense design row that belong to each column."""
    ends = np.cumsum([1, *(column.n_slots for column in columns)]).tolist()
    return [range(first, last) for first, last in pairwise(ends)]


_TINY, _LEAST = 1e-290, 1e-319  # cover underflow: of eigenvalues, and of raw scores


def score_error(readout: Readout, reach: Float64Array) -> Float64Array:
    r"""Bound on |computed − real raw score|, (...,), of rows whose weights have these absolute sums (..., columns).

    A prediction is float64 from the cells on: the weights of a row's design columns (three roundings at most), their
    sum A(row), one eigenvalue of it (:mod:`lambdak.eigen.rounding`), and the weighted mean over members. Each step errs
    by at most a multiple of S = ‖A_0‖_F + Σ_i r_i max_j ‖C_j‖_F, where r_i is the sum of the absolute weights in column
    i: 1 for curves and categories. With u = 2⁻⁵³, and n active design columns:

    - weights: 8 u S; sum: (n + 1) u S; unpacking: u S; eigenvalue: its own error E times S;
    - mean over M members, scale and start: (M + 6) u (|start| + scale Σ_m w_m S_m).

    An offset adds one rounding of the sum.
    """
    size = readout.constant_size + reach @ column_sizes(readout).T  # (..., members)
    slots = 2 + sum(column.n_slots for column in readout.columns)
    relative = eigenvalue_error(readout.dim) + (slots + 12) * UNIT
    mean = readout.scale * (size @ readout.weights)
    last = (len(readout.weights) + 6) * UNIT * (abs(readout.start) + mean)
    return np.asarray(SAFE * (relative * mean + last + readout.scale * _TINY) + _LEAST)


def column_sizes(readout: Readout) -> Float64Array:
    """max_j ‖C_j‖_F of each column, (members, columns)."""
    starts = [column.start for column in readout.columns]
    return np.asarray(np.maximum.reduceat(frobenius(readout.coef), starts, axis=1))


def in_range(columns: Sequence[Column]) -> Float64Array:
    """The largest sum of absolute weights of each column, (columns,), over its training range."""
    return np.array([column.reach for column in columns])


@final
@dataclass(frozen=True, eq=False)
class Family:
    """Outputs that are eigenvalues of the same matrices.

    Attributes
    ----------
    coef : array of shape (members, P, D)
        Packed matrices of the design columns; that of design column 0 is zero, because ``constant`` holds it.
    constant : array of shape (members, D)
        Packed A_0.
    outputs, indices : tuples of int
        The outputs, counted over the whole model, and the position of the eigenvalue of each.
    """

    coef: Float64Array
    constant: Float64Array
    outputs: tuple[int, ...]
    indices: tuple[int, ...]


def families(model: Model) -> tuple[Family, ...]:
    """The families of all outputs of a model, in their order.

    Quantiles and cut-points share the coefficients but not the constant; in old files, cut-points share both.
    """
    outputs = readouts(model)
    shared = model.outputs.pencils == 1  # one array of coefficients for all outputs
    groups: list[list[int]] = []
    for i, output in enumerate(outputs):
        if i and shared and np.array_equal(output.constant, outputs[i - 1].constant):
            groups[-1].append(i)
        else:
            groups.append([i])
    return tuple(_family(outputs, group, outputs[0 if shared else group[0]].coef) for group in groups)


def _family(outputs: Sequence[Readout], group: Sequence[int], coef: Float64Array) -> Family:
    return Family(coef, outputs[group[0]].constant, tuple(group), tuple(outputs[i].index for i in group))
