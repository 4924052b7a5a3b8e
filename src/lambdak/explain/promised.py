"""What was promised of a column or of the whole model, in plain words, and the numbers that the promises name."""

from __future__ import annotations

from dataclasses import replace

from lambdak.certify.shape_claims import predicted
from lambdak.certify.summary import in_plain_words
from lambdak.explain.column_effect import ColumnEffect
from lambdak.model import Model
from lambdak.model.readout import Readout
from lambdak.shapes.contract import Shape
from lambdak.table.column_contract import Column


def with_promises(effect: ColumnEffect, model: Model, readout: Readout, i: int) -> ColumnEffect:
    """Return the effect of column ``i`` with what was promised of it, but for the direction that its sign says."""
    column, shapes = model.encoder.columns[i], model.promises.about(i, model.encoder.columns)
    more = [shape for shape in shapes if not (effect.sign and _is_direction(shape, column))]
    words = tuple(worded(shape, model, readout) for shape in more)
    return replace(effect, promised=words, named=named_numbers(model, i))


def promised_of(model: Model, readout: Readout, i: int) -> list[str]:
    """Return all that was promised of column ``i``, one sentence for each shape."""
    return [worded(shape, model, readout) for shape in model.promises.about(i, model.encoder.columns)]


def all_promised(model: Model, readout: Readout) -> tuple[str, ...]:
    """Return what was promised of a model as it was requested, but for directions of numbers, which arrows show."""
    columns = model.encoder.columns
    shapes = [own for own in model.promises.shapes if not any(_is_direction(own, columns[i]) for i in own.positions)]
    return tuple(worded(shape, model, readout) for shape in shapes)


def worded(shape: Shape, model: Model, readout: Readout) -> str:
    """Return one placed shape in words that customers may read."""
    words = shape.words(model.encoder.feature_names, predicted(readout, model.loss.sign))
    return in_plain_words(words, model.loss.link.units)


def named_numbers(model: Model, i: int) -> tuple[float, ...]:
    """Return the numbers of column ``i`` that promises name, such as the turn of a valley."""
    shapes = model.promises.about(i, model.encoder.columns)
    return tuple(sorted({float(number) for own in shapes for number in own.nodes().get(i, ())}))


def _is_direction(shape: Shape, column: Column) -> bool:
    """Return whether a shape says of a column which way it goes, and nothing else."""
    ways = shape.bent(column)
    return ways is not None and bool(ways[0]) and not ways[1] and not shape.nodes()
