"""Where a fit can continue after its process was killed: results of stages, and the state of a training in progress.

A fit is a deterministic function of its rows, its settings and its source of randomness. So what is kept of a stage is
its small result and the state of that source after it; what is kept of a training in progress is everything that its
later epochs depend on. All else is computed again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

_NOTHING_KEPT = (
    "the fit was interrupted outside of the epochs of its members, so no model is kept: pilot and trial models are "
    "smaller and of some rows only; the estimator is as it was before"
)


@contextmanager
def nothing_kept() -> Iterator[None]:
    """Let an interrupt that ends a fit say that no model is kept, and why."""
    try:
        yield
    except KeyboardInterrupt as error:
        if _NOTHING_KEPT not in getattr(error, "__notes__", ()):
            error.add_note(_NOTHING_KEPT)
        raise


@dataclass(frozen=True)
class State:
    """Named arrays, and beside them what JSON can hold."""

    arrays: Mapping[str, NDArray[Any]]
    scalars: Mapping[str, Any]

    def __or__(self, other: State) -> State:
        """State with the arrays and scalars of two, whose names differ."""
        return State({**self.arrays, **other.arrays}, {**self.scalars, **other.scalars})

    def copy_to_(self, name: str, array: NDArray[Any]) -> None:
        """Fill an array with the one of this name."""
        own = self.arrays.get(name)
        if own is None or own.shape != array.shape or own.dtype != array.dtype:
            wanted = f"{array.dtype} of shape {array.shape}"
            got = "none" if own is None else f"{own.dtype} of shape {own.shape}"
            raise ValueError(f"{name!r} of the checkpoint must be {wanted}; got {got}: delete it to start over")
        array[...] = own

    def number(self, name: str) -> Any:
        """The number, or list of numbers, of this name."""
        if name not in self.scalars:
            raise ValueError(f"{name!r} of the checkpoint is missing: delete it to start over")
        return self.scalars[name]


class Checkpoint(ABC):
    """Where a fit saves its stages and its state, so that it can continue."""

    @abstractmethod
    def begin(self, call: Callable[[], Mapping[str, str]], rng: np.random.Generator) -> None:
        """Begin the fit of this ``call``, name → value or digest, or take up where it was left, with its randomness."""

    @abstractmethod
    def stage(self, name: str, compute: Callable[[], Any]) -> Any:
        """What ``compute`` returns, which JSON can hold, and the randomness after it: computed once, then remembered.

        A training in progress is over then.
        """

    @abstractmethod
    def due(self) -> bool:
        """Whether it is time to save the state of the training in progress."""

    @abstractmethod
    def save(self, name: str, state: State) -> None:
        """Replace the state of the training in progress, which is that of this name."""

    @abstractmethod
    def restored(self, name: str) -> State | None:
        """The state of the training of this name, if it was in progress, with the randomness at that time."""

    @abstractmethod
    def keep(self) -> None:
        """Keep what was saved when the fit ends, because it was interrupted."""

    @abstractmethod
    def finish(self) -> None:
        """The fit has ended: nothing is left to continue."""


@final
class NoCheckpoint(Checkpoint):
    """Checkpoint of a fit that is not to continue: nothing is saved."""

    def begin(self, call: Callable[[], Mapping[str, str]], rng: np.random.Generator) -> None:
        """Nothing to take up."""

    def stage(self, name: str, compute: Callable[[], Any]) -> Any:
        """What ``compute`` returns."""
        return compute()

    def due(self) -> bool:
        """Never."""
        return False

    def save(self, name: str, state: State) -> None:
        """Nothing is saved."""

    def restored(self, name: str) -> None:
        """Nothing was saved."""

    def keep(self) -> None:
        """Nothing to keep."""

    def finish(self) -> None:
        """Nothing to remove."""
