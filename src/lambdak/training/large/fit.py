"""A large fit: a summary of all rows, what its sample decides, records of all rows, and members trained on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from lambdak.table.large.batches import Drawn
from lambdak.table.large.summary import TableSummary
from lambdak.training.fit import Fit, fit_model
from lambdak.training.large.choice import SAMPLE, LargeRequest, choose
from lambdak.training.large.members import train_members
from lambdak.training.large.shards import MemoryShard
from lambdak.training.large.transport import Transport, everywhere, gather_numbers, on_first
from lambdak.training.rows import GivenRows

_BATCHES = 1 << 20  # of one process, at most: those of different processes have numbers of their own


def is_small(summary: TableSummary) -> bool:
    """Whether the sample is the whole table."""
    return summary.rows <= SAMPLE


def fit_sample(request: LargeRequest, summary: TableSummary) -> Fit:
    """The fit of a table that is not large, as it would be in memory."""
    known, sample = request.targets.resolved(summary.label_counts), summary.sample().in_order()
    y, weight = known.coded(sample.y, sample.weight)
    return fit_model(request.request(GivenRows(sample.table, y, weight, sample.offset), known))


def summarised(request: LargeRequest, parts: Iterable[Drawn]) -> TableSummary:
    """The summary of some batches."""
    summary = request.summary()
    for part in parts:
        summary.add_(request.read(part))
    return summary


def fit_together(request: LargeRequest, parts: Iterable[Drawn], transport: Transport) -> Fit:
    """One model from the rows of all processes; each has some of them, and all return the same model."""
    own = list(_numbered(parts, transport.rank))
    summary = request.summary()
    for each in everywhere(transport, lambda: summarised(request, own)):
        summary.merge_(each)
    if is_small(summary):
        return on_first(transport, lambda: fit_sample(request, summary))
    choice = on_first(transport, lambda: choose(request, summary))
    packed = [choice.packed(request.read(part), request.settings.threads) for part in own]
    size = np.array([sum(map(len, packed)), sum(part.weight for part in packed)], np.float64)
    rows, weight = gather_numbers(transport, {transport.rank: size}, (transport.size, 2)).T
    shard = {transport.rank: MemoryShard([part.records for part in packed], (request.seed, transport.rank))}
    lengths, mean = rows.astype(int).tolist(), float(weight.sum() / rows.sum())
    return train_members(choice, shard, lengths, mean, transport, request.checkpoint, request.settings.threads)


def _numbered(parts: Iterable[Drawn], rank: int) -> Iterator[Drawn]:
    """The same with numbers that no other process has."""
    for part in parts:
        yield replace(part, index=rank * _BATCHES + part.index)
