"""The command line: ``lambdak demo | fit | predict | explain | certify | report | reproduce | config``."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from typing import Annotated

import typer

from lambdak.cli import demo, fit, predict, read, reproduce
from lambdak.cli.errors import Commands
from lambdak.cli.options import examples
from lambdak.eigen.runtime import show_config

app = typer.Typer(
    cls=Commands,
    help="The spectral neuron: one eigenvalue of a learned symmetric matrix, with guarantees you can read.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
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
    """Fit tables with guarantees, and read the result."""


@app.command()
def config() -> None:
    """Print the kernel in use, its instruction set, the threads and the versions."""
    show_config()


_COMMANDS: dict[Callable[..., None], tuple[str, ...]] = {
    fit.fit: fit.EXAMPLES,
    predict.predict: predict.EXAMPLES,
    read.explain: read.EXPLAIN_EXAMPLES,
    read.certify: read.CERTIFY_EXAMPLES,
    read.report: read.REPORT_EXAMPLES,
}
app.command(epilog="\n\n".join(["Examples:", *demo.EXAMPLES]))(demo.demo)
for command, lines in _COMMANDS.items():
    app.command(epilog=examples(lines))(command)
app.add_typer(reproduce.app)


def main() -> None:
    """Run the command line."""
    app()
