"""One raw score over the free columns: s(x) = start + Σ_m w_m λ_k(C_m + Σ_i A_{m,i}(x_i)), all other columns fixed.

A_{m,i} is affine between neighbouring points of axis i. The weights include the model's scale. A pencil, and a neuron
that can be turned into one, is a model of the columns z0, z1, …, each its number: A(z) = A_0 + Σ z_i A_i, without a
training range, so that whoever searches must bound it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from lambdak._types import Float64Array
from lambdak.eigen import eigenpair, eigenvalue
from lambdak.eigen.lazy import cached_property
from lambdak.eigen.packing import packed_dim, padded_width
from lambdak.eigen.rounding import eigenvalue_error
from lambdak.losses.registry import make_loss
from lambdak.model import Model
from lambdak.model.outputs import SingleOutput
from lambdak.model.promises import Promises
from lambdak.model.readout import Readout, slots_of
from lambdak.optimize.axes import Axis
from lambdak.pencil import Pencil
from lambdak.pencil.definite import SAFE, UNIT, frobenius
from lambdak.table.column_contract import Column
from lambdak.table.design import Design
from lambdak.table.encoder import TableEncoder
from lambdak.table.linear_column import Linear
from lambdak.table.read import one_row

_ROWS_AT_ONCE = 1 << 13  # so that memory stays bounded
_TINY = 1e-290  # covers underflow
_KNOWN = "a fitted estimator, its model_, a Pencil or a SpectralNeuron"


@final
@dataclass(frozen=True, eq=False)
class Score:
    """A raw score as a function of coordinates x, (n, axes).

    Attributes
    ----------
    start : float
    weights : array of shape (members,)
    index : int
        Zero-based position of the eigenvalue.
    constant : array of shape (members, D)
        Packed C: the constant matrix and those of the fixed columns.
    curves : tuple of arrays of shape (members, points, D)
        Packed matrices of each free column at the points of its axis.
    axes : tuple of Axis
    reach : array of shape (members,)
        At least the sum of the norms of all matrices that a prediction adds up, which may cancel out in ``constant``.
    begun : float
        The same of the terms of ``start``.
    """

    start: float
    weights: Float64Array
    index: int
    constant: Float64Array
    curves: tuple[Float64Array, ...]
    axes: tuple[Axis, ...]
    reach: Float64Array | float = 0.0
    begun: float = 0.0

    @property
    def dim(self) -> int:
        """The matrices' number of rows."""
        return packed_dim(self.constant.shape[-1])

    def shifted(self, offset: float, size: float = 0.0) -> Score:
        """The score plus a number, whose terms have this ``size``."""
        begun = max(self.begun, abs(self.start)) + max(abs(offset), size)
        return replace(self, start=self.start + offset, begun=begun) if offset or size else self

    def scaled(self, factor: float) -> Score:
        """The score times a positive number."""
        if factor == 1.0:
            return self
        return replace(self, start=factor * self.start, weights=factor * self.weights, begun=factor * self.begun)

    def negative(self) -> Score:
        """The score −s, again an eigenvalue: −λ_k(A) = λ_{d−1−k}(−A)."""
        return replace(
            self,
            start=-self.start,
            index=self.dim - 1 - self.index,
            constant=-self.constant,
            curves=tuple(-curve for curve in self.curves),
        )

    def curve_at(self, i: int, x: Float64Array) -> Float64Array:
        """A_i at coordinates (n,), (members, n, D)."""
        before, share = self.axes[i].piece(x)
        curve = self.curves[i]
        after = np.minimum(before + 1, curve.shape[1] - 1)
        return np.asarray(curve[:, before] * (1.0 - share)[:, None] + curve[:, after] * share[:, None])

    def packed(self, x: Float64Array) -> Float64Array:
        """A(x), (members, n, D)."""
        total = np.repeat(self.constant[:, None], len(x), axis=1)
        for i, coordinates in enumerate(x.T):
            same = len(coordinates) > 1 and bool(
                (coordinates == coordinates[0]).all()
            )  # one matrix for all rows is faster
            total += self.curve_at(i, coordinates[:1] if same else coordinates)
        return total

    def values(self, x: Float64Array) -> Float64Array:
        """s(x), (n,)."""
        parts = [x[first : first + _ROWS_AT_ONCE] for first in range(0, max(len(x), 1), _ROWS_AT_ONCE)]
        return np.concatenate([self._values(part) for part in parts])

    def _values(self, x: Float64Array) -> Float64Array:
        return self.of_packed(self.packed(x))

    def of_packed(self, packed: Float64Array) -> Float64Array:
        """The score of matrices (members, n, D), (n,)."""
        return np.asarray(self.start + self.weights @ eigenvalue(packed, self.dim, self.index))

    def slopes(self, x: Float64Array) -> tuple[Float64Array, list[Float64Array]]:
        """s(x), (n,), and of each axis v ᵀA_i(point) v summed over members, (n, points): a tangent in the matrices."""
        values, vectors = eigenpair(self.packed(x), self.dim, self.index)
        slope = outer(np.asarray(vectors, np.float64)) * self.weights[:, None, None]
        tangents = [np.einsum("mnd,mpd->np", slope, curve) for curve in self.curves]
        return np.asarray(self.start + self.weights @ values), tangents

    @cached_property
    def size(self) -> Float64Array:
        """At least ‖A_m(x)‖_F for every x, (members,)."""
        size = frobenius(self.constant)
        for curve in self.curves:
            size = size + frobenius(curve).max(axis=-1)
        return np.asarray(size)

    @cached_property
    def error(self) -> float:
        """How far a computed value can be from the real function, at most, and a prediction's raw score as well."""
        relative = eigenvalue_error(self.dim) + (2 * len(self.curves) + 32) * UNIT
        mean = float(np.abs(self.weights) @ np.maximum(self.size, self.reach))
        last = (len(self.weights) + 8) * UNIT * (max(self.begun, abs(self.start)) + mean)
        return float(SAFE * 2 * (relative * mean + last + _TINY))


def outer(vectors: Float64Array) -> Float64Array:
    """Packed v vᵀ, (..., D), of vectors (..., d)."""
    rows, cols = np.tril_indices(vectors.shape[-1])
    return np.asarray(vectors[..., rows] * vectors[..., cols] * np.where(rows == cols, 1.0, np.sqrt(2.0)))


def restrict(model: Model, readout: Readout, axes: Sequence[Axis], row: Mapping[str, Any]) -> Score:
    """One output of a model over the axes; all its other columns have the cells of ``row``."""
    free = {axis.name: axis for axis in axes}
    columns = readout.columns
    cells = [
        free[column.name].cell(free[column.name].low) if column.name in free else row[column.name] for column in columns
    ]
    design = model.encoder.transform(one_row(cells, model.encoder.feature_names), np.float64)
    fixed = [column.name not in free for column in columns]
    constant, reach = _fixed(readout, design, fixed)
    curves = {column.name: _curve(readout, i, free) for i, column in enumerate(columns) if column.name in free}
    absent = np.zeros((len(readout.weights), 1, readout.coef.shape[-1]))
    return Score(
        start=readout.start,
        weights=readout.weights * readout.scale,
        index=readout.index,
        constant=constant,
        curves=tuple(
            curves[axis.name] if axis.name in curves else np.repeat(absent, len(axis.points), axis=1) for axis in axes
        ),
        axes=tuple(axes),
        reach=reach + sum(_reach(readout, i, free) for i, is_fixed in enumerate(fixed) if not is_fixed),
    )


def _weights(readout: Readout, i: int, free: Mapping[str, Axis]) -> Float64Array:
    """Weights (points, p) of the design columns of a free column at the points of its axis."""
    axis = free[readout.columns[i].name]
    return np.asarray(readout.columns[i].cell_rows(list(axis.levels) if axis.levels else axis.points))


def _curve(readout: Readout, i: int, free: Mapping[str, Axis]) -> Float64Array:
    return np.asarray(_weights(readout, i, free) @ readout.column(i))


def _reach(readout: Readout, i: int, free: Mapping[str, Axis]) -> Float64Array:
    """The sum of norms of what a free column adds up, at most, (members,): beyond its range they may cancel out."""
    norms = frobenius(readout.column(i)) @ np.abs(_weights(readout, i, free)).T  # (members, points)
    return np.asarray(norms.max(axis=1))


def _fixed(readout: Readout, design: Design, keep: Sequence[bool]) -> tuple[Float64Array, Float64Array]:
    """A_0 and the matrices of the fixed columns, (members, D), and the sum of their norms, (members,)."""
    total, reach = readout.constant.copy(), readout.constant_size.copy()
    for kept, slots in zip(keep, slots_of(readout.columns), strict=True):
        for slot in slots if kept else ():
            part = design.weights[0, slot] * readout.coef[:, design.ids[0, slot]]
            total += part
            reach += frobenius(part)
    return total, reach


def is_pencil(value: Any) -> bool:
    """Whether it is a Pencil, or a module that has a ``to_pencil``, such as :class:`lambdak.torch.SpectralNeuron`."""
    return isinstance(value, Pencil) or (callable(getattr(value, "to_pencil", None)) and not hasattr(value, "model_"))


def usable_model(value: Any, output: Any = None) -> tuple[Model, Any]:
    """The model that a user means, and which output of it: of a pencil there is one; of a layer ``output`` chooses."""
    if is_pencil(value):
        return pencil_model(_pencil(value, output)), None
    model = getattr(value, "model_", value)
    if not isinstance(model, Model):
        raise TypeError(f"model must be {_KNOWN}; got {_unusable(value)}")
    return model, output


def _pencil(value: Any, output: Any) -> Pencil:
    """The pencil itself, or that of a module; ``output`` is for layers alone."""
    if hasattr(value, "out_features"):
        pencil: Pencil = value.to_pencil(output)
        return pencil
    if output is not None:
        raise ValueError(f"a {type(value).__name__} has one output, its eigenvalue; got output={output!r}")
    return value if isinstance(value, Pencil) else value.to_pencil()


def pencil_model(pencil: Pencil) -> Model:
    """The model whose prediction is f(z); its columns are z0, z1 and so on."""
    columns = tuple(
        Linear(f"z{i}", i + 1, low=-np.inf, high=np.inf, median=0.0, clamp=False) for i in range(pencil.n_features)
    )
    coef = np.zeros((1, len(pencil.packed), padded_width(pencil.packed.shape[1])))
    coef[0, :, : pencil.packed.shape[1]] = pencil.packed
    return Model(
        estimator="Pencil",
        encoder=TableEncoder(n_knots=0, clamp=False, columns=columns, from_names=True),
        coef=coef,
        dim=pencil.dim,
        weights=np.ones(1),
        loss=make_loss("squared_error"),
        outputs=SingleOutput((pencil.eig_idx,)),
        start=np.zeros(1),
        scale=1.0,
        promises=Promises(len(columns)),
    )


def has_no_range(column: Column) -> bool:
    """Whether a column is an input of a pencil: any number, and none is missing."""
    return isinstance(column, Linear) and column.low == -np.inf


def check_fixed_inputs(columns: Mapping[str, list[Column]], row: Mapping[str, Any]) -> None:
    """Refuse a fixed input of a pencil that is no finite number: nothing can be put in its place."""
    for name, same in columns.items():
        if name in row and any(map(has_no_range, same)):
            cell = row[name]
            if not isinstance(cell, int | float | np.number) or not np.isfinite(float(cell)):
                raise ValueError(f"fixed must hold finite numbers for the inputs of a pencil; got {name!r}: {cell!r}")


def _unusable(value: Any) -> str:
    """What came instead of a model, and the way out."""
    name = type(value).__name__
    if hasattr(value, "steps"):
        return f"{name}: give its last step, and rows as that step sees them"
    if hasattr(value, "fit") and type(value).__module__.startswith("lambdak."):
        return f"{name}, which is not fitted: call fit first"
    if isinstance(value, np.ndarray):
        return f"{name}: give Pencil(packed), or Pencil.from_matrices(matrices)"
    if hasattr(value, "parameters") and hasattr(value, "state_dict"):
        return (
            f"{name}, a module that is no single spectral neuron, so that no bound of it is proven: search it with "
            "torch.optim, or give one neuron as lambdak.torch.to_pencil(module)"
        )
    return name
