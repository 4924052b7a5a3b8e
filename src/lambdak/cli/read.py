"""``lambdak explain | certify | report``: what a model file tells about itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import narwhals.stable.v2 as nw
import typer

from lambdak.atomic import write_text
from lambdak.cli import options, tables
from lambdak.cli.errors import InputError, complain
from lambdak.cli.models import columns_of, read_columns, read_model
from lambdak.cli.options import DEFAULT_MODEL, AsJson, ModelFile, OptionalTable, TableFormat
from lambdak.cli.outputs import check_output, plotting, print_columns, print_json, save_picture
from lambdak.cli.rows import Choice

EXPLAIN_EXAMPLES = (
    "lambdak explain",
    "lambdak explain patients.csv --plot columns.png",
    "lambdak explain patients.csv --row 0",
    "lambdak explain patients.csv --local --out rows.csv",
)
CERTIFY_EXAMPLES = (
    "lambdak certify",
    "lambdak certify --within bmi=1 --within pressure=5",
    "lambdak certify --verify patients.csv --out certificate.json",
)
REPORT_EXAMPLES = ("lambdak report", "lambdak report patients.csv --target progression --out patients.html")

_ARROWS = {1: " ↑", -1: " ↓", 0: ""}
_LEGEND = (
    "↑ ↓: the score never falls or rises with the column; proven: no change of the column moves a score by more, in "
    "all or per unit; observed: the largest change over the rows, or of the typical row without a table; tightness: "
    "observed / proven; slopes are those at the rows"
)


def explain(
    table: OptionalTable = None,
    model: ModelFile = DEFAULT_MODEL,
    local: Annotated[bool, typer.Option("--local", help="Explain every row of the table, not the model.")] = False,
    row: Annotated[int | None, typer.Option(min=0, help="Explain this row in words; 0 is the first.")] = None,
    output: Annotated[
        int | None, typer.Option(min=0, help="Which class, quantile or cut-point; 0 is the first.", show_default=False)
    ] = None,
    out: Annotated[str | None, typer.Option(help="Write the explanation as a table.", show_default=False)] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it to this PNG file.", show_default=False)] = None,
    form: TableFormat = None,
    as_json: AsJson = False,
) -> None:
    """Explain a model, or single predictions of it.

    Without a table: what is proven about every column. With a table: also what its rows show.
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
    X = None if table is None else columns_of(fitted, read_columns(fitted, table, form))
    if row is not None:
        X = _only(X, row, str(table))
    explanation = fitted.explain_local(X, output=output) if one else fitted.explain_global(X, output=output)
    if plot is not None:
        ax = explanation.plot()
        ax.set_title(ax.get_title() if row is None else ax.get_title().replace("Row 0", f"Row {row}"))
        save_picture(ax, plot)
    _tell(explanation, row, out, as_json)


def _only(X: Any, row: int, path: str) -> Any:
    """The table with this row alone."""
    if row >= X.num_rows:
        raise InputError(f"--row must be in [0, {X.num_rows}), the rows of {path}; got {row}")
    return X.slice(row, 1)


def _tell(explanation: Any, row: int | None, out: str | None, as_json: bool) -> None:
    """Print or write an explanation: words for one row, CSV for many, a table for the model."""
    frame = nw.from_native(explanation.to_frame(), eager_only=True)
    if row is not None:
        frame = frame.with_columns(row=nw.lit(row))
    if out is not None:
        tables.write(frame.to_native(), out)
    if as_json:
        words = {} if row is None else {"row": row, "why": explanation.why(0)}
        print_json(words | {"explanation": list(tables.rows(frame.to_native()))})
    elif row is not None:
        typer.echo(explanation.why(0))
    elif out is None and "row" in frame.columns:
        tables.write(frame.to_native(), tables.STREAM)
    elif out is None:
        print_columns(_short(frame.drop("kind").to_dict(as_series=False)), _LEGEND)


def _short(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The sign of a column as an arrow behind its name."""
    signs = columns.pop("sign")
    names = [f"{name}{_ARROWS[sign]}" for name, sign in zip(columns["column"], signs, strict=True)]
    return columns | {"column": names}


def certify(
    model: ModelFile = DEFAULT_MODEL,
    within: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=NUMBER",
            help="Bound the response to changes of at most this much, all at once; any for categories. Repeatable.",
        ),
    ] = None,
    verify: Annotated[
        str | None, typer.Option(metavar="TABLE", help="Also search for counterexamples, from the rows of this table.")
    ] = None,
    pairs: Annotated[int, typer.Option(min=1, help="Pairs of rows to try with --verify.")] = 10_000,
    out: Annotated[Path | None, typer.Option(help="Write the certificate as JSON.", show_default=False)] = None,
    form: TableFormat = None,
    as_json: AsJson = False,
) -> None:
    """Prove what the model guarantees; the exit code is 1 if something that was asked of it does not hold."""
    tolerances = options.sizes(within or (), "--within", ("any",)) or None
    if out is not None:
        check_output(out, "--out")
    fitted = read_model(model)
    certificate = fitted.certify(tolerances)
    search = None
    if verify is not None:
        search = fitted.verify(columns_of(fitted, read_columns(fitted, verify, form)), n=pairs)
    answer = certificate.to_dict() | ({} if search is None else {"verification": search.to_dict()})
    if out is not None:
        write_text(out, json.dumps(answer, indent=2, ensure_ascii=False) + "\n")
    if as_json:
        print_json(answer)
    else:
        typer.echo("\n".join(str(each).rstrip() for each in (certificate, search) if each is not None))
    if not certificate.holds or (search is not None and search.violations):
        complain(f"{model} does not hold what was asked of it")
        raise typer.Exit(1)


def report(
    table: OptionalTable = None,
    model: ModelFile = DEFAULT_MODEL,
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="COLUMN", help="The true values, to show how good it is.")
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
        y = None if target is None else Choice(target).rows(data, table).y
    fitted.report(out, X, y)
    size = out.stat().st_size
    if as_json:
        print_json({"model": str(model), "out": str(out), "bytes": size})
    else:
        typer.echo(f"{out} ({size / 1e6:.1f} MB): open it in a browser")
