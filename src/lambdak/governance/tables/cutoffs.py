r"""What scores separate: bad rates by score band, what a cut-off approves, KS and Gini, all with sample weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from lambdak._checks import check_int, freeze_arrays
from lambdak._types import Float64Array
from lambdak.table.band_words import band_words
from lambdak.table.frames import aligned, make_frame, number, percent
from lambdak.table.knots import are_whole
from lambdak.table.shown import Shown

MOST_BANDS = 1000


class Separation(NamedTuple):
    """How well scores tell good from bad.

    Attributes
    ----------
    ks : float
        The largest distance between the shares of bad and of good rows below a score.
    ks_score : float
        Where it is: the score from which on rows would be approved.
    gini : float
        2 AUC − 1; a tie counts half.
    """

    ks: float
    ks_score: float
    gini: float


def separation(score: Float64Array, bad: Float64Array, weight: Float64Array) -> Separation:
    """KS and Gini of scores, the higher the better; NaN where all rows are good, or all bad.

    >>> separation(np.array([1.0, 2.0, 2.0, 3.0]), np.array([1.0, 1.0, 0.0, 0.0]), np.ones(4))
    Separation(ks=0.5, ks_score=2.0, gini=0.75)
    """
    distinct, at = np.unique(score, return_inverse=True)
    share = weight / weight.max()
    bads, goods = (np.bincount(at, share * part, len(distinct)) for part in (bad, 1.0 - bad))
    if not (bads.sum() > 0 and goods.sum() > 0):
        return Separation(np.nan, np.nan, np.nan)
    bads, goods = bads / bads.sum(), goods / goods.sum()
    below_bad, below_good = (np.concatenate([[0.0], np.cumsum(counts)[:-1]]) for counts in (bads, goods))
    apart = below_bad - below_good
    best = int(apart.argmax())
    area = float(goods @ (below_bad + bads / 2))
    return Separation(float(apart[best]), float(distinct[best]), 2 * area - 1)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Cutoffs(Shown):
    """Score bands, the best first, and what a cut-off at the lower end of each would do.

    Attributes
    ----------
    low, high : arrays of shape (bands,)
        A band holds scores from ``low`` to below ``high``; infinite at the two ends.
    count, bad : arrays of shape (bands,)
        Rows and bad rows, by their sample weights.
    bad_rate : array of shape (bands,)
        Share of bad rows in the band.
    approval_rate : array of shape (bands,)
        Share of all rows with a score of at least ``low``.
    approved_bad_rate : array of shape (bands,)
        Share of bad rows among these.
    bad_declined : array of shape (bands,)
        Share of all bad rows that are below ``low``.
    ks, ks_score, gini : float
        See :func:`separation`.
    model_gini : float
        Gini of the model itself; NaN of rows that only the scorecard was given.
    whole : bool
        Whether all scores are whole numbers.
    """

    low: Float64Array
    high: Float64Array
    count: Float64Array
    bad: Float64Array
    bad_rate: Float64Array
    approval_rate: Float64Array
    approved_bad_rate: Float64Array
    bad_declined: Float64Array
    ks: float
    ks_score: float
    gini: float
    model_gini: float
    whole: bool = False
    _like: Any = field(repr=False, default=None)

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def records(self) -> list[dict[str, float]]:
        """One mapping for each score band."""
        names = ("low", "high", "count", "bad", "bad_rate", "approval_rate", "approved_bad_rate", "bad_declined")
        return [{name: float(getattr(self, name)[i]) for name in names} for i in range(len(self.low))]

    def to_frame(self) -> Any:
        """One line for each score band, in a frame of the library that X came from."""
        records = self.records()
        return make_frame({name: [record[name] for record in records] for name in records[0]}, self._like)

    def labels(self) -> list[str]:
        """The bands in words."""
        ends = [[None if np.isinf(end) else end for end in ends.tolist()] for ends in (self.low, self.high)]

        return [band_words(low, high, self.whole) for low, high in zip(*ends, strict=True)]

    def __str__(self) -> str:
        head = ["score", "rows", "bad rate", "approved", "bad rate of approved", "bad declined"]
        names = ("count", "bad_rate", "approval_rate", "approved_bad_rate", "bad_declined")
        rows = [
            [label, *(_shown(name, record[name]) for name in names)]
            for label, record in zip(self.labels(), self.records(), strict=True)
        ]
        return "\n".join(aligned([head, *rows]))

    def plot(self, ax: Any = None) -> Any:
        """Bad rate of each band and the share that is approved from there on; returns the Axes."""
        from lambdak.governance.tables.plots import draw_cutoffs

        return draw_cutoffs(self, ax)


def _shown(name: str, value: float) -> str:
    return number(value) if name == "count" else percent(value)


def make_cutoffs(
    score: Float64Array, model: Float64Array | None, bad: Float64Array, weight: Float64Array, most: int, like: Any
) -> Cutoffs:
    """At most ``most`` bands of about equally many rows, that end at scores which occur."""
    check_int(most, "score_bands", 1, MOST_BANDS)
    ends = np.unique(_quantiles(score, weight, np.arange(1, most) / most))
    ends = ends[ends > score.min()]
    band = len(ends) - np.searchsorted(ends, score, side="right")  # the best first
    count, bads = (np.bincount(band, weights, len(ends) + 1) for weights in (weight, weight * bad))
    above, bad_above = np.cumsum(count), np.cumsum(bads)
    with np.errstate(divide="ignore", invalid="ignore"):
        separated = separation(score, bad, weight)
        return Cutoffs(
            low=np.append(ends[::-1], -np.inf),
            high=np.append(np.inf, ends[::-1]),
            count=np.asarray(count, np.float64),
            bad=np.asarray(bads, np.float64),
            bad_rate=np.asarray(bads / count),
            approval_rate=np.asarray(above / above[-1]),
            approved_bad_rate=np.asarray(bad_above / above),
            bad_declined=np.asarray(1.0 - bad_above / bad_above[-1]),
            ks=separated.ks,
            ks_score=separated.ks_score,
            gini=separated.gini,
            model_gini=np.nan if model is None else separation(model, bad, weight).gini,
            whole=are_whole(score),
            _like=like,
        )


def _quantiles(values: Float64Array, weight: Float64Array, levels: Float64Array) -> Float64Array:
    """Values that occur, with at least these shares of the weight at or below them."""
    order = np.argsort(values)
    total = np.cumsum(weight[order])
    return np.asarray(values[order][np.searchsorted(total, levels * total[-1])])
