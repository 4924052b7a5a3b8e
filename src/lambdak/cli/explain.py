"""``lambdak explain``: what each column does, or why a row is predicted as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import narwhals.stable.v2 as nw
import typer

from lambdak.cli import cells, tables
from lambdak.cli.errors import InputError, naming
from lambdak.cli.models import columns_of, read_columns, read_model
from lambdak.cli.options import DEFAULT_MODEL, AsJson, ModelFile, OptionalTable, RawText, TableFormat
from lambdak.cli.outputs import check_output, plotting, print_columns, print_json, save_picture, say
from lambdak.cli.plain_files import STREAM
from lambdak.cli.written_tables import write

EXAMPLES = (
    "lambdak explain",
    "lambdak explain patients.csv --plot columns.png",
    "lambdak explain patients.csv --row 0",
    "lambdak explain patients.csv --local --out rows.csv",
)

_ARROWS = {1: " ↑", -1: " ↓", 0: ""}
_LEGEND = (
    "importance: how far the column moves the raw score on average over the rows, from its median or average level; "
    "↑ ↓: the raw score never falls or rises with the column; proven: no change of the column moves a raw score by "
    "more, in total or per unit; observed: the largest change over the rows, or without a table that of the baseline, "
    "which has the median of each number and the average level of each category; tightness: observed / proven; slopes "
    "are those at the rows"
)


def explain(
    table: OptionalTable = None,
    model: ModelFile = DEFAULT_MODEL,
    local: Annotated[
        bool, typer.Option("--local", help="Explain every row of the table instead of the model.")
    ] = False,
    row: Annotated[int | None, typer.Option(min=0, help="Explain this row in words; 0 is the first.")] = None,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS", help="Which class or quantile level, or its position; 0 is the first.", show_default=False
        ),
    ] = None,
    out: Annotated[str | None, typer.Option(help="Write the explanation as a table.", show_default=False)] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it to this PNG file.", show_default=False)] = None,
    form: TableFormat = None,
    raw_text: RawText = False,
    as_json: AsJson = False,
) -> None:
    """Explain a model, or single predictions of it.

    Without a table: what is proven about every column. With a table: also what is observed on its rows.
    """
    if out is not None:
        tables.check_out(out)
    if plot is not None:
        check_output(plot, "--plot")
        plotting()
    one = local or row is not None
    if one and table is None:
        raise typer.BadParameter("needs a TABLE with rows to explain", param_hint="--local" if local else "--row")
    fitted = read_model(model)
    with naming(table or ""):
        X = None if table is None else columns_of(fitted, read_columns(fitted, table, form))
        if row is not None:
            X = _only(X, row, str(table))
        output_ = cells.output(fitted, output)
        explanation = fitted.explain_local(X, output=output_) if one else fitted.explain_global(X, output=output_)
    if plot is not None:
        ax = explanation.plot()
        ax.set_title(ax.get_title() if row is None else ax.get_title().replace("Row 0", f"Row {row}"))
        save_picture(ax, plot)
    _show(explanation, row, out, raw_text, as_json)


def _only(X: Any, row: int, path: str) -> Any:
    """The table with this row alone."""
    if row >= X.num_rows:
        raise InputError(f"--row must be in [0, {X.num_rows}), the rows of {path}; got {row}")
    return X.slice(row, 1)


def _show(explanation: Any, row: int | None, out: str | None, raw_text: bool, as_json: bool) -> None:
    """Print or write an explanation: words for one row, CSV for many, a table for the model."""
    frame = nw.from_native(explanation.to_frame(), eager_only=True)
    if row is not None:
        frame = frame.with_columns(row=nw.lit(row))
    if out is not None:
        write(frame.to_native(), out, raw_text=raw_text)
    if as_json:
        words = {} if row is None else {"row": row, "why": explanation.why(0)}
        print_json(words | {"explanation": list(tables.rows(frame.to_native()))})
    elif row is not None:
        say(explanation.why(0))
    elif out is None and "row" in frame.columns:
        write(frame.to_native(), STREAM, raw_text=raw_text)
    elif out is None:
        print_columns(_short(frame.drop("kind", "promised", strict=False).to_dict(as_series=False)), _LEGEND)
        for words in explanation.promised:
            say(f"promised: {words}")


def _short(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The sign of a column as an arrow behind its name."""
    signs = columns.pop("sign")
    names = [f"{name}{_ARROWS[sign]}" for name, sign in zip(columns["column"], signs, strict=True)]
    return columns | {"column": names}
