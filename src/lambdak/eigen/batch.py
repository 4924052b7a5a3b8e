"""From arrays of any leading shape to the (rows, …) arrays of an engine, for dense and tridiagonal matrices alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lambdak._checks import check_dim, check_floats, check_index, check_out, check_shape, check_width
from lambdak._types import FloatArray
from lambdak.eigen.packing import packed_size
from lambdak.eigen.rounding import equal_within
from lambdak.eigen.runtime import DENSE_CROSSOVER, engine, native

Outs = tuple[FloatArray | None, FloatArray | None]
Rows = list[Any]  # arrays of rows, None where one is absent
Tailed = tuple[FloatArray | None, tuple[int, ...]]  # an array and the shape of one row of it

_FLOATS = np.dtype(np.float32), np.dtype(np.float64)
_BLOCK_BYTES = 1 << 17  # copied at a time from an array that no row stride describes


class MatrixRows(NamedTuple):
    """Matrices as the engines take them: packed rows and None, or diagonal and off-diagonal."""

    matrix: FloatArray
    off: FloatArray | None
    dim: int

    @property
    def leading(self) -> tuple[int, ...]:
        """The shape in front of a matrix."""
        return self.matrix.shape[:-1]

    def arrays(self) -> list[Tailed]:
        """The arrays that an engine takes."""
        return [(self.matrix, self.matrix.shape[-1:]), (self.off, (self.dim - 1,))]


def dense(packed: ArrayLike, dim: int) -> MatrixRows:
    """Check packed rows."""
    dim = check_dim(dim)
    rows = check_floats(packed, "packed")
    return MatrixRows(check_width(rows, "packed", packed_size(dim), f"d(d+1)/2 for dim={dim}"), None, dim)


def tridiagonal(diagonal: ArrayLike, offdiagonal: ArrayLike) -> MatrixRows:
    """Check diagonals and off-diagonals."""
    rows = check_floats(diagonal, "diagonal")
    dim = check_dim(rows.shape[-1] if rows.ndim else 0)
    off = check_floats(offdiagonal, "offdiagonal", rows.dtype)
    return MatrixRows(rows, check_shape(off, "offdiagonal", (*rows.shape[:-1], dim - 1)), dim)


def plain(
    packed: ArrayLike, dim: int, index: int | Sequence[int], want_vector: bool, threads: int
) -> tuple[FloatArray, ...] | None:
    """λ_k and, if wanted, v_k of a contiguous array for one index; None for anything else, which :func:`solve` checks.

    For a few small matrices those checks, and views for the engine, would take longer than the eigenvalues.
    """
    kernel = native()
    if kernel is None or type(packed) is not np.ndarray or packed.dtype not in _FLOATS:
        return None
    if type(index) is not int or type(dim) is not int or not 0 <= index < dim <= DENSE_CROSSOVER:
        return None
    value = np.empty(packed.shape[:-1], packed.dtype)
    vector = np.empty((*value.shape, dim), packed.dtype) if want_vector else None
    if not kernel.solve_plain(packed, dim, index, value, vector, threads):
        return None
    return (value,) if vector is None else (value, vector)


def solve(
    family: MatrixRows, index: int | Sequence[int], backend: str, want_vector: bool, out: Outs, threads: int
) -> tuple[FloatArray, ...]:
    """Eigenvalues and, if wanted, eigenvectors."""
    matrix, off, dim = family
    indices, single = check_index(index, dim)
    run = engine(backend, dim, off is not None).solve
    m, shape = len(indices), family.leading if single else (*family.leading, len(indices))
    outputs: list[Tailed] = [(check_out(out[0], "out", shape, matrix.dtype), (m,)), (None, (m, dim))]
    if want_vector:
        outputs[1] = (check_out(out[1], "out", (*shape, dim), matrix.dtype), (m, dim))

    def fill(rows: Rows, outs: Rows) -> None:
        run((rows[0], rows[1], dim), indices, (outs[0], outs[1]), threads)

    return _by_rows(fill, family.leading, family.arrays(), outputs, out)


def outer(
    vector: ArrayLike,
    grad_value: ArrayLike,
    sum_index: bool,
    tridiagonal: bool,
    backend: str,
    out: Outs,
    threads: int,
) -> tuple[FloatArray, ...]:
    """Σ_m g_m v_m v_mᵀ in packed coordinates, or its diagonal and off-diagonal."""
    vectors = check_floats(vector, "vector")
    axes = 2 if sum_index else 1
    if vectors.ndim < axes or 0 in vectors.shape[-axes:]:
        raise ValueError(f"vector must end in {'(m, d)' if sum_index else '(d,)'}, none of them 0; got {vectors.shape}")
    dim, leading = check_dim(vectors.shape[-1]), vectors.shape[:-axes]
    m = vectors.shape[-2] if sum_index else 1
    factors = _matching(grad_value, "grad_value", vectors.shape[:-1], vectors.dtype)
    run = engine(backend, dim, tridiagonal).outer

    def fill(rows: Rows, outs: Rows) -> None:
        run(rows[0], rows[1], (outs[0], outs[1]), threads)

    inputs: list[Tailed] = [(vectors, (m, dim)), (factors, (m,))]
    return _by_rows(fill, leading, inputs, _grad_outputs(dim, tridiagonal, leading, vectors.dtype, out), out)


def vjp(
    family: MatrixRows, pair: tuple[ArrayLike, ArrayLike], grads: tuple[ArrayLike, ArrayLike], backend: str, out: Outs
) -> tuple[FloatArray, ...]:
    """Reverse derivative through eigenvalues and eigenvectors, on as many threads as the process's setting says."""
    matrix, off, dim = family
    leading, dtype = family.leading, matrix.dtype
    value = check_floats(pair[0], "value", dtype)
    m = value.shape[-1] if value.ndim == len(leading) + 1 else 1
    shape = (*leading, m) if value.ndim == len(leading) + 1 else leading
    check_shape(value, "value", shape)
    if m == 0:
        raise ValueError(f"value must hold at least one eigenvalue per matrix; got shape {value.shape}")
    vector = check_shape(check_floats(pair[1], "vector", dtype), "vector", (*shape, dim))
    grad_value = _matching(grads[0], "grad_value", shape, dtype)
    grad_vector = _matching(grads[1], "grad_vector", (*shape, dim), dtype)
    run, near = engine(backend, dim, off is not None).vjp, equal_within(dim, float(np.finfo(dtype).eps))

    def fill(rows: Rows, outs: Rows) -> None:
        run((rows[0], rows[1], dim), (rows[2], rows[3]), (rows[4], rows[5]), near, (outs[0], outs[1]), 0)

    inputs = [*family.arrays(), (value, (m,)), (vector, (m, dim)), (grad_value, (m,)), (grad_vector, (m, dim))]
    return _by_rows(fill, leading, inputs, _grad_outputs(dim, off is not None, leading, dtype, out), out)


def _grad_outputs(
    dim: int, tridiagonal: bool, leading: tuple[int, ...], dtype: np.dtype[np.floating], out: Outs
) -> list[Tailed]:
    width = dim if tridiagonal else packed_size(dim)
    grad_off = check_out(out[1], "out", (*leading, dim - 1), dtype) if tridiagonal else None
    return [(check_out(out[0], "out", (*leading, width), dtype), (width,)), (grad_off, (dim - 1,))]


def _matching(array: ArrayLike, name: str, shape: tuple[int, ...], dtype: np.dtype[np.floating]) -> FloatArray:
    """A Python number, or an array of this dtype, broadcast to the shape."""
    values = np.asarray(array, dtype) if isinstance(array, (int, float)) else check_floats(array, name, dtype)
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise ValueError(f"{name} must have shape {shape}; got {values.shape}") from None


def _by_rows(
    fill: Callable[[Rows, Rows], None], leading: tuple[int, ...], inputs: list[Tailed], outputs: list[Tailed], out: Outs
) -> tuple[FloatArray, ...]:
    """Call fill(input rows, output rows) and return the outputs; absent arrays are passed on as None."""
    if out[0] is not None or out[1] is not None:
        _refuse_overlap(inputs, outputs)
    count = prod(leading)
    try:
        rows = [_row_view(array, count, tail) for array, tail in inputs]
        outs = [_row_view(array, count, tail) for array, tail in outputs]
    except ValueError:  # some array has no row stride
        _by_blocks(fill, leading, count, inputs, outputs)
    else:
        fill(rows, outs)
    return tuple([array for array, _ in outputs if array is not None])


def _refuse_overlap(inputs: list[Tailed], outputs: list[Tailed]) -> None:
    arrays = [array for array, _ in (*outputs, *inputs) if array is not None]
    for position, (result, _) in enumerate(outputs):
        if result is not None and any(_share_memory(result, other) for other in arrays[position + 1 :]):
            raise ValueError("out must not overlap an input or another output; got arrays that share memory")


def _share_memory(a: FloatArray, b: FloatArray) -> bool:
    try:
        return np.shares_memory(a, b, max_work=1000)  # type: ignore[arg-type]  # the stub knows -1 and 0 only
    except np.exceptions.TooHardError:
        return True


def _row_view(array: FloatArray | None, count: int, tail: tuple[int, ...]) -> FloatArray | None:
    """Return the array as (count, *tail) without a copy, or raise ValueError."""
    if array is None:
        return None
    if not array.flags.aligned:
        raise ValueError("unaligned")
    shape = (count, *tail)
    return array if array.shape == shape else array.reshape(shape, copy=False)


def _by_blocks(
    fill: Callable[[Rows, Rows], None],
    leading: tuple[int, ...],
    count: int,
    inputs: list[Tailed],
    outputs: list[Tailed],
) -> None:
    """Do the same through copies of a few rows at a time."""
    widest = max(prod(tail) for _, tail in (*inputs, *outputs))
    step = max(1, _BLOCK_BYTES // (8 * widest))
    for start in range(0, count, step):
        size = min(step, count - start)
        where = np.unravel_index(np.arange(start, start + size), leading)
        rows = [None if array is None else array[where].reshape(size, *tail) for array, tail in inputs]
        outs = [None if array is None else np.empty((size, *tail), array.dtype) for array, tail in outputs]
        fill(rows, outs)
        for (array, _), filled in zip(outputs, outs, strict=True):
            if array is not None and filled is not None:
                array[where] = filled.reshape(size, *array.shape[len(leading) :])
