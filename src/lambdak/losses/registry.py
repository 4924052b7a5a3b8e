"""Every loss that a model can be fitted with, by name."""

from __future__ import annotations

from numbers import Real

from lambdak.losses.class_losses import BinaryLog, Ordinal, SoftmaxLog
from lambdak.losses.contract import Loss, Predicts
from lambdak.losses.event_loss import EventLog
from lambdak.losses.identity_link import AbsoluteError, Huber, Pinball, Quantile, SquaredError
from lambdak.losses.log_link import Gamma, Poisson, Tweedie
from lambdak.losses.survival import Survival

REGISTRY: tuple[type[Loss], ...] = (
    SquaredError,
    AbsoluteError,
    Huber,
    Quantile,
    Poisson,
    Gamma,
    Tweedie,
    Pinball,
    BinaryLog,
    SoftmaxLog,
    EventLog,
    Ordinal,
    Survival,
)


def losses_of(predicts: Predicts) -> list[type[Loss]]:
    """The losses of models that predict this."""
    return [loss for loss in REGISTRY if loss.predicts is predicts]


def make_loss(name: str, *, quantile: float = 0.5, power: float = 1.5, delta: float = 1.35) -> Loss:
    """Return the regression loss of this name; ``quantile``, ``power`` and ``delta`` go to the loss that has them.

    >>> make_loss("tweedie", power=1.9)
    Tweedie(power=1.9)
    """
    known = {loss.name: loss for loss in losses_of(Predicts.NUMBERS)}
    if not isinstance(name, str) or name not in known:
        raise ValueError(f"loss must be one of {', '.join(map(repr, known))}; got {name!r}")
    settings = {"quantile": quantile, "power": power, "delta": delta}
    for key, value in settings.items():
        if not isinstance(value, Real):
            raise ValueError(f"{key} must be a number; got {value!r}")
    return known[name].from_settings(**settings)
