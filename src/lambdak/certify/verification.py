"""What a search for counterexamples found, as data and in print."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from lambdak.certify.certificate import printed
from lambdak.table.shown import Shown


@dataclass(frozen=True, repr=False)
class Check(Shown):
    """What was tried against one claim.

    Attributes
    ----------
    kind, subject, statement : str
        Of the claim.
    tried : int
        Comparisons that were made; 0 if there is nothing to try, as with a column that is constant.
    violations : int
        How many of them broke the claim by more than rounding. An output that is not a number breaks any claim.
    margin : float or None
        How near the search came: a claim is broken below zero. For a monotone column it is the least slope of the
        prediction, times the range of the column; otherwise it is in units of the raw score, or of the quantiles. None
        if nothing was compared, or if an output was not a number.
    adversarial : bool
        Whether the guided search came nearer than all random rows.
    """

    kind: str
    subject: str
    statement: str
    tried: int
    violations: int
    margin: float | None
    adversarial: bool

    def cells(self) -> tuple[str, ...]:
        """Cells of the check's row in the printed table."""
        if not self.tried:
            return self.subject, self.statement, "nothing to try", "", "", ""
        unknown = "not a number" if self.violations else ""
        margin = unknown if self.margin is None else f"{self.margin:.3g}"
        guided = "yes" if self.adversarial else ""
        return self.subject, self.statement, f"{self.tried:,}", f"{self.violations:,}", margin, guided


@dataclass(frozen=True, repr=False)
class Verification(Shown):
    """All checks of one search; prints as a table."""

    checks: tuple[Check, ...]

    @property
    def violations(self) -> int:
        """How many comparisons broke a claim."""
        return sum(check.violations for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """The search as plain data."""
        return {"violations": self.violations, "checks": [asdict(check) for check in self.checks]}

    def to_json(self) -> str:
        """The search as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        names = ("about", "claim", "tried", "violations", "tightest\nmargin", "met by\nguided\nsearch")
        total = (
            f"{self.violations:,} violations. A claim is broken by a margin below zero, if rounding cannot explain it."
        )
        notes = [total, "Margins of monotone columns are in units of the prediction, others in units of the raw score."]
        rows = [check.cells() for check in self.checks]
        return printed("The search for a counterexample", names, rows, notes)
