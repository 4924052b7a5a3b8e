"""Categories of many levels in a large fit: their means are those of all rows, and what a sample chose is adapted.

Sums over rows are added up in whole units: these do not depend on who has which shard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lambdak._types import Float64Array
from lambdak.table.design import Design
from lambdak.training.draft import Draft
from lambdak.training.high_cardinality import LevelSharing
from lambdak.training.large.choice import Choice
from lambdak.training.large.shards import Order, Shard
from lambdak.training.large.transport import Transport, broadcast_object, everywhere
from lambdak.training.level_means import FOLDS, Codes, Measures, Sums
from lambdak.training.plan import Plan
from lambdak.training.rows import TrainingRows
from lambdak.training.session import Session

_AT_ONCE = 1 << 17  # rows of a shard that are measured between two signs of life, so that no process is silent for long
_BITS = 50  # of a sum in whole units: the sums of many shards fit into 63
_MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)  # multipliers of SplitMix64, by its definition


def fold_of(order: Order) -> Codes:
    """The folds of rows by their positions among the records of a shard, which stay the same.

    >>> fold_of(np.arange(8))
    array([0, 2, 8, 6, 4, 9, 1, 9])
    """
    state = order.astype(np.uint64) * _MIX[0]
    state = (state ^ (state >> np.uint64(30))) * _MIX[1]
    return np.asarray((state ^ (state >> np.uint64(31))) % np.uint64(FOLDS), np.intp)


def with_levels_of_all_rows(
    choice: Choice, shards: Mapping[int, Shard], lengths: Sequence[int], transport: Transport, threads: int
) -> Choice:
    """The choice with trained columns that are those of all rows; every process returns the same."""
    if choice.sharing is None:
        return choice
    totals = _Totals(choice, choice.sharing, shards, lengths, transport, threads)
    shared = choice.sharing.shared(totals.of)
    if transport.size > 1:  # machines of different kinds may round differently
        shared = broadcast_object(transport, shared if transport.rank == 0 else None)
    session = _in_columns(choice, replace(choice.session.draft, trained=shared.trained))
    plan = session.plan()
    dropped = plan.dropped | _dropped(choice, choice.sharing, plan)
    return replace(choice, session=session, plan=replace(plan, dropped=dropped), folds=shared)


def _in_columns(choice: Choice, draft: Draft) -> Session:
    """The session with its rows written in the trained columns of a draft."""

    def written(rows: TrainingRows) -> Design:
        design, outputs = draft.written(rows).design, draft.outputs
        return outputs.expand(design, draft.trained.n_design) if outputs.levels else design

    session, validation = choice.session, choice.session.validation
    if validation is not None and choice.validation is not None:
        validation = replace(validation, design=written(choice.validation))
    return replace(session, draft=draft, problem=replace(session.problem, design=written(choice.rows)),
                   validation=validation)  # fmt: skip


def _dropped(choice: Choice, sharing: LevelSharing, plan: Plan) -> frozenset[int]:
    """The trained columns of what had no effect in the sample; it says little of categories of many levels."""
    before, after = choice.plan.trained, plan.trained
    if before is None or after is None:
        return frozenset()
    gone = {i for i in range(len(before.parts)) if choice.plan.dropped.issuperset(before.positions(i))}
    gone -= frozenset() if choice.session.settings.alpha else frozenset(sharing.many_levels)
    return frozenset(k for i in gone for k in after.positions(i))


@dataclass(frozen=True)
class _Totals:
    """Sums of measures over the training rows of all shards of all processes."""

    choice: Choice
    sharing: LevelSharing
    shards: Mapping[int, Shard]
    lengths: Sequence[int]
    transport: Transport
    threads: int

    def of(self, measures: Measures) -> dict[int, Sums]:
        """The sums of each measure."""
        sums: dict[int, dict[int, Sums]] = {k: {} for k in self.shards}
        for first in range(0, max(self.lengths), _AT_ONCE):
            for k, shard in self.shards.items():
                for records, order in shard.take(first, max(min(first + _AT_ONCE, self.lengths[k]), first)):
                    rows = self.choice.unpacked(records, order, self.threads)
                    measured = self.sharing.measured(measures, rows, fold_of(order))
                    sums[k] = {i: _added(sums[k].get(i), parts) for i, parts in measured.items()}
            self.transport.allreduce(np.zeros(1, np.int64))  # so that no process is silent for long
        return {i: self._together([of_shard[i] for of_shard in sums.values() if of_shard]) for i in measures}

    def _together(self, parts: list[Sums]) -> Sums:
        """The sums of the shards of all processes, from those of the shards of this one."""
        arrays = [np.stack(part) for part in zip(*parts, strict=True)]
        sizes = everywhere(self.transport, lambda: [(part.shape[1:], _exponent(part)) for part in arrays])
        shapes = next(of_rank for of_rank in sizes if of_rank)
        arrays = arrays or [np.zeros((1, *shape)) for shape, _ in shapes]
        exponents = [max(of_rank[j][1] for of_rank in sizes if of_rank) for j in range(len(shapes))]
        return tuple(self._whole_sum(*part) for part in zip(arrays, exponents, strict=True))

    def _whole_sum(self, array: Float64Array, exponent: int) -> Float64Array:
        units = np.rint(np.ldexp(array, _BITS - exponent)).astype(np.int64).sum(axis=0)
        flat = np.ascontiguousarray(units.ravel())
        self.transport.allreduce(flat)
        return np.ldexp(flat.astype(np.float64), exponent - _BITS).reshape(units.shape)


def _added(sums: Sums | None, more: Sums) -> Sums:
    return more if sums is None else tuple(one + other for one, other in zip(sums, more, strict=True))


def _exponent(array: Float64Array) -> int:
    """Exponent of a power of two above the sizes of all numbers of an array."""
    largest = float(np.abs(array).max(initial=0.0))
    if not np.isfinite(largest):
        raise ValueError("the gradient of the loss is not finite: targets are too large for it")
    return int(np.frexp(largest)[1])
