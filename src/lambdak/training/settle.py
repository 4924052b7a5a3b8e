"""What is promised in numbers holds for what is computed: rounding counts against caps, and is never all there is."""

from __future__ import annotations

import numpy as np

from lambdak.model import Model
from lambdak.model.influence import any_change, of_outputs, rounding_matters, score_range
from lambdak.model.readout import readouts
from lambdak.model.widening import widen_

_ROOM = 1 - 1e-9  # for the rounding of a scaled column
_MOST_ROUNDS = 20
_NOTHING = 1e-2  # of the target's spread: effects that are not worth an error


def settled(model: Model) -> Model:
    """The model with promises that hold exactly, and for what is computed; a constant, if all it says is rounding."""
    model = _scaled(model, {})
    for _ in range(_MOST_ROUNDS):
        beyond = {i: factor for i, cap in model.promises.capped.items() if (factor := _factor(model, i, cap)) < 1}
        if not beyond:
            return _weighed(model)
        model = _scaled(model, beyond)
    names = [model.encoder.columns[i].name for i in model.promises.capped]
    raise ValueError(f"max_influence of {names} cannot be kept, because rounding is as large: raise it, or omit them")


def _weighed(model: Model) -> Model:
    """The model, unless rounding matters next to what it says: then a constant, or an error if it says something."""
    outputs = readouts(model)
    if not rounding_matters(outputs):
        return model
    reach = max(map(score_range, outputs))
    if reach <= _NOTHING * model.scale:
        return _scaled(model, dict.fromkeys(range(len(model.encoder.columns)), 0.0))
    requested = any(model.promises.signs) or model.promises.capped or model.promises.shape or model.outputs.in_order
    if requested:
        raise ValueError(
            f"what was requested cannot be kept, because rounding matters: raw scores are about {model.start[0]:.3g} "
            f"and move by {reach:.3g} only: subtract a constant from y before the fit, and add it to predictions"
        )
    return model


def _factor(model: Model, i: int, cap: float) -> float:
    """What column i is to be multiplied by."""
    factors = []
    for output in readouts(model):
        bound = any_change(output, i).bound
        room = cap - 2 * output.error
        kept = of_outputs(output, bound) <= cap
        factors.append(1.0 if kept else max(_ROOM * room / bound, 0.0))
    return min(factors)


def _scaled(model: Model, factors: dict[int, float]) -> Model:
    coef = np.array(model.coef)
    for i, factor in factors.items():
        column = model.encoder.columns[i]
        coef[:, column.start : column.stop] *= factor
    widen_(coef[..., : model.matrices.shape[-1]], model.encoder, model.promises, model.loss, model.outputs)
    return model if (coef == model.coef).all() else model.replace(coef=coef)
