"""The members of a large fit: trained by all processes together, each with its shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace

from lambdak.eigen.blas import single_threaded_blas
from lambdak.training.checkpoint import Checkpoint
from lambdak.training.fit import Fit, TrainingState, corrections, finished, run_members
from lambdak.training.large.choice import Choice
from lambdak.training.large.levels import with_shared_levels
from lambdak.training.large.shards import Shard
from lambdak.training.large.trainer import LargeTrainer, Supply
from lambdak.training.large.transport import Transport


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
        choice = with_shared_levels(choice, shards, lengths, transport, threads)
    session = replace(choice.session, settings=replace(choice.session.settings, threads=threads))
    session = replace(session, rng=deepcopy(session.rng))
    settings, schedule = session.settings, choice.schedule(sum(lengths))
    supply = Supply(shards, lengths, choice)
    with single_threaded_blas():
        parameters = session.new_parameters(choice.plan, choice.regularisations)
        trainer = LargeTrainer(session, parameters, supply, schedule, transport)
        quiet = replace(settings, verbose=settings.verbose and transport.rank == 0)
        run = run_members(trainer, schedule.plain, quiet, False, checkpoint)
        shift, factor = corrections(trainer, session.draft)
        state = TrainingState(trainer.theta, choice.plan, choice.regularisations, shift, factor)
        return finished(trainer, session.draft, choice.rows, state, run.events)
