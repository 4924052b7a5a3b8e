"""``lambdak predict``: from a table and a model file to a table of predictions, some rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from lambdak.cli import options, tables
from lambdak.cli.csv_stream import made_ahead, spread
from lambdak.cli.dataset import numbers
from lambdak.cli.errors import InputError, naming
from lambdak.cli.models import check_columns, columns_of, date_sources, note_mixed, read_model, text_columns, with_parts
from lambdak.cli.options import DEFAULT_MODEL, AsJson, ModelFile, RawText, TableFile, TableFormat
from lambdak.cli.outputs import print_json, say
from lambdak.cli.plain_files import STREAM
from lambdak.cli.table_streams import TableStream, Wanted, table_stream
from lambdak.cli.written_tables import table_writer
from lambdak.table.dates import part_names

EXAMPLES = (
    "lambdak predict patients.csv",
    "lambdak predict patients.csv --keep progression --out predicted.parquet",
    "lambdak predict - --model model.safetensors < patients.csv",
    "lambdak predict patients.csv --model quantiles.safetensors --levels 0.01,0.99 --coverage 0.9",
)


def predict(
    table: TableFile,
    model: ModelFile = DEFAULT_MODEL,
    out: Annotated[str, typer.Option(help="Where to write; the suffix is the format, - CSV to standard output.")] = "-",
    keep: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN,…", help="Columns of the table to copy next to the predictions.")
    ] = None,
    proba: Annotated[
        bool, typer.Option(help="Columns p_CLASS with the probability of each class, if the model has classes.")
    ] = True,
    quantiles: Annotated[bool, typer.Option(help="Columns q_LEVEL, if the model has quantiles.")] = True,
    levels: Annotated[
        str | None, typer.Option(metavar="LEVEL,…", help="Columns q_LEVEL for these levels instead, any in [0, 1].")
    ] = None,
    coverage: Annotated[
        str | None,
        typer.Option(metavar="SHARE,…", help="Columns low_SHARE and high_SHARE: calibrated intervals of quantiles."),
    ] = None,
    times: Annotated[
        str | None,
        typer.Option(metavar="T,T,…", help="Columns s_T, the probability of no event by T, if the model has times."),
    ] = None,
    offset: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The offset, if the model was fitted with one.")
    ] = None,
    exposure: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The exposure, if the model was fitted with one.")
    ] = None,
    form: TableFormat = None,
    raw_text: RawText = False,
    as_json: AsJson = False,
) -> None:
    """Predict the rows of a table, or of a folder of Parquet files, however many: some rows are in memory at a time.

    JSON lines are read as a whole.
    """
    tables.check_out(out)
    fitted = read_model(model).set_params(n_jobs=1)  # each part has a thread of its own
    further = _Further(
        _times(times, fitted), _shares(levels, "--levels", fitted), _shares(coverage, "--coverage", fitted)
    )
    answers = _Answers(fitted, table, options.names(keep or ()), proba, quantiles, _beside(offset, exposure), further)
    printed: list[dict[str, Any]] = []
    with naming(table), table_stream(table, form) as stream, _progress() as bar:
        if as_json and out == STREAM:
            rows, names = answers.write(stream, bar, lambda part: printed.extend(tables.rows(part)))
        else:
            with table_writer(out, raw_text=raw_text) as writer:
                rows, names = answers.write(stream, bar, writer.write)
    if as_json:
        where = {"out": out} if out != STREAM else {"predictions": printed}
        print_json({"model": str(model), "rows": rows, "columns": names} | where)
    elif out != STREAM:
        say(f"{rows} rows with {', '.join(names)}: {out}")


def _shares(given: str | None, option: str, fitted: Any) -> tuple[float, ...]:
    """Numbers in [0, 1] of an option that belongs to quantiles."""
    if given is None:
        return ()
    if not hasattr(fitted, "predict_interval"):
        raise typer.BadParameter("belongs to models of quantiles", param_hint=option)
    try:
        found = tuple(float(item) for item in given.split(","))
    except ValueError:
        found = ()
    if not found or not all(0 <= item <= 1 for item in found):
        raise typer.BadParameter(f"must be numbers in [0, 1], such as 0.1,0.9; got {given}", param_hint=option)
    return found


def _times(given: str | None, fitted: Any) -> list[float]:
    """The times at which to predict."""
    if given is None:
        return []
    if not fitted.model_.loss.times:
        raise typer.BadParameter("belongs to models of times to an event", param_hint="--times")
    times = [options.number(each, "--times") for each in given.split(",")]
    if any(time < 0 for time in times):
        raise typer.BadParameter(f"must not be negative; got {given}", param_hint="--times")
    return times


def _beside(offset: str | None, exposure: str | None) -> dict[str, str]:
    """The columns that are given beside those of the model."""
    if offset is not None and exposure is not None:
        raise typer.BadParameter("give --offset or --exposure, not both", param_hint="--exposure")
    return {name: values for name, values in (("offset", offset), ("exposure", exposure)) if values is not None}


class _Further(NamedTuple):
    """What is predicted beside what every model has: at these times, levels of quantiles, and coverages."""

    times: list[float]
    levels: tuple[float, ...]
    coverages: tuple[float, ...]


@dataclass(frozen=True)
class _Answers:
    """What is predicted, and what is copied next to it."""

    fitted: Any
    path: str
    keep: list[str]
    proba: bool
    quantiles: bool
    beside: dict[str, str]  # offset or exposure: the name of its column
    further: _Further

    def write(self, stream: TableStream, bar: _Bar, write: Callable[[Any], None]) -> tuple[int, list[str]]:
        """Predict part by part while others are read and written; the number of rows, and the names of the columns."""
        from lambdak.eigen.runtime import get_num_threads

        rows = stream.prepare(self._wanted(stream), bar.begin("reading types", 1.0))
        advance, done = bar.begin("predicting", rows), 0
        with (
            made_ahead(_numbered(stream.parts())) as read,
            closing(spread(self._answer, read, get_num_threads())) as parts,
        ):
            for part in parts:
                write(part)
                done += part.num_rows
                advance(done)
        return rows, part.column_names

    def _wanted(self, stream: TableStream) -> Wanted:
        from lambdak.model.rows import check_exposure, check_offset

        names = self.fitted.model_.encoder.feature_names
        sources = date_sources(names, stream.column_names)
        parts = [part for name in sources for part in part_names(name)]
        check_columns(self.fitted, [*stream.column_names, *parts], self.path)
        tables.check_names(self.keep, stream, self.path, "--keep")
        for option, name in self.beside.items():
            loss = self.fitted.model_.loss
            check_exposure(loss) if option == "exposure" else check_offset(loss)
            tables.check_names([name], stream, self.path, f"--{option}")
        columns = self.fitted.model_.encoder.columns
        copied = [*self.keep, *self.beside.values()]
        every = dict.fromkeys([*(name for name in names if name not in parts), *sources, *copied])
        plain = [each.name for each in columns if each.is_number and each.name not in parts]
        return Wanted(text_columns(self.fitted), plain, copied, list(every))

    def _answer(self, numbered: tuple[int, Any]) -> Any:
        """The table of predictions, with the columns that are kept before them."""
        from lambdak.table.read import read_table

        first_row, part = numbered
        if not first_row:  # columns have the types of the whole file
            note_mixed(self.fitted, part, self.path)
        X = replace(read_table(columns_of(self.fitted, self._dated(part))), first_row=first_row)
        beside = {option: numbers(part, name, self.path, first_row) for option, name in self.beside.items()}
        found = {"prediction": self.fitted.predict(X, **beside)}
        found |= self._further(X, beside)
        clash = [name for name in self.keep if name in found]
        if clash:
            raise InputError(
                f"--keep must not name {clash[0]!r}, which is a column of predictions: rename it in {self.path}"
            )
        return tables.made({name: part.column(name) for name in self.keep} | found)

    def _dated(self, part: Any) -> Any:
        """Some rows with the numbers of dates, where the model has them."""
        return with_parts(part, self.fitted.model_.encoder.feature_names)

    def _further(self, X: Any, beside: dict[str, Any]) -> dict[str, NDArray[Any]]:
        """Probabilities of classes, or quantiles."""
        fitted = self.fitted
        if self.proba and hasattr(fitted, "classes_"):
            labels = fitted.classes_.tolist()
            return {f"p_{label}": p for label, p in zip(labels, fitted.predict_proba(X, **beside).T, strict=True)}
        further = self.further
        if fitted.model_.loss.times:
            survival = fitted.predict_survival_function(X, further.times or [0.0]).T
            columns = {f"s_{time:g}": s for time, s in zip(further.times, survival, strict=False)}
            return {"median": fitted.predict_quantile(X), **columns}
        levels, found = further.levels or fitted.model_.outputs.quantile_levels, {}
        if self.quantiles and levels:
            quantiles = fitted.predict_quantiles(X, further.levels or None)
            found = {f"q_{level:g}": q for level, q in zip(levels, quantiles.T, strict=True)}
        for share in further.coverages:
            low, high = fitted.predict_interval(X, share).T
            found |= {f"low_{share:g}": low, f"high_{share:g}": high}
        return found


def _numbered(parts: Iterator[Any]) -> Generator[tuple[int, Any], None, None]:
    """Parts of a table that have rows, each after the number of rows before it."""
    before = 0
    for part in parts:
        if part.num_rows:
            yield before, part
        before += part.num_rows


class _Rate(ProgressColumn):
    """Rows, and rows per second."""

    def render(self, task: Task) -> Text:
        """Rows and rows per second as text; empty while types are read, which counts no rows."""
        rate = f", {task.speed:,.0f}/s" if task.speed else ""
        return Text(f"{task.completed:,.0f} rows{rate}" if task.total and task.total > 1 else "")


@dataclass(frozen=True)
class _Bar:
    """A progress bar on stderr, if that is a terminal."""

    progress: Progress

    def begin(self, title: str, total: float) -> Callable[[float], None]:
        """What is done from now on; the function that takes how much of it is done."""
        for task in self.progress.task_ids:
            self.progress.remove_task(task)
        new = self.progress.add_task(title, total=total)
        return lambda done: self.progress.update(new, completed=done)


@contextmanager
def _progress() -> Iterator[_Bar]:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), _Rate(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield _Bar(progress)
