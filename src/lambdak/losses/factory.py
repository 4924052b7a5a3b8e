"""From the name of a regression loss to the loss."""

from __future__ import annotations

from collections.abc import Callable

from lambdak.losses._contract import Loss
from lambdak.losses.identity import AbsoluteError, Huber, Quantile, SquaredError
from lambdak.losses.loglink import Gamma, Poisson, Tweedie


def make_loss(name: str, *, quantile: float = 0.5, power: float = 1.5, delta: float = 1.35) -> Loss:
    """Return the regression loss of this name; ``quantile``, ``power`` and ``delta`` reach the one they belong to.

    >>> make_loss("tweedie", power=1.9)
    Tweedie(power=1.9)
    """
    makers: dict[str, Callable[[], Loss]] = {
        "squared_error": SquaredError,
        "absolute_error": AbsoluteError,
        "huber": lambda: Huber(delta),
        "quantile": lambda: Quantile(quantile),
        "poisson": Poisson,
        "gamma": Gamma,
        "tweedie": lambda: Poisson() if power == 1 else Gamma() if power == 2 else Tweedie(power),
    }
    if name not in makers:
        raise ValueError(f"loss must be one of {', '.join(map(repr, makers))}; got {name!r}")
    return makers[name]()
