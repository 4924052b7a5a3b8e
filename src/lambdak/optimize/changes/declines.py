"""Reasons of declined rows: as data, as a table, and in words that a customer can read.

The text of a reason is the user's, with or without a code, or one that says what is too low or too high.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, final

from lambdak.explain.row_words import column_texts
from lambdak.model import Model
from lambdak.model.outward import downwards, upwards
from lambdak.table.category_levels import shown
from lambdak.table.frames import make_frame
from lambdak.table.shown import Shown
from lambdak.table.visible import visible

_SHORT = 10  # letters of a number of a row that is shown with all its digits
_MOST_PRINTED = 10  # rows; of more, the first of those that were declined
_FIELDS = ("row", "rank", "column", "code", "text", "value", "needed", "enough", "never_enough", "then", "proven",
           "contribution", "low", "high", "levels")  # fmt: skip


@final
@dataclass(frozen=True)
class ReasonTexts:
    """Codes and texts of reasons that a user sets, by column."""

    given: Mapping[str, tuple[str, str]]

    @classmethod
    def read(cls, model: Model, texts: Any) -> ReasonTexts:
        """Read texts of reasons as a user gives them: column → text, or (code, text)."""
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


@final
@dataclass(frozen=True, repr=False)
class Reason(Shown):
    """One reason why one row was declined.

    Attributes
    ----------
    row, rank : int
        Position of the row, and of the reason among those of the row, from 1.
    column, code, text : str
        What it is about; the code is empty where none was given.
    value : cell
        What the row has there; None if it is missing.
    low, high : float or None
        The numbers with which the row would have been approved, or closer to it; infinite where the range has no end,
        None of a category, and of a column that cannot change.
    levels : tuple
        The same of a category: any one of these.
    enough : bool
        Whether the decision would then have been approval, with all else as it is: proven, of what ``predict`` returns.
    never_enough : bool
        Whether no value of this column alone leads to an approval: proven.
    then : float or None
        The probability or prediction would then have been at least this (at most, where it must fall): proven.
    contribution : float
        What the column adds towards the decline, in units of the raw score.
    """

    row: int
    rank: int
    column: str
    code: str
    text: str
    value: Any
    low: float | None
    high: float | None
    levels: tuple[Any, ...]
    enough: bool
    never_enough: bool
    then: float | None
    contribution: float

    @property
    def needed(self) -> str:
        """The range or the levels in words: "30 or less"; empty for a column that cannot change."""
        if self.levels:
            return _listed([visible(shown(level)) for level in self.levels], "or")
        if self.low is None or self.high is None:
            return ""
        if math.isinf(self.low) and math.isinf(self.high):
            return "known"
        if math.isinf(self.low):
            return f"{number(self.high)} or less"
        if math.isinf(self.high):
            return f"{number(self.low)} or more"
        return number(self.low) if self.low == self.high else f"between {number(self.low)} and {number(self.high)}"

    @property
    def proven(self) -> bool:
        """Whether it says what would have been: all that is said is proven."""
        return bool(self.needed)


@final
@dataclass(frozen=True, repr=False)
class Decision(Shown):
    """What was decided about one row, and why.

    Attributes
    ----------
    row : int
    approved : bool
        Rows that are approved have no reasons.
    prediction : float or None
        The probability of approval, or the prediction, as it is.
    reasons : tuple of Reason
        The principal ones first.
    together : mapping of str to cell
        Where none is enough alone: cells with which the row would be approved; empty if none were found.
    compared : str
        What contributions are counted against: "the baseline", or "the best value of each column" where no column is
        worse than that of the baseline.
    unnamed : float
        The share of all contributions towards the decline that belongs to excluded columns.
    """

    row: int
    approved: bool
    prediction: float | None
    reasons: tuple[Reason, ...] = ()
    together: Mapping[str, Any] = field(default_factory=dict)
    compared: str = "the baseline"
    unnamed: float = 0.0


@final
@dataclass(frozen=True, eq=False, repr=False)
class Reasons(Shown):
    """Decisions about rows, and the reasons of those that were declined.

    Attributes
    ----------
    decisions : tuple of Decision
    measure : str
        What ``then`` and ``prediction`` are: "the probability of approval", "the prediction".
    rises : bool
        Whether more of it is closer to an approval.
    goal : str
        What an approval is, in words.
    """

    decisions: tuple[Decision, ...]
    measure: str
    rises: bool
    goal: str
    _like: Any = field(repr=False, default=None)

    def __len__(self) -> int:
        return len(self.decisions)

    def __iter__(self) -> Iterator[Decision]:
        return iter(self.decisions)

    def __getitem__(self, row: int) -> Decision:
        return self.decisions[row]

    @property
    def declined(self) -> tuple[Decision, ...]:
        """The rows that were declined."""
        return tuple(decision for decision in self.decisions if not decision.approved)

    def why(self, row: int = 0) -> str:
        """The decision about one row in words."""
        decision = self.decisions[row]
        if decision.approved:
            return f"Row {decision.row}: approved, so there are no reasons."
        if not decision.reasons:
            return f"Row {decision.row}: declined. No column that may be named speaks against it."
        lines = [f"Row {decision.row}: declined. The principal reasons:"]
        lines += [f"  {reason.rank}. {self._said(reason)}" for reason in decision.reasons]
        if decision.together:
            moves = [f"{visible(name)} been {_exact(cell)}" for name, cell in decision.together.items()]
            lines.append(f"  Together: had {_listed(moves, 'and')}, the decision would have been approval.")
        return "\n".join(lines)

    def _said(self, reason: Reason) -> str:
        code = f"[{visible(reason.code)}] " if reason.code else ""
        text, is_now = visible(reason.text), "not known" if reason.value is None else _cell(reason.value)
        about = is_now if reason.text.startswith(reason.column) else f"{visible(reason.column)}: {is_now}"
        said = f"{code}{text}." if text.endswith(f" {is_now}") else f"{code}{text} ({about})."
        if not reason.needed:
            return said
        needed = f"known, and {reason.needed}" if reason.value is None and reason.needed != "known" else reason.needed
        said += f" Had it been {needed}, "
        if reason.enough:
            return f"{said}the decision would have been approval."
        alone = "no value of it alone is enough" if reason.never_enough else "that alone is not proven to be enough"
        if reason.then is None:
            return f"{said}the decision would have been closer to approval; {alone}."
        most = f"at least {downwards(reason.then, 3)}" if self.rises else f"at most {upwards(reason.then, 3)}"
        return f"{said}{self.measure} would have been {most}; {alone}."

    def __str__(self) -> str:
        if not len(self):
            return "no rows"
        if len(self) <= _MOST_PRINTED:
            return "\n".join(self.why(row) for row in range(len(self)))
        declined = self.declined
        lines = [f"{len(declined):,} of {len(self):,} rows declined"]
        lines += [self.why(decision.row) for decision in declined[:_MOST_PRINTED]]
        if len(declined) > _MOST_PRINTED:
            lines.append(f"… and {len(declined) - _MOST_PRINTED:,} more: why(row) says it of one, to_frame() of all")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """One line for each reason, in a frame of the library that the rows came from."""
        found = [reason for decision in self.decisions for reason in decision.reasons]
        texts = ("column", "code", "text", "needed")
        table: dict[str, list[Any]] = {name: [getattr(reason, name) for reason in found] for name in _FIELDS}
        for name in ("value", "levels"):  # cells of several kinds side by side
            table[name] = [_plain(cell) for cell in table[name]]
        for name in ("then", "low", "high"):
            table[name] = [math.nan if cell is None else cell for cell in table[name]]
        return make_frame(
            {name: _texts(cells) if name in texts else cells for name, cells in table.items()}, self._like
        )

    def to_dict(self) -> dict[str, Any]:
        """All decisions as plain data."""
        return {
            "approval": self.goal,
            "measure": self.measure,
            "decisions": [_decision(decision, self.why(i)) for i, decision in enumerate(self.decisions)],
        }


def _decision(decision: Decision, why: str) -> dict[str, Any]:
    reasons = [asdict(reason) | {"needed": reason.needed, "proven": reason.proven} for reason in decision.reasons]
    return asdict(decision) | {"reasons": reasons, "together": dict(decision.together), "why": why}


def _texts(values: list[Any]) -> list[str]:
    return [str(value) for value in values]


def _plain(value: Any) -> str | None:
    """A cell, or several, as text; None where there is none."""
    if isinstance(value, tuple):
        return ", ".join(shown(level) for level in value) or None
    return None if value is None else _cell(value)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return number(value) if len(repr(value)) <= _SHORT else f"{value:,.6g}"
    return visible(shown(value))


def _exact(value: Any) -> str:
    return number(value) if isinstance(value, float) else _cell(value)


def number(value: float) -> str:
    """A number with all its digits, as that is what was checked."""
    if math.isinf(value):
        return str(value)
    return f"{int(value):,}" if value == round(value) and abs(value) < 1e15 else f"{value:,}"


def _listed(words: list[str], last: str) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"
