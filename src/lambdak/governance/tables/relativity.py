r"""A model as factor tables: a base rate, and one number of each table to multiply it with; or amounts to add.

At dim 1 a model is additive and the tables can be exact; otherwise they are the best there are, with a proof of how far
they can be from the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from lambdak._checks import check_int, check_positive
from lambdak._types import Float64Array
from lambdak.governance.tables.additive import first_fall
from lambdak.governance.tables.deviation import deviation
from lambdak.governance.tables.factor_table import FactorTable, make_tables
from lambdak.governance.tables.layout import Coded, Layout, values_at
from lambdak.governance.tables.making import BandsWanted, fit_tables, make_layout, observed_deviation
from lambdak.governance.tables.subject import Subject, read_subject
from lambdak.governance.tables.table_set import MOST, TableSet, amount_sentence, factor_sentence
from lambdak.losses import Link
from lambdak.losses.links import EXPONENT_LIMIT, IDENTITY, LOG, LOGIT
from lambdak.model import Model
from lambdak.model.outward import upwards
from lambdak.shapes import Anchored
from lambdak.table.cells import Cells
from lambdak.table.frames import emptied, number
from lambdak.table.whole_columns import Wholes

BASES = ("largest", "mean")


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Relativities(TableSet):
    """A model as factor tables. Immutable; print it to read it.

    With a log link a prediction is ``base`` times one relativity of each table; with a logit link these are odds, and
    the prediction is the probability odds / (1 + odds); with an identity link amounts are added to ``base``.

    Attributes
    ----------
    link : Link
        How predictions come from the sum of raw values.
    """

    link: Link

    what = "relativity"

    @property
    def value_name(self) -> str:
        """The name of a table's value: relativity, odds_relativity or amount."""
        if self.link.free is IDENTITY:
            return "amount"
        return "relativity" if self.link.free is LOG else "odds_relativity"

    def predict(self, X: Any) -> Float64Array:
        """What the tables alone predict of the rows of X, (rows,): as somebody computes it who has nothing else."""
        values = self.combined(X)
        if self.link.free is IDENTITY:
            return self.link.limited(np.asarray(sum(values, np.full(len(values[0]), self.base))))
        total = _product(self.base, values)
        if self.link.free is LOG:
            return self.link.limited(np.minimum(total, np.exp(EXPONENT_LIMIT)))
        with np.errstate(over="ignore", divide="ignore"):  # odds of zero are the probability 0
            return self.link.limited(1.0 / (1.0 + 1.0 / total))

    def raw(self, X: Any) -> Float64Array:
        """The tables' raw score of the rows of X, (rows,): what is proven to be close to the model's."""
        coded = self._layout.code(X)
        total = np.full(len(coded), self.base if self.link.free is IDENTITY else np.log(self.base))
        for table, (ids, weights) in zip(self.tables, self._layout.entries(coded), strict=True):
            total = total + values_at(table.raw.ravel(), ids, weights)
        return total

    def comparable(self, table: FactorTable) -> dict[str, Float64Array]:
        """What was observed and expected in a table, in units of its values, with the mean of the table."""
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = {name: getattr(table, name) for name in ("expected", "observed")}
            if self.link.free is IDENTITY:
                return self._level(table, rates, table.raw)
            odds = {name: own / (1.0 - own) if self.link.free is LOGIT else own for name, own in rates.items()}
            seen = self._level(table, {name: np.log(own) for name, own in odds.items()}, table.raw)
        return {name: np.exp(own) for name, own in seen.items()}

    def _values_of(self, raw: Float64Array) -> Float64Array:
        return raw if self.link.free is IDENTITY else np.asarray(np.exp(raw))

    def heading(self) -> list[str]:
        """What the tables are and how far they are from the model, in sentences."""
        own, noun = self.deviation, "odds" if self.link.free is LOGIT else "prediction"
        sentence = amount_sentence if self.link.free is IDENTITY else factor_sentence
        worst, apart = (
            upwards(each) if self.link.free is IDENTITY else f"a factor of {upwards(math.exp(min(each, MOST)))}"
            for each in (own.attained, own.observed if self.rows else 0.0)
        )
        lines = [
            f"Factor tables of {self.output}",
            f"  {noun} = {number(self.base)} {'+ the amount' if self.link.free is IDENTITY else '× the relativity'} "
            f"of each of {len(self.tables)} tables",
            *self._seen(apart),
            f"  proven, for every possible row{self._limits()}: {sentence(own.above, own.below, noun)}",
            f"  ({own.how}; the worst row that was found: {worst})",
        ]
        if not self.link.is_free:
            ends = {"below": self.link.low, "above": self.link.high}
            limits = " or ".join(f"{side} {number(end)}" for side, end in ends.items() if math.isfinite(end))
            lines.append(f"  a prediction {limits} becomes that")
        return lines

    def _seen(self, apart: str) -> list[str]:
        """What the rows of X show, which comes before what no row can exceed."""
        if not self.rows:
            return []
        mean = self.deviation.mean
        words = upwards(mean, 3) if self.link.free is IDENTITY else f"{upwards(100 * math.expm1(mean), 3)} %"
        return [f"  observed, on {self.rows:,} rows: at most {apart} above or below, {words} in the mean"]

    def head(self) -> dict[str, Any]:
        """What a reader of the JSON document needs beside the tables."""
        combine = "add" if self.link.free is IDENTITY else "multiply"
        head = {"output": self.output, "base": self.base, "combine": combine, "link": self.link.name, "rows": self.rows}
        ends = {"low": self.link.low, "high": self.link.high}
        return head | {name: end for name, end in ends.items() if math.isfinite(end)}

    def summary(self) -> dict[str, Any]:
        """The base, how the tables are combined, and the deviation from the model."""
        return {**self.head(), **self._deviations()}


def _product(base: float, factors: Sequence[Float64Array]) -> Float64Array:
    """The base times all factors; a product of some of them may be larger than any float, or smaller."""
    share, power = np.frexp(np.full(len(factors[0]), base))
    for own in factors:
        more, by = np.frexp(own)
        share, carried = np.frexp(share * more)
        power = power + by + carried
    with np.errstate(over="ignore"):
        return np.asarray(np.ldexp(share, power))


def relativities(
    model: Model,
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    exposure: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    form: str = "bands",
    bands: BandsWanted = 10,
    two_way: Any = 0,
    whole: Wholes = None,
    base: str = "largest",
    decimals: int | None = None,
    output: Any = None,
    time_limit: float = 10.0,
) -> Relativities:
    """The factor tables of a model that are closest to it, and how far they can be from it.

    Parameters
    ----------
    model
        The ``model_`` of a fitted estimator.
    X : table, optional
        Rows that say which combinations of cells matter: the tables predict the same total as the model in every row
        of the table of a column, unless it must rise. Without it, cells are drawn independently from the knots and
        levels of training.
    y : array, optional
        What was observed there, to be shown beside: totals of each row if there is an ``exposure``.
    exposure : array, optional
        Years at risk and the like, for models with a log link: prediction times exposure is what y is compared with.
    sample_weight : array, optional
        How often each row counts.
    form : {"bands", "interpolated"}
        Bands are constant, as in a usual tariff. Interpolated tables have the model's own knots and straight lines
        between, of logarithms if they are multiplied: exact at dim 1.
    bands : int or mapping
        Most bands of a column of numbers; bands end at knots, and a curve that is nearly constant has fewer. Or a
        mapping from columns to such a number, or to the numbers at which bands end.
    two_way : int or list of pairs of names
        How many tables of two columns to add, those that bring the tables closest to the model; or which ones.
    whole : names of columns, optional
        Columns that hold whole numbers only, such as ages: the proof is then about these, and closer for bands, which
        are called 18–24. None are those that held no others in training.
    base : {"largest", "mean"}
        Which row of a table has the relativity 1 (the amount 0): the one with most exposure, or none, and the mean has.
        With "largest" it is the cell at which a column is ``Anchored``, if it has one.
    decimals : int, optional
        Digits behind the point that relativities or amounts are rounded to. The proof is about the rounded ones.
    output : class label or quantile level, optional
        Which output, if the model has several.
    time_limit : float
        Seconds for the proof. A longer search may prove a smaller deviation, never a larger one.
    """
    if base not in BASES:
        raise ValueError(f"base must be one of {', '.join(map(repr, BASES))}; got {base!r}")
    check_positive(time_limit, "time_limit")
    digits = None if decimals is None else check_int(decimals, "decimals", 0, 16)
    subject = read_subject(model, X, y, exposure, sample_weight, output)
    layout, coded, values = fit_tables(subject, make_layout(subject, form, bands, whole), two_way)
    raw, value = _rounded(subject.readout.link, layout, _based(subject, layout, coded, values, base), digits)
    _check_monotone(layout, raw, subject.signs)
    return _result(subject, layout, coded, raw, value, time_limit, X)


def _result(
    subject: Subject, layout: Layout, coded: Coded, raw: Float64Array, value: Float64Array, time_limit: float, X: Any
) -> Relativities:
    own = layout.matrix(coded) @ raw
    seen = observed_deviation(subject, own)
    expected = np.asarray(subject.readout.link.predictions(own))
    return Relativities(
        output=subject.name,
        base=float(value[0]),
        tables=make_tables(subject, layout, coded, raw, value, expected),
        deviation=deviation(subject.readout, layout, raw, seen, time_limit),
        rows=len(coded) if subject.given else 0,
        _layout=layout,
        _like=emptied(X),
        link=subject.readout.link,
    )


def _based(subject: Subject, layout: Layout, coded: Coded, values: Float64Array, base: str) -> Float64Array:
    """Parameters of tables with another base: constants move from the tables to it."""
    found, anchors = values.copy(), _anchors(subject, layout)
    mass = np.asarray(layout.matrix(coded).T @ subject.share)
    for t, (own, heavy) in enumerate(zip(layout.tables(found), layout.tables(mass), strict=True)):
        if base == "mean" and t < len(layout.factors):
            shift = float(np.average(own, weights=heavy))
        else:
            place = [anchors.get(i, int(layout.tables(mass)[i].argmax())) for i in _columns(layout, t)]
            shift = float(own[tuple(place)])
        own -= shift
        found[0] += shift
    return found


def _anchors(subject: Subject, layout: Layout) -> dict[int, int]:
    """Position of each anchored column → the row of its table that has the cell at which it adds nothing."""
    found = {}
    for own in subject.model.promises.of(Anchored):
        factor = layout.factors[own.positions[0]]
        cell = Cells(factor.column.name, np.array([own.cell], object), "text")
        if factor.column.is_number:
            cell = Cells(factor.column.name, np.array([np.nan if own.number is None else own.number]), "number")
        ids, weights = factor.entries(cell)
        if weights.max() == 1.0:
            found[own.positions[0]] = int(ids[0, weights[0].argmax()])
    return found


def _columns(layout: Layout, table: int) -> tuple[int, ...]:
    return (table,) if table < len(layout.factors) else layout.pairs[table - len(layout.factors)]


def _rounded(
    link: Link, layout: Layout, values: Float64Array, decimals: int | None
) -> tuple[Float64Array, Float64Array]:
    """Parts of the raw score, and what is shown: the base, and relativities or amounts, rounded if requested."""
    raw = values.copy()
    with np.errstate(over="ignore"):
        shown = raw.copy() if link.free is IDENTITY else np.exp(raw)
    if decimals is not None:
        shown[1:] = np.round(shown[1:], decimals)
    if link.free is not IDENTITY:
        _check_factors("the base", shown[:1], raw[:1], None)
        for table, own in enumerate(layout.slices):
            name = " × ".join(layout.factors[i].column.name for i in _columns(layout, table))
            _check_factors(f"a relativity of {name!r}", shown[own], raw[own], decimals)
    if decimals is not None:
        raw[1:] = shown[1:] if link.free is IDENTITY else np.log(shown[1:])
    return raw, shown


def _check_factors(what: str, shown: Float64Array, raw: Float64Array, decimals: int | None) -> None:
    """Refuse factors that are zero, infinite, or so small that they have lost digits."""
    bad = ~((shown >= np.finfo(np.float64).tiny) & np.isfinite(shown))
    if not bad.any():
        return
    size = float(raw[bad][0])
    if decimals is not None and size > -MOST:
        raise ValueError(f"decimals={decimals} would round {what} to 0: use more decimals")
    raise ValueError(
        f"{what} has the logarithm {size:.4g}, beyond what float64 holds: the model itself predicts numbers of such "
        "sizes, so divide y by its mean and fit again"
    )


def _check_monotone(layout: Layout, raw: Float64Array, signs: Mapping[int, int]) -> None:
    """Refuse rounding that breaks what the model promises: that of two tables which are combined."""
    column = first_fall(layout, raw, signs)
    if column is not None:
        name = layout.factors[column].column.name
        raise ValueError(
            f"rounded to these decimals, the tables of {name!r} together are not monotone: use more decimals, or a "
            "two_way without this column"
        )
