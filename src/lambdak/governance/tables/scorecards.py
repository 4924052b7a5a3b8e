r"""A classifier of two classes as a scorecard: whole points that are added up, and how far they are from the model.

score = offset + factor · log(odds of good to bad), factor = pdo / log 2, offset = base_score − factor · log(base_odds).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from lambdak._checks import check_int, check_positive
from lambdak._types import Float64Array
from lambdak.governance.tables.cutoffs import MOST_BANDS, Cutoffs, make_cutoffs
from lambdak.governance.tables.deviation import deviation
from lambdak.governance.tables.factor_table import FactorTable, make_tables
from lambdak.governance.tables.layout import Coded, Layout
from lambdak.governance.tables.making import BandsWanted, fit_tables, make_layout, observed_deviation
from lambdak.governance.tables.subject import Subject, known_classes, read_subject
from lambdak.governance.tables.table_set import TableSet
from lambdak.model import Model
from lambdak.model.outward import upwards
from lambdak.pencil.definite import UNIT
from lambdak.table.frames import emptied, number
from lambdak.table.rows import read_rows
from lambdak.table.visible import visible
from lambdak.table.whole_columns import Wholes

_GOOD = ("good", "paid", "repaid", "no default", "non-default")
_BAD = ("bad", "default", "defaulted", "fraud")


class Scale(NamedTuple):
    """How scores come from odds of good to bad.

    Attributes
    ----------
    pdo : float
        Points that double the odds.
    base_score, base_odds : float
        The score of these odds.
    good, bad : object
        The two classes.
    """

    pdo: float
    base_score: float
    base_odds: float
    good: Any
    bad: Any

    @property
    def factor(self) -> float:
        """Points per unit of log-odds."""
        return self.pdo / math.log(2.0)

    @property
    def offset(self) -> float:
        """The score of odds of one to one."""
        return self.base_score - self.factor * math.log(self.base_odds)

    def plain(self) -> dict[str, Any]:
        """Settings of the scale as plain data, with the factor and offset that follow from them."""
        settings = {"pdo": self.pdo, "base_score": self.base_score, "base_odds": self.base_odds}
        return {**settings, "factor": self.factor, "offset": self.offset, "good": str(self.good), "bad": str(self.bad)}


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Scorecard(TableSet):
    """A classifier of two classes as a scorecard. Immutable; print it to read it.

    In its tables ``observed``, ``expected`` and ``model`` are bad rates. ``deviation`` is in log-odds.

    Attributes
    ----------
    scale : Scale
        How scores come from odds, and which class is good.
    proven_points : float
        For every possible row the score is at most so many points from that of the model, rounding to whole points
        included: offset + factor · log-odds of the model.
    cutoffs : Cutoffs or None
        Score bands with their bad rates, KS and Gini; None without X and y.
    """

    scale: Scale
    proven_points: float
    cutoffs: Cutoffs | None = field(repr=False, default=None)

    what = "points"
    titles: ClassVar[Mapping[str, str]] = {
        "exposure": "rows",
        "observed": "bad rate",
        "expected": "expected",
        "model": "model",
    }

    def predict(self, X: Any) -> Float64Array:
        """Scores of the rows of X, (rows,): the base points and those of every table."""
        values = self.combined(X)
        total = np.full(len(values[0]), self.base)
        for points in values:
            total = total + points
        return total

    def bad_probability(self, X: Any) -> Float64Array:
        """The probability of the bad class that the scores stand for, (rows,)."""
        return np.asarray(1.0 / (1.0 + np.exp((self.predict(X) - self.scale.offset) / self.scale.factor)))

    def evaluate(
        self, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None, score_bands: int = 10
    ) -> Cutoffs:
        """Cut-offs, KS and Gini of the scores on other rows, such as those that neither fit nor points have seen."""
        rows = read_rows(X, y, sample_weight)
        rows.counted()
        bad = known_classes(np.array([self.scale.good, self.scale.bad], object), rows.target)
        return make_cutoffs(self.predict(X), None, bad.astype(np.float64), rows.mass, score_bands, emptied(X))

    def comparable(self, table: FactorTable) -> dict[str, Float64Array]:
        """What was observed and expected in a table as points, with the mean of the table."""
        found = {}
        with np.errstate(divide="ignore", invalid="ignore"):
            for name in ("expected", "observed"):
                rate = getattr(table, name)
                found[name] = np.log((1.0 - rate) / rate) * self.scale.factor
        return self._level(table, found, table.value)

    def heading(self) -> list[str]:
        """What the scorecard is and how far it is from the model, in sentences."""
        proof, scale = self.deviation, self.scale
        good, bad = (visible(repr(each)) for each in (scale.good, scale.bad))
        seen, mean = (upwards(scale.factor * each) if self.rows else "" for each in (proof.observed, proof.mean))
        lines = [
            f"Scorecard: good is {good}, bad is {bad}; a higher score is better",
            f"  score = {number(self.base)} + the points of each of {len(self.tables)} tables",
            f"  {number(scale.base_score)} points are {number(scale.base_odds)} good for one bad; "
            f"{number(scale.pdo)} points more double the odds",
            *([f"  observed, on {self.rows:,} rows: at most {seen} points, {mean} in the mean"] if self.rows else ()),
            f"  proven, for every possible row{self._limits()}: the score is at most {upwards(self.proven_points)} "
            f"points from the model's ({upwards(proof.proven)} in log-odds)",
            f"  ({proof.how}; the worst row that was found: {upwards(scale.factor * proof.attained)} points)",
        ]
        if self.cutoffs is not None and not np.isnan(self.cutoffs.ks):
            lines.append(
                f"  KS {self.cutoffs.ks:.3f} at a score of {number(self.cutoffs.ks_score)}, Gini "
                f"{self.cutoffs.gini:.3f} (of the model itself {self.cutoffs.model_gini:.3f})"
            )
        return lines

    def __str__(self) -> str:
        last = "" if self.cutoffs is None else f"\n\nCut-offs\n{self.cutoffs}"
        return super().__str__() + last

    def head(self) -> dict[str, Any]:
        """What a reader of the JSON document needs beside the tables."""
        return {"output": self.output, "base": self.base, "combine": "add", "link": "points", "rows": self.rows,
                "scale": self.scale.plain()}  # fmt: skip

    def summary(self) -> dict[str, Any]:
        """The base points, the scale, the deviation from the model, and what the scores separate."""
        cuts = self.cutoffs
        separates = {} if cuts is None else {"KS": cuts.ks, "Gini": cuts.gini, "Gini of the model": cuts.model_gini}
        points = {"proven deviation in points": self.proven_points}
        return {"base points": self.base, **self.scale.plain(), **points, **self._deviations(), **separates}

    def sheets(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """Sheets of the workbook beside the points: the cut-offs, if there are any."""
        return [] if self.cutoffs is None else [("Cut-offs", self.cutoffs.records())]


def scorecard(
    model: Model,
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    pdo: float = 20,
    base_score: float = 600,
    base_odds: float = 50,
    good: Any = None,
    sample_weight: ArrayLike | None = None,
    bands: BandsWanted = 10,
    whole: Wholes = None,
    rounded: bool = True,
    score_bands: int = 10,
    time_limit: float = 10.0,
) -> Scorecard:
    """The scorecard that is closest to a classifier of two classes, and how far it can be from it.

    Parameters
    ----------
    model
        The ``model_`` of a fitted classifier.
    X : table, optional
        Rows that say which combinations of cells matter; see :func:`lambdak.governance.tables.relativities`.
    y : array, optional
        Their classes, for bad rates, cut-offs, KS and Gini.
    pdo : float
        Points that double the odds of good to bad.
    base_score, base_odds : float
        The score of a row with these odds: 600 points are 50 good for one bad.
    good : class label, optional
        The class that a high score stands for. By default one that is called "good", or is not called "bad" or
        "default" where the other one is; of all others the first class, as the second one, such as 1 or True, is the
        event that the model was fitted to predict. The print says which it is.
    sample_weight : array, optional
        How often each row counts.
    bands : int or mapping
        Most bands of a column of numbers, or where they end; see :func:`lambdak.governance.tables.relativities`.
    whole : names of columns, optional
        Columns that hold whole numbers only: the proof is then about these, and closer. None are those that held no
        others in training.
    rounded : bool
        Whether points are whole numbers. The proof is about these.
    score_bands : int
        Most score bands of the cut-off table.
    time_limit : float
        Seconds for the proof.
    """
    scale = _scale(model, pdo, base_score, base_odds, good)
    check_positive(time_limit, "time_limit")
    check_int(score_bands, "score_bands", 1, MOST_BANDS)
    subject = read_subject(model, X, y, None, sample_weight, scale.good)
    layout, coded, values = fit_tables(subject, make_layout(subject, "bands", bands, whole), 0)
    points = _points(subject, layout, coded, values, scale, rounded)
    raw = points / scale.factor
    raw[0] = (points[0] - scale.offset) / scale.factor
    found = _result(subject, layout, coded, (raw, points), scale, time_limit, X)
    if subject.y is None or X is None:
        return found
    made = make_cutoffs(found.predict(X), subject.raw, 1.0 - subject.y, subject.weight, score_bands, emptied(X))
    return replace(found, cutoffs=made)


def _scale(model: Model, pdo: float, base_score: float, base_odds: float, good: Any) -> Scale:
    if model.classes is None or len(model.classes) != 2:
        got, way = (
            ("a model that predicts numbers", "use relativities, or fit y >= threshold")
            if model.classes is None
            else (
                f"{len(model.classes)} classes",
                f"fit a classifier of two, such as y == {model.classes.tolist()[0]!r}",
            )
        )
        raise ValueError(f"a scorecard needs a classifier of two classes; got {got}: {way}")
    labels = model.classes.tolist()
    if good is not None and good not in labels:
        raise ValueError(f"good must be one of the classes {labels}; got {good!r}")
    good_class = _good_class(labels) if good is None else labels[labels.index(good)]
    if isinstance(base_score, str) or not math.isfinite(base_score):
        raise ValueError(f"base_score must be a finite number; got {base_score!r}")
    score = float(base_score)
    bad = labels[1 - labels.index(good_class)]
    return Scale(check_positive(pdo, "pdo"), score, check_positive(base_odds, "base_odds"), good_class, bad)


def _good_class(labels: Sequence[Any]) -> Any:
    """The class that is called good, or the other one of one that is called bad; otherwise the first."""
    words = [str(label).strip().lower() for label in labels]
    if words[1] in _GOOD or words[0] in _BAD:
        return labels[1]
    return labels[0]


def _points(
    subject: Subject, layout: Layout, coded: Coded, values: Float64Array, scale: Scale, rounded: bool
) -> Float64Array:
    """Base points, and points of all rows of the tables: the worst row of each has none."""
    points = values * scale.factor
    points[0] += scale.offset
    for table in layout.tables(points):
        lowest = table.min()
        table -= lowest
        points[0] += lowest
    if not rounded:
        return points
    found = np.rint(points)
    mean = subject.share @ (layout.matrix(coded) @ (points - found)) / subject.share.sum()
    found[0] = np.rint(found[0] + mean)
    return found


def _result(
    subject: Subject, layout: Layout, coded: Coded, made: tuple[Float64Array, Float64Array], scale: Scale,
    time_limit: float, X: Any,
) -> Scorecard:  # fmt: skip
    raw, points = made
    raw_of_tables = layout.matrix(coded) @ raw
    proof = deviation(subject.readout, layout, raw, observed_deviation(subject, raw_of_tables), time_limit)
    tables = make_tables(subject, layout, coded, raw, points, subject.readout.link.predictions(raw_of_tables))
    rates = [replace(t, **{name: 1.0 - getattr(t, name) for name in ("observed", "expected", "model")}) for t in tables]
    size = float(sum(np.abs(t).max() for t in layout.tables(points))) + abs(points[0]) + abs(scale.offset)
    return Scorecard(
        output=f"the score: high if {scale.good!r} is likely",
        base=float(points[0]),
        tables=tuple(rates),
        deviation=proof,
        rows=len(coded) if subject.given else 0,
        _layout=layout,
        _like=emptied(X),
        scale=scale,
        proven_points=scale.factor * proof.proven * (1 + 8 * UNIT) + 16 * UNIT * size,
    )
