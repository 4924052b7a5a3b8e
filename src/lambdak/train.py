r"""The one trainer: a stack of models, f = λ_k(A(row)), on shared sparse design rows, one kernel call per step.

Parameters live in the coordinates of :mod:`lambdak.coordinates`. Adam with decoupled weight decay, a warm-up and a
cosine schedule moves them; after every epoch the validation loss decides which state of each model is kept.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import FloatArray
from lambdak._steps import step_engine
from lambdak.coordinates import ConeCoordinates, FreeCoordinates
from lambdak.encode import Design
from lambdak.initial import gapped
from lambdak.losses import Loss
from lambdak.packing import packed_size, unsym

PAD = 16  # the kernel reads coefficient rows in whole vectors

_BETAS = (0.9, 0.99)
_TINY = 1e-8
_WARM_UP = 0.05
_START_SIZE = 0.05  # of the free parameters, relative to 1/√(how many)
_CONE_DECAY = 0.1  # the steps of a monotone column decay slower: their parameters are roots


@dataclass(frozen=True)
class Task:
    """What is to be fitted: design rows and targets, and how raw scores come from eigenvalues.

    raw = start + scale λ + offset, where λ are ``indices`` of one pencil, or one index of each of ``neurons`` pencils.
    """

    design: Design
    y: NDArray[np.generic]
    weight: FloatArray | None
    offset: FloatArray | None
    loss: Loss
    start: FloatArray
    scale: float
    indices: tuple[int, ...]
    neurons: int = 1
    anchors: tuple[float, ...] = (0.0,)  # where the eigenvalues of a row start, for several indices of one pencil

    def raw(self, eigenvalues: FloatArray, rows: NDArray[np.int32] | slice) -> FloatArray:
        """Raw scores (models, batch[, outputs]) from eigenvalues (models * neurons, batch, indices)."""
        _, batch, m = eigenvalues.shape
        outputs = eigenvalues.reshape(-1, self.neurons, batch, m)
        outputs = outputs[..., 0].transpose(0, 2, 1) if self.neurons > 1 else outputs[:, 0]
        raw = self.start.astype(outputs.dtype) + outputs.dtype.type(self.scale) * outputs
        if self.offset is not None:
            raw = raw + self.offset[rows][:, None]
        return raw if self.loss.n_outputs > 1 else raw[..., 0]

    def eigenvalue_gradient(self, grad_raw: FloatArray) -> FloatArray:
        """The transpose of :meth:`raw`: (models * neurons * batch, indices)."""
        grad = grad_raw.reshape(*grad_raw.shape[:2], -1) * grad_raw.dtype.type(self.scale)
        if self.neurons > 1:
            grad = grad.transpose(0, 2, 1)[..., None]
        return np.ascontiguousarray(grad).reshape(-1, len(self.indices))

    def losses(self, eigenvalues: FloatArray) -> FloatArray:
        """Weighted mean loss of each model over all rows."""
        return self.loss.value(self.raw(eigenvalues, slice(None)), self.y, self.weight)


@dataclass(frozen=True)
class Schedule:
    """How long and how fast: epochs, rows per step, Adam's rate, and the epochs to wait for an improvement."""

    epochs: int
    batch: int = 512
    rate: float = 0.04
    patience: int | None = None
    tol: float = 0.0


@dataclass(frozen=True)
class Event:
    """The state after an epoch: training loss (of its last batch) and validation loss of each model."""

    epoch: int
    epochs: int
    train: FloatArray
    validation: FloatArray
    seconds: float


def evaluate(coef: FloatArray, dim: int, indices: Sequence[int], design: Design) -> FloatArray:
    """Eigenvalues (models, rows, indices) of every design row, from coefficients (models, P, padded width)."""
    models, rows = len(coef), len(design)
    every = np.ascontiguousarray(np.broadcast_to(np.arange(rows, dtype=np.int32), (models, rows)))
    value = np.empty((models * rows, len(indices)), coef.dtype)
    width = packed_size(dim)
    step_engine().forward(design.ids, design.weights, every, coef[..., :width], dim, list(indices), value, None)
    return value.reshape(models, rows, len(indices))


class Trainer:
    """Trains a stack of models; ``coef`` holds the best state of each so far, whenever training is interrupted."""

    def __init__(
        self,
        task: Task,
        validation: Task | None,
        free: FreeCoordinates,
        cones: Sequence[ConeCoordinates],
        dim: int,
        decay: Sequence[float],
        rng: np.random.Generator,
    ) -> None:
        models, width = len(decay), -(-packed_size(dim) // PAD) * PAD
        self.task, self.validation, self.dim = task, validation, dim
        self._free, self._cones, self._rng = free, cones, rng
        self._decay = np.asarray(decay)
        theta = np.zeros((models, free.size, width), np.float32)
        noise = rng.standard_normal((models, free.size - 1, packed_size(dim)))
        theta[:, 1:, : packed_size(dim)] = _START_SIZE / np.sqrt(max(free.size - 1, 1)) * noise
        for model in range(models):
            theta[model, 0, : packed_size(dim)] = _constant(task, dim, rng)
        self._theta = [theta, *(_pad(cone.start(models, rng), width) for cone in cones)]
        self._grad = [np.zeros_like(part) for part in self._theta]
        self._moments = [(np.zeros_like(part), np.zeros_like(part)) for part in self._theta]
        self._coef = np.zeros((models, free.n_design, width), np.float32)
        self._grad_coef = np.zeros_like(self._coef)
        self._write_coefficients_()
        self.coef = self._coef.copy()
        self.best = np.full(models // task.neurons, np.inf)

    def run(self, schedule: Schedule) -> Iterator[Event]:
        """Train, yielding after every epoch."""
        rows = len(self.task.design)
        per_epoch = -(-rows // schedule.batch)
        total, began, waited = schedule.epochs * per_epoch, time.perf_counter(), 0
        for epoch in range(schedule.epochs):
            order = self._rng.permutation(rows).astype(np.int32)
            for i, chosen in enumerate(np.array_split(order, per_epoch)):
                train = self._step(chosen, schedule.rate, epoch * per_epoch + i + 1, total)
            before = self.best
            seen = self._keep_best()
            yield Event(epoch + 1, schedule.epochs, train, seen, time.perf_counter() - began)
            waited = 0 if (seen < before - schedule.tol).any() else waited + 1
            if schedule.patience is not None and waited >= schedule.patience:
                return

    def _step(self, chosen: NDArray[np.int32], rate: float, step: int, total: int) -> FloatArray:
        task, engine, models, batch = self.task, step_engine(), len(self._coef), len(chosen)
        width, m = packed_size(self.dim), len(task.indices)
        rows = np.ascontiguousarray(np.broadcast_to(chosen, (models, batch)))
        value = np.empty((models * batch, m), np.float32)
        vector = np.empty((models * batch, m, self.dim), np.float32)
        design = (task.design.ids, task.design.weights, rows)
        engine.forward(*design, self._coef[..., :width], self.dim, list(task.indices), value, vector)
        raw = task.raw(value.reshape(models, batch, m), chosen)
        y, weight = task.y[chosen], None if task.weight is None else task.weight[chosen]
        slope = task.eigenvalue_gradient(task.loss.gradient(raw, y, weight).astype(np.float32))
        engine.backward(*design, vector, slope, self.dim, self._grad_coef[..., :width])
        self._move_(rate * _shape(step, total), step)
        self._write_coefficients_()
        return task.loss.value(raw, y, weight)

    def _move_(self, rate: float, step: int) -> None:
        """Pull the gradient back to the parameters, and take Adam's step there."""
        self._free.pull_back_(self._grad_coef, self._grad[0])
        for theta, grad, cone in zip(self._theta[1:], self._grad[1:], self._cones, strict=True):
            width = packed_size(self.dim)
            grad[..., :width] = cone.pull_back(theta[..., :width], self._grad_coef)
        beta1, beta2 = _BETAS
        size = rate / (1 - beta1**step)
        for part, (theta, grad, moments) in enumerate(zip(self._theta, self._grad, self._moments, strict=True)):
            models = len(theta)
            flat = [array.reshape(models, -1) for array in (theta, grad, *moments)]
            keep = [1.0] * models
            step_engine().adam(*flat, [size] * models, keep, beta1, beta2, 1 / (1 - beta2**step), _TINY)
            shrink = (1 - rate * self._decay * (_CONE_DECAY if part else 1)).astype(np.float32)
            theta[:, (0 if part else 1) :] *= np.maximum(shrink, 0)[:, None, None]  # never the constant

    def _write_coefficients_(self) -> None:
        self._free.write_(self._theta[0], self._coef)
        for theta, cone in zip(self._theta[1:], self._cones, strict=True):
            cone.write_(theta[..., : packed_size(self.dim)], self._coef)

    def _keep_best(self) -> FloatArray:
        """Evaluate the validation rows (or the training rows without them), and keep the models that improved."""
        task = self.validation or self.task
        seen = task.losses(evaluate(self._coef, self.dim, task.indices, task.design))
        better = seen < self.best
        self.best = np.where(better, seen, self.best)
        each = np.repeat(better, task.neurons)
        self.coef[each] = self._coef[each]
        return seen


def _constant(task: Task, dim: int, rng: np.random.Generator) -> FloatArray:
    """A_0 at the start: a gap around a single index, or a spectrum that passes through the anchors of several."""
    if len(task.indices) == 1:
        return np.asarray(gapped(0, dim, task.indices[0], random_state=rng)[0])
    index, anchors = np.asarray(task.indices, float), np.asarray(task.anchors)
    slope = (anchors[-1] - anchors[0]) / (index[-1] - index[0])
    places = np.arange(dim)
    spectrum = np.interp(places, index, anchors)
    spectrum += slope * (np.maximum(places - index[-1], 0) - np.maximum(index[0] - places, 0))
    basis = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    return unsym(basis * spectrum @ basis.T)


def _pad(theta: FloatArray, width: int) -> FloatArray:
    return np.pad(theta, [(0, 0), (0, 0), (0, width - theta.shape[-1])])


def _shape(step: int, total: int) -> float:
    """Warm-up, then half a cosine down to zero."""
    warm = min(1.0, step / (_WARM_UP * total + 1))
    return float(warm * 0.5 * (1 + np.cos(np.pi * (step - 0.5) / total)))
