"""Anchored: "the column adds nothing at this cell"."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self, final

import numpy as np

from lambdak.pencil.statements import Combination
from lambdak.shapes.contract import Key, OneColumn, Shape
from lambdak.table.category_levels import OTHER, shown
from lambdak.table.cell_rules import KnotRule, LineRule
from lambdak.table.column_contract import Column


@final
@dataclass(frozen=True, repr=False)
class Anchored(OneColumn):
    """Say "the column adds nothing at this cell": at a number, at a level, or (None) where it is missing.

    Its matrix there is exactly zero, so the row at all anchored cells is the base level of a tariff. A level that was
    never seen in training counts as the anchored one, unless rare levels were pooled.

    >>> Anchored("claims", 0)
    Anchored('claims', cell=0)
    """

    cell: object

    numeric: ClassVar[bool] = False
    ordered: ClassVar[bool] = False
    kind: ClassVar[str] = "anchored"
    method: ClassVar[str] = "the matrix at the cell must be exactly zero in every pencil: compared as it is stored"

    def __post_init__(self) -> None:
        cell = self.cell.item() if isinstance(self.cell, np.generic) else self.cell
        cell = None if isinstance(cell, float) and math.isnan(cell) else cell
        if not (cell is None or isinstance(cell, str | int | float)) or (isinstance(cell, float) and math.isinf(cell)):
            raise ValueError(f"cell of Anchored must be a number, a level, or None for a missing one; got {cell!r}")
        object.__setattr__(self, "cell", cell)

    @property
    def number(self) -> float | None:
        """The cell if it is a number."""
        return float(self.cell) if isinstance(self.cell, int | float) else None

    def nodes(self) -> Mapping[Key, Sequence[float]]:
        """Return that its column must have a knot at the cell."""
        return {} if self.number is None else {self.column: [self.number]}

    def placed(self, columns: Sequence[Column]) -> Self:
        """Return the shape with a position for the name, after a check that training has seen the cell."""
        found = super().placed(columns)
        column = columns[found.positions[0]]
        if self.cell is None and column.missing < 0:
            raise ValueError(
                f"{self!r} needs missing cells, but {column.name!r} had none in training: name another cell"
            )
        if isinstance(column.rule, LineRule) and self.cell is None:
            raise ValueError(
                f"{self!r} needs knots, but {column.name!r} is a straight line: name a number, or set n_knots"
            )
        if self.cell is None:
            return found
        if not column.is_number:
            if self.cell not in column.known_levels:
                known = [level for level in column.known_levels if level is not None and level is not OTHER]
                raise ValueError(f"{self!r} needs a level that training has seen; {column.name!r} has {known}")
            return found
        low, high = (float(end) for end in column.check_between(None))
        if self.number is None or not low <= self.number <= high:
            raise ValueError(f"{self!r} needs a number in the training range of {column.name!r}, {low:g} to {high:g}")
        found.at(column)
        return found

    def zeros(self, columns: Sequence[Column]) -> list[Combination]:
        """Return that the matrix at the cell is zero."""
        return [self.at(columns[self.positions[0]])]

    def at(self, column: Column) -> dict[int, Fraction]:
        """Return the factors of design columns whose sum is the matrix at the cell, without rounding."""
        if self.cell is None:
            return {column.missing: Fraction(1)}
        if not column.is_number:
            return {column.start + column.known_levels.index(self.cell): Fraction(1)}
        x = Fraction(self.number or 0.0)
        rule = column.rule
        if isinstance(rule, LineRule):
            return {column.start: (x - Fraction(rule.center)) / Fraction(rule.scale)}
        knots = [Fraction(knot) for knot in rule.knots.tolist()] if isinstance(rule, KnotRule) else []
        if x in knots:
            return {column.start + knots.index(x): Fraction(1)}
        raise ValueError(f"{self!r} needs a knot at {self.cell!r}, but {column.name!r} has none there")

    def contradicts(self, other: Shape, names: Sequence[str]) -> str:
        """Return that there are two cells."""
        if isinstance(other, Anchored) and other.positions == self.positions and other != self:
            return f"one cell is the base of {names[self.positions[0]]!r}: keep one of the two"
        return ""

    def words(self, names: Sequence[str], what: str) -> str:
        """Return where it adds nothing."""
        name = names[self.positions[0]]
        cell = repr(self.cell) if isinstance(self.cell, str) else shown(self.cell)  # 'a' is no article, '' not nothing
        return f"the column {name} adds nothing where it is {cell}"
