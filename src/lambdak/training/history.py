"""The epochs of a training as arrays, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lambdak.training.checkpoint import State
from lambdak.training.trainer import Event

_ARRAYS, _SCALARS = ("train", "validation", "train_score", "validation_score"), ("seconds", "waited")


def history_state(events: Sequence[Event]) -> State:
    """What happened in each epoch so far, of at least one."""
    arrays = {name: np.stack([getattr(event, name) for event in events]) for name in _ARRAYS}
    scalars = {name: [getattr(event, name) for event in events] for name in _SCALARS}
    return State(arrays, {**scalars, "epochs": events[0].epochs})


def events_of(state: State) -> list[Event]:
    """What happened in every epoch so far, from a state that holds it."""
    epochs, scalars = state.number("epochs"), [state.number(name) for name in _SCALARS]
    try:
        each = list(zip(*(state.arrays[name] for name in _ARRAYS), *scalars, strict=True))
    except (KeyError, TypeError, ValueError):
        each = []
    if not each:
        raise ValueError("the epochs of the checkpoint are missing or incomplete: delete it to start over")
    names = (*_ARRAYS, *_SCALARS)
    return [Event(epoch + 1, epochs, **dict(zip(names, own, strict=True))) for epoch, own in enumerate(each)]
