"""What is proven: what was requested first, each as a sentence with its proof, and how to check it without lambdak.

On a page, proofs are folded, and what nobody requested is information.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from shlex import quote

from lambdak.certify.certificate import BOUNDS, Claim, method_of
from lambdak.certify.summary import plain_statement
from lambdak.model.outward import upwards
from lambdak.report.amounts import at_most, number, plural, without_exponents
from lambdak.report.document import (
    Answer,
    Block,
    Bullets,
    Code,
    Fold,
    Heading,
    Mark,
    Note,
    Paragraph,
    Section,
    Table,
    Tone,
    shortened,
)
from lambdak.report.findings import Findings

_MEANING = (
    "A proof holds for every possible row, whether anybody has seen it or not. It is about the numbers that the model "
    "file stores, and leaves no tolerance."
)
_SEARCH = "print(model.verify(X, n=10_000))"
_MOST_EXPONENT = 700.0  # exp of more is no float
_FACTORS = {"log": "prediction", "logit": "odds", "cloglog": "cumulative hazard"}
_PAGE_MEANING = "A proof holds for every possible row, not only for the rows of a data set; rounding is allowed for."
_OPEN = (
    "It was requested, but the numbers of the model do not prove it. That does not mean that some row contradicts it: "
    "model.verify(X) searches for one."
)
_CHANGED = {
    "log": "the prediction changes",
    "logit": "the odds change",
    "cloglog": "the cumulative hazard changes",
    "softmax": "the odds between two classes change",
}
_MOST_FACTOR = 300  # exp of more is no factor that a reader takes in
_MOST_SENTENCES = 2  # at the top of the page


def dossier(findings: Findings) -> Section:
    """Return the certificate with all proofs, the search for a counterexample, and how to check them."""
    certificate = findings.certificate
    requested = [claim for claim in certificate.claims if claim.requested]
    blocks: list[Block] = [Paragraph(_MEANING), verdict(requested), Paragraph(_decided(findings))]
    if requested:
        blocks.append(_requested(requested))
    influence, whole = shortened(_influence(findings))
    also = [claim for claim in certificate.claims if claim.proven and not claim.requested and claim.kind != "influence"]
    blocks += [Heading("What each column can do at most"), Paragraph(_units(findings)), influence]
    if also:
        blocks += [Heading("Proven without having been requested"), _others(also)]
    blocks += [*_search(findings), *_checking(findings)]
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


def _decided(findings: Findings) -> str:
    if findings.certificate.exact:
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


def _influence(findings: Findings) -> Table:
    """Return the table of proven bounds, one line for each column, the strongest first."""
    claims = sorted(
        (claim for claim in findings.certificate.claims if claim.kind == "influence"), key=lambda claim: -_value(claim)
    )
    link = findings.model.loss.link.name
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


def _units(findings: Findings) -> str:
    link = findings.model.loss.link
    words = f"Raw scores are in units of {link.units}. No change of the column alone moves a raw score by more."
    return words + (" Factors are the same, as multiples." if link.name in _FACTORS else "")


def _others(claims: Sequence[Claim]) -> Table:
    rows = tuple((claim.subject, sentence(claim.statement), proof(claim)) for claim in claims)
    return Table("Further proven statements", ("About", "Guarantee", "Proof"), rows, left=(0, 1, 2))


def _search(findings: Findings) -> list[Block]:
    heading = Heading("The search for a counterexample")
    if findings.search is None:
        return [heading, Paragraph("Not run. This call runs it, from the rows of a table:"), Code(_SEARCH, "python")]
    tried, against = sum(check.tried for check in findings.search.checks), findings.search.violations
    words = f"A search tried to break what is proven, with {tried:,} comparisons of rows, random and guided: "
    words += f"{against:,} violations."
    return [heading, Note(words, "bad" if against else "good")]


def _checking(findings: Findings) -> list[Block]:
    name = findings.file.name or "model.safetensors"
    words = (
        "The proofs can be checked without trusting lambdak: lambdak_check.py is one file of about 400 lines that "
        "needs nothing but Python and shares no code with the library. The first line runs it alone, the second beside "
        "the library's own proofs."
    )
    lines = f"python -I -S lambdak_check.py {quote(name)}\nlambdak certify --exact --independent --model {quote(name)}"
    kinds = dict.fromkeys(claim.kind for claim in findings.certificate.claims)
    folds = [Fold(f"How {kind} claims are proven", (Paragraph(sentence(method_of(kind))),)) for kind in kinds]
    return [Heading("How to check the proofs"), Paragraph(words), Code(lines, "sh"), *folds]


# ---- on a page -------------------------------------------------------------------------------------------------------


def page(findings: Findings) -> Section:
    """Return what is guaranteed, with the proofs behind folds."""
    requested = [claim for claim in findings.certificate.claims if claim.requested]
    folds = [requested_claim(claim, findings) for claim in requested]
    blocks = (verdict(requested), Paragraph(_PAGE_MEANING), *folds, *_also(findings))
    return Section("certificate", "What is guaranteed", blocks)


def answer(findings: Findings) -> Answer:
    """Return how many of the requested guarantees are proven, for the top of a page."""
    title = "What is guaranteed"
    asked = [claim for claim in findings.certificate.claims if claim.requested]
    proven = [claim for claim in asked if claim.proven]
    first = sorted(asked, key=lambda claim: claim.proven)[:_MOST_SENTENCES]
    lines = [("" if claim.proven else "Not proven: ") + _sentence(claim, findings) for claim in first]
    more = len(asked) - len(first)
    if not asked:
        return Answer(title, "Bounds of every column", [
            "No constraint was requested. What each column can do at most is proven all the same: see Importance.",
        ])  # fmt: skip
    lines.append(f"And {more} more, below." if more else "Proven for every possible row.")
    tone: Tone = "good" if len(proven) == len(asked) else "bad"
    noun = "guarantee" if len(asked) == 1 else "guarantees"
    return Answer(title, f"{len(proven)} of {len(asked)} {noun} proven", lines, tone)


def _sentence(claim: Claim, findings: Findings) -> str:
    link = findings.model.loss.link
    return sentence(without_exponents(plain_statement(claim, link.units)) + _as_factor(claim, link.name))


def _as_factor(claim: Claim, link: str) -> str:
    """Return a bound on a logarithm as the factor that people know it by.

    Two classes of several may move against each other, each by as much as the bound.
    """
    if claim.kind not in ("influence", "joint influence") or not claim.value or link not in _CHANGED:
        return ""
    size = claim.value * (2 if link == "softmax" else 1)
    return f", so {_CHANGED[link]} by a factor of {at_most(math.exp(size))} at most" if size < _MOST_FACTOR else ""


def requested_claim(claim: Claim, findings: Findings) -> Fold:
    """Return a requested guarantee as a sentence, with its proof behind it."""
    mark = Mark("✓ proven", "good") if claim.proven else Mark("not proven", "bad")
    return Fold(_sentence(claim, findings), tuple(map(Paragraph, _checked(claim))), mark)


def _checked(claim: Claim) -> list[str]:
    """Return how a claim was checked, with its numbers."""
    lines = [] if claim.proven else [_OPEN]
    lines += [f"Checked: {without_exponents(claim.how)}."]
    lines += [f"Method: {method_of(claim.kind)}."] if method_of(claim.kind) else []
    value = "" if claim.value is None else at_most(claim.value) if claim.kind in BOUNDS else number(claim.value)
    lines += [f"The value that decides is {value}."] if value else []
    margin = claim.margin
    return lines + ([f"A raw score that is computed can be off by at most {number(margin, 1)}."] if margin else [])


def _also(findings: Findings) -> list[Block]:
    """Return what nobody requested: what is proven all the same, and what is not; neither is a verdict."""
    claims, idle = findings.certificate.claims, {findings.names[i] for i in findings.behaviour.idle}
    others = [
        claim for claim in claims if not claim.requested and claim.kind != "influence" and claim.subject not in idle
    ]
    proven = [_sentence(claim, findings) for claim in others if claim.proven]
    free = [claim.subject for claim in others if not claim.proven and claim.kind == "monotone"]
    rest = [
        sentence(f"not known: {claim.statement}") for claim in others if not claim.proven and claim.kind != "monotone"
    ]
    blocks: list[Block] = []
    if proven:
        title = f"Also true, though not requested ({plural(len(proven), 'statement')})"
        blocks.append(Fold(title, (Bullets(proven),)))
    if free or rest:
        words = (
            f"No direction was requested of {plural(len(free), 'other column')}, and none is proven: {', '.join(free)}."
        )
        note = Paragraph("This is information, no finding: nothing of it was requested of the model.")
        inside: list[Block] = [*([Paragraph(words)] if free else []), *([Bullets(rest)] if rest else []), note]
        blocks.append(Fold("What is left open", inside))
    bounds = sum(claim.kind == "influence" for claim in claims)
    if bounds:
        words = f"What {plural(bounds, 'column')} can do at most is proven, too: see Importance."
        blocks.append(Paragraph(words))
    return blocks
