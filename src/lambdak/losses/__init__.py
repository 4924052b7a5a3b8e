r"""Σ w ℓ(r, y) / Σ w: what training minimises over raw scores r, and the link that turns them into predictions.

A raw score has shape (..., rows), where the leading axes are models trained at once; a loss with ``n_outputs`` > 1
(classes, quantiles, cut-points) adds a last axis, (..., rows, n_outputs). Targets and weights are (rows,), or
(..., rows) where every model has its own batch. Results keep the dtype of ``raw`` and stay finite for raw scores far
outside any sensible range. ``value`` and ``gradient`` run at every step, so they trust their input: ``check_target``
looks at it once.

Modules: ``contract``; ``links``; ``identity_link``, ``log_link``, ``class_losses``; ``survival`` the likelihood of
times to an event, ``hazards`` cumulative hazards by link, ``time_knots``, ``event_loss`` whether there was one by a
time; ``registry``.
"""

from lambdak.losses.class_losses import SMALLEST_GAP, BinaryLog, Ordinal, SoftmaxLog
from lambdak.losses.contract import Arrangement, Loss, Predicts
from lambdak.losses.identity_link import AbsoluteError, Huber, LevelPinball, Pinball, Quantile, SquaredError
from lambdak.losses.links import IDENTITY, LOG, Link
from lambdak.losses.log_link import Gamma, Poisson, Tweedie
from lambdak.losses.registry import REGISTRY, losses_of, make_loss

__all__ = [
    "IDENTITY",
    "LOG",
    "REGISTRY",
    "SMALLEST_GAP",
    "AbsoluteError",
    "Arrangement",
    "BinaryLog",
    "Gamma",
    "Huber",
    "LevelPinball",
    "Link",
    "Loss",
    "Ordinal",
    "Pinball",
    "Poisson",
    "Predicts",
    "Quantile",
    "SoftmaxLog",
    "SquaredError",
    "Tweedie",
    "losses_of",
    "make_loss",
]
