"""A certificate in a few plain sentences: what was requested first, and how much else is proven."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lambdak.certify.claim import IN_RANGE, TOO_ROUGH, Claim
from lambdak.losses.links import LOG
from lambdak.model.outward import separated, upwards

if TYPE_CHECKING:
    from lambdak.certify.certificate import Certificate

_NOUNS = {
    "the target": "prediction",
    "log-odds": "log-odds",
    "the logarithm of the prediction": "logarithm of the prediction",
    "the logarithm of the cumulative hazard": "logarithm of the cumulative hazard",
}
_LISTED = 5  # bounds that are named where nothing was requested
_SETTINGS = "constraints, monotonic_cst, max_influence, shape and interaction_cst"


def summary(certificate: Certificate) -> Iterator[str]:
    """Lines: every requested claim, what else is proven, and how to read the rest."""
    requested = [claim for claim in certificate.claims if claim.requested]
    others = [claim for claim in certificate.claims if not claim.requested]
    proven = sum(claim.proven for claim in requested)
    if requested:
        yield (
            f"{certificate.model}: {proven} of {len(requested)} requested guarantees "
            f"{'is' if len(requested) == 1 else 'are'} proven, for every row, seen or unseen."
        )
    else:
        yield f"{certificate.model}: no guarantee was requested ({_SETTINGS} request them)."
    for claim in (*requested, *(own for own in others if own.kind == "response")):
        yield f"  {'proven' if claim.proven else 'not proven':<10}  {plain_statement(claim, certificate.score)}"
    rough = next((claim.how for claim in certificate.claims if TOO_ROUGH in claim.how), "")
    if rough:
        yield f"Nothing is proven: computing a raw score can err by{rough.split(TOO_ROUGH)[1]}."
    elif proven < len(requested):
        yield "Not proven means that there is no proof, not that a counterexample exists: verify(X) searches for one."
    idle = [own for own in certificate.claims if own.kind == "influence" and own.proven and own.value == 0]
    names = {own.subject for own in idle}  # that a prediction never falls as one of them rises is no news
    known = [own for own in others if own.proven and own.kind != "response" and own.subject not in names]
    yield from _others(known, certificate.score)
    yield from _without_effect([own.subject for own in idle if not own.requested])
    yield from (f"Under an assumption, not proven: {words}." for words in certificate.assumed)
    rest = "to_text(details=True) or certify --details"
    yield f"All {len(certificate.claims)} statements, with the numbers that prove them: {rest}."


def _others(claims: list[Claim], score: str) -> Iterator[str]:
    """What is proven without having been requested."""
    limits = sorted(
        (own for own in claims if own.kind == "influence" and own.value), key=lambda own: -(own.value or 0.0)
    )
    rest = [own for own in claims if own.kind != "influence" and own.kind != "joint influence"]
    if limits:
        count = f"{len(limits):,} columns" if len(limits) > 1 else "1 column"
        yield f"Also proven: how far {count} can move the {_noun(score)} at most. The strongest:"
        yield from (f"  {own.subject}: {_at_most(own.value or 0.0)}" for own in limits[:_LISTED])
    if rest:
        yield "Also proven, though not requested:"
        yield from (f"  {plain_statement(own, score)}" for own in rest[:_LISTED])


def _without_effect(names: list[str]) -> Iterator[str]:
    if names:
        count = f"{len(names):,} columns have" if len(names) > 1 else "1 column has"
        more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
        yield f"Also proven: {count} no effect at all: {', '.join(names[:_LISTED])}{more}."


def plain_statement(claim: Claim, score: str) -> str:
    """A claim without mathematics; ``score`` is what raw scores are in."""
    noun, words = _noun(score), claim.statement
    if claim.kind in ("influence", "joint influence"):
        body, _, cap = words.rpartition("; cap ") if claim.requested else (words, "", "")
        limit = f" (limit: {separated(cap)})" if cap else ""
        within = f", {IN_RANGE}" if IN_RANGE in body else ""
        head = body.partition(" moves a raw score ")[0]
        size = f"by more than {_at_most(claim.value)}{limit}" if claim.value else "at all"
        return f"{head} moves the {noun} {size}{within}"
    if claim.kind == "slope":
        body, _, limit = words.rpartition("; limit ")
        return body.replace("the raw score", f"the {noun}").replace(", and rounding", f" (limit: {separated(limit)})")
    if claim.kind == "convex" and score == LOG.units:
        words += f", up to {LOG.most:g}, where predictions end"
    if claim.value:
        words = words.replace(f"by more than {upwards(claim.value)}", f"by more than {_at_most(claim.value)}")
    return in_plain_words(words, score)


def in_plain_words(words: str, score: str) -> str:
    """Return what a claim or a shape says, with the noun that readers know for a raw score.

    >>> in_plain_words("no change of age moves a raw score by more than 0.1", "log-odds")
    'no change of age moves the log-odds by more than 0.1'
    """
    noun = _noun(score)
    words = words.replace("no raw score moves", f"the {noun} never moves")
    return words.replace("the raw score", f"the {noun}").replace("a raw score", f"the {noun}")


def _at_most(value: float) -> str:
    return separated(upwards(value))


def _noun(score: str) -> str:
    return _NOUNS.get(score, "raw score of a class")
