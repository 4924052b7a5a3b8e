"""Learning curves of a fit as data: a metric on training and validation rows, epoch by epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import freeze_arrays
from lambdak.losses import LOG, Loss
from lambdak.table.shown import Shown

# Losses that are a metric people know: times which factor, and its name. Losses of numbers are those of a target whose
# spread is one.
_METRICS = {
    "squared_error": (2.0, "share of the variance that is not explained"),
    "log_loss": (1.0, "log loss"),
    "ordinal": (1.0, "log loss"),
}


@final
@dataclass(frozen=True, eq=False, repr=False)
class LearningCurves(Shown):
    """The metric of every member after every epoch, on training and validation rows; less is better.

    Attributes
    ----------
    training, validation : arrays of shape (epochs, members)
        The metric on the rows that a member trains on, and on those that it does not.
    metric : str
        Its name.
    """

    training: NDArray[np.float64]
    validation: NDArray[np.float64]
    metric: str

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def of(cls, loss: Loss, training: Any, validation: Any) -> LearningCurves:
        """From the losses of a fit."""
        deviance = (2.0, f"mean {loss.name} deviance") if loss.link is LOG else None
        other = (1.0, f"{loss.name.replace('_', ' ')} loss, in spreads of the target")
        factor, words = deviance or _METRICS.get(loss.name, other)
        return cls(factor * np.asarray(training, np.float64), factor * np.asarray(validation, np.float64), words)

    @property
    def epochs(self) -> NDArray[np.intp]:
        """Numbers of all epochs, from 1."""
        return np.arange(1, len(self.training) + 1)

    @property
    def chosen(self) -> NDArray[np.intp]:
        """The epoch of each member whose state was kept: the one with the lowest metric on its validation rows."""
        return np.asarray(1 + self.validation.argmin(axis=0))

    @property
    def best(self) -> int:
        """The epoch after which the mean of the members was lowest on validation rows."""
        return 1 + int(self.validation.mean(axis=1).argmin())

    def __str__(self) -> str:
        low = self.validation.mean(axis=1)[self.best - 1]
        return (
            f"{len(self.epochs):,} epochs; the {self.metric} was lowest on validation rows after epoch {self.best}: "
            f"{low:.3g}, mean of {self.validation.shape[1]} members"
        )

    def plot(self, ax: Any = None) -> Any:
        """The metric by epoch, with the epochs that were kept; returns the Axes."""
        from lambdak.explain.plots import draw_history

        return draw_history(self, ax)
