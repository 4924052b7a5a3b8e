"""The reference of the kernel's training steps, in plain NumPy, with the kernel's signatures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lambdak._checks import FloatArray
from lambdak.eigen import eigenpair, eigenvalue, eigenvalue_vjp
from lambdak.eigen.engine import AdamRule, AdamState, DescentRule, DesignBatch, DesignRows, Ids, Solution, StepEngine
from lambdak.eigen.packing import packed_size
from lambdak.eigen.runtime import native


def forward(design: DesignRows, coef: FloatArray, dim: int, index: Sequence[int], out: Solution, threads: int) -> None:
    """Fill value (models * batch, m) and vector (models * batch, m, d) of A(row) = Σ_s weight_s coef[id_s]."""
    ids, weights, rows = design
    value, vector = out
    batch, n_jobs = rows.shape[1], threads or None
    for model, chosen in enumerate(rows):
        packed = np.einsum("bs,bsd->bd", weights[chosen], coef[model, ids[chosen]])
        here = slice(model * batch, (model + 1) * batch)
        if vector is None:
            value[here] = eigenvalue(packed, dim, index, n_jobs=n_jobs)
        else:
            value[here], vector[here] = eigenpair(packed, dim, index, n_jobs=n_jobs)


def backward(
    design: DesignRows, vector: FloatArray, grad_value: FloatArray, dim: int, grad: FloatArray, threads: int
) -> None:
    """Fill grad (models, n_design, D) with the transpose of :func:`forward` applied to g v vᵀ."""
    ids, weights, rows = design
    batch = rows.shape[1]
    grad[...] = 0
    for model, chosen in enumerate(rows):
        here = slice(model * batch, (model + 1) * batch)
        outer = eigenvalue_vjp(vector[here], grad_value[here], sum_index=True, n_jobs=threads or None)  # (batch, D)
        np.add.at(grad[model], ids[chosen], weights[chosen][..., None] * outer[:, None])


def multiply(
    left: FloatArray, which: Sequence[int], right: FloatArray, spans: Ids, out: FloatArray, threads: int
) -> None:
    """Fill out with L @ right, where row i of a model's L is left[which, i] between the columns spans[i], else zero."""
    kinds, rows, _ = left.shape
    whole = np.zeros((kinds, rows, right.shape[1]), left.dtype)
    for i, (first, last) in enumerate(spans):
        whole[:, i, first:last] = left[:, i, : last - first]
    np.matmul(whole[list(which)], right, out=out)


def adam(
    state: AdamState, rate: Sequence[float], keep: Sequence[float], rule: AdamRule, spared: int, threads: int
) -> None:
    """θ = keep θ − rate m / (√(correct v) + tiny) with Adam's moments m and v, all updated in place.

    The first ``spared`` numbers of θ do not decay.
    """
    theta, grad, first, second = state
    beta1, beta2, correct, tiny = rule
    dtype = theta.dtype
    first += (1 - beta1) * (grad - first)
    second += (1 - beta2) * (grad**2 - second)
    step = first / (np.sqrt(correct * second) + tiny)
    theta[:, spared:] *= np.asarray(keep, dtype)[:, None]
    theta -= np.asarray(rate, dtype)[:, None] * step


def descend(
    batch: DesignBatch,
    vector: FloatArray,
    grad_value: FloatArray,
    dim: int,
    table: FloatArray,
    rule: DescentRule,
    threads: int,
) -> None:
    """Take a step of :func:`adam` on the rows of table (n_ids, 3, padded D) that ids (rows, slots) name.

    A row holds θ and its two moments. The gradient is that of :func:`backward`; an id of weight zero is named, too.
    """
    ids, weights = batch
    named, inverse = np.unique(ids, return_inverse=True)
    if len(named) and not 0 <= named[0] <= named[-1] < len(table):
        raise ValueError("ids holds a row that does not exist")
    positions = inverse.reshape(ids.shape).astype(np.int32)
    grad = np.zeros((1, len(named), table.shape[2]), table.dtype)
    here = np.arange(len(ids), dtype=np.int32)[None]
    backward((positions, weights, here), vector, grad_value, dim, grad[..., : packed_size(dim)], threads)
    parts = np.moveaxis(table[named], 1, 0).reshape(3, 1, -1)  # a copy
    adam((parts[0], grad.reshape(1, -1), parts[1], parts[2]), rule[:1], [1.0], rule[1:], 0, threads)
    table[named] = np.moveaxis(parts.reshape(3, len(named), -1), 0, 1)


def step_engine() -> StepEngine:
    """Return the module whose forward, backward, multiply, adam and descend do the work: the kernel, or this one."""
    return native() or _REFERENCE


from lambdak.eigen import steps as _this  # noqa: E402  # mypy compares this module, as its own import, with the protocol

_REFERENCE: StepEngine = _this
