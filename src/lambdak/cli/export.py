"""``lambdak export``: the model as C, Java, JavaScript, ONNX, R, SQL, or tables that people read."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from lambdak.cli import tables
from lambdak.cli.dataset import numbers
from lambdak.cli.errors import naming
from lambdak.cli.models import columns_of, read_columns, read_model
from lambdak.cli.options import DEFAULT_MODEL, AsJson, ModelFile, OptionalTable, TableFormat
from lambdak.cli.outputs import check_output, print_json, say
from lambdak.export.targets import TARGETS, target_of

EXAMPLES = (
    "lambdak export --to c",
    "lambdak export --to sql --dialect sqlite --table patients --out score.sql",
    "lambdak export --to onnx --explain --dtype float32",
    "lambdak export --out Score.java --package com.bank.scores",
    "lambdak export patients.csv --target progression --to table --out patients.json",
)


class Dtype(Enum):
    """Types of the numbers in an ONNX file."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"


class Database(Enum):
    """Databases that a query can be for."""

    DUCKDB = "duckdb"
    POSTGRESQL = "postgresql"
    SQLITE = "sqlite"


# Which exports take an option of the command line; others are for every target that has an option of that name.
_TAKEN_BY: dict[str, tuple[str, ...]] = {
    "--dtype": ("onnx",),
    "--dialect": ("sql",),
    "--offset-input": ("onnx",),
    "--table": ("sql",),
    "--key": ("sql",),
    "--offset": ("sql",),
    "TABLE": ("table",),
    "--target": ("table",),
    "--exposure": ("table",),
    "--two-way": ("table",),
    "--time-limit": ("table",),
}


def _check_to(to: str | None) -> str | None:
    if to is not None and to not in TARGETS:
        raise typer.BadParameter(f"{to!r} is not one of {', '.join(map(repr, TARGETS))}.")
    return to


def export(
    table: OptionalTable = None,
    model: ModelFile = DEFAULT_MODEL,
    to: Annotated[
        str | None,
        typer.Option(
            callback=_check_to,
            metavar=f"[{'|'.join(TARGETS)}]",
            help="What it becomes; by default what the name of --out says.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The file, or for js a folder.", show_default="the model's name with another ending"),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="With the influence of every column.")] = False,
    name: Annotated[str | None, typer.Option(help="c, js, r: what functions or the package are called.")] = None,
    package: Annotated[str | None, typer.Option(help="java: of the class, such as com.bank.scores.")] = None,
    dtype: Annotated[Dtype | None, typer.Option(help="onnx: of all numbers.", show_default="float64")] = None,
    offset_input: Annotated[
        bool, typer.Option("--offset-input", help="onnx: with an input that is added to raw scores.")
    ] = False,
    dialect: Annotated[Database | None, typer.Option(help="sql: of the database.", show_default="duckdb")] = None,
    source: Annotated[
        str | None, typer.Option("--table", metavar="NAME", help="sql: the table in the database.", show_default="rows")
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="sql: a column to return beside the results; all by default. Repeatable."),
    ] = None,
    offset: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="sql: a column that is added to raw scores.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="COLUMN", help="table: observed values in TABLE.")
    ] = None,
    exposure: Annotated[str | None, typer.Option(metavar="COLUMN", help="table: exposures in TABLE.")] = None,
    two_way: Annotated[int | None, typer.Option(min=0, help="table: how many tables of two columns.")] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="table: for the proof of how far tables can be from the model."),
    ] = None,
    form: TableFormat = None,
    as_json: AsJson = False,
) -> None:
    """Write the model as something that scores in an application, a browser or a database, or as factor tables.

    Tables need no TABLE; with one they are fitted to its rows, which are shown beside.
    """
    kind = _kind(to, out, table)
    given = {
        "--explain": explain or None, "--name": name, "--package": package, "--dtype": dtype, "--dialect": dialect,
        "--table": source, "--offset-input": offset_input or None, "--key": key or None, "--offset": offset,
        "TABLE": table, "--target": target, "--exposure": exposure, "--two-way": two_way, "--time-limit": time_limit,
    }  # fmt: skip
    _check_taken(kind, given)
    path = out or model.with_suffix(TARGETS[kind].endings[0])
    if path.resolve() == model.resolve():
        raise typer.BadParameter(f"must not be the model itself; got {str(path)!r}", param_hint="--out")
    if not (TARGETS[kind].folder and path.suffix == ""):
        _check_ending(kind, path)
        check_output(path, "--out")
    fitted = read_model(model)
    plain = {"explain": explain or None, "name": name, "package": package, "dtype": dtype, "dialect": dialect,
             "table": source, "key": key or None, "offset": offset_input or offset}  # fmt: skip
    options = {key: own.value if isinstance(own, Enum) else own for key, own in plain.items() if own is not None}
    with naming(table or ""):
        if kind == "table":
            options |= _rows(fitted, table, target, exposure, form) | {"two_way": two_way or 0}
            options |= {} if time_limit is None else {"time_limit": time_limit}
        fitted.export(path, kind, **options)
    _report(kind, path, as_json)


def _kind(to: str | None, out: Path | None, table: str | None) -> str:
    kind = to or (None if out is None else target_of(out))
    if kind is None:
        choices, meant = ", ".join(TARGETS), None if table is None else target_of(table)
        hint = f": did you mean --out {table}?" if meant not in (None, "table") else ""
        raise typer.BadParameter(
            f"one of {choices} is needed, unless the name of --out says it{hint}", param_hint="--to"
        )
    return kind


def _check_ending(kind: str, path: Path) -> None:
    """Refuse a name by which a compiler, an import or a program of tables would not know the file."""
    endings = TARGETS[kind].endings
    if not TARGETS[kind].any_ending and path.suffix.lower() not in endings:
        raise typer.BadParameter(
            f"must end in {' or '.join(endings)} for --to {kind}; got {str(path)!r}", param_hint="--out"
        )


def _check_taken(kind: str, given: Mapping[str, object]) -> None:
    for option in (option for option, value in given.items() if value is not None):
        plain, takers = option.removeprefix("--"), _TAKEN_BY.get(option, ())
        if kind not in takers if takers else plain not in TARGETS[kind].options:
            takers = takers or tuple(name for name, target in TARGETS.items() if plain in target.options)
            raise typer.BadParameter(f"is for --to {', '.join(takers)}; got --to {kind}", param_hint=option)


def _rows(
    fitted: Any, path: str | None, target: str | None, exposure: str | None, form: tables.Format | None
) -> dict[str, Any]:
    """The rows to fit tables to, with what was observed there."""
    if path is None:
        if target is not None or exposure is not None:
            raise typer.BadParameter(
                "needs a TABLE that has this column", param_hint="--target" if target else "--exposure"
            )
        return {}
    data = read_columns(fitted, path, form)
    named = {"y": target, "exposure": exposure}
    tables.check_names([name for name in named.values() if name is not None], data, path, "--target or --exposure")
    observed = {key: numbers(data, name, path) for key, name in named.items() if name is not None}
    return {"X": columns_of(fitted, data), **observed}


def _report(kind: str, path: Path, as_json: bool) -> None:
    files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    size = sum(each.stat().st_size for each in files)
    if as_json:
        print_json({"to": kind, "out": str(path), "bytes": size})
    else:
        say(f"{path} ({size / 1e6:.2f} MB): {TARGETS[kind].then}")
