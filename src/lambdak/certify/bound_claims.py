r"""Claims in numbers: how far one column, or several within tolerances, can move what is computed."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from numbers import Real

from lambdak.certify.allowance import Allowance
from lambdak.certify.certificate import IN_FLOAT, IN_RANGE, Claim
from lambdak.certify.claim import undecided
from lambdak.certify.exact_bounds import MOST_CELLS, MOST_CORNERS, any_change_is_below, box_is_below, slope_is_below
from lambdak.model.influence import (
    Reach,
    any_change,
    apart,
    box,
    box_moves,
    box_rounding,
    changes,
    corners_of,
    of_outputs,
    per_unit,
    summed,
)
from lambdak.model.outward import upwards
from lambdak.model.readout import Readout
from lambdak.model.slopes import MOST_CHOICES, choices_of, pieces_of, steepest_slope
from lambdak.pencil.exact import Verdict, Work, all_of
from lambdak.shapes.slope import Direction, MaxSlope
from lambdak.table.close_names import asked
from lambdak.table.column_contract import Column


def influence_claims(
    outputs: tuple[Readout, ...], caps: Mapping[int, float], columns: Iterable[int], allowance: Allowance
) -> Iterator[Claim]:
    """The bound of each of these columns; proven, unless it is beyond the cap that was requested."""
    limit = _limit(outputs)
    for i in columns:
        column, cap = outputs[0].columns[i], caps.get(i)
        reaches = changes(outputs, i)
        whole = max(reaches, key=lambda reach: reach.bound)
        value = max(of_outputs(output, reach.bound) for output, reach in zip(outputs, reaches, strict=True))
        details = _influence_details(outputs, i, whole)
        words = _influence_words(column, value, details) + limit + ("" if cap is None else f"; cap {cap}")
        kept = cap is None or value <= cap
        in_integers = kept and allowance.exact
        verdict = _in_integers(outputs, i, reaches, allowance.work(cap is not None)) if in_integers else kept
        how = _influence_method(column, whole, allowance.exact) + undecided(verdict)
        yield Claim("influence", column.name, words, verdict is True, cap is not None, value, None, how, details)


def joint_claims(
    outputs: tuple[Readout, ...], groups: Iterable[tuple[Sequence[int], float]], allowance: Allowance
) -> Iterator[Claim]:
    """What the columns of each group can do together; proven, unless it is beyond the cap that was requested."""
    reach_of = cache(lambda i: changes(outputs, i))  # a column may be in many groups
    for group, cap in groups:
        reaches = {i: reach_of(i) for i in group}
        totals = [summed(parts) for parts in zip(*reaches.values(), strict=True)]
        value = max(of_outputs(output, total) for output, total in zip(outputs, totals, strict=True))
        names = ", ".join(outputs[0].columns[i].name for i in group)
        size = f"by more than {upwards(value)}" if value else "at all"
        words = f"no change of {names} together moves a raw score {size}"
        how = f"sum of the bounds of its {len(group)} columns"
        verdict: Verdict = value <= cap
        if allowance.exact:
            how += f", {IN_FLOAT}" if any(len(outputs[0].columns[i].all_names()) > MOST_CELLS for i in group) else ""
            if verdict:
                verdict = all_of(_in_integers(outputs, i, reach, allowance.promises) for i, reach in reaches.items())
        words += f"{_limit(outputs)}; cap {cap}"
        how += undecided(verdict)
        yield Claim("joint influence", names, words, verdict is True, True, value, None, how)


def _in_integers(outputs: tuple[Readout, ...], i: int, reaches: list[Reach], work: Work) -> Verdict:
    """Whether the bounds of column i are proven in integers; True where its cells are too many for that."""
    if len(outputs[0].columns[i].all_names()) > MOST_CELLS:
        return True
    pairs = {id(output.coef): (output, reach) for output, reach in zip(outputs, reaches, strict=True)}.values()
    return all_of(any_change_is_below(output, i, reach.bound, work) for output, reach in pairs)


def _influence_details(outputs: tuple[Readout, ...], i: int, whole: Reach) -> dict[str, float | str]:
    details: dict[str, float | str] = {}
    if outputs[0].columns[i].is_number:
        unit = max((per_unit(output, i) for output in apart(outputs)), key=lambda reach: reach.bound)
        details["per unit"] = unit.bound
        if unit.cells:
            details["steepest between"] = " and ".join(unit.cells)
        present = {id(output.coef): any_change(output, i, present_only=True).bound for output in apart(outputs)}
        inside = [of_outputs(output, present[id(output.coef)]) for output in outputs]
        details["across the range"] = max(inside)
    if whole.cells:
        details["largest between"] = " and ".join(whole.cells)
    return details


def _influence_words(column: Column, bound: float, details: Mapping[str, float | str]) -> str:
    what = "change" if column.is_number else "swap of levels"
    if bound == 0:
        return f"no {what} of {column.name} moves a raw score at all"
    words = f"no {what} of {column.name} moves a raw score by more than {upwards(bound)}"
    if not column.is_number:
        return words
    across, unit = (upwards(float(details[name])) for name in ("across the range", "per unit"))
    if column.missing >= 0 and across != upwards(bound):
        words += f"; across the range {across}, if no cell is missing"
    return f"{words}; per unit {unit}, and rounding"


def _limit(outputs: tuple[Readout, ...]) -> str:
    """Beyond the training range columns that continue straight make raw scores, and so their rounding, large."""
    return "" if all(column.bounded for column in outputs[0].columns) else f"; {IN_RANGE}"


def _influence_method(column: Column, whole: Reach, exact: bool) -> str:
    if whole.cells is None and whole.bound:
        return "upper bound of Σ w ‖A(b) − A(a)‖₂: a relaxation, as too many pairs of its cells come close to it"
    cells = "knots and ends" if column.is_number else f"{len(column.cell_names())} levels"
    words = f"largest Σ w ‖A(b) − A(a)‖₂ over its {cells}"
    many = exact and len(column.all_names()) > MOST_CELLS
    return f"{words}, {IN_FLOAT}: they are too many for integers" if many else words


def slope_claims(outputs: tuple[Readout, ...], shapes: Iterable[MaxSlope], allowance: Allowance) -> Iterator[Claim]:
    """The steepest slope along what each of these limits; proven, unless it is beyond the limit."""
    columns = outputs[0].columns
    names = [column.name for column in columns]
    for shape in shapes:
        directions, own = shape.directions(columns), apart(outputs)
        value = max((steepest_slope(output, d).bound for output in own for d in directions), default=0.0)
        verdict: Verdict = value <= shape.limit
        how, many = "largest Σ w ‖Σ A'‖₂ over all pieces between knots", _too_many(columns, directions)
        if many:
            how = "sum of the columns' slopes, a relaxation: there are too many choices of a piece of each"
        if allowance.exact and verdict:
            how += f", {IN_FLOAT}" if many else ""
            work = allowance.promises
            verdict = many or all_of(slope_is_below(o, d, value, work) for o in own for d in directions)
        words = shape.words(names, "").replace(f"at most {shape.limit}", f"at most {upwards(value)}, and rounding")
        words += f"; limit {shape.limit}"
        subject = ", ".join(names[i] for i in shape.positions) or "all columns"
        yield Claim("slope", subject, words, verdict is True, True, value, None, how + undecided(verdict))


def _too_many(columns: Sequence[Column], directions: Iterable[Direction]) -> bool:
    """Whether slopes along one of these are added up, because its columns have too many pieces."""
    parts = ([pieces_of(columns[i], weight, True) for i, weight in own] for own in directions if len(own) > 1)
    return any(choices_of(own) > MOST_CHOICES for own in parts)


# ---- the response to tolerances ------------------------------------------------------------------------------------


def response_claim(outputs: tuple[Readout, ...], within: Mapping[str, float | str], allowance: Allowance) -> Claim:
    """The bound on the change of raw scores when all of these columns change within tolerances."""
    tolerances = _tolerances(outputs[0].columns, within)
    found = [box(output, tolerances) for output in outputs]
    bound = max(of_outputs(output, own) for output, (own, _) in zip(outputs, found, strict=True))
    shown = ", ".join(
        f"{name} by any swap" if size == "any" else f"{name} by {size:g}" for name, size in within.items()
    )
    words = f"no raw score moves by more than {upwards(bound)} if all of these change together by at most: {shown}"
    if any(size is not None for size in tolerances.values()):
        words += "; numbers that are missing stay missing"
    words += _limit(outputs)
    verdict: Verdict = True
    how, moves = found[0][1], box_moves(outputs[0], tolerances) if allowance.exact else None
    if allowance.exact and (moves is None or corners_of(moves) > MOST_CORNERS):
        how += f", {IN_FLOAT}"
    elif allowance.exact:
        pairs, work = zip(outputs, found, strict=True), allowance.others
        verdict = all_of(_box_in_integers(output, tolerances, own, work) for output, (own, _) in pairs)
    how += undecided(verdict)
    return Claim("response", ", ".join(within), words, verdict is True, False, bound, None, how)


def _box_in_integers(readout: Readout, tolerances: Mapping[int, float | None], bound: float, work: Work) -> Verdict:
    """Whether the bound of a box is proven in integers."""
    moves = box_moves(readout, tolerances)
    if moves is None:  # these depend on the columns only, so that no output has too many if one has not
        return None
    return box_is_below(readout, moves, bound - box_rounding(readout, tolerances, moves), work)


def _tolerances(columns: tuple[Column, ...], within: Mapping[str, float | str]) -> dict[int, float | None]:
    names = [column.name for column in columns]
    example = f"such as {{{names[0]!r}: {1.0 if columns[0].is_number else repr('any')}}}"
    if not isinstance(within, Mapping):
        raise TypeError(f"within must map columns to their largest change, {example}; got a {type(within).__name__}")
    if not within:
        raise ValueError(f"within must name at least one column, {example}; got an empty mapping")
    for name in within:
        if name not in names:
            raise ValueError(
                f"within names a column that the model does not have: {name!r}; it has {names}{asked(name, names)}"
            )
    return {names.index(name): _tolerance(columns[names.index(name)], size) for name, size in within.items()}


def _tolerance(column: Column, size: object) -> float | None:
    """The largest change of a number; None for any change of a category."""
    any_swap, what = isinstance(size, str) and size == "any", f"within[{column.name!r}] must be"
    if not column.is_number:
        if not any_swap:
            raise ValueError(f"{what} 'any', because the column is a category; got {size!r}")
        return None
    number = _number(size)
    if not 0 <= number < math.inf:
        out = f"give the largest change of {column.name}, or omit it to keep it as it is"
        raise ValueError(f"{what} a number that is not negative; got {reprlib.repr(size)}: {out}")
    return number


def _number(size: object) -> float:
    """A size as a float; NaN if it is no number, infinite if it is too large for one."""
    try:
        return float(size) if isinstance(size, Real) and not isinstance(size, bool) else math.nan
    except OverflowError:
        return math.inf
