"""Names that were not found, also of arguments, and the known one that was probably meant."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from itertools import islice
from typing import Any, TypeVar

_CLOSE = 0.75  # share of letters in common: a slip of the finger, not another word such as income for outcome
_MOST_COMPARED = 2_000  # names that may be meant
_CALLED_HERE = {"X_test": "X", "y_test": "y"}  # what other methods call what is X here: rows that the fit did not see

Class = TypeVar("Class", bound=type)
Made = TypeVar("Made", bound=Callable[..., Any])


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


def suggests_names(own: Class) -> Class:
    """Let the constructor and the public methods of a class ask for the name that was probably meant."""
    for name, method in list(vars(own).items()):
        if inspect.isfunction(method) and (name == "__init__" or not name.startswith("_")):
            setattr(own, name, with_names_suggested(method))
    return own


def with_names_suggested(function: Made) -> Made:
    """Return a function that asks for the name that was probably meant where it is given one that it does not have.

    >>> with_names_suggested(lambda sample_weight=None: None)(sample_weights=[1])
    Traceback (most recent call last):
    TypeError: <lambda>() got an unexpected keyword argument 'sample_weights'. Did you mean 'sample_weight'?
    """
    parameters = [*inspect.signature(function).parameters.values()]
    if any(own.kind is own.VAR_KEYWORD for own in parameters):
        return function
    is_method = bool(parameters) and parameters[0].name == "self"
    names = frozenset(own.name for own in parameters if own.kind is not own.POSITIONAL_ONLY)

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        if not named.keys() <= names:
            unknown = next(name for name in named if name not in names)
            place = f"{type(arguments[0]).__name__}.{function.__name__}" if is_method else function.__qualname__
            said = f"{place}() got an unexpected keyword argument {unknown!r}"
            raise TypeError(said + _question(unknown, [own.name for own in parameters if own.name != "self"]))
        return function(*arguments, **named)

    return call  # type: ignore[return-value]


def _question(unknown: str, names: list[str]) -> str:
    """Return which name was probably meant, or else all names."""
    if _CALLED_HERE.get(unknown) in names:
        return f". Did you mean {_CALLED_HERE[unknown]!r}?"
    return asked(unknown, names) or f": it takes {', '.join(names)}"
