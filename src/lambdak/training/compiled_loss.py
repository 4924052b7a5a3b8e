"""Which losses the kernel computes by itself, inside an epoch, and under which name."""

from __future__ import annotations

from lambdak.losses import Loss
from lambdak.losses.class_losses import BinaryLog, SoftmaxLog
from lambdak.losses.identity_link import AbsoluteError, Huber, Quantile, SquaredError
from lambdak.losses.log_link import Gamma, Poisson, Tweedie
from lambdak.training.problem import Problem

Named = tuple[str, list[float]]


def compiled_loss(problem: Problem) -> Named | None:
    """The kernel's name and numbers of a problem's loss; None where it has none."""
    if len(problem.outputs.indices) > 1 or problem.outputs.quantile_levels or problem.terms > 1:
        return None
    return _named(problem.loss)


def _named(loss: Loss) -> Named | None:
    match loss:
        case SquaredError() | AbsoluteError():
            return loss.name, []
        case Huber():
            return "huber", [loss.delta * loss.spread]
        case Quantile():
            return "quantile", [loss.quantile]
        case BinaryLog():
            return "log_loss", []
        case SoftmaxLog():
            return "softmax", []
        case Poisson() | Gamma() | Tweedie():
            return "half_deviance", list(loss.exponents)
        case _:
            return None
