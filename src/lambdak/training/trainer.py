r"""The one trainer: a stack of models, f = λ_k(A(row)), on shared sparse design rows, one kernel call per step.

A warm-up and a cosine schedule set the rate; after every epoch the validation rows of a model decide which of its
states is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lambdak._types import FloatArray
from lambdak.eigen.engine import LossHead, RowTargets
from lambdak.eigen.packing import packed_size
from lambdak.eigen.steps import step_engine
from lambdak.model.model import evaluate
from lambdak.table.design import Design
from lambdak.training.checkpoint import State
from lambdak.training.compiled_loss import compiled_loss
from lambdak.training.effort import Schedule
from lambdak.training.parameters import Parameters
from lambdak.training.problem import Folds, Problem, RowIds, no_folds

# Rows of a longer table (bytes of its ids) are copied in the order of an epoch, once for all members, which then read
# them one after another and do not wait for each.
_NEAR = 1 << 20


@dataclass(frozen=True)
class Event:
    """The state after an epoch: mean training loss over its steps and validation loss, of each model.

    The scores are those of a metric on training and validation rows, the larger the better; without one, −loss.
    """

    epoch: int
    epochs: int
    train: FloatArray
    validation: FloatArray
    train_score: FloatArray
    validation_score: FloatArray
    seconds: float
    waited: int = 0  # epochs since the last improvement


class Scoring(Protocol):
    """A metric of models in training: the larger, the better."""

    def of(self, trainer: Trainer) -> tuple[FloatArray, FloatArray]:
        """The metric of every model, on training and on validation rows."""


class Trainer:
    """Trains a stack of models; ``coef`` holds the best state of each so far, whenever training is interrupted.

    What is best is measured on ``validation`` rows, or else on the fold that a model does not train on, or else, if
    there is neither, on the training rows.
    """

    def __init__(
        self,
        problem: Problem,
        parameters: Parameters,
        rng: np.random.Generator,
        folds: Folds | None = None,
        validation: Problem | None = None,
    ) -> None:
        self.problem, self.parameters, self.validation, self._rng = problem, parameters, validation, rng
        self.members = len(parameters.coef) // problem.pencils
        self._folds = folds or no_folds(problem.n_rows, self.members)
        self._validation_rows = None if folds is None or validation is not None else folds.within()
        self._importance = None if problem.weight is None else problem.weight / problem.weight.mean()
        self._grad = np.zeros_like(parameters.coef)
        self.coef = parameters.coef.copy()
        self.theta = [part.copy() for part in parameters.theta]
        self.best = np.full(self.members, np.inf)
        self.best_score = np.full(self.members, -np.inf)  # that training stops by; states are kept by their loss
        self.scoring: Scoring | None = None  # the metric behind it, if it is not the loss
        self.improved_until = np.zeros(self.members)  # share of the epochs after which the best state came
        self._head, self._target = self._compiled()

    def run(self, schedule: Schedule, after: Event | None = None) -> Iterator[Event]:
        """Train, yielding after every epoch; ``after`` is the last one of a training whose state was restored."""
        done, waited, spent = (0, 0, 0.0) if after is None else (after.epoch, after.waited, after.seconds)
        began = time.perf_counter() - spent
        for epoch in range(done, schedule.epochs):
            if schedule.patience is not None and waited >= schedule.patience:
                return
            train = self._pass(schedule, epoch, self._folds)
            self.parameters.shrink_()
            before = self.best
            seen = self._keep_best()
            self.improved_until[seen < before] = (epoch + 1) / schedule.epochs
            scores = (-train, -seen) if self.scoring is None else self.scoring.of(self)
            waited = 0 if (scores[1] > self.best_score + schedule.tol).any() else waited + 1
            self.best_score = np.fmax(self.best_score, scores[1])
            yield Event(epoch + 1, schedule.epochs, train, seen, *scores, time.perf_counter() - began, waited)

    def refit(self, schedule: Schedule, done: int = 0) -> Iterator[int]:
        """Train the kept states further, on all rows, and keep what comes out; yields the epochs that are ``done``."""
        if not done:
            self.parameters.continue_(self.theta)
        for epoch in range(done, schedule.epochs):
            self._pass(schedule, epoch, no_folds(self.problem.n_rows, self.members))
            self.parameters.shrink_()
            yield epoch + 1
        self.keep_(np.ones(self.members, bool), self.best)

    def state(self) -> State:
        """All that later epochs depend on, but the source of randomness."""
        return self.parameters.state() | State(self._kept(), {})

    def restore_(self, state: State) -> None:
        """Continue exactly where a training of the same models was."""
        self.parameters.restore_(state)
        for name, part in self._kept().items():
            state.copy_to_(name, part)

    def _kept(self) -> dict[str, FloatArray]:
        """The best states and what is known of them, by name."""
        kept = {f"kept {i}": part for i, part in enumerate([self.coef, *self.theta])}
        return {**kept, "best": self.best, "best score": self.best_score, "improved until": self.improved_until}

    def _pass(self, schedule: Schedule, epoch: int, folds: Folds) -> FloatArray:
        """Train one epoch, in one call of the kernel if it can, on the rows that ``folds`` do not leave out.

        Returns the mean loss of each member.
        """
        shuffled = self._rng.permutation(np.arange(self.problem.n_rows, dtype=np.int32))
        order = folds.without(shuffled)
        count = max(order.shape[1] // schedule.batch, 1)
        steps = range(1 + epoch * count, 1 + (epoch + 1) * count)
        rates = [schedule.rate_at(step, schedule.epochs * count) for step in steps]
        if self._head is None or self._target is None:
            batches = np.array_split(order, count, axis=1)
            return np.asarray(np.mean([self._step(*step) for step in zip(batches, rates, strict=True)], axis=0))
        design, target = self.problem.design, self._target
        if design.ids.nbytes > _NEAR:
            design, target, order = _in_order(shuffled, design, target, order)
        return self.parameters.epoch_((design.ids, design.weights, order), target, self._head, rates)

    def training_rows(self) -> RowIds:
        """(members, n): the rows that each member trains on, cut to the same number."""
        return self._folds.without(np.arange(self.problem.n_rows, dtype=np.int32))

    def _compiled(self) -> tuple[LossHead | None, RowTargets | None]:
        """What the kernel needs to take the steps of an epoch by itself, where it can."""
        problem, named = self.problem, compiled_loss(self.problem)
        if named is None or not self.parameters.compiled:
            return None, None
        outputs, start = problem.outputs, np.broadcast_to(problem.start, problem.outputs.pencils)
        head = LossHead(self.parameters.dim, outputs.indices[0], outputs.pencils, start.tolist(), problem.scale, *named)
        return head, row_targets(problem, self._importance)

    def _step(self, chosen: RowIds, rate: float) -> FloatArray:
        """One step on the rows ``chosen`` (members, batch); returns the loss before it."""
        raw = self.backward_(self.problem, self._importance, chosen)
        self.parameters.step_(self._grad, rate)
        weight = None if self.problem.weight is None else self.problem.weight[chosen]
        return self.problem.loss.value(raw, self.problem.y[chosen], weight)

    def slope_(self, chosen: RowIds) -> NDArray[np.float64]:
        """Fill the gradient of the parameters from the rows ``chosen`` (members, batch); returns the loss of each."""
        problem, raw = self.problem, self.backward_(self.problem, self._importance, chosen).astype(np.float64)
        self.parameters.pull_back_(self._grad)
        importance = None if self._importance is None else self._importance[chosen]
        value = problem.loss.value(raw, problem.y[chosen], importance)
        return np.asarray(value if importance is None else value * importance.mean(axis=1), np.float64)

    def backward_(self, problem: Problem, importance: FloatArray | None, chosen: RowIds) -> FloatArray:
        """Fill the gradient of the coefficients from the rows ``chosen`` (members, batch); returns their raw scores.

        ``importance`` is relative to the whole table: a batch of light rows stays light.
        """
        engine, dim = step_engine(), self.parameters.dim
        width, m = packed_size(dim), len(problem.outputs.indices)
        rows = np.ascontiguousarray(problem.design_rows(np.repeat(chosen, problem.pencils, axis=0)))
        models, batch = rows.shape
        value = np.empty((models * batch, m), np.float32)
        vector = np.empty((models * batch, m, dim), np.float32)
        design = (problem.design.ids, problem.design.weights, rows)
        threads, coef = self.parameters.threads, self.parameters.coef[..., :width]
        engine.forward(design, coef, dim, list(problem.outputs.indices), (value, vector), threads)
        raw = problem.raw(value.reshape(models, batch, m), chosen)
        slope = problem.loss.gradient(raw, problem.y[chosen]).astype(np.float32)
        if importance is not None:
            mass = importance[chosen]
            slope *= mass if raw.ndim == 2 else mass[..., None]
        engine.backward(design, vector, problem.eigenvalue_gradient(slope), dim, self._grad[..., :width], threads)
        return raw

    @property
    def leaves_rows_out(self) -> bool:
        """Whether each model is measured on training rows that it has not seen."""
        return self._validation_rows is not None

    def unseen(self, factor: float = 1.0) -> tuple[FloatArray, RowIds | slice, Problem]:
        """Raw scores of the kept models on rows they have not trained on, the indices of these rows, and their problem.

        Without validation rows and folds these are the training rows. Eigenvalues are multiplied by the ``factor``.
        """
        values, rows, problem = self._measure(self.coef)
        return problem.raw(values * values.dtype.type(factor), rows), rows, problem

    def unseen_losses(self) -> Callable[..., FloatArray]:
        """Return the losses (members,) of the kept models on rows unseen by them, as a function of a factor.

        The eigenvalues are multiplied by it. With a ``target`` they are those if it were that of all rows.
        """
        values, rows, problem = self._measure(self.coef)

        def losses(factor: float, target: float | None = None) -> FloatArray:
            targets = problem.y if target is None else np.full_like(problem.y, target)
            return replace(problem, y=targets).losses(values * values.dtype.type(factor), rows)

        return losses

    def teams(self) -> RowIds:
        """(teams, n): members that have not trained on the same rows, in teams of the same size."""
        if self._validation_rows is None:
            return np.arange(self.members, dtype=np.int32)[None]
        left_out = np.asarray(self._folds.left_out)
        teams = [np.flatnonzero(left_out == fold) for fold in self._folds.distinct]
        least = min(map(len, teams))
        return np.stack([team[:least] for team in teams]).astype(np.int32)

    def _measure(self, coef: FloatArray) -> tuple[FloatArray, RowIds | slice, Problem]:
        """Eigenvalues on the rows that models are measured on, the indices of these rows, and their problem."""
        problem, rows = self.validation or self.problem, self._validation_rows
        of_pencils = None if rows is None else problem.design_rows(np.repeat(rows, problem.pencils, axis=0))
        parameters = self.parameters
        values = evaluate(coef, parameters.dim, problem.outputs.indices, problem.design, of_pencils, parameters.threads)
        return values, slice(None) if rows is None else rows, problem

    def scores_now(self, most: int) -> list[tuple[FloatArray, RowIds | slice, Problem]]:
        """Raw scores of the models as they are, on up to ``most`` training rows and on those they are measured on."""
        coef, problem = self.parameters.coef, self.problem
        rows = self.training_rows()[:, :most]
        of_pencils = problem.design_rows(np.repeat(rows, problem.pencils, axis=0))
        parameters = self.parameters
        values = evaluate(coef, parameters.dim, problem.outputs.indices, problem.design, of_pencils, parameters.threads)
        unseen, unseen_rows, measured = self._measure(coef)
        return [(problem.raw(values, rows), rows, problem), (measured.raw(unseen, unseen_rows), unseen_rows, measured)]

    def _keep_best(self) -> FloatArray:
        """Measure every model, and keep the states that improved."""
        seen = self.validation_losses()
        self.keep_(seen < self.best, seen)
        return seen

    @property
    def n_unseen(self) -> int:
        """Number of rows that models are measured on and at least one of them has not trained on."""
        if self.validation is not None:
            return self.validation.n_rows
        return 0 if self._validation_rows is None else self._validation_rows.size

    def validation_losses(self) -> FloatArray:
        """The loss of every model, as it is now, on the rows that it is measured on."""
        values, rows, problem = self._measure(self.parameters.coef)
        return problem.losses(values, rows)

    def keep_(self, which: NDArray[np.bool_], seen: FloatArray) -> None:
        """Keep the states of some models (members,), with their validation losses."""
        self.best = np.where(which, seen, self.best)
        models = np.repeat(which, self.problem.pencils)
        for kept, part in zip((self.coef, *self.theta), (self.parameters.coef, *self.parameters.theta), strict=True):
            kept[models] = part[models]


def _in_order(shuffled: RowIds, design: Design, target: RowTargets, order: RowIds) -> tuple[Design, RowTargets, RowIds]:
    """Return copies of a long table's rows in the order of an epoch, and where the rows of ``order`` are among them."""
    place = np.empty_like(shuffled)
    place[shuffled] = np.arange(len(shuffled), dtype=np.int32)
    y, importance, offset = (None if part is None else part[shuffled] for part in target)
    return design.take(shuffled), (np.empty(0) if y is None else y, importance, offset), place[order]


def row_targets(problem: Problem, importance: FloatArray | None) -> RowTargets:
    """Targets, importance and offsets as the kernel takes them."""
    columns = (problem.y, importance, problem.offset)
    y, mass, offset = (None if part is None else np.ascontiguousarray(part, np.float64) for part in columns)
    return np.empty(0) if y is None else y, mass, offset
