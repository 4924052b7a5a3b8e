r"""Categories that are not trained with one matrix per level: those of high cardinality, and those with rare levels.

Adam's steps are as long for a matrix that few rows reach as for any other, so a matrix of its own makes noise of a rare
level. The levels of a high-cardinality category share curves (:mod:`~lambdak.training.level_curves`), and the
rare levels of another one share a matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.losses import Loss
from lambdak.table.category_column import Category
from lambdak.table.column_contract import Column
from lambdak.table.design import Design
from lambdak.training.draft import Draft
from lambdak.training.level_curves import ENOUGH_ROWS, level_curves, places
from lambdak.training.level_means import FOLDS, Codes, LevelMeans, LevelRows, Measures, Sums, all_level_means
from lambdak.training.negative_gradient import Heights, explained, less_explained, negative_gradient
from lambdak.training.rows import TrainingRows, row_counts
from lambdak.training.trained_columns import Entries, Rewriting, TrainedColumns

# Levels; a category with more is of high cardinality if most of them have few rows (benchmarks/levels.py).
_FEWEST_LEVELS = 32
# Levels; a category with more is of high cardinality: each matrix of its own costs a step (benchmarks/levels.py).
_MOST_OWN = 256
# Rows, below which the levels of other categories share a matrix; Adam amplifies the noise of a lone one
# (benchmarks/levels.py).
_RARE = 5


def with_shared_levels(draft: Draft, rows: TrainingRows, rng: np.random.Generator) -> tuple[Draft, TrainingRows]:
    """The draft with its trained columns, and its rows written in them, without their own targets."""
    sharing = LevelSharing.of(draft, rows, _counts(draft.encoder.columns, rows))
    if sharing.is_empty:
        return draft, rows
    fold = rng.permutation(len(rows.y)) % FOLDS if sharing.many_levels else np.zeros(len(rows.y), np.intp)
    shared = sharing.shared(lambda measures: sharing.measured(measures, rows, fold))
    return replace(draft, trained=shared.trained), replace(rows, design=shared.design(rows.design, fold))


def _counts(columns: Sequence[Column], rows: TrainingRows) -> dict[int, Float64Array]:
    """Rows of each level of every category."""
    counted, plain = row_counts(rows.weight), TrainedColumns.of(columns)
    mass = np.ones(len(rows.design)) if counted is None else counted
    categories = [i for i, column in enumerate(columns) if not column.is_number]
    return {i: _sums(plain.codes(rows.design, i), mass, columns[i].width) for i in categories}


def _sums(codes: Codes, mass: Float64Array, levels: int) -> Float64Array:
    return np.asarray(np.bincount(codes, mass, levels + 1)[:-1], np.float64)


def _is_high_cardinality(count: Float64Array) -> bool:
    """Whether a category has many levels, most of them with too few rows for a matrix of their own."""
    return len(count) > _MOST_OWN or (len(count) > _FEWEST_LEVELS and bool(np.median(count) < ENOUGH_ROWS))


@dataclass(frozen=True)
class SharedColumns:
    """Trained columns, and the entries of training rows in those that they share: by category, level and fold."""

    trained: TrainedColumns
    folds: Mapping[int, Entries]

    def design(self, design: Design, fold: Codes) -> Design:
        """Design rows of the table, which are in these folds, as trained ones."""
        entries = {i: some.take(self.trained.codes(design, i) * FOLDS + fold) for i, some in self.folds.items()}
        return self.trained.design(design, entries)


@dataclass(frozen=True)
class LevelSharing:
    """Which categories share matrices among their levels, and what is needed to measure rows for that.

    ``many_levels`` is category → rows of each level, ``rare`` category → which of its levels are rare.
    """

    plain: TrainedColumns  # those of the table
    many_levels: Mapping[int, Float64Array]
    rare: Mapping[int, NDArray[np.bool_]]
    loss: Loss
    start: Float64Array
    others: Float64Array | None  # how the design of other columns explains the negative gradients
    heights: Heights

    @classmethod
    def of(cls, draft: Draft, rows: TrainingRows, counts: Mapping[int, Float64Array]) -> LevelSharing:
        """What some or all ``rows`` say, where levels have so many rows altogether."""
        plain, loss = TrainedColumns.of(draft.encoder.columns), draft.loss
        ordered = {i for own in draft.promises.shapes for part in own.joined(draft.encoder.columns) for i in part}
        counts = {i: count for i, count in counts.items() if i not in ordered}  # their levels step one way
        many_levels = {i: count for i, count in counts.items() if _is_high_cardinality(count)}
        # Levels in an order share strength with their neighbours, others that are rare with all rare ones.
        alone = {i: count for i, count in counts.items() if i not in many_levels and not plain.table[i].order}
        rare = {i: count < _RARE for i, count in alone.items() if (count < _RARE).sum() > 1}
        if not many_levels:
            return cls(plain, many_levels, rare, loss, np.zeros(0), None, Heights([]))
        mass, start = _mass(rows), loss.start(rows.y, rows.weight, rows.offset)
        others = explained(negative_gradient(loss, rows, start), *_without(plain, many_levels, rows.design), mass)
        return cls(plain, many_levels, rare, loss, start, others, Heights.of(plain.table, rows.design, mass))

    @property
    def is_empty(self) -> bool:
        """Whether every level has a matrix of its own."""
        return not self.many_levels and not self.rare

    def measured(self, measures: Measures, rows: TrainingRows, fold: Codes) -> dict[int, Sums]:
        """What measures say of these rows, category by category."""
        design, _ = _without(self.plain, self.many_levels, rows.design)
        gradient = less_explained(negative_gradient(self.loss, rows, self.start), design, self.others)
        along, mass = self.heights.at(rows.design), _mass(rows)
        return {
            i: measure(LevelRows(self.plain.codes(rows.design, i), fold, mass, gradient, along))
            for i, measure in measures.items()
        }

    def shared(self, total: Callable[[Measures], Mapping[int, Sums]]) -> SharedColumns:
        """The trained columns; ``total`` sums measures up over all training rows."""
        means = all_level_means({i: self.plain.table[i].width for i in self.many_levels}, total)
        rewritings: dict[int, Rewriting] = {}
        parts: list[Sequence[Column]] = []
        for i, column in enumerate(self.plain.table):
            start = parts[-1][-1].stop if parts else 1
            if i in self.many_levels or i in self.rare:
                rewritings[i] = self._rewriting(i, start, means.get(i))
            parts.append(rewritings[i].columns if i in rewritings else [replace(column, start=start)])
        trained = TrainedColumns(self.plain.table, parts, {i: some.levels for i, some in rewritings.items()})
        return SharedColumns(trained, {i: some.folds for i, some in rewritings.items() if some.folds is not None})

    def _rewriting(self, i: int, start: int, means: LevelMeans | None) -> Rewriting:
        column = cast("Category", self.plain.table[i])
        if means is None:
            return _with_one_for_rare(column, start, self.rare[i])
        return level_curves(column, start, means, places(self.many_levels[i]))


def _mass(rows: TrainingRows) -> Float64Array:
    return np.ones(len(rows.y)) if rows.weight is None else rows.weight


def _without(plain: TrainedColumns, many_levels: Mapping[int, Float64Array], design: Design) -> tuple[Design, int]:
    """The design rows of all but the high-cardinality categories, and the number of their design columns."""
    parts: list[Sequence[Column]] = []
    stop = 1
    for i, column in enumerate(plain.table):
        parts.append([] if i in many_levels else [replace(column, start=stop)])
        stop += 0 if i in many_levels else column.width
    nothing = {i: Entries.nothing(plain.table[i].width + 1) for i in many_levels}
    return TrainedColumns(plain.table, parts, nothing).design(design), stop


def _with_one_for_rare(column: Category, start: int, rare: NDArray[np.bool_]) -> Rewriting:
    """A category of few levels whose rare levels share its last matrix; an unseen level has none."""
    kept = tuple(level for level, few in zip(column.levels, rare, strict=True) if not few)
    place = np.append(np.where(rare, len(kept), np.cumsum(~rare) - 1), -1)
    shared = Category(column.name, start, levels=(*kept, "rare levels"))
    return Rewriting((shared,), Entries.single(start, place))
