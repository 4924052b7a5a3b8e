"""How long members train on a large table: fewer epochs the longer it is, and laps between measurements."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lambdak.training.settings import FitSettings
from lambdak.training.trainer import Schedule

_BATCHES = (2048, 8192)  # rows of a step: the larger they are, the rarer are sums over processes …
_ENOUGH_STEPS = 2_000  # … but below so many steps smaller batches gain more
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


def large_schedule(settings: FitSettings, rows: int) -> LargeSchedule:
    """The schedule for this many rows; ``max_iter`` is the number of epochs over all rows."""
    full = settings.schedule(rows)
    epochs = full.epochs
    if settings.max_iter is None:
        epochs = int(np.clip(round(_ENOUGH_ROWS / rows), 1, epochs))
    seen = epochs * rows
    batch = max(full.batch, min(1 << max(seen // _ENOUGH_STEPS, 1).bit_length() - 1, _BATCHES[1]))
    steps = max(seen // batch, 1)
    laps = min(int(np.clip(round(seen / _LAP), *_LAPS)), steps)
    rate = full.rate * max(batch / _BATCHES[0], 1.0) ** 0.25
    return LargeSchedule(epochs, laps, -(-steps // laps), replace(full, epochs=laps, batch=batch, rate=rate))
