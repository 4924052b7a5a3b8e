"""What may change in rows, and what it costs, as users say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from lambdak.model import Model
from lambdak.model.rows import column_named
from lambdak.optimize.changes.rows import Row
from lambdak.optimize.changes.surroundings import WAYS, Surroundings, axis_around, movable, spreads


@final
@dataclass(frozen=True, eq=False)
class Request:
    """What may change, and what it costs.

    Attributes
    ----------
    names : tuple of str
        The columns that may change.
    units : mapping of str to float
        The price of a unit of each column, or of another level.
    directions, bounds : mappings of str
    whole : frozenset of str
    """

    names: tuple[str, ...]
    units: Mapping[str, float]
    directions: Mapping[str, str]
    bounds: Mapping[str, Any]
    whole: frozenset[str]

    def around(self, row: Row) -> Surroundings:
        """The axes around a row."""
        columns = movable(row, self.names)
        axes = tuple(
            axis_around(
                column,
                row.cells[column.name],
                self.bounds.get(column.name),
                column.name in self.whole,
                self.directions.get(column.name),
            )
            for column in columns
        )
        return Surroundings(axes, np.array([axis.coordinate(row.cells[axis.name]) for axis in axes]))


def make_request(
    model: Model,
    actionable: Any,
    cost: Any,
    directions: Mapping[str, str] | None,
    bounds: Mapping[str, Any] | None,
    whole: Sequence[str],
    scale: Mapping[str, float] | None,
) -> Request:
    """The request of a user, checked."""
    listed = [actionable] if isinstance(actionable, str | int) else list(actionable)
    names = tuple(dict.fromkeys(_name(model, own) for own in listed))
    if not names:
        raise ValueError("actionable must name at least one column; got none")
    if not (cost == "l1" or isinstance(cost, Mapping)):
        raise ValueError(f"cost must be 'l1' or weights by column name; got {cost!r}")
    weights = {} if isinstance(cost, str) else {_name(model, own): float(weight) for own, weight in cost.items()}
    for name, weight in weights.items():
        if not 0 < weight < np.inf:
            raise ValueError(f"cost of column {name!r} must be positive and finite; got {weight}")
    ways = {_name(model, own): way for own, way in (directions or {}).items()}
    for name, way in ways.items():
        if way not in WAYS:
            raise ValueError(f"directions of column {name!r} must be 'up' or 'down'; got {way!r}")
    spread = spreads(model, scale)
    return Request(
        names,
        {name: weights.get(name, 1.0) / spread[name] for name in names},
        ways,
        {_name(model, own): ends for own, ends in (bounds or {}).items()},
        frozenset(_name(model, own) for own in ([whole] if isinstance(whole, str) else whole)),
    )


def _name(model: Model, name: Any) -> str:
    return model.encoder.feature_names[column_named(model, name)]
