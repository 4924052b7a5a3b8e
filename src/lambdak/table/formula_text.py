"""Text that a spreadsheet would run as a formula when it opens a CSV file, made into plain text."""

from __future__ import annotations

import re
from typing import Any

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
