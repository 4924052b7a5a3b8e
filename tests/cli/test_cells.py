"""What is typed as a cell, a level, bounds or a class becomes what the model knows."""

from __future__ import annotations

import pytest
import typer
from cli_cases import table

import lambdak
from lambdak.cli import cells
from lambdak.cli.errors import InputError


@pytest.fixture(scope="module")
def columns(shelf):
    return cells.columns_by_name([lambdak.load(shelf / "y.safetensors")])


def test_bounds_are_ends_or_levels(columns):
    found = cells.bounds(["income=2:8", "age=:60", "town=007,300"], columns)
    assert found == {"income": (2.0, 8.0), "age": (None, 60.0), "town": ["007", "300"]}
    assert cells.bounds(["town=007", "town=012", "tax=-1:1e3"], columns) == {
        "town": ["007", "012"],
        "tax": (-1.0, 1000.0),
    }
    with pytest.raises(InputError, match=r"has no level '07'\. Did you mean '007'"):
        cells.bounds(["town=07"], columns)
    for wrong in ("income", "income=2", "income=a:b"):
        with pytest.raises(typer.BadParameter):
            cells.bounds([wrong], columns)
    with pytest.raises(typer.BadParameter, match="once"):
        cells.bounds(["income=1:2", "income=3:4"], columns)


def test_cells_are_numbers_levels_or_missing(columns):
    assert cells.cells(["income=2.5", "town=007", "age="], columns) == {"income": 2.5, "town": "007", "age": None}
    with pytest.raises(typer.BadParameter, match="'age' holds numbers"):
        cells.cells(["age=old"], columns)


def test_names_may_hold_equal_signs(columns):
    odd = {"a=b": columns["income"], "a": columns["age"]}
    assert cells.cells(["a=b=2", "a=3"], odd) == {"a=b": 2.0, "a": 3.0}
    assert cells.ways(["a=b=up", "a=down"], odd) == {"a=b": "up", "a": "down"}
    with pytest.raises(typer.BadParameter, match="up or down"):
        cells.ways(["a=left"], odd)


def test_classes_are_found_by_their_text():
    assert cells.label([False, True], "True", "--output") is True
    assert cells.label(sorted(set(table()["steps"].to_pylist())), "2", "--output") == 2
    with pytest.raises(InputError, match=r"one of 'bad', 'good'; got 'god'\. Did you mean 'good'"):
        cells.label(["bad", "good"], "god", "--output")
