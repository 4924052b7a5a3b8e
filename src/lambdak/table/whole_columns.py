"""Which columns hold whole numbers only: those of which training saw no others, or those that a user names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lambdak.table.column_contract import Column
from lambdak.table.numeric_column import Numeric

Wholes = Sequence[str] | None  # as users name columns of whole numbers; None are those that training saw to be


def whole_columns(columns: Iterable[Column], named: Wholes) -> tuple[str, ...]:
    """Names of the columns of whole numbers: ``named`` ones as they are, or with None those seen in training.

    >>> from lambdak.table.encoder import TableEncoder
    >>> columns = TableEncoder().fit([[1, 0.5], [2, 1.0], [4, 3.0]]).columns
    >>> whole_columns(columns, None), whole_columns(columns, "x1"), whole_columns(columns, [])
    (('x0',), ('x1',), ())
    """
    if named is None:
        return tuple(column.name for column in columns if isinstance(column, Numeric) and column.whole)
    return (named,) if isinstance(named, str) else tuple(named)
