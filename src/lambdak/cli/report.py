"""``lambdak report``: one HTML file in which the model runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lambdak.cli.dataset import ColumnRoles
from lambdak.cli.models import columns_of, read_columns, read_model
from lambdak.cli.options import DEFAULT_MODEL, AsJson, ModelFile, OptionalTable, TableFormat
from lambdak.cli.outputs import check_output, print_json

EXAMPLES = ("lambdak report", "lambdak report patients.csv --target progression --out patients.html")


def report(
    table: OptionalTable = None,
    model: ModelFile = DEFAULT_MODEL,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", "-t", metavar="COLUMN", help="Column of true values, to show how accurate the model is."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The HTML file.")] = Path("report.html"),
    form: TableFormat = None,
    as_json: AsJson = False,
) -> None:
    """Write one HTML file in which the model runs: it needs no server, no network and no Python."""
    check_output(out, "--out")
    if target is not None and table is None:
        raise typer.BadParameter("needs a TABLE that has this column", param_hint="--target")
    fitted = read_model(model)
    X, y = None, None
    if table is not None:
        data = read_columns(fitted, table, form)
        X = columns_of(fitted, data)
        y = None if target is None else ColumnRoles(target).dataset(data, table).y
    fitted.report(out, X, y)
    size = out.stat().st_size
    if as_json:
        print_json({"model": str(model), "out": str(out), "bytes": size})
    else:
        typer.echo(f"{out} ({size / 1e6:.1f} MB): open it in a browser")
