"""The contract of a loss: value, gradient, link, outputs, best constant and scale, over what each family fills in."""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from enum import Enum
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak._checks import check_finite, check_numbers, check_shape
from lambdak._types import Float64Array, FloatArray
from lambdak.losses.links import IDENTITY, LOG, Link
from lambdak.table.rows import LARGEST_NUMBER, rows_shown

Target = NDArray[Any]


_ANYWHERE = (-math.inf, math.inf)  # the range of predictions, if none was requested


class Predicts(Enum):
    """What a model with this loss predicts; an estimator takes the losses of one kind."""

    NUMBERS = "numbers"
    QUANTILES = "quantiles"
    CLASSES = "classes"
    ORDERED_CLASSES = "ordered classes"
    TIMES = "times to an event"


class Arrangement(Enum):
    """Where several raw scores of a row come from."""

    SINGLE = "one eigenvalue"
    PER_CLASS = "one eigenvalue of a matrix per class"
    ORDERED = "one eigenvalue at several cut-points"
    QUANTILES = "one eigenvalue at several quantile levels"
    TIMES = "one eigenvalue at several times"
    COPIES = "one eigenvalue of each of several design rows"


class TimePoints(NamedTuple):
    """Rows at the knots of time around what was observed of them: a loss of the raw scores there, (rows, n)."""

    loss: Loss
    knots: NDArray[np.intp]  # (rows, n): their numbers
    target: Float64Array  # (rows, p): what the loss takes


class Loss(ABC):
    """ℓ(r, y) with its derivative in r, its link, its outputs and its best constant. Immutable.

    A new loss is one subclass, a frozen dataclass whose fields are saved, and one line in
    :mod:`lambdak.losses.registry`: it is fitted, predicted with, certified, saved and reported. Two parts are optional:

    - *Compiled training.* Without it every step runs in Python, which is slower, and the fit says so. It takes a name
      in :attr:`compiled`, value and slope in ``RowLoss`` of ``eigen/native/row_loss.hpp``, and the same in
      ``eigen/row_loss.py``, their reference. ``tests/losses/test_implementations.py`` compares the three.
    - *The independent checker*, ``certify/lambdak_check.py``, has its own list of losses on purpose (``SINGLE``, and
      ``LOGS`` where the link is log): it refuses files of any other.
    """

    name: ClassVar[str]
    link: ClassVar[Link] = IDENTITY
    sign: ClassVar[int] = 1  # whether a larger raw score means a larger target, or (-1) a smaller one
    robust: ClassVar[bool] = False  # whether the loss grows linearly, so that only the side of an outlier matters
    predicts: ClassVar[Predicts] = Predicts.NUMBERS
    no_offset: ClassVar[str] = ""  # why one number per row cannot be added to its raw scores, where it cannot
    n_classes: int = 0
    _range: tuple[float, float] = _ANYWHERE  # no field: files have it among what was requested of predictions
    _target_dtype: ClassVar[type[np.generic] | None] = None  # None: the dtype of raw

    @property
    def n_outputs(self) -> int:
        """Return the number of raw scores per row; if there are several, they are the last axis."""
        return 1

    @property
    def compiled(self) -> tuple[str, list[float]] | None:
        """Return the kernel's name and numbers of this loss; None where it has none, and training runs in Python."""
        return None

    @property
    def arrangement(self) -> Arrangement:
        """Where the raw scores of a row come from."""
        return Arrangement.SINGLE

    @property
    def quantile_levels(self) -> tuple[float, ...]:
        """The levels of the quantiles that it estimates, if it does."""
        return ()

    @property
    def times(self) -> tuple[float, ...]:
        """The times at which it estimates the probability of an event, if it does."""
        return ()

    @property
    def alternatives(self) -> tuple[Loss, ...]:
        """Losses of which the fit chooses one by unseen rows; none where there is no choice."""
        return ()

    @classmethod
    def from_settings(cls, **settings: float) -> Loss:
        """The loss, with those of an estimator's settings that it takes."""
        own = inspect.signature(cls).parameters
        return cls(**{name: value for name, value in settings.items() if name in own})

    def output_names(self, labels: Sequence[str]) -> tuple[str, ...]:
        """What each raw score stands for, in words; ``labels`` are those of the classes."""
        return ("prediction",)

    def value(self, raw: FloatArray, y: Target, weight: FloatArray | None = None) -> FloatArray:
        """Σ w ℓ(r, y) / Σ w of each model, (...,); zero where all weights are zero."""
        loss = self.of_rows(raw, y)
        if weight is None:
            return np.asarray(np.add.reduce(loss, axis=-1) / loss.dtype.type(loss.shape[-1]))
        return np.asarray(np.add.reduce(loss * _share(weight, raw.dtype), axis=-1))

    def of_rows(self, raw: FloatArray, y: Target) -> FloatArray:
        """ℓ(r, y) of each row of each model, (..., rows)."""
        return self._loss(raw, y.astype(self._target_dtype or raw.dtype, copy=False))

    def gradient(self, raw: FloatArray, y: Target, weight: FloatArray | None = None) -> FloatArray:
        """∂value/∂raw = w ℓ′(r, y) / Σ w, a new array like ``raw``; at a kink, one of its subgradients."""
        slope = self._slope(raw, y.astype(self._target_dtype or raw.dtype, copy=False))
        single = self.n_outputs == 1
        if weight is None:
            slope *= 1.0 / raw.shape[-1 if single else -2]
        else:
            share = _share(weight, raw.dtype)
            slope *= share if single else share[..., None]
        return slope

    def predict(self, raw: FloatArray) -> FloatArray:
        """Inverse link: the mean or quantile (...), quantiles (..., Q), or class probabilities (..., K)."""
        return self._limited(self._predict(raw))

    def within(self, low: float, high: float) -> Self:
        """The loss whose predictions stay in this range, whatever the raw score; of two classes those of the second.

        Training, start and scale are the same: only the inverse link is limited.
        """
        limited = copy(self)
        object.__setattr__(limited, "_range", (low, high))
        return limited

    @property
    def output_link(self) -> Link:
        """The link as predictions are made with it: with their range, if they have one."""
        return self.link if self._range == _ANYWHERE else self.link.within(*self._range)

    def limited_raw(self, raw: FloatArray) -> FloatArray:
        """Raw scores as if only predictions in the range had been made: for losses of what is predicted.

        Not for classes, whose losses follow from their probabilities.
        """
        link = self.output_link
        if link.is_free:
            return raw
        ends = [link.low, link.high]
        if link.free is LOG:
            ends = [-math.inf if end <= 0 else math.log(end) for end in ends]
        return np.asarray(np.clip(raw, ends[0], ends[1]))

    def classify(self, raw: FloatArray) -> NDArray[np.intp]:
        """Codes (...) of the classes that are predicted: the most probable ones."""
        return np.asarray(self.predict(raw).argmax(axis=-1))

    def start(self, y: ArrayLike, weight: ArrayLike | None = None, offset: ArrayLike | None = None) -> Float64Array:
        """Return the constants c (n_outputs,) with the least Σ w ℓ(c + offset, y); an offset is (rows,).

        If they are infinite (no events, an empty class), half a row of what is missing counts as seen.
        """
        return np.asarray(self._start(*_rows(y, weight, offset)), np.float64).reshape(self.n_outputs)

    def scale(self, y: ArrayLike, weight: ArrayLike | None = None, offset: ArrayLike | None = None) -> float:
        """Natural spread of the raw score: that of y − offset for an identity link, 1 for log and logit links."""
        target, weights, offsets = _rows(y, weight, offset)
        return self._scale(target - offsets, weights)

    def resolved(self, y: ArrayLike, weight: ArrayLike | None = None, offset: ArrayLike | None = None) -> Loss:
        """Return the loss with what depends on the target filled in: itself, except for Huber."""
        return self

    def at_levels(self, y: Target) -> tuple[Loss, Target]:
        """The loss of a single raw score, and its targets (rows * levels, …): every row once for each of its levels.

        Only for losses whose raw scores are one eigenvalue at several levels.
        """
        raise NotImplementedError(f"loss={self.name!r} has no levels")

    def at_times(self, y: Target) -> TimePoints:
        """The knots of time that the likelihood of each row needs; only for losses of times to an event."""
        raise NotImplementedError(f"loss={self.name!r} has no times")

    @property
    def least_rise(self) -> Float64Array:
        """How far raw scores rise with time at least, (times,), counted from the first one."""
        return np.zeros(len(self.times))

    def check_target(self, y: ArrayLike, name: str = "y") -> Target:
        """Return ``y`` (rows,) as float64, or as integer class codes, if the loss is defined for every entry.

        ``name`` is what errors call it.
        """
        target = np.asarray(y)
        if target.ndim != 1 or not target.size:
            raise ValueError(f"{name} must have shape (rows,) with at least one row; got shape {target.shape}")
        numbers = check_numbers(target, name, f" for loss={self.name!r}")
        self._check(numbers, name)
        return numbers.astype(self._target_dtype or np.float64, copy=False)

    def _refuse(self, name: str, bad: NDArray[np.bool_], y: Float64Array, rule: str, advice: str) -> None:
        if bad.any():
            value = y[int(np.argmax(bad))]
            raise ValueError(f"{name} must {rule} for loss={self.name!r}; got {value} at {rows_shown(bad)}: {advice}")

    def _predict(self, raw: FloatArray) -> FloatArray:
        """Predictions before they are limited."""
        return raw.copy()

    def _limited(self, predictions: FloatArray) -> FloatArray:
        return self.output_link.limited(predictions)

    @abstractmethod
    def _loss(self, raw: FloatArray, y: Target) -> FloatArray: ...

    @abstractmethod
    def _slope(self, raw: FloatArray, y: Target) -> FloatArray: ...

    @abstractmethod
    def _start(self, y: Float64Array, weight: Float64Array, offset: Float64Array) -> ArrayLike: ...

    def _scale(self, values: Float64Array, weight: Float64Array) -> float:
        return 1.0

    def _check(self, y: Float64Array, name: str) -> None:
        self._refuse(name, ~np.isfinite(y), y, "be finite", "drop these rows")
        if self.link is IDENTITY:
            advice = "divide y by a constant, such as 1e10"
            self._refuse(name, np.abs(y) > LARGEST_NUMBER, y, f"be within ±{LARGEST_NUMBER:.2g}", advice)


def _share(weight: FloatArray, dtype: np.dtype[Any]) -> FloatArray:
    weight = weight.astype(dtype, copy=False)
    total = np.add.reduce(weight, axis=-1, keepdims=True)
    return np.asarray(weight / np.maximum(total, np.finfo(dtype).tiny))


def _columns(raw: FloatArray, n_outputs: int) -> FloatArray:
    return raw[..., None] if n_outputs == 1 else raw


def _rows(
    y: ArrayLike, weight: ArrayLike | None, offset: ArrayLike | None
) -> tuple[Float64Array, Float64Array, Float64Array]:
    target = np.asarray(y, np.float64)
    weights = np.ones_like(target) if weight is None else np.asarray(weight, np.float64)
    offsets = np.zeros_like(target) if offset is None else np.asarray(offset, np.float64)
    for array, name in ((weights, "weight"), (offsets, "offset")):
        check_finite(check_shape(array, name, target.shape), name)
    if weights.min() < 0 or not weights.any():
        raise ValueError(f"weight must be >= 0 and not all zero; got a minimum of {weights.min()}")
    counted = weights > 0  # a target without weight may have any size
    weights = np.ldexp(weights, 1 - int(np.frexp(weights.max())[1]))  # sums of weights are then finite
    return target[counted], weights[counted], offsets[counted]
