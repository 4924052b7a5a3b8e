"""Exit codes: 0 done, 1 bad data, model or files, 2 wrong usage, 3 nothing found, 130 Ctrl-C, 143 terminated."""

from __future__ import annotations

import re
import signal
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any

import rich
import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from lambdak.table.visible import visible

NOTHING_FOUND = 3  # exit code: no row meets the constraints, no change reaches the target, or none was found in time
MOST_NAMES = 12  # listed in a message
_LONGEST = 60  # characters of a name in a list
_OPTIONS = {
    "monotonic_cst": "--monotone",
    "max_influence": "--max-influence",
    "interaction_cst": "--interactions",
    "categorical_features": "--categorical",
    "protected_features": "--protected",
    "max_categories": "--max-categories",
    "n_estimators": "--members",
    "max_iter": "--max-iter",
    "sample_weight": "--weight",
    "SpectralOrdinalClassifier": "--task ordinal",
}
_SETTING = re.compile("|".join(rf"\b{name}\b" for name in _OPTIONS))


_USAGE: type[Any] = typer.BadParameter.__mro__[1]  # UsageError of click, which newer versions of typer contain
_OF_TYPER: tuple[type[BaseException], ...] = (typer.Exit, typer.Abort, _USAGE.__mro__[1])


class InputError(ValueError):
    """Something is wrong with data, model or files; the message says what, where, and the way out."""


class Commands(TyperGroup):
    """The group of all commands: it turns failures into one message on stderr and an exit code."""

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Read what stands before the command."""
        with _safe_usage():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        with _notes_on_stderr(), _safe_usage(), _ending_on_request():
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt:
                complain("interrupted: no further file was written")
                raise typer.Exit(130) from None
            except BrokenPipeError:  # whoever reads our output has enough
                raise
            except (OSError, ValueError, TypeError, ImportError) as error:
                if ctx.params.get("debug"):
                    raise
                complain(explained(error))
                raise typer.Exit(1) from None
            except _OF_TYPER:
                raise
            except Exception as error:
                if ctx.params.get("debug"):
                    raise
                complain(f"{explained(error)} ({type(error).__name__}): lambdak --debug shows where; please report it")
                raise typer.Exit(1) from None


def explained(error: BaseException) -> str:
    """One message for an exception of the library or of the system, with settings by their names as options.

    >>> explained(FileNotFoundError(2, "No such file or directory", "rows.csv"))
    'rows.csv: no such file or directory'
    """
    if isinstance(error, OSError) and error.strerror:
        named = f"{error.filename}: " if error.filename else ""
        return f"{named}{error.strerror[:1].lower()}{error.strerror[1:]}"
    message = str(error) or type(error).__name__
    return _SETTING.sub(lambda found: _OPTIONS[found[0]], message)


def complain(message: str) -> None:
    """Print an error to stderr, without markup, so that brackets in names stay what they are, and on one line."""
    _stderr().print(Text.assemble(("error: ", "bold red"), visible(message)), soft_wrap=True)


def note(message: str) -> None:
    """Print a remark to stderr."""
    _stderr().print(Text.assemble(("note: ", "yellow"), visible(message)), soft_wrap=True)


def _stderr() -> Console:
    return Console(stderr=True, highlight=False)


def listed(names: Iterable[str]) -> str:
    """Names for a message, the first few of many.

    >>> listed(["age", "income"])
    "'age', 'income'"
    """
    names = list(names)
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(map(repr, map(_short, names[:MOST_NAMES]))) + more


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else name[:_LONGEST] + "…"


@contextmanager
def naming(path: str) -> Iterator[None]:
    """What the library refuses in a table is said with the name of its file."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if path in str(error):
            raise
        raise InputError(f"{path}: {explained(error)}") from error


@contextmanager
def _safe_usage() -> Iterator[None]:
    """Wrong usage is printed by typer, and may hold names of files as they came from the shell."""
    try:
        yield
    except _USAGE as error:
        error.message = visible(error.message)
        raise


@contextmanager
def _ending_on_request() -> Iterator[None]:
    """A request to terminate unwinds as an error does, so that no half-written file is left anywhere."""
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL or current_thread() is not main_thread():
        yield
        return
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def noticing_interrupts() -> Iterator[list[int]]:
    """Collects the interrupts that the training survives."""
    seen: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, interrupt)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _notes_on_stderr() -> Iterator[None]:
    """Progress bars and warnings of the library go to stderr, so that stdout holds results only."""
    console = rich.get_console()
    before, console.stderr = console.stderr, True
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: note(explained(Warning(str(message))))
            yield
    finally:
        console.stderr = before
