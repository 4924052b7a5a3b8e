"""One try for each kind of promise: many pairs of rows at once, their outputs, and what the certificate allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lambdak import SpectralOrdinalClassifier
from lambdak.model.readout import readouts
from lambdak.table.category_column import Category
from output_models import Rng, Rows, frame, levels, numbers, random_rows


@dataclass
class Tally:
    """Tries of one kind, how many exceed what is allowed, and the most of it that was used."""

    tries: int = 0
    violations: int = 0
    worst: float = 0.0

    def add(self, excess: np.ndarray, allowed: np.ndarray | float, wrong: np.ndarray | None = None) -> None:
        """``excess`` must be at most ``allowed``, where nothing else says what is ``wrong``; NaN is a violation."""
        self.tries += excess.size
        self.violations += int(np.count_nonzero(~(excess <= allowed) if wrong is None else wrong))
        some = np.broadcast_to(np.asarray(allowed) > 0, excess.shape)
        used = np.divide(excess, allowed, out=np.zeros_like(excess), where=some)
        self.worst = max(self.worst, float(used.max(initial=0.0)))


def outputs(model: Any, rows: Rows) -> np.ndarray:
    """What users see that must be monotone, (rows, outputs): predictions, P(second class), quantiles, P(y > j)."""
    X = frame(rows)
    if hasattr(model, "predict_quantiles"):
        return model.predict_quantiles(X)
    if not hasattr(model, "classes_"):
        return model.predict(X)[:, None]
    shares = model.predict_proba(X)
    return np.cumsum(shares[:, ::-1], axis=1)[:, -2::-1] if len(model.classes_) > 2 else shares[:, 1:]


def most(model: Any, higher: np.ndarray, raw: np.ndarray | float) -> np.ndarray:
    """The largest output whose raw score is at most ``raw`` above that of ``higher``, rounding of the link included."""
    link = model.model_.loss.link
    if not link.rounding:
        return higher + raw
    return link.outwards(higher, higher * np.exp(raw))[1] * (1 + link.rounding)


def margin(model: Any) -> float:
    return float(model.certify().claims[0].margin)


# ---- one kind of promise each ------------------------------------------------------------------------------------


def try_monotone(rng: Rng, model: Any, tally: Tally, count: int, labels: bool = False) -> None:
    """Pairs that differ in monotone columns only, all in their directions."""
    low = random_rows(rng, model, count)
    high = dict(low)
    for column, sign in zip(model.model_.encoder.columns, model.model_.promises.signs, strict=True):
        if sign:
            moved = rng.random(count) < 0.7
            pair = np.sort([numbers(rng, column, count), numbers(rng, column, count)], axis=0)[::sign]
            low[column.name] = np.where(moved, pair[0], low[column.name])
            high[column.name] = np.where(moved, pair[1], low[column.name])
    slack = 2 * margin(model)
    if labels:
        compare_labels(model, low, high, slack, tally)
        return
    below, above = outputs(model, low), outputs(model, high)
    tally.add((below - above).max(axis=1), (most(model, above, slack) - above).min(axis=1))


def compare_labels(model: Any, low: Rows, high: Rows, slack: float, tally: Tally) -> None:
    """A label may fall only where P(y > j) is one half to rounding."""
    first, last = (np.searchsorted(model.classes_, model.predict(frame(rows))) for rows in (low, high))
    falls = first > last
    excess = np.zeros(len(falls))
    if falls.any():
        some = {name: cells[falls] for name, cells in high.items()}
        tail = outputs(model, some)[np.arange(falls.sum()), last[falls]]  # of the label that it fell to
        excess[falls] = np.maximum(np.abs(np.log(tail / (1 - tail))), 1e-300)
    tally.add(excess, slack + 2 * model.model_.loss.link.rounding)


def scores(model: Any, rows: Rows) -> np.ndarray:
    """Outputs that are raw scores, (rows, outputs): decisions, quantiles, predictions without a link, or their log."""
    X = frame(rows)
    if hasattr(model, "decision_function"):
        values = model.decision_function(X)
        return values if values.ndim == 2 else values[:, None]
    return outputs(model, rows)


def row_margins(model: Any, rows: Rows) -> np.ndarray:
    """The rounding of each row's raw scores, also outside of the training range."""
    design = model.model_.encoder.transform(frame(rows), np.float64)
    return np.max([readout.errors(readout.reach(design)) for readout in readouts(model.model_)], axis=0)


def try_shape(rng: Rng, model: Any, tally: Tally, count: int) -> None:
    """Two ends and the middle between them, in all columns of numbers; categories and gaps stay."""
    sign = 1.0 if model.model_.promises.shape == "convex" else -1.0
    first = random_rows(rng, model, count)
    last, middle = dict(first), dict(first)
    close = rng.random(count) < 0.5
    for column in model.model_.encoder.columns:
        if not isinstance(column, Category):
            unit = 2.0 ** np.floor(np.log2(max(column.high - column.low, 1e-9)) - 20)  # so that the middle is a float
            a, b = (np.round(numbers(rng, column, count) / unit) * unit for _ in range(2))
            b = np.where(close, a + 2 * unit * rng.integers(-8, 9, count), b)  # where f is all but straight
            gaps = np.isnan(first[column.name])
            first[column.name] = np.where(gaps, np.nan, a)
            last[column.name] = np.where(gaps, np.nan, b)
            middle[column.name] = np.where(gaps, np.nan, 0.5 * (a + b))
    left, right, between = (scores(model, rows) for rows in (first, last, middle))
    chord = 0.5 * left + 0.5 * right
    rounding = sum(share * row_margins(model, rows) for share, rows in ((0.5, first), (0.5, last), (1.0, middle)))
    rounding = rounding + 2 * np.finfo(float).eps * (np.abs(left) + np.abs(right)).max(axis=1)  # of the chord
    tally.add((sign * (between - chord)).max(axis=1), rounding)


def moved_outputs(model: Any, one: Rows, other: Rows) -> tuple[np.ndarray, float]:
    """How far raw scores move, as outputs show it, and what reading them off outputs adds."""
    if hasattr(model, "decision_function") or not model.model_.loss.link.rounding:
        return np.abs(scores(model, one) - scores(model, other)).max(axis=1), 0.0
    a, b = outputs(model, one), outputs(model, other)
    rounding = 4 * model.model_.loss.link.rounding
    if model.model_.loss.link.name == "log":
        capped = (np.minimum(a, b) > 0) & (np.maximum(a, b) < np.exp(39.0))  # beyond, the link is constant
        return np.where(capped, np.abs(np.log(a) - np.log(b)), 0.0).max(axis=1), rounding
    clear = (np.minimum(a, b) > 1e-6) & (np.maximum(a, b) < 1 - 1e-6)  # or 1 − p has too few digits for log-odds
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.abs(np.log(a / (1 - a)) - np.log(b / (1 - b)))
    return np.where(clear, odds, 0.0).max(axis=1), 1e6 * rounding


def try_influence(rng: Rng, model: Any, tally: Tally, count: int) -> None:
    """Pairs that differ in one column, by any change."""
    claims = [claim for claim in model.certify().claims if claim.kind == "influence"]
    share = -(-count // len(claims))
    for claim, column in zip(claims, model.model_.encoder.columns, strict=True):
        one = random_rows(rng, model, share)
        other = dict(one)
        other[column.name] = random_rows(rng, model, share)[column.name]
        moved, reading = moved_outputs(model, one, other)
        tally.add(moved, float(claim.value) + reading)


WITHIN = {"income": 0.5, "age": 3.0, "region": "any"}


def try_response(rng: Rng, model: Any, tally: Tally, count: int) -> None:
    """Pairs that differ in three columns, within tolerances."""
    (claim,) = (claim for claim in model.certify(WITHIN).claims if claim.kind == "response")
    one = random_rows(rng, model, count)
    other = dict(one)
    for name, tolerance in WITHIN.items():
        if tolerance == "any":
            other[name] = random_rows(rng, model, count)[name]
            continue
        step = float(tolerance) * rng.choice([-1.0, 1.0, 0.3, -0.7], count)
        moved = one[name] + step
        other[name] = np.where(np.abs(moved - one[name]) <= tolerance, moved, one[name])
        gone = np.abs(one[name]) > 1e6  # where floats are too far apart for such a step
        other[name] = np.where(gone, one[name], other[name])
    moved, reading = moved_outputs(model, one, other)
    tally.add(moved, float(claim.value) + reading)


def try_order(rng: Rng, model: Any, tally: Tally, count: int) -> None:
    """Quantiles of one row, or P(y > j) for all j: those in the wrong order."""
    values = outputs(model, random_rows(rng, model, count))
    if hasattr(model, "predict_quantiles"):
        tally.add(-np.diff(values, axis=1).min(axis=1), 2 * margin(model))
    else:
        tally.add(np.diff(values, axis=1).max(axis=1), 0.0)


def try_intervals(rng: Rng, model: Any, tally: Tally, count: int) -> None:
    """Intervals of some rows, and outputs of these rows with the column anywhere in its range."""
    starts, each = 32, 64
    columns = model.model_.encoder.columns
    for _ in range(max(1, count // (starts * each))):
        column = columns[rng.integers(len(columns))]
        rows = random_rows(rng, model, starts)
        local = model.explain_local(frame(rows))
        between = None
        if not isinstance(column, Category) and rng.random() < 0.5:
            between = tuple(np.sort(rng.uniform(column.low, column.high, 2)).tolist())
        interval = local.what_if(column.name, between)
        tried = {name: np.repeat(cells, each) for name, cells in rows.items()}
        if isinstance(column, Category):
            tried[column.name] = levels(rng, column, starts * each)
            if column.missing < 0:
                tried[column.name][[cell is None for cell in tried[column.name]]] = "never seen"
        else:
            low, high = interval.between
            tried[column.name] = np.clip(numbers(rng, column, starts * each), low, high)
        values = chosen_outputs(model, tried, np.repeat(local._source.chosen, each))
        lower, upper = np.repeat(interval.lower, each), np.repeat(interval.upper, each)
        inside = (values >= lower) & (values <= upper)
        tally.add(np.abs(values - 0.5 * (lower + upper)), 0.5 * np.maximum(upper - lower, 1e-300), ~inside)


def chosen_outputs(model: Any, rows: Rows, chosen: np.ndarray) -> np.ndarray:
    """The output that an explanation is about: P(y ≤ j), the share of a class, a quantile, or the prediction."""
    X = frame(rows)
    at = np.arange(len(chosen))
    if hasattr(model, "predict_quantiles"):
        return model.predict_quantiles(X)[at, chosen]
    if not hasattr(model, "classes_"):
        return model.predict(X)
    shares = model.predict_proba(X)
    if isinstance(model, SpectralOrdinalClassifier):
        return shares.cumsum(axis=1)[at, chosen]
    return shares[:, 1] if len(model.classes_) == 2 else shares[at, chosen]


TRY: dict[str, Callable[[Rng, Any, Tally, int], None]] = {
    "monotone": try_monotone,
    "convex": try_shape,
    "concave": try_shape,
    "influence": try_influence,
    "response": try_response,
    "quantile order": try_order,
    "cut-point order": try_order,
    "ordinal labels": lambda rng, model, tally, count: try_monotone(rng, model, tally, count, labels=True),
    "what-if intervals": try_intervals,
}
