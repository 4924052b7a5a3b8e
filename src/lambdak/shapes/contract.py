r"""The contract of a shape: what a person knows about one or several columns, as statements about matrices.

A new shape is one frozen dataclass that fills in this contract, and one line in :mod:`lambdak.shapes.registry`. What
it asks is data: combinations of the matrices at its columns' cells that must be positive semidefinite, combinations
that must be zero, or columns whose matrices must go one way along a common pattern. From them
everything else follows: training finds generators for them (``shapes/spreads.py``), rounding is repaired
(``model/widening.py``), ``certify`` and ``load`` prove them in float64 and in integers (``certify/shape_claims.py``),
``verify`` attacks what the shape says of rows (:meth:`Shape.trial`), files hold its fields, and reports show its words.
Only ``certify/lambdak_check.py``, which shares nothing with the library on purpose, needs lines of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from lambdak._types import Float64Array
from lambdak.pencil.statements import Combination
from lambdak.shapes.naming import position_of, unknown_columns
from lambdak.table.column_contract import Column

Key = str | int  # a column by name or by position
ANYTHING = "anything"  # the topic of shapes that may contradict one of any column
Draw = Callable[
    [int], Float64Array
]  # numbers of the column at a position: random ones, at knots, beside them, far away

# Of the column at a position, by design column: what it adds to the prediction of a row by about, and its rows' weight.
Effect = Callable[[int], tuple[Float64Array, Float64Array]]
Points = Sequence[Mapping[int, Float64Array]]  # of each row of a comparison, position of a column → its numbers


@dataclass(frozen=True, repr=False)
class Shape(ABC):
    """What is known of one or several columns, promised for every row. Frozen, comparable, printable, JSON-able.

    Its fields are what a user says; :meth:`placed` makes names of columns positions.
    """

    kind: ClassVar[str]  # of its claims: a word or two
    method: ClassVar[str]  # how a claim of this kind is decided, for the certificate
    numeric: ClassVar[bool] = True  # whether its columns must be numbers
    straight: ClassVar[bool] = False  # whether its columns must continue straight outside of the training range
    end: ClassVar[int] = 0  # 1 if the raw score must be the last eigenvalue, -1 if it must be the first
    joint: ClassVar[int] = (
        0  # 1 if a rise of one of its columns adds to what rises of the others do, -1 if it takes from it
    )
    ordered: ClassVar[bool] = True  # whether it speaks of the order of predictions, which some losses turn round

    # ---- what a user says --------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def keys(self) -> tuple[Key, ...]:
        """The columns it names, in order: names or positions."""

    @abstractmethod
    def renamed(self, keys: Sequence[Key]) -> Self:
        """Return the shape about other columns, in the order of ``keys``."""

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions of its columns; it must be placed."""
        return tuple(int(key) for key in self.keys)

    def placed(self, columns: Sequence[Column]) -> Self:
        """Return the shape with positions for names, after a check that it fits these columns."""
        names = [column.name for column in columns]
        places = {name: i for i, name in enumerate(names)}
        found = [position_of(key, places) for key in self.keys]
        positions = [i for i in found if i is not None]
        if len(positions) < len(found):
            unknown = [key for key, i in zip(self.keys, found, strict=True) if i is None]
            raise ValueError(unknown_columns(repr(self), unknown, names))
        if len({*positions}) < len(positions):
            raise ValueError(f"{self!r} must name every column once, by name or by position")
        for i in positions:
            if self.numeric and not columns[i].is_number:
                raise ValueError(f"{self!r} needs a column of numbers, but {names[i]!r} is a category")
        return self.renamed(positions)

    def topics(self) -> Iterable[Hashable]:
        """Return what it speaks of: its columns, or :data:`ANYTHING` if it may contradict shapes of any column.

        Only shapes with a topic in common are compared: pairs of thousands would be millions.
        """
        return self.positions or (ANYTHING,)

    def nodes(self) -> Mapping[Key, Sequence[float]]:
        """Return the numbers at which its columns must have knots, by key; those outside of the training range do not.

        It is asked before a table is read, so the shape need not be placed.
        """
        return {}

    def about(self, columns: Sequence[Column]) -> tuple[int, ...]:
        """Return the positions of the columns whose own effects it speaks of; it must be placed."""
        return self.positions

    def contradicts(self, other: Shape, names: Sequence[str]) -> str:
        """Return why it and another placed shape cannot both hold, and the way out; empty if they can."""
        return ""

    def most_knots(self) -> Mapping[Key, int]:
        """Return how many knots its columns may have at most, by key, where that matters."""
        return {}

    @property
    def unsettled(self) -> bool:
        """Whether it leaves something to training, which :meth:`settled` then decides."""
        return False

    def settled(self, columns: Sequence[Column], effect: Effect) -> Self:
        """Return the placed shape with all that training chooses, by what its columns do to the training rows."""
        return self

    def requested(self) -> Self:
        """Return the shape as the user gave it, from a settled one."""
        return self

    def named(self, names: Sequence[str]) -> Self:
        """Return the shape with names for positions."""
        return self.renamed([names[i] for i in self.positions])

    def saved(self) -> dict[str, Any]:
        """Return its fields as plain data."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @classmethod
    def restored(cls, values: Mapping[str, Any]) -> Self:
        """Return the shape with these fields."""
        return cls(**values)

    def __repr__(self) -> str:
        values = [(item, getattr(self, item.name)) for item in fields(self)]
        first = [repr(value) for _, value in values[:1]]
        rest = [f"{item.name}={value!r}" for item, value in values[1:] if value != item.default]
        return f"{type(self).__name__}({', '.join([*first, *rest])})"

    # ---- what it asks of the matrices --------------------------------------------------------------------------

    def statements(self, columns: Sequence[Column]) -> list[Combination]:
        """Return factors of design columns, whose sum of matrices must be positive semidefinite in every pencil.

        They are for a loss whose raw scores rise with predictions. The shape is placed.
        """
        return []

    def patterned(self, columns: Sequence[Column]) -> dict[int, list[Combination]]:
        """Return the steps of columns whose matrices must be c I + g P, by position; P is diagonal, of zeros and ones.

        Every pencil has one P for all of them, and every g goes one way along its steps: see ``shapes/ends.py``.
        """
        return {}

    def zeros(self, columns: Sequence[Column]) -> list[Combination]:
        """Return factors of design columns, whose sum of matrices must be exactly zero in every pencil."""
        return []

    def sufficient(self, columns: Sequence[Column]) -> list[Combination]:
        """Return statements that imply :meth:`statements`, for training; numbers below zero are further matrices.

        These are free. With them few statements can stand for many, as for all combinations of segments of columns.
        """
        return self.statements(columns)

    def joined(self, columns: Sequence[Column]) -> list[tuple[int, ...]]:
        """Return the positions of columns whose matrices its statements compare, set by set; none if it has none."""
        return []

    def bent(self, column: Column) -> tuple[int, int] | None:
        """Return whether all steps of its column go up (1), down (-1) or anywhere (0), and where it bends.

        None if it says something else of the column than these two.
        """
        return None

    # ---- how it is attacked, and worded ------------------------------------------------------------------------

    @abstractmethod
    def words(self, names: Sequence[str], what: str) -> str:
        """Return the promise in plain words, for columns of these names; ``what`` is predicted."""

    @property
    def factors(self) -> tuple[float, ...]:
        """What it says of rows: Σ factor · raw score over the points of a comparison is never below minus the slack."""
        return ()

    def points(self, columns: Sequence[Column], draw: Draw) -> Points:
        """Return comparisons, as many as ``draw`` gives numbers: one point for each factor, all other cells equal."""
        return ()

    def slack(self, points: Points) -> Float64Array | float:
        """Return by how much the sum of each comparison may be below zero."""
        return 0.0


@dataclass(frozen=True, repr=False)
class OneColumn(Shape):
    """A shape of one column."""

    column: Key

    @property
    def keys(self) -> tuple[Key, ...]:
        """The column that the shape is about."""
        return (self.column,)

    def renamed(self, keys: Sequence[Key]) -> Self:
        """Return the shape about another column."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return type(self)(**values | {"column": keys[0]})
