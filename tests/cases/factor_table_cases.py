"""Rows to attack factor tables with, and a reader of their JSON that knows nothing else."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from fitted_models import fitted

ONE_OUTPUT = ["regressor", "free", "capped", "linear", "additive", "single", "poisson", "binary", "sparse", "wide"]
OUTPUTS = {"quantiles": 0.5, "ordinal": 1, "one quantile": None}
UNCLAMPED = ["convex", "concave", "straight"]


def extreme_rows(kind, rows=2000, seed=0):
    """Rows with cells from everywhere: knots and their neighbours, numbers far beyond, missing cells, unseen levels."""
    rng = np.random.default_rng(seed)
    columns = fitted(kind).model_.encoder.columns
    drawn = {column.name: _cells(column, kind in UNCLAMPED, rows, rng) for column in columns}
    return pd.DataFrame(drawn) if fitted(kind).model_.encoder.from_names else np.array(list(drawn.values()), float).T


def _cells(column, within, rows, rng):
    if not column.is_number:
        known = [level for level in column.levels if level is None or isinstance(level, str)]
        return rng.choice(np.array([*known, None, "never seen", "= 1"], object), rows)
    low, high = column.low, column.high
    nodes = column.nodes()
    beyond = [] if within else [low - 1.0, high + 1.0, low - 1e9, high + 1e9]
    cells = np.concatenate([nodes, np.nextafter(nodes[1:], -np.inf), rng.uniform(low, high, 64), beyond, [np.nan]])
    return rng.choice(cells, rows)


def at_edges(tables, rows, seed=0):
    """The same rows with every second number moved to the end of a band, or next to it."""
    rng, moved = np.random.default_rng(seed), rows.copy()
    for table in tables:
        if table.form != "bands":
            continue
        ends = [row.low for row in table.sides[0] if row.low is not None]
        if ends and isinstance(moved, pd.DataFrame):
            near = np.concatenate([ends, np.nextafter(ends, -np.inf), np.nextafter(ends, np.inf)])
            some = rng.random(len(moved)) < 0.5
            moved.loc[some, table.columns[0]] = rng.choice(near, some.sum())
    return moved


def raw_of(kind, rows, output=None):
    """The model's raw score that tables of this output are about."""
    raw = np.asarray(fitted(kind).model_.raw(rows))
    if raw.ndim == 1:
        return raw
    levels = fitted(kind).model_.outputs.quantile_levels
    return raw[:, 0 if output is None else list(levels or fitted(kind).model_.classes).index(output)]


def read_json(document, row):
    """The prediction of one row, a mapping, from the JSON document alone: what its schema says in words."""
    multiply = document["combine"] == "multiply"
    total = document["base"]
    for table in document["tables"]:
        value = _table_value(table, row[table["column"]], document["value"], multiply)
        total = total * value if multiply else total + value
    for pair in document["two_way"]:
        i = _position(pair["rows"], row[pair["columns"][0]])
        j = _position(pair["across"], row[pair["columns"][1]])
        value = pair[document["value"]][i][j]
        total = total * value if multiply else total + value
    if document["link"] == "log":
        return min(total, math.exp(40))
    return total / (1 + total) if document["link"] == "logit" else total


def _table_value(table, cell, name, multiply):
    rows = table["rows"]
    if table["form"] != "knots" or cell is None or cell != cell:
        return rows[_position(rows, cell)][name]
    knots = [row for row in rows if row["kind"] == "knot"]
    x, y = [row["low"] for row in knots], [math.log(row[name]) if multiply else row[name] for row in knots]
    if table["beyond"] == "constant":
        cell = min(max(cell, x[0]), x[-1])
    at = max(i for i in range(max(len(x) - 1, 1)) if i == 0 or x[i] <= cell)
    slope = (y[at + 1] - y[at]) / (x[at + 1] - x[at]) if len(x) > 1 else 0.0
    value = y[at] + slope * (cell - x[at])
    return math.exp(value) if multiply else value


def _position(rows, cell):
    kinds = [row["kind"] for row in rows]
    if cell is None or cell != cell:
        return kinds.index("missing") if "missing" in kinds else kinds.index("other")
    for i, row in enumerate(rows):
        if row["kind"] == "level" and row["level"] == cell:
            return i
        if row["kind"] == "band" and _above(row["low"], cell) and (row["high"] is None or cell < row["high"]):
            return i
    return kinds.index("other")


def _above(low, cell):
    return low is None or (not isinstance(cell, str) and cell >= low)


HOSTILE = [
    "=1+1",
    "</script>",
    "*/ ; DROP TABLE x",
    "a\"b'c\\d",
    "new\nline\x07",
    "ünï ☃",
    "History",
    "[x]:*?/\\" + "y" * 60,
]


def hostile_model():
    """A model whose columns and levels have names that other programs may obey, its table, and the target."""
    from lambdak import SpectralRegressor

    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.uniform(0, 1, 120) for name in HOSTILE[:4]})
    for name in HOSTILE[4:]:
        table[name] = rng.choice(np.array(HOSTILE, object), 120)
    y = rng.poisson(2.0, 120).astype(float)
    model = SpectralRegressor("poisson", effort="fast", dim=3, max_iter=2, n_estimators=1, random_state=0)
    return model.fit(table, y), table, y
