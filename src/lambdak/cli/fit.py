"""``lambdak fit``: from a table to a model file."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lambdak.cli import options, tables
from lambdak.cli.constraint import OPTION, complete_constraint, named_columns, read_constraints
from lambdak.cli.dataset import ColumnRoles, Dataset
from lambdak.cli.errors import naming, note, noticing_interrupts
from lambdak.cli.event_columns import EventColumns, EventRoles
from lambdak.cli.fit_summary import described, metrics, print_summary
from lambdak.cli.options import DEFAULT_MODEL, AsJson, TableFile, TableFormat
from lambdak.cli.outputs import check_output, print_json
from lambdak.cli.tables import MEMORY, check_large_usage, is_large
from lambdak.cli.task import CLASSES, QUANTILES, Task, check_usage, choose_task, estimator_of

if TYPE_CHECKING:
    from lambdak.cli.large_rows import LargeRows

EXAMPLES = (
    "lambdak fit patients.csv --target progression",
    "lambdak fit patients.csv -t progression --monotone bmi=+,hdl=- --drop age",
    "lambdak fit patients.csv -t progression --loss gamma --max-influence sex=0.1",
    "lambdak fit patients.csv -t progression --shape convex --effort fast --json",
    "lambdak fit patients.csv -t progression --quantiles 0.05,0.5,0.95 --model quantiles.safetensors",
    "lambdak fit patients.csv -t progression --large",
    "lambdak fit patients.csv -t progression --interactions age,sex,bmi --interactions ldl,hdl",
    "lambdak fit patients.csv --task survival --time progression --monotone bmi=- --model times.safetensors",
    'lambdak fit patients.csv -t progression --constraint "Rising(bmi)" --constraint "Concave(age)"',
)
_COLUMNS, _PROMISES, _TRAINING, _FILES = "Columns", "Guarantees", "Training", "Files"
_EVENTS = "Times to an event"


# Written out, so that --help need not load the library; tests compare them with it.
LOSSES = ("squared_error", "absolute_error", "huber", "poisson", "gamma", "tweedie")  # instead of quantile, --quantiles
MAX_DIM, MAX_MEMBERS = 128, 64


def _known_loss(name: str) -> str:
    if name not in LOSSES:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, LOSSES))}.")
    return name


_LOSS = typer.Option(
    parser=_known_loss, metavar=f"[{'|'.join(LOSSES)}]", help="Loss of a regression; squared_error by default."
)


class Shape(StrEnum):
    """How the prediction bends."""

    CONVEX = "convex"
    CONCAVE = "concave"


class Effort(StrEnum):
    """How much time to spend on accuracy."""

    FAST = "fast"
    BALANCED = "balanced"
    BEST = "best"


def fit(
    table: TableFile,
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.")
    ] = None,
    model: Annotated[
        Path, typer.Option("--model", "-m", help="Where to write the model.", rich_help_panel=_FILES)
    ] = DEFAULT_MODEL,
    task: Annotated[Task, typer.Option(help="auto: text and booleans are classes, numbers a regression.")] = Task.AUTO,
    loss: Annotated[str | None, _LOSS] = None,
    power: Annotated[float, typer.Option(help="Power of the tweedie loss, between 1 and 2.")] = 1.5,
    quantiles: Annotated[
        str | None,
        typer.Option(metavar="Q,Q,…", help=f"Predict these quantiles, which never cross, such as {QUANTILES}."),
    ] = None,
    monotone: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=+|-",
            help="The prediction never falls (+) or never rises (-) with the column. Repeatable.",
            rich_help_panel=_PROMISES,
        ),
    ] = None,
    shape: Annotated[
        Shape | None, typer.Option(help="Convex or concave in all numeric columns together.", rich_help_panel=_PROMISES)
    ] = None,
    max_influence: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=NUMBER",
            help="The most that any change of the column may move the raw score (the prediction before the link); "
            "a number alone is for all columns, and A+B=NUMBER for columns together. Repeatable.",
            rich_help_panel=_PROMISES,
        ),
    ] = None,
    interactions: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN,…",
            help="Only these columns may interact with one another; no_interactions or pairwise alone is for all "
            "columns. Repeatable, for several groups.",
            rich_help_panel=_PROMISES,
        ),
    ] = None,
    protected: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN,…",
            help="Columns that reasons never name, such as age, while they count.",
            rich_help_panel=_PROMISES,
        ),
    ] = None,
    constraint: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SHAPE(COLUMN, …)",
            help='What is known of columns, as in Python: "Rising(income)", "Concave(age, dose)". Repeatable.',
            rich_help_panel=_PROMISES,
            autocompletion=complete_constraint,
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of times, with --task survival.", rich_help_panel=_EVENTS),
    ] = None,
    event: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column that is 1 for an event, 0 for a censored row.", rich_help_panel=_EVENTS
        ),
    ] = None,
    entry: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column of times from which rows were seen: late entry.", rich_help_panel=_EVENTS
        ),
    ] = None,
    lower: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="With --upper: columns between which events were.", rich_help_panel=_EVENTS
        ),
    ] = None,
    upper: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Empty where the event was later than --lower.", rich_help_panel=_EVENTS),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN,…", help="Columns to ignore, such as row numbers.", rich_help_panel=_COLUMNS),
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN,…", help="Numeric columns to treat as categories.", rich_help_panel=_COLUMNS),
    ] = None,
    max_categories: Annotated[
        int | None,
        typer.Option(
            min=1, help="Most levels of a category: the rarest become one; all by default.", rich_help_panel=_COLUMNS
        ),
    ] = None,
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of sample weights.", rich_help_panel=_COLUMNS)
    ] = None,
    offset: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column added to the raw score.", rich_help_panel=_COLUMNS),
    ] = None,
    exposure: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of exposures, such as years: with a log link, their logarithm is the offset.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Ignore rows without a target.", rich_help_panel=_COLUMNS)
    ] = False,
    effort: Annotated[
        Effort, typer.Option(help="How much time to spend on accuracy.", rich_help_panel=_TRAINING)
    ] = Effort.BALANCED,
    dim: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MAX_DIM,
            help="Size of the matrices; by default --effort and the table decide.",
            rich_help_panel=_TRAINING,
        ),
    ] = None,
    members: Annotated[
        int | None,
        typer.Option(
            min=1, max=MAX_MEMBERS, help="Models in the ensemble; 1 is easiest to read.", rich_help_panel=_TRAINING
        ),
    ] = None,
    alpha: Annotated[
        float,
        typer.Option(
            min=0,
            help="Penalty that removes useless columns; about 1 removes columns of pure noise.",
            rich_help_panel=_TRAINING,
        ),
    ] = 0.0,
    balance: Annotated[
        bool,
        typer.Option(
            "--balance", help="Predictions add up to the targets of the training rows.", rich_help_panel=_TRAINING
        ),
    ] = False,
    max_iter: Annotated[
        int | None, typer.Option(min=1, help="Epochs; by default --effort decides.", rich_help_panel=_TRAINING)
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Random seed: same seed, same model.", rich_help_panel=_TRAINING)
    ] = 0,
    test_fraction: Annotated[
        float,
        typer.Option(min=0, max=0.9, help="Share of rows to test on; 0 trains on all rows.", rich_help_panel=_TRAINING),
    ] = 0.2,
    test: Annotated[
        str | None, typer.Option(metavar="TABLE", help="Test on this table instead.", rich_help_panel=_FILES)
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Save the state of the training here every minute: if it is killed, the same command continues.",
            rich_help_panel=_FILES,
        ),
    ] = None,
    large: Annotated[
        bool | None,
        typer.Option(
            "--large/--no-large",
            help="Read rows in batches instead of holding all of them in memory. By default: of a folder, and of "
            f"{MEMORY}.",
            show_default=False,
            rich_help_panel=_FILES,
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Keep the encoded rows of a large table here: the next fit of the same rows is faster.",
            rich_help_panel=_FILES,
        ),
    ] = None,
    form: TableFormat = None,
    as_json: AsJson = False,
) -> None:
    """Fit a model to a table, or to a folder of Parquet files, with guarantees by column, and write it to a file.

    Ctrl-C stops the training early: the best model so far is kept, once the epochs of the members have begun.
    """
    from lambdak.cli.large_rows import LargeRows, large_data, large_like

    levels = None if quantiles is None else options.quantile_levels(quantiles)
    signs, caps = options.signs(monotone or ()), _caps(max_influence or ())
    groups, shapes = options.groups(interactions or ()), read_constraints(constraint or ())
    check_output(model, "--model")
    if checkpoint is not None:
        check_output(checkpoint, "--checkpoint")
    batches = is_large(table, form, large)
    check_large_usage(batches, balance, cache)
    events = EventColumns(time, event, entry, lower, upper)
    target = _target(task, target, events, batches)
    kind, more = (EventRoles, {"events": events}) if task is Task.SURVIVAL else (ColumnRoles, {})
    roles = kind(
        target, weight, offset, options.names(drop or ()), options.names(categorical or ()), drop_missing, exposure,
        **more,
    )  # fmt: skip
    with ExitStack() as files:
        with naming(table):
            data = files.enter_context(large_data(roles, table, form, cache)) if batches else roles.read(table, form)
        tables.check_names(signs, data, table, "--monotone")
        caps = _grouped(caps, data.column_names) if isinstance(caps, dict) else caps
        named = [
            name
            for key in (caps if isinstance(caps, dict) else ())
            for name in (key if isinstance(key, tuple) else (key,))
        ]
        tables.check_names(named, data, table, "--max-influence")
        tables.check_names(chain(*(groups if isinstance(groups, list) else ())), data, table, "--interactions")
        tables.check_names(named_columns(shapes), data, table, OPTION)
        unnamed = options.names(protected or ())
        tables.check_names(unnamed, data, table, "--protected")
        with naming(table):
            task, why = choose_task(Task.QUANTILE if levels and task is Task.AUTO else task, data.y, target)
        check_usage(task, loss, levels, offset, exposure)
        train: Dataset | LargeRows
        unseen: Dataset | LargeRows | None
        if test is None:
            train, unseen = data.split(test_fraction, task in CLASSES, seed)
        elif isinstance(data, LargeRows):
            train, unseen = data, files.enter_context(large_like(data, test, form))
        else:
            train, unseen = data, roles.like(data, test, form)
        estimator = estimator_of(
            task, levels, loss, power, monotonic_cst=signs or None, shape=shape and shape.value, max_influence=caps,
            interaction_cst=groups, constraints=shapes or None, max_categories=max_categories, alpha=alpha,
            effort=effort.value, dim=dim, n_estimators=members, max_iter=max_iter, balance=balance, random_state=seed,
            verbose=1, protected_features=unnamed or None,
        )  # fmt: skip
        with naming(table):
            timing = _fit_(estimator, train, checkpoint)
        estimator.save(model)
        with naming(test or table):
            quality = {} if unseen is None else {"metrics": metrics(estimator, unseen)}
    parts = {"target": target, "task": task.value, "why": why, "rows": len(train), "test_rows": len(unseen or ())}
    answer = parts | described(estimator, model) | timing | quality
    print_json(answer) if as_json else print_summary(answer)


def _target(task: Task, target: str | None, events: EventColumns, large: bool) -> str:
    """The column to predict, or that of times; options that do not belong to the task are refused."""
    if task is not Task.SURVIVAL:
        for option in events.named:
            raise typer.BadParameter(f"belongs to --task {Task.SURVIVAL.value}", param_hint=option)
        if target is None:
            raise typer.BadParameter("must name the column to predict", param_hint="--target")
        return target
    if target is not None:
        raise typer.BadParameter("is --time or --lower with --task survival", param_hint="--target")
    if large:
        raise typer.BadParameter(
            "does not belong to --task survival: fit to a sample of the rows", param_hint="--large"
        )
    return events.first


def _caps(values: list[str] | tuple[()]) -> dict[str, float | str] | float | None:
    if len(values) == 1 and "=" not in values[0]:
        return options.number(values[0], "--max-influence")
    return options.sizes(values, "--max-influence") or None


def _grouped(caps: dict[Any, Any], known: Sequence[str]) -> dict[Any, Any]:
    """Caps in which names between plus signs are a tuple of columns, unless a column has that very name."""
    return {name if name in known or "+" not in name else tuple(name.split("+")): cap for name, cap in caps.items()}


def _fit_(estimator: Any, rows: Dataset | LargeRows, checkpoint: Path | None) -> dict[str, Any]:
    """Fit in place; returns the seconds it took and whether it was interrupted."""
    from lambdak.table.doubtful_columns import IdentifierWarning, StrayTextWarning

    began = time.perf_counter()
    with warnings.catch_warnings(), noticing_interrupts() as interrupts:
        for kind in (StrayTextWarning, IdentifierWarning):  # said already, with rows and options of the command
            warnings.simplefilter("ignore", kind)
        rows.fit_(estimator, checkpoint=checkpoint)
    if interrupts:
        note("the training was interrupted: the model is the best one so far")
    return {"seconds": round(time.perf_counter() - began, 3), "interrupted": bool(interrupts)}
