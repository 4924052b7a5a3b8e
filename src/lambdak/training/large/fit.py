"""A large fit: a summary of all rows, what its sample decides, records of all rows, and members trained on them."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from lambdak.eigen.blas import single_threaded_blas
from lambdak.table.large.batches import Batches, Drawn, IterableBatches, drawn, errors_at
from lambdak.table.large.cache import DamagedCacheError, PackedCache, build_cache, cache_key, check_place, open_cache
from lambdak.table.large.packed import Records
from lambdak.table.large.summary import TableSummary
from lambdak.training.calibration import with_calibration
from lambdak.training.checkpoint import Checkpoint, nothing_kept
from lambdak.training.finish import Fit, TrainingState, corrections, finished
from lambdak.training.fit import fit_model
from lambdak.training.large.choice import Choice, LargeRequest, choose
from lambdak.training.large.levels import with_levels_of_all_rows
from lambdak.training.large.shards import DiskShard, MemoryShard, Shard
from lambdak.training.large.trainer import LargeTrainer, Supply, large_schedule
from lambdak.training.large.transport import Alone, Transport, everywhere, on_first
from lambdak.training.members import run_members
from lambdak.training.rows import GivenRows

T = TypeVar("T")

_BATCHES = 1 << 20  # of one process, at most: those of different processes have numbers of their own


def fit_sample(request: LargeRequest, summary: TableSummary) -> Fit:
    """The fit of a table that is not large, as it would be in memory."""
    known, sample = request.targets.resolved(summary.label_counts), summary.sample().in_order()
    y, weight = known.coded(sample.y, sample.weight)
    return fit_model(request.request(GivenRows(sample.table, y, weight, sample.offset), known))


def summarised(request: LargeRequest, parts: Iterable[Drawn], rows: int | None = None) -> TableSummary:
    """The summary of some batches of a table with this many ``rows``, if that is known."""
    summary = request.summary(rows)
    for part in parts:
        with errors_at(part.place):
            summary.add_(request.read(part))
    return summary


@nothing_kept()
def fit_together(request: LargeRequest, parts: Iterable[Drawn], transport: Transport) -> Fit:
    """One model from the rows of all processes; each has some of them, and all return the same model."""
    batches: list[Drawn] = []
    request = replace(request, seed=on_first(transport, lambda: request.seed))  # one that was drawn differs
    summary = request.summary()
    for other in everywhere(transport, lambda: summarised(request, _kept(_numbered(parts, transport.rank), batches))):
        summary.merge_(other)
    if request.is_small(summary):
        return on_first(transport, lambda: fit_sample(request, summary))
    choice = on_first(transport, lambda: choose(request, summary))
    threads, rank, records = request.settings.threads, transport.rank, [choice.no_records()]
    packed = (choice.packed(request.read(part), threads) for part in batches)
    lengths = everywhere(transport, lambda: sum(len(other) for other in _kept(packed, records)))
    shard = {rank: MemoryShard(records, (request.seed, rank))} if lengths[rank] else {}
    return train_members(choice, shard, lengths, transport, request.checkpoint, threads)


def _kept(items: Iterable[T], in_: list[T]) -> Iterator[T]:
    """Iterate over items and append them to the list ``in_``."""
    for item in items:
        in_.append(item)
        yield item


def _numbered(parts: Iterable[Drawn], rank: int) -> Iterator[Drawn]:
    """Batches with numbers that no other process has."""
    for part in parts:
        yield replace(part, index=rank * _BATCHES + part.index)


@dataclass(frozen=True)
class TableSource:
    """A large table on this machine: its batches, which columns are special, and where its cache may be."""

    batches: Batches
    y: str
    sample_weight: str | None = None
    offset: str | None = None
    exposure: str | None = None  # instead of an offset: its logarithm is one
    place: Path | None = None  # a temporary one

    def drawn(self) -> Iterator[Drawn]:
        """The batches, from the start."""
        return drawn(self.batches, self.y, self.sample_weight, self.offset, self.exposure)


@nothing_kept()
def fit_alone(request: LargeRequest, source: TableSource) -> Fit:
    """The model of a table that need not fit in memory."""
    settings, total = request.settings, source.batches.n_rows
    _check_cache(request, source)
    summary = summarised(request, _shown(source.drawn(), "reading", total, settings.verbose), total)
    if request.is_small(summary):
        if isinstance(source.batches, IterableBatches):
            deque(source.batches, 0)  # counts rows again: a pass that ended too early would look like a short table
        return fit_sample(request, summary)
    choice = choose(request, summary)
    try:
        fit = _fit_from_cache(request, choice, source, summary.rows)
    except DamagedCacheError as error:
        if not error.removed:
            raise
        warnings.warn(f"{error}: it is written again", UserWarning, stacklevel=2)
        fit = _fit_from_cache(request, choice, source, summary.rows)
    request.checkpoint.finish()
    return fit


def _check_cache(request: LargeRequest, source: TableSource) -> None:
    """Refuse a place without room for a byte per column, the least that records take, before anything is read."""
    rows, columns = source.batches.n_rows, len(source.batches.column_names)
    if rows is None and source.place is not None:
        check_place(source.place, 0)
    elif rows is not None and rows > request.sample_rows:
        check_place(source.place, rows * columns)


def _fit_from_cache(request: LargeRequest, choice: Choice, source: TableSource, rows: int) -> Fit:
    with _cache(request, choice, source, rows) as cache:
        shard = {0: DiskShard(cache, (request.seed, 0))}
        return train_members(choice, shard, [cache.n_rows], Alone(), request.checkpoint, request.settings.threads)


def _cache(request: LargeRequest, choice: Choice, source: TableSource, rows: int) -> PackedCache:
    """The records of all training rows on disk: those of an earlier fit, if they are the same."""
    columns = [source.y, source.sample_weight, source.offset, source.exposure]
    more = {"rows": choice.digest, "seed": choice.seed, "columns": columns, "targets": choice.targets.saved()}
    key = cache_key(source.batches.fingerprint or "", choice.session.draft.encoder, choice.packing, **more)
    cache = None if source.place is None else open_cache(source.place, key)
    if cache is not None:
        return cache
    parts = _shown(source.drawn(), "encoding", source.batches.n_rows, request.settings.verbose)
    records = _packed(request, choice, parts)
    return build_cache(source.place, key, choice.packing.record_bytes, rows, records, choice.seed)


def _packed(request: LargeRequest, choice: Choice, parts: Iterable[Drawn]) -> Iterator[Records]:
    for part in parts:
        with errors_at(part.place):
            records = choice.packed(request.read(part), request.settings.threads)
        yield records


def _shown(parts: Iterable[Drawn], what: str, total: int | None, verbose: int) -> Iterator[Drawn]:
    """Iterate over batches with a progress bar of rows."""
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TextColumn("rows"), TimeRemainingColumn())
    with Progress(*columns, disable=not verbose) as progress:
        bar = progress.add_task(what, total=total)
        for part in parts:
            yield part
            progress.update(bar, advance=len(part))


def train_members(
    choice: Choice,
    shards: Mapping[int, Shard],
    lengths: Sequence[int],
    transport: Transport,
    checkpoint: Checkpoint,
    threads: int,
) -> Fit:
    """Train on the shards of all processes; every process returns the same model."""
    with single_threaded_blas():
        choice = with_levels_of_all_rows(choice, shards, lengths, transport, threads)
    session = replace(choice.session, settings=replace(choice.session.settings, threads=threads))
    session = replace(session, rng=deepcopy(session.rng))
    settings, schedule = session.settings, large_schedule(choice.session.settings, sum(lengths))
    supply = Supply(shards, lengths, choice)
    with single_threaded_blas():
        parameters = session.new_parameters(choice.plan, choice.regularisations)
        trainer = LargeTrainer(session, parameters, supply, schedule, transport)
        run = run_members(trainer, schedule.plain, checkpoint, settings.verbose if transport.rank == 0 else 0)
        shift, factor = corrections(trainer, session.draft)
        state = TrainingState(trainer.theta, choice.plan, choice.regularisations, shift, factor)
        fit = finished(trainer, session.draft, choice.rows, state, run.events)
        return replace(fit, model=with_calibration(fit.model, trainer, session.draft, shift))
