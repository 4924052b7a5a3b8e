"""Where a fit can continue after its process was killed: results of stages, and the state of a training in progress.

A fit is a deterministic function of its rows, its settings and its source of randomness. So what is kept of a stage is
its small result and the state of that source after it; what is kept of a training in progress is everything that its
later epochs depend on. All else is computed again. A call of fit is known by its settings as text and digests of its
rows.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from lambdak.table.read import Table, read_table
from lambdak.table.sparse import read_sparse
from lambdak.training.rows import GivenRows

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
        saved = self.arrays.get(name)
        if saved is None or saved.shape != array.shape or saved.dtype != array.dtype:
            wanted = f"{array.dtype} of shape {array.shape}"
            got = "none" if saved is None else f"{saved.dtype} of shape {saved.shape}"
            raise ValueError(f"{name!r} of the checkpoint must be {wanted}; got {got}: delete it to start over")
        array[...] = saved

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
        """Whether to save now: False, as nothing is saved."""
        return False

    def save(self, name: str, state: State) -> None:
        """Nothing is saved."""

    def restored(self, name: str) -> None:
        """Nothing was saved."""

    def keep(self) -> None:
        """Nothing to keep."""

    def finish(self) -> None:
        """Nothing to remove."""


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


# Settings that change no bit of a model.
_WITHOUT_EFFECT = ("n_jobs", "verbose", "warm_start")
_RANDOM = "random_state"
_LONGEST = 200  # letters of a setting that is kept as it is: a message may quote it; a longer one is a digest


def settings_text(parameters: Mapping[str, Any]) -> dict[str, str]:
    """The settings of an estimator, each as text.

    Of ``random_state`` only whether there is one: what comes of it is compared by itself.
    """
    chosen = {name: value for name, value in parameters.items() if name not in _WITHOUT_EFFECT}
    seeded = chosen.get(_RANDOM) not in (None, np.random)
    return {name: _text(value) for name, value in chosen.items()} | {_RANDOM: "set" if seeded else "None"}


def rows_digests(rows: GivenRows) -> dict[str, str]:
    """One digest of each part of the rows that a user gave."""
    tables = {"X": rows.X, "X_val": None if rows.validation is None else rows.validation.X}
    columns = {"y": rows.y, "sample_weight": rows.weight, "offset": rows.offset, "y_val": None}
    if (validation := rows.validation) is not None:
        columns |= {"y_val": validation.y, "sample_weight_val": validation.weight, "offset_val": validation.offset}
    return {name: "None" if X is None else _table_digest(X) for name, X in tables.items()} | {
        name: "None" if values is None else digest(np.asarray(values)) for name, values in columns.items()
    }


def digest(*parts: Any) -> str:
    """SHA-256 of arrays with their types and shapes, and of anything else by how it is written."""
    result = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray) and part.dtype != object:
            result.update(f"{part.dtype.str}{part.shape}".encode())
            result.update(np.ascontiguousarray(part).data)
        else:
            result.update(repr(part.tolist() if isinstance(part, np.ndarray) else part).encode())
    return result.hexdigest()


def _text(value: Any) -> str:
    """A setting as it is written, or a digest of it where that is long or leaves something out."""
    if hasattr(value, "__array__"):
        return digest(np.asarray(value))
    text = repr(value)
    return text if len(text) <= _LONGEST else digest(text)


def _table_digest(X: Any) -> str:
    if issparse(X):
        csr = read_sparse(X)
        return digest(csr.shape, csr.data, csr.indices, csr.indptr)
    table = read_table(X)
    return digest(table.names, *(_column_digest(table, i) for i in range(table.shape[1])))


def _column_digest(table: Table, position: int) -> str:
    cells = table.cells(position)
    if cells.factors is None and cells.values.dtype.kind in "fiub":
        return digest(cells.values)
    return digest(cells.kind, *cells.levels())
