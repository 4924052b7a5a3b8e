"""The search for a counterexample: random rows, and a guided search that changes rows column by column.

Certificates are proofs about matrices; this is the experiment beside them. It only looks at what users see: rows of a
table, and what ``predict``, ``predict_proba``, ``predict_quantiles`` and ``decision_function`` say about them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from lambdak._checks import check_int
from lambdak.certify.attack import Attack, run
from lambdak.certify.certificate import Claim
from lambdak.certify.changes import Influence, Joint, Response
from lambdak.certify.interactions import Apart
from lambdak.certify.monotone import Monotone
from lambdak.certify.orders import Numbers, Ordered, OrderedLevels, OrderedTimes, Within
from lambdak.certify.proofs import certify
from lambdak.certify.search import Search
from lambdak.certify.shape_attack import ShapeAttack, SlopeAttack
from lambdak.certify.shape_claims import subject_of
from lambdak.certify.shapes import Shape
from lambdak.certify.verification import Check, Verification
from lambdak.model import Model
from lambdak.shapes import contract
from lambdak.shapes.slope import MaxSlope

__all__ = ["Check", "Verification", "verify"]

_ATTACKS: dict[str, Callable[[Search, Claim], Attack]] = {
    "monotone": Monotone,
    "convex": Shape,
    "concave": Shape,
    "influence": Influence,
    "quantiles": OrderedLevels,
    "cut-points": Ordered,
    "survival": OrderedTimes,
    "interactions": Apart,
    "range": Within,
}


def verify(
    model: Model,
    X: Any,
    n: int = 10_000,
    random_state: int = 0,
    within: Mapping[str, float | str] | None = None,
) -> Verification:
    """Search for a counterexample to every claim that is proven, around the rows of X.

    Parameters
    ----------
    model
        The ``model_`` of a fitted estimator.
    X
        Rows to begin from: half of the random rows are theirs, the others mix the cells of different rows, and half of
        these also have cells at and beside knots, far away, missing, or never seen.
    n
        Random comparisons for each claim; the guided search adds its own.
    random_state
        Seed of the random rows.
    within
        Tolerances, as for :func:`lambdak.certify.certify`: the bound on the response to them is then tried as well.
    """
    check_int(n, "n", 1, 10**9)
    claims = certify(model, within).claims
    strengths = {claim.subject: claim.value or 0.0 for claim in claims if claim.kind == "influence"}
    search = Search.around(model, X, n, random_state, strengths)
    attacks = [Numbers(search), *_attacks(search, claims, within or {})]
    return Verification(tuple(run(attack) for attack in attacks))


def _attacks(search: Search, claims: Iterable[Claim], within: Mapping[str, float | str]) -> Iterator[Attack]:
    """One for each claim that is proven; those about groups and slopes are in the order of what was requested."""
    promises = search.model.promises
    groups, slopes = (columns for columns, _ in promises.groups), iter(promises.of(MaxSlope))
    shapes: dict[tuple[str, str], list[contract.Shape]] = {}  # of the same columns in the order of their claims
    for own in promises.others:
        shapes.setdefault(subject_of(own, search.model), []).append(own)
    for claim in claims:
        columns = next(groups) if claim.kind == "joint influence" else ()
        limited = next(slopes) if claim.kind == MaxSlope.kind else None
        same = shapes.get((claim.kind, claim.subject))
        shape = same.pop(0) if same else None
        if claim.proven and columns:
            yield Joint(search, claim, columns)
        elif claim.proven and limited is not None:
            yield SlopeAttack(search, claim, limited)
        elif claim.proven and shape is not None:
            yield ShapeAttack(search, claim, shape)
        elif claim.proven:
            yield Response(search, claim, within) if claim.kind == "response" else _ATTACKS[claim.kind](search, claim)
