r"""A model of times at one horizon: whether an event happens by then, as a model of two classes.

Between two knots the raw score is (1 − τ) f_j + τ f_{j+1}, a convex combination of the models at these knots, whose
members differ by their constants. So it is a model like any other, exactly: one number for each row, with the members
of both knots, and all that reads models of two classes reads it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.losses import BinaryLog, Loss
from lambdak.losses.event_loss import EventLog
from lambdak.losses.survival import Survival
from lambdak.model.event_curves import check_times
from lambdak.model.model import MAX_MEMBERS, Model
from lambdak.model.outputs import SingleOutput

_CLASSES: NDArray[np.bool_] = np.array([False, True])


def at_horizon(model: Model, horizon: Any, estimator: str) -> Model:
    """Return the model of an event by this time; ``estimator`` is what a file calls it."""
    survival = model.loss
    if not isinstance(survival, Survival):
        raise TypeError(f"a horizon needs a model of times to an event; got one of {survival.predicts.value}")
    given = check_times(horizon, "horizon")
    if np.ndim(horizon) or not given[0] > 0:
        raise ValueError(f"horizon must be one positive time; got {horizon!r}")
    piece, share, shift = (part[0] for part in survival.place(given))
    knots = [(int(piece + end), weight) for end, weight in ((0, 1 - share), (1, share)) if weight > 0]
    if len(knots) * len(model.weights) > MAX_MEMBERS:  # the nearer knot alone would be another model
        raise ValueError(
            f"horizon must be a knot of time for a model of {len(model.weights)} members, of which two knots have more "
            f"than {MAX_MEMBERS}; got {given[0]:g}: take one of event_times_, or fit with n_estimators <= "
            f"{MAX_MEMBERS // 2}"
        )
    coef = np.concatenate([_at_knot(model, knot) for knot, _ in knots])
    weights = np.concatenate([weight * model.weights for _, weight in knots])
    loss: Loss = EventLog() if survival.link_name == "cloglog" else BinaryLog()
    return model.replace(
        estimator=estimator, coef=coef, weights=weights / weights.sum(), loss=loss, classes=_CLASSES,
        outputs=SingleOutput(model.outputs.indices), start=model.start[:1] + shift,
    )  # fmt: skip


def _at_knot(model: Model, knot: int) -> Float64Array:
    """Matrices of all members whose constant has that of a knot of time."""
    n_design = model.encoder.n_design
    coef = np.array(model.coef[:, :n_design])
    coef[:, 0] += model.coef[:, n_design + knot]
    return coef
