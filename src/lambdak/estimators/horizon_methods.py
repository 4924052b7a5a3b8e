"""Methods of a model of times that read it at one horizon: whether an event happens by then."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, ClassVar

from lambdak.estimators.methods import ModelMethods

# What these read is one number for each row, which a model of times has at a horizon.
_METHODS = (
    "explain_global", "explain_local", "performance", "compare", "drift", "inverse", "counterfactual", "margin",
    "reasons", "fairness", "predictor", "relativities", "scorecard", "export", "report", "dossier", "model_card",
)  # fmt: skip


def _at_horizon(name: str) -> Callable[..., Any]:
    """Return the method of this name, with the horizon as one more argument."""
    method = getattr(ModelMethods, name)

    @wraps(method)
    def called(self: Any, *args: Any, horizon: float | None = None, **options: Any) -> Any:
        if horizon is None:
            raise ValueError(
                f"{name} of a {type(self).__name__} needs a time: give horizon=, or call it on model.at(horizon), "
                "which is a classifier of whether an event happens by then"
            )
        return getattr(self.at(horizon), name)(*args, **options)

    own = signature(method)
    horizon_last = [*own.parameters.values(), Parameter("horizon", Parameter.KEYWORD_ONLY, default=None)]
    called.__signature__ = own.replace(parameters=horizon_last)  # type: ignore[attr-defined]
    called.__doc__ = f"{method.__doc__.split(':')[0].rstrip('.')}, of an event by the time ``horizon``."
    return called


class HorizonMethods:
    """Readers of models that take a ``horizon``."""

    at: ClassVar[Callable[..., Any]]


for _name in _METHODS:
    setattr(HorizonMethods, _name, _at_horizon(_name))
