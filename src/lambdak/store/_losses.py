"""Losses ⇄ JSON: the name of the class and its fields, each checked by the loss itself."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak.losses import Loss, Predicts, losses_of
from lambdak.store._fields import damaged, fields, items, number, shown, text, whole
from lambdak.store._values import decode_array, encode

# The estimators that a file can hold, and what they predict: that decides which losses they can have.
ESTIMATORS = {
    "SpectralRegressor": Predicts.NUMBERS,
    "SpectralQuantileRegressor": Predicts.QUANTILES,
    "SpectralClassifier": Predicts.CLASSES,
    "SpectralOrdinalClassifier": Predicts.ORDERED_CLASSES,
    "SpectralSurvival": Predicts.TIMES,
}
_MOST_CLASSES = 1 << 20


def encode_loss(loss: Loss) -> dict[str, Any]:
    """Name and fields."""
    values = {field.name: getattr(loss, field.name) for field in dataclasses.fields(loss)}  # type: ignore[arg-type]
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    return {"kind": type(loss).__name__, **plain}


def decode_loss(value: Any, estimator: str) -> Loss:
    """The loss, if the estimator can have it."""
    kinds = {kind.__name__: kind for kind in losses_of(ESTIMATORS[estimator])}
    name = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(name, str) or name not in kinds:
        raise damaged(f"loss of {estimator} must be one of {sorted(kinds)}; got {shown(name)}")
    kind = kinds[name]
    names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
    parts = fields(value, "loss", ("kind", *names))
    try:
        return kind(**{name: _decode_field(parts[name], name) for name in names})
    except ValueError as error:
        raise damaged(f"loss: {error}") from None


def _decode_field(value: Any, name: str) -> Any:
    if name == "n_classes":
        return whole(value, name, 2, _MOST_CLASSES)
    if name in ("quantiles", "event_times"):
        return tuple(number(level, name) for level in items(value, name, 1, _MOST_CLASSES))
    if name == "link_name":
        return text(value, name)
    return number(value, name)


def encode_classes(classes: NDArray[Any] | None) -> Any:
    """Labels with their dtype; None for a regressor."""
    return None if classes is None else encode(classes, "classes")


def decode_classes(value: Any, loss: Loss) -> NDArray[Any] | None:
    """As many distinct labels as the loss has classes, sorted; words of ordered classes may have another order."""
    wanted = loss.n_classes
    if not wanted:
        if value is not None:
            raise damaged(f"classes must be null for a regressor; got {shown(value)}")
        return None
    classes = decode_array(value, "classes")
    try:
        worded = loss.predicts is Predicts.ORDERED_CLASSES and all(isinstance(label, str) for label in classes.tolist())
        labels = np.sort(classes) if worded else classes
        ordered = bool((labels[:-1] < labels[1:]).all())
    except TypeError:
        ordered = False
    if len(classes) != wanted or not ordered or (classes.dtype.kind == "f" and not np.isfinite(classes).all()):
        raise damaged(f"classes must be {wanted} labels that differ, in their order")
    return classes
