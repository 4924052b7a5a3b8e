"""The command line: ``lambdak demo | fit | predict | explain | certify | sign | report | …``, one file each.

Modules: one file per command; ``options``, ``dataset``, ``event_columns``, ``task``; ``tables`` and which of them are
read in batches, ``large_rows`` fits and tests on rows that are not all in memory; ``table_streams`` tables that need
not fit into memory, ``csv_stream`` their blocks, read ahead, ``plain_files`` and what is wrong with their text;
``written_tables``; ``models`` and their signatures, ``model_argument`` where they are named, ``outputs``, ``errors``,
``fit_summary``, ``demo_results``; ``cells`` what is typed as a cell, a level, bounds or a class, ``constraint`` what is
typed as a shape.

Commands: ``certify``, ``config``, ``counterfactual``, ``demo``, ``dossier``, ``drift``, ``explain``, ``export``,
``fit``, ``optimize``, ``predict``, ``reasons``, ``report``, ``reproduce``, ``sign``, ``verify_signature``.
"""

from __future__ import annotations

from importlib import metadata
from types import ModuleType
from typing import Annotated

import typer
from typer.core import TyperCommand

from lambdak.cli import (
    certify,
    config,
    counterfactual,
    demo,
    dossier,
    drift,
    explain,
    export,
    fit,
    optimize,
    predict,
    reasons,
    report,
    reproduce,
    sign,
    verify_signature,
)
from lambdak.cli.errors import Commands
from lambdak.cli.model_argument import ModelCommand
from lambdak.cli.options import examples

app = typer.Typer(
    cls=Commands,
    help="Predictive models with proven guarantees: one eigenvalue of a learned symmetric matrix.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"lambdak {metadata.version('lambdak')}")
        raise typer.Exit


@app.callback()
def _settings(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", envvar="LAMBDAK_DEBUG", help="Show the traceback of an error.")
    ] = False,
) -> None:
    """Fit models to tables, prove what they guarantee and explain them."""


def add_command(commands: typer.Typer, module: ModuleType, in_demo_folder: bool = True) -> None:
    """Add the command of a module: its function of the module's name, with its ``EXAMPLES`` below the help.

    Examples are ``in_demo_folder`` where they use the files that ``lambdak demo`` writes.
    """
    command = getattr(module, module.__name__.rpartition(".")[2])
    kind = TyperCommand if module is fit else ModelCommand  # what it names a model is a file to write
    commands.command(cls=kind, epilog=examples(module.EXAMPLES, in_demo_folder=in_demo_folder))(command)


# A new command is one more file and one more name here, in the order of the help.
for _module in (config, demo):
    add_command(app, _module, in_demo_folder=False)
for _module in (
    fit, predict, explain, drift, certify, optimize, counterfactual, reasons, report, dossier, export, sign,
    verify_signature,
):  # fmt: skip
    add_command(app, _module)
app.add_typer(reproduce.app)


def main() -> None:
    """Run the command line."""
    app()
