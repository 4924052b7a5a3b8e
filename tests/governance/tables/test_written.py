"""Tables in files: readers that know nothing of lambdak get the same numbers, whatever names are in them.

Tests ``excel`` and ``table_set``.
"""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace
from functools import cache

import jsonschema
import numpy as np
import pandas as pd
import pytest
from factor_table_cases import HOSTILE, ONE_OUTPUT, UNCLAMPED, extreme_rows, hostile_model, read_json
from fitted_models import X, Y, fitted, rows_of
from openpyxl import load_workbook

from lambdak import SpectralRegressor
from lambdak.governance.tables import schema
from lambdak.governance.tables.excel import sheet_names
from lambdak.table.category_levels import OTHER

DIGITS = 1e-15  # openpyxl writes 16 of them
FRAMES = [kind for kind in (*ONE_OUTPUT, *UNCLAMPED) if kind not in ("sparse", "wide")]


@cache
def hostile():
    model, table, y = hostile_model()
    return model.relativities(table, y, two_way=2, time_limit=0.5)


def valid(tables):
    document = json.loads(tables.to_json())
    jsonschema.Draft202012Validator(schema()).validate(document)
    return document


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("form", ["bands", "interpolated"])
@pytest.mark.parametrize("kind", FRAMES)
def test_a_reader_of_the_json_alone_predicts_the_same(kind, form):
    tables = fitted(kind).relativities(rows_of(kind), form=form, time_limit=0.1)
    document = valid(tables)
    rows = extreme_rows(kind, 100, seed=1)
    found = [read_json(document, row) for row in rows.to_dict("records")]
    np.testing.assert_allclose(tables.predict(rows), found, rtol=1e-11, atol=1e-11)


def test_a_reader_of_the_json_alone_predicts_the_same_from_two_way_tables():
    tables = fitted("poisson").relativities(X, two_way=2, time_limit=0.1)
    document, rows = valid(tables), extreme_rows("poisson", 100, seed=2)
    found = [read_json(document, row) for row in rows.to_dict("records")]
    np.testing.assert_allclose(tables.predict(rows), found, rtol=1e-11)


def test_the_schema_refuses_what_is_no_table():
    document = valid(hostile())
    for broken in (
        {**document, "combine": "subtract"},
        {**document, "more": 1},
        {name: value for name, value in document.items() if name != "deviation"},
        {**document, "tables": [{**document["tables"][0], "rows": [{"kind": "band", "label": "x", "relativity": 1}]}]},
        {**document, "tables": [{**document["tables"][0], "rows": [{"kind": "other", "label": "x"}]}]},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, schema())


def test_hostile_names_survive_json_and_csv(tmp_path):
    document = valid(hostile())
    assert [table["column"] for table in document["tables"]] == HOSTILE
    levels = [row["level"] for row in document["tables"][-1]["rows"] if row["kind"] == "level"]
    assert sorted(levels) == sorted(HOSTILE)
    hostile().to_csv(tmp_path / "tables")
    files = sorted(path.name for path in (tmp_path / "tables").iterdir())
    assert len(files) == 11
    assert all(name.isascii() and "/" not in name for name in files)
    with (tmp_path / "tables" / files[7]).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["column"] for row in rows} == {HOSTILE[7]}
    written = [io.StringIO((tmp_path / "tables" / name).read_text(), newline="") for name in files]
    texts = [cell for file in written for row in csv.reader(file) for cell in row]
    assert "'=1+1" in texts
    assert "=1+1" not in texts
    assert [float(row["relativity"]) for row in rows] == hostile()[HOSTILE[7]].value.tolist()


def test_one_csv_file_holds_every_row_with_all_digits(tmp_path):
    tables = fitted("free").relativities(X, Y, time_limit=0.1)
    tables.to_csv(tmp_path / "tables.csv")
    with (tmp_path / "tables.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["amount"]) for row in rows] == [value for table in tables for value in table.value]
    with pytest.raises(ValueError, match="give a folder instead"):
        hostile().to_csv(tmp_path / "tables.csv")


def test_a_workbook_has_a_summary_and_a_sheet_for_each_table(tmp_path):
    tables = fitted("poisson").relativities(X, np.maximum(Y, 0), two_way=1, time_limit=0.1)
    tables.to_excel(tmp_path / "tables.xlsx")
    book = load_workbook(tmp_path / "tables.xlsx")
    assert book.sheetnames == ["Summary", "income", "age", "region", "kind", tables.tables[-1].name]
    cells = dict(book["Summary"].iter_rows(min_col=1, max_col=2, values_only=True))
    assert cells["base"] == pytest.approx(tables.base, rel=DIGITS)
    assert cells["proven"] == pytest.approx(tables.deviation.proven, rel=DIGITS)
    rows = list(book["income"].iter_rows(min_row=3, values_only=True))
    assert [row[3] for row in rows] == pytest.approx(tables["income"].value.tolist(), rel=DIGITS)
    assert [row[1] for row in rows] == [row.low for row in tables["income"].sides[0]]


def test_the_worst_row_names_other_levels_and_missing_cells_in_words(tmp_path):
    tables = fitted("poisson").relativities(X, time_limit=0.1)
    names = list(tables.deviation.worst_row)
    row = dict.fromkeys(names, 1.5) | {names[0]: None, names[-1]: OTHER}
    tables = replace(tables, deviation=replace(tables.deviation, worst_row=row))
    assert tables.to_dict()["deviation"]["worst_row"] == row | {names[-1]: "any other level"}
    tables.to_excel(tmp_path / "tables.xlsx")
    lines = set(load_workbook(tmp_path / "tables.xlsx")["Summary"].iter_rows(max_col=2, values_only=True))
    assert {(names[0], "missing"), (names[-1], "any other level")} <= lines


def test_no_cell_of_a_workbook_is_a_formula(tmp_path):
    hostile().to_excel(tmp_path / "hostile.xlsx")
    book = load_workbook(tmp_path / "hostile.xlsx")
    texts = set()
    for sheet in book:
        for row in sheet.iter_rows():
            texts |= {cell.value for cell in row if isinstance(cell.value, str)}
            assert not [cell.value for cell in row if cell.data_type == "f"]
    assert "=1+1" in texts
    assert len(book.sheetnames) == 11


def test_sheet_names_are_what_excel_takes():
    wanted = [*HOSTILE, "a", "A", "a" * 40, "a" * 50, "'quoted'", "", "summary"]
    found = sheet_names(wanted, taken=["Summary"])
    assert len({name.lower() for name in found} | {"summary"}) == len(wanted) + 1
    for name in found:
        assert 0 < len(name) <= 31
        assert not set("[]:*?/\\") & set(name)
        assert name.lower() != "history"
        assert name == name.strip("'")


def test_without_openpyxl_the_way_out_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"pip install 'lambdak\[excel\]'"):
        hostile().to_excel(tmp_path / "x.xlsx")


def test_numbers_that_json_does_not_have_are_null():
    document = fitted("poisson").relativities(time_limit=0.1).to_dict()
    assert document["deviation"]["observed"] is None
    assert document["tables"][0]["rows"][0]["exposure"] is None
    assert math.isfinite(document["deviation"]["proven"])
    json.dumps(document, allow_nan=False)


def test_print_shows_no_control_character():
    text = str(hostile())
    assert all(letter.isprintable() or letter == "\n" for letter in text)


def test_whole_numbers_that_excel_would_round_are_text(tmp_path):
    table = pd.DataFrame({"code": np.resize(np.array([2**53 + 1, 10**400], object), 40)})
    model = SpectralRegressor(effort="fast", dim=1, max_iter=1, categorical_features=["code"], random_state=0)
    model.fit(table, np.resize([0.0, 1.0], 40)).relativities(table, time_limit=0.1).to_excel(tmp_path / "x.xlsx")
    cells = [cell for sheet in load_workbook(tmp_path / "x.xlsx") for row in sheet.values for cell in row]
    assert "9007199254740993" in cells
    assert str(10**400) in cells


def test_labels_of_levels_are_told_apart_from_each_other_and_from_the_rest():
    levels = np.array(["missing", "any other level", "1", 1, "plain", None], object)
    table = pd.DataFrame({"code": np.resize(levels, 60)})
    model = SpectralRegressor(effort="fast", dim=1, max_iter=1, categorical_features=["code"], random_state=0)
    labels = model.fit(table, np.arange(60.0) % 6).relativities(table, time_limit=0.1)["code"].labels
    assert set(labels) == {"'missing'", "'any other level'", "'1'", "1", "plain", "missing", "any other level"}
