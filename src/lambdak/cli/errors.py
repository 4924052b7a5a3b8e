"""What a command answers with: 0 done, 1 something is wrong with data, model or files, 2 wrong usage, 130 Ctrl-C."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import rich
import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

MOST_NAMES = 12  # listed in a message
_OPTIONS = {
    "monotonic_cst": "--monotone",
    "max_influence": "--max-influence",
    "categorical_features": "--categorical",
    "n_estimators": "--members",
    "max_iter": "--max-iter",
    "sample_weight": "--weight",
    "SpectralOrdinalClassifier": "--task ordinal",
}
_SETTING = re.compile("|".join(rf"\b{name}\b" for name in _OPTIONS))


class InputError(ValueError):
    """Something is wrong with data, model or files; the message says what, where, and the way out."""


class Commands(TyperGroup):
    """The group of all commands: it turns failures into one message on stderr and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        with _notes_on_stderr():
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
    """Print an error to stderr, without markup, so that brackets in names stay what they are."""
    _stderr().print(Text.assemble(("error: ", "bold red"), message), soft_wrap=True)


def note(message: str) -> None:
    """Print a remark to stderr."""
    _stderr().print(Text.assemble(("note: ", "yellow"), message), soft_wrap=True)


def _stderr() -> Console:
    return Console(stderr=True, highlight=False)


def listed(names: Iterable[str]) -> str:
    """Names for a message, the first few of many.

    >>> listed(["age", "income"])
    "'age', 'income'"
    """
    names = list(names)
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(map(repr, names[:MOST_NAMES])) + more


def meant(name: str, known: Sequence[str]) -> str:
    """A question about the closest of the known names, or nothing.

    >>> meant("incom", ["age", "income"])
    "Did you mean 'income'? "
    """
    folded = {other.casefold(): other for other in known}
    close = get_close_matches(name.casefold(), folded, n=1)
    return f"Did you mean {folded[close[0]]!r}? " if close else ""


@contextmanager
def _notes_on_stderr() -> Iterator[None]:
    """Progress bars and warnings of the library go to stderr, so that stdout holds results only."""
    console = rich.get_console()
    before, console.stderr = console.stderr, True
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: note(str(message))
            yield
    finally:
        console.stderr = before
