"""How columns of numbers are spread, in the terms of tests: which ones step one way, and which ones bend."""

from __future__ import annotations

from lambdak.shapes.spreads import Steps
from lambdak.training.cones import Cone


def stepping(columns, signs, shape=None):
    """Spreads of columns with signs by position; with a shape all columns with knots bend, too."""
    bend = {None: 0, "convex": 1, "concave": -1}[shape]
    ways = {i: (signs.get(i, 0), bend if column.n_ramps else 0) for i, column in enumerate(columns)}
    return [Steps(i, columns[i], *way) for i, way in ways.items() if any(way)]


def constrained(columns, rising=(), bent=()):
    """Position → spread of columns that rise, and of columns that bend."""
    return {i: Steps(i, columns[i], 1, 0) for i in rising} | {i: Steps(i, columns[i], 0, 1) for i in bent}


def one_cone(column, sign, spread, rises=None):
    """The cone of one column whose generators are spread over its numbers with one sign."""
    return Cone(column.start, sign * spread, rises)
