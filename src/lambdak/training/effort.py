"""What `effort` means: how many models, how large, how long, and on which regularisation grid.

The study behind these defaults is ``benchmarks/recipe.py``: what changing one of them does to cross-validated metrics
of nineteen tables, never on test rows. ``docs/decisions.md`` says what else was tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lambdak.model.model import MAX_MEMBERS
from lambdak.table.knots import FEWEST_TRAINED_KNOTS, auto_knots

# Matrices of a member from which on they are few in knots and pilots, because they take long (benchmarks/fit_time.py).
MANY_CLASSES = 4
_WARM_UP = 0.05  # of the steps; benchmarks/recipe.py compares it with 0 and 0.2


@dataclass(frozen=True)
class Schedule:
    """How long and how fast: epochs, rows per step, Adam's rate, and the epochs to wait for an improvement."""

    epochs: int
    batch: int = 1024
    rate: float = 0.06
    patience: int | None = None
    tol: float = 0.0

    def rate_at(self, step: int, steps: int) -> float:
        """The rate of a step, counted from one: a warm-up, then half a cosine down to zero."""
        warm = min(1.0, step / (_WARM_UP * steps + 1))
        return self.rate * float(warm * 0.5 * (1 + np.cos(np.pi * (step - 0.5) / steps)))


class Regularisation(NamedTuple):
    """How strongly one model is regularised."""

    damping: float  # of the whitening
    decay: float  # of the weights


# The regularisation grid, from weak to strong; the two of one strength have about the same effect. The best strength
# differs between data sets by orders of magnitude: pilot models, small and trained for a short time, try all of them,
# and the members are trained with the one where the pilot models did best.
GRID = (
    ((0.1, 1.0), (1.0, 0.3)),
    ((0.1, 3.0), (1.0, 1.0)),
    ((0.1, 6.0), (10.0, 0.6)),
    ((1.0, 4.0), (10.0, 1.2)),
    ((10.0, 3.0), (100.0, 1.0)),
    ((10.0, 10.0), (100.0, 3.0)),
)
MIDDLE = 3  # the strength to use when there are too few rows to compare: in the middle of the grid

_EPOCHS_OF_ANY_TABLE = 9  # that long tables get too; benchmarks/recipe.py compares it with 4 and 18
_RATE = 0.06  # of Adam, for batches of up to 1,024 rows; benchmarks/recipe.py compares it with .03, .045 and .09
_MOST_EPOCHS = 80  # of short tables; benchmarks/recipe.py compares it with 40 and 160
# Validation rows that rank pilot models well enough: their mean loss is then known to some percent.
_ENOUGH_UNSEEN = 1_000
# Of a longer table, which decide about the members; no study of its own: it bounds the time of pilots
# (benchmarks/fit_time.py, --parts).
PILOT_ROWS = 40_000
# Of the epochs of a member, after it has been measured: a refit gained on nearly every table of benchmarks/tables.py.
_REFIT = 0.3
_REFIT_RATE = 0.3  # of its rate: low, so that members stay near the states that were measured; no study of its own
# Of a column, where there is one matrix per class of many: half the curves are then close to straight, and log-loss on
# folds was lower on letter, pens and vowels, and higher on segment (benchmarks/recipe.py, docs/decisions.md).
_FEW_KNOTS = 8
_FINER = 2  # times the knots, for models of larger capacity; no study of its own
MOST_TERMS = MAX_MEMBERS // 2  # of a member, so that there can be two
# Of columns, those with the strongest interactions: more cost more than they gain (benchmarks/interactions.py).
MOST_PAIRS = 16
# Of a member whose columns work together: with two, products and minima of two columns were fitted as well as by free
# models, with one (matrices of any size) or three they were not (benchmarks/joint.py).
JOINT_TERMS = 2
_PAIR_DIM = 5  # of functions of two columns, which small matrices express as well as large ones; no study of its own
# Of the epochs of a member, for the models that decide about the capacity; no study of its own: it bounds their time
# (benchmarks/fit_time.py, --parts).
_TRIAL = 0.3


class Capacity(NamedTuple):
    """How much one model can express."""

    dim: int
    knots: int  # the most of a numeric column
    finer: int = _FINER  # factor on the knots that the rows and columns of a table allow


@dataclass(frozen=True)
class Recipe:
    """The settings behind one value of ``effort``."""

    dim: int
    members: int
    row_steps: int  # rows that a model sees in all epochs together, and a few epochs of any table more
    pilot_dim: int
    pilot_steps: int  # rows that a pilot model sees, in at most so many epochs
    pilot_epochs: int
    pilots: int  # models that are trained at once, where several folds or classes multiply them
    knots: int
    ease: tuple[float, float] = (1.0, 1.0)  # factors on the decays of the grid, at its weak and its strong end
    pace: float = 1.0  # factor on Adam's rate
    larger: Capacity | None = None  # which is used where trial models do better with it
    finer: int = 1  # factor on the knots that the rows and columns of a table allow

    def shaped(self) -> Recipe:
        """For convex and concave models, whose one extreme eigenvalue needs large matrices, few knots and freedom.

        Without noise almost no decay is best, and large steps replace patience (``benchmarks/convex.py``).
        """
        larger = replace(self, dim=2 * self.dim + 1, pilot_dim=9, row_steps=3 * self.row_steps // 2, larger=None)
        return replace(larger, knots=8, ease=(0.03, 0.3), pace=4)

    def bent(self) -> Recipe:
        """For some convex or concave columns beside others that are free: few knots and small steps.

        What helps where all columns bend one way, large matrices and freedom, overfits here (``benchmarks/shapes.py``).
        """
        return replace(self, larger=None, knots=8, pace=0.5)

    def joint(self) -> Recipe:
        """For columns that work together: as if shaped, but with small matrices, since there are more of them."""
        return replace(self.shaped(), dim=self.dim)

    def additive(self) -> Recipe:
        """For sums of functions of single columns: matrices are numbers, and more knots are all there is to choose."""
        larger = None if self.larger is None else self.larger._replace(dim=1)
        return replace(self, dim=1, pilot_dim=1, larger=larger)

    def of_pairs(self) -> Recipe:
        """For functions of two columns, which small matrices express as well as large ones."""
        return replace(self, dim=min(self.dim, _PAIR_DIM), pilot_dim=min(self.pilot_dim, _PAIR_DIM), larger=None)

    def with_terms(self, terms: int) -> Recipe:
        """For members that are sums of terms, each of which becomes a member of the frozen model."""
        return replace(self, members=min(self.members, MAX_MEMBERS // terms))

    def enlarged(self) -> Recipe | None:
        """Recipe with more capacity; None if there is no choice."""
        if self.larger is None:
            return None
        return replace(self, **self.larger._asdict(), larger=None)

    def of_many_classes(self) -> Recipe:
        """For one matrix per class of many: few knots, unless trial models do better with the usual number."""
        few = replace(self, knots=_FEW_KNOTS, larger=Capacity(self.dim, self.knots, self.finer))
        return few if self.knots > _FEW_KNOTS else self

    @property
    def grid(self) -> list[list[Regularisation]]:
        """Pairs of settings of one strength each, from weak to strong."""
        factors = np.geomspace(*self.ease, len(GRID)).tolist()
        return [
            [Regularisation(damping, factor * decay) for damping, decay in pair]
            for factor, pair in zip(factors, GRID, strict=True)
        ]

    def regularisations(self, strengths: Sequence[int]) -> list[Regularisation]:
        """The regularisation of each member: four with the best strength, given first, and two with the next one."""
        turns = [strengths[0], strengths[:2][-1], strengths[0]]
        members = [regularisation for strength in turns for regularisation in self.grid[strength]]
        return [members[i % len(members)] for i in range(self.members)]

    def n_knots(self, rows: int, columns: int) -> int:
        """Knots per numeric column, fewer for wide and for short tables."""
        return auto_knots(self.finer * rows, columns / self.finer, FEWEST_TRAINED_KNOTS, self.knots)

    def schedule(self, rows: int, max_iter: int | None) -> Schedule:
        """Epochs and batch for this many rows."""
        epochs = int(np.clip(self.row_steps / rows + _EPOCHS_OF_ANY_TABLE, 1, _MOST_EPOCHS))
        batch = _batch(rows)
        rate = self.pace * _RATE * max(batch / 1024, 1) ** 0.5
        return Schedule(epochs if max_iter is None else max_iter, batch, rate)

    def refit_schedule(self, rows: int) -> Schedule:
        """Epochs, batch and rate for the last epochs of members, on all rows."""
        full = self.schedule(rows, None)
        return replace(full, epochs=max(round(_REFIT * full.epochs), 2), rate=_REFIT_RATE * full.rate)

    def pilot_schedule(self, rows: int, max_iter: int | None, classes: int = 0) -> Schedule:
        """Epochs and batch for pilot models on this many rows, fewer where there is one matrix per class of many."""
        epochs = int(np.clip(self.pilot_steps / rows / max(classes / MANY_CLASSES, 1), 2, self.pilot_epochs))
        return Schedule(epochs if max_iter is None else min(epochs, max_iter), min(_batch(rows), 512))

    def pilot_folds(self, rows: int, folds: int, pencils: int) -> int:
        """Folds over which pilot models are compared: several, if a single one has few rows and the models are few."""
        wanted = _ENOUGH_UNSEEN * folds / rows
        return int(np.clip(min(wanted, self.pilots / (2 * len(GRID) * pencils)), 1, folds))

    def trial_schedule(self, rows: int, max_iter: int | None) -> Schedule:
        """Epochs, batch and rate for models of full size that decide about the capacity."""
        full = self.schedule(rows, max_iter)
        return replace(full, epochs=max(round(_TRIAL * full.epochs), 1))


def _batch(rows: int) -> int:
    """Small tables get small batches, so that they get enough steps; long ones large batches, which cost less."""
    return int(np.clip(max(min(rows // 8, 1024), rows // 40), 32, 2048))


RECIPES = {
    "fast": Recipe(
        dim=9, members=3, row_steps=50_000, pilot_dim=5, pilot_steps=20_000, pilot_epochs=12, pilots=12, knots=28
    ),
    "balanced": Recipe(
        dim=9,
        members=6,
        row_steps=150_000,
        pilot_dim=5,
        pilot_steps=100_000,
        pilot_epochs=30,
        pilots=24,
        knots=32,
        larger=Capacity(15, 60),
    ),
    "best": Recipe(
        dim=13,
        members=24,
        row_steps=400_000,
        pilot_dim=5,
        pilot_steps=200_000,
        pilot_epochs=30,
        pilots=24,
        knots=36,
        larger=Capacity(19, 64),
    ),
}
