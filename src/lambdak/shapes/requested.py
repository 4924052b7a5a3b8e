"""What an estimator is asked to promise: ``constraints``, and the older parameters as shorthands for some of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from lambdak.shapes.bending import Concave, Convex
from lambdak.shapes.contract import ANYTHING, Key, Shape
from lambdak.shapes.influence import MaxInfluence
from lambdak.shapes.interactions import Interactions, requested_interactions
from lambdak.shapes.naming import check_positions, influence_caps, influence_groups, monotone_signs
from lambdak.shapes.rising import Falling, Rising
from lambdak.shapes.slope import MaxSlope
from lambdak.table.column_contract import Column

BENDS = {"convex": Convex, "concave": Concave}
_MOST_ALIKE = 200  # all pairs of them are compared: a file of 1 MB then takes seconds, not minutes
_EXAMPLE = "[shapes.Rising('age')]"


def requested_shapes(
    columns: Sequence[Column],
    monotonic_cst: Any = None,
    max_influence: Any = None,
    shape: Any = None,
    interaction_cst: Any = None,
    constraints: Any = None,
) -> tuple[Shape, ...]:
    """Return all that is requested of these columns, placed, each once, after a check for contradictions."""
    shorthands = _shorthands(columns, monotonic_cst, max_influence, shape, interaction_cst)
    placed = [*shorthands, *(own.placed(columns) for own in listed(constraints))]
    everything = Interactions((tuple(range(len(columns))),))
    found = tuple(dict.fromkeys(own for own in placed if own != everything))
    _check_contradictions(found, columns)
    return found


def _check_contradictions(placed: Sequence[Shape], columns: Sequence[Column]) -> None:
    """Refuse shapes that cannot hold together; only those that speak of the same are compared."""
    names, about = [column.name for column in columns], dict[Hashable, list[Shape]]()
    for count, shape in enumerate(placed):
        topics = list(shape.topics())
        near = [other for topic in (ANYTHING, *topics) for other in about.get(topic, ())]
        for other in dict.fromkeys(placed[:count] if ANYTHING in topics else near):
            if reason := other.contradicts(shape, names) or shape.contradicts(other, names):
                raise ValueError(
                    f"constraints contradict each other: {other.named(names)} and {shape.named(names)}: {reason}"
                )
        for topic in topics:
            about.setdefault(topic, []).append(shape)
            if len(about[topic]) > _MOST_ALIKE:
                raise ValueError(
                    f"constraints must have at most {_MOST_ALIKE} shapes that speak of the same column; got "
                    f"{shape.named(names)} after as many: leave out those that others imply"
                )


def listed(constraints: Any) -> list[Shape]:
    """Return the entries of ``constraints``, each of which must be a shape."""
    if constraints is None:
        return []
    if isinstance(constraints, Shape):
        raise TypeError(f"constraints must be a list of shapes, such as [{constraints!r}]; got {constraints!r} itself")
    if not isinstance(constraints, list | tuple):
        raise TypeError(f"constraints must be a list of shapes, such as {_EXAMPLE}; got {constraints!r}")
    for own in constraints:
        if not isinstance(own, Shape):
            raise TypeError(f"constraints must hold shapes, such as {_EXAMPLE}; got {own!r}")
        for key in own.keys:
            if not isinstance(key, Hashable):
                raise TypeError(f"{own!r} must name a column by its name or its position; got {key!r}")
    return list(constraints)


def needs_end(shape: Any, constraints: Any) -> bool:
    """Return whether the raw score must be the first or the last eigenvalue."""
    return (isinstance(shape, str) and shape in BENDS) or any(own.end or own.joint for own in listed(constraints))


def straight_columns(constraints: Any) -> tuple[Key, ...]:
    """Return the columns that must continue straight outside of the training range, by name or position."""
    return tuple(dict.fromkeys(key for own in listed(constraints) if own.straight for key in own.keys))


def steep_columns(constraints: Any) -> tuple[Key | None, ...]:
    """Return the columns whose slope is limited, by name or position; None stands for all."""
    return tuple(key for own in listed(constraints) if isinstance(own, MaxSlope) for key in own.keys or (None,))


def requested_nodes(constraints: Any) -> dict[Key, tuple[float, ...]]:
    """Return the numbers at which columns must have knots, by name or position of the column."""
    found: dict[Key, tuple[float, ...]] = {}
    for own in listed(constraints):
        for key, numbers in own.nodes().items():
            found[key] = tuple(sorted({*found.get(key, ()), *map(float, numbers)}))
    return found


def most_knots(constraints: Any) -> dict[Key, int]:
    """Return how many knots columns may have at most, by name or position, where shapes need few."""
    found: dict[Key, int] = {}
    for own in listed(constraints):
        for key, most in own.most_knots().items():
            found[key] = min(most, found.get(key, most))
    return found


def all_straight(shape: Any, constraints: Any) -> bool:
    """Return whether all columns of numbers must do so."""
    return shape is not None or any(own.straight and not own.keys for own in listed(constraints))


def check_labels(settings: Any, labels: Sequence[object]) -> None:
    """Refuse whole numbers in settings that are the label of one column and the position of another."""
    for name in ("monotonic_cst", "max_influence"):
        check_positions(getattr(settings, name), labels, name)
    groups = Interactions(settings.interaction_cst).keys if settings.interaction_cst is not None else ()
    check_positions(dict.fromkeys(groups), labels, "interaction_cst")
    named = dict.fromkeys(key for own in listed(settings.constraints) for key in own.keys)
    check_positions(named, labels, "constraints")


def _shorthands(
    columns: Sequence[Column], monotonic_cst: Any, max_influence: Any, shape: Any, interaction_cst: Any
) -> Iterator[Shape]:
    if not (shape is None or (isinstance(shape, str) and shape in BENDS)):
        raise ValueError(f"shape must be None, 'convex' or 'concave'; got {shape!r}")
    for i, sign in monotone_signs(monotonic_cst, columns).items():
        yield Rising(i) if sign > 0 else Falling(i)
    for i, cap in influence_caps(max_influence, columns).items():
        yield MaxInfluence(i, cap)
    for group, cap in influence_groups(max_influence, columns).items():
        yield MaxInfluence(group, cap)
    if shape is not None:
        yield BENDS[shape]()
    interactions = requested_interactions(interaction_cst, [column.name for column in columns])
    if interactions is not None:
        yield interactions
