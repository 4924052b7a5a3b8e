"""Model files and who signed them, and tables with the columns that a model wants."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lambdak.cli import tables
from lambdak.cli.errors import InputError, listed, note
from lambdak.cli.outputs import say
from lambdak.table.close_names import meant
from lambdak.table.dates import expanded, part_names
from lambdak.table.visible import visible

if TYPE_CHECKING:
    from lambdak.store import ClaimedSignature, Signature


def read_model(path: Path, public_key: Path | None = None) -> Any:
    """The model in a file, which must be signed with this key if one is given."""
    from sklearn.pipeline import Pipeline

    from lambdak.estimators import load

    if not path.exists():
        raise InputError(
            f"there is no model file {path}: make one with lambdak fit TABLE --target COLUMN --model {path}"
        )
    found = load(path, public_key=public_key)
    if isinstance(found, Pipeline):
        raise InputError(
            f"{path} holds a Pipeline, and commands take a model alone: use it in Python with lambdak.load, or save "
            "its last step by itself, pipeline[-1].save"
        )
    return found


def read_columns(model: Any, path: str, given: tables.Format | None) -> Any:
    """The table in a file, with names as text wherever the model knows them as text; other columns stay."""
    table = with_parts(tables.read(path, given, text=text_columns(model)), model.model_.encoder.feature_names)
    check_columns(model, table.column_names, path)
    note_mixed(model, table, path)
    return table


def date_sources(wanted: Sequence[str], known: Sequence[str]) -> list[str]:
    """Columns whose numbers, such as sold_year, are wanted and not there: they are expanded as in the fit."""
    return [name for name in known if any(part in wanted and part not in known for part in part_names(name))]


def with_parts(table: Any, wanted: Sequence[str]) -> Any:
    """The table with the numbers of dates, where they are wanted and the dates are there instead."""
    sources = date_sources(wanted, table.column_names)
    return expanded(table, sources) if sources else table


def check_columns(model: Any, known: Sequence[str], path: str) -> None:
    """Refuse a table without some column of the model, and say which it has."""
    missing = [name for name in model.model_.encoder.feature_names if name not in known]
    if missing:
        raise InputError(
            f"{path} lacks {len(missing)} of the {model.n_features_in_} columns that the model was fitted with: "
            f"{listed(missing)}. {meant(missing[0], known)}It has {listed(known)}"
        )


def only_row(X: Any, row: int | None, path: str) -> Any:
    """The table with this row alone; all of it without one."""
    if row is not None and row >= X.num_rows:
        raise InputError(f"--row must be in [0, {X.num_rows}), the rows of {path}; got {row}")
    return X if row is None else X.slice(row, 1)


def columns_of(model: Any, table: Any) -> Any:
    """The model's own columns of a table."""
    return table.select(list(model.model_.encoder.feature_names))


def text_columns(model: Any) -> list[str]:
    """Categories whose levels are text: 007 must not be read as the number 7.

    Those that also hold numbers are read as they are: a file in which all cells are numbers has some of these levels.
    """
    mixed = mixed_columns(model)
    return [column.name for column in model.model_.encoder.columns if column.holds_text and column.name not in mixed]


def mixed_columns(model: Any) -> list[str]:
    """Categories that held both numbers and text in training, pooled levels included."""
    from lambdak.table.category_levels import Kind
    from lambdak.table.cell_rules import LevelRule

    rules = [(column.name, column.rule) for column in model.model_.encoder.columns]
    return [
        name for name, rule in rules if isinstance(rule, LevelRule) and Kind.TEXT in rule.kinds and rule.take_numbers
    ]


def note_mixed(model: Any, table: Any, path: str) -> None:
    """Say where numbers of a file are text, though they were numbers in training: a column of a file is one of both."""
    for name in mixed_columns(model):
        if "string" in str(table.schema.field(name).type):
            note(
                f"column {name!r} of {path} is text, and held numbers and text in training: its numbers count as "
                "levels that the fit has not seen. Predict such rows in Python, with cells as in training"
            )


def described_signature(path: Path, public_key: Path | None) -> dict[str, Any] | None:
    """The signature of a file as plain data, None if it has none; it is verified only with a public key."""
    from lambdak.store import ModelFileError, claimed_signature, verify_file

    if public_key is not None:
        return as_data(verify_file(path, public_key))
    try:
        claimed = claimed_signature(path)
    except ModelFileError as error:
        return {"verified": False, "reason": str(error)}
    return None if claimed is None else as_data(claimed)


def as_data(signature: Signature | ClaimedSignature) -> dict[str, Any]:
    """A signature as plain data."""
    from lambdak.store import Signature

    checksum = {"sha256": signature.checksum} if isinstance(signature, Signature) else {}
    return {
        "verified": isinstance(signature, Signature),
        "signer": signature.signer,
        "time": signature.time.isoformat(),
        "fingerprint": signature.fingerprint,
        **checksum,
    }


def signature_line(signature: dict[str, Any] | None) -> str:
    """One line about a signature."""
    if signature is None:
        return "Signature: none."
    if "signer" not in signature:
        return f"Signature: unreadable: {visible(signature['reason'])}."
    if signature["verified"]:
        return (
            f"Signature: by {signature['signer']}, {signature['time']}, verified with key {signature['fingerprint']}."
        )
    return f"Signature: claimed to be by {signature['signer']}, {signature['time']}; not verified: give --public-key."


def print_signature(first: str, words: str, signature: dict[str, Any]) -> None:
    """What a file was signed with, line by line."""
    lines = {first: words, "signer": signature["signer"], "time": signature["time"], "key": signature["fingerprint"]}
    for label, each in (lines | {"sha256": signature["sha256"]}).items():
        say(f"{label:<12}{visible(each)}")
