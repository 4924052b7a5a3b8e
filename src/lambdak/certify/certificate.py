"""A certificate as data and in print: claims about a model, the numbers that decide them, and how they were checked."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from io import StringIO
from typing import Any

from rich.console import Console
from rich.table import Table

from lambdak.certify.claim import BOUNDS, IN_RANGE, TOO_ROUGH, Claim
from lambdak.certify.summary import summary
from lambdak.losses.links import LOG
from lambdak.model.outward import upwards
from lambdak.shapes.registry import SHAPES
from lambdak.table.shown import Shown
from lambdak.table.visible import visible

IN_FLOAT = "in float64 with error bounds"  # how something was decided in an exact certificate, if not in integers
__all__ = ["BOUNDS", "IN_FLOAT", "IN_RANGE", "METHODS", "TOO_ROUGH", "Certificate", "Claim", "method_of", "printed"]

_WIDTH = 110  # of a printed certificate
_SUBJECT_WIDTH = 22
_SHAPES = ("convex", "concave")
METHODS = {
    "monotone": "all increment matrices, from knot to knot, must be positive semidefinite; value is the smallest of "
    "their eigenvalues; missing cells are ignored",
    "convex": "the raw score must be the last eigenvalue, its columns must continue straight beyond the training "
    "range, and all changes of slope must be positive semidefinite; value is the smallest of their eigenvalues",
    "concave": "the raw score must be the first eigenvalue, its columns must continue straight beyond the training "
    "range, and all changes of slope must be negative semidefinite; value is minus the largest of their eigenvalues",
    "influence": "value is the largest weighted sum of ‖A(b) − A(a)‖₂ over any two cells of the column, or a bound on "
    "it if they are many, plus twice the rounding",
    "joint influence": "value is the sum of the bounds of these columns, as for influence, plus twice the rounding",
    "response": "value is the largest ‖Σ δ_i A_i‖₂ over the box of tolerances, or a bound on it, plus twice the "
    "rounding",
    "quantiles": "the steps from quantile to quantile must be positive semidefinite; value is the smallest of their "
    "eigenvalues",
    "survival": "the steps from knot to knot of time must be positive semidefinite; value is the smallest of their "
    "eigenvalues; between knots the raw score is straight in the logarithm of time, and beyond them, where curves are "
    "extrapolated, it rises with one slope for all rows",
    "cut-points": "the steps from cut-point to cut-point must be positive semidefinite, or they are eigenvalues of one "
    "matrix, which are in order",
    "interactions": "in every member the matrices of all columns but those of one group must be zero or multiples of "
    "the identity, which only add a number to every eigenvalue: they are compared as they are stored",
}
_PROOFS = {
    True: "Statements were decided in integers, about the numbers as they are stored: there is no margin. Only what is "
    "per unit or across the range in words was computed in float64 with error bounds",
    False: "Statements were proven in float64 with bounds on its errors, and in integers where these left a doubt, "
    "about the numbers as they are stored: there is no margin",
}
_COMPUTED = (
    "Rounding is the most by which a raw score that is computed can differ from the function that is proven{limit}: "
    "bounds include it; two raw scores that should be in order, and labels that they decide, may be out of order "
    "within twice as much, and no more."
)
_ENDS = (
    f"Predictions end at {upwards(math.exp(LOG.most))}: raw scores above {LOG.most:g} give this one. What never rises "
    "or falls, is concave or moves by a bound at most does so beyond, too; what is convex is so up to there."
)


@dataclass(frozen=True, repr=False)
class Certificate(Shown):
    """All claims about one model; printed, it says what was requested, and :meth:`to_text` says all.

    ``exact`` says whether all was decided in integers; ``assumed`` is what holds under an assumption that no matrix can
    prove, each with its assumption.
    """

    model: str
    score: str
    claims: tuple[Claim, ...]
    exact: bool = False
    assumed: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether everything that was requested of the model is proven."""
        return all(claim.proven for claim in self.claims if claim.requested)

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain data."""
        claims = [asdict(claim) for claim in self.claims]
        return {
            "model": self.model, "score": self.score, "exact": self.exact, "holds": self.holds, "claims": claims,
            "assumed": list(self.assumed),
        }  # fmt: skip

    def to_json(self) -> str:
        """The certificate as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_text(self, *, details: bool = False) -> str:
        """What was requested and whether it is proven; with ``details`` every claim, and the numbers that prove it."""
        return self._whole() if details else "\n".join(map(visible, summary(self)))

    def __str__(self) -> str:
        return self.to_text()

    def _whole(self) -> str:
        ordered = sorted(self.claims, key=lambda claim: (not claim.requested, not claim.proven))
        names = ("", "about", "claim", "value", "rounding")
        return printed(f"{self.model}: what is guaranteed", names, [*map(_row, ordered)], [*self._notes()])

    def _notes(self) -> Iterator[str]:
        requested = [claim.proven for claim in self.claims if claim.requested]
        if requested:
            yield f"{sum(requested)} of {len(requested)} requested claims are proven."
        kinds = dict.fromkeys(claim.kind for claim in self.claims)
        slopes = " and ".join(f'"{kind}"' for kind in _SHAPES if kind in kinds)
        yield f"Raw scores are in units of {self.score}, and so are values" + (
            f", but that of {slopes} is a change of slope: raw score per unit of the column." if slopes else "."
        )
        if self.score == LOG.units:
            yield _ENDS
        limited = any(IN_RANGE in claim.statement for claim in self.claims)
        yield "What is proven holds for every row, seen or unseen" + (
            f'; where a claim says "{IN_RANGE}", for rows and changes in that range.' if limited else "."
        )
        rough = next((claim.how for claim in self.claims if TOO_ROUGH in claim.how), "")
        if rough:
            yield f"Nothing is proven: computing a raw score can err by{rough.split(TOO_ROUGH)[1]}."
        elif not all(claim.proven for claim in self.claims):
            yield "Not proven means that the matrices do not prove it, not that a counterexample exists."
        floats = [claim.subject for claim in self.claims if IN_FLOAT in claim.how]
        yield _PROOFS[self.exact] + (f", and so were the claims about {', '.join(floats)}." if floats else ".")
        yield _COMPUTED.format(limit=f", {IN_RANGE}" if limited else "")
        yield from (f"Under an assumption, not proven: {words}." for words in self.assumed)
        yield "How it was checked:"
        here = {claim.kind: f" Here: {claim.how}." for claim in self.claims if claim.kind in (*_SHAPES, "response")}
        yield from (f"{kind}: {method_of(kind)}.{here.get(kind, '')}" for kind in kinds)


def method_of(kind: str) -> str:
    """Return how claims of this kind are checked, as the shape says if it is that of one."""
    return METHODS.get(kind) or next((shape.method for shape in SHAPES.values() if shape.kind == kind), "")


def _row(claim: Claim) -> tuple[str, ...]:
    status = ("proven" if claim.proven else "not proven") + (", requested" if claim.requested else "")
    bound = claim.kind in BOUNDS
    value = "" if claim.value is None else upwards(claim.value) if bound else f"{claim.value:.4g}"
    return status, claim.subject, claim.statement, value, "" if claim.margin is None else upwards(claim.margin, 2)


def printed(title: str, names: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """A table as text, its last columns to the right, with notes below."""
    table = Table(title=visible(title), title_justify="left")
    for name in names:
        words = name in ("", "about", "claim")
        most = _SUBJECT_WIDTH if name == "about" else None
        table.add_column(name, justify="left" if words else "right", overflow="fold", max_width=most)
    for row in rows:
        table.add_row(*map(visible, row))
    text = StringIO()
    plain = {"markup": False, "highlight": False, "emoji": False, "color_system": None, "force_jupyter": False}
    Console(file=text, width=_WIDTH, **plain).print(table, *map(visible, notes), sep="\n")  # type: ignore[arg-type]
    return text.getvalue()
