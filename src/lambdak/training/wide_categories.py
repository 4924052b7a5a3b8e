r"""Categories that are not trained with one matrix per level: wide ones, and those with rare levels.

Adam's steps are as long for a matrix that few rows reach as for any other, so a matrix of its own makes noise of a rare
level. The levels of a wide category share curves (:mod:`~lambdak.training.level_curves`), and the rare levels of a
narrow one share a matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from lambdak.pencil.spectrum import Float64Array
from lambdak.table.category_column import Category
from lambdak.table.column_contract import Column
from lambdak.table.design import Design
from lambdak.training.draft import Draft
from lambdak.training.level_curves import ENOUGH_ROWS, level_curves, places
from lambdak.training.level_means import Codes, Grouped, LevelMeans
from lambdak.training.pulls import heights, pulls, unexplained
from lambdak.training.rows import TrainingRows, row_counts
from lambdak.training.trained_columns import Entries, Rewriting, TrainedColumns

_FEWEST_WIDE = 32  # levels; a category with more is wide, if most of them have few rows
_MOST_NARROW = 256  # levels; a category with more is wide
_RARE = 5  # rows, below which the levels of a narrow category share a matrix
_FOLDS = 10


def with_wide_categories(draft: Draft, rows: TrainingRows, rng: np.random.Generator) -> tuple[Draft, TrainingRows]:
    """The draft with its trained columns, and its rows written in them, without their own targets."""
    given = TrainedColumns.of(draft.encoder.columns)
    counts = _counts(given, rows)
    wide = {i: count for i, count in counts.items() if _is_wide(count)}
    rare = {i: count < _RARE for i, count in counts.items() if i not in wide and (count < _RARE).sum() > 1}
    if not wide and not rare:
        return draft, rows
    means = _means(draft, given, rows, list(wide), rng) if wide else {}
    found: dict[int, Rewriting] = {}
    parts: list[Sequence[Column]] = []
    for i, column in enumerate(given.given):
        start = parts[-1][-1].stop if parts else 1
        if i in wide:
            codes, place = given.codes(rows.design, i), places(wide[i])
            found[i] = level_curves(cast("Category", column), start, means[i], codes, place)
        elif i in rare:
            found[i] = _sharing(cast("Category", column), start, rare[i])
        parts.append(found[i].columns if i in found else [replace(column, start=start)])
    trained = TrainedColumns(given.given, parts, {i: some.levels for i, some in found.items()})
    own = {i: some.rows for i, some in found.items() if some.rows is not None}
    return replace(draft, trained=trained), replace(rows, design=trained.design(rows.design, own))


def _counts(given: TrainedColumns, rows: TrainingRows) -> dict[int, Float64Array]:
    """Rows of each level of every category."""
    counted = row_counts(rows.weight)
    mass = np.ones(len(rows.design)) if counted is None else counted
    categories = [i for i, column in enumerate(given.given) if not column.is_number]
    return {i: _sums(given.codes(rows.design, i), mass, given.given[i].width) for i in categories}


def _sums(codes: Codes, mass: Float64Array, levels: int) -> Float64Array:
    return np.asarray(np.bincount(codes, mass, levels + 1)[:-1], np.float64)


def _is_wide(count: Float64Array) -> bool:
    """Whether a category has many levels, most of them with too few rows for a matrix of their own."""
    return len(count) > _MOST_NARROW or (len(count) > _FEWEST_WIDE and bool(np.median(count) < ENOUGH_ROWS))


def _means(
    draft: Draft, given: TrainedColumns, rows: TrainingRows, wide: Sequence[int], rng: np.random.Generator
) -> dict[int, LevelMeans]:
    """The shrunken means of wide categories, of what other columns leave unexplained."""
    mass = np.ones(len(rows.y)) if rows.weight is None else rows.weight
    pull = unexplained(pulls(draft.loss, rows), *_without(given, wide, rows.design), mass)
    along = heights(given.given, rows.design, mass)
    fold = rng.permutation(len(pull)) % _FOLDS
    groups = {i: Grouped(given.codes(rows.design, i), given.given[i].width, fold, mass) for i in wide}
    return {i: group.means(pull, along) for i, group in groups.items()}


def _without(given: TrainedColumns, wide: Sequence[int], design: Design) -> tuple[Design, int]:
    """The design rows of all but the wide categories, and the number of their design columns."""
    parts: list[Sequence[Column]] = []
    stop = 1
    for i, column in enumerate(given.given):
        parts.append([] if i in wide else [replace(column, start=stop)])
        stop += 0 if i in wide else column.width
    nothing = {i: Entries.nothing(given.given[i].width + 1) for i in wide}
    return TrainedColumns(given.given, parts, nothing).design(design), stop


def _sharing(column: Category, start: int, rare: NDArray[np.bool_]) -> Rewriting:
    """A narrow category whose rare levels share its last matrix; an unseen level has none."""
    kept = tuple(level for level, few in zip(column.levels, rare, strict=True) if not few)
    place = np.append(np.where(rare, len(kept), np.cumsum(~rare) - 1), -1)
    shared = Category(column.name, start, levels=(*kept, "rare levels"))
    return Rewriting((shared,), Entries.single(start, place))
