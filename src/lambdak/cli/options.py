"""Options that several commands share, and how values such as ``income=+`` are read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from lambdak.cli.tables import Format

_TABLE_HELP = "CSV, Parquet or JSON lines; - is standard input."
DEFAULT_MODEL = Path("model.safetensors")


def _no_model(name: str | None) -> str | None:
    """A table's name; that of a model file is refused."""
    if name is not None and Path(name).suffix == DEFAULT_MODEL.suffix:
        raise typer.BadParameter(f"{name!r} is a model file: TABLE is a table, and a model is named with --model")
    return name


TableFile = Annotated[str, typer.Argument(metavar="TABLE", help=_TABLE_HELP, callback=_no_model)]
OptionalTable = Annotated[
    str | None, typer.Argument(metavar="TABLE", help=_TABLE_HELP, show_default=False, callback=_no_model)
]
ModelFile = Annotated[Path, typer.Option("--model", "-m", help="The model file.")]
TableFormat = Annotated[
    Format | None,
    typer.Option("--format", help="Format of the table, if its name does not show it.", show_default=False),
]
RawText = Annotated[
    bool,
    typer.Option(
        "--raw-text",
        help="Write text to CSV as it is; otherwise text that a spreadsheet would run as a formula, because it begins "
        "with =, +, - or @, begins with an apostrophe.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout, and nothing else.")]

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_SIGNS = {"+": 1, "-": -1, "1": 1, "+1": 1, "-1": -1}


def names(values: Iterable[str]) -> list[str]:
    """Names that were given one by one or separated by commas.

    >>> names(["id,date", "name"])
    ['id', 'date', 'name']
    """
    return [name for value in values for name in value.split(",") if name]


def signs(values: Iterable[str], option: str = "--monotone") -> dict[str, int]:
    """Column → 1 or -1.

    >>> signs(["income=+,age=-", "a=b=+", "rate=1,debt=-1"])
    {'income': 1, 'age': -1, 'a=b': 1, 'rate': 1, 'debt': -1}
    """
    found = _assignments(
        values, r"[+-]|[+-]?1", option, "COLUMN=+ (never falls) or COLUMN=- (never rises), such as income=+"
    )
    return {name: _SIGNS[sign] for name, sign in found.items()}


def sizes(values: Iterable[str], option: str, words: tuple[str, ...] = ()) -> dict[str, float | str]:
    """Column → number, or one of some words.

    >>> sizes(["income=1e3", "sex=any"], "--within", ("any",))
    {'income': 1000.0, 'sex': 'any'}
    """
    pattern = "|".join([_NUMBER, *words])
    found = _assignments(values, pattern, option, "COLUMN=NUMBER, such as income=1000")
    return {name: size if size in words else float(size) for name, size in found.items()}


def number(value: str, option: str) -> float:
    """Read an option that is one number."""
    if not re.fullmatch(_NUMBER, value):
        raise typer.BadParameter(f"{value!r} must be a number, or COLUMN=NUMBER", param_hint=option)
    return float(value)


def groups(values: Iterable[str]) -> list[list[str]] | str | None:
    """Groups of columns that may interact, or a word for all columns; None if nothing is given.

    >>> groups(["income,age", "region"])
    [['income', 'age'], ['region']]
    """
    found = [[*dict.fromkeys(names([value]))] for value in values]
    if found in ([["pairwise"]], [["no_interactions"]]):
        return found[0][0]
    return [group for group in found if group] or None


def quantile_levels(value: str, option: str = "--quantiles") -> tuple[float, ...]:
    """Quantile levels separated by commas.

    >>> quantile_levels("0.05,0.5,0.95")
    (0.05, 0.5, 0.95)
    """
    parts = value.split(",")
    if not all(re.fullmatch(_NUMBER, part) and 0 < float(part) < 1 for part in parts):
        raise typer.BadParameter(f"{value!r} must be levels between 0 and 1, such as 0.05,0.5,0.95", param_hint=option)
    return tuple(map(float, parts))


def examples(lines: Iterable[str], *, in_demo_folder: bool) -> str:
    """The end of a help page."""
    demo = ["Examples, with the files that lambdak demo writes:", "cd lambdak-demo"]
    return "\n\n".join([*(demo if in_demo_folder else ["Examples:"]), *lines])


def _assignments(values: Iterable[str], pattern: str, option: str, form: str) -> dict[str, str]:
    """Name → value of ``name=value`` between commas; names may hold commas and equal signs themselves."""
    each = re.compile(rf"(.+?)=({pattern})(?:,|$)")
    found: dict[str, str] = {}
    for value in values:
        start = 0
        while start < len(value):
            match = each.match(value, start)
            if match is None:
                raise typer.BadParameter(f"{value!r} must be {form}", param_hint=option)
            if match[1] in found:
                raise typer.BadParameter(f"{match[1]!r} must be given once", param_hint=option)
            found[match[1]] = match[2]
            start = match.end()
    return found
