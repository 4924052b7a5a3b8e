"""``lambdak report``: one HTML file in which the model runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lambdak.cli import tables
from lambdak.cli.dataset import ColumnRoles, numbers
from lambdak.cli.errors import naming
from lambdak.cli.models import columns_of, read_columns, read_model
from lambdak.cli.options import DEFAULT_MODEL, AsJson, ModelFile, OptionalTable, TableFormat
from lambdak.cli.outputs import check_output, print_json, say

EXAMPLES = (
    "lambdak report",
    "lambdak report patients.csv --target progression --out patients.html",
)


def report(
    table: OptionalTable = None,
    model: ModelFile = DEFAULT_MODEL,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", "-t", metavar="COLUMN", help="Column of true values, to show how accurate the model is."
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(
            "--test",
            metavar="TABLE",
            help="Rows that the fit did not see, with the target: accuracy is measured on these.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The HTML file.")] = Path("report.html"),
    form: TableFormat = None,
    as_json: AsJson = False,
) -> None:
    """Write one HTML file in which the model runs: it needs no server, no network and no Python."""
    check_output(out, "--out")
    if target is not None and table is None and test is None:
        raise typer.BadParameter("needs a TABLE that has this column", param_hint="--target")
    if test is not None and target is None:
        raise typer.BadParameter("needs the --target that it is measured by", param_hint="--test")
    fitted = read_model(model)
    with naming(table or ""):
        X, y = (None, None) if table is None else _rows(fitted, table, target, form)
    with naming(test or table or ""):
        X_test, y_test = (None, None) if test is None else _rows(fitted, test, target, form)
        fitted.report(out, X, y, X_test=X_test, y_test=y_test)
    size = out.stat().st_size
    if as_json:
        print_json({"model": str(model), "out": str(out), "bytes": size})
    else:
        say(f"{out} ({size / 1e3:,.0f} kB): open it in a browser")


def _rows(fitted: Any, table: str, target: str | None, form: tables.Format | None) -> tuple[Any, Any]:
    """The model's columns of a table, and the true values if they were named."""
    data = read_columns(fitted, table, form)
    if target is None:
        return columns_of(fitted, data), None
    tables.check_names([target], data, table, "--target")
    classes = hasattr(fitted, "classes_")
    return columns_of(fitted, data), ColumnRoles(target).dataset(data, table).y if classes else numbers(
        data, target, table
    )
