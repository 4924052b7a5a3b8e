"""Model files, and tables with the columns that a model wants."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lambdak.cli import tables
from lambdak.cli.errors import InputError, listed, note
from lambdak.table.close_names import meant
from lambdak.table.dates import expanded, part_names


def read_model(path: Path, public_key: Path | None = None) -> Any:
    """The model in a file, which must be signed with this key if one is given."""
    from sklearn.pipeline import Pipeline

    from lambdak.estimators import load

    if not path.exists():
        raise InputError(
            f"there is no model file {path}: make one with lambdak fit TABLE --target COLUMN --model {path}"
        )
    found = load(path, public_key=public_key)
    if isinstance(found, Pipeline):
        raise InputError(
            f"{path} holds a Pipeline, and commands take a model alone: use it in Python with lambdak.load, or save "
            "its last step by itself, pipeline[-1].save"
        )
    return found


def read_columns(model: Any, path: str, given: tables.Format | None) -> Any:
    """The table in a file, with names as text wherever the model knows them as text; other columns stay."""
    table = with_parts(tables.read(path, given, text=text_columns(model)), model.model_.encoder.feature_names)
    check_columns(model, table.column_names, path)
    note_mixed(model, table, path)
    return table


def date_sources(wanted: Sequence[str], known: Sequence[str]) -> list[str]:
    """Columns whose numbers, such as sold_year, are wanted and not there: they are expanded as in the fit."""
    return [name for name in known if any(part in wanted and part not in known for part in part_names(name))]


def with_parts(table: Any, wanted: Sequence[str]) -> Any:
    """The table with the numbers of dates, where they are wanted and the dates are there instead."""
    sources = date_sources(wanted, table.column_names)
    return expanded(table, sources) if sources else table


def check_columns(model: Any, known: Sequence[str], path: str) -> None:
    """Refuse a table without some column of the model, and say which it has."""
    missing = [name for name in model.model_.encoder.feature_names if name not in known]
    if missing:
        raise InputError(
            f"{path} lacks {len(missing)} of the {model.n_features_in_} columns that the model was fitted with: "
            f"{listed(missing)}. {meant(missing[0], known)}It has {listed(known)}"
        )


def only_row(X: Any, row: int | None, path: str) -> Any:
    """The table with this row alone; all of it without one."""
    if row is not None and row >= X.num_rows:
        raise InputError(f"--row must be in [0, {X.num_rows}), the rows of {path}; got {row}")
    return X if row is None else X.slice(row, 1)


def columns_of(model: Any, table: Any) -> Any:
    """The model's own columns of a table."""
    return table.select(list(model.model_.encoder.feature_names))


def text_columns(model: Any) -> list[str]:
    """Categories whose levels are text: 007 must not be read as the number 7.

    Those that also hold numbers are read as they are: a file in which all cells are numbers has some of these levels.
    """
    mixed = mixed_columns(model)
    return [column.name for column in model.model_.encoder.columns if column.holds_text and column.name not in mixed]


def mixed_columns(model: Any) -> list[str]:
    """Categories that held both numbers and text in training, pooled levels included."""
    from lambdak.table.category_levels import Kind
    from lambdak.table.cell_rules import LevelRule

    rules = [(column.name, column.rule) for column in model.model_.encoder.columns]
    return [
        name for name, rule in rules if isinstance(rule, LevelRule) and Kind.TEXT in rule.kinds and rule.take_numbers
    ]


def note_mixed(model: Any, table: Any, path: str) -> None:
    """Say where numbers of a file are text, though they were numbers in training: a column of a file is one of both."""
    for name in mixed_columns(model):
        if "string" in str(table.schema.field(name).type):
            note(
                f"column {name!r} of {path} is text, and held numbers and text in training: its numbers count as "
                "levels that the fit has not seen. Predict such rows in Python, with cells as in training"
            )
