"""``lambdak drift``: whether the rows of a new table are still like those of an old one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lambdak.cli import cells, tables
from lambdak.cli.dataset import numbers
from lambdak.cli.errors import InputError, listed, naming
from lambdak.cli.models import columns_of, read_columns, read_model
from lambdak.cli.options import DEFAULT_MODEL, AsJson, ModelFile, RawText, TableFormat
from lambdak.cli.outputs import check_output, plotting, print_columns, print_json, save_picture
from lambdak.cli.written_tables import write
from lambdak.table.close_names import meant

EXAMPLES = (
    "lambdak drift patients.csv patients.csv",
    "lambdak drift patients.csv patients.csv --plot drift.png",
    "lambdak drift patients.csv patients.csv --column bmi --plot bmi.png",
)

_LEGEND = (
    "psi: population stability index, below 0.1 little change, up to 0.25 some, above large; chance: what two samples "
    "of one population stay below in 95 of 100 cases; mean shift: by how much the mean prediction changes if this "
    "column alone drifts; unseen: share of cells outside of what training saw"
)


def drift(
    old: Annotated[str, typer.Argument(metavar="OLD", help="The table to compare with, such as training rows.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The table that may have drifted.")],
    model: ModelFile = DEFAULT_MODEL,
    weight: Annotated[
        str | None, typer.Option(help="Column of both tables that says how much a row counts.", show_default=False)
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="Show the bands of this column instead of all columns.", show_default=False)
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS", help="Which class or quantile level, or its position; 0 is the first.", show_default=False
        ),
    ] = None,
    out: Annotated[str | None, typer.Option(help="Write the result as a table.", show_default=False)] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it to this PNG file.", show_default=False)] = None,
    form: TableFormat = None,
    raw_text: RawText = False,
    as_json: AsJson = False,
) -> None:
    """Compare two tables: every column, the prediction, and what moved its mean."""
    if out is not None:
        tables.check_out(out)
    if plot is not None:
        check_output(plot, "--plot")
        plotting()
    fitted = read_model(model)
    _check_column(fitted, column)
    (before, weight_old), (after, weight_new) = (_table(fitted, path, form, weight) for path in (old, new))
    with naming(new):
        output_ = cells.output(fitted, output)
        found = fitted.drift(before, after, sample_weight_old=weight_old, sample_weight_new=weight_new, output=output_)
    shown = found if column is None else found[column]
    if plot is not None:
        save_picture(shown.plot(), plot)
    frame = shown.to_frame()
    if out is not None:
        write(frame, out, raw_text=raw_text)
    if as_json:
        print_json({"mean_old": found.mean_old, "mean_new": found.mean_new, "drift": list(tables.rows(frame))})
    elif out is None:
        print_columns(frame.to_pydict(), _LEGEND if column is None else "shares of the rows of both tables")


def _check_column(fitted: Any, column: str | None) -> None:
    known = fitted.model_.encoder.feature_names
    if column is not None and column not in known:
        raise InputError(
            f"--column must be a column of the model; got {column!r}. {meant(column, known)}It has {listed(known)}"
        )


def _table(fitted: Any, path: str, form: tables.Format | None, weight: str | None) -> tuple[Any, Any]:
    """The model's columns of a table, and the weight of its rows."""
    with naming(path):
        table = read_columns(fitted, path, form)
        if weight is None:
            return columns_of(fitted, table), None
        tables.check_names([weight], table, path, "--weight")
        weights = numbers(table, weight, path)
        if (weights < 0).any() or not weights.any():
            raise InputError(f"column {weight!r} of {path} must hold weights, none negative and one of them positive")
        return columns_of(fitted, table), weights
