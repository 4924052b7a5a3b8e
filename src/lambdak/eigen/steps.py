"""The reference of the kernel's training steps, in plain NumPy, with the kernel's signatures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from lambdak._types import FloatArray
from lambdak.eigen import (
    eigenpair,
    eigenvalue,
    eigenvalue_vjp,
    tridiagonal_eigenpair,
    tridiagonal_eigenvalue_vjp,
)
from lambdak.eigen.engine import (
    AdamConstants,
    AdamRule,
    AdamState,
    Basis,
    Cones,
    DescentRule,
    DesignBatch,
    DesignRows,
    EpochState,
    Ids,
    LossHead,
    LossSums,
    Pace,
    Rows,
    RowTargets,
    Solution,
    StepEngine,
    Together,
)
from lambdak.eigen.packing import ROOT_HALF, packed_size, sym, unsym
from lambdak.eigen.row_loss import slopes, values
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


def band_gradient(
    points: FloatArray, target: FloatArray, coef: FloatArray, dim: int, index: int, grad: FloatArray, threads: int
) -> None:
    """Fill grad (models, inputs, 2 d − 1) with that of the mean squared error of tridiagonal models."""
    copies, dtype, n_jobs = len(coef) // len(points), target.dtype.type, threads or None
    at = np.repeat(points, copies, axis=0)
    entries = at @ coef  # (models, batch, 2 d − 1)
    bands = entries[..., :dim], dtype(ROOT_HALF) * entries[..., dim:]
    value, vector = tridiagonal_eigenpair(*bands, index, n_jobs=n_jobs)
    slope = dtype(2 / points.shape[1]) * (value - np.repeat(target, copies, axis=0))
    diagonal, off = tridiagonal_eigenvalue_vjp(vector, slope, n_jobs=n_jobs)
    grad[...] = at.swapaxes(-1, -2) @ np.concatenate([diagonal, dtype(ROOT_HALF) * off], axis=-1)


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


def epoch(
    design: DesignRows,
    target: RowTargets,
    head: LossHead,
    state: EpochState,
    basis: Basis,
    pace: Pace,
    threads: int,
) -> list[float]:
    """Take the steps of an epoch, each on the next part of rows (members, n); the mean loss of each member."""
    ids, weights, rows = design
    parts = np.array_split(rows, len(pace.rates), axis=1)
    losses = []
    for step, (chosen, rate) in enumerate(zip(parts, pace.rates, strict=True), pace.steps_before + 1):
        grad = np.zeros_like(state[3])
        batch = ((ids, weights, chosen), target)
        total, mass = _loss_sums(batch, head, state[3], grad, chosen.shape[1], threads).T
        losses.append(np.where(mass > 0, total / np.where(mass > 0, mass, 1), 0.0))
        _take_step(state, grad, head.dim, basis, pace, (rate, step))
    return [float(loss) for loss in np.mean(losses, axis=0)]


def shared_epoch(
    shards: Sequence[Rows],
    head: LossHead,
    state: EpochState,
    basis: Basis,
    pace: Pace,
    together: Together,
    threads: int,
) -> LossSums:
    """Take steps together with other processes, each on the next part of every shard: the sums of losses by shard."""
    totals, sums, reduce = together
    members = len(state[3]) // head.pencils
    losses = np.zeros((len(shards), members, 2))
    parts = [np.array_split(rows, len(pace.rates), axis=1) for (_, _, rows), _ in shards]
    for i, rate in enumerate(pace.rates):
        batch = [((ids, weights, part[i]), y) for ((ids, weights, _), y), part in zip(shards, parts, strict=True)]
        grads = np.zeros((len(shards), *state[3].shape), state[3].dtype)
        for shard, grad, loss in zip(batch, grads, losses, strict=True):
            loss += _loss_sums(shard, head, state[3], grad, totals[i], threads)
        grad = sum_of_shards(grads.reshape(len(shards), -1), sums, reduce).reshape(state[3].shape)
        _take_step(state, grad.astype(state[3].dtype), head.dim, basis, pace, (rate, pace.steps_before + i + 1))
    return [(float(total), float(mass)) for total, mass in losses.reshape(-1, 2)]


def sum_of_shards(grads: FloatArray, sums: NDArray[np.int64], reduce: Callable[[], object]) -> NDArray[np.float64]:
    """The sum of gradients (shards, n) here and elsewhere, in whole units, with coarser ones while one is too large."""
    for exponent in range(40, -153, -16):
        units = np.ldexp(grads.astype(np.float64), exponent)
        fits = bool((np.abs(units) < 2.0**50).all())
        sums[:-1] = np.rint(units).astype(np.int64).sum(axis=0) if fits else 0
        sums[-1] = not fits
        reduce()
        if not sums[-1]:
            return np.ldexp(sums[:-1].astype(np.float64), -exponent)
    raise ValueError("the gradient is not finite")


def _loss_sums(
    rows: Rows, head: LossHead, coef: FloatArray, grad: FloatArray, total: int, threads: int
) -> NDArray[np.float64]:
    """Σ weight · loss and Σ weight of each member, (members, 2); fills the gradient of the mean over ``total`` rows."""
    (ids, weights, chosen), (y, importance, offset) = rows
    members, batch = chosen.shape
    rows_of = (ids, weights, np.repeat(chosen, head.pencils, axis=0))
    value = np.empty((members * head.pencils * batch, 1), coef.dtype)
    vector, width = np.empty((*value.shape, head.dim), coef.dtype), packed_size(head.dim)
    forward(rows_of, coef[..., :width], head.dim, [head.eig_idx], (value, vector), threads)
    raw = np.array(head.start)[:, None] + head.scale * value.reshape(members, head.pencils, batch).astype(np.float64)
    raw += 0 if offset is None else offset[chosen][:, None]
    mass = np.ones(chosen.shape) if importance is None else importance[chosen]
    slope = head.scale / total * slopes(head, raw, y[chosen]) * mass[:, None]
    backward(rows_of, vector, slope.astype(coef.dtype).reshape(-1, 1), head.dim, grad[..., :width], threads)
    return np.stack([(mass * values(head, raw, y[chosen])).sum(axis=1), mass.sum(axis=1)], axis=1)


def _take_step(state: EpochState, grad: FloatArray, dim: int, basis: Basis, pace: Pace, now: tuple[float, int]) -> None:
    """Update the free columns, and then the constrained ones, if there are any."""
    _update(state, grad, basis, pace, now)
    if state[4] is not None:
        _bend((state[4], state[3]), grad, dim, pace, now)


def _update(state: EpochState, grad: FloatArray, basis: Basis, pace: Pace, now: tuple[float, int]) -> None:
    """Pull the gradient of the coefficients back, take Adam's step and write the coefficients."""
    theta, first, second, coef, _ = state
    constants, (rate, step) = AdamConstants(pace.beta1, pace.beta2, pace.tiny), now
    thin, wide, constant = (part[basis.which] for part in (basis.thin, basis.wide, basis.constant))
    pulled = np.empty_like(theta)
    multiply(basis.back, basis.which, grad, basis.back_spans, pulled, 1)
    pulled += wide @ np.concatenate([thin @ pulled, grad[:, :1]], axis=1)
    parts = [part.reshape(len(theta), -1) for part in (theta, pulled, first, second)]
    keep = [max(1 - rate * decay, 0.0) for decay in pace.decays]
    rates = [rate / constants.rate_correction(step)] * len(theta)
    adam((parts[0], parts[1], parts[2], parts[3]), rates, keep, constants.rule(step), theta.shape[2], 1)
    mixed = theta + wide[..., :-1] @ (thin @ theta)
    multiply(basis.left, basis.which, mixed, basis.left_spans, coef, 1)
    coef[:, :1] = constant @ theta


def _bend(
    constrained: tuple[Cones, FloatArray], grad: FloatArray, dim: int, pace: Pace, now: tuple[float, int]
) -> None:
    """Take the step of the cones on the gradient of the coefficients, and add what they contribute to these."""
    (cones, coef), (rate, step), width = constrained, now, packed_size(dim)
    constants, which = AdamConstants(pace.beta1, pace.beta2, pace.tiny), [0] * len(coef)
    pulled, squares = np.zeros_like(cones.theta), np.zeros_like(cones.theta)
    multiply(cones.back[None], which, grad, cones.back_spans, pulled, 1)
    pulled[..., :width] += cones.constant[:, None] * grad[:, :1, :width]
    pulled[..., :width] = _triangles(2 * sym(pulled[..., :width]) @ _lower(cones.theta[..., :width], dim))
    parts = [part.reshape(len(coef), -1) for part in (cones.theta, pulled, cones.first, cones.second)]
    keep = [max(1 - cones.share * rate * decay, 0.0) for decay in pace.decays]
    rates = [rate / constants.rate_correction(step)] * len(coef)
    adam((parts[0], parts[1], parts[2], parts[3]), rates, keep, constants.rule(step), 0, 1)
    factor = _lower(cones.theta[..., :width], dim)
    squares[..., :width] = unsym(factor @ factor.swapaxes(-1, -2))
    added = np.empty_like(coef)
    multiply(cones.spread[None], which, squares, cones.spread_spans, added, 1)
    coef += added
    coef[:, 0] += cones.constant @ squares


def _lower(entries: FloatArray, dim: int) -> FloatArray:
    """Lower triangles (..., d, d) from their entries, row by row."""
    matrix = np.zeros((*entries.shape[:-1], dim, dim), entries.dtype)
    matrix[..., *np.tril_indices(dim)] = entries
    return matrix


def _triangles(matrix: FloatArray) -> FloatArray:
    return matrix[..., *np.tril_indices(matrix.shape[-1])]


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
    """Return the module that takes the steps: the kernel, or this one."""
    return native() or _REFERENCE


from lambdak.eigen import steps as _this  # noqa: E402  # mypy compares this module, as its own import, with the protocol

_REFERENCE: StepEngine = _this
