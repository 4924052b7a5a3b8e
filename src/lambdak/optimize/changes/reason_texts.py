"""The text of each reason: the user's, with or without a code, or one that says what is too low or too high."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from lambdak.explain.row_words import column_texts
from lambdak.model import Model
from lambdak.table.category_levels import shown


@final
@dataclass(frozen=True)
class ReasonTexts:
    """Codes and texts of reasons that a user sets, by column."""

    given: Mapping[str, tuple[str, str]]

    @classmethod
    def read(cls, model: Model, texts: Any) -> ReasonTexts:
        """As a user gives them: column → text, or (code, text)."""
        return cls(column_texts(model.encoder.feature_names, texts))

    def of(self, column: str, value: Any, low: float, high: float) -> tuple[str, str]:
        """Code and text of a reason; ``low`` and ``high`` are what is needed, NaN of a category."""
        return self.given.get(column) or ("", _default(column, value, low, high))


def _default(column: str, value: Any, low: float, high: float) -> str:
    if value is None:
        return f"{column} is not known"
    if low != low:
        return f"{column} is {shown(value)}"
    return f"{column} is too low" if low > value else f"{column} is too high"
