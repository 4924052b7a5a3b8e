"""What every model of the real studies offers, ours and the competitors."""

from __future__ import annotations

from typing import Any, Protocol

from lambdak._types import FloatArray


class Learner(Protocol):
    """A model of the log-odds of a label, trained batch by batch."""

    @property
    def n_parameters(self) -> int:
        """How many numbers are learned."""

    def step(self, batch: Any) -> None:
        """One step on the mean log-loss of a batch."""

    def scores(self, batch: Any) -> FloatArray:
        """Log-odds of every row."""
