"""From what users write to a :class:`~lambdak.optimize.minimum.problem.Minimization`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from scipy.optimize import Bounds

from lambdak._types import Float64Array
from lambdak.model import Model
from lambdak.optimize.axes import Axis, make_axis
from lambdak.optimize.linear import LinearRows
from lambdak.optimize.minimum.bounded import BoundedSum, Prediction, ScaledPrediction
from lambdak.optimize.minimum.expression import Expression, Limit, Predicted
from lambdak.optimize.minimum.problem import Minimization, raw_limit, raw_objective
from lambdak.optimize.scores import Score, check_fixed_inputs, restrict
from lambdak.table.close_names import asked, shown_names
from lambdak.table.column_contract import Column
from lambdak.table.numeric_column import Numeric
from lambdak.table.read import read_table
from lambdak.table.whole_columns import Wholes, whole_columns


@final
@dataclass(frozen=True, eq=False)
class Builder:
    """Axes, the fixed row, and the raw scores that were made so far."""

    axes: tuple[Axis, ...]
    row: Mapping[str, Any]
    made: dict[tuple[int, str, float], tuple[Score, Score]] = field(default_factory=dict)

    def function(self, expression: Expression, factor: float = 1.0) -> BoundedSum:
        """An expression times a number, as a function of coordinates."""
        linear, constant, begun = self._linear(expression.linear)
        factors = tuple(
            self._factor(product.predicted, product.column, product.offset, product.slope)
            for product in expression.products
        )
        scaled = tuple(
            ScaledPrediction(factor_.prediction, factor * factor_.offset, factor_.axis, factor * factor_.slope)
            for factor_ in factors
        )
        begun += abs(expression.constant)
        return BoundedSum(factor * (expression.constant + constant), factor * linear, scaled, abs(factor) * begun)

    def _linear(self, coefficients: Mapping[str, float]) -> tuple[Float64Array, float, float]:
        """The coefficients of free columns, the sum of what fixed ones contribute, and the size of its terms."""
        linear, constant, begun = np.zeros(len(self.axes)), 0.0, 0.0
        for name, a in coefficients.items():
            axis = self._axis(name)
            if axis is None:
                constant += a * self._number(name)
                begun += abs(a * self._number(name))
            else:
                linear[axis] += a
        return linear, constant, begun

    def _factor(self, predicted: Predicted, name: str | None, offset: float, slope: float) -> ScaledPrediction:
        axis = None if name is None else self._axis(name)
        if name is not None and axis is None:
            offset, slope = offset + slope * self._number(name), 0.0
        return ScaledPrediction(self._prediction(predicted), offset, axis, slope)

    def _prediction(self, predicted: Predicted) -> Prediction:
        pairs = [self._score(predicted, i) for i in range(len(predicted.readouts))]
        scores, negatives = zip(*pairs, strict=True)
        return Prediction(scores, negatives, predicted.link)

    def _score(self, predicted: Predicted, i: int) -> tuple[Score, Score]:
        readout = predicted.readouts[i]
        key = (id(predicted.model), readout.name, predicted.offset)
        if key not in self.made:
            score = restrict(predicted.model, readout, self.axes, self.row).shifted(predicted.offset)
            self.made[key] = (score, score.negative())
        return self.made[key]

    def _axis(self, name: str) -> int | None:
        """The position of a free column of numbers; None if it is fixed."""
        found = next((i for i, axis in enumerate(self.axes) if axis.name == name), None)
        if found is not None and self.axes[found].levels:
            raise ValueError(f"column {name!r} is a category: it cannot be part of a formula")
        return found

    def _number(self, name: str) -> float:
        """The fixed number in a column."""
        if name not in self.row:
            raise ValueError(f"column {name!r} is neither free nor fixed: name it in free, or give it in fixed")
        try:
            return float(self.row[name])
        except (TypeError, ValueError):
            raise ValueError(f"column {name!r} must be a number in a formula; got {self.row[name]!r}") from None


def build(
    objective: Expression, limits: Sequence[Limit], free: Sequence[str], bounds: Any, fixed: Any,
    whole: Wholes, maximize: bool,
) -> Minimization:  # fmt: skip
    """The problem of :func:`lambdak.optimize.minimize`."""
    columns = _columns([objective, *(limit.expression for limit in limits)])
    row = read_row(fixed, list(columns))
    bounds = _by_name(bounds, free)
    _check_names(columns, free, bounds, () if whole is None else whole_columns((), whole), row)
    check_fixed_inputs(columns, {name: cell for name, cell in row.items() if name not in free})
    named = {name for expression in (objective, *(limit.expression for limit in limits)) for name in expression.columns}
    finite = {name: _finite(name, columns[name], bounds.get(name), name in named) for name in free}
    axes = tuple(_axis(name, columns[name], finite[name], _is_whole(columns[name], name, whole)) for name in free)
    builder = Builder(axes, row)
    function = builder.function(objective, -1.0 if maximize else 1.0)
    sign = -1.0 if maximize else 1.0
    plain, seen = raw_objective(function, sign) or (function, _signed(sign))
    linear, others, requested = _split(builder, limits)
    return Minimization(axes, plain, linear, others, requested, seen, row)


def _by_name(bounds: Any, free: Sequence[str]) -> Mapping[str, Any]:
    """Bounds by column, also from SciPy's Bounds, or pairs (low, high), one for each free column in order."""
    if isinstance(bounds, Mapping):
        return bounds
    shape = f"a mapping from a column to (low, high) or levels, or {len(free)} pairs (low, high)"
    if isinstance(bounds, Bounds):
        pairs: Any = np.stack(np.broadcast_arrays(bounds.lb, bounds.ub, np.zeros(len(free)))[:2], axis=1)
    else:
        try:
            pairs = [(low, high) for low, high in bounds]
        except (TypeError, ValueError):
            raise TypeError(f"bounds must be {shape}; got {bounds!r}") from None
    if isinstance(bounds, str) or len(pairs) != len(free):
        raise ValueError(f"bounds must be {shape}, for {list(free)}; got {bounds!r}")
    return {name: (low, high) for name, (low, high) in zip(free, pairs, strict=True)}


def _signed(sign: float) -> Callable[[Any], Any]:
    return lambda value: sign * value


def _columns(expressions: Sequence[Expression]) -> dict[str, list[Column]]:
    """The columns of all models, by name."""
    models: dict[int, Model] = {}
    for expression in expressions:
        models |= {id(product.predicted.model): product.predicted.model for product in expression.products}
    found: dict[str, list[Column]] = {}
    for model in models.values():
        for column in model.encoder.columns:
            found.setdefault(column.name, []).append(column)
    for expression in expressions:
        for name in expression.columns:
            found.setdefault(name, [])
    return found


def read_row(fixed: Any, names: Sequence[str]) -> dict[str, Any]:
    """The cells of one row by name: from a mapping, a table of one row, or an array in the order of the columns."""
    if fixed is None:
        return {}
    if isinstance(fixed, str) or (np.ndim(fixed) == 0 and not hasattr(fixed, "keys")):
        raise TypeError(f"fixed must be a mapping from columns to cells, or one row of a table; got {fixed!r}")
    if hasattr(fixed, "keys") and not hasattr(fixed, "columns"):  # a mapping, or a row of a pandas table
        return {str(name): fixed[name] for name in fixed.keys()}  # noqa: SIM118
    table = read_table(np.asarray([fixed], object) if np.ndim(fixed) == 1 else fixed)
    if table.shape[0] != 1:
        raise ValueError(f"fixed must be one row; got {table.shape[0]} rows: take one with X.iloc[[0]]")
    columns = table.names if table.named else names[: table.shape[1]]
    return {name: table.cells(i).values[0] for i, name in enumerate(columns)}


def _check_names(
    columns: Mapping[str, list[Column]], free: Sequence[str], bounds: Mapping[str, Any], whole: Sequence[str],
    row: Mapping[str, Any],
) -> None:  # fmt: skip
    if not free:
        raise ValueError("free must name at least one column to choose")
    for what, names in (("free", free), ("bounds", bounds), ("whole", whole)):
        unknown = [name for name in names if name not in columns]
        if unknown:
            raise ValueError(
                f"{what} must name columns, such as {shown_names(columns)}; got {shown_names(unknown)}"
                f"{asked(unknown[0], columns)}"
            )
    if len(set(free)) < len(free):
        raise ValueError(f"free must name every column once; got {list(free)}")
    idle = [name for name in (*bounds, *whole) if name not in free]
    if idle:
        raise ValueError(f"column {idle[0]!r} has bounds but is not free: name it in free")
    absent = [name for name in columns if name not in free and name not in row]
    if absent:
        given = [name for name in row if name not in columns]  # what fixed names, and no model has
        known = given if columns[absent[0]] else [name for name in columns if name not in absent]
        raise ValueError(
            f"columns {shown_names(absent)} are neither free nor fixed: give them in fixed{asked(absent[0], known)}"
        )


def _is_whole(columns: Sequence[Column], name: str, whole: Wholes) -> bool:
    """Whether a column may hold whole numbers only: as the user says, or as all models have seen it."""
    if whole is not None:
        return name in whole_columns((), whole)
    return bool(columns) and len(whole_columns(columns, None)) == len(columns)


def _axis(name: str, columns: Sequence[Column], bounds: Any, whole: bool) -> Axis:
    if columns:
        return make_axis(columns, bounds, whole)
    if bounds is None or None in tuple(bounds):
        raise ValueError(f"column {name!r} is in no model: give bounds={{{name!r}: (low, high)}}")
    levels = np.array([float(end) for end in bounds])
    return Axis(name, np.unique(np.array([np.ceil(levels[0]), np.floor(levels[1])]) if whole else levels), (), whole)


def _split(builder: Builder, limits: Sequence[Limit]) -> tuple[LinearRows, tuple[BoundedSum, ...], tuple[Limit, ...]]:
    """Linear constraints, and the others, as functions and as they were written."""
    functions = [(builder.function(limit.expression), limit) for limit in limits]
    linear = [(function, limit) for function, limit in functions if function.is_linear]
    others = [(function, limit) for function, limit in functions if not function.is_linear]
    for _, limit in others:
        if limit.relation == "==":
            raise ValueError(f"constraint {limit.text!r}: a prediction cannot be held to one number; use <= or >=")
    high = np.array([-function.constant for function, _ in linear])
    low = np.where([limit.relation == "==" for _, limit in linear], high, -np.inf) if linear else high
    matrix = np.array([function.linear for function, _ in linear]).reshape(-1, len(builder.axes))
    rows = LinearRows(matrix, low, high, tuple(limit.text for _, limit in linear))
    return rows, tuple(raw_limit(function) for function, _ in others), tuple(limit for _, limit in others)


def _finite(name: str, columns: Sequence[Column], bounds: Any, in_formula: bool) -> Any:
    """Bounds without infinite ends: a clamped column is constant beyond its training range."""
    if bounds is None or not all(isinstance(column, Numeric) for column in columns) or np.shape(bounds) != (2,):
        return bounds
    try:
        ends = [None if end is None or np.isfinite(float(end)) else float(end) for end in bounds]
    except (TypeError, ValueError):
        return bounds  # which the axis refuses
    if np.isnan([end for end in ends if end is not None]).any():
        raise ValueError(f"bounds of column {name!r} must be numbers; got {bounds!r}")
    if any(end is not None for end in ends) and (in_formula or not all(column.bounded for column in columns)):
        side = "lower" if ends[0] is not None else "upper"
        raise ValueError(
            f"column {name!r} has no {side} bound, so that there may be no best point: give "
            f"bounds={{{name!r}: (low, high)}}"
        )
    return tuple(None if seen is not None else end for seen, end in zip(ends, bounds, strict=True))
