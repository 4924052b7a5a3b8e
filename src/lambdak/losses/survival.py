r"""Times to an event: P(T ≤ t) = F(r(t)) for raw scores r that rise with log t, and the likelihood of what was seen.

Raw scores are those at the knots κ_0 < … < κ_{K−1} of log t, and between them r is straight. Beyond the knots it
continues with one slope for all rows, so that what orders two rows at every knot orders them at every time; the first
and last raw score then go to −∞ and ∞, and F to 0 and 1.

With the cumulative hazard Λ(r) = −log(1 − F(r)), and u = log t, the likelihood of a row is

- f = Λ′(r) r′(u) e^{−Λ(r)} (per unit of log t) if the event was at t,
- e^{−Λ(r)} if it was later (right-censored),
- 1 − e^{−Λ(r)} if it was earlier (left-censored),
- e^{−Λ(r_a)} − e^{−Λ(r_b)} if it was between two times (interval-censored),

divided by e^{−Λ(r_e)} if the row was seen from a time e on only (late entry). Nothing is lost by cancellation: the last
one is e^{−Λ_a} (1 − e^{−(Λ_b − Λ_a)}), and Λ_b − Λ_a follows from r_b − r_a.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak._types import Float64Array, FloatArray
from lambdak.losses.contract import Arrangement, Loss, Predicts, Target, TimePoints
from lambdak.losses.hazards import LINKS, Hazard
from lambdak.losses.links import Link
from lambdak.losses.time_knots import baseline, spread_knots
from lambdak.table.event_times import EXACT, INTERVAL, LEFT, RIGHT, check_event_times

# Of raw scores per unit of log time, that every row's curve has: a density is then positive everywhere. With a Weibull
# shape of .01 the cumulative hazard grows by 2 % when time is multiplied by ten, which is a plateau in print.
LEAST_SLOPE = 0.01
_SMALLEST_SLOPE = LEAST_SLOPE / 2  # below, where rounding may lead in float32, −log continues as its tangent
_SMALLEST_GAP = 1e-5  # of the raw scores of an interval's ends: below, −log continues as its tangent
# Of a cumulative hazard within an interval: e^{±it} and its inverse are within float32.
_LEAST_GROWTH, _MOST_GROWTH = 1e-30, 80.0
_FLATTEST, _STEEPEST = 0.2, 5.0  # slopes beyond the knots: Weibull shapes as they occur


EVENT_BY = "event by "  # how names of outputs begin


class _Points(NamedTuple):
    """Raw scores at what was observed of rows: event, censoring or upper end, lower end and entry; slope at the first.

    Without lower ends or entries in a table these are those of the first.
    """

    end: FloatArray
    slope: FloatArray
    lower: FloatArray
    entry: FloatArray


@final
@dataclass(frozen=True)
class CensoredLikelihood(Loss):
    """−log likelihood of rows from raw scores at the knots around their times, (..., 2 n): two for each of n times.

    The target (rows, 5 + 2 (n − 1)) is a code, then share between the knots and shift beyond them of each time; the
    last three are 1 / distance of the knots around the first time, the slope there beyond them, and whether there is an
    entry.
    """

    name: ClassVar[str] = "survival"
    hazard: Hazard
    lower: bool  # whether some rows have the lower end of an interval
    entry: bool  # whether some rows have an entry

    @property
    def n_outputs(self) -> int:
        """Two for each time."""
        return 2 * (1 + self.lower + self.entry)

    @property
    def arrangement(self) -> Arrangement:
        """Every knot that a row needs is a design row."""
        return Arrangement.COPIES

    def _points(self, raw: FloatArray, y: Target) -> _Points:
        at = [_between(raw, y, i) for i in range(self.n_outputs // 2)]
        slope = (raw[..., 1] - raw[..., 0]) * y[..., -3] + y[..., -2]
        return _Points(at[0], slope, at[1] if self.lower else at[0], at[-1] if self.entry else at[0])

    def _loss(self, raw: FloatArray, y: Target) -> FloatArray:
        code, entered, points, hazard = y[..., 0], y[..., -1], self._points(raw, y), self.hazard
        steep, tangent = _slope_of_log(points.slope)
        passed = hazard.value(points.end)
        density = passed - hazard.log_slope(points.end) - np.log(steep) + tangent
        choices = [code == RIGHT, code == EXACT, code == LEFT]
        own = [passed, density, hazard.log_loss_before(points.end)]
        if self.lower:
            choices.append(code == INTERVAL)
            own.append(self._interval(points)[0])
        loss = np.select(choices, own)
        return np.asarray(loss - entered * hazard.value(points.entry) if self.entry else loss)

    def _slope(self, raw: FloatArray, y: Target) -> FloatArray:
        code, points, hazard = y[..., 0], self._points(raw, y), self.hazard
        steep, _ = _slope_of_log(points.slope)
        rise = hazard.slope(points.end)
        choices = [code == RIGHT, code == EXACT, code == LEFT]
        ends = [rise, rise - hazard.log_slope_slope(points.end), hazard.slope_before(points.end)]
        grad = np.zeros_like(raw)
        if self.lower:
            _, at_lower, at_end = self._interval(points)
            choices.append(code == INTERVAL)
            ends.append(at_end)
            _spread_(grad, np.where(code == INTERVAL, at_lower, 0), y, 1)
        _spread_(grad, np.select(choices, ends), y, 0)
        if self.entry:
            _spread_(grad, -y[..., -1] * hazard.slope(points.entry), y, self.n_outputs // 2 - 1)
        steepness = np.where(code == EXACT, -y[..., -3] / steep, 0)
        grad[..., 0] -= steepness
        grad[..., 1] += steepness
        return grad

    def _interval(self, points: _Points) -> tuple[FloatArray, FloatArray, FloatArray]:
        """−log(e^{−Λ_a} − e^{−Λ_b}), and its derivatives with respect to r_a and r_b."""
        hazard, low = self.hazard, points.lower
        gap = np.maximum(points.end - low, points.end.dtype.type(_SMALLEST_GAP))
        short = np.maximum(_SMALLEST_GAP - (points.end - low), 0) / _SMALLEST_GAP
        grown = np.clip(hazard.growth(low, gap), _LEAST_GROWTH, _MOST_GROWTH)
        pull = 1 / np.expm1(grown)  # e^{−D} / (1 − e^{−D}) for D = Λ_b − Λ_a
        loss = hazard.value(low) - np.log(-np.expm1(-grown)) + short
        before, after = hazard.slope(low), hazard.slope(low + gap)
        limited = np.where(short > 0, 1 / _SMALLEST_GAP, 0.0)
        inner = np.where(short > 0, 0.0, pull * after)
        at_lower = np.where(short > 0, before * (1 + pull) - pull * after, before * (1 + pull)) + limited
        return loss, at_lower.astype(low.dtype), (-inner - limited).astype(low.dtype)

    def _start(self, y: Float64Array, weight: Float64Array, offset: Float64Array) -> ArrayLike:
        raise NotImplementedError("the best constant is that of Survival, whose rows these are")


@final
@dataclass(frozen=True)
class Survival(Loss):
    """−log likelihood of the times to an event, r at each of ``times``; F(r) = P(T ≤ t), which rises with t.

    The target has a line for each row: a code, entry, lower and upper time, see :mod:`lambdak.table.event_times`.
    ``resolved(y)`` chooses the knots and the slope beyond them, which both are empty until then.
    """

    name: ClassVar[str] = "survival"
    predicts: ClassVar[Predicts] = Predicts.TIMES
    no_offset: ClassVar[str] = "give it as a column of X"
    _target_dtype: ClassVar[type[np.generic] | None] = np.float64  # which side of a knot a time is on
    link_name: str = "cloglog"  # of the link; "auto" leaves it to the fit
    event_times: tuple[float, ...] = ()
    tail: float = 1.0
    knots: int = 0  # how many; 0 leaves it to the number of events

    def __post_init__(self) -> None:
        if self.link_name not in (*LINKS, "auto"):
            raise ValueError(f"link must be one of {', '.join(map(repr, (*LINKS, 'auto')))}; got {self.link_name!r}")
        times = tuple(map(float, self.event_times))
        if any(not 0 < low < high < np.inf for low, high in pairwise(times)) or len(times) == 1:
            raise ValueError(f"times must be positive and increasing, and at least two; got {times}")
        if not 0 < self.tail < np.inf:
            raise ValueError(f"tail must be positive; got {self.tail}")
        object.__setattr__(self, "event_times", times)

    @property
    def hazard(self) -> Hazard:
        """The cumulative hazard as a function of the raw score."""
        return LINKS["cloglog" if self.link_name == "auto" else self.link_name]

    @property
    def link(self) -> Link:  # type: ignore[override]
        """From the raw score to the probability of an event."""
        return self.hazard.link

    @property
    def times(self) -> tuple[float, ...]:
        """The knots, as times."""
        return self.event_times

    @property
    def n_outputs(self) -> int:
        """One for each knot."""
        return len(self.event_times)

    @property
    def arrangement(self) -> Arrangement:
        """One eigenvalue, at each of the knots of time."""
        return Arrangement.TIMES

    @property
    def alternatives(self) -> tuple[Loss, ...]:
        """One with each link, if that is left to the fit."""
        return tuple(replace(self, link_name=name) for name in LINKS) if self.link_name == "auto" else ()

    @property
    def least_rise(self) -> Float64Array:
        """How far raw scores rise with time at least, (times,), counted from the first one."""
        levels = np.log(self.event_times)
        return np.asarray(LEAST_SLOPE * (levels - levels[0]))

    def output_names(self, labels: tuple[str, ...] | list[str] = ()) -> tuple[str, ...]:  # type: ignore[override]
        """One for each knot."""
        return tuple(f"{EVENT_BY}{time:g}" for time in self.event_times)

    def check_target(self, y: ArrayLike, name: str = "y") -> Target:
        """Return lines of codes and times (rows, 4), if all of them can be."""
        return check_event_times(np.asarray(y, np.float64), name)

    def resolved(self, y: ArrayLike, weight: ArrayLike | None = None, offset: ArrayLike | None = None) -> Survival:
        """Return the loss with knots at quantiles of the event times, and the slope beyond them."""
        lines, mass = _lines(y, weight)
        times = self.event_times or spread_knots(lines, mass, self.knots)
        raw = self.hazard.raw(baseline(lines, mass, times))
        slope = (raw[-1] - raw[0]) / float(np.log(times[-1] / times[0]))
        return replace(self, knots=0, event_times=times, tail=float(np.clip(slope, _FLATTEST, _STEEPEST)))

    def start(self, y: ArrayLike, weight: ArrayLike | None = None, offset: ArrayLike | None = None) -> Float64Array:
        """Return the raw scores (times,) of the cumulative hazard that Nelson and Aalen would estimate from all rows.

        An event within an interval counts at its middle.
        """
        return self.hazard.raw(baseline(*_lines(y, weight), self.event_times))

    def scale(self, y: ArrayLike, weight: ArrayLike | None = None, offset: ArrayLike | None = None) -> float:
        """Return 1: raw scores are logarithms."""
        return 1.0

    def at_times(self, y: Target) -> TimePoints:
        """The knots around the times of each row, and how far between them these are."""
        code, entry, lower, upper = np.asarray(y, np.float64).T
        columns = [upper]
        intervals, entered = code == INTERVAL, entry > 0
        if intervals.any():
            columns.append(np.where(intervals, lower, upper))
        if entered.any():
            columns.append(np.where(entered, entry, upper))
        places = [self.place(times) for times in columns]
        first = places[0]
        lengths = np.diff(np.log(self.event_times))[first.piece]
        inside = first.shift == 0
        target = np.column_stack([
            code, *(part for own in places for part in (own.share, own.shift)), inside / lengths,
            np.where(inside, 0.0, self.tail), entered,
        ])  # fmt: skip
        knots = np.column_stack([own.piece + end for own in places for end in (0, 1)])
        likelihood = CensoredLikelihood(self.hazard, bool(intervals.any()), bool(entered.any()))
        return TimePoints(likelihood, knots, target)

    def place(self, times: ArrayLike) -> Place:
        """Where times are among the knots: the piece, the share of it, and what is added to raw scores beyond them."""
        levels = np.log(self.event_times)
        with np.errstate(divide="ignore"):
            u = np.log(np.asarray(times, np.float64))
        piece = np.clip(np.searchsorted(levels, u, side="right") - 1, 0, len(levels) - 2)
        share = np.clip((u - levels[piece]) / (levels[piece + 1] - levels[piece]), 0.0, 1.0)
        shift = self.tail * (np.minimum(u - levels[0], 0.0) + np.maximum(u - levels[-1], 0.0))
        return Place(piece, share, shift)

    def _predict(self, raw: FloatArray) -> FloatArray:
        """Probabilities of an event by each time; neighbours that rounding has put out of order become equal."""
        return np.asarray(self.link.inverse(np.maximum.accumulate(raw, axis=-1)))

    def _loss(self, raw: FloatArray, y: Target) -> FloatArray:
        loss, knots, target = self.at_times(y)
        return loss.of_rows(_taken(raw, knots), target)

    def _slope(self, raw: FloatArray, y: Target) -> FloatArray:
        loss, knots, target = self.at_times(y)
        assert isinstance(loss, CensoredLikelihood)
        slopes = loss._slope(_taken(raw, knots), target.astype(raw.dtype))
        grad, rows = np.zeros_like(raw), np.arange(raw.shape[-2])
        for copy, knot in enumerate(knots.T):
            grad[..., rows, knot] += slopes[..., copy]
        return grad

    def _start(self, y: Float64Array, weight: Float64Array, offset: Float64Array) -> ArrayLike:
        return self.start(y, weight)


class Place(NamedTuple):
    """Where times are among knots; ``shift`` is zero within them."""

    piece: NDArray[np.intp]
    share: Float64Array
    shift: Float64Array


def _lines(y: ArrayLike, weight: ArrayLike | None) -> tuple[Float64Array, Float64Array]:
    lines = np.asarray(y, np.float64)
    return lines, np.ones(len(lines)) if weight is None else np.asarray(weight, np.float64)


def _taken(raw: FloatArray, knots: NDArray[np.intp]) -> FloatArray:
    """Raw scores (..., rows, n) at the knots (rows, n) of each row."""
    return np.take_along_axis(raw, np.broadcast_to(knots, (*raw.shape[:-1], knots.shape[1])), axis=-1)


def _between(raw: FloatArray, y: Target, i: int) -> FloatArray:
    """Raw scores at the i-th time of each row."""
    share = y[..., 1 + 2 * i]
    return np.asarray((1 - share) * raw[..., 2 * i] + share * raw[..., 2 * i + 1] + y[..., 2 + 2 * i])


def _spread_(grad: FloatArray, slope: FloatArray, y: Target, i: int) -> None:
    """Add what a derivative at the i-th time is at the two knots around it."""
    share = y[..., 1 + 2 * i]
    grad[..., 2 * i] += (1 - share) * slope
    grad[..., 2 * i + 1] += share * slope


def _slope_of_log(slope: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slopes that are not too small for a logarithm, and what −log as its tangent adds for those that were."""
    steep = np.maximum(slope, slope.dtype.type(_SMALLEST_SLOPE))
    return steep, (steep - slope) / slope.dtype.type(_SMALLEST_SLOPE)
