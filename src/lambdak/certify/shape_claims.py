"""Claims about shapes: what each asks of the matrices is proven as it stands, whatever it says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lambdak.certify.allowance import Allowance
from lambdak.certify.claim import Claim, undecided
from lambdak.eigen.packing import diagonal_indices
from lambdak.losses.survival import EVENT_BY
from lambdak.model import Model
from lambdak.model.readout import Readout
from lambdak.model.statements import shape_statements
from lambdak.pencil.common_pattern import common_pattern
from lambdak.pencil.exact import Verdict, is_zero
from lambdak.shapes.contract import Shape


def shape_claims(model: Model, outputs: tuple[Readout, ...], allowance: Allowance) -> Iterator[Claim]:
    """Yield one claim for each shape that has no reader of its own."""
    for shape in model.promises.others:
        yield _claim(shape, model, outputs, allowance)


def range_claims(model: Model) -> Iterator[Claim]:
    """Yield the claim about the range of predictions, if one was requested: rounding cannot break it."""
    wanted, link = model.promises.output_range, model.loss.output_link
    if wanted is not None:
        kept = wanted.lowest <= link.low and link.high <= wanted.highest
        what = "no prediction" if model.classes is None else f"P(y = {model.classes.tolist()[1]!r})"
        words = wanted.words((), what).replace("no prediction is never", "no prediction is")
        how = "predictions outside become the end of the range" if kept else "predictions are not limited"
        yield Claim(wanted.kind, "predictions", words, kept, True, None, None, how)


def subject_of(shape: Shape, model: Model) -> tuple[str, str]:
    """Return kind and subject of the claim about a placed shape."""
    names = model.encoder.feature_names
    return shape.kind, ", ".join(names[i] for i in shape.positions) or "all columns"


def _claim(shape: Shape, model: Model, outputs: tuple[Readout, ...], allowance: Allowance) -> Claim:
    kind, subject = subject_of(shape, model)
    words = shape.words(model.encoder.feature_names, predicted(outputs[0], model.loss.sign))
    if shape.joint:
        verdict, least, how = _pattern_verdict(shape, model, outputs)
    elif shape.zeros(model.encoder.columns):
        verdict, least, how = _zero_verdict(shape, model)
    else:
        verdict, least, how = _semidefinite_verdict(shape, model, outputs, allowance)
    value = model.scale * decisive(least, verdict is True)
    return Claim(kind, subject, words, verdict is True, True, value, None, how + undecided(verdict))


def _pattern_verdict(shape: Shape, model: Model, outputs: tuple[Readout, ...]) -> tuple[Verdict, float, str]:
    """Whether columns go their ways along a common pattern, by how much, and what shows it."""
    end = {0: -1, model.dim - 1: 1}
    ends = {end.get(output.index, 0) for output in outputs}
    sign = shape.joint * model.loss.sign * ends.pop() if len(ends) == 1 else 0
    found = common_pattern(model.matrices, shape.patterned(model.encoder.columns), sign)
    ways = {0: "no end of the spectrum is read", 1: "all go the same way", -1: "they go opposite ways"}[sign]
    how = f"{_pencils(model)}: matrices c I + g P with one P of zeros and ones; {ways} along it"
    return not found.reason, found.least, how + (f"; but {found.reason}" if found.reason else "")


def _zero_verdict(shape: Shape, model: Model) -> tuple[Verdict, float, str]:
    """Whether sums of matrices are exactly zero, and what shows it; the value is zero in any case."""
    asked = [{j: q for j, q in own.items() if q} for own in shape.zeros(model.encoder.columns)]
    rows = model.matrices
    true = all(is_zero([(q, own[j]) for j, q in factors.items()]) for own in rows for factors in asked)
    return true, 0.0, f"{_pencils(model)}: its matrix there {'is' if true else 'must be'} exactly zero"


def _semidefinite_verdict(
    shape: Shape, model: Model, outputs: tuple[Readout, ...], allowance: Allowance
) -> tuple[Verdict, float, str]:
    """Whether combinations of matrices are semidefinite, their smallest eigenvalue, and what shows it."""
    statements, reason = shape_statements(shape, model.encoder.columns, model.matrices, model.loss.sign), ""
    scalar = bool(shape.end) and only_adds(model, shape.positions)
    if shape.end and not scalar and any(o.index != (o.dim - 1 if shape.end > 0 else 0) for o in outputs):
        reason = f"it must be the {'last' if shape.end > 0 else 'first'} eigenvalue, or only add a number"
    columns = [model.encoder.columns[i] for i in shape.positions]
    if shape.straight and any(column.bounded and column.n_steps for column in columns):
        reason = "columns are clamped at the ends of the training range"
    verdict = False if reason else statements.all_true(allowance.promises, allowance.exact)
    how = f"{len(statements.combinations)} combinations of matrices of {_pencils(model)} "
    how += f"{'are' if verdict is True else 'must be'} positive semidefinite" + (f"; {reason}" if reason else "")
    how += "; its matrices are multiples of I, which only add a number to every eigenvalue" if scalar else ""
    return verdict, statements.least, how


def _pencils(model: Model) -> str:
    pencils = len(model.matrices)
    return f"{pencils} pencil{'s' * (pencils > 1)}"


def only_adds(model: Model, positions: Sequence[int]) -> bool:
    """Return whether the stored matrices of these columns are multiples of I in every pencil."""
    matrices, diagonal = model.matrices, diagonal_indices(model.dim)
    rows = [j for i in positions for j in range(model.encoder.columns[i].start, model.encoder.columns[i].stop)]
    own = matrices[:, rows]
    same = (own[..., diagonal] == own[..., diagonal[:1]]).all()
    return bool(same and not np.delete(own, diagonal, axis=-1).any())


def predicted(readout: Readout, sign: int = 1) -> str:
    """Return the noun of what rises and falls: the prediction, or a probability."""
    if sign < 0:
        return "P(y > j), for every class j,"
    if readout.name.startswith(EVENT_BY):
        return "the probability of an event by any time"
    label = readout.name.removeprefix("class ")
    return "the prediction" if label == readout.name else f"the probability of {label}"


def decisive(least: float, proven: bool) -> float:
    """Return the smallest eigenvalue, as it was computed; what is proven is not negative."""
    return max(least, 0.0) if proven and np.isfinite(least) else 0.0 if least == np.inf else least
