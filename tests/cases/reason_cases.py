"""Claims of reasons, tried one by one through ``predict`` and ``predict_proba``."""

from __future__ import annotations

import numpy as np
import pandas as pd
from fitted_models import fitted


def decided_by(kind, threshold=None, target=None, output=None):
    """(approved, measure): what a user would compute of a table; the measure may be None."""
    model = fitted(kind)
    classes = getattr(model, "classes_", None)
    if classes is None:
        measure = model.predict if output is None else lambda T: model.predict_quantiles(T)[:, output]
        return (lambda T: measure(T) <= threshold) if target == "<=" else (lambda T: measure(T) >= threshold), measure
    if isinstance(target, tuple):
        compare = np.greater_equal if target[0] == ">=" else np.less_equal
        return (lambda T: compare(model.predict(T), target[1])), None
    position = classes.tolist().index(target)
    measure = None if kind == "ordinal" else lambda T: model.predict_proba(T)[:, position]
    if threshold is None:
        return (lambda T: model.predict(T) == target), measure
    return (lambda T: measure(T) >= threshold), measure


def numbers_in(column, low, high, rng):
    """Numbers of a range: its ends, random ones, knots and their neighbours, and far away where it has no end."""
    first, last = max(low, column.low), min(high, column.high)
    first, last = min(first, last), max(first, last)
    nodes = column.nodes()
    tried = [
        first,
        last,
        *rng.uniform(first, last, 12),
        *nodes,
        *np.nextafter(nodes, -np.inf),
        *np.nextafter(nodes, np.inf),
    ]
    tried += [low, high] if np.isfinite([low, high]).all() else [-1e300, 1e300, -1e6, 1e6, first - 1, last + 1]
    return [x for x in dict.fromkeys(tried) if low <= x <= high and np.isfinite(x)]


def with_cells(row, column, values):
    table = pd.concat([row] * len(values), ignore_index=True)
    table[column.name] = pd.Series(values, dtype=float if column.is_number else object)
    return table


def cells_of(column, reason, rng):
    if column.is_number and reason.low is not None:
        return numbers_in(column, reason.low, reason.high, rng)
    return list(reason.levels)


def all_cells(column, rng):
    if column.is_number:
        return numbers_in(column, -np.inf, np.inf, rng)
    return [*(level for level in column.levels if isinstance(level, str)), "never seen"]


def broken_claims(model, X, found, approved, measure=None, rises=True, most=40):
    """How many claims were tried, and those that do not hold."""
    rng, tried, broken = np.random.default_rng(0), 0, []
    columns = {column.name: column for column in model.model_.encoder.columns}
    assert [own.approved for own in found] == approved(X).tolist()
    for decision in found.declined[:most]:
        row = X.iloc[[decision.row]]
        for reason in decision.reasons:
            column = columns[reason.column]
            cells = cells_of(column, reason, rng)
            then = with_cells(row, column, cells) if cells else None
            claims = {
                "enough": lambda then=then: approved(then).all() if reason.enough else None,  # noqa: B023
                "then": lambda then=then: _beyond(measure, then, reason.then, rises),  # noqa: B023
                "never": lambda column=column: _none(approved, row, column, rng) if reason.never_enough else None,  # noqa: B023
            }
            for name, claim in claims.items():
                holds = None if then is None and name != "never" else claim()
                tried += holds is not None
                broken += [(name, reason)] if holds is False or (holds is not None and not holds) else []
        if decision.together:
            tried += 1
            broken += [] if approved(row.assign(**decision.together))[0] else [("together", decision)]
    return tried, broken


def _beyond(measure, table, bound, rises):
    if measure is None or bound is None:
        return None
    return (measure(table) >= bound).all() if rises else (measure(table) <= bound).all()


def _none(approved, row, column, rng):
    return not approved(with_cells(row, column, all_cells(column, rng))).any()
