"""A language of shapes: what people know about a column, promised for every row.

``constraints=[Rising("income"), Concave("age")]`` of every estimator takes these objects; ``monotonic_cst``, ``shape``,
``max_influence`` and ``interaction_cst`` are shorthands for some of them.

Modules: ``contract`` what a shape is, ``registry`` all of them, ``requested`` from the settings of an estimator to
shapes, ``naming`` columns by name or position, ``spelling`` shapes as text; ``spreads`` in which coordinates training
keeps them, ``generators`` of cones; one file for each kind: ``rising``, ``bending``, ``turning``, ``directions``,
``influence``, ``slope``, ``output_range``, ``interactions``, ``anchored``, ``joint``, with ``ends`` (which end of the
spectrum is read, and which way columns move it) and ``patterns`` (how training keeps that).
"""

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

__all__ = [
    "Anchored", "Complements", "Concave", "Convex", "Dominates", "Falling", "Interactions", "MaxInfluence", "MaxSlope",
    "OutputRange", "Peak", "Rising", "RisingAlong", "Shape", "Substitutes", "Valley",
]  # fmt: skip
