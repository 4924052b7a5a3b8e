"""What the columns of a model do, for the report: their importance, effects in a few numbers, and pairs of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse import issparse

from lambdak._types import Float64Array
from lambdak.explain.column_effect import ColumnEffect, column_effect
from lambdak.explain.interactions import h_statistics
from lambdak.explain.promised import with_promises
from lambdak.explain.rows import baseline_row
from lambdak.model import Model
from lambdak.model.influence import strengths
from lambdak.model.readout import Readout, dense_rows, readouts
from lambdak.pencil.exact import DOUBTS, Work
from lambdak.table.design import Design
from lambdak.table.rows import spread_rows

MOST_COLUMNS = 12  # that are shown at once; the others are folded
_EFFECT_ROWS = 100  # that effects in words are averaged over
_EFFECT_POINTS = 5
_PAIR_ROWS = 300
_MOST_OUTPUTS = 6  # classes or quantiles whose pairs of columns are looked at


@dataclass(frozen=True, eq=False)
class Behaviour:
    """What the columns of a model do: bounds and means of their effects, curves, and pairs.

    Attributes
    ----------
    proven, mean : arrays of shape (columns,)
        What a change of the column can do to a raw score at most, and the mean absolute effect over the data; the
        latter is None if there are no data.
    order : tuple of int
        Columns by their influence, the strongest first; those that only name rows last.
    output : str
        What the effects are about.
    effects : dict
        Of the first columns, by their position.
    pairs : dict
        Of two of the first columns, by their positions: what their joint effect adds to the sum of their single
        effects, in units of the raw score (root mean square over the data, mean over outputs). Empty without data.
    """

    proven: Float64Array
    mean: Float64Array | None
    order: tuple[int, ...]
    output: str
    effects: dict[int, ColumnEffect]
    pairs: dict[tuple[int, int], float]

    @property
    def first(self) -> tuple[int, ...]:
        """The columns that are shown at once: the strongest of those that do something, if any does."""
        return tuple(self.effects)

    @property
    def idle(self) -> tuple[int, ...]:
        """The columns that do nothing, whatever they hold."""
        return tuple(i for i in self.order if not self.proven[i] > 0)


def behaviour(model: Model, X: Any, identifiers: list[int], mean: Float64Array | None) -> Behaviour:
    """Return what the columns do on the rows of X, which may be None; ``mean`` are their mean effects."""
    outputs, proven = readouts(model), strengths(model)
    design = None if X is None else _design(model, X)
    size = proven if mean is None else mean
    last = set(identifiers)
    order = tuple(sorted(range(len(size)), key=lambda i: (i in last, not proven[i] > 0, -size[i], -proven[i])))
    middle = outputs[0 if model.loss.link.joint else len(outputs) // 2]
    rows = baseline_row(middle) if design is None else design.take(spread_rows(len(design), _EFFECT_ROWS))
    first = [i for i in order[:MOST_COLUMNS] if proven[i] > 0] or list(order[:1])
    work = Work(DOUBTS)
    plain = {i: column_effect(middle, rows, i, most=_EFFECT_POINTS, work=work) for i in first}
    effects = {i: with_promises(effect, model, middle, i) for i, effect in plain.items()}
    used = [i for i in first if i not in last]
    pairs = {} if design is None or model.dim == 1 else _pairs(outputs, design, used)
    return Behaviour(proven, mean, order, middle.name, effects, pairs)


def _design(model: Model, X: Any) -> Design:
    """Return all rows of a table, encoded; of a sparse one some, in the layout of dense ones."""
    dense = dense_rows(X.tocsr()[spread_rows(X.shape[0], _PAIR_ROWS)]) if issparse(X) else X
    return model.encoder.transform(dense, np.float64)


def _pairs(outputs: tuple[Readout, ...], design: Design, columns: list[int]) -> dict[tuple[int, int], float]:
    """What pairs of columns do together, mean over outputs."""
    some = design.take(spread_rows(len(design), _PAIR_ROWS))
    both = list(combinations(sorted(columns), 2))
    chosen = [outputs[i] for i in spread_rows(len(outputs), _MOST_OUTPUTS).tolist()]
    statistics = [h_statistics(readout, some, both) for readout in chosen]
    return {pair: float(np.mean([of_output[pair][0] for of_output in statistics])) for pair in both}
