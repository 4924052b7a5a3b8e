"""A model through its query: the table that a database is given, and what it answers."""

from __future__ import annotations

import atexit
from contextlib import ExitStack
from dataclasses import replace
from functools import cache, partial

import numpy as np
from export_cases import Answers, takes_offset
from exported_onnx import told_apart
from sql_cases import Duck, Lite, Postgres, postgres_connection

from lambdak.export.sql import to_sql
from lambdak.export.sql.dialects import DIALECTS
from lambdak.export.sql.names import identity
from lambdak.table.cells import is_missing


@cache
def running(dialect):
    """A database for all models of this process."""
    if dialect == "duckdb":
        return Duck.new()
    if dialect == "sqlite":
        return Lite.new()
    stack = ExitStack()
    atexit.register(stack.close)
    return Postgres(stack.enter_context(postgres_connection()))


def opened(dialect, model, folder, explain, database=None):
    """The model's query, run on a table of the rows."""
    given = [column.name for column in model.encoder.columns]
    model, names = distinct(model, DIALECTS[dialect])
    model, texts = (model, {}) if dialect == "sqlite" else told_apart(model)
    path = folder / "model.sql"
    offset = "the offset" if takes_offset(model) else None
    sql = to_sql(model, path, dialect=dialect, key="id", result="both", explain=explain, offset=offset, prefix="m ")
    assert path.read_text(encoding="utf-8") == sql

    def scored(X, offset):
        X = X.rename(columns=dict(zip(given, names, strict=True)))
        own = database or running(dialect)
        kinds = {column.name: _kind(column, X[column.name], dialect) for column in model.encoder.columns}
        for name, kind in kinds.items():
            cells = [_cell(cell, kind, texts.get(name, {})) for cell in X[name]]
            X[name] = cells if kind == "double precision" else np.array([*cells, None], object)[:-1]
        X["the offset"] = 0.0 if offset is None else offset
        own.create(X, types=kinds)
        found = own.score(sql)
        raw = found[[name for name in found if name.startswith("m raw")]]
        results = found[[name for name in found if name.startswith(("m prediction", "m quantile", "m probability"))]]
        influence = found.iloc[:, -len(names) :].to_numpy(float) if explain else None  # PostgreSQL cuts long names
        return Answers(raw.to_numpy(float), results.to_numpy(float), influence)

    return scored


opened_duckdb, opened_postgresql, opened_sqlite = (partial(opened, name) for name in DIALECTS)


def distinct(model, dialect):
    """The model with names that the database tells apart, and these names."""
    columns, seen = [], {"id", "the offset", ""}
    for i, column in enumerate(model.encoder.columns):
        if identity(dialect, column.name) in seen:
            column = replace(column, name=f"column {i}")
        seen.add(identity(dialect, column.name))
        columns.append(column)
    model = model.replace(encoder=replace(model.encoder, columns=tuple(columns)))
    return model, [column.name for column in columns]


def _kind(column, cells, dialect):
    """The type of a column in the database."""
    levels = [level for level in getattr(column, "levels", (1.0,)) if isinstance(level, str | int | float)]
    known = any(not is_missing(x) for x in cells)
    if any(isinstance(level, str) for level in [*levels, *cells]) or not (levels or known):
        return "" if dialect == "sqlite" else "text"
    if all(isinstance(level, bool) for level in levels) and all(isinstance(x, bool) or is_missing(x) for x in cells):
        return "boolean"
    return "double precision"


def _cell(cell, kind, texts):
    if is_missing(cell):
        return None if kind != "double precision" else float("nan")
    cell = texts.get(cell, cell) if isinstance(cell, str) else cell
    if kind == "text":
        return str(cell)
    return float(cell) if kind == "double precision" else cell
