"""How long a large table is trained on: fewer epochs the longer it is, larger batches, and laps between measurements."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lambdak.training.effort import Recipe
from lambdak.training.trainer import Schedule

BATCH = 8192  # rows of a step: sums over processes are rarer, and the order of the last digits of a gradient is noise
_ENOUGH_ROWS = 20_000_000  # that a member sees, if not all rows once are more
_LAP = 4_000_000  # rows between two measurements on validation rows
_LAPS = (12, 400)


@dataclass(frozen=True)
class LargeSchedule:
    """Steps of a large fit; what the trainer calls an epoch is a lap here."""

    epochs: int  # over all rows
    laps: int
    lap_steps: int
    plain: Schedule

    @property
    def steps(self) -> int:
        """All steps."""
        return self.laps * self.lap_steps

    def reached(self, rows: int, step: int) -> int:
        """How many rows of a shard with so many ``rows`` come before a step."""
        return step * self.epochs * rows // self.steps


def large_schedule(recipe: Recipe, rows: int, max_iter: int | None) -> LargeSchedule:
    """The schedule for this many rows; ``max_iter`` is the number of epochs over all rows."""
    full = recipe.schedule(rows, max_iter)
    epochs = full.epochs if max_iter is not None else int(np.clip(round(_ENOUGH_ROWS / rows), 1, full.epochs))
    batch = int(min(max(full.batch, BATCH), max(rows // 40, full.batch)))
    steps = max(epochs * rows // batch, 1)
    laps = int(np.clip(round(epochs * rows / _LAP), *_LAPS))
    laps = min(laps, steps)
    rate = full.rate * max(batch / full.batch, 1.0) ** 0.5
    return LargeSchedule(epochs, laps, -(-steps // laps), replace(full, epochs=laps, batch=batch, rate=rate))
