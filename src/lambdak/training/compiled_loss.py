"""Which losses the kernel computes by itself, inside an epoch, and a notice where it cannot."""

from __future__ import annotations

from lambdak.losses import Loss, Predicts
from lambdak.table.visible import warn_user
from lambdak.training.problem import Problem


def compiled_loss(problem: Problem) -> tuple[str, list[float]] | None:
    """Return the kernel's name and numbers of a problem's loss; None where it has none."""
    if len(problem.outputs.indices) > 1 or problem.outputs.quantile_levels or problem.terms > 1:
        return None
    return problem.loss.compiled


def warn_of_slow_loss(loss: Loss) -> None:
    """Say that training is slower where only the loss keeps the kernel from whole epochs."""
    if loss.compiled is None and loss.predicts in (Predicts.NUMBERS, Predicts.CLASSES):
        warn_user(
            f"loss={loss.name!r} is not compiled: every step of training runs in Python, which is slower. "
            "lambdak.losses.contract.Loss lists what a compiled loss needs"
        )
