"""What is promised in numbers holds for what is computed: rounding counts against caps, and is never all there is."""

from __future__ import annotations

import numpy as np

from lambdak.model import Model
from lambdak.model.influence import any_change, of_outputs, rounding_matters
from lambdak.model.readout import readouts
from lambdak.model.widening import widen_

_ROOM = 1 - 1e-9  # for the rounding of a scaled column
_MOST_ROUNDS = 20


def settled(model: Model) -> Model:
    """The model with promises that hold exactly, and for what is computed; a constant, if all it says is rounding."""
    model = _scaled(model, {})
    for _ in range(_MOST_ROUNDS):
        beyond = {i: factor for i, cap in model.promises.capped.items() if (factor := _factor(model, i, cap)) < 1}
        if not beyond:
            break
        model = _scaled(model, beyond)
    if rounding_matters(readouts(model)):
        model = _scaled(model, dict.fromkeys(range(len(model.encoder.columns)), 0.0))
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
