"""``lambdak counterfactual``: the cheapest change of a row that reaches a target."""

from __future__ import annotations

from typing import Annotated, Any

import narwhals.stable.v2 as nw
import typer

from lambdak.cli import cells, options, tables
from lambdak.cli.errors import NOTHING_FOUND, complain, naming, note
from lambdak.cli.models import columns_of, only_row, read_columns, read_model
from lambdak.cli.options import DEFAULT_MODEL, AsJson, ModelFile, RawText, TableFile, TableFormat
from lambdak.cli.outputs import print_json, say
from lambdak.cli.plain_files import STREAM
from lambdak.cli.written_tables import write

EXAMPLES = (
    'lambdak counterfactual patients.csv --row 0 --target "<=180" --actionable bmi,pressure',
    'lambdak counterfactual patients.csv --row 0 --target "<=180" --actionable bmi,hdl,sugar --direction hdl=up --n 2',
    'lambdak counterfactual patients.csv --row 0 --target "<=180" --actionable bmi,sugar --cost bmi=2 --out then.csv',
)


def counterfactual(
    table: TableFile,
    target: Annotated[
        str,
        typer.Option(help='What to reach: ">=0.5" or "<=100", a class, or a number to be crossed.', metavar="TARGET"),
    ],
    actionable: Annotated[list[str], typer.Option(metavar="COLUMN,…", help="Columns that may change.")],
    model: ModelFile = DEFAULT_MODEL,
    row: Annotated[
        int | None, typer.Option(min=0, help="This row only; 0 is the first. All rows by default.", show_default=False)
    ] = None,
    direction: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=up|down", help="A column that may only rise, or only fall. Repeatable."),
    ] = None,
    cost: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=NUMBER", help="What a change of one spread of the column costs; 1 by default."),
    ] = None,
    bounds: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=LOW:HIGH", help="Bounds of a column, or its levels: region=a,b."),
    ] = None,
    whole: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN,…", help="Columns of whole numbers; those of training by default."),
    ] = None,
    n: Annotated[int, typer.Option("--n", min=1, help="How many different changes of each row.")] = 1,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS", help="Which quantile or cut-point, or its position; 0 is the first.", show_default=False
        ),
    ] = None,
    gap: Annotated[float, typer.Option(min=0, help="How much cheaper another change may be, relative.")] = 0.01,
    time_limit: Annotated[float, typer.Option(metavar="SECONDS", help="End each search after this time.")] = 10.0,
    out: Annotated[
        str | None, typer.Option(help="Write the changed rows as a table; - is CSV to standard output.")
    ] = None,
    form: TableFormat = None,
    raw_text: RawText = False,
    as_json: AsJson = False,
) -> None:
    """Find the cheapest change of a row that reaches a target, and prove how much cheaper another one could be at most.

    Every change is checked on what the model predicts. Ctrl-C ends with what was found so far. The exit code is 3 if
    no change was found.
    """
    if out is not None:
        tables.check_out(out)
    fitted = read_model(model)
    columns = cells.columns_by_name([fitted])
    names = {
        "--actionable": options.names(actionable),
        "--direction": cells.ways(direction or (), columns),
        "--cost": options.sizes(cost or (), "--cost"),
        "--bounds": cells.bounds(bounds or (), columns),
        "--whole": options.names(whole or ()),
    }
    for option, named in names.items():
        cells.check_columns(named, columns, option)
    X = columns_of(fitted, read_columns(fitted, table, form))
    with naming(table):
        found = fitted.counterfactual(
            only_row(X, row, table), cells.target(fitted, target), names["--actionable"], names["--cost"] or "l1",
            names["--direction"], n, bounds=names["--bounds"], whole=names["--whole"] or None, gap=gap,
            time_limit=time_limit, output=cells.output(fitted, output),
        )  # fmt: skip
    if any(change.status == "interrupted" for change in found):
        note("the search was interrupted: these are the changes so far")
    _show(found, row or 0, out, raw_text, as_json)


def _show(found: Any, first: int, out: str | None, raw_text: bool, as_json: bool) -> None:
    """Words, a table, or JSON; an exit code if nothing was found."""
    frame = nw.from_native(found.to_frame(), eager_only=True)
    frame = frame.with_columns((nw.col(frame.columns[0]) + first).alias(frame.columns[0]))
    if out is not None:
        write(frame.to_native(), out, raw_text=raw_text)
    if as_json:
        print_json({"changes": [_described(change, first) for change in found]})
    elif out != STREAM:
        say("\n".join(f"row {change.row + first}: {change}" for change in found))
    if all(change.changes is None for change in found):
        complain("no change was found that reaches the target")
        raise typer.Exit(NOTHING_FOUND)


def _described(change: Any, first: int) -> dict[str, Any]:
    names = ("number", "status", "goal", "before", "after", "changes", "cost", "bound", "gap", "seconds")
    return {"row": change.row + first, "words": str(change)} | {name: getattr(change, name) for name in names}
