"""What a user sets, checked: how a model is to be fitted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from lambdak.losses import Arrangement, Loss
from lambdak.shapes.requested import needs_end
from lambdak.training.effort import MANY_CLASSES, Recipe, Schedule

# Times the usual rate, when the training of a fitted model continues: it must not leave what was learned; no study of
# its own.
_GENTLE = 0.1
# Times as many steps, at most, where every row is there once for each level (benchmarks/quantiles.py,
# benchmarks/classes.py).
_LEVEL_STEPS = 3
# Rows of the matrices more, where one eigenvalue is read at several levels (benchmarks/quantiles.py,
# benchmarks/classes.py).
_LEVEL_DIM = 6
# Rows for each column: with fewer, larger capacity was never better on the tables of benchmarks/ranks.py
# (docs/decisions.md).
_FEWEST_ENLARGED = 100
AUTO_ROWS = 10_000  # up to which early_stopping="auto" does not stop early, as in HistGradientBoosting
LOSS = "loss"  # the metric that is the loss itself
_PARTIAL_EPOCHS = 3  # over the rows of one partial_fit: a few, as a later call has other rows; no study of its own


@dataclass(frozen=True)
class FitSettings:
    """Settings of one fit; see :class:`lambdak.SpectralRegressor` for those that it shares with the estimators."""

    recipe: Recipe
    eig_idx: int | None
    shape: str | None
    monotonic_cst: Any
    max_influence: Any
    interaction_cst: Any
    constraints: Any
    categorical_features: Any
    max_categories: int | None
    n_knots: int | str
    alpha: float
    max_iter: int | None
    patience: int | None
    tol: float
    validation_fraction: float
    balance: bool  # whether predictions add up to the targets of the training rows
    threads: int
    verbose: int
    own_dim: bool  # whether the user chose dim
    stopping_rows: int = 0  # up to which training does not stop early, unless there are validation rows
    scoring: str = LOSS  # the metric that says whether it still improves
    calibrate_by: Any = None  # the category whose levels are calibrated apart

    def of_rows(self, rows: int, validated: bool) -> FitSettings:
        """Settings for a table of so many rows, maybe with validation rows: training stops early, or it never does."""
        early = validated or rows > self.stopping_rows
        return self if early or not self.stopping_rows else replace(self, patience=None, tol=0.0)

    def fitted_to(self, loss: Loss) -> FitSettings:
        """Settings for a loss: more of all where one eigenvalue is read at several levels, but no size that is set."""
        if loss.arrangement is Arrangement.PER_CLASS and loss.n_outputs >= MANY_CLASSES:
            return replace(self, recipe=self.recipe.of_many_classes())
        if loss.arrangement not in (Arrangement.ORDERED, Arrangement.QUANTILES):
            return self
        # Every level has its own function of the row, and a step on one level's copy of a row says little of others.
        recipe = replace(self.recipe, row_steps=min(loss.n_outputs, _LEVEL_STEPS) * self.recipe.row_steps)
        return replace(self, recipe=recipe if self._size_is_set else replace(recipe, dim=recipe.dim + _LEVEL_DIM))

    def additive(self) -> FitSettings:
        """Settings for a function that is a sum of functions of single columns: matrices are numbers."""
        if self.own_dim and self.recipe.dim > 1:
            raise ValueError(
                f"dim must be None or 1 where interaction_cst lets no columns interact; got {self.recipe.dim}"
            )
        if self.eig_idx is not None and self.eig_idx != 0:
            raise ValueError(
                f"eig_idx must be None or 0 where interaction_cst lets no columns interact; got {self.eig_idx!r}: "
                "matrices are then numbers"
            )
        return replace(self, recipe=self.recipe.additive(), eig_idx=None)

    def of_pairs(self) -> FitSettings:
        """Settings for sums of functions of two columns; a size that is set, or that a shape or levels need, stays."""
        keep = self._size_is_set or needs_end(self.shape, self.constraints)
        return self if keep else replace(self, recipe=self.recipe.of_pairs())

    def with_terms(self, terms: int) -> FitSettings:
        """Settings for members that are sums of so many terms: fewer members, if there would be too many."""
        return replace(self, recipe=self.recipe.with_terms(terms))

    @property
    def _size_is_set(self) -> bool:
        """Whether the user chose ``dim``, or a position among eigenvalues, which means nothing in another size."""
        return self.own_dim or self.eig_idx is not None

    def enlarged(self, pencils: int, rows_per_column: float) -> FitSettings | None:
        """Settings with more capacity; None if the size is set, there is no choice, or rows or time are too few."""
        recipe = self.recipe.enlarged()
        if recipe is None:
            return None
        if recipe.dim == self.recipe.dim and self.n_knots != "auto":
            return None
        few = self._size_is_set or pencils >= MANY_CLASSES or rows_per_column < _FEWEST_ENLARGED
        return None if few and recipe.dim > self.recipe.dim else replace(self, recipe=recipe)

    def schedule(self, rows: int) -> Schedule:
        """Schedule of the members of a new model on this many rows."""
        return replace(self.recipe.schedule(rows, self.max_iter), patience=self.patience, tol=self.tol)

    def continued_schedule(self, rows: int, partial: bool) -> Schedule:
        """Schedule of a fitted model that is trained further, for a few epochs if ``partial``."""
        epochs = _PARTIAL_EPOCHS if partial and self.max_iter is None else self.max_iter
        schedule = self.recipe.schedule(rows, epochs)
        return replace(schedule, rate=_GENTLE * schedule.rate, patience=self.patience, tol=self.tol)
