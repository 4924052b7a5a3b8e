r"""L-BFGS refinement of small tables' models: on all training rows, for every model of a stack at once.

x ← x − t H g, where H comes from the last steps and the changes of the gradient along them, and t is cut until the
loss falls enough. Where the target has almost no noise, Adam's steps are too coarse for the error that is left, and
the loss on unseen rows falls from the first iteration on. On other tables it rises, and the refinement ends at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array, FloatArray
from lambdak.training.problem import RowIds
from lambdak.training.trainer import Trainer

# Beyond, Adam has taken enough steps; no study of its own: it bounds the time, since every iteration reads all rows.
_MOST_ROWS = 5_000
_FEWEST_UNSEEN = 100  # rows to decide by: the mean loss of fewer falls by chance; no study of its own
_ITERATIONS = 120  # at most: it bounds the time; no study of its own
# Iterations without a new lowest loss on unseen rows: with noise the refinement ends after these; no study of its own.
_PATIENCE = 5
_MEMORY = 6  # steps that H remembers: within the 3 to 20 of the literature; each is a copy of all parameters
# Relative to the parameters, while H is still the identity: the search below cuts it where it is too long.
_FIRST_STEP = 0.05
_ENOUGH = 1e-4  # of the fall that the gradient promises: Armijo's usual constant
_CUT = 0.4  # of the length of a step that did not lower the loss enough; a usual value, between 0.1 and 0.5
_CUTS = 8  # of one step, at most: what is left of it then is below a thousandth
_TINY = 1e-30  # below every square in float32: keeps a division by zero away

Objective = Callable[[FloatArray], tuple[Float64Array, FloatArray]]
Past = deque[tuple[FloatArray, FloatArray, Float64Array]]  # steps, changes of the gradient, 1 / their product


def refine(trainer: Trainer) -> Iterator[FloatArray]:
    """Continue from the last states, yielding the losses on unseen rows; all models are kept, or none is.

    The mean over all models, each with its own unseen rows, is far less noisy than the loss of a single one.
    """
    if trainer.problem.n_rows > _MOST_ROWS or trainer.n_unseen < _FEWEST_UNSEEN:
        return
    lowest, waited, slope = np.inf, 0, partial(_slope, trainer, trainer.training_rows())
    for x in islice(descend(slope, _gather(trainer)), _ITERATIONS):
        _scatter_(trainer, x)
        seen = trainer.validation_losses()
        if seen.mean() < trainer.best.mean():
            trainer.keep_(np.ones(len(seen), bool), seen)
        waited = 0 if seen.mean() < lowest else waited + 1
        lowest = min(lowest, seen.mean())
        yield seen
        if waited == _PATIENCE:
            return


def descend(objective: Objective, x: FloatArray) -> Iterator[FloatArray]:
    """Minimise over each row of x (models, n) by itself, yielding x after every iteration, until no model moves.

    ``objective`` gives the values (models,) and the gradients (models, n) at x.
    """
    value, grad = objective(x)
    past: Past = deque(maxlen=_MEMORY)
    size = _FIRST_STEP * np.sqrt(_dot(x, x) / np.maximum(_dot(grad, grad), _TINY))
    moves = np.ones(len(x), bool)
    while True:
        way = -_two_loops(grad, past, size)
        moves &= _dot(way, grad) < 0
        there, value, slope = _search(objective, x, value, grad, way, moves)
        step, bend = there - x, slope - grad
        moves &= step.any(axis=1)
        if not moves.any():
            return
        product = _dot(step, bend)
        curved = product > 0
        past.append((step, bend, np.where(curved, 1 / np.where(curved, product, 1), 0)))
        size = np.where(curved, product / np.maximum(_dot(bend, bend), _TINY), size)
        x, grad = there, slope
        yield x


def _two_loops(grad: FloatArray, past: Past, size: Float64Array) -> FloatArray:
    """H g: the identity times ``size``, corrected by the past steps; one of weight zero changes nothing."""
    result, shares = grad, []
    for step, bend, weight in reversed(past):
        shares.append(weight * _dot(step, result))
        result = result - _rows(shares[-1], bend)
    result = _rows(size, result)
    for (step, bend, weight), share in zip(past, reversed(shares), strict=True):
        result = result + _rows(share - weight * _dot(bend, result), step)
    return result


def _search(
    objective: Objective,
    x: FloatArray,
    value: Float64Array,
    grad: FloatArray,
    way: FloatArray,
    moves: NDArray[np.bool_],
) -> tuple[FloatArray, Float64Array, FloatArray]:
    """The first of x + t way, t = 1, 0.4, 0.16, …, where the value falls enough; x itself where it does not move."""
    promise, length, open_ = _dot(way, grad), 1.0, moves.copy()
    there, low, slope = x.copy(), value.copy(), grad.copy()
    for _ in range(_CUTS):
        trial = np.where(open_[:, None], x + x.dtype.type(length) * way, there)
        now, gradient = objective(trial)
        good = open_ & (now <= value + _ENOUGH * length * promise)
        there[good], low[good], slope[good] = trial[good], now[good], gradient[good]
        open_ &= ~good
        if not open_.any():
            break
        length *= _CUT
    return there, low, slope


def _slope(trainer: Trainer, rows: RowIds, x: FloatArray) -> tuple[Float64Array, FloatArray]:
    """Mean training loss of each model with the parameters x, and its gradient."""
    _scatter_(trainer, x)
    return trainer.slope_(rows), _flat(trainer.parameters.grad, len(x))


def _gather(trainer: Trainer) -> FloatArray:
    """All parameters of a model, those of its neurons too, as one row."""
    return _flat(trainer.parameters.theta, trainer.members)


def _scatter_(trainer: Trainer, x: FloatArray) -> None:
    first = 0
    for part in trainer.parameters.theta:
        last = first + part.size // len(x)
        part[...] = x[:, first:last].reshape(part.shape)
        first = last
    trainer.parameters.write_()


def _flat(parts: list[FloatArray], members: int) -> FloatArray:
    return np.concatenate([part.reshape(members, -1) for part in parts], axis=1)


def _dot(a: FloatArray, b: FloatArray) -> Float64Array:
    """The product of each row of a with that of b."""
    return np.asarray((a * b).sum(axis=1, dtype=np.float64))


def _rows(factor: Float64Array, rows: FloatArray) -> FloatArray:
    return np.asarray(factor.astype(rows.dtype)[:, None] * rows)
