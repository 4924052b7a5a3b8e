"""Cells, levels, bounds and classes as they are typed, turned into what the models know."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from lambdak.cli import options
from lambdak.cli.errors import InputError, listed
from lambdak.table.category_levels import OTHER, shown
from lambdak.table.close_names import meant

if TYPE_CHECKING:
    from lambdak.table.column_contract import Column

    Columns = Mapping[str, Column]

_BOUNDS = "COLUMN=LOW:HIGH for a number, such as price=10:20, or COLUMN=LEVEL,… for a category"
_RELATIONS = (">=", "<=")
_CELL = "COLUMN=VALUE, such as age=40, or COLUMN= for a missing cell"


def columns_by_name(models: Iterable[Any]) -> dict[str, Column]:
    """The columns of fitted models; of one that several have, that of the first."""
    found: dict[str, Column] = {}
    for model in models:
        for column in model.model_.encoder.columns:
            found.setdefault(column.name, column)
    return found


def check_columns(names: Iterable[str], columns: Columns, option: str) -> None:
    """Refuse names that no model knows, and say which there are."""
    for name in names:
        if name not in columns:
            raise InputError(
                f"the model has no column {name!r}, which {option} names. {meant(name, list(columns))}"
                f"It has {listed(columns)}"
            )


def bounds(values: Iterable[str], columns: Columns, option: str = "--bounds") -> dict[str, Any]:
    """Column → (low, high), None where an end is left out, or a list of levels."""
    found: dict[str, Any] = {}
    for value in values:
        name, text = _assigned(value, columns, option, _BOUNDS)
        column = columns.get(name)
        if column is not None and not column.is_number:
            found.setdefault(name, []).extend(_levels(column, text, option))
        elif name in found:
            raise typer.BadParameter(f"{name!r} must be given once", param_hint=option)
        else:
            found[name] = _ends(value, text, option)
    return found


def cells(values: Iterable[str], columns: Columns, option: str = "--set") -> dict[str, Any]:
    """Column → cell: a number, a level, or None."""
    found: dict[str, Any] = {}
    for value in values:
        name, text = _assigned(value, columns, option, _CELL)
        column = columns.get(name)
        if not text:
            found[name] = None
        elif column is None or column.is_number:
            found[name] = _number(text, option, f"column {name!r} holds numbers")
        else:
            found[name] = _level(column, text, option)
    return found


def ways(values: Iterable[str], columns: Columns, option: str = "--direction") -> dict[str, str]:
    """Column → "up" or "down"."""
    found = dict(_assigned(value, columns, option, "COLUMN=up or COLUMN=down, such as age=up") for value in values)
    for name, way in found.items():
        if way not in ("up", "down"):
            raise typer.BadParameter(f"{name!r} must go up or down; got {way!r}", param_hint=option)
    return found


def label(known: Sequence[Any], text: str, option: str) -> Any:
    """The one of several classes or quantile levels whose text this is.

    >>> label([0.1, 0.5], "0.5", "--output")
    0.5
    """
    by_text = {shown(label_): label_ for label_ in known}
    if text not in by_text:
        raise InputError(
            f"{option} must be one of {listed(by_text)}; got {text!r}. {meant(text, list(by_text))}".strip()
        )
    return by_text[text]


def output(fitted: Any, text: str | None) -> Any:
    """The class, quantile level or position that --output names."""
    model = fitted.model_
    known = list(model.loss.quantile_levels) if model.classes is None else model.classes.tolist()
    if text is None or (text.isdecimal() and text not in map(shown, known)):
        return None if text is None else int(text)
    return label(known, text, "--output")


def target(fitted: Any, text: str) -> Any:
    """A side of a number or of ordered classes, a class, or a number."""
    relation = text[:2] if text.startswith(_RELATIONS) else ""
    value = text.removeprefix(relation).strip()
    classes = getattr(fitted, "classes_", None)
    known = {} if classes is None else {str(label): label for label in classes.tolist()}
    label_ = known[value] if value in known else _target_number(value, list(known))
    return (relation, label_) if relation else label_


def _target_number(text: str, classes: list[str]) -> float:
    try:
        return options.number(text, "--target")
    except typer.BadParameter:
        if classes:
            return float(label(classes, text, "--target"))  # which refuses it
        raise typer.BadParameter(
            f'{text!r} must be a number, such as ">=100", "<=100" or 100', param_hint="--target"
        ) from None


def texts(values: Iterable[str], columns: Columns, option: str = "--text") -> dict[str, str | tuple[str, str]]:
    """Column → text, or code and text where it begins with a code in brackets."""
    found: dict[str, str | tuple[str, str]] = {}
    for value in values:
        name, text = _assigned(value, columns, option, "COLUMN=TEXT, or COLUMN=[CODE] TEXT")
        code = re.fullmatch(r"\[([^\]]+)\] *(.*)", text)
        found[name] = (code[1], code[2]) if code else text
    return found


def _assigned(value: str, columns: Columns, option: str, form: str) -> tuple[str, str]:
    """Name and text of ``name=text``; the longest name that is known, as names may hold equal signs."""
    known = max((name for name in columns if value.startswith(f"{name}=")), key=len, default=None)
    name, equals, text = value.partition("=") if known is None else (known, "=", value[len(known) + 1 :])
    if not equals or not name:
        raise typer.BadParameter(f"{value!r} must be {form}", param_hint=option)
    return name, text


def _ends(value: str, text: str, option: str) -> tuple[float | None, float | None]:
    low, colon, high = text.partition(":")
    if not colon:
        raise typer.BadParameter(f"{value!r} must be {_BOUNDS}", param_hint=option)
    ends = [None if not end else _number(end, option, f"{value!r} must be {_BOUNDS}") for end in (low, high)]
    return ends[0], ends[1]


def _number(text: str, option: str, why: str) -> float:
    try:
        return options.number(text.strip(), option)
    except typer.BadParameter:
        raise typer.BadParameter(f"{text!r} is no number: {why}", param_hint=option) from None


def _levels(column: Column, text: str, option: str) -> list[Any]:
    """One level, or several between commas."""
    known = _known(column)
    return [known[text]] if text in known else [_level(column, level, option) for level in text.split(",")]


def _level(column: Column, text: str, option: str) -> Any:
    known = _known(column)
    if text not in known:
        raise InputError(
            f"{option}: column {column.name!r} has no level {text!r}. {meant(text, list(known))}It has {listed(known)}"
        )
    return known[text]


def _known(column: Column) -> dict[str, Any]:
    levels = column.known_levels
    return {shown(level): level for level in levels if level is not None and level is not OTHER}
