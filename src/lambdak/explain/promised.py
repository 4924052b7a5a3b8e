"""What was promised of a column or of the whole model, in plain words, and the numbers that the promises name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lambdak.certify.shape_claims import predicted
from lambdak.certify.summary import in_plain_words
from lambdak.explain.column_effect import ColumnEffect
from lambdak.model import Model
from lambdak.model.readout import Readout
from lambdak.shapes.contract import Shape


def with_promises(effect: ColumnEffect, model: Model, readout: Readout, i: int) -> ColumnEffect:
    """Return the effect of column ``i`` with what was promised of it, but for the direction that its sign says."""
    column, shapes = model.encoder.columns[i], model.promises.about(i, model.encoder.columns)
    more = [shape for shape in shapes if not (effect.sign and _is_direction(shape.bent(column)))]
    words = tuple(worded(shape, model, readout) for shape in more)
    return replace(effect, promised=words, named=_numbers(shapes, i))


def all_promised(model: Model, readout: Readout) -> tuple[str, ...]:
    """Return what was promised of a model as it was requested, but for directions of numbers, which arrows show."""
    columns = model.encoder.columns
    shapes = [
        own for own in model.promises.shapes if not any(_is_direction(own.bent(columns[i])) for i in own.positions)
    ]
    return tuple(worded(shape, model, readout) for shape in shapes)


def worded(shape: Shape, model: Model, readout: Readout) -> str:
    """Return one placed shape in words that customers may read."""
    words = shape.words(model.encoder.feature_names, predicted(readout, model.loss.sign))
    return in_plain_words(words, model.loss.link.units)


def _numbers(shapes: Sequence[Shape], i: int) -> tuple[float, ...]:
    """Return the numbers of column ``i`` that shapes name, such as the turn of a valley."""
    return tuple(sorted({float(number) for own in shapes for number in own.nodes().get(i, ())}))


def _is_direction(ways: tuple[int, int] | None) -> bool:
    return ways is not None and bool(ways[0]) and not ways[1]
