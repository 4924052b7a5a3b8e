r"""The trainer of members whose rows are shards here and in other processes: one small sum per step.

Every process holds all parameters and takes the same steps, from the gradient of all shards. What is measured is
measured on validation rows that every process has, so that all keep the same states. The longer a table is, the fewer
epochs are taken; laps end with a measurement.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lambdak._types import FloatArray
from lambdak.eigen.engine import Rows
from lambdak.eigen.lazy import cached_property
from lambdak.eigen.steps import sum_of_shards
from lambdak.table.large.packed import Records
from lambdak.training.effort import Schedule
from lambdak.training.large.choice import Choice
from lambdak.training.large.levels import fold_of
from lambdak.training.large.shards import Order, Shard
from lambdak.training.large.transport import Transport, Whole, broadcast_object, gather_numbers
from lambdak.training.parameters import Parameters
from lambdak.training.problem import Folds, Problem, RowIds
from lambdak.training.rows import TrainingRows
from lambdak.training.session import Session
from lambdak.training.settings import FitSettings
from lambdak.training.trainer import Trainer, row_targets

_DIGEST = (1 << 24) - 1  # 24 bits: the sum of their squares over the processes has room in 63
_BLOCK = 1 << 17  # rows that are unpacked at once, of all shards of a process: tens of megabytes (benchmarks/packed.py)


@dataclass(frozen=True)
class Supply:
    """The rows of a large fit: the shards of this process by number, the lengths of all, and how records are read."""

    shards: Mapping[int, Shard]
    lengths: Sequence[int]
    choice: Choice

    @property
    def copies(self) -> int:
        """How many rows of a problem a row of the table is."""
        return self.choice.session.copies

    def block(self, number: int, first: int, last: int, threads: int) -> Problem:
        """The rows at these positions of a shard's sequence, in units of training."""
        parts = [self._rows(*some, threads) for some in self.shards[number].take(first, last)]
        return self.choice.problem(parts[0] if len(parts) == 1 else TrainingRows.joined(parts))

    def _rows(self, records: Records, order: Order, threads: int) -> TrainingRows:
        return self.choice.written(self.choice.unpacked(records, order, threads), fold_of(order))


class LargeTrainer(Trainer):
    """Trains a stack of models on shards; the problem of the session is a sample of their rows."""

    def __init__(
        self, session: Session, parameters: Parameters, supply: Supply, schedule: LargeSchedule, transport: Transport
    ) -> None:
        super().__init__(session.problem, parameters, session.rng, None, session.validation)
        self._supply, self._schedule, self._transport = supply, schedule, transport

    def _pass(self, schedule: Schedule, epoch: int, folds: Folds) -> FloatArray:
        """Train one lap; returns the mean loss of each member."""
        seen = np.zeros((len(self._supply.lengths), self.members, 2))
        for first, last in self._blocks(epoch):
            blocks = {k: self._block(k, first, last) for k in self._supply.shards if self._rows(k, first, last)}
            rates = [self._rate(schedule, step) for step in range(first, last)]
            for k, sums in zip(blocks, self._steps(list(blocks.values()), rates, (first, last)), strict=True):
                seen[k] += sums
        self._agree()
        of_shards = {k: seen[k] for k in self._supply.shards}
        total = gather_numbers(self._transport, of_shards, seen.shape).sum(axis=0)
        return np.asarray(total[:, 0] / np.maximum(total[:, 1], 1e-300))

    def _blocks(self, lap: int) -> Iterator[tuple[int, int]]:
        """Steps [first, last) whose rows are unpacked at once."""
        per_lap, at_once = self._schedule.lap_steps, max(_BLOCK // self._schedule.plain.batch, 1)
        for first in range(lap * per_lap, (lap + 1) * per_lap, at_once):
            yield first, min(first + at_once, (lap + 1) * per_lap)

    def _rate(self, schedule: Schedule, step: int) -> float:
        return schedule.rate_at(step + 1, self._schedule.steps)

    def _rows(self, shard: int, first: int, last: int) -> int:
        """Rows of a shard between two steps."""
        rows = self._supply.lengths[shard]
        return self._schedule.reached(rows, last) - self._schedule.reached(rows, first)

    def _block(self, shard: int, first: int, last: int) -> Problem:
        begin = self._schedule.reached(self._supply.lengths[shard], first)
        return self._supply.block(shard, begin, begin + self._rows(shard, first, last), self.parameters.threads)

    def _totals(self, steps: tuple[int, int]) -> list[int]:
        """Rows of each step in all shards of all processes."""
        first, last = steps
        lengths = [self._rows(k, first, last) for k in range(len(self._supply.lengths))]
        rows = np.array(lengths)[:, None] * self._supply.copies
        step, count = np.arange(last - first), last - first
        return list(map(int, (rows // count + (step < rows % count)).sum(axis=0)))

    def _steps(self, blocks: list[Problem], rates: list[float], steps: tuple[int, int]) -> FloatArray:
        """Take steps on the rows of blocks; returns Σ weight · loss and Σ weight, (blocks, members, 2)."""
        if self._head is None:
            return self._steps_by_python(blocks, rates, steps)
        rows = [self._kernel_rows(block) for block in blocks]
        if len(self._supply.lengths) == 1:  # there is nothing to sum up
            (design, target), mass = rows[0], self._mass(blocks[0])
            losses = self.parameters.epoch_(design, target, self._head, rates)
            return np.stack([losses * mass, np.full_like(losses, mass)], axis=1)[None]
        together = (self._totals(steps), self._sums, lambda: self._transport.allreduce(self._sums))
        return self.parameters.shared_epoch_(rows, self._head, rates, together)

    def _kernel_rows(self, block: Problem) -> Rows:
        order = np.broadcast_to(np.arange(len(block.design), dtype=np.int32), (self.members, len(block.design)))
        design = (block.design.ids, block.design.weights, np.ascontiguousarray(order))
        return design, row_targets(block, block.weight)

    @staticmethod
    def _mass(block: Problem) -> float:
        return float(len(block.design) if block.weight is None else block.weight.sum(dtype=np.float64))

    @cached_property
    def _sums(self) -> Whole:
        return np.zeros(self.parameters.coef.size + 1, np.int64)

    def _steps_by_python(self, blocks: list[Problem], rates: list[float], steps: tuple[int, int]) -> FloatArray:
        """Take steps in Python; returns Σ weight · loss and Σ weight, (blocks, members, 2).

        For a loss or a cap that is not compiled.
        """
        seen, totals = np.zeros((len(blocks), self.members, 2)), self._totals(steps)
        cuts = [np.array_split(np.arange(len(block.design), dtype=np.int32), len(rates)) for block in blocks]
        for i, rate in enumerate(rates):
            grads = np.zeros((len(blocks), self._grad.size), self._grad.dtype)
            for k, block in enumerate(blocks):
                if len(cuts[k][i]):
                    seen[k] += self._share_(block, cuts[k][i], totals[i])
                    grads[k] = self._grad.ravel()
            total = sum_of_shards(grads, self._sums, lambda: self._transport.allreduce(self._sums))
            self._grad[...] = total.reshape(self._grad.shape)
            self.parameters.step_(self._grad, rate)
        return seen

    def _share_(self, block: Problem, rows: RowIds, total: int) -> FloatArray:
        """Fill the gradient with that of some rows of a step on ``total`` rows; returns Σ weight · loss, Σ weight."""
        chosen = np.ascontiguousarray(np.broadcast_to(rows, (self.members, len(rows))))
        raw = self.backward_(block, block.weight, chosen)
        self._grad *= len(rows) / total
        weight = None if block.weight is None else block.weight[chosen]
        mass = np.full(self.members, len(rows)) if weight is None else weight.sum(axis=1, dtype=np.float64)
        return np.stack([block.loss.value(raw, block.y[chosen], weight) * mass, mass], axis=1)

    def _agree(self) -> None:
        """Let all processes have the same parameters: machines of different kinds may round differently."""
        digest = zlib.crc32(b"".join(part.tobytes() for part in self.parameters.theta)) & _DIGEST
        sums = np.array([digest, digest**2], np.int64)
        self._transport.allreduce(sums)
        first, second = sums.tolist()
        if self._transport.size * second != first**2:  # the digests vary
            state = broadcast_object(self._transport, self.parameters.state())
            if self._transport.rank:  # to restore a state into its own arrays would change it
                self.parameters.restore_(state)


# Rows of a step: the larger they are, the rarer are sums over processes (benchmarks/cluster_cost.py counts them) …
_BATCHES = (2048, 8192)
_ENOUGH_STEPS = 2_000  # … but below so many steps smaller batches gain more; no study on record
# That a member sees, if not all rows once are more: it bounds the time of a fit (benchmarks/larger_than_memory.py).
_ENOUGH_ROWS = 20_000_000
# Rows between two measurements on validation rows: it bounds what a lost worker costs; no study of its own.
_LAP = 4_000_000
# Fewest and most: there are states to choose from on a short table, and measurements stay few on a long one.
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
        """Number of steps of all laps together."""
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
