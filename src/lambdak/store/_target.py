"""What is known of the target ⇄ a field of the header."""

from __future__ import annotations

from typing import Any

from lambdak.losses import Loss
from lambdak.model.known_target import MOST_DECIMALS, KnownTarget
from lambdak.store._fields import damaged, fields, items, number, text, whole

_LEAST = {"log": 0.0, "logit": 0.0, "cloglog": 0.0, "softmax": 0.0}  # of a prediction, by the name of the link
_MOST = {"logit": 1.0, "cloglog": 1.0, "softmax": 1.0}


def encode_target(target: KnownTarget) -> dict[str, Any]:
    """The field of the header."""
    average = None if target.average is None else list(target.average)
    return {"name": target.name, "decimals": target.decimals, "average": average}


def decode_target(value: object, loss: Loss) -> KnownTarget:
    """What a field of the header says of the target, checked: only what the model can predict is an average of it."""
    parts = fields(value, "target", ("name", "decimals", "average"))
    name, decimals, average = parts["name"], parts["decimals"], parts["average"]
    if decimals is not None:
        whole(decimals, "decimals of the target", 0, MOST_DECIMALS + 1)
        if loss.n_classes:
            raise damaged("decimals of the target must be null where classes are predicted")
    return KnownTarget(
        None if name is None else text(name, "name of the target"),
        decimals,
        None if average is None else _average(average, loss),
    )


def _average(value: object, loss: Loss) -> tuple[float, ...]:
    what, link, outputs = "average of the target", loss.link.name, loss.n_outputs
    averages = tuple(number(average, what) for average in items(value, what, outputs, outputs))
    for average in averages:
        if not _LEAST.get(link, average) <= average <= _MOST.get(link, average):
            raise damaged(f"{what} must be what the model can predict; got {average}")
    return averages
