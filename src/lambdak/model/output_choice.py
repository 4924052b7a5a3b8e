"""Which output of a model is meant: by its label, a class or a quantile level, or by its position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lambdak.model.model import Model
from lambdak.model.readout import Readout, readouts


def output_labels(model: Model) -> list[Any]:
    """What the outputs of a model are called by; of ordered classes all but the last, as P(y ≤ it) is 1, knots of time.

    Of a model that predicts one number there are none.
    """
    if model.outputs.quantile_levels:
        return list(model.outputs.quantile_levels)
    if model.loss.times:
        return list(model.loss.times)
    labels = [] if model.classes is None else model.classes.tolist()
    return labels[:-1] if 1 < len(model.output_names) < len(labels) else labels


def position_of(labels: Sequence[Any], output: Any, what: str = "one") -> int:
    """The position of the label that is meant by a label or a position.

    Where labels are whole numbers themselves, a number is a label: 1 is class 1, whatever its position.

    >>> position_of(["a", "b"], "b"), position_of(["a", "b"], 0), position_of([1, 2, 3], 1)
    (1, 0, 0)
    """
    known = list(labels)
    found = next((i for i, label in enumerate(known) if _is(label, output)), None)
    if found is not None:
        return found
    by_position = not any(isinstance(label, int | float) and float(label).is_integer() for label in known)
    if by_position and isinstance(output, int | np.integer) and 0 <= output < len(known):
        return int(output)
    way_out = f", or its position in [0, {len(known)})" if by_position else ""
    raise ValueError(f"output must be {what} of {known}{way_out}; got {output!r}")


def _is(label: Any, output: Any) -> bool:
    """Whether a label is meant: text is no number, and what cannot be compared is no label."""
    same = label == output
    return isinstance(same, bool | np.bool_) and bool(same)


def output_of(model: Model, output: Any) -> tuple[int, bool]:
    """The position of the raw score that is meant, and whether its negative is: that of the other one of two classes.

    None is the middle one of several quantiles, and the second one of two classes.
    """
    labels, names = output_labels(model), model.output_names
    if not labels:
        if output is not None and not (isinstance(output, int | np.integer) and output == 0):
            raise ValueError(f"output must be None: this model predicts one number; got {output!r}")
        return 0, False
    if model.outputs.quantile_levels:
        return position_of(labels, labels[len(labels) // 2] if output is None else output, "a quantile level"), False
    if model.loss.times:
        return position_of(labels, labels[len(labels) // 2] if output is None else output, "a knot of time"), False
    if len(names) == 1:
        chosen = position_of(labels, labels[1] if output is None else output, "a class")
        return 0, (chosen == 0) == (model.loss.sign > 0)
    ordered = len(names) < len(model.classes.tolist() if model.classes is not None else ())
    return position_of(labels, output, "a class up to which the probability counts," if ordered else "a class"), False


def chosen_output(model: Model, output: Any = None) -> tuple[Readout, int]:
    """The output that is meant, and its position; None is the first one of several classes, else the middle one."""
    outputs = readouts(model)
    if output is None:
        middle = 0 if model.loss.link.joint else len(outputs) // 2
        return outputs[middle], middle
    position, negative = output_of(model, output)
    if not negative:
        return outputs[position], position
    label = output_labels(model)[int(model.loss.sign < 0)]
    return outputs[position].negated(f"class {label!r}"), position
