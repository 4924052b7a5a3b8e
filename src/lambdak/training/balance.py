"""Predictions that add up to the targets of the training rows: the start is moved, and nothing else."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from lambdak._types import Float64Array
from lambdak.losses import IDENTITY, LOG, Loss, Predicts
from lambdak.model import Model
from lambdak.table.rows import optional_rows
from lambdak.training.rows import GivenRows

_ROUNDS = 100  # at most: Newton's steps double their digits, so that a hundred only end a search that cannot succeed
_EXACT = 1e-15  # relative to the totals: a few roundings of float64
# That log-odds move in one round: beyond it probabilities of rare classes are flat and Newton's step has no bound.
_FARTHEST = 4.0


def check_balance(loss: Loss) -> None:
    """Refuse a loss whose predictions are not meant to add up to the targets."""
    if loss.robust or loss.predicts not in (Predicts.NUMBERS, Predicts.CLASSES):
        what = "classes in order" if loss.predicts is Predicts.ORDERED_CLASSES else "a median or other quantiles"
        what = "means that outliers cannot pull" if loss.name == "huber" else what
        raise ValueError(
            f"balance must be False for loss={loss.name!r}, which predicts {what}: these need not add up to the "
            "targets. Take a loss of means, such as 'squared_error' or 'poisson', or a classifier without order"
        )


def balanced(model: Model, rows: GivenRows, threads: int = 0) -> Model:
    """The model with a start by which weighted predictions add up to weighted targets, for classes one by one."""
    design = model.encoder.transform(rows.X, np.float64, threads)
    offset = optional_rows(rows.offset, len(design), "offset")
    raw = np.asarray(model.scores(design, offset, threads), np.float64)
    weight = np.ones(len(raw)) if rows.weight is None else np.asarray(rows.weight, np.float64)
    y = np.asarray(rows.y)
    if not model.loss.output_link.is_free:
        shift = _within_a_range(model.loss, raw, y, weight)
    elif model.loss.predicts is Predicts.CLASSES:
        shift = _of_classes(model, raw, y, weight)
    elif model.loss.link is IDENTITY:
        shift = np.array([np.average(y - raw, weights=weight)])
    else:
        shift = _of_logarithms(model.loss, raw, y, weight)
    return model.replace(start=model.start + shift)


def _within_a_range(loss: Loss, raw: Float64Array, y: Float64Array, weight: Float64Array) -> Float64Array:
    """Shift (1,) of raw scores by which predictions that are limited add up to targets, which they may not reach."""
    wanted, reach = float(weight @ y), 1.0 + 2.0 * float(np.abs(raw).max())

    def short(shift: float) -> float:
        seen = loss.predict(raw + shift)
        return float(weight @ (seen[:, 1] if seen.ndim > 1 else seen)) - wanted

    for _ in range(_ROUNDS):
        if short(-reach) <= 0.0 <= short(reach):
            return np.array([brentq(short, -reach, reach, xtol=_EXACT, rtol=_EXACT)])
        reach *= 2.0
    raise ValueError(
        f"balance must be False, because targets of {wanted / weight.sum():.6g} on average are not reached by "
        f"predictions in [{loss.output_link.low:g}, {loss.output_link.high:g}], the OutputRange that was requested"
    )


def _of_logarithms(loss: Loss, raw: Float64Array, y: Float64Array, weight: Float64Array) -> Float64Array:
    """Shift (1,) of raw scores of a log link by which weighted predictions add up to weighted targets.

    A round is exact but for rounding, and for means beyond which the exponential is cut off.
    """
    if loss.link is not LOG:
        raise TypeError(f"no rule by which predictions of loss={loss.name!r} add up to the targets")
    wanted, shift = float(weight @ y), 0.0
    if wanted <= 0:
        raise ValueError("balance must be False where all targets are zero: no prediction of a log link is")
    for _ in range(_ROUNDS):
        step = np.log(wanted / float(weight @ loss.predict(raw + shift)))
        shift += step
        if abs(step) <= _EXACT:
            break
    return np.array([shift])


def _of_classes(model: Model, raw: Float64Array, codes: Float64Array, weight: Float64Array) -> Float64Array:
    """Newton's method: totals of probabilities are the slopes of a convex function of the start."""
    outputs, loss = model.loss.n_outputs, model.loss
    is_class = np.eye(loss.n_classes or 2)[codes.astype(np.intp)]
    wanted = weight @ is_class
    if not wanted.all():
        labels = np.arange(len(wanted)) if model.classes is None else model.classes
        raise ValueError(
            f"balance must be False without a row of class {labels[int(wanted.argmin())]!r}: "
            "its probability is not zero"
        )
    shift = np.zeros(outputs)
    for _ in range(_ROUNDS):
        p = loss.predict(raw + (shift if outputs > 1 else shift[0]))[:, -outputs:]
        off = wanted[-outputs:] - weight @ p
        bend = np.diag(weight @ p) - (p * weight[:, None]).T @ p
        step = np.linalg.lstsq(bend, off, rcond=1e-12)[0]
        shift = shift + np.clip(step, -_FARTHEST, _FARTHEST)
        if np.abs(off).max() <= _EXACT * wanted.sum():
            break
    return shift
