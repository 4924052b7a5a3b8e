"""Names and levels that end strings, comments and queries, and those that a database cannot tell apart.

Tests ``dialects``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fitted_models import fitted, rows_of, with_columns
from sql_cases import close

from lambdak.export.sql import to_sql
from lambdak.shapes import Rising

HOSTILE = ('"; DROP TABLE rows; --', "a'b\\\n/* */ -- x", "日本 😀 \u2028", "select")
LEVELS = ("'); DROP TABLE rows; --", "back\\slash\n\"'", "Ä é")


def renamed(names, levels=None):
    """An additive model with other names, and other levels of its third column."""
    model = fitted("additive").model_
    columns = [replace(column, name=name) for column, name in zip(model.encoder.columns, names, strict=True)]
    if levels is not None:
        columns[2] = replace(columns[2], levels=(*levels, *columns[2].levels[2:]))
    promises = replace(model.promises, shapes=(Rising(0),))  # income rises there, so that its name is in a comment
    return model.replace(encoder=replace(model.encoder, columns=tuple(columns)), promises=promises)


def test_what_is_proven_is_said_in_comments():
    said = to_sql(fitted("regressor"), dialect="sqlite").splitlines()
    assert said[1:3] == ["-- Proven: the prediction never falls as income rises",
                         "-- Proven: the prediction never rises as age rises"]  # fmt: skip


def test_hostile_names_and_levels_are_data(database):
    model = renamed(HOSTILE, LEVELS[:2])
    cells = rows_of("additive")[:30].set_axis(list(HOSTILE), axis=1)
    cells[HOSTILE[2]] = np.resize([*LEVELS, "unseen", None], 30).astype(object)
    database.create(cells)
    found = database.score(to_sql(model, dialect=database.dialect, key="id", explain=True))
    close(found["prediction"], model.predict(cells))
    assert list(found.columns[2:]) == [f"influence_{name}" for name in HOSTILE]


def test_a_query_that_was_read_from_its_file_as_text_knows_carriage_returns(database, tmp_path):
    model = renamed(("a", "b", "c", "d"), ("x\ry\\'", "\r\n"))
    cells = rows_of("additive")[:4].set_axis(["a", "b", "c", "d"], axis=1)
    cells["c"] = ["x\ry\\'", "\r\n", "\n", "x\ny\\'"]
    database.create(cells)
    to_sql(model, tmp_path / "model.sql", dialect=database.dialect, key="id")
    close(database.score((tmp_path / "model.sql").read_text(encoding="utf-8"))["prediction"], model.predict(cells))


@pytest.mark.parametrize("names", [("s", "_rowid_", "rowid", "r"), ("k", "oid", "ROWID", "x1")])
def test_columns_may_have_the_names_of_steps_and_of_rowids(database, names):
    for kind in ("additive", "free"):
        columns = [
            replace(each, name=name) for each, name in zip(fitted(kind).model_.encoder.columns, names, strict=True)
        ]
        model = with_columns(fitted(kind), columns).model_
        cells = rows_of(kind)[:20].set_axis(list(names), axis=1)
        database.create(cells)
        found = database.score(to_sql(model, dialect=database.dialect))
        assert list(found.columns) == [*names, "id", "prediction"]
        close(found["prediction"], model.predict(cells))


def test_a_key_is_needed_where_columns_take_all_names_of_the_rowid():
    model = renamed(("rowid", "_ROWID_", "oid", "d"))
    with pytest.raises(ValueError, match="key must name the columns to return, for SQLite finds rows again by _rowid_"):
        to_sql(model, dialect="sqlite")
    assert to_sql(model, dialect="sqlite", key="d")


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_columns_that_differ_in_case_only_are_refused(dialect):
    with pytest.raises(ValueError, match=r"columns 'Age' and 'age' are one name for .* upper from lower case: rename"):
        to_sql(renamed(("Age", "age", "c", "d")), dialect=dialect)
    assert to_sql(renamed(("Age", "age", "c", "d")), dialect="postgresql")


def test_columns_that_postgresql_cuts_to_one_name_are_refused():
    long = "x" * 63
    with pytest.raises(ValueError, match="reads the first 63 bytes of a name only: rename one of them before the fit"):
        to_sql(renamed((long + "a", long + "b", "c", "d")), dialect="postgresql")


@pytest.mark.parametrize("dialect", ["duckdb", "postgresql", "sqlite"])
@pytest.mark.parametrize("name", ["a\0b", "\ud800", ""])
def test_names_that_no_database_holds_are_refused(name, dialect):
    with pytest.raises(ValueError, match="rename it before the fit"):
        to_sql(renamed((name, "b", "c", "d")), dialect=dialect)


def test_names_of_results_that_postgresql_cuts_to_one_are_refused():
    with pytest.raises(ValueError, match="rename classes or columns before the fit, or choose a shorter prefix"):
        to_sql(fitted("additive"), dialect="postgresql", explain=True, prefix="p" * 60)


def test_results_do_not_take_the_name_of_a_column():
    model = renamed(("prediction", "b", "c", "d"))
    with pytest.raises(ValueError, match="the result 'prediction' would have the name of the column 'prediction'"):
        to_sql(model)
    assert '"model_prediction"' in to_sql(model, prefix="model_")


def test_a_table_with_the_name_of_a_step_is_refused():
    with pytest.raises(ValueError, match="table must not begin with 'lambdak_'"):
        to_sql(fitted("additive"), table="Lambdak_source")


def test_matrices_too_large_for_sqlite_are_refused_with_the_way_out():
    model = fitted("regressor").model_
    coef = np.zeros((len(model.coef), model.coef.shape[1], 336))
    large = model.replace(coef=coef, dim=25, outputs=replace(model.outputs, indices=(12,)))
    with pytest.raises(ValueError, match=r"SQLite takes matrices of up to 24 rows, .* export to C or ONNX"):
        to_sql(large, dialect="sqlite")


def test_missing_and_unseen_cells_and_numbers_outside_of_the_range(database):
    model, X = fitted("additive").model_, rows_of("additive")[:8].copy()
    X["income"] = [np.nan, -1e9, 1e9, 5e-324, 1e-310, 0.0, 3.0, 4.0]
    X["kind"] = ["a", None, "A", "a ", "b", "", "zz", "b"]
    database.create(pd.DataFrame(X))
    close(database.score(to_sql(model, dialect=database.dialect, key="id"))["prediction"], model.predict(X))
