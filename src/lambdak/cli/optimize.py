"""``lambdak optimize``: the free columns at which a prediction is lowest or highest, with a proven bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import rich
import typer
from rich.live import Live
from rich.text import Text

from lambdak.atomic import write_text
from lambdak.cli import cells, options, tables
from lambdak.cli.errors import NOTHING_FOUND, InputError, complain, listed, note
from lambdak.cli.models import read_model, text_columns
from lambdak.cli.options import DEFAULT_MODEL, AsJson, ModelFile, OptionalTable, RawText, TableFormat
from lambdak.cli.outputs import check_output, json_text, plain, plotting, print_json, save_picture, say
from lambdak.cli.written_tables import write

if TYPE_CHECKING:
    from lambdak.optimize import Moment, Optimum

EXAMPLES = (
    "lambdak optimize patients.csv --row 0 --free bmi,pressure",
    "lambdak optimize patients.csv --row 0 --free bmi,pressure --bounds bmi=20:30 --whole pressure --maximize",
    'lambdak optimize patients.csv --row 0 --free bmi,pressure --constraint "2*bmi + pressure >= 150" --out best.csv',
)
_ROW, _SEARCH, _RESULT = "The row", "The search", "Results"
_JSON = ".json"


def optimize(
    free: Annotated[list[str], typer.Option(metavar="COLUMN,…", help="Columns to choose.")],
    table: OptionalTable = None,
    model: ModelFile = DEFAULT_MODEL,
    row: Annotated[
        int | None,
        typer.Option(min=0, help="Row of the table with the other columns; 0 is the first.", rich_help_panel=_ROW),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="COLUMN=VALUE", help="Cell of a column that is not free.", rich_help_panel=_ROW),
    ] = None,
    bounds: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=LOW:HIGH",
            help="Bounds of a free column, or its levels: region=a,b. The training range by default.",
            rich_help_panel=_SEARCH,
        ),
    ] = None,
    constraint: Annotated[
        list[str] | None,
        typer.Option(metavar="FORMULA", help='Such as "2*tv + radio <= 100". Repeatable.', rich_help_panel=_SEARCH),
    ] = None,
    constraint_model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            help='Another model, by a name for --constraint: risk=risk.safetensors, and "risk <= 0.05".',
            rich_help_panel=_SEARCH,
        ),
    ] = None,
    whole: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN,…",
            help="Free columns of whole numbers; those of training by default.",
            rich_help_panel=_SEARCH,
        ),
    ] = None,
    maximize: Annotated[
        bool, typer.Option("--maximize", help="The highest prediction instead.", rich_help_panel=_SEARCH)
    ] = False,
    output: Annotated[
        str | None,
        typer.Option(metavar="CLASS", help="Which class or quantile level, or its position.", rich_help_panel=_SEARCH),
    ] = None,
    gap: Annotated[
        float,
        typer.Option(help="End when value and bound are this close, relative to the value.", rich_help_panel=_SEARCH),
    ] = 1e-4,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="End after this time.", rich_help_panel=_SEARCH)
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(help="Write the row as a table, or all results as .json.", rich_help_panel=_RESULT),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw value and bound over time to this PNG file.", rich_help_panel=_RESULT)
    ] = None,
    form: TableFormat = None,
    raw_text: RawText = False,
    as_json: AsJson = False,
) -> None:
    """Choose the free columns so that the prediction is lowest, and prove how much lower it could be at most.

    Ctrl-C ends the search early with the best row so far and its gap. The exit code is 3 if no row meets the
    constraints, or none was found.
    """
    from lambdak.optimize import minimize

    names, integers = options.names(free), options.names(whole or ())
    _check_files(out, plot)
    fitted, others = read_model(model), _named_models(constraint_model or ())
    columns = cells.columns_by_name([fitted, *others.values()])
    limits = cells.bounds(bounds or (), columns)
    _check_names(names, limits, integers, columns)
    fixed = _fixed(table, row, form, [fitted, *others.values()]) | cells.cells(given or (), columns)
    fixed = _needed(fixed, names, columns, constraint or ())
    with _watching() as progress:
        best = minimize(
            fitted, names, limits, list(constraint or ()), fixed, maximize=maximize, gap=gap, time_limit=time_limit,
            whole=integers or None, models=others, output=cells.output(fitted, output), progress=progress,
        )  # fmt: skip
    if best.status == "interrupted":
        note("the search was interrupted: the row is the best one so far")
    answer = {"model": str(model)} | _described(best)
    _write(best, answer, out, plot, raw_text)
    _show(best, answer, as_json)


def _check_files(out: str | None, plot: Path | None) -> None:
    if out is not None and Path(out).suffix == _JSON:
        check_output(out, "--out")
    elif out is not None:
        tables.check_out(out)
    if plot is not None:
        check_output(plot, "--plot")
        plotting()


def _named_models(values: Iterable[str]) -> dict[str, Any]:
    """Name → fitted model."""
    found: dict[str, Any] = {}
    for value in values:
        name, equals, path = value.partition("=")
        if not (name.isidentifier() and equals and path):
            raise typer.BadParameter(
                f"{value!r} must be NAME=FILE, such as risk=risk.safetensors", param_hint="--constraint-model"
            )
        found[name] = read_model(Path(path))
    return found


def _check_names(free: list[str], limits: Mapping[str, Any], whole: list[str], columns: cells.Columns) -> None:
    """A free column that is in no model needs bounds; other names must be those of free columns."""
    cells.check_columns([name for name in free if name not in limits], columns, "--free")
    for option, names in (("--bounds", limits), ("--whole", whole)):
        for name in names:
            if name not in free:
                cells.check_columns([name], columns, option)
                raise InputError(f"{option} names column {name!r}, which is not free: name it in --free, too")


def _fixed(path: str | None, row: int | None, form: tables.Format | None, models: list[Any]) -> dict[str, Any]:
    """The cells of a row of a table; none without a table."""
    if path is None:
        if row is not None:
            raise typer.BadParameter("needs a TABLE that has this row", param_hint="--row")
        return {}
    table = tables.read(path, form, text=[name for model in models for name in text_columns(model)])
    if row is None and table.num_rows > 1:
        raise typer.BadParameter(f"says which of the {table.num_rows} rows of {path} is meant", param_hint="--row")
    if (row or 0) >= table.num_rows:
        raise InputError(f"--row must be in [0, {table.num_rows}), the rows of {path}; got {row}")
    found: dict[str, Any] = table.slice(row or 0, 1).to_pylist()[0]
    return found


def _needed(
    row: Mapping[str, Any], free: list[str], columns: cells.Columns, constraints: Sequence[str]
) -> dict[str, Any]:
    """The cells that models and constraints read, in the order of the models."""
    absent = [name for name in columns if name not in row and name not in free]
    if absent:
        raise InputError(
            f"columns {listed(absent)} are neither free nor fixed: name them in --free, fix them with a TABLE and "
            f"--row, or with --set {absent[0]}=VALUE"
        )
    further = [name for name in row if name not in columns and any(name in text for text in constraints)]
    return {name: row[name] for name in (*columns, *further) if name not in free}


@contextmanager
def _watching() -> Iterator[Callable[[Moment], None]]:
    """One line on stderr that follows the search, if that is a terminal."""
    with Live(console=rich.get_console(), transient=True, refresh_per_second=5) as live:
        yield lambda moment: live.update(Text(_line(moment)))


def _line(moment: Moment) -> str:
    """Where a search stands.

    >>> from lambdak.optimize import Moment
    >>> _line(Moment(1.25, 10.0, 9.5, 3000))
    '1.2 s   best 10   bound 9.5   gap 5 %   3,000 steps   (Ctrl-C ends with the best row so far)'
    """
    share = abs(moment.value - moment.bound) / abs(moment.value) if moment.value else float("inf")
    gap = f"{100 * share:.2g} %" if share < float("inf") else "open"
    best = f"{moment.value:.6g}" if abs(moment.value) < float("inf") else "none yet"
    return (
        f"{moment.seconds:.1f} s   best {best}   bound {moment.bound:.6g}   gap {gap}   {moment.work:,} steps   "
        "(Ctrl-C ends with the best row so far)"
    )


def _described(best: Optimum) -> dict[str, Any]:
    """All results but the trace."""
    names = ("status", "maximize", "value", "bound", "gap", "chosen", "row", "conflict", "method", "seconds")
    return {name: getattr(best, name) for name in names}


def _write(best: Optimum, answer: dict[str, Any], out: str | None, plot: Path | None, raw_text: bool) -> None:
    if plot is not None and best.trace:
        save_picture(best.plot(), plot)
    if out is not None and Path(out).suffix == _JSON:
        write_text(out, json_text(plain(answer)) + "\n")
    elif out is not None and best.row is not None:
        write(tables.made({name: [cell] for name, cell in best.row.items()}), out, raw_text=raw_text)


def _show(best: Optimum, answer: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(answer)
    elif best.row is not None:
        say(str(best))
    if best.row is None:
        complain(str(best))
        raise typer.Exit(NOTHING_FOUND)
