"""What `effort` means: how many models, how large, how long, and on which ladder of regularisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lambdak.train import Schedule

# Damping of the whitening and weight decay. The best pair differs between data sets by orders of magnitude: scouts,
# small models trained for a short time, try the whole grid, and the members are trained where the best of them stood.
GRID = (*((damping, decay) for damping in (0.1, 1.0, 10.0, 100.0) for decay in (1.0, 3.0, 9.0)), (1000.0, 1.0))

_SCOUT_DIM = 7


@dataclass(frozen=True)
class Recipe:
    """The settings behind one effort level."""

    dim: int
    members: int
    row_steps: int  # rows that a model sees in training, all epochs together
    scout_steps: int  # the same for a scout
    knots: int

    @property
    def scout_dim(self) -> int:
        """The matrix size of a scout."""
        return min(self.dim, _SCOUT_DIM)

    def places(self, ranking: list[int]) -> list[tuple[float, float]]:
        """(damping, decay) of each member: the best places of the grid are taken in turns, the best ones more often."""
        turns = [0, 1, 0, 2, 1, 0, 3, 2, 1, 0, 4, 1]
        return [GRID[ranking[turns[i % len(turns)]]] for i in range(self.members)]

    def schedule(self, rows: int, row_steps: int, max_iter: int | None, patience: int | None, tol: float) -> Schedule:
        """Epochs and batch for this many rows; small tables get small batches, so that they get enough steps."""
        batch = int(np.clip(rows // 16, 16, 512))
        epochs = int(np.clip(row_steps // rows, 4, 100)) if max_iter is None else max_iter
        return Schedule(epochs, batch, patience=patience, tol=tol)


RECIPES = {
    "fast": Recipe(dim=9, members=1, row_steps=120_000, scout_steps=20_000, knots=20),
    "balanced": Recipe(dim=15, members=5, row_steps=280_000, scout_steps=50_000, knots=28),
    "best": Recipe(dim=21, members=12, row_steps=800_000, scout_steps=100_000, knots=40),
}
