"""MaxInfluence: "no change of this column moves the raw score by more than that"."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, final

from lambdak.shapes.contract import Key, Shape
from lambdak.shapes.naming import is_cap
from lambdak.table.category_levels import shown


@final
@dataclass(frozen=True, repr=False)
class MaxInfluence(Shape):
    """Say "no change of this column (of these together) moves the raw score by more than ``cap``".

    >>> MaxInfluence(("sex", "title"), 0.1)
    MaxInfluence(('sex', 'title'), cap=0.1)
    """

    columns: Key | tuple[Key, ...]
    cap: float

    numeric: ClassVar[bool] = False
    ordered: ClassVar[bool] = False
    kind: ClassVar[str] = "influence"
    method: ClassVar[str] = (
        "value is the largest weighted sum of ‖A(b) − A(a)‖₂ over any two cells of the column, or a bound on "
        "it if they are many, plus twice the rounding"
    )

    def __post_init__(self) -> None:
        if isinstance(self.columns, list):
            object.__setattr__(self, "columns", tuple(self.columns))
        if not is_cap(self.cap):
            raise ValueError(f"cap of MaxInfluence must be a number that is not negative; got {self.cap!r}")

    @property
    def keys(self) -> tuple[Key, ...]:
        """The column with the cap, or the columns of a group that share it."""
        return self.columns if isinstance(self.columns, tuple) else (self.columns,)

    def renamed(self, keys: Sequence[Key]) -> Self:
        """Return the cap on other columns; those of a group are in order."""
        return type(self)(
            tuple(sorted(keys, key=str if isinstance(keys[0], str) else None)) if len(keys) > 1 else keys[0], self.cap
        )

    def topics(self) -> Iterable[Hashable]:
        """Return its column or group, as a whole: groups may overlap."""
        return [(MaxInfluence, self.positions)]

    def contradicts(self, other: Shape, names: Sequence[str]) -> str:
        """Return that there are two caps."""
        if isinstance(other, MaxInfluence) and other.positions == self.positions and other.cap != self.cap:
            return f"there are two caps, {self.cap} and {other.cap}: keep the smaller one"
        return ""

    def words(self, names: Sequence[str], what: str) -> str:
        """Return the cap."""
        who = ", ".join(names[i] for i in self.positions) + (" together" if len(self.positions) > 1 else "")
        return f"no change of {who} moves a raw score by more than {shown(self.cap)}"
