"""What an estimator promises is proven of the matrices of a file, caps included, as ``certify()`` does."""

from __future__ import annotations

import numpy as np

from lambdak.certify import promised
from lambdak.model import Model
from lambdak.model.widening import widen_
from lambdak.pencil.definite import frobenius
from lambdak.pencil.statements import combined
from lambdak.pencil.tolerances import PROMISE_TOL
from lambdak.store._fields import damaged
from lambdak.table.curve_column import level_column

_AGAIN = "fit the model again if its settings were changed after the fit"


def check_promises(model: Model) -> None:
    """Refuse a model that does not keep what was requested of it."""
    if model.encoder.clamp == any(own.straight and not own.keys for own in model.promises.shapes):
        raise damaged(f"shape must be what the model was fitted with; got {model.promises.shape!r}")
    if model.loss.link.joint and any(own.ordered for own in model.promises.shapes):
        raise damaged("monotonic_cst needs two classes, or classes in order")
    for claim in promised(model):
        if not claim.proven:
            raise damaged(
                f"what was requested of {claim.subject!r} is not proven: {claim.statement} ({claim.how}; {_AGAIN})"
            )


def widened(model: Model) -> Model:
    """A model of the first format, whose promises held only to rounding, with matrices for which they hold exactly."""
    coef = model.coef.copy()
    matrices = coef[..., : model.matrices.shape[-1]]
    try:
        widen_(matrices, model.encoder, model.promises, model.loss, model.outputs)
    except ValueError:
        return model
    moved = np.abs(coef - model.coef).max(axis=2)  # (pencils, design columns)
    knots = model.outputs.levels
    levels = [level_column(knots, model.encoder.n_design)] if knots else []
    for column in (*model.encoder.columns, *levels):
        cells = slice(column.start, column.stop)
        steps = frobenius(combined(column.increments(), model.matrices[:, cells]))
        if moved[:, cells].max(initial=0.0) > PROMISE_TOL * steps.max(initial=0.0):
            return model
    return model.replace(coef=coef)
