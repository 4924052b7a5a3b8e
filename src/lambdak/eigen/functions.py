r"""λ_k and v_k of many small symmetric matrices, and their derivatives.

Every function takes any leading shape, float32 or float64, and returns the same type::

    packed (..., D)          eigenvalue, eigenpair, eigenvalue_vjp, eigenpair_vjp
    diagonal (..., d),       tridiagonal_eigenvalue, tridiagonal_eigenpair,
    offdiagonal (..., d-1)   tridiagonal_eigenvalue_vjp, tridiagonal_eigenpair_vjp

``index`` is zero-based in ascending order: an int, or an increasing sequence of m ints that share one
tridiagonalisation and add an axis of length m to the results. A matrix with NaN or infinity yields NaN for that
matrix only. ``backend`` is "auto" (the compiled kernel, or LAPACK for large matrices), "native" or "lapack".
``n_jobs`` is the number of threads of the call: None is what :func:`lambdak.set_num_threads` says, -1 every CPU, -2
all but one. The result does not depend on it, bit for bit, and calls that run at the same time keep their own.
Arrays whose rows or whose columns are contiguous go to the kernel as they are; others are copied in small blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numpy.typing import ArrayLike

from lambdak._types import FloatArray
from lambdak.eigen import batch
from lambdak.eigen.runtime import thread_count


class EigenPair(NamedTuple):
    """Eigenvalues (...) and unit eigenvectors (..., d); with several indices (..., m) and (..., m, d)."""

    value: FloatArray
    vector: FloatArray


class TridiagonalGrad(NamedTuple):
    """Derivatives with respect to the diagonal (..., d) and the off-diagonal (..., d-1)."""

    diagonal: FloatArray
    offdiagonal: FloatArray


def eigenvalue(
    packed: ArrayLike,
    dim: int,
    index: int | Sequence[int],
    *,
    backend: str = "auto",
    out: FloatArray | None = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """λ_k of symmetric matrices in packed coordinates.

    Parameters
    ----------
    packed : array (..., dim (dim + 1) / 2)
        Isometric packed coordinates, see :func:`lambdak.eigen.packing.sym`.
    dim : int
        Size d of the matrices, 1 to 512.
    index : int or increasing sequence of ints
        Which eigenvalues, 0 being the smallest.
    backend : {"auto", "native", "lapack"}
        Which engine computes: see above.
    out : array, optional
        Where to write the result.
    n_jobs : int, optional
        Threads of this call; None is the process's setting, -1 every CPU.

    Returns
    -------
    array (...) or (..., m)

    Examples
    --------
    >>> eigenvalue([2.0, 0.0, 5.0], dim=2, index=1).item()
    5.0
    """
    threads = thread_count(n_jobs)
    if out is None and backend == "auto" and (found := batch.plain(packed, dim, index, False, threads)):
        return found[0]
    return batch.solve(batch.dense(packed, dim), index, backend, False, (out, None), threads)[0]


def eigenpair(
    packed: ArrayLike,
    dim: int,
    index: int | Sequence[int],
    *,
    backend: str = "auto",
    out: tuple[FloatArray, FloatArray] | None = None,
    n_jobs: int | None = None,
) -> EigenPair:
    """λ_k and a unit eigenvector v_k of symmetric matrices in packed coordinates.

    Parameters are those of :func:`eigenvalue`; ``out`` is a pair (value, vector). Vectors of several indices are
    orthonormal, also within a cluster of equal eigenvalues. The sign of a vector is arbitrary but reproducible.

    Examples
    --------
    >>> value, vector = eigenpair([2.0, 0.0, 5.0], dim=2, index=1)
    >>> np.abs(vector)
    array([0., 1.])
    """
    threads = thread_count(n_jobs)
    if out is None and backend == "auto" and (found := batch.plain(packed, dim, index, True, threads)):
        return EigenPair(*found)
    return EigenPair(*batch.solve(batch.dense(packed, dim), index, backend, True, _two(out), threads))


def tridiagonal_eigenvalue(
    diagonal: ArrayLike,
    offdiagonal: ArrayLike,
    index: int | Sequence[int],
    *,
    backend: str = "auto",
    out: FloatArray | None = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """λ_k of symmetric tridiagonal matrices, in O(d) each; see :func:`eigenvalue`.

    Examples
    --------
    >>> round(tridiagonal_eigenvalue([0.0, 0.0], [1.0], index=1).item(), 6)
    1.0
    """
    return batch.solve(
        batch.tridiagonal(diagonal, offdiagonal), index, backend, False, (out, None), thread_count(n_jobs)
    )[0]


def tridiagonal_eigenpair(
    diagonal: ArrayLike,
    offdiagonal: ArrayLike,
    index: int | Sequence[int],
    *,
    backend: str = "auto",
    out: tuple[FloatArray, FloatArray] | None = None,
    n_jobs: int | None = None,
) -> EigenPair:
    """λ_k and v_k of symmetric tridiagonal matrices, in O(d) each; see :func:`eigenpair`."""
    return EigenPair(
        *batch.solve(batch.tridiagonal(diagonal, offdiagonal), index, backend, True, _two(out), thread_count(n_jobs))
    )


def eigenvalue_vjp(
    vector: ArrayLike,
    grad_value: ArrayLike,
    *,
    sum_index: bool = False,
    backend: str = "auto",
    out: FloatArray | None = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Packed gradient g v vᵀ: the derivative of λ_k times a factor per row, with no d x d matrix in between.

    Parameters
    ----------
    vector : array (..., d) or, with ``sum_index``, (..., m, d)
        Unit eigenvectors from :func:`eigenpair`.
    grad_value : array (...) or (..., m)
        Factor per eigenvalue, or one number for all.
    sum_index : bool
        The last axis but one of ``vector`` runs over m indices of one matrix: add their terms up.

    Returns
    -------
    array (..., D)

    Examples
    --------
    >>> eigenvalue_vjp([0.6, 0.8], 1.0).round(6)
    array([0.36    , 0.678823, 0.64    ])
    """
    return batch.outer(vector, grad_value, sum_index, False, backend, (out, None), thread_count(n_jobs))[0]


def tridiagonal_eigenvalue_vjp(
    vector: ArrayLike,
    grad_value: ArrayLike,
    *,
    sum_index: bool = False,
    backend: str = "auto",
    out: tuple[FloatArray, FloatArray] | None = None,
    n_jobs: int | None = None,
) -> TridiagonalGrad:
    """Derivative of λ_k of a tridiagonal matrix times a factor per row: g v_i² and 2 g v_i v_{i+1}."""
    return TridiagonalGrad(*batch.outer(vector, grad_value, sum_index, True, backend, _two(out), thread_count(n_jobs)))


def eigenpair_vjp(
    packed: ArrayLike,
    dim: int,
    value: ArrayLike,
    vector: ArrayLike,
    grad_value: ArrayLike,
    grad_vector: ArrayLike,
    *,
    backend: str = "auto",
    out: FloatArray | None = None,
) -> FloatArray:
    """Reverse derivative through both outputs of :func:`eigenpair`.

    dλ = vᵀ dA v and dv = (λ - A)⁺ dA v, so the gradient is the symmetric part of (g_λ v + w) vᵀ with
    w = (λ - A)⁺ g_v, found by one tridiagonal solve. The vector's part grows like 1/gap: it exists for simple
    eigenvalues only. Eigenvalues within :func:`lambdak.eigen.rounding.equal_within` times ‖A‖_F of λ count as equal to
    it: their directions are left out of w, so that the result stays finite. What is left is as arbitrary as v is there;
    pass a zero ``grad_vector``, and the value's part is a valid Clarke subgradient.

    Parameters
    ----------
    packed, dim
        As given to :func:`eigenpair`.
    value, vector
        What it returned.
    grad_value, grad_vector
        Derivatives of the objective with respect to those, of the same shapes.

    Returns
    -------
    array (..., D)
    """
    grads = (grad_value, grad_vector)
    return batch.vjp(batch.dense(packed, dim), (value, vector), grads, backend, (out, None))[0]


def tridiagonal_eigenpair_vjp(
    diagonal: ArrayLike,
    offdiagonal: ArrayLike,
    value: ArrayLike,
    vector: ArrayLike,
    grad_value: ArrayLike,
    grad_vector: ArrayLike,
    *,
    backend: str = "auto",
    out: tuple[FloatArray, FloatArray] | None = None,
) -> TridiagonalGrad:
    """Reverse derivative through both outputs of :func:`tridiagonal_eigenpair`; see :func:`eigenpair_vjp`."""
    family, grads = batch.tridiagonal(diagonal, offdiagonal), (grad_value, grad_vector)
    return TridiagonalGrad(*batch.vjp(family, (value, vector), grads, backend, _two(out)))


def _two(out: tuple[FloatArray, FloatArray] | None) -> tuple[FloatArray | None, FloatArray | None]:
    if out is None:
        return None, None
    if not isinstance(out, tuple) or len(out) != 2:
        raise TypeError(f"out must be a tuple of two arrays; got {type(out).__name__}")
    return out
