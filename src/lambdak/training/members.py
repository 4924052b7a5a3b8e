"""Members in training: shown as they go, saved for a checkpoint, refined by L-BFGS, and refitted on all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rich import get_console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from lambdak.training.checkpoint import Checkpoint, State
from lambdak.training.effort import Schedule
from lambdak.training.lbfgs import refine
from lambdak.training.live_curve import watch_of
from lambdak.training.trainer import Event, Trainer

# Of the loss on unseen rows: where L-BFGS gains more, the steps of a refit are too coarse. A smooth target without
# noise, on which a refit brought errors back (400 rows: 5.4e-4 to 9.3e-4), chose it.
_REFINED = 0.25
# Of the epochs: members whose best states came before lose by further epochs, as on small, noisy tables; no benchmark
# of its own.
_EARLY = 0.3
_MEMBERS, _TRAINED = "members", "trained members"  # in progress: epochs with folds, and on all rows
_ARRAYS, _SCALARS = ("train", "validation", "train_score", "validation_score"), ("seconds", "waited")


class MembersRun(NamedTuple):
    """What happened in the training of members."""

    events: tuple[Event, ...]
    complete: bool  # whether the members are to stay as they are: interrupted, or refined with success
    refitted: int = 0  # epochs on all rows

    def state(self) -> State:
        """What happened in the training, as named arrays and numbers for a checkpoint."""
        return history_state(self.events) | State({}, {"complete": self.complete, "refitted": self.refitted})


def run_members(
    trainer: Trainer, schedule: Schedule, checkpoint: Checkpoint, verbose: int, *, refined: bool = False
) -> MembersRun:
    """Train with a progress bar, and then by L-BFGS if ``refined``; an interrupt keeps the best models so far."""
    if (done := checkpoint.restored(_TRAINED)) is not None:
        trainer.restore_(done)
        return MembersRun(tuple(events_of(done)), done.number("complete"), done.number("refitted"))
    events = _restored_events(trainer, checkpoint)
    columns = (TextColumn("fitting"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[loss]}"))
    watch = watch_of(verbose)
    with Progress(*columns, TimeRemainingColumn(), disable=watch is not None or not verbose) as progress:
        bar = progress.add_task("fit", total=schedule.epochs, completed=len(events), loss="")
        try:
            for event in trainer.run(schedule, events[-1] if events else None):
                events.append(event)
                progress.update(bar, advance=1, loss=f"loss {event.validation.mean():.5g}")
                if watch is not None:
                    watch(events)
                if checkpoint.due():
                    checkpoint.save(_MEMBERS, trainer.state() | history_state(events))
            if watch is not None:
                watch(events, ended=True)
            before = float(trainer.best.mean())
            for seen in refine(trainer) if refined else ():
                progress.update(bar, loss=f"L-BFGS, loss {seen.mean():.5g}")
        except KeyboardInterrupt:
            if not events:
                raise
            progress.console.print(f"interrupted: keeping the best models after {len(events)} epochs")
            checkpoint.keep()
            return MembersRun(tuple(events), complete=True)
    return MembersRun(tuple(events), complete=before - float(trainer.best.mean()) > _REFINED * abs(before))


def _restored_events(trainer: Trainer, checkpoint: Checkpoint) -> list[Event]:
    """The epochs that members were trained for before the process was killed."""
    begun = checkpoint.restored(_MEMBERS)
    if begun is None:
        return []
    trainer.restore_(begun)
    return events_of(begun)


def gain_from_refit(trainer: Trainer) -> bool:
    """Return whether rows were left out that members may still learn from: their best states did not come early."""
    return trainer.leaves_rows_out and bool(trainer.improved_until.mean() > _EARLY)


def refit_members(trainer: Trainer, schedule: Schedule, checkpoint: Checkpoint, run: MembersRun) -> None:
    """Train the members further on all rows; if that is interrupted, they stay as they were."""
    try:
        for done in trainer.refit(schedule, run.refitted):
            if checkpoint.due():
                checkpoint.save(_TRAINED, trainer.state() | run._replace(refitted=done).state())
    except KeyboardInterrupt:
        get_console().print("interrupted: keeping the models as they were before the refit on all rows")
        checkpoint.keep()


def history_state(events: Sequence[Event]) -> State:
    """What happened in each epoch so far, of at least one."""
    arrays = {name: np.stack([getattr(event, name) for event in events]) for name in _ARRAYS}
    scalars = {name: [getattr(event, name) for event in events] for name in _SCALARS}
    return State(arrays, {**scalars, "epochs": events[0].epochs})


def events_of(state: State) -> list[Event]:
    """What happened in every epoch so far, from a state that holds it."""
    epochs, scalars = state.number("epochs"), [state.number(name) for name in _SCALARS]
    try:
        rows = list(zip(*(state.arrays[name] for name in _ARRAYS), *scalars, strict=True))
    except (KeyError, TypeError, ValueError):
        rows = []
    if not rows:
        raise ValueError("the epochs of the checkpoint are missing or incomplete: delete it to start over")
    names = (*_ARRAYS, *_SCALARS)
    return [Event(epoch + 1, epochs, **dict(zip(names, values, strict=True))) for epoch, values in enumerate(rows)]
