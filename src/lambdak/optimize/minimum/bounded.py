"""Functions of coordinates with a proven lower bound on every box: what is minimised or limited is a sum of them.

constant + Σ a_i x_i + Σ (offset + slope x_i) · prediction. Of a prediction the bound is a line below its link, whose
raw score is relaxed; of a product with a column McCormick's, t q ≥ t₀ q + q₀ t − t₀ q₀ at either pair of ends.

Lines below an increasing link: exp is convex, the logistic function convex below 0 and concave above. Below a convex
function is its tangent, below a concave one its chord, and where both occur the line through the lower end that is
nowhere above it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from lambdak._types import Float64Array
from lambdak.losses import Link
from lambdak.losses.links import CLOGLOG, EXPONENT_LIMIT, IDENTITY, LOG, LOGIT, LOGLOG
from lambdak.optimize.relaxation import STEPS, Boxes, Separable, linear, relax
from lambdak.optimize.scores import Score

_LINE_ROUNDING = 1e-13  # of a line and of a link, relative to what they are computed from
_ROUNDING = 1e-14  # of sums and products, relative to their terms


class Line(NamedTuple):
    """The line a + b s, one for each box: arrays (n,)."""

    a: Float64Array
    b: Float64Array


def below(link: Link, low: Float64Array, high: Float64Array) -> Line:
    """A line that is nowhere above the link between ``low`` and ``high``, (n,) each."""
    if not link.is_free:
        return _limited(link, below(link.free, low, high), low, high, side=0)
    if link is IDENTITY:
        return Line(np.zeros(len(low)), np.ones(len(low)))
    if link is LOG:
        line = _exp_below(low, high)
    elif link is LOGIT:
        line = _logistic_below(low, high)
    elif link in (CLOGLOG, LOGLOG):  # what rises is nowhere below what it is at the low end
        line = Line(link.outwards(*2 * (link.predictions(low),))[0], np.zeros(len(low)))
    else:
        raise ValueError(f"no line is known for the link {link.name!r}")
    return Line(line.a - _line_slack(line, low, high), line.b)


def above(link: Link, low: Float64Array, high: Float64Array) -> Line:
    """A line that is nowhere below the link."""
    if not link.is_free:
        return _limited(link, above(link.free, low, high), low, high, side=1)
    if link is LOGIT:  # the logistic function is symmetric about (0, 1/2)
        a, b = below(LOGIT, -high, -low)
        return Line(1.0 - a, b)
    if link in (CLOGLOG, LOGLOG):
        return Line(link.outwards(*2 * (link.predictions(high),))[1], np.zeros(len(high)))
    if link is LOG:
        line = _exp_above(low, high)
        return Line(line.a + _line_slack(line, low, high), line.b)
    return below(link, low, high)


def _limited(link: Link, line: Line, low: Float64Array, high: Float64Array, side: int) -> Line:
    """The line of a link without a range, where it does not matter; elsewhere a constant, the prediction at one end."""
    ends = [np.asarray(link.free.predictions(end[..., None])[..., 0]) for end in (low, high)]
    inside = (ends[0] >= link.low) & (ends[1] <= link.high)
    at = link.limited(ends[side])
    constant = link.outwards(at, at)[side]
    return Line(np.where(inside, line.a, constant), np.where(inside, line.b, 0.0))


def _line_slack(line: Line, low: Float64Array, high: Float64Array) -> Float64Array:
    return np.asarray(_LINE_ROUNDING * (np.abs(line.a) + line.b * np.maximum(np.abs(low), np.abs(high))))


def _exp_below(low: Float64Array, high: Float64Array) -> Line:
    """The tangent in the middle; where exp is cut off, a constant."""
    straight = high <= EXPONENT_LIMIT
    middle = np.minimum(0.5 * low + 0.5 * high, EXPONENT_LIMIT)
    slope = np.where(straight, np.exp(middle), 0.0)
    return Line(np.where(straight, slope * (1.0 - middle), np.exp(np.minimum(low, EXPONENT_LIMIT))), slope)


def _exp_above(low: Float64Array, high: Float64Array) -> Line:
    """The chord; where exp is cut off, a constant."""
    top = np.exp(np.minimum(high, EXPONENT_LIMIT))
    slope = np.where(high <= EXPONENT_LIMIT, top * _chord(low - high), 0.0)
    return Line(top - slope * high, slope)


def _chord(t: Float64Array) -> Float64Array:
    """(1 − exp(t)) / −t for t ≤ 0."""
    return np.asarray(np.where(t < -1e-12, np.expm1(t) / np.where(t < -1e-12, t, 1.0), 1.0))


def _logistic_below(low: Float64Array, high: Float64Array) -> Line:
    middle = 0.5 * low + 0.5 * high
    convex = high <= 0.0
    at = np.where(convex, middle, low)
    wide = high - low
    chord = np.where(wide > 1e-9, (expit(high) - expit(low)) / np.where(wide > 1e-9, wide, 1.0), 0.0)
    tangent = expit(at) * expit(-at)
    slope = np.where(convex, tangent, np.minimum(tangent, chord))
    return Line(expit(at) - slope * at, slope)


@final
@dataclass(frozen=True, eq=False)
class Relaxed:
    """Boxes, and the relaxations of raw scores on them after some steps of ascent, each computed once."""

    boxes: Boxes
    steps: int = STEPS
    known: dict[int, Separable] = field(default_factory=dict)

    def of(self, score: Score) -> Separable:
        """The lower bound of a raw score."""
        if id(score) not in self.known:
            self.known[id(score)] = relax(score, self.boxes, self.steps)
        return self.known[id(score)]


@final
@dataclass(frozen=True, eq=False)
class Prediction:
    """The inverse link of a raw score and, if it needs them, of others: classes, its own first.

    Attributes
    ----------
    scores, negatives : tuples of Score
        Raw scores, and the same with the other sign.
    link : Link
    """

    scores: tuple[Score, ...]
    negatives: tuple[Score, ...]
    link: Link

    def values(self, x: Float64Array) -> Float64Array:
        """Predictions at coordinates (n, axes), (n,)."""
        raw = np.stack([score.values(x) for score in self.scores], axis=-1)
        return np.asarray(self.link.predictions(raw)[..., 0])

    def errors(self, x: Float64Array) -> Float64Array:
        """How far computed predictions can be from real ones, (n,)."""
        raw = sum(score.error for score in self.scores)
        if self.link.free is IDENTITY:
            return np.full(len(x), raw)
        return np.asarray(4.0 * (raw + self.link.rounding) * np.abs(self.values(x)))

    def ends(self, relaxed: Relaxed) -> tuple[Float64Array, Float64Array]:
        """The lowest and the highest prediction on each box."""
        if self.link.joint:
            return self._joint_ends(relaxed)
        low, high = relaxed.of(self.scores[0]).lowest(), -relaxed.of(self.negatives[0]).lowest()
        seen = self.link.predictions(np.stack([low, np.maximum(low, high)], axis=-1)[..., None])
        return self.link.outwards(seen[:, 0, 0], seen[:, 1, 0])

    def _joint_ends(self, relaxed: Relaxed) -> tuple[Float64Array, Float64Array]:
        """1 / (1 + Σ_j exp(s_j − s)), from what the differences can be."""
        plus, minus = relaxed.of(self.scores[0]), relaxed.of(self.negatives[0])
        most = [-(plus + relaxed.of(other)).lowest() for other in self.negatives[1:]]
        least = [(minus + relaxed.of(other)).lowest() for other in self.scores[1:]]
        nothing = np.zeros(len(relaxed.boxes))
        low, high = (np.exp(-logsumexp([nothing, *each], axis=0)) for each in (most, least))
        return self.link.outwards(low, high)

    def times(self, factor: Float64Array, relaxed: Relaxed) -> Separable:
        """A lower bound of the prediction times a number for each box, (n,)."""
        if self.link.joint:
            low, high = self._joint_ends(relaxed)
            both = relaxed.of(self.scores[0]).loose + relaxed.of(self.negatives[0]).loose
            constant = np.minimum(factor * low, factor * high)
            return replace(self._nothing(relaxed).shifted(constant), loose=both * np.abs(factor)[:, None])
        found = self._nothing(relaxed)
        low = high = np.zeros(len(factor))
        if self.link is not IDENTITY:
            low, high = relaxed.of(self.scores[0]).lowest(), -relaxed.of(self.negatives[0]).lowest()
        if (factor > 0).any():
            a, b = below(self.link, low, high)
            up = np.maximum(factor, 0.0)
            found = found + (relaxed.of(self.scores[0]) * (up * b)).shifted(a * up)
        if (factor < 0).any():
            a, b = above(self.link, low, high)
            down = np.maximum(-factor, 0.0)
            found = found + (relaxed.of(self.negatives[0]) * (down * b)).shifted(-a * down)
        return found

    @staticmethod
    def _nothing(relaxed: Relaxed) -> Separable:
        return linear(relaxed.boxes, 0.0, np.zeros(relaxed.boxes.low.shape[1]))


class Bounded(Protocol):
    """A function of coordinates with a proven lower bound on every box: whatever fills this in can be minimised."""

    @property
    def scores(self) -> tuple[Score, ...]:
        """The raw scores that it is made of, and their negatives; none if it depends on no model."""

    def values(self, x: Float64Array) -> Float64Array:
        """Return the function at coordinates (n, axes), (n,)."""

    def errors(self, x: Float64Array) -> Float64Array:
        """Return how far computed values can be from real ones, (n,)."""

    def relaxed(self, relaxed: Relaxed) -> Separable:
        """Return a function that is nowhere above it on each box, and on the way between vertices nowhere below theirs.

        So its least value is at a vertex. Rounding must be taken off.
        """


@final
@dataclass(frozen=True, eq=False)
class ScaledPrediction:
    """A prediction times offset + slope · x_axis; without an axis times ``offset``."""

    prediction: Prediction
    offset: float
    axis: int | None
    slope: float

    @property
    def scores(self) -> tuple[Score, ...]:
        """The raw scores behind the prediction, and their negatives."""
        return (*self.prediction.scores, *self.prediction.negatives)

    def values(self, x: Float64Array) -> Float64Array:
        """Return the product at coordinates (n, axes), (n,)."""
        factor = self.offset if self.axis is None else self.offset + self.slope * x[:, self.axis]
        return np.asarray(factor * self.prediction.values(x))

    def errors(self, x: Float64Array) -> Float64Array:
        """Return how far computed values can be from real ones, (n,)."""
        factor = abs(self.offset) + (0.0 if self.axis is None else abs(self.slope) * np.abs(x[:, self.axis]))
        return np.asarray(factor * self.prediction.errors(x))

    def relaxed(self, relaxed: Relaxed) -> Separable:
        """Return a lower bound on each box."""
        boxes = relaxed.boxes
        if self.axis is None:
            return self.prediction.times(np.full(len(boxes), self.offset), relaxed)
        ends = [self.offset + self.slope * end[:, self.axis] for end in (boxes.low, boxes.high)]
        low, high = self.prediction.ends(relaxed)
        pairs = ((np.minimum(*ends), low), (np.maximum(*ends), high))
        first, second = (self._mccormick(t, q, relaxed) for t, q in pairs)
        better = _chosen(first, second, first.lowest() >= second.lowest())
        better.loose[:, self.axis] += 0.25 * np.abs(ends[1] - ends[0]) * (high - low)
        most = np.maximum(np.abs(boxes.low[:, self.axis]), np.abs(boxes.high[:, self.axis]))
        terms = (abs(self.offset) + abs(self.slope) * most) * np.maximum(np.abs(low), np.abs(high))
        return better.shifted(-_ROUNDING * terms)  # offset and slope may cancel out

    def _mccormick(self, t: Float64Array, q: Float64Array, relaxed: Relaxed) -> Separable:
        """Return t₀ q + q₀ t(x) − t₀ q₀ on each box."""
        product = self.prediction.times(t, relaxed)
        axis = self.axis or 0
        line = q[:, None] * (self.offset + self.slope * relaxed.boxes.coordinates[axis])
        parts = tuple(part + line if i == relaxed.boxes.part(axis) else part for i, part in enumerate(product.parts))
        return Separable(product.base - t * q, parts, product.loose)


def _chosen(first: Separable, second: Separable, where: NDArray[np.bool_]) -> Separable:
    """Return the first function where it says so, the second elsewhere."""
    parts = tuple(np.where(where[:, None], a, b) for a, b in zip(first.parts, second.parts, strict=True))
    loose = np.where(where[:, None], first.loose, second.loose)
    return Separable(np.where(where, first.base, second.base), parts, loose)


@final
@dataclass(frozen=True, eq=False)
class BoundedSum:
    """constant + Σ linear_i x_i + Σ terms, as a function of coordinates: what is minimised, or must be at most 0."""

    constant: float
    linear: Float64Array  # (axes,)
    terms: tuple[Bounded, ...] = ()
    begun: float = 0.0  # the size of what the constant adds up: that may cancel out

    @property
    def scores(self) -> tuple[Score, ...]:
        """The raw scores of all terms, and their negatives."""
        return tuple(score for term in self.terms for score in term.scores)

    def values(self, x: Float64Array) -> Float64Array:
        """Return the sum at coordinates (n, axes), (n,)."""
        return np.asarray(self.constant + x @ self.linear + sum(term.values(x) for term in self.terms))

    def relaxed(self, relaxed: Relaxed) -> Separable:
        """Return a lower bound on each box."""
        parts = [linear(relaxed.boxes, self.constant, self.linear), *(term.relaxed(relaxed) for term in self.terms)]
        found = sum(parts[1:], parts[0])
        return found.shifted(-_ROUNDING * (np.sum([part.size() for part in parts], axis=0) + self.begun))

    def errors(self, x: Float64Array) -> Float64Array:
        """Return how far computed values can be from real ones, (n,)."""
        size = max(abs(self.constant), self.begun) + np.abs(x) @ np.abs(self.linear)
        return np.asarray(_ROUNDING * size + sum(term.errors(x) for term in self.terms))

    @property
    def is_linear(self) -> bool:
        """Whether it has no prediction."""
        return not self.terms
