"""``lambdak dossier``: one document about a model, for those who validate it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from lambdak.cli import tables
from lambdak.cli.dataset import ColumnRoles, Dataset
from lambdak.cli.errors import naming, note
from lambdak.cli.models import columns_of, read_columns, read_model
from lambdak.cli.options import DEFAULT_MODEL, AsJson, ModelFile, OptionalTable, TableFormat
from lambdak.cli.outputs import check_output, plotting, print_json, say

EXAMPLES = (
    "lambdak dossier",
    "lambdak dossier patients.csv --target progression --out dossier.docx",
    "lambdak dossier patients.csv --target progression --say owner='Clinic' --say purpose='Follow-up' --card README.md",
)
WORDS = (  # the fields of OwnerWords
    "name", "version", "purpose", "intended_use", "out_of_scope", "owner", "developer", "reviewer", "risk_tier",
    "data_source", "target_meaning", "exclusions", "alternatives", "assumptions", "ethical_considerations",
    "monitored_by", "monitored_when", "actions", "date",
)  # fmt: skip


def dossier(
    table: OptionalTable = None,
    model: ModelFile = DEFAULT_MODEL,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="COLUMN", help="Column of true values, which the fit did not see."),
    ] = None,
    weight: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of weights.", show_default=False)] = None,
    exposure: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of exposures, in both tables: the target has totals.")
    ] = None,
    train: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="The training rows: the model is fitted again with other seeds."),
    ] = None,
    train_offset: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of offsets in the training rows, instead.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=0, help="How many of them; 5 with --train.")] = None,
    said: Annotated[
        list[str] | None,
        typer.Option("--say", metavar="NAME=TEXT", help=f"What only the owner can say: {', '.join(WORDS)}."),
    ] = None,
    card: Annotated[Path | None, typer.Option(help="Also write a model card (.md).", show_default=False)] = None,
    public_key: Annotated[Path | None, typer.Option(help="Public key (PEM), if the model is signed.")] = None,
    out: Annotated[Path, typer.Option(help="The document: .html, .docx or .md.")] = Path("dossier.html"),
    form: TableFormat = None,
    as_json: AsJson = False,
) -> None:
    """Write one document for those who validate a model: data, performance, proofs, limits, monitoring."""
    for path, option in ((out, "--out"), (card, "--card")):
        if path is not None:
            check_output(path, option)
    _check_given(table, target, {"--weight": weight, "--exposure": exposure, "--train": train})
    plotting()
    words, fitted = _words(said or ()), read_model(model)
    options: dict[str, Any] = {"model_file": model, "public_key": public_key, **words}
    with naming(table or ""):
        X, beside = (None, {}) if table is None else _rows(fitted, table, target, weight, exposure, form)
        trained = {} if train is None else _training(fitted, train, str(target), weight, (train_offset, exposure), form)
        fitted.dossier(out, X, **beside, **trained, **options, seeds=seeds, progress=note)
        if card is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the dossier has said the same
                fitted.model_card(card, X, **beside, **options)
    _report(model, out, card, as_json)


def _check_given(table: str | None, target: str | None, others: dict[str, str | None]) -> None:
    if target is not None and table is None:
        raise typer.BadParameter("needs a TABLE that has this column", param_hint="--target")
    for option, value in others.items():
        if value is not None and target is None:
            raise typer.BadParameter("needs a TABLE and its --target", param_hint=option)


def _words(given: list[str] | tuple[str, ...]) -> dict[str, str]:
    """What the owner says, by name."""
    found = {}
    for text in given:
        name, sign, words = text.partition("=")
        if not sign or name not in WORDS:
            raise typer.BadParameter(f"{text!r} must be NAME=TEXT, with one of {', '.join(WORDS)}", param_hint="--say")
        found[name] = words
    return found


def _rows(
    fitted: Any, path: str, target: str | None, weight: str | None, exposure: str | None, form: tables.Format | None
) -> tuple[Any, dict[str, Any]]:
    """The model's columns of a table, and what comes with them."""
    data = read_columns(fitted, path, form)
    if target is None:
        return columns_of(fitted, data), {}
    rows = _dataset(fitted, data, path, target, weight, exposure).rows
    return columns_of(fitted, data), {"y": rows.y, "sample_weight": rows.weight, "exposure": rows.offset}


def _training(
    fitted: Any,
    path: str,
    target: str,
    weight: str | None,
    offsets: tuple[str | None, str | None],
    form: tables.Format | None,
) -> dict[str, Any]:
    """Training rows of a file, as arguments by name: X_train, y_train, and weights, offsets or exposures.

    ``offsets`` are columns of offsets, and of exposures, which need a log link.
    """
    from lambdak.losses import LOG

    data = read_columns(fitted, path, form)
    offset, exposure = offsets
    counted = offset is None and fitted.model_.loss.link is LOG
    rows = _dataset(fitted, data, path, target, weight, exposure if counted else offset).rows
    beside = {"sample_weight_train": rows.weight, "exposure_train" if counted else "offset_train": rows.offset}
    return {"X_train": columns_of(fitted, data), "y_train": rows.y, **beside}


def _dataset(fitted: Any, data: Any, path: str, target: str, weight: str | None, beside: str | None) -> Dataset:
    """Targets and numbers beside them; an exposure is read as an offset is, a column of numbers without gaps."""
    kept = fitted.model_.encoder.feature_names
    roles = [name for name in (target, weight, beside) if name is not None]
    for name in roles:
        tables.check_names([name], data, path, "the options")
    return ColumnRoles(target, weight, beside).dataset(data.select(list(dict.fromkeys([*kept, *roles]))), path)


def _report(model: Path, out: Path, card: Path | None, as_json: bool) -> None:
    size = out.stat().st_size
    if as_json:
        beside = {} if card is None else {"card": str(card)}
        print_json({"model": str(model), "out": str(out), "bytes": size, **beside})
        return
    say(f"{out} ({size / 1e6:.1f} MB)" + ("" if card is None else f" and {card}"))
