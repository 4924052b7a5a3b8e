r"""What a fitted model guarantees: every claim, how it was checked, and the number that decides it, in float64."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from numbers import Real

import numpy as np

from lambdak.certify.certificate import IN_RANGE, Certificate, Claim
from lambdak.losses import Arrangement
from lambdak.model import Model
from lambdak.model.influence import Reach, any_change, box, per_unit
from lambdak.model.readout import Readout, readouts
from lambdak.pencil.spectrum import Float64Array, extremes, spectral_norm
from lambdak.pencil.tolerances import rounding_tol
from lambdak.table.column_contract import Column


def certify(model: Model, within: Mapping[str, float | str] | None = None) -> Certificate:
    """Check everything that can be read off the matrices of a model.

    Parameters
    ----------
    model
        The ``model_`` of a fitted estimator.
    within
        Tolerances: column → largest change of its number, or "any" for a category. The certificate then bounds the
        change of the raw score for any row when all of these columns change together.
    """
    outputs = readouts(model)
    claims = [*_monotone(model, outputs), *_shapes(model, outputs), *_influences(model, outputs)]
    if within is not None:
        claims.append(_response(outputs, within))
    claims += _orders(model, outputs)
    return Certificate(model.estimator, model.loss.link.units, tuple(claims))


# ---- monotone columns ----------------------------------------------------------------------------------------------


def _monotone(model: Model, outputs: tuple[Readout, ...]) -> Iterator[Claim]:
    """One claim for each column of numbers, in the direction requested, or else nearer to a proof."""
    if model.loss.link.joint:
        return
    readout, requested = outputs[0], model.promises.signs
    for i, column in enumerate(readout.columns):
        if column.is_number:
            yield _monotone_claim(readout, i, requested[i], model.loss.sign)


def _monotone_claim(readout: Readout, i: int, requested: int, flip: int) -> Claim:
    column = readout.columns[i]
    steps = column.increments()
    low, high = extremes(steps @ readout.column(i))
    least, most = (readout.scale * low.min(), readout.scale * high.max()) if low.size else (0.0, 0.0)
    if flip < 0:
        least, most = -most, -least
    margin = rounding_margin(readout, i)
    sign = requested or (1 if least >= -most else -1)
    value = float(least if sign > 0 else -most)
    return Claim(
        "monotone", column.name, _monotone_words(readout, column, sign, flip),
        value >= -margin, bool(requested), value, margin,
        f"smallest eigenvalue of {'' if sign > 0 else 'minus '}{_count(steps, readout, 'increment matrix')}; "
        f"rounding margin {margin:.1e}{_missing_words(column)}",
        {"sign": float(sign)},
    )  # fmt: skip


def _monotone_words(readout: Readout, column: Column, sign: int, flip: int) -> str:
    if flip < 0:
        return f"a higher class never becomes {'less' if sign > 0 else 'more'} likely as {column.name} rises"
    label = readout.name.removeprefix("class ")
    what = "the prediction" if label == readout.name else f"the probability of {label}"
    return f"{what} never {'falls' if sign > 0 else 'rises'} as {column.name} rises"


def rounding_margin(readout: Readout, i: int) -> float:
    """What rounding can do to a semidefinite matrix of column i, in units of the raw score."""
    size = spectral_norm(readout.column(i)).max(initial=0.0)
    return float(readout.scale * rounding_tol(readout.dim, np.float64) * size)


def _count(moves: Float64Array, readout: Readout, noun: str) -> str:
    members = len(readout.weights)
    plural = noun.replace("matrix", "matrices")
    return f"{len(moves)} {plural} of {members} member{'s' if members > 1 else ''}"


def _missing_words(column: Column) -> str:
    return "; missing cells are ignored" if column.missing >= 0 else ""


# ---- convex and concave --------------------------------------------------------------------------------------------


def _shapes(model: Model, outputs: tuple[Readout, ...]) -> Iterator[Claim]:
    """Convex and concave: those that are proven or were requested, or else convex, as not proven."""
    requested = model.promises.shape
    claims = [_shape_claim(outputs, bend, requested) for bend in (1, -1)]
    for claim in claims:
        if claim.requested or claim.proven or (requested is None and claim.kind == "convex" and not claims[1].proven):
            yield claim


def _shape_claim(outputs: tuple[Readout, ...], bend: int, requested: str | None) -> Claim:
    kind, readout = ("convex" if bend > 0 else "concave"), outputs[0]
    least, margin = np.inf, 0.0
    for output in outputs:
        for i in [i for i, column in enumerate(output.columns) if column.is_number]:
            low, high = extremes(output.columns[i].bends() @ output.column(i))
            least = min(least, float(output.scale * (low if bend > 0 else -high).min(initial=np.inf)))
            margin = max(margin, rounding_margin(output, i) * _steepness(output.columns[i]))
    extreme = all(output.index == (readout.dim - 1 if bend > 0 else 0) for output in outputs)
    straight = not any(column.bounded and column.n_steps for column in readout.columns)
    how = _index_words(outputs, bend, extreme)
    if not straight:
        how += "; columns are clamped at the ends of the training range"
    curved, side = bool(np.isfinite(least)), "" if bend > 0 else "minus "
    bent = f"; smallest eigenvalue of {side}all changes of slope at knots, rounding margin {margin:.1e}"
    return Claim(
        kind, "all columns of numbers together", f"the raw score is {kind} for any fixed categories",
        extreme and straight and least >= -margin, requested == kind, least if curved else None,
        margin if curved else None, how + (bent if curved else "; columns are linear"),
    )  # fmt: skip


def _index_words(outputs: tuple[Readout, ...], bend: int, extreme: bool) -> str:
    """Which eigenvalue the raw score is, and which one it would have to be."""
    if outputs[0].dim == 1:
        return "it is the only eigenvalue"
    needed = f"the {'last' if bend > 0 else 'first'} of {outputs[0].dim} eigenvalues"
    own = ", ".join(dict.fromkeys(str(output.index + 1) for output in outputs))
    return f"it is {needed}" if extreme else f"it must be {needed}, but it is number {own}"


def _steepness(column: Column) -> float:
    return 4.0 / float(column.lengths().min()) if column.n_ramps else 0.0


# ---- influence -----------------------------------------------------------------------------------------------------


def _influences(model: Model, outputs: tuple[Readout, ...]) -> Iterator[Claim]:
    """The bound of each column; proven, unless it is beyond the cap that was requested."""
    caps = model.promises.capped
    for i, column in enumerate(outputs[0].columns):
        cap, whole = caps.get(i), max((any_change(output, i) for output in outputs), key=lambda reach: reach.bound)
        details = _influence_details(outputs, i, whole)
        words = _influence_words(column, whole.bound, details) + ("" if cap is None else f"; cap {cap:.4g}")
        within_cap, margin = cap is None or whole.bound <= cap, _bound_margin(outputs, i)
        how = f"{_influence_method(column, whole)}; rounding margin {margin:.1e}"
        yield Claim("influence", column.name, words, within_cap, cap is not None, whole.bound, margin, how, details)


def _influence_details(outputs: tuple[Readout, ...], i: int, whole: Reach) -> dict[str, float | str]:
    details: dict[str, float | str] = {}
    if outputs[0].columns[i].is_number:
        unit = max((per_unit(output, i) for output in outputs), key=lambda reach: reach.bound)
        details["per unit"] = unit.bound
        if unit.cells:
            details["steepest between"] = " and ".join(unit.cells)
        details["across the range"] = max(any_change(output, i, present_only=True).bound for output in outputs)
    if whole.cells:
        details["largest between"] = " and ".join(whole.cells)
    return details


def _influence_words(column: Column, bound: float, details: Mapping[str, float | str]) -> str:
    if not column.is_number:
        return "no swap of levels moves a raw score by more"
    words = "no change moves a raw score by more" + ("" if column.bounded else f" {IN_RANGE}")
    across, unit = f"{details['across the range']:.4g}", f"{details['per unit']:.4g}"
    if across != f"{bound:.4g}":
        words += f"; across the range {across}, if no cell is missing"
    return f"{words}; per unit {unit}"


def _influence_method(column: Column, whole: Reach) -> str:
    if whole.cells is None and whole.bound:
        return "upper bound of Σ w ‖A(b) − A(a)‖₂: a relaxation, as too many pairs of its cells come close to it"
    cells = "knots and ends" if column.is_number else f"{len(column.cell_names())} levels"
    return f"largest Σ w ‖A(b) − A(a)‖₂ over its {cells}"


def _bound_margin(outputs: tuple[Readout, ...], i: int) -> float:
    """What rounding can do to the bound of column i, in units of the raw score."""
    column, tol = outputs[0].columns[i], rounding_tol(outputs[0].dim, np.float64)
    return max(float(o.scale * tol * spectral_norm(column.at_cells(o.column(i))).max(initial=0.0)) for o in outputs)


# ---- the response to tolerances ------------------------------------------------------------------------------------


def _response(outputs: tuple[Readout, ...], within: Mapping[str, float | str]) -> Claim:
    tolerances = _tolerances(outputs[0].columns, within)
    bound, how = max((box(output, tolerances) for output in outputs), key=lambda found: found[0])
    shown = ", ".join(
        f"{name} by any swap" if size == "any" else f"{name} by {size:g}" for name, size in within.items()
    )
    words = f"no raw score moves by more if all of these change together by at most: {shown}"
    if any(size is not None for size in tolerances.values()):
        words += "; numbers that are missing stay missing"
    margin = sum(_bound_margin(outputs, i) for i in tolerances) + rounding_tol(outputs[0].dim, np.float64) * bound
    return Claim("response", ", ".join(within), words, True, False, bound, margin, how)


def _tolerances(columns: tuple[Column, ...], within: Mapping[str, float | str]) -> dict[int, float | None]:
    names = [column.name for column in columns]
    example = f"such as {{{names[0]!r}: {1.0 if columns[0].is_number else repr('any')}}}"
    if not isinstance(within, Mapping):
        raise TypeError(f"within must map columns to their largest change, {example}; got a {type(within).__name__}")
    if not within:
        raise ValueError(f"within must name at least one column, {example}; got an empty mapping")
    for name in within:
        if name not in names:
            raise ValueError(f"within names a column that the model does not have: {name!r}; it has {names}")
    return {names.index(name): _tolerance(columns[names.index(name)], size) for name, size in within.items()}


def _tolerance(column: Column, size: object) -> float | None:
    """The largest change of a number; None for any change of a category."""
    any_swap, what = isinstance(size, str) and size == "any", f"within[{column.name!r}] must be"
    if not column.is_number:
        if not any_swap:
            raise ValueError(f"{what} 'any', because the column is a category; got {size!r}")
        return None
    if isinstance(size, bool) or not isinstance(size, Real) or not np.isfinite(float(size)) or size < 0:
        out = f"give the largest change of {column.name}, or omit it to keep it as it is"
        raise ValueError(f"{what} a number that is not negative; got {size!r}: {out}")
    return float(size)


# ---- order of several outputs --------------------------------------------------------------------------------------


def _orders(model: Model, outputs: tuple[Readout, ...]) -> Iterator[Claim]:
    if len(outputs) == 1:
        return
    if model.loss.arrangement is Arrangement.QUANTILES:
        rows = model.matrices[:, model.encoder.n_design :].astype(np.float64)
        margin = float(model.scale * rounding_tol(model.dim, np.float64) * spectral_norm(rows).max(initial=0.0))
        steps = extremes(np.diff(rows, axis=1))[0]
        value = float(model.scale * steps.min())
        yield Claim(
            "quantiles", f"{len(outputs)} quantiles", "a higher quantile is never below a lower one",
            value >= -margin, True, value, margin,
            f"smallest eigenvalue of the steps from quantile to quantile; rounding margin {margin:.1e}",
        )  # fmt: skip
    elif model.loss.arrangement is Arrangement.ORDERED:
        indices = [output.index for output in outputs]
        same = len({output.start for output in outputs}) == 1
        ordered = same and bool((np.diff(indices) > 0).all())
        yield Claim(
            "cut-points", f"{len(indices)} cut-points", "cumulative probabilities never fall from class to class",
            ordered, True, None, None,
            f"eigenvalues number {', '.join(str(i + 1) for i in indices)} of one matrix are always in this order",
        )  # fmt: skip
