r"""What a fitted model guarantees: every claim, how it was checked, and the number that decides it, in float64."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from io import StringIO
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from lambdak.caps import extreme_cells
from lambdak.columns import Column
from lambdak.fitted import FittedModel
from lambdak.losses import Ordinal
from lambdak.packing import packed_size
from lambdak.reach import any_change, bends, box, increments, per_unit
from lambdak.readout import Readout, readouts
from lambdak.spectrum import Float64Array, extremes, rounding_tol, spectral_norm
from lambdak.wishes import influence_caps, monotone_signs

_WIDTH = 110  # of a printed certificate
_METHODS = {
    "monotone": "value is the smallest eigenvalue of all increment matrices, from knot to knot; it must not be "
    "negative by more than rounding; missing cells are left aside",
    "convex": "the last eigenvalue, and value, the smallest eigenvalue of all changes of slope, is not negative",
    "concave": "the first eigenvalue, and value, minus the largest eigenvalue of all changes of slope, is not negative",
    "influence": "value is the largest weighted sum of ‖A(b) − A(a)‖₂ over any two cells of the column",
    "response": "value is the largest ‖Σ δ_i A_i‖₂ over the box of tolerances, or a bound on it",
    "quantiles": "value is the smallest eigenvalue of the steps from level to level",
    "cut-points": "the eigenvalues of one matrix are in order",
}


@dataclass(frozen=True)
class Claim:
    """One statement about a model.

    Attributes
    ----------
    kind : str
        "monotone", "convex", "concave", "influence", "response", "quantiles" or "cut-points".
    subject : str
        The column, or the columns, it is about.
    statement : str
        The claim in words.
    held, asked : bool
        Whether it holds, and whether the model was told to keep it.
    value : float or None
        The number that decides: a smallest eigenvalue, or a bound, in units of the score.
    margin : float or None
        What rounding in float64 can do to the value.
    how : str
        How it was checked.
    details : dict
        Further numbers.
    """

    kind: str
    subject: str
    statement: str
    held: bool
    asked: bool
    value: float | None
    margin: float | None
    how: str
    details: dict[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Certificate:
    """All claims about one model; prints as a table."""

    model: str
    score: str
    claims: tuple[Claim, ...]

    @property
    def holds(self) -> bool:
        """Whether everything that was asked of the model holds."""
        return all(claim.held for claim in self.claims if claim.asked)

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain data."""
        claims = [asdict(claim) for claim in self.claims]
        return {"model": self.model, "score": self.score, "holds": self.holds, "claims": claims}

    def to_json(self) -> str:
        """The certificate as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def __str__(self) -> str:
        rows = []
        for claim in sorted(self.claims, key=lambda claim: (not claim.asked, not claim.held)):
            held = ("held" if claim.held else "NOT HELD") + (", asked" if claim.asked else "")
            rows.append((held, claim.subject, claim.statement, "" if claim.value is None else f"{claim.value:.4g}"))
        kinds = dict.fromkeys(claim.kind for claim in self.claims)
        words = f"Scores and values are in units of {self.score}; all holds for every row, seen or unseen."
        notes = [words, "How it was checked, in float64:", *(f"{kind}: {_METHODS[kind]}." for kind in kinds)]
        return printed(f"{self.model}: what is guaranteed", ("", "about", "claim", "value"), rows, notes)


def printed(title: str, names: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """A table as text, its last columns to the right, with notes below."""
    table = Table(title=title, title_justify="left")
    for name in names:
        words = name in ("", "about", "claim")
        table.add_column(name, justify="left" if words else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    text = StringIO()
    plain = {"markup": False, "highlight": False, "emoji": False, "color_system": None, "force_jupyter": False}
    Console(file=text, width=_WIDTH, **plain).print(table, *notes, sep="\n")  # type: ignore[arg-type]
    return text.getvalue()


def certify(model: FittedModel, within: Mapping[str, float | str] | None = None) -> Certificate:
    """Check everything that can be read off the matrices of a fitted model.

    Parameters
    ----------
    model
        A fitted estimator.
    within
        Tolerances: column → largest change of its number, or "any" for a category. The certificate then bounds the
        change of the score for any row when all of these columns change at once.
    """
    outputs = readouts(model)
    claims = [*_monotone(model, outputs), *_shapes(model, outputs), *_influences(model, outputs)]
    if within is not None:
        claims.append(_response(outputs, within))
    claims += _orders(model, outputs)
    return Certificate(type(model).__name__, _score_words(outputs), tuple(claims))


def _score_words(outputs: tuple[Readout, ...]) -> str:
    first = outputs[0]
    words = {
        "identity": "the target",
        "log": "the logarithm of the prediction",
        "logit": "log-odds",
        "softmax": "the logarithm of a class's share before it is normalised",
    }
    return words[first.link]


# ---- monotone columns ----------------------------------------------------------------------------------------------


def _monotone(model: FittedModel, outputs: tuple[Readout, ...]) -> Iterator[Claim]:
    """One claim for each column of numbers, in the direction that was asked for or else is nearest to hold."""
    if outputs[0].link == "softmax":
        return  # a class's score may rise while its probability falls
    readout, flip = outputs[0], -1 if isinstance(model.loss_, Ordinal) else 1
    asked = monotone_signs(fit_setting(model, "monotonic_cst"), readout.columns)
    for i, column in enumerate(readout.columns):
        if column.kind != "category":
            yield _monotone_claim(readout, i, asked.get(i, 0), flip)


def _monotone_claim(readout: Readout, i: int, asked: int, flip: int) -> Claim:
    column = readout.columns[i]
    steps = increments(column)
    low, high = extremes(steps @ readout.column(i))
    least, most = (readout.scale * low.min(), readout.scale * high.max()) if low.size else (0.0, 0.0)
    if flip < 0:
        least, most = -most, -least
    margin = rounding_margin(readout, i)
    sign = asked or (1 if least >= -most else -1)
    value = float(least if sign > 0 else -most)
    what = "a higher class never becomes less likely" if flip < 0 else "the prediction never falls"
    against = "a higher class never becomes more likely" if flip < 0 else "the prediction never rises"
    words = f"{what if sign > 0 else against} as {column.name} rises"
    return Claim(
        "monotone", column.name, words, value >= -margin, bool(asked), value, margin,
        f"smallest eigenvalue of {'' if sign > 0 else 'minus '}{_count(steps, readout, 'increment matrix')}; "
        f"rounding margin {margin:.1e}{_missing_words(column)}",
        {"sign": float(sign)},
    )  # fmt: skip


def rounding_margin(readout: Readout, i: int) -> float:
    """What rounding can do to a semidefinite matrix of column i, in units of the score."""
    size = spectral_norm(readout.column(i)).max(initial=0.0)
    return float(readout.scale * rounding_tol(readout.dim, np.float64) * size)


def _count(moves: Float64Array, readout: Readout, noun: str) -> str:
    members = len(readout.weights)
    plural = noun.replace("matrix", "matrices")
    return f"{len(moves)} {plural} of {members} member{'s' if members > 1 else ''}"


def _missing_words(column: Column) -> str:
    return "; a missing cell is left aside" if column.missing >= 0 else ""


# ---- convex and concave --------------------------------------------------------------------------------------------


def _shapes(model: FittedModel, outputs: tuple[Readout, ...]) -> Iterator[Claim]:
    """Convex and concave, each only if it holds, was asked for, or neither is."""
    asked = fit_setting(model, "shape")
    claims = [_shape_claim(outputs, bend, asked) for bend in (1, -1)]
    for claim in claims:
        if claim.asked or claim.held or (asked is None and claim.kind == "convex" and not claims[1].held):
            yield claim


def _shape_claim(outputs: tuple[Readout, ...], bend: int, asked: str | None) -> Claim:
    kind, readout = ("convex" if bend > 0 else "concave"), outputs[0]
    numbers = [i for i, column in enumerate(readout.columns) if column.kind != "category"]
    end = readout.dim - 1 if bend > 0 else 0
    least, margin = np.inf, 0.0
    for output in outputs:
        for i in numbers:
            low, high = extremes(bends(output.columns[i]) @ output.column(i))
            least = min(least, float(output.scale * (low if bend > 0 else -high).min(initial=np.inf)))
            margin = max(margin, rounding_margin(output, i) * _steepness(output.columns[i]))
    extreme = all(output.index == end for output in outputs)
    straight = not any(column.clamp and (column.n_ramps or column.kind == "linear") for column in readout.columns)
    value = None if np.isinf(least) else least
    place = f"the {'last' if bend > 0 else 'first'} of {readout.dim} eigenvalues"
    how = place if extreme else f"needs {place}, this is number {readout.index + 1}"
    bent = f"; smallest eigenvalue of all changes of slope at knots, rounding margin {margin:.1e}"
    if not straight:
        how += "; clamped at the ends of the training range"
    return Claim(
        kind, "all columns of numbers together", f"the score is {kind} for any fixed categories",
        extreme and straight and least >= -margin, asked == kind, value, margin if value is not None else None,
        how + (bent if value is not None else "; columns are linear"),
    )  # fmt: skip


def _steepness(column: Column) -> float:
    return 4.0 / float(np.diff(column.knots).min()) if column.n_ramps else 0.0


# ---- influence -----------------------------------------------------------------------------------------------------


def _influences(model: FittedModel, outputs: tuple[Readout, ...]) -> Iterator[Claim]:
    """The proven bound of each column; held if it is within the cap that was asked for."""
    caps = influence_caps(fit_setting(model, "max_influence"), outputs[0].columns)
    for i, column in enumerate(outputs[0].columns):
        whole = max((any_change(output, i) for output in outputs), key=lambda reach: reach.bound)
        details: dict[str, float | str] = {}
        if column.kind != "category":
            unit = max((per_unit(output, i) for output in outputs), key=lambda reach: reach.bound)
            details["per unit"] = unit.bound
            if unit.cells:
                details["steepest between"] = " and ".join(unit.cells)
            details["across the range"] = max(any_change(output, i, present_only=True).bound for output in outputs)
        if whole.cells:
            details["largest between"] = " and ".join(whole.cells)
        cap = caps.get(i)
        words = f"no {'swap of levels' if column.kind == 'category' else 'change'} moves a score by more"
        how = "largest Σ w ‖A(b) − A(a)‖₂ over its " + (
            f"{len(extreme_cells(column))} levels" if column.kind == "category" else "knots and ends"
        )
        if whole.cells is None and whole.bound:
            how = "sum of the two largest Σ w ‖A(b) − mean‖₂: a relaxation, as its levels are many"
        if "per unit" in details:
            words += f"; per unit {details['per unit']:.4g}"
        if cap is not None:
            words += f"; cap {cap:.4g}"
        if not column.clamp:
            words += ", within the training range"
        held = cap is None or whole.bound <= cap
        yield Claim("influence", column.name, words, held, cap is not None, whole.bound, None, how, details)


def _response(outputs: tuple[Readout, ...], within: Mapping[str, float | str]) -> Claim:
    tolerances = _tolerances(outputs[0].columns, within)
    bound, how = max((box(output, tolerances) for output in outputs), key=lambda found: found[0])
    shown = ", ".join(
        f"{name} by any swap" if size == "any" else f"{name} by {size:g}" for name, size in within.items()
    )
    words = f"no score moves by more when at once change at most: {shown}"
    return Claim("response", ", ".join(within), words, True, False, bound, None, how)


def _tolerances(columns: tuple[Column, ...], within: Mapping[str, float | str]) -> dict[int, float | None]:
    names = [column.name for column in columns]
    if not within:
        raise ValueError(f"within must name at least one column, such as {{{names[0]!r}: 1.0}}; got an empty mapping")
    found: dict[int, float | None] = {}
    for name, size in within.items():
        if name not in names:
            raise ValueError(f"within names a column that the model does not have: {name!r}; it has {names}")
        column = columns[names.index(name)]
        if column.kind == "category":
            if size != "any":
                raise ValueError(f"within[{name!r}] must be 'any', because the column is a category; got {size!r}")
            found[names.index(name)] = None
            continue
        if isinstance(size, bool | str) or not np.isfinite(size) or size < 0:
            raise ValueError(f"within[{name!r}] must be a number that is not negative; got {size!r}")
        found[names.index(name)] = float(size)
    return found


# ---- order of several outputs --------------------------------------------------------------------------------------


def _orders(model: FittedModel, outputs: tuple[Readout, ...]) -> Iterator[Claim]:
    if len(outputs) == 1:
        return
    if model.levels_:
        rows = model.coef_[:, model.encoder_.n_design :, : packed_size(model.dim_)].astype(np.float64)
        margin = float(model.scale_ * rounding_tol(model.dim_, np.float64) * spectral_norm(rows).max(initial=0.0))
        steps = extremes(np.diff(rows, axis=1))[0]
        value = float(model.scale_ * steps.min())
        yield Claim(
            "quantiles", f"{len(model.levels_)} quantiles", "a higher quantile is never below a lower one",
            value >= -margin, True, value, margin,
            f"smallest eigenvalue of the steps from level to level; rounding margin {margin:.1e}",
        )  # fmt: skip
    elif isinstance(model.loss_, Ordinal):
        indices = [output.index for output in outputs]
        same = len({output.start for output in outputs}) == 1
        ordered = same and bool((np.diff(indices) > 0).all())
        yield Claim(
            "cut-points", f"{len(indices)} cut-points", "cumulative probabilities never fall from class to class",
            ordered, True, None, None,
            f"eigenvalues number {', '.join(str(i + 1) for i in indices)} of one matrix are always in this order",
        )  # fmt: skip


def fit_setting(model: Any, name: str) -> Any:
    """A setting as it was at the time of the fit, whatever has been set since."""
    return getattr(model, "settings_", {}).get(name, getattr(model, name))
