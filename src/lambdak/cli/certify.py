"""``lambdak certify``: what is proven about a model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from lambdak.atomic import write_text
from lambdak.cli import options
from lambdak.cli.errors import complain, naming
from lambdak.cli.models import columns_of, described_signature, read_columns, read_model, signature_line
from lambdak.cli.options import DEFAULT_MODEL, AsJson, ModelFile, TableFormat
from lambdak.cli.outputs import check_output, json_text, print_json, say

if TYPE_CHECKING:
    from lambdak.certify import Certificate, Verification

CHECKER = Path(__file__).parents[1] / "certify" / "lambdak_check.py"


class Checked(NamedTuple):
    """What the checker said, in words and as data, and whether something requested is not proven."""

    words: str
    data: dict[str, Any]
    fails: bool


def checked(model: Path) -> Checked:
    """What the checker says about a model file: both ways at the same time."""
    running = [_started(model), _started(model, "--json")]
    (words, complaint), (data, error) = (each.communicate() for each in running)
    found = json.loads(data) if data else {"holds": False, "error": error.strip()}
    return Checked(words or complaint, found, any(each.returncode for each in running))


def _started(model: Path, *options: str) -> subprocess.Popen[str]:
    """The checker, in a process that sees neither lambdak nor any other package."""
    command = [sys.executable, "-I", "-S", "-X", "utf8", str(CHECKER), *options, "--", str(model)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8")


EXAMPLES = (
    "lambdak certify",
    "lambdak certify model.safetensors",
    "lambdak certify --details",
    "lambdak certify --within bmi=1 --within pressure=5",
    "lambdak certify --verify patients.csv --out certificate.json",
    "lambdak certify --independent",
)


def certify(
    file: Annotated[
        Path | None, typer.Argument(metavar="MODEL", help="The model file, as with --model.", show_default=False)
    ] = None,
    model: ModelFile = DEFAULT_MODEL,
    within: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=NUMBER",
            help="Prove how far predictions can move if these columns change together by at most this much; "
            "any for categories. Repeatable.",
        ),
    ] = None,
    verify: Annotated[
        str | None, typer.Option(metavar="TABLE", help="Also search for counterexamples, from the rows of this table.")
    ] = None,
    pairs: Annotated[int, typer.Option(min=1, help="Pairs of rows to try with --verify.")] = 10_000,
    public_key: Annotated[
        Path | None,
        typer.Option(help="Public key (PEM) of somebody you trust: refuse a file that is not signed with it."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the certificate as JSON.", show_default=False)] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Decide every statement in integers: slower.")] = False,
    independent: Annotated[
        bool,
        typer.Option(
            "--independent", help="Also run the checker that shares no code with lambdak, in its own process."
        ),
    ] = False,
    details: Annotated[
        bool, typer.Option("--details", help="Print every claim with its numbers, not only what was requested.")
    ] = False,
    form: TableFormat = None,
    as_json: AsJson = False,
) -> None:
    """Prove what the model guarantees; the exit code is 1 if a requested guarantee is not proven."""
    model = _only(file, model)
    tolerances = options.sizes(within or (), "--within", ("any",)) or None
    if out is not None:
        check_output(out, "--out")
    fitted = read_model(model, public_key)
    signature = described_signature(model, public_key)
    certificate = fitted.certify(tolerances, exact=exact)
    search = None
    if verify is not None:
        with naming(verify):
            search = fitted.verify(columns_of(fitted, read_columns(fitted, verify, form)), n=pairs, within=tolerances)
    checker = checked(model) if independent else None
    answer = certificate.to_dict() | {"signature": signature}
    answer |= {} if search is None else {"verification": search.to_dict()}
    answer |= {} if checker is None else {"independent": checker.data}
    if out is not None:
        write_text(out, json_text(answer) + "\n")
    if as_json:
        print_json(answer)
    else:
        texts = [
            certificate.to_text(details=details),
            search,
            None if checker is None else f"\nThe independent checker:\n{checker.words}",
        ]
        say("\n".join(str(each).rstrip() for each in texts if each is not None))
        say(signature_line(signature))
    if reason := _failure(certificate, search, checker):
        complain(f"{model}: {reason}")
        raise typer.Exit(1)


def _only(file: Path | None, model: Path) -> Path:
    """The model file, whichever way it was given."""
    if file is not None and model not in (DEFAULT_MODEL, file):
        raise typer.BadParameter(f"give the model file once; got {file} and --model {model}", param_hint="MODEL")
    return model if file is None else file


def _failure(certificate: Certificate, search: Verification | None, checker: Checked | None) -> str:
    """The first reason for which the model does not pass."""
    if not certificate.holds:
        return "a requested guarantee is not proven"
    if search is not None and search.violations:
        return "the search found a counterexample"
    return "the independent checker does not prove what was requested" if checker is not None and checker.fails else ""
