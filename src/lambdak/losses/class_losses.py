"""Class probabilities: −log of that of the true class, for two classes, several, or several in order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit

from lambdak._checks import check_int
from lambdak._types import Float64Array, FloatArray
from lambdak.losses.contract import Arrangement, Loss, Predicts, Target, _columns
from lambdak.losses.links import LOGIT, SOFTMAX, Link

SMALLEST_GAP = 1e-4  # cut-points this close leave a class 2.5e-5 at most; −log continues as its tangent


@final
@dataclass(frozen=True)
class BinaryLog(Loss):
    """log(1 + eʳ) − y r: P(y = 1) = F(r), F the logistic function, for y in [0, 1] (a fraction is a soft label).

    >>> BinaryLog().predict(np.array([0.0, 2.0])).round(3)
    array([[0.5  , 0.5  ],
           [0.119, 0.881]])
    """

    name: ClassVar[str] = "log_loss"
    link: ClassVar[Link] = LOGIT
    predicts: ClassVar[Predicts] = Predicts.CLASSES
    n_classes = 2

    @property
    def compiled(self) -> tuple[str, list[float]]:
        """Return the kernel's name and numbers of this loss."""
        return self.name, []

    def output_names(self, labels: Sequence[str]) -> tuple[str, ...]:
        """The second class."""
        return (f"class {labels[1]}",)

    def _predict(self, raw: FloatArray) -> FloatArray:
        """(1 − F(r), F(r)): probabilities (..., 2) of 0 and 1."""
        return np.stack([expit(-raw), expit(raw)], axis=-1)

    def _limited(self, predictions: FloatArray) -> FloatArray:
        link = self.output_link
        if link.is_free:
            return predictions
        return np.stack([link.other.limited(predictions[..., 0]), link.limited(predictions[..., 1])], axis=-1)

    def _loss(self, raw: FloatArray, y: Target) -> FloatArray:
        # For y in {0, 1} the first two terms are exact, so a confident raw score keeps all its digits.
        return np.asarray(np.maximum(raw, 0.0) - y * raw + np.log1p(np.exp(-np.abs(raw))))

    def _slope(self, raw: FloatArray, y: Target) -> FloatArray:
        return np.asarray(expit(raw) - y)

    def _start(self, y: Float64Array, weight: Float64Array, offset: Float64Array) -> ArrayLike:
        no, yes = _seen(np.array([weight @ (1.0 - y), weight @ y]), weight)
        return _with_offset(self, np.log([yes / no]), y, weight, offset)

    def _check(self, y: Float64Array, name: str) -> None:
        super()._check(y, name)
        self._refuse(name, (y < 0) | (y > 1), y, "be in [0, 1]", "code the two classes as 0 and 1")


class _Classes(Loss):
    """Losses of class codes 0 … n_classes − 1."""

    _target_dtype: ClassVar[type[np.generic] | None] = np.intp
    n_classes: int

    def __post_init__(self) -> None:
        check_int(self.n_classes, "n_classes", 2, 2**31)

    def _check(self, y: Float64Array, name: str) -> None:
        super()._check(y, name)
        bad = (y < 0) | (y >= self.n_classes) | (y != np.floor(y))
        rule = f"hold class codes 0 to {self.n_classes - 1}"
        self._refuse(name, bad, y, rule, "code the classes with np.unique(y, return_inverse=True)")

    def _shares(self, y: Float64Array, weight: Float64Array) -> Float64Array:
        seen = _seen(np.bincount(y.astype(np.intp), weight, self.n_classes).astype(np.float64), weight)
        return np.asarray(seen / seen.sum())


@final
@dataclass(frozen=True)
class SoftmaxLog(_Classes):
    """log Σ_k exp(r_k) − r_y: P(y = k) = softmax(r)_k, one raw score per class, (..., K)."""

    name: ClassVar[str] = "log_loss"
    link: ClassVar[Link] = SOFTMAX
    predicts: ClassVar[Predicts] = Predicts.CLASSES
    no_offset: ClassVar[str] = (
        "one number per row moves the scores of all classes alike, which changes nothing: use two classes, or "
        "SpectralOrdinalClassifier if they are in order"
    )
    n_classes: int

    @property
    def n_outputs(self) -> int:
        """Return the number of classes."""
        return self.n_classes

    @property
    def compiled(self) -> tuple[str, list[float]]:
        """Return the kernel's name and numbers of this loss."""
        return "softmax", []

    @property
    def arrangement(self) -> Arrangement:
        """Every class has its own matrices."""
        return Arrangement.PER_CLASS

    def output_names(self, labels: Sequence[str]) -> tuple[str, ...]:
        """One for each class."""
        return tuple(f"class {label}" for label in labels)

    def _predict(self, raw: FloatArray) -> FloatArray:
        """exp(r_k) / Σ_j exp(r_j): probabilities (..., K)."""
        odds = self._below(raw)
        np.exp(odds, out=odds)
        odds /= _total(odds)
        return np.ascontiguousarray(odds.T).reshape(raw.shape)

    def _loss(self, raw: FloatArray, y: Target) -> FloatArray:
        below = self._below(raw)
        codes = np.broadcast_to(y, raw.shape[:-1]).ravel()
        own = below[codes, np.arange(codes.size)]
        return np.asarray(np.log(np.add.reduce(np.exp(below), axis=0)) - own).reshape(raw.shape[:-1])

    def _slope(self, raw: FloatArray, y: Target) -> FloatArray:
        slope = self._predict(raw)
        slope.ravel()[_positions(y, raw.shape)] -= 1.0
        return slope

    def _start(self, y: Float64Array, weight: Float64Array, offset: Float64Array) -> ArrayLike:
        score = np.log(self._shares(y, weight))  # the same offset for all classes changes nothing
        return np.asarray(score - score.mean())

    def _below(self, raw: FloatArray) -> FloatArray:
        """(K, models * rows): r_k − max_j r_j, classes first because NumPy reduces a short last axis slowly."""
        below = raw.reshape(-1, self.n_classes).T.copy()
        below -= np.maximum.reduce(below, axis=0)
        return below


@final
@dataclass(frozen=True)
class Ordinal(_Classes):
    """−log(F(c_y) − F(c_{y−1})): P(y ≤ j) = F(c_j), F the logistic function, for raw c_0 ≤ … ≤ c_{K−2}, (..., K−1).

    With c_{−1} = −∞ and c_{K−1} = ∞, F(v) − F(u) = F(v) F(−u) (1 − e^{u−v}) for every class, and no digits are lost.

    >>> Ordinal(3).predict(np.array([[-1.0, 1.0]])).round(3)
    array([[0.269, 0.462, 0.269]])
    """

    name: ClassVar[str] = "ordinal"
    link: ClassVar[Link] = LOGIT
    sign: ClassVar[int] = -1  # a larger cut-point means a smaller class
    predicts: ClassVar[Predicts] = Predicts.ORDERED_CLASSES
    n_classes: int

    @property
    def n_outputs(self) -> int:
        """Return the number of cut-points, one less than classes."""
        return self.n_classes - 1

    @property
    def arrangement(self) -> Arrangement:
        """One eigenvalue at each of the cut-points; a single cut-point is one eigenvalue like any other."""
        return Arrangement.ORDERED if self.n_outputs > 1 else Arrangement.SINGLE

    def output_names(self, labels: Sequence[str]) -> tuple[str, ...]:
        """One for each cut-point."""
        return tuple(f"y ≤ {label}" for label in labels[:-1])

    def _predict(self, raw: FloatArray) -> FloatArray:
        """F(c_k) − F(c_{k−1}): probabilities (..., K)."""
        edges = np.maximum.accumulate(self._edges(raw), axis=-1)  # neighbours may cross by rounding
        lower, upper = edges[..., :-1], edges[..., 1:]
        return np.asarray(expit(upper) * expit(-lower) * -np.expm1(lower - upper))

    def classify(self, raw: FloatArray) -> NDArray[np.intp]:
        """Codes (...) of the median classes: the first j with P(y ≤ j) ≥ 1/2, which is c_j ≥ 0.

        Where no cut-point rises, no class falls: the most probable class may, as it depends on differences.

        >>> Ordinal(3).classify(np.array([[-1.0, 1.0], [-2.0, -0.1]]))
        array([1, 2])
        """
        return np.asarray((self._edges(raw)[..., 1:] >= 0.0).argmax(axis=-1))

    def at_levels(self, y: Target) -> tuple[Loss, Target]:
        """Log loss of "y ≤ j" for each j: cut-points far from a row's class count too, unlike in the likelihood.

        >>> Ordinal(4).at_levels(np.array([0, 2]))[1]
        array([1., 1., 1., 0., 0., 1.])
        """
        return BinaryLog(), np.asarray(y[:, None] <= np.arange(self.n_outputs), np.float64).ravel()

    def _loss(self, raw: FloatArray, y: Target) -> FloatArray:
        edges = self._edges(raw)
        at = _positions(y, edges.shape)
        lower, upper = edges.ravel()[at], edges.ravel()[at + 1]
        gap = np.maximum(upper - lower, SMALLEST_GAP)
        tangent = np.maximum(SMALLEST_GAP - (upper - lower), 0.0) / math.expm1(SMALLEST_GAP)
        return np.asarray(np.logaddexp(lower, 0.0) + np.logaddexp(-upper, 0.0) - np.log(-np.expm1(-gap)) + tangent)

    def _slope(self, raw: FloatArray, y: Target) -> FloatArray:
        edges = self._edges(raw)
        at = _positions(y, edges.shape)
        lower, upper = edges.ravel()[at], edges.ravel()[at + 1]
        inside = -np.expm1(-np.maximum(upper - lower, SMALLEST_GAP))
        push = (1.0 - inside) / inside
        slope = np.zeros_like(edges)
        slope.ravel()[at] = expit(lower) + push
        slope.ravel()[at + 1] = -expit(-upper) - push
        return np.ascontiguousarray(slope[..., 1:-1]).reshape(raw.shape)

    def _start(self, y: Float64Array, weight: Float64Array, offset: Float64Array) -> ArrayLike:
        below = np.cumsum(self._shares(y, weight))[:-1]
        return np.maximum.accumulate(_with_offset(self, np.log(below / (1.0 - below)), y, weight, offset))

    def _edges(self, raw: FloatArray) -> FloatArray:
        """(..., K+1): the cut-points between −∞ and ∞."""
        cuts = _columns(raw, self.n_outputs)
        edges = np.empty((*cuts.shape[:-1], self.n_classes + 1), raw.dtype)
        edges[..., 0], edges[..., 1:-1], edges[..., -1] = -np.inf, cuts, np.inf
        return edges


def _total(odds: FloatArray) -> FloatArray:
    """Sums over classes (K, rows), class by class: those of a single row NumPy would add in another order."""
    return np.asarray(np.add.accumulate(odds, axis=0)[-1] if odds.shape[1] == 1 else np.add.reduce(odds, axis=0))


def _positions(y: Target, shape: tuple[int, ...]) -> NDArray[np.intp]:
    """Flat indices (..., rows) of entry y on the last axis of an array of this shape."""
    *lead, width = shape
    return np.asarray(np.arange(0, math.prod(shape), width).reshape(lead) + y)


def _seen(counts: Float64Array, weight: Float64Array) -> Float64Array:
    return np.where(counts > 0, counts, 0.5 * weight.mean())


def _with_offset(
    loss: Loss, guess: Float64Array, y: Float64Array, weight: Float64Array, offset: Float64Array
) -> Float64Array:
    """Best constants with an offset, from those without: between guess − max offset and guess − min offset.

    The gradient summed over rows grows if all constants grow by the same amount, and its Jacobian is an M-matrix,
    so these two corners bracket the solution; they also keep it finite where a class is missing.
    """
    if not offset.any():
        return guess

    def objective(constants: Float64Array) -> tuple[float, Float64Array]:
        raw = (offset[:, None] + constants).squeeze(axis=-1 if guess.size == 1 else ())
        slope = loss.gradient(raw, y, weight)
        return float(loss.value(raw, y, weight)), slope.reshape(-1, guess.size).sum(axis=0)

    bounds = np.column_stack([guess - offset.max(), guess - offset.min()])
    middle = guess - np.average(offset, weights=weight)
    return np.asarray(minimize(objective, middle, jac=True, method="L-BFGS-B", bounds=bounds, tol=1e-13).x)
