"""All shapes by the name of their class, as files spell them: a new one is one line here."""

from __future__ import annotations

from lambdak.shapes.anchored import Anchored
from lambdak.shapes.bending import Concave, Convex
from lambdak.shapes.contract import Shape
from lambdak.shapes.directions import Dominates, RisingAlong
from lambdak.shapes.influence import MaxInfluence
from lambdak.shapes.interactions import Interactions
from lambdak.shapes.joint import Complements, Substitutes
from lambdak.shapes.output_range import OutputRange
from lambdak.shapes.rising import Falling, Rising
from lambdak.shapes.slope import MaxSlope
from lambdak.shapes.turning import Peak, Valley

_ALL: tuple[type[Shape], ...] = (
    Rising, Falling, Valley, Peak, RisingAlong, Dominates, Convex, Concave, MaxSlope, MaxInfluence, OutputRange,
    Anchored, Complements, Substitutes, Interactions,
)  # fmt: skip
SHAPES = {shape.__name__: shape for shape in _ALL}
