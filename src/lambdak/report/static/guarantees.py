"""What is guaranteed: what was requested first, as sentences with their proofs behind; the rest is information."""

from __future__ import annotations

import math

from lambdak.certify.certificate import BOUNDS, Claim, method_of
from lambdak.certify.summary import plain_statement
from lambdak.report.amounts import at_most, number, plural, without_exponents
from lambdak.report.contents import Contents
from lambdak.report.document import Bullets, Paragraph
from lambdak.report.html import blocks_html
from lambdak.report.sections.guarantees import sentence, verdict
from lambdak.report.static.markup import card, fold, section

_MEANING = "A proof holds for every possible row, not only for the rows of a data set; rounding is allowed for."
_OPEN = (
    "It was requested, but the numbers of the model do not prove it. That does not mean that some row contradicts it: "
    "model.verify(X) searches for one."
)
_CHANGED = {
    "log": "the prediction changes",
    "logit": "the odds change",
    "softmax": "the odds between two classes change",
}
_MOST_EXPONENT = 300
_MOST_SENTENCES = 2  # at the top of the page


def guarantees(contents: Contents) -> str:
    """The section."""
    claims = contents.claims
    if claims is None:
        words = "This report was written without a certificate; model.report adds it."
        return section("certificate", "What is guaranteed", blocks_html([Paragraph(words)]))
    asked = [claim for claim in claims if claim.requested]
    folds = [requested(claim, contents) for claim in asked]
    parts = [blocks_html([verdict(asked), Paragraph(_MEANING)]), *folds, *_also(contents)]
    return section("certificate", "What is guaranteed", "\n".join(parts))


def answer(contents: Contents) -> str:
    """The card at the top."""
    title = "What is guaranteed"
    if contents.claims is None:
        return card(title, "Not stated", ["This report was written without a certificate."])
    asked = [claim for claim in contents.claims if claim.requested]
    proven = [claim for claim in asked if claim.proven]
    first = sorted(asked, key=lambda claim: claim.proven)[:_MOST_SENTENCES]
    lines = [("" if claim.proven else "Not proven: ") + _sentence(claim, contents) for claim in first]
    more = len(asked) - len(first)
    if not asked:
        return card(title, "Bounds of every column", [
            "No constraint was requested. What each column can do at most is proven all the same: see Importance.",
        ])  # fmt: skip
    lines.append(f"And {more} more, below." if more else "Proven for every possible row.")
    tone = "good" if len(proven) == len(asked) else "bad"
    noun = "guarantee" if len(asked) == 1 else "guarantees"
    return card(title, f"{len(proven)} of {len(asked)} {noun} proven", lines, tone)


def _sentence(claim: Claim, contents: Contents) -> str:
    link = contents.model.loss.link
    return sentence(without_exponents(plain_statement(claim, link.units)) + _factor(claim, link.name))


def _factor(claim: Claim, link: str) -> str:
    """A bound on a logarithm, as the factor that people know it by.

    Two classes of several may move against each other, each by as much as the bound.
    """
    if claim.kind not in ("influence", "joint influence") or not claim.value or link not in _CHANGED:
        return ""
    size = claim.value * (2 if link == "softmax" else 1)
    return f", so {_CHANGED[link]} by a factor of {at_most(math.exp(size))} at most" if size < _MOST_EXPONENT else ""


def requested(claim: Claim, contents: Contents) -> str:
    """A requested guarantee as a sentence, with its proof behind it."""
    mark, tone = ("✓ proven", "good") if claim.proven else ("not proven", "bad")
    return fold(_sentence(claim, contents), *map(Paragraph, _proof(claim)), mark=mark, tone=tone)


def _proof(claim: Claim) -> list[str]:
    """How a claim was checked, with its numbers."""
    lines = [] if claim.proven else [_OPEN]
    lines += [f"Checked: {without_exponents(claim.how)}."]
    lines += [f"Method: {method_of(claim.kind)}."] if method_of(claim.kind) else []
    value = "" if claim.value is None else at_most(claim.value) if claim.kind in BOUNDS else number(claim.value)
    lines += [f"The value that decides is {value}."] if value else []
    margin = claim.margin
    return lines + ([f"A raw score that is computed can be off by at most {number(margin, 1)}."] if margin else [])


def _also(contents: Contents) -> list[str]:
    """What nobody requested: what is proven all the same, and what is not; neither is a verdict."""
    claims, idle = contents.claims or (), {contents.names[i] for i in contents.behaviour.idle}
    others = [own for own in claims if not own.requested and own.kind != "influence" and own.subject not in idle]
    proven = [_sentence(claim, contents) for claim in others if claim.proven]
    free = [claim.subject for claim in others if not claim.proven and claim.kind == "monotone"]
    rest = [
        sentence(f"not known: {claim.statement}") for claim in others if not claim.proven and claim.kind != "monotone"
    ]
    found = []
    if proven:
        found.append(fold(f"Also true, though not requested ({plural(len(proven), 'statement')})", Bullets(proven)))
    if free or rest:
        words = (
            f"No direction was requested of {plural(len(free), 'other column')}, and none is proven: {', '.join(free)}."
        )
        note = Paragraph("This is information, no finding: nothing of it was requested of the model.")
        found.append(
            fold("What is left open", *([Paragraph(words)] if free else []), *([Bullets(rest)] if rest else []), note)
        )
    bounds = sum(claim.kind == "influence" for claim in claims)
    if bounds:
        words = f"What {plural(bounds, 'column')} can do at most is proven, too: see Importance."
        found.append(blocks_html([Paragraph(words)]))
    return found
