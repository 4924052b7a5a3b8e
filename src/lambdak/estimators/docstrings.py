"""The parameters that all estimators share, written once: in the docstring of one, and copied into those of others."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from typing import TypeVar

Class = TypeVar("Class", bound=type)
_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^(\w[\w, ]*?)(?: : ([^\n]*))?\n((?:[ \t]+[^\n]*\n|\n)*)", re.MULTILINE)


def parameter_texts(estimator: type) -> dict[str, tuple[str, str]]:
    """What the docstring of a class says of each parameter: its type, and what it does."""
    found = _SECTION.search(inspect.cleandoc(estimator.__doc__ or "") + "\n")
    entries = _ENTRY.findall(found[1]) if found else []
    texts = ((names, kind, inspect.cleandoc(text)) for names, kind, text in entries)
    return {name: (kind, text) for names, kind, text in texts for name in names.split(", ")}


def with_parameters_of(source: type, without: Iterable[str] = ()) -> Callable[[Class], Class]:
    """Add the parameters of ``source`` to the section "Parameters" of a class, after its own."""
    shared = {name: text for name, text in parameter_texts(source).items() if name not in without}

    def decorate(estimator: Class) -> Class:
        if estimator.__doc__:  # python -OO removes it
            estimator.__doc__ = _extended(inspect.cleandoc(estimator.__doc__), shared)
        return estimator

    return decorate


def _extended(text: str, shared: dict[str, tuple[str, str]]) -> str:
    """A docstring whose section "Parameters", perhaps a new one before the examples, ends with the shared entries."""
    if not (found := _SECTION.search(text + "\n")):
        text = text.replace("Examples\n--------\n", "Parameters\n----------\n\nExamples\n--------\n", 1)
        found = _SECTION.search(text + "\n")
    if found is None:
        return text
    entries = "\n".join(filter(None, [found[1].strip("\n"), *map(_entry, shared, shared.values())]))
    return f"{text[: found.start(1)]}{entries}\n\n{text[found.end(1) :]}"


def _entry(name: str, texts: tuple[str, str]) -> str:
    kind, text = texts
    lines = text.splitlines()
    return "\n".join([f"{name} : {kind}", *(f"    {line}" for line in lines)])
