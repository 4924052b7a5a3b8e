"""What columns and the prediction are called when a row is explained: as in the table, or as the user's readers say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from lambdak.explain.wording import prediction_words, separated_cell
from lambdak.model.rows import column_place

_TARGET = "target"  # as users spell it: what is predicted
_PREDICTED = "\0target"  # the same among the names of columns, of which it is none


def column_texts(names: Sequence[str], texts: Any, beside: Sequence[str] = ()) -> dict[str, tuple[str, str]]:
    """Column → (code, text), from column → text, or (code, text); ``beside`` are keys that are no columns."""
    if not isinstance(texts, Mapping | None):
        raise TypeError(f"texts must map columns to text or (code, text); got a {type(texts).__name__}")
    try:
        return {_key(names, key, beside): _pair(key, own) for key, own in (texts or {}).items()}
    except ValueError as error:
        raise ValueError(f"texts: {error}") from None


def _key(names: Sequence[str], key: Any, beside: Sequence[str]) -> str:
    if key in beside and key not in names:
        return _PREDICTED
    return names[column_place(names, key)]


def _pair(column: Any, given: Any) -> tuple[str, str]:
    pair = ("", given) if isinstance(given, str) else given
    if not (isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(own, str) for own in pair)):
        raise ValueError(f"that of column {column!r} must be a text, or a code and a text; got {given!r}")
    return pair[0], pair[1]


@final
@dataclass(frozen=True)
class RowWords:
    """The words of an explanation.

    Attributes
    ----------
    plain : bool
        Whether it is for readers who do not know the table: without the names of columns that have a text.
    texts, units : mapping
        Of columns; a unit stands behind numbers.
    what, unit : str
        Of the prediction; empty if they are not given.
    """

    plain: bool = False
    texts: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    what: str = ""
    unit: str = ""

    @classmethod
    def read(cls, columns: Sequence[str], target: str | None, link: str, texts: Any, units: Any) -> RowWords:
        """As a user gives them; "target", or its own name, is the key of what is predicted."""
        beside = (_TARGET, *([] if target is None else [target]))
        own = _apart({name: text for name, (_, text) in column_texts(columns, texts, beside).items()})
        if not isinstance(units, Mapping | None) or not all(isinstance(unit, str) for unit in (units or {}).values()):
            raise TypeError(f"units must map columns to text, such as {{{columns[0]!r}: 'EUR'}}; got {units!r}")
        try:
            found = _apart({_key(columns, key, beside): unit for key, unit in (units or {}).items()})
        except ValueError as error:
            raise ValueError(f"units: {error}") from None
        if found[1] and link in ("logit", "softmax"):
            raise ValueError("units must not have one of the target: probabilities are written in per cent")
        return cls(texts is not None, own[0], found[0], own[1], found[1])

    def column(self, name: str) -> str:
        """What a column is called."""
        return self.texts.get(name, name)

    def cell(self, name: str, text: str, kind: str) -> str:
        """A cell with separators and its unit."""
        unit = self.units.get(name, "")
        return separated_cell(text, kind) + (f" {unit}" if unit and kind == "number" and text != "missing" else "")

    def pair(self, name: str, text: str, kind: str) -> str:
        """A column and its cell."""
        return f"{self.column(name)}{': ' if self.plain else ' = '}{self.cell(name, text, kind)}"

    def prediction(self, link: str, output: str) -> str:
        """What is predicted."""
        return self.what or prediction_words(link, output)


def _apart(given: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Texts of the columns, and the text of the prediction, empty if there is none."""
    return {name: text for name, text in given.items() if name != _PREDICTED}, given.get(_PREDICTED, "")
