"""Scores of shared models over some of their columns, and grids of their rows."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

from lambdak.model.readout import readouts
from lambdak.optimize.axes import make_axis
from lambdak.optimize.scores import restrict
from lambdak.table.category_levels import OTHER

NUMBERS = ("income", "age")


def typical_row(model):
    """Medians and first levels."""
    columns = model.model_.encoder.columns
    return {own.name: own.median if own.is_number else own.levels[0] for own in columns}


def score_of(model, free, output=0, sign=1):
    """A raw score over free columns, all others typical; with sign -1 its negative."""
    columns = {own.name: own for own in model.model_.encoder.columns}
    axes = [make_axis([columns[name]], None, False) for name in free]
    score = restrict(model.model_, readouts(model.model_)[output], axes, typical_row(model))
    return score if sign > 0 else score.negative()


def grid_of(model, free, steps, row=None):
    """All combinations of knots, of numbers evenly between, and of levels, as a table."""
    base = {**typical_row(model), **(row or {})}
    columns = {own.name: own for own in model.model_.encoder.columns}
    axes = [_cells(columns[name], steps) for name in free]
    table = pd.DataFrame(list(itertools.product(*axes)), columns=list(free))
    for name in columns:
        if name not in free:
            table[name] = [base[name]] * len(table)
    return table[list(columns)]


def _cells(column, steps):
    if not column.is_number:
        return [level for level in column.levels if level is not None and level is not OTHER]
    return np.unique([*column.nodes(), *np.linspace(column.low, column.high, steps)]).tolist()
