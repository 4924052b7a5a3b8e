"""What is promised in numbers holds for what is computed: rounding counts against caps, and is never all there is."""

from __future__ import annotations

import numpy as np

from lambdak.model import Model
from lambdak.model.influence import of_outputs, rounding_matters, score_range, together
from lambdak.model.readout import readouts
from lambdak.model.widening import widen_
from lambdak.shapes import Interactions

_ROOM = 1 - 1e-9  # for the rounding of a scaled column
_MOST_ROUNDS = 20
_NOTHING = 1e-2  # of the target's spread: effects that are not worth an error


def settled(model: Model) -> Model:
    """The model with promises that hold exactly, and for what is computed; a constant, if all it says is rounding."""
    model, caps = _scaled(model, {}), _caps(model)
    for _ in range(_MOST_ROUNDS):
        beyond = {own: factor for own, cap in caps.items() if (factor := _factor(model, own, cap)) < 1}
        if not beyond:
            return _weighed(model)
        for own, factor in beyond.items():
            model = _scaled(model, dict.fromkeys(own, factor))
    names = [model.encoder.columns[i].name for i in dict.fromkeys(i for own in caps for i in own)]
    raise ValueError(f"max_influence of {names} cannot be kept, because rounding is as large: raise it, or omit them")


def _weighed(model: Model) -> Model:
    """The model, unless rounding matters next to what it says: then a constant, or an error if it says something."""
    outputs = readouts(model)
    if not rounding_matters(outputs):
        return model
    reach = max(map(score_range, outputs))
    if reach <= _NOTHING * model.scale:
        return _scaled(model, dict.fromkeys(range(len(model.encoder.columns)), 0.0))
    promises = model.promises
    if any(own.kind != Interactions.kind for own in promises.shapes) or model.outputs.in_order:
        raise ValueError(
            f"what was requested cannot be kept, because rounding matters: raw scores are about {model.start[0]:.3g} "
            f"and move by {reach:.3g} only: subtract a constant from y before the fit, and add it to predictions"
        )
    return model


def _caps(model: Model) -> dict[tuple[int, ...], float]:
    """The caps on what columns do, alone or together."""
    return {(i,): cap for i, cap in model.promises.capped.items()} | dict(model.promises.groups)


def _factor(model: Model, columns: tuple[int, ...], cap: float) -> float:
    """What these columns are to be multiplied by."""
    factors = []
    for output in readouts(model):
        bound = together(output, columns)
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
