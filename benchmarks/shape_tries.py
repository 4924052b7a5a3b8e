"""One try for each shape: rows that it speaks of, drawn from what a person would say, and final outputs that show it.

Nothing here asks a shape what it means, nor which rows would break it. All cells but those of the shape are the same in
every row of a comparison, and anything: at knots, the floats beside them, outside of the range, missing, unseen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lambdak.table.category_column import Category
from output_models import Rng, Rows, frame, numbers, random_rows
from output_tries import Tally, most, moved_outputs, outputs, row_margins

_EPS = float(np.finfo(float).eps)
_STEPS = (1, 2, 3, 1 << 20)  # floats from a number to the next one that is tried


def try_shape_class(rng: Rng, model: Any, tally: Tally, count: int, name: str) -> None:
    """Try all shapes of this class that a model promises."""
    own = [shape for shape in model.model_.promises.shapes if type(shape).__name__ == name]
    for shape in own:
        TRIES[name](rng, model, tally, -(-count // len(own)), shape)


def columns_of(model: Any, shape: Any) -> list[Any]:
    """Return the columns of a shape; all columns of numbers if it names none."""
    columns = model.model_.encoder.columns
    return [columns[i] for i in shape.positions] or [column for column in columns if column.is_number]


def pair(rng: Rng, column: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two numbers in order: anywhere, or one a few floats after the other."""
    low, high = np.sort([numbers(rng, column, count), numbers(rng, column, count)], axis=0)
    beside = low + rng.choice(_STEPS, count) * np.spacing(np.abs(low))
    return low, np.where(rng.random(count) < 0.2, beside, high)


def ranked(rng: Rng, order: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two levels, as positions in their order."""
    low, high = np.sort(rng.integers(len(order), size=(2, count)), axis=0)
    return low, high


def named(order: Any, ranks: np.ndarray) -> np.ndarray:
    """Return the levels at these positions."""
    cells = np.empty(len(order), object)
    cells[:] = list(order)
    return cells[ranks]


# ---- predictions in order --------------------------------------------------------------------------------------------


def compare_order(model: Any, low: Rows, high: Rows, tally: Tally) -> None:
    """No output of the second rows is below that of the first by more than rounding."""
    below, above = outputs(model, low), outputs(model, high)
    rounding = row_margins(model, low) + row_margins(model, high)
    tally.add((below - above).max(axis=1), (most(model, above, rounding[:, None]) - above).min(axis=1))


def try_monotone(rng: Rng, model: Any, tally: Tally, count: int, shape: Any) -> None:
    """Pairs of cells of one column, in order."""
    (column,) = columns_of(model, shape)
    if isinstance(column, Category):
        low, high = (named(shape.order, ranks) for ranks in ranked(rng, shape.order, count))
    else:
        low, high = pair(rng, column, count)
    rows = random_rows(rng, model, count)
    one, other = rows | {column.name: low}, rows | {column.name: high}
    rising = type(shape).__name__ == "Rising"
    compare_order(model, *((one, other) if rising else (other, one)), tally)


def try_turn(rng: Rng, model: Any, tally: Tally, count: int, shape: Any) -> None:
    """Pairs on the same side of the turn, or at it."""
    (column,) = columns_of(model, shape)
    rows, cells = random_rows(rng, model, count), {}
    if isinstance(column, Category):
        low, high = ranked(rng, column.order, count)
        turn = list(column.order).index(shape.at)
        cells = dict(enumerate(named(column.order, ranks) for ranks in beyond(low, high, turn)))
    else:
        cells = dict(enumerate(beyond(*pair(rng, column, count), shape.at)))
    near, far = (rows | {column.name: cells[i]} for i in (0, 1))
    valley = type(shape).__name__ == "Valley"
    compare_order(model, *((near, far) if valley else (far, near)), tally)


def beyond(low: np.ndarray, high: np.ndarray, turn: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs on one side of the turn, the nearer one first; what straddles it begins at the turn."""
    left = high <= turn
    straddles = (low < turn) & ~left
    low = np.where(straddles, turn, low)
    return np.where(left, high, low), np.where(left, low, high)


def try_direction(rng: Rng, model: Any, tally: Tally, count: int, shape: Any) -> None:
    """Rows, and those further along the direction, by anything from a float to far outside."""
    weights = (1.0, -1.0) if type(shape).__name__ == "Dominates" else shape.weights
    low, high, _ = moved_along(rng, model, count, columns_of(model, shape), weights)
    compare_order(model, low, high, tally)


def moved_along(rng: Rng, model: Any, count: int, columns: Any, weights: Any) -> tuple[Rows, Rows, np.ndarray]:
    """Return rows, rows that are exactly t further along a direction, and t.

    Numbers and t are multiples of a power of two, so that no sum of them is rounded if weights are short fractions,
    as those of random_shapes.py are.
    """
    low = random_rows(rng, model, count)
    wide = max(max(column.high - column.low for column in columns), 1e-9)
    unit = 2.0 ** np.floor(np.log2(wide) - 30)
    most_steps = rng.choice([1, 8, 1 << 10, 1 << 20, 1 << 30], count)
    steps = 4 * unit * np.ceil(most_steps * rng.random(count))
    high = dict(low)
    for column, weight in zip(columns, weights, strict=True):
        low[column.name] = np.round(numbers(rng, column, count) / unit) * unit
        high[column.name] = low[column.name] + weight * steps
    return low, high, steps


# ---- sums of raw scores ----------------------------------------------------------------------------------------------


def compare_sums(model: Any, points: list[Rows], factors: list[float], tally: Tally) -> None:
    """Σ factor · raw score is not below zero by more than rounding."""
    raw = [raw_scores(model, rows) for rows in points]
    reading = reading_of(model)
    with np.errstate(invalid="ignore"):
        total = sum(factor * own for factor, own in zip(factors, raw, strict=True))
    rounding = sum(abs(f) * (row_margins(model, rows) + reading) for f, rows in zip(factors, points, strict=True))
    rounding = rounding + 4 * _EPS * np.nansum([np.abs(own).max(axis=1) for own in raw], axis=0)
    readable = np.isfinite(total)
    tally.add(np.where(readable, -total, -np.inf).max(axis=1), rounding)


def raw_scores(model: Any, rows: Rows) -> np.ndarray:
    """Return raw scores as final outputs show them, (rows, outputs); NaN where an output is too close to its end."""
    if hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(frame(rows)))
        return values if values.ndim == 2 else values[:, None]
    link, values = model.model_.loss.link.name, outputs(model, rows)
    for own in (own for own in model.model_.promises.shapes if type(own).__name__ == "OutputRange"):
        values = np.where((values > own.lowest) & (values < own.highest), values, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        if link == "log":
            return np.where((values > 1e-300) & (values < np.exp(39.0)), np.log(values), np.nan)
        if link == "logit":  # or 1 − p has too few digits for log-odds
            odds = model.model_.loss.sign * np.log(values / (1 - values))
            return np.where((values > 1e-6) & (values < 1 - 1e-6), odds, np.nan)
    return values


def reading_of(model: Any) -> float:
    """Return by how much reading a raw score off an output can err."""
    link = model.model_.loss.link
    if hasattr(model, "decision_function") or not link.rounding:
        return 0.0
    return (4e6 if link.name == "logit" else 4) * link.rounding


def try_bend(rng: Rng, model: Any, tally: Tally, count: int, shape: Any) -> None:
    """Both ends of lines through the columns of the shape, and the middle."""
    sign = 1.0 if type(shape).__name__ == "Convex" else -1.0
    first = random_rows(rng, model, count)
    last, middle = dict(first), dict(first)
    for column in columns_of(model, shape):
        unit = 2.0 ** np.floor(np.log2(max(column.high - column.low, 1e-9)) - 20)  # so that the middle is a float
        a, b = (np.round(numbers(rng, column, count) / unit) * unit for _ in range(2))
        b = np.where(rng.random(count) < 0.3, a + 2 * unit * rng.integers(-8, 9, count), b)
        kept = np.where(rng.random(count) < 0.2, np.nan, 0.0) if not shape.columns else 0.0  # a gap on all of the line
        first[column.name], last[column.name], middle[column.name] = a + kept, b + kept, 0.5 * (a + b) + kept
    compare_sums(model, [first, last, middle], [0.5 * sign, 0.5 * sign, -sign], tally)


def try_joint(rng: Rng, model: Any, tally: Tally, count: int, shape: Any) -> None:
    """What a rise of one column adds, at a low and at a high number of another one."""
    sign = model.model_.loss.sign * (1.0 if type(shape).__name__ == "Complements" else -1.0)
    rows = random_rows(rng, model, count)
    columns = columns_of(model, shape)
    one, other = (columns[i] for i in rng.choice(len(columns), 2, replace=False))
    (low, high), (few, many) = pair(rng, one, count), pair(rng, other, count)
    for column in columns:  # of the other columns of the shape any numbers
        if column is not one and column is not other:
            rows[column.name] = numbers(rng, column, count)
    points = [rows | {one.name: x, other.name: y} for x, y in ((high, many), (low, few), (low, many), (high, few))]
    compare_sums(model, points, [sign, sign, -sign, -sign], tally)


# ---- numbers that are not exceeded -----------------------------------------------------------------------------------


def try_slope(rng: Rng, model: Any, tally: Tally, count: int, shape: Any) -> None:
    """Rows t apart along a direction: raw scores are at most limit · t apart."""
    columns = columns_of(model, shape)
    if isinstance(shape.columns, tuple):
        weights = [weight for _, weight in shape.columns]
        one, other, _ = moved_along(rng, model, count, columns, weights)
        moves = [np.abs(other[c.name] - one[c.name]) / abs(w) for c, w in zip(columns, weights, strict=True)]
        apart = np.max(moves, axis=0)
    else:
        column = columns[rng.integers(len(columns))]
        low, high = pair(rng, column, count)
        rows = random_rows(rng, model, count)
        one, other, apart = rows | {column.name: low}, rows | {column.name: high}, high - low
    moved, reading = moved_outputs(model, one, other)
    rounding = row_margins(model, one) + row_margins(model, other) + reading
    tally.add(moved, shape.limit * apart * (1 + 4 * _EPS) + rounding)


def try_cap(rng: Rng, model: Any, tally: Tally, count: int, shape: Any) -> None:
    """Any change of its columns, and of no other; of a column that continues straight within the training range."""
    one, other = random_rows(rng, model, count), random_rows(rng, model, count)
    for column in columns_of(model, shape):
        if not isinstance(column, Category) and not column.clamp:
            for rows in (one, other):
                rows[column.name] = np.clip(rows[column.name], column.low, column.high)
    own = {column.name for column in columns_of(model, shape)}
    other = {name: other[name] if name in own else cells for name, cells in one.items()}
    moved, reading = moved_outputs(model, one, other)
    tally.add(moved, shape.cap + reading)


def try_range(rng: Rng, model: Any, tally: Tally, count: int, shape: Any) -> None:
    """No prediction of any row leaves it: no rounding is allowed."""
    rows = random_rows(rng, model, count)
    values = model.predict_quantiles(frame(rows)) if hasattr(model, "predict_quantiles") else model.predict(frame(rows))
    values = values.reshape(len(values), -1)
    low, high = (bound if bound is not None else end for bound, end in ((shape.low, -np.inf), (shape.high, np.inf)))
    outside = ~((values >= low) & (values <= high)).all(axis=1)
    tally.add(np.maximum(low - values, values - high).max(axis=1), 0.0, outside)


def try_anchor(rng: Rng, model: Any, tally: Tally, count: int, shape: Any) -> None:
    """At its cell a column adds nothing: outputs are those of the model in which it has no matrices, to rounding."""
    (column,) = columns_of(model, shape)
    rows = random_rows(rng, model, count)
    cells = np.empty(count, object if isinstance(column, Category) else float)
    cells[:] = np.nan if shape.cell is None and not isinstance(column, Category) else shape.cell
    rows[column.name] = cells
    raw = scores_of(model.model_, rows)
    rounding = 2 * row_margins(model, rows)
    tally.add(np.abs(raw - scores_of(without(model.model_, column), rows)).max(axis=1), rounding + 1e-300)


def without(own: Any, column: Any) -> Any:
    """Return a model in which a column has no matrices."""
    coef = own.coef.copy()
    coef[:, column.start : column.stop] = 0.0
    return own.replace(coef=coef)


def scores_of(own: Any, rows: Rows) -> np.ndarray:
    """Return raw scores of a model, (rows, outputs)."""
    return np.asarray(own.raw(frame(rows))).reshape(len(next(iter(rows.values()))), -1)


def try_groups(rng: Rng, model: Any, tally: Tally, count: int, shape: Any) -> None:
    """Columns without a common group: what one adds is the same whatever the other is; three, if pairs may interact."""
    columns, size = model.model_.encoder.columns, 3 if shape.pairs else 2
    chosen = rng.permutation(len(columns))[:size]
    if not shape.pairs and any({*chosen.tolist()} <= {*group} for group in shape.groups):
        tally.tries += count  # these may interact
        return
    one, other = random_rows(rng, model, count), random_rows(rng, model, count)
    points, factors = [], []
    for corner in range(1 << size):
        moved = {columns[i].name: other[columns[i].name] for k, i in enumerate(chosen) if corner >> k & 1}
        points.append(one | moved)
        factors.append(-1.0 if bin(corner).count("1") % 2 else 1.0)
    sign = rng.choice([-1.0, 1.0])
    compare_sums(model, points, [sign * own for own in factors], tally)


TRIES: dict[str, Callable[[Rng, Any, Tally, int, Any], None]] = {
    "Rising": try_monotone,
    "Falling": try_monotone,
    "Convex": try_bend,
    "Concave": try_bend,
    "Valley": try_turn,
    "Peak": try_turn,
    "Dominates": try_direction,
    "RisingAlong": try_direction,
    "Complements": try_joint,
    "Substitutes": try_joint,
    "MaxSlope": try_slope,
    "MaxInfluence": try_cap,
    "OutputRange": try_range,
    "Anchored": try_anchor,
    "Interactions": try_groups,
}
