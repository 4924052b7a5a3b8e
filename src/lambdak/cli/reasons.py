"""``lambdak reasons``: why rows are declined, and what would have been enough."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Annotated, Any

import narwhals.stable.v2 as nw
import typer

from lambdak.cli import cells, options, tables
from lambdak.cli.errors import naming, note
from lambdak.cli.models import columns_of, only_row, read_columns, read_model
from lambdak.cli.options import DEFAULT_MODEL, AsJson, ModelFile, RawText, TableFile, TableFormat
from lambdak.cli.outputs import print_json, say
from lambdak.cli.plain_files import STREAM
from lambdak.cli.written_tables import write

EXAMPLES = (
    'lambdak reasons patients.csv --row 0 --target "<=180" --exclude sex --immutable age',
    'lambdak reasons patients.csv --row 0 --target "<=180" --text "bmi=[R1] The weight is too high for the size"',
    'lambdak reasons patients.csv --target "<=180" --baseline patients.csv --top 2 --out reasons.csv',
)


class Undirected(Enum):
    """What to do with columns without a promised direction."""

    WARN = "warn"
    EXCLUDE = "exclude"
    NAME = "name"


def reasons(
    table: TableFile,
    target: Annotated[
        str,
        typer.Option(help='What an approval is: a class, or ">=100" or "<=100" of the prediction.', metavar="TARGET"),
    ],
    model: ModelFile = DEFAULT_MODEL,
    threshold: Annotated[
        float | None,
        typer.Option(help="The least probability of the class, of two; the predicted class by default.", min=0, max=1),
    ] = None,
    row: Annotated[
        int | None, typer.Option(min=0, help="This row only; 0 is the first. All rows by default.", show_default=False)
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Most reasons of a row.")] = 4,
    text: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=TEXT", help="Text of a reason, or [CODE] TEXT. Repeatable."),
    ] = None,
    exclude: Annotated[list[str] | None, typer.Option(metavar="COLUMN,…", help="Columns that are never named.")] = None,
    immutable: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN,…", help="Columns that are named, but cannot change.")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="TABLE", help="Compare with the middle of the approved rows of this table.")
    ] = None,
    undirected: Annotated[
        Undirected,
        typer.Option(
            help="Columns of numbers without a promised direction: warn of them, exclude them, or just name them."
        ),
    ] = Undirected.WARN,
    out: Annotated[str | None, typer.Option(help="Write the reasons as a table; - is CSV to standard output.")] = None,
    form: TableFormat = None,
    raw_text: RawText = False,
    as_json: AsJson = False,
) -> None:
    """Say why rows are declined: the principal reasons first, each with what would have been enough, proven."""
    if out is not None:
        tables.check_out(out)
    fitted = read_model(model)
    columns = cells.columns_by_name([fitted])
    names = {
        "--text": cells.texts(text or (), columns),
        "--exclude": options.names(exclude or ()),
        "--immutable": options.names(immutable or ()),
    }
    for option, named in names.items():
        cells.check_columns(named, columns, option)
    X = columns_of(fitted, read_columns(fitted, table, form))
    compared = None if baseline is None else columns_of(fitted, read_columns(fitted, baseline, form))
    with naming(table), _noted():
        found = fitted.reasons(
            only_row(X, row, table), threshold, top, target=cells.target(fitted, target), texts=names["--text"],
            exclude=names["--exclude"], immutable=names["--immutable"], baseline=compared,
            undirected=undirected.value,
        )  # fmt: skip
    _show(found, row or 0, out, raw_text, as_json)


@contextmanager
def _noted() -> Iterator[None]:
    """Say in the words of the command line which columns have no promised direction."""
    from lambdak.optimize.changes.reasons import DirectionWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DirectionWarning)
        yield
    for warning in caught:
        if issubclass(warning.category, DirectionWarning):
            said = str(warning.message).partition(" Fit with ")[0]
            note(f"{said} Fit with --monotone, or give --undirected exclude, which never names them, or name")
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def _show(found: Any, first: int, out: str | None, raw_text: bool, as_json: bool) -> None:
    """Words, a table, or JSON, with rows counted from those of the file."""
    if out is not None:
        frame = nw.from_native(found.to_frame(), eager_only=True)
        write(frame.with_columns(nw.col("row") + first).to_native(), out, raw_text=raw_text)
    if as_json:
        data = found.to_dict()
        print_json(data | {"decisions": [_numbered(decision, first) for decision in data["decisions"]]})
    elif out != STREAM:
        say("\n".join(_renamed(found.why(i), decision.row, first) for i, decision in enumerate(found)))


def _numbered(decision: dict[str, Any], first: int) -> dict[str, Any]:
    row = decision["row"] + first
    reasons = [reason | {"row": row} for reason in decision["reasons"]]
    return decision | {"row": row, "reasons": reasons, "why": _renamed(decision["why"], decision["row"], first)}


def _renamed(why: str, row: int, first: int) -> str:
    return why.replace(f"Row {row}:", f"Row {row + first}:", 1)
