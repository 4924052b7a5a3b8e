"""What people are shown: text that neither a terminal nor a spreadsheet obeys, and warnings at their own line.

Names and cells as text that is safe to print: a terminal obeys escape sequences, whoever wrote them.

Text that a spreadsheet would run as a formula when it opens a CSV file, made into plain text.
"""

from __future__ import annotations

import re
import sys
import unicodedata
import warnings
from typing import Any

_INSIDE = ("lambdak", "sklearn")  # a pipeline or a search lies between the user and an estimator

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


# Spreadsheets look at the first character: some skip a tab or the end of a line, some know its wide East Asian form.
_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠].", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)


def inert(cell: Any) -> Any:
    """A cell as it is, but for text that would be a formula: that begins with an apostrophe.

    >>> [inert(cell) for cell in ("=1+1", "@now", "plain", "+", "-5.0", -5.0)]
    ["'=1+1", "'@now", 'plain', '+', '-5.0', -5.0]
    """
    formula = isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if formula else cell


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn about the call that led here from outside of the library."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).split(".")[0] in _INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
