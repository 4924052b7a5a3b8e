"""The command line: ``lambdak demo | fit | predict | explain | certify | sign | report | …``, one file each.

Modules: one file per command; ``options``, ``dataset``, ``task``, ``tables``, ``broken_tables``; ``table_size`` which
tables are read in batches, ``large_rows`` fits and tests on rows that are not all in memory; ``table_streams`` tables
that need not fit into memory, ``csv_stream``, ``csv_blocks``, ``plain_files``, ``nesting`` how deep JSON is;
``pipeline`` what overlaps, ``written_tables``; ``models``, ``signatures``, ``independent``, ``outputs``, ``errors``,
``metrics``, ``fit_summary``, ``demo_results``; ``cells`` what is typed as a cell, a level, bounds or a class.

Commands: ``certify``, ``config``, ``counterfactual``, ``demo``, ``dossier``, ``drift``, ``explain``, ``export``,
``fit``, ``optimize``, ``predict``, ``reasons``, ``report``, ``reproduce``, ``sign``, ``verify_signature``.
"""

from __future__ import annotations

from importlib import metadata
from typing import Annotated

import typer

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


# A command is a file with a function of its name, and EXAMPLES; a new one is one more file and one more name here.
_ANYWHERE = (config, demo)
_IN_DEMO_FOLDER = (  # their examples use the files that lambdak demo writes
    fit, predict, explain, drift, certify, optimize, counterfactual, reasons, report, dossier, export, sign,
    verify_signature,
)  # fmt: skip
for _module in (*_ANYWHERE, *_IN_DEMO_FOLDER):
    _command = getattr(_module, _module.__name__.rpartition(".")[2])
    app.command(epilog=examples(_module.EXAMPLES, in_demo_folder=_module in _IN_DEMO_FOLDER))(_command)
app.add_typer(reproduce.app)


def main() -> None:
    """Run the command line."""
    app()
