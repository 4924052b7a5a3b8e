"""What is proven: what was requested first, each as a sentence with its proof, and how to check it without lambdak."""

from __future__ import annotations

import math
from collections.abc import Sequence
from shlex import quote

from lambdak.certify.certificate import BOUNDS, Claim, method_of
from lambdak.model.outward import upwards
from lambdak.report.amounts import plural
from lambdak.report.document import Block, Code, Fold, Heading, Mark, Note, Paragraph, Section, Table, shortened
from lambdak.report.findings import Findings

_MEANING = (
    "A proof holds for every possible row, whether anybody has seen it or not. It is about the numbers that the model "
    "file stores, and leaves no tolerance."
)
_SEARCH = "print(model.verify(X, n=10_000))"
_MOST_EXPONENT = 700.0  # exp of more is no float
_FACTORS = {"log": "prediction", "logit": "odds"}


def guarantees(found: Findings) -> Section:
    """The certificate."""
    own = found.certificate
    requested = [claim for claim in own.claims if claim.requested]
    blocks: list[Block] = [Paragraph(_MEANING), verdict(requested), Paragraph(_decided(found))]
    if requested:
        blocks.append(_requested(requested))
    influence, whole = shortened(_influence(found))
    also = [claim for claim in own.claims if claim.proven and not claim.requested and claim.kind != "influence"]
    blocks += [Heading("What each column can do at most"), Paragraph(_units(found)), influence]
    if also:
        blocks += [Heading("Proven without having been requested"), _others(also)]
    blocks += [*_search(found), *_checking(found)]
    failed = [claim.statement for claim in requested if not claim.proven]
    return Section("guarantees", "Guarantees and their proofs", tuple(blocks), whole,
                   tuple(f"Requested, but not proven: {words}." for words in failed))  # fmt: skip


def verdict(requested: Sequence[Claim]) -> Note:
    """How many of the requested guarantees are proven."""
    proven = sum(claim.proven for claim in requested)
    if not requested:
        return Note("No constraint was requested of this model; what it guarantees all the same is below.")
    words = f"{proven} of {plural(len(requested), 'requested guarantee')} {'is' if proven == 1 else 'are'} proven."
    return Note(words, "good" if proven == len(requested) else "bad")


def _decided(found: Findings) -> str:
    if found.certificate.exact:
        return "Every statement was decided in whole numbers (exact=True), so that no rounding is involved."
    return "Statements were proven in float64 with bounds on its errors, and in whole numbers where these left a doubt."


def _requested(claims: list[Claim]) -> Table:
    rows = tuple((_mark(claim), claim.subject, sentence(claim.statement), proof(claim)) for claim in claims)
    return Table("Requested guarantees", ("", "About", "Guarantee", "Proof"), rows, left=(0, 1, 2, 3))


def _mark(claim: Claim) -> Mark:
    return Mark("proven", "good") if claim.proven else Mark("not proven", "bad")


def proof(claim: Claim) -> str:
    """Why a claim holds, in a sentence; the formula of a bound is behind a fold."""
    if claim.kind in BOUNDS:
        return f"The matrices of any two of its cells differ by at most {upwards(_value(claim))}."
    if claim.kind == "monotone" and claim.proven:
        return f"No step of the column can move the result the other way: {claim.how}."
    return sentence(claim.how)


def sentence(text: str) -> str:
    """A statement as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def _influence(found: Findings) -> Table:
    """One line for each column, the strongest first."""
    claims = sorted((own for own in found.certificate.claims if own.kind == "influence"), key=lambda own: -_value(own))
    link = found.subject.model.loss.link.name
    factor = [f"Factor on the {_FACTORS[link]}"] if link in _FACTORS else []
    rows = []
    for claim in claims:
        unit, value = claim.details.get("per unit"), _value(claim)
        per_unit = "" if unit is None else upwards(float(unit))
        rows.append((claim.subject, _mark(claim), upwards(value), *(_factor(value) for _ in factor), per_unit))
    names = ("Column", "", "Largest change of a raw score", *factor, "Largest change per unit")
    return Table("Proven bounds on the influence of each column", names, tuple(rows), left=(0, 1))


def _value(claim: Claim) -> float:
    return math.inf if claim.value is None else claim.value


def _factor(bound: float) -> str:
    return upwards(math.exp(bound)) if bound < _MOST_EXPONENT else "beyond 1e+304"


def _units(found: Findings) -> str:
    link = found.subject.model.loss.link
    words = f"Raw scores are in units of {link.units}. No change of the column alone moves a raw score by more."
    return words + (" Factors are the same, as multiples." if link.name in _FACTORS else "")


def _others(claims: Sequence[Claim]) -> Table:
    rows = tuple((claim.subject, sentence(claim.statement), proof(claim)) for claim in claims)
    return Table("Further proven statements", ("About", "Guarantee", "Proof"), rows, left=(0, 1, 2))


def _search(found: Findings) -> list[Block]:
    heading = Heading("The search for a counterexample")
    if found.search is None:
        return [heading, Paragraph("Not run. This call runs it, from the rows of a table:"), Code(_SEARCH, "python")]
    tried, against = sum(check.tried for check in found.search.checks), found.search.violations
    words = f"A search tried to break what is proven, with {tried:,} comparisons of rows, random and guided: "
    words += f"{against:,} violations."
    return [heading, Note(words, "bad" if against else "good")]


def _checking(found: Findings) -> list[Block]:
    name = found.file.name or "model.safetensors"
    words = (
        "The proofs can be checked without trusting lambdak: lambdak_check.py is one file of about 400 lines that "
        "needs nothing but Python and shares no code with the library. The first line runs it alone, the second beside "
        "the library's own proofs."
    )
    lines = f"python -I -S lambdak_check.py {quote(name)}\nlambdak certify --exact --independent --model {quote(name)}"
    kinds = dict.fromkeys(claim.kind for claim in found.certificate.claims)
    folds = [Fold(f"How {kind} claims are proven", sentence(method_of(kind))) for kind in kinds]
    return [Heading("How to check the proofs"), Paragraph(words), Code(lines, "sh"), *folds]
