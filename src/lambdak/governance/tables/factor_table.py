"""One finished table: what its rows stand for, the number of each, and what was seen there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from lambdak._checks import freeze_arrays
from lambdak._types import Float64Array
from lambdak.governance.tables.factors import Positions, Row
from lambdak.governance.tables.layout import Coded, Layout
from lambdak.governance.tables.subject import Subject
from lambdak.table.shown import Shown

SEEN = ("exposure", "observed", "expected", "model")


@final
@dataclass(frozen=True, eq=False, repr=False)
class FactorTable(Shown):
    """The table of one column, or of two together.

    Attributes
    ----------
    columns : tuple of str
        One name, or two.
    form : {"bands", "knots", "levels", "two-way"}
        Of knots, straight lines between them are meant (of the logarithm, if the tables are multiplied).
    sides : tuple of tuples of Row
        What the rows stand for; of two columns also what the columns of the table stand for.
    value : array of shape (n,) or (n, m)
        What is multiplied or added: relativities, amounts or points.
    raw : array of the same shape
        The same as part of the raw score: logarithms of relativities.
    exposure : array of the same shape
        Of the rows of X there, the sum of exposure and sample weight; NaN without X, as in what follows.
    observed, expected, model : array of the same shape
        Means of y per unit of exposure (of a quantile: that quantile of y), of what the tables predict, and of what the
        model does.
    sign : int
        1 if the value never falls from one band or knot to the next, −1 if it never rises, as the model promises.
    beyond : {"constant", "straight"}
        What follows beyond the first and the last knot.
    """

    columns: tuple[str, ...]
    form: str
    sides: tuple[tuple[Row, ...], ...]
    value: Float64Array
    raw: Float64Array
    exposure: Float64Array
    observed: Float64Array
    expected: Float64Array
    model: Float64Array
    sign: int = 0
    beyond: str = "constant"

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __str__(self) -> str:
        from lambdak.governance.tables.table_set import shown_table

        return shown_table(self, "value", {name: name for name in SEEN})

    @property
    def name(self) -> str:
        """Name of the column, or of both columns with × between them."""
        return " × ".join(self.columns)

    @property
    def labels(self) -> tuple[str, ...]:
        """Rows of the table in words; of two columns, those of the first."""
        return tuple(row.label for row in self.sides[0])

    def records(self, what: str) -> list[dict[str, Any]]:
        """One mapping for each row, or for each cell of two columns; ``what`` is the name of its value."""
        found = []
        for place in np.ndindex(self.value.shape):
            record: dict[str, Any] = {}
            for side, (column, at) in enumerate(zip(self.columns, place, strict=True)):
                row, prefix = self.sides[side][at], "" if side == 0 else "second_"
                record |= {f"{prefix}column": column, f"{prefix}row": row.label, f"{prefix}kind": row.kind}
                record |= {f"{prefix}low": row.low, f"{prefix}high": row.high, f"{prefix}level": row.level}
            record[what] = float(self.value[place])
            found.append(record | {name: float(getattr(self, name)[place]) for name in SEEN})
        return found


def make_tables(
    subject: Subject, layout: Layout, coded: Coded, raw: Float64Array, value: Float64Array, expected: Float64Array
) -> tuple[FactorTable, ...]:
    """All tables of a layout, with these parameters, and what the tables and the model predict of the rows of X."""
    seen = _seen(subject, layout, coded, expected)
    made = []
    for t, (own_raw, own_value) in enumerate(zip(layout.tables(raw), layout.tables(value), strict=True)):
        pair = (t,) if t < len(layout.factors) else layout.pairs[t - len(layout.factors)]
        factors = [layout.factors[i] for i in pair]
        shape = own_raw.shape
        made.append(
            FactorTable(
                columns=tuple(factor.column.name for factor in factors),
                form=factors[0].form if len(factors) == 1 else "two-way",
                sides=tuple(factor.rows for factor in factors),
                value=own_value.copy(),
                raw=own_raw.copy(),
                **{name: column_seen.reshape(shape) for name, column_seen in zip(SEEN, seen[t], strict=True)},
                sign=subject.signs.get(pair[0], 0) if len(pair) == 1 else 0,
                beyond="straight" if factors[0].form == "knots" and not factors[0].column.bounded else "constant",
            )
        )
    return tuple(made)


def _seen(subject: Subject, layout: Layout, coded: Coded, expected: Float64Array) -> list[list[Float64Array]]:
    """Exposure, and means of what was observed, expected and modelled, in the rows of each table."""
    sizes = [part.stop - part.start for part in layout.slices]
    if not subject.given:
        return [[np.full(size, np.nan) for _ in SEEN] for size in sizes]
    model = np.asarray(subject.readout.link.predictions(subject.raw))
    observed = np.full(len(model), np.nan) if subject.y is None else subject.y
    found = []
    for (ids, weights), size in zip(layout.entries(coded), sizes, strict=True):
        mass = np.clip(weights, 0.0, 1.0) * subject.weight[:, None]  # beyond the last knot a row is seen there
        total = np.asarray(np.bincount(ids.ravel(), mass.ravel(), size), np.float64)
        columns: list[Float64Array] = [total]
        for values in (observed, expected, model):
            sums = np.bincount(ids.ravel(), (mass * values[:, None]).ravel(), size)
            columns.append(np.where(total > 0, sums / np.where(total > 0, total, 1.0), np.nan))
        if subject.quantile_level is not None:
            columns[1] = _quantiles(ids, mass, observed, total, subject.quantile_level)
        found.append(columns)
    return found


def _quantiles(
    ids: Positions, mass: Float64Array, values: Float64Array, total: Float64Array, level: float
) -> Float64Array:
    """The weighted quantile of the values in each row of a table, (size,); NaN where there are none."""
    spread = np.repeat(values[:, None], ids.shape[1], axis=1).ravel()
    order = np.lexsort((spread, ids.ravel()))
    order = order[mass.ravel()[order] > 0]
    below = np.cumsum(mass.ravel()[order])
    begin = np.concatenate([[0.0], np.cumsum(total)[:-1]])
    at = np.minimum(np.searchsorted(below, begin + level * total), len(order) - 1)
    return np.where(total > 0, spread[order[at]], np.nan)
