"""What holds of a neuron or layer as it is constrained now: PyTorch lets anyone remove parametrisations."""

from __future__ import annotations

from typing import Any

from torch.nn.utils import parametrize

from lambdak.shapes import Concave, Convex, Falling, MaxSlope, Rising, Shape
from lambdak.torch.constraints import Cap, SignedRows
from lambdak.torch.implied import Direction
from lambdak.torch.linear_shapes import LinearShapes
from lambdak.torch.shaped import ShapedRows
from lambdak.torch.slopes import SlopeCaps
from torch import nn


def part_of(module: nn.Module, kind: type[nn.Module]) -> Any:
    """Return the parametrisation of this kind that the weight of a module has now, or None."""
    parts = module.get_submodule("parametrizations.weight") if parametrize.is_parametrized(module, "weight") else ()
    return next((part for part in parts if isinstance(part, kind)), None)  # type: ignore[union-attr]


def bound_now(module: Any) -> LinearShapes:
    """Return how matrices are bound to a sign, to one another, or to the identity."""
    rows = part_of(module, SignedRows)
    if rows is not None:
        return LinearShapes(0, statements=[{i: float(sign)} for i, sign in enumerate(rows.signs) if sign])
    shaped = part_of(module, ShapedRows)
    return LinearShapes(0) if shaped is None else shaped.asked


def limits_now(module: Any) -> list[tuple[Direction, float]]:
    """Return directions and what the norms of their slopes are limited to."""
    cap, slopes = part_of(module, Cap), part_of(module, SlopeCaps)
    alone = [] if cap is None else [({i: 1.0}, limit) for i, limit in enumerate(cap.caps)]
    return alone + ([] if slopes is None else slopes.limits)


def shapes_now(module: Any) -> tuple[Shape, ...]:
    """Return the shapes that hold whatever the parameters are, by position of the inputs."""
    bound = bound_now(module)
    if bound.shapes:
        found = [own for own in bound.shapes if not own.end and not isinstance(own, MaxSlope)]
    else:
        found = [(Rising if sign > 0 else Falling)(i) for i, sign in enumerate(module.monotonic_cst) if sign]
    if module.eig_idx in (0, module.dim - 1):
        bent, other = (Concave, Convex) if module.eig_idx == 0 else (Convex, Concave)
        found += [bent(), *([other(*bound.straight)] if bound.straight else [])]
    for direction, limit in limits_now(module):
        pairs = tuple(direction.items())
        found.append(MaxSlope(pairs[0][0] if len(pairs) == 1 else pairs, limit))
    return tuple(found)
