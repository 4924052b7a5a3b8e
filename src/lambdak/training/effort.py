"""What `effort` means: how many models, how large, how long, and on which ladder of regularisation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lambdak.table.knots import FEWEST_TRAINED_KNOTS, auto_knots
from lambdak.training.trainer import Schedule

# Pairs of (damping of the whitening, weight decay), from weak to strong regularisation; the two of a rung act about
# alike. The best rung differs between data sets by orders of magnitude: scouts, small models trained for a short time,
# try all of them, and the members are trained on the rung where the scouts did best.
LADDER = (
    ((0.1, 1.0), (1.0, 0.3)),
    ((0.1, 3.0), (1.0, 1.0)),
    ((0.1, 6.0), (10.0, 0.6)),
    ((1.0, 4.0), (10.0, 1.2)),
    ((10.0, 3.0), (100.0, 1.0)),
    ((10.0, 10.0), (100.0, 3.0)),
)
MIDDLE = 3  # the rung to stand on when no row can tell

_EPOCHS_OF_ANY_TABLE = 9
_RATE = 0.06
_MOST_EPOCHS = 80
_MOST_SCOUT_EPOCHS = 30
_MOST_SCOUTS = 36  # models that are trained at once, where several folds or classes multiply them
_ENOUGH_HELD = 1_000  # held-out rows that rank scouts well enough
_LONG = 200_000  # rows of which a scout need not see any twice


@dataclass(frozen=True)
class Recipe:
    """The settings behind one effort level."""

    dim: int
    members: int
    row_steps: int  # rows that a model sees in training, all epochs together, beside a few epochs of any table
    scout_dim: int
    scout_steps: int  # rows that a scout sees
    knots: int
    ease: float = 1.0  # of the decays of the ladder

    def shaped(self) -> Recipe:
        """For convex and concave models, whose one extreme eigenvalue needs large matrices, few knots and patience."""
        return replace(self, dim=3 * self.dim + 4, scout_dim=15, row_steps=3 * self.row_steps, knots=8, ease=0.3)

    @property
    def ladder(self) -> list[list[tuple[float, float]]]:
        """Rungs of two places, (damping, decay), from weak to strong regularisation."""
        return [[(damping, self.ease * decay) for damping, decay in rung] for rung in LADDER]

    def places(self, rung: int) -> list[tuple[float, float]]:
        """(damping, decay) of each member."""
        return [self.ladder[rung][member % 2] for member in range(self.members)]

    def n_knots(self, rows: int, columns: int) -> int:
        """Knots per numeric column, fewer for wide and for short tables."""
        return auto_knots(rows, columns, FEWEST_TRAINED_KNOTS, self.knots)

    def schedule(self, rows: int, max_iter: int | None) -> Schedule:
        """Epochs and batch for this many rows."""
        epochs = int(np.clip(self.row_steps / rows + _EPOCHS_OF_ANY_TABLE, 1, _MOST_EPOCHS))
        batch = _batch(rows)
        return Schedule(epochs if max_iter is None else max_iter, batch, _RATE * max(batch / 1024, 1) ** 0.5)

    def scout_schedule(self, rows: int, max_iter: int | None) -> Schedule:
        """The same for scouts."""
        epochs = int(np.clip(self.scout_steps / rows, 2 if rows < _LONG else 1, _MOST_SCOUT_EPOCHS))
        return Schedule(epochs if max_iter is None else min(epochs, max_iter), min(_batch(rows), 512))


def scout_turns(rows: int, folds: int, neurons: int) -> int:
    """Folds over which scouts are compared: several, if a single one holds few rows and the models are few."""
    wanted = _ENOUGH_HELD * folds / rows
    return int(np.clip(min(wanted, _MOST_SCOUTS / (2 * len(LADDER) * neurons)), 1, folds))


def _batch(rows: int) -> int:
    """Small tables get small batches, so that they get enough steps; long ones large batches, which cost less."""
    return int(np.clip(max(min(rows // 8, 1024), rows // 40), 32, 2048))


RECIPES = {
    "fast": Recipe(dim=9, members=1, row_steps=50_000, scout_dim=5, scout_steps=40_000, knots=28),
    "balanced": Recipe(dim=9, members=6, row_steps=150_000, scout_dim=5, scout_steps=100_000, knots=32),
    "best": Recipe(dim=13, members=24, row_steps=400_000, scout_dim=5, scout_steps=200_000, knots=36),
}
