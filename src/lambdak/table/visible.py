"""Names and cells as text that is safe to print: a terminal obeys escape sequences, whoever wrote them."""

from __future__ import annotations

import unicodedata

_JOINERS = "\u200c\u200d"  # which Persian, Indic scripts and emoji need


def visible(text: str) -> str:
    r"""The text on one line, with control characters, changes of direction and the like as escapes.

    >>> print(visible("red\x1b[31m\nnew line"))
    red\x1b[31m\nnew line
    """
    return text if text.isprintable() else "".join(map(_visible, text))


def visible_lines(text: str) -> str:
    """The text as :func:`visible` gives it, line by line."""
    return "\n".join(map(visible, text.split("\n")))


def _visible(char: str) -> str:
    harmless = char.isprintable() or char in _JOINERS or unicodedata.category(char) == "Zs"
    return char if harmless else repr(char)[1:-1]
