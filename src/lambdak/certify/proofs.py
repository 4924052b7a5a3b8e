r"""What a fitted model guarantees: every claim, how it was checked, and the number that decides it.

Claims are about the real function that the stored numbers define, and are decided without a margin. What is computed
errs on top of that: every claim comes with a bound on it, and what is claimed in numbers includes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from lambdak._types import Float64Array
from lambdak.certify.allowance import Allowance
from lambdak.certify.bound_claims import influence_claims, joint_claims, response_claim, slope_claims
from lambdak.certify.certificate import TOO_ROUGH, Certificate, Claim
from lambdak.certify.claim import undecided
from lambdak.certify.interactions import interaction_claims
from lambdak.certify.shape_claims import decisive, predicted, range_claims, shape_claims
from lambdak.losses import Arrangement
from lambdak.losses.survival import EVENT_BY
from lambdak.model import Model
from lambdak.model.influence import apart, rounding_matters, score_range
from lambdak.model.readout import Readout, readouts
from lambdak.model.statements import all_bending, ordered_levels, rising
from lambdak.pencil.exact import Verdict, all_of
from lambdak.pencil.spectrum import extremes
from lambdak.pencil.statements import combined
from lambdak.shapes.slope import MaxSlope
from lambdak.table.column_contract import Column


def certify(model: Model, within: Mapping[str, float | str] | None = None, exact: bool = False) -> Certificate:
    """Prove or refute everything that can be read off the matrices of a model.

    Parameters
    ----------
    model
        The ``model_`` of a fitted estimator.
    within
        Tolerances: column → largest change of its number, or "any" for a category. The certificate then bounds the
        change of the raw score for any row when all of these columns change together.
    exact
        Whether every statement is decided in integers, without any rounding. Otherwise float64 with error bounds comes
        first, and integers decide where these leave a doubt: the verdicts are the same, in less time. What would take
        integers too long (minutes, or seconds where they decide doubts) is not proven, and the claim says so.
    """
    if not isinstance(exact, bool):
        raise TypeError(f"exact must be True or False; got {exact!r}")
    outputs, allowance = _positive(readouts(model)), Allowance.of(exact)
    claims = [*_monotone(model, outputs, allowance), *_shapes(model, outputs, allowance)]
    claims += shape_claims(model, outputs, allowance)
    claims += influence_claims(outputs, model.promises.capped, range(len(outputs[0].columns)), allowance)
    claims += joint_claims(outputs, model.promises.groups, allowance)
    claims += slope_claims(outputs, model.promises.of(MaxSlope), allowance)
    if within is not None:
        claims.append(response_claim(outputs, within, allowance))
    claims += [*_orders(model, outputs, allowance), *interaction_claims(model)]
    claims = [*_weighed(outputs, claims), *range_claims(model)]
    calibration = model.calibration
    assumed = () if calibration is None or not calibration.counted else (calibration.words,)
    return Certificate(model.estimator, model.loss.link.units, tuple(claims), exact, assumed)


def promised(model: Model) -> Iterator[Claim]:
    """What was requested of a model, each proven or refuted, as :func:`certify` does."""
    outputs, capped, allowance = _positive(readouts(model)), model.promises.capped, Allowance.of()
    claims = [*_monotone(model, outputs, allowance, model.promises.monotone)]
    claims += _shapes(model, outputs, allowance) if model.promises.shape else []
    claims += shape_claims(model, outputs, allowance)
    claims += influence_claims(outputs, capped, capped, allowance)
    claims += joint_claims(outputs, model.promises.groups, allowance)
    claims += slope_claims(outputs, model.promises.of(MaxSlope), allowance)
    claims += [*_orders(model, outputs, allowance), *interaction_claims(model)]
    yield from _weighed(outputs, [claim for claim in claims if claim.requested])
    yield from range_claims(model)


def _positive(outputs: tuple[Readout, ...]) -> tuple[Readout, ...]:
    """The outputs, if they are convex combinations with a positive scale, which all claims assume."""
    for output in outputs:
        sizes = output.scale * output.weights
        if not (output.scale > 0 and (output.weights > 0).all() and np.isfinite(sizes).all()):
            raise ValueError("weights and scale of a model must be positive, or nothing about it can be proven")
    return outputs


def _weighed(outputs: tuple[Readout, ...], claims: list[Claim]) -> Iterator[Claim]:
    """The claims with what computing can do to a raw score; none is proven if that matters next to its range."""
    margin = max(output.error for output in outputs)
    matters = rounding_matters(outputs)
    reach = max(map(score_range, apart(outputs))) if matters else 0.0
    words = f"; {TOO_ROUGH} {margin:.1e}, which matters next to its range of {reach:.1e}"
    for claim in claims:
        weighed = replace(claim, margin=margin)
        yield replace(weighed, proven=False, how=claim.how + words) if matters else weighed


# ---- monotone columns ----------------------------------------------------------------------------------------------


def _monotone(
    model: Model, outputs: tuple[Readout, ...], allowance: Allowance, only: Mapping[int, int] | None = None
) -> Iterator[Claim]:
    """One claim for each column of numbers, in the direction requested, or else nearer to a proof."""
    if model.loss.link.joint:
        return
    for i, column in enumerate(outputs[0].columns):
        if column.is_number and (only is None or i in only):
            yield _monotone_claim(model, outputs[0], i, allowance)


def _monotone_claim(model: Model, readout: Readout, i: int, allowance: Allowance) -> Claim:
    column, requested, flip = readout.columns[i], model.promises.signs[i], model.loss.sign
    sign = requested or flip * _nearer(combined(column.increments(), readout.column(i)))
    statements = rising(column, model.matrices, flip * sign)
    verdict = statements.all_true(allowance.work(bool(requested)), allowance.exact)
    proven = verdict is True
    value = readout.scale * decisive(statements.least, proven)
    return Claim(
        "monotone", column.name, _monotone_words(readout, column, sign, flip), proven, bool(requested), value, None,
        f"{'' if flip * sign > 0 else 'minus '}{_count(column.n_steps, readout)} positive semidefinite"
        f"{_missing_words(column)}{undecided(verdict)}",
        {"sign": float(sign)},
    )  # fmt: skip


def _nearer(steps: Float64Array) -> int:
    """The sign for which a proof is nearer."""
    low, high = extremes(steps) if steps.size else (np.zeros(1), np.zeros(1))
    return 1 if low.min() >= -high.max() else -1


def _monotone_words(readout: Readout, column: Column, sign: int, flip: int) -> str:
    if readout.name.startswith(EVENT_BY):
        return (
            f"the probability of an event never {'falls' if sign > 0 else 'rises'} as {column.name} rises, at any time"
        )
    if flip < 0:
        never = "falls" if sign > 0 else "rises"
        return f"P(y > j) never {never} as {column.name} rises, for every class j, nor does the predicted class"
    return f"{predicted(readout)} never {'falls' if sign > 0 else 'rises'} as {column.name} rises"


def _count(steps: int, readout: Readout) -> str:
    members = len(readout.weights)
    plural = f"matrices of {members} members are" if members > 1 else "matrices of one member are"
    return f"{steps} increment {plural}"


def _missing_words(column: Column) -> str:
    return "; missing cells are ignored" if column.missing >= 0 else ""


# ---- convex and concave --------------------------------------------------------------------------------------------


def _shapes(model: Model, outputs: tuple[Readout, ...], allowance: Allowance) -> Iterator[Claim]:
    """Convex and concave: those that are proven or were requested, or else convex, as not proven."""
    requested = model.promises.shape
    claims = [_shape_claim(model, outputs, bend, allowance) for bend in (1, -1)]
    for claim in claims:
        if claim.requested or claim.proven or (requested is None and claim.kind == "convex" and not claims[1].proven):
            yield claim


def _shape_claim(model: Model, outputs: tuple[Readout, ...], bend: int, allowance: Allowance) -> Claim:
    kind, readout = ("convex" if bend > 0 else "concave"), outputs[0]
    extreme = all(output.index == (readout.dim - 1 if bend > 0 else 0) for output in outputs)
    straight = not any(column.bounded and column.n_steps for column in readout.columns)
    verdict: Verdict = extreme and straight
    if verdict:
        work, bends = allowance.work(model.promises.shape == kind), all_bending(readout.columns, model.matrices, bend)
        verdict = all_of(own.all_true(work, allowance.exact) for own in bends)
    bent = verdict is True
    how = _index_words(outputs, bend, extreme)
    if not straight:
        how += "; columns are clamped at the ends of the training range"
    least = _least_bend(outputs, bend)
    curved, side = bool(np.isfinite(least)), "" if bend > 0 else "minus "
    what = f"; {side}all changes of slope at knots {'are' if bent else 'must be'} positive semidefinite"
    return Claim(
        kind, "all columns of numbers together", f"the raw score is {kind} for any fixed categories",
        bent, model.promises.shape == kind, decisive(least, bent) if curved else None, None,
        how + (what if curved else "; columns are linear") + undecided(verdict),
    )  # fmt: skip


def _least_bend(outputs: tuple[Readout, ...], bend: int) -> float:
    """The smallest eigenvalue of all changes of slope, about; infinite if there are none."""
    least = np.inf
    for output in outputs:
        for i in [i for i, column in enumerate(output.columns) if column.is_number]:
            low, high = extremes(combined(output.columns[i].bends(), output.column(i)))
            least = min(least, float(output.scale * (low if bend > 0 else -high).min(initial=np.inf)))
    return least


def _index_words(outputs: tuple[Readout, ...], bend: int, extreme: bool) -> str:
    """Which eigenvalue the raw score is, and which one it would have to be."""
    if outputs[0].dim == 1:
        return "it is the only eigenvalue"
    needed = f"the {'last' if bend > 0 else 'first'} of {outputs[0].dim} eigenvalues"
    own = ", ".join(dict.fromkeys(str(output.index + 1) for output in outputs))
    return f"it is {needed}" if extreme else f"it must be {needed}, but it is number {own}"


# ---- order of several outputs --------------------------------------------------------------------------------------


# Of several outputs: what the claim is called, what it says, and from where to where steps are semidefinite.
_IN_ORDER = {
    Arrangement.QUANTILES: (
        "quantiles", "a higher quantile is never below a lower one, at any level", "quantile to quantile",
    ),
    Arrangement.ORDERED: (
        "cut-points", "cumulative probabilities never fall from class to class", "cut-point to cut-point",
    ),
    Arrangement.TIMES: ("survival", "survival never rises with time, whatever the row", "knot to knot of time"),
}  # fmt: skip


def _orders(model: Model, outputs: tuple[Readout, ...], allowance: Allowance) -> Iterator[Claim]:
    if len(outputs) == 1 or not model.outputs.in_order:
        return
    kind, words, _ = _IN_ORDER[model.loss.arrangement]
    labels = [] if model.classes is None else model.classes.tolist()
    if labels != sorted(labels):
        words += f", in the order {' < '.join(labels)}"
    subject = f"{len(outputs)} knots of time" if kind == "survival" else f"{len(outputs)} {kind}"
    apart = np.diff([output.start for output in outputs])
    proven, value, how = _ordered(model, outputs, allowance)
    if apart.any():
        proven, value = False, float(apart.min())
    yield Claim(kind, subject, words, proven, True, value, None, how)


def _ordered(model: Model, outputs: tuple[Readout, ...], allowance: Allowance) -> tuple[bool, float | None, str]:
    """Whether eigenvalues are in order, by how much, and why."""
    if model.outputs.levels:
        statements, (_, _, between) = ordered_levels(model.outputs, model.matrices), _IN_ORDER[model.loss.arrangement]
        verdict = statements.all_true(allowance.promises, allowance.exact)
        value = model.scale * decisive(statements.least, verdict is True)
        return verdict is True, value, f"the steps from {between} are positive semidefinite{undecided(verdict)}"
    indices = [output.index for output in outputs]
    numbers = ", ".join(str(i + 1) for i in indices)
    how = f"eigenvalues number {numbers} of one matrix are always in this order"
    return bool((np.diff(indices) > 0).all()), None, how
