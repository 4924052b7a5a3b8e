r"""The one trainer: a stack of models, f = λ_k(A(row)), on shared sparse design rows, one kernel call per step.

A warm-up and a cosine schedule set the rate; after every epoch the rows that a model does not train on decide which
of its states is kept.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import FloatArray
from lambdak.eigen.packing import packed_size
from lambdak.eigen.steps import step_engine
from lambdak.losses import Loss
from lambdak.table.encoder import Design
from lambdak.training.parameters import Parameters

_WARM_UP = 0.05

Rows = NDArray[np.int32]


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

    def raw(self, eigenvalues: FloatArray, rows: Rows | slice) -> FloatArray:
        """Raw scores (models, batch[, outputs]) from eigenvalues (models * neurons, batch, indices).

        ``rows`` (batch,), or (models, batch) where every model has its own, tell which rows these are.
        """
        models, batch, m = eigenvalues.shape
        outputs = eigenvalues.reshape(models // self.neurons, self.neurons, batch, m)
        outputs = outputs[..., 0].transpose(0, 2, 1) if self.neurons > 1 else outputs[:, 0]
        raw = self.start.astype(outputs.dtype) + outputs.dtype.type(self.scale) * outputs
        if self.offset is not None:
            raw = raw + self.offset[rows][..., None]
        return raw if self.loss.n_outputs > 1 else raw[..., 0]

    def eigenvalue_gradient(self, grad_raw: FloatArray) -> FloatArray:
        """The transpose of :meth:`raw`: (models * neurons * batch, indices)."""
        grad = grad_raw.reshape(*grad_raw.shape[:2], -1) * grad_raw.dtype.type(self.scale)
        if self.neurons > 1:
            grad = grad.transpose(0, 2, 1)[..., None]
        return np.ascontiguousarray(grad).reshape(-1, len(self.indices))

    def losses(self, eigenvalues: FloatArray, rows: Rows | slice = slice(None)) -> FloatArray:
        """Weighted mean loss of each model over the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return self.loss.value(self.raw(eigenvalues, rows), self.y[rows], weight)


@dataclass(frozen=True)
class Schedule:
    """How long and how fast: epochs, rows per step, Adam's rate, and the epochs to wait for an improvement."""

    epochs: int
    batch: int = 1024
    rate: float = 0.06
    patience: int | None = None
    tol: float = 0.0


@dataclass(frozen=True)
class Event:
    """The state after an epoch: mean training loss over its steps and validation loss, of each model."""

    epoch: int
    epochs: int
    train: FloatArray
    validation: FloatArray
    seconds: float


@dataclass(frozen=True)
class Folds:
    """Which rows a model does not train on: those of its own fold, ``held`` (models,)."""

    fold: NDArray[np.int32]  # of every row
    held: tuple[int, ...]

    @property
    def distinct(self) -> list[int]:
        """The folds that some model does not train on."""
        return sorted(set(self.held))

    def without(self, order: Rows) -> Rows:
        """(models, n): the rows of ``order`` that each model trains on, cut to the same number."""
        return self._stack({k: order[self.fold[order] != k] for k in self.distinct})

    def within(self) -> Rows:
        """(models, n): the rows that each model does not train on, cut to the same number."""
        return self._stack({k: np.flatnonzero(self.fold == k).astype(np.int32) for k in self.distinct})

    def _stack(self, rows: dict[int, Rows]) -> Rows:
        least = min(len(some) for some in rows.values())
        return np.stack([rows[k][:least] for k in self.held])


def evaluate(
    coef: FloatArray,
    dim: int,
    indices: Sequence[int],
    design: Design,
    rows: Rows | None = None,
    threads: int = 0,
) -> FloatArray:
    """Eigenvalues (models, rows, indices) of design rows, from coefficients (models, P, padded width).

    ``rows`` (models, n) gives every model its own rows; None gives it all.
    """
    models = len(coef)
    if rows is None:
        rows = np.broadcast_to(np.arange(len(design), dtype=np.int32), (models, len(design)))
    value = np.empty((rows.size, len(indices)), coef.dtype)
    width, chosen = packed_size(dim), np.ascontiguousarray(rows)
    given = (design.ids, design.weights, chosen)
    step_engine().forward(given, coef[..., :width], dim, list(indices), (value, None), threads)
    return value.reshape(models, chosen.shape[1], len(indices))


class Trainer:
    """Trains a stack of models; ``coef`` holds the best state of each so far, whenever training is interrupted.

    What is best is measured on ``validation`` rows, or else on the fold that a model does not train on, or else, if
    there is neither, on the training rows.
    """

    def __init__(
        self,
        task: Task,
        parameters: Parameters,
        rng: np.random.Generator,
        folds: Folds | None = None,
        validation: Task | None = None,
    ) -> None:
        self.task, self.parameters, self.validation, self._rng = task, parameters, validation, rng
        self.members = len(parameters.coef) // task.neurons
        self._folds = folds or Folds(np.zeros(len(task.design), np.int32), (-1,) * self.members)
        self._held = None if folds is None or validation is not None else folds.within()
        self._importance = None if task.weight is None else task.weight / task.weight.mean()
        self._grad = np.zeros_like(parameters.coef)
        self.coef = parameters.coef.copy()
        self.theta = [part.copy() for part in parameters.theta]
        self.best = np.full(self.members, np.inf)

    def run(self, schedule: Schedule) -> Iterator[Event]:
        """Train, yielding after every epoch."""
        began, waited, step = time.perf_counter(), 0, 0
        every = np.arange(len(self.task.design), dtype=np.int32)
        for epoch in range(schedule.epochs):
            order = self._folds.without(self._rng.permutation(every))
            batches = np.array_split(order, max(order.shape[1] // schedule.batch, 1), axis=1)
            losses = []
            for chosen in batches:
                step += 1
                shape = _shape(step, schedule.epochs * len(batches))
                losses.append(self._step(chosen, schedule.rate * shape))
            self.parameters.shrink_()
            before = self.best
            seen = self._keep_best()
            train = np.mean(losses, axis=0)
            yield Event(epoch + 1, schedule.epochs, train, seen, time.perf_counter() - began)
            waited = 0 if (seen < before - schedule.tol).any() else waited + 1
            if schedule.patience is not None and waited >= schedule.patience:
                return

    def training_rows(self) -> Rows:
        """(members, n): the rows that each member trains on, cut to the same number."""
        return self._folds.without(np.arange(len(self.task.design), dtype=np.int32))

    def _step(self, chosen: Rows, rate: float) -> FloatArray:
        """One step on the rows ``chosen`` (members, batch); returns the loss before it."""
        raw = self._backward_(chosen)
        self.parameters.step_(self._grad, rate)
        weight = None if self.task.weight is None else self.task.weight[chosen]
        return self.task.loss.value(raw, self.task.y[chosen], weight)

    def slope_(self, chosen: Rows) -> NDArray[np.float64]:
        """Fill the gradient of the parameters from the rows ``chosen`` (members, batch); returns what it is of."""
        task, raw = self.task, self._backward_(chosen).astype(np.float64)
        self.parameters.pull_back_(self._grad)
        own = None if self._importance is None else self._importance[chosen]
        value = task.loss.value(raw, task.y[chosen], own)
        return np.asarray(value if own is None else value * own.mean(axis=1), np.float64)

    def _backward_(self, chosen: Rows) -> FloatArray:
        """Fill the gradient of the coefficients from the rows ``chosen`` (members, batch); returns their raw scores."""
        task, engine, dim = self.task, step_engine(), self.parameters.dim
        width, m = packed_size(dim), len(task.indices)
        rows = np.ascontiguousarray(np.repeat(chosen, task.neurons, axis=0))
        models, batch = rows.shape
        value = np.empty((models * batch, m), np.float32)
        vector = np.empty((models * batch, m, dim), np.float32)
        design = (task.design.ids, task.design.weights, rows)
        threads, coef = self.parameters.threads, self.parameters.coef[..., :width]
        engine.forward(design, coef, dim, list(task.indices), (value, vector), threads)
        raw = task.raw(value.reshape(models, batch, m), chosen)
        slope = task.loss.gradient(raw, task.y[chosen]).astype(np.float32)
        if self._importance is not None:  # relative to the whole table: a batch of light rows stays light
            own = self._importance[chosen]
            slope *= own if raw.ndim == 2 else own[..., None]
        engine.backward(design, vector, task.eigenvalue_gradient(slope), dim, self._grad[..., :width], threads)
        return raw

    def unseen(self) -> tuple[FloatArray, Rows | slice, Task]:
        """Raw scores of the kept models on rows they have not trained on, which rows these are, and of which task.

        Without validation rows and folds these are the training rows.
        """
        values, rows, task = self._measure(self.coef)
        return task.raw(values, rows), rows, task

    def _measure(self, coef: FloatArray) -> tuple[FloatArray, Rows | slice, Task]:
        """Eigenvalues on the rows that tell how good a model is, which rows these are, and of which task."""
        task, rows = self.validation or self.task, self._held
        each = None if rows is None else np.repeat(rows, task.neurons, axis=0)
        values = evaluate(coef, self.parameters.dim, task.indices, task.design, each, self.parameters.threads)
        return values, slice(None) if rows is None else rows, task

    def _keep_best(self) -> FloatArray:
        """Measure every model, and keep the states that improved."""
        seen = self.judge()
        self.keep_(seen < self.best, seen)
        return seen

    @property
    def n_unseen(self) -> int:
        """How many rows tell how good the models are that they, or one of them, have not trained on."""
        if self.validation is not None:
            return len(self.validation.design)
        return 0 if self._held is None else self._held.size

    def judge(self) -> FloatArray:
        """The loss of every model, as it is now, on the rows that tell how good it is."""
        values, rows, task = self._measure(self.parameters.coef)
        return task.losses(values, rows)

    def keep_(self, which: NDArray[np.bool_], seen: FloatArray) -> None:
        """Keep the states of some models (members,), with the losses seen of them."""
        self.best = np.where(which, seen, self.best)
        models = np.repeat(which, self.task.neurons)
        for kept, part in zip((self.coef, *self.theta), (self.parameters.coef, *self.parameters.theta), strict=True):
            kept[models] = part[models]


def _shape(step: int, total: int) -> float:
    """Warm-up, then half a cosine down to zero."""
    warm = min(1.0, step / (_WARM_UP * total + 1))
    return float(warm * 0.5 * (1 + np.cos(np.pi * (step - 0.5) / total)))
