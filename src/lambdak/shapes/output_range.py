"""OutputRange: "no row, seen or unseen, gets a prediction outside of this range"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite
from numbers import Real
from typing import ClassVar, Self, final

from lambdak.shapes.bending import Concave, Convex
from lambdak.shapes.contract import Key, Shape


@final
@dataclass(frozen=True, repr=False)
class OutputRange(Shape):
    """Say "no row, seen or unseen, gets a prediction below ``low`` or above ``high``"; one of the two may be left out.

    Predictions outside become the end of the range; raw scores, and all that is known of them, stay as they are. It is
    about what ``predict`` returns: with an exposure or offset the prediction that includes it, counts and not rates; of
    two classes the probability of the second.

    >>> OutputRange(0, 100)
    OutputRange(low=0.0, high=100.0)
    >>> OutputRange(high=0.9)
    OutputRange(high=0.9)
    """

    low: float | None = None
    high: float | None = None

    numeric: ClassVar[bool] = False
    ordered: ClassVar[bool] = False
    kind: ClassVar[str] = "range"
    method: ClassVar[str] = (
        "the last step of the model: a prediction outside of the range becomes its end, so that nothing is asked of "
        "the matrices, and no rounding leaves the range"
    )

    def __post_init__(self) -> None:
        for name, value in (("low", self.low), ("high", self.high)):
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value):
                raise ValueError(f"{name} of OutputRange must be a number, or None for no end; got {value!r}")
            object.__setattr__(self, name, float(value))
        if self.low is None and self.high is None:
            raise ValueError("OutputRange must have a low or a high; got neither")
        if not self.lowest < self.highest:
            raise ValueError(f"low of OutputRange must be below high; got {self.low} and {self.high}")

    def __repr__(self) -> str:
        ends = [f"{name}={value!r}" for name, value in (("low", self.low), ("high", self.high)) if value is not None]
        return f"OutputRange({', '.join(ends)})"

    @property
    def lowest(self) -> float:
        """The low end, or minus infinity."""
        return -inf if self.low is None else self.low

    @property
    def highest(self) -> float:
        """The high end, or infinity."""
        return inf if self.high is None else self.high

    @property
    def keys(self) -> tuple[Key, ...]:
        """Return no column: it is about predictions."""
        return ()

    def renamed(self, keys: Sequence[Key]) -> Self:
        """Return the range itself."""
        return self

    def contradicts(self, other: Shape, names: Sequence[str]) -> str:
        """Return that there are two ranges, or that what is bounded cannot be convex or concave everywhere."""
        if isinstance(other, OutputRange) and other != self:
            return "there are two ranges: keep one with the higher low and the lower high"
        if isinstance(other, Convex) and self.high is not None:
            return f"what is convex everywhere has no highest value: leave out high={self.high}, or the convexity"
        if isinstance(other, Concave) and self.low is not None:
            return f"what is concave everywhere has no lowest value: leave out low={self.low}, or the concavity"
        return ""

    def words(self, names: Sequence[str], what: str) -> str:
        """Return between what predictions stay; ``what`` is predicted."""
        ends = [f"{side} {end:g}" for side, end in (("below", self.low), ("above", self.high)) if end is not None]
        return f"{what} is never {' or '.join(ends)}"
