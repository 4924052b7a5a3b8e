"""Names that were not found, and the known one that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

_CLOSE = 0.75  # share of letters in common: a slip of the finger, not another word such as income for outcome
_MOST_COMPARED = 2_000  # names that may be meant


def meant(name: object, known: Iterable[object]) -> str:
    """A question about the closest of the known names, and nothing if none is close.

    >>> meant("incom", ["age", "income"])
    "Did you mean 'income'? "
    >>> meant("outcome", ["age", "income"])
    ''
    """
    folded = {str(other).casefold(): other for other in islice(known, _MOST_COMPARED)}
    close = get_close_matches(str(name).casefold(), folded, n=1, cutoff=_CLOSE)
    return f"Did you mean {folded[close[0]]!r}? " if close else ""


def shown_names(names: Iterable[str], most: int = 5) -> str:
    """A few names, and how many more there are."""
    names = list(names)
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def asked(name: object, known: Iterable[object]) -> str:
    """The end of a message: a full stop and a question about the closest of the names, or nothing if none is close.

    >>> asked("incom", ["age", "income"])
    ". Did you mean 'income'?"
    """
    question = meant(name, known)
    return f". {question.rstrip()}" if question else ""
