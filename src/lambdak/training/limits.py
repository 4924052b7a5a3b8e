"""What a fit can represent: targets in units of eigenvalues, and a model whose every raw score is finite."""

from __future__ import annotations

import numpy as np

from lambdak._types import Float64Array, FloatArray
from lambdak.losses import Loss
from lambdak.model import Model
from lambdak.table.design import Design

SMALLEST_SPREAD = 2.0**-1000  # of targets: products with smaller numbers lose digits

_LARGEST_SQUARED = 2.0**60  # units of eigenvalues: the square of a target and sums of them are finite in float32
# Units of eigenvalues: a loss that grows linearly has the same slope for all targets beyond, which training does not
# reach, and so few still leave digits for the mean loss.
_LARGEST_LINEAR = 2.0**12
LARGEST_LOG = 800.0  # of a mean or an offset of a log link: float64 ends before


def check_spread(scale: float, loss: Loss) -> float:
    """Return the scale of raw scores, if their unit has all its digits."""
    if scale < SMALLEST_SPREAD:
        raise ValueError(
            f"y must spread by at least {SMALLEST_SPREAD:.2g} for loss={loss.name!r}; got a spread of {scale:.2g}: "
            "multiply y by a constant, such as 1e20"
        )
    return scale


def check_log_mean(start: Float64Array, loss: Loss) -> Float64Array:
    """Return the raw score at which a log link begins in a row with the middle offset, if such a row has a mean."""
    if np.abs(start).max() > LARGEST_LOG:
        raise ValueError(
            f"offset must fit y for loss={loss.name!r}: with the middle one the mean of a row would be "
            f"e^{start[0]:.3g}; an offset is a logarithm, such as np.log(exposure)"
        )
    return start


def within_reach(y: Float64Array, weight: FloatArray | None, start: float, scale: float, loss: Loss) -> Float64Array:
    """Targets of an identity link in units of eigenvalues, (y − start) / scale, such that float32 can hold their loss.

    A row without weight, or an outlier of a loss that grows linearly, counts as near enough; a model whose targets are
    all elsewhere cannot be trained further.
    """
    limit = _LARGEST_LINEAR if loss.robust else _LARGEST_SQUARED
    with np.errstate(over="ignore"):
        units = (y - start) / scale
    far = np.abs(units) > limit
    if far.any():
        counted = far if weight is None else far & (weight > 0)
        if counted.mean() > 0.5 if loss.robust else counted.any():
            row = int(np.argmax(counted))
            raise ValueError(
                f"y less its offset must be within {start:.3g} ± {limit:.2g} · {scale:.3g}, its middle and spread when "
                f"the model was begun, for loss={loss.name!r}; got {y[row]:.6g}: fit a new model, or drop such rows"
            )
    return np.clip(units, -limit, limit)


def check_fit(model: Model, design: Design, losses: FloatArray) -> None:
    """Refuse a model that was not trained, or whose raw scores could leave the range of its numbers.

    A raw score is at most |start| + scale Σ_p |weight_p| ‖C_p‖, whatever the row; a column that is not clamped counts
    by its training rows.
    """
    reason = _reason(model, design, losses)
    if reason:
        raise ValueError(
            f"the fit failed: {reason}. Nothing was kept of it; check X, y, sample_weight and offset for numbers far "
            "larger or smaller than the others"
        )


def _reason(model: Model, design: Design, losses: FloatArray) -> str:
    """What is wrong with a trained model; empty if nothing is."""
    if not np.isfinite(losses).all():
        return "the loss of a member was never finite"
    for name in ("coef", "start", "scale"):
        if not np.isfinite(getattr(model, name)).all():
            return f"{name} of the model is not finite"
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(model.matrices, axis=-1).sum(axis=-1)
        bound = float(norms.max()) * max(1.0, float(np.abs(design.weights).max()))
        largest = float(np.abs(model.start).max()) + model.scale * bound
    return "" if np.isfinite(largest) else "raw scores may leave the range of float64"
