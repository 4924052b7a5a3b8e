"""``lambdak certify``: what is proven about a model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from lambdak import certify as proofs
from lambdak.atomic import write_text
from lambdak.cli import options
from lambdak.cli.errors import complain
from lambdak.cli.models import columns_of, read_columns, read_model
from lambdak.cli.options import DEFAULT_MODEL, AsJson, ModelFile, TableFormat
from lambdak.cli.outputs import check_output, print_json

EXAMPLES = (
    "lambdak certify",
    "lambdak certify --within bmi=1 --within pressure=5",
    "lambdak certify --verify patients.csv --out certificate.json",
    "lambdak certify --independent",
)
_CHECKER = Path(proofs.__file__).with_name("lambdak_check.py")


def certify(
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
    out: Annotated[Path | None, typer.Option(help="Write the certificate as JSON.", show_default=False)] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Decide every statement in integers: slower.")] = False,
    independent: Annotated[
        bool,
        typer.Option(
            "--independent", help="Also run the checker that shares no code with lambdak, in its own process."
        ),
    ] = False,
    form: TableFormat = None,
    as_json: AsJson = False,
) -> None:
    """Prove what the model guarantees; the exit code is 1 if a requested guarantee is not proven."""
    tolerances = options.sizes(within or (), "--within", ("any",)) or None
    if out is not None:
        check_output(out, "--out")
    fitted = read_model(model)
    certificate = fitted.certify(tolerances, exact=exact)
    search = None
    if verify is not None:
        search = fitted.verify(columns_of(fitted, read_columns(fitted, verify, form)), n=pairs, within=tolerances)
    answer = certificate.to_dict() | ({} if search is None else {"verification": search.to_dict()})
    checks = []
    if independent and (as_json or out is not None):
        checks.append(_checked(model, "--json"))
        answer["independent"] = _data(checks[0])
    if independent and not as_json:
        checks.append(_checked(model))
    if out is not None:
        write_text(out, json.dumps(answer, indent=2, ensure_ascii=False) + "\n")
    if as_json:
        print_json(answer)
    else:
        texts = [certificate, search, *(f"\nThe independent checker:\n{_words(check)}" for check in checks[-1:])]
        typer.echo("\n".join(str(each).rstrip() for each in texts if each is not None))
    failures = {
        "a requested guarantee is not proven": not certificate.holds,
        "the search found a counterexample": search is not None and bool(search.violations),
        "the independent checker does not prove what was requested": any(check.returncode for check in checks),
    }
    if any(failures.values()):
        complain(f"{model}: {next(reason for reason, failed in failures.items() if failed)}")
        raise typer.Exit(1)


def _checked(model: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The checker on a model, in a process that sees neither lambdak nor any other package."""
    command = [sys.executable, "-I", "-S", "-X", "utf8", str(_CHECKER), *options, "--", str(model)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


def _words(check: subprocess.CompletedProcess[str]) -> str:
    return check.stdout or check.stderr


def _data(check: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Its certificate; without one, why there is none."""
    found: dict[str, Any] = (
        json.loads(check.stdout) if check.stdout else {"holds": False, "error": check.stderr.strip()}
    )
    return found
