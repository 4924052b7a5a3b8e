"""Laps of a large fit that all processes agree on, kept in memory: from the last of them another attempt continues."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from lambdak.training.checkpoint import Checkpoint, State


class Laps(Checkpoint):
    """The state after the last lap, and how many there were; begins with those of an earlier attempt."""

    def __init__(self, state: State | None = None, count: int = 0) -> None:
        self.state, self.count, self._before = state, count, state

    def begin(self, call: Callable[[], Mapping[str, str]], rng: np.random.Generator) -> None:
        """Nothing to compare: an attempt is one of the same fit."""

    def stage(self, name: str, compute: Callable[[], Any]) -> Any:
        """What ``compute`` returns."""
        return compute()

    def due(self) -> bool:
        """After every lap."""
        return True

    def save(self, name: str, state: State) -> None:
        """Keep a copy: training continues in the arrays."""
        self.state = State({key: array.copy() for key, array in state.arrays.items()}, dict(state.scalars))
        self.count += 1

    def restored(self, name: str) -> State | None:
        """The state that an earlier attempt left, if it is of this name."""
        before, self._before = (self._before, None) if name == "members" else (None, self._before)
        return before

    def keep(self) -> None:
        """Nothing to do: the state is kept as long as this object."""

    def finish(self) -> None:
        """Nothing to remove."""
