"""What a sample decides about a large fit, and what every process needs to train its members."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak.table.large.batches import Drawn
from lambdak.table.large.packed import Records, RowPacking
from lambdak.table.large.sample import row_keys
from lambdak.table.large.summary import TableSummary
from lambdak.training.checkpoint import Checkpoint
from lambdak.training.draft import Units, encoder_template
from lambdak.training.effort import Regularisation
from lambdak.training.fit import Request, choose_members
from lambdak.training.large.schedule import LargeSchedule, large_schedule
from lambdak.training.large.targets import KnownTargets, Targets
from lambdak.training.plan import Plan
from lambdak.training.problem import Problem
from lambdak.training.rows import GivenRows, TrainingRows
from lambdak.training.session import Session
from lambdak.training.settings import FitSettings

SAMPLE = 200_000  # rows that decide about a large fit; a table with no more is fitted in memory
_VALIDATION = 0.2  # of the sample: rows that no member is trained on
_KEPT = 50_000  # rows of the sample that are needed until the end


@dataclass(frozen=True)
class LargeRequest:
    """What is to be fitted, apart from the rows."""

    estimator: str
    targets: Targets
    settings: FitSettings
    seed: int
    parameters: dict[str, Any]
    checkpoint: Checkpoint

    def summary(self) -> TableSummary:
        """A summary of no rows yet."""
        template = encoder_template(self.settings, SAMPLE, 1)  # which columns are categories is all that counts yet
        return TableSummary(template, sample_rows=SAMPLE, seed=self.seed, labels=self.targets.counts_labels)

    def request(self, rows: GivenRows, known: KnownTargets) -> Request:
        """The request of an ordinary fit."""
        rng = np.random.default_rng(self.seed)
        return Request(
            self.estimator, rows, known.loss, self.settings, rng, known.classes, self.parameters, self.checkpoint
        )

    def read(self, part: Drawn) -> Drawn:
        """A batch with its target checked."""
        return replace(part, y=self.targets.checked(part.y))


@dataclass(frozen=True)
class Choice:
    """All that is known before members are trained; every process has the same."""

    session: Session  # with a sample of the rows, and validation rows
    plan: Plan
    regularisations: list[Regularisation]
    rows: TrainingRows  # of the sample, in the columns of the table
    units: Units
    packing: RowPacking
    targets: KnownTargets
    threshold: float  # of the keys of rows: those up to it are validation rows
    seed: int
    total: int  # rows of the whole table

    def packed(self, part: Drawn, threads: int = 0) -> PackedPart:
        """The training rows of a batch as records."""
        y, weight = self.targets.coded(part.y, part.weight)
        kept = row_keys(self.seed, part.index, len(part)) > self.threshold
        if weight is not None:
            kept &= weight > 0
        design = self.session.draft.encoder.transform(part.table, threads=threads).take(kept)
        own = (None if some is None else some[kept] for some in (weight, part.offset))
        weight, offset = own
        records = self.packing.pack(design, y[kept], weight, offset)
        return PackedPart(records, float(len(records) if weight is None else weight.sum()))

    def packed_nothing(self) -> PackedPart:
        """No records."""
        return PackedPart(np.empty((0, self.packing.record_bytes), np.uint8), 0.0)

    def schedule(self, rows: int) -> LargeSchedule:
        """For this many training rows."""
        return large_schedule(self.session.settings, rows)

    def problem(self, rows: TrainingRows) -> Problem:
        """Training rows in the units of the sample."""
        draft = self.session.draft
        return draft.problem(draft.written(rows), self.units)


@dataclass(frozen=True)
class PackedPart:
    """The records of a batch, and the sum of their weights."""

    records: Records
    weight: float

    def __len__(self) -> int:
        return len(self.records)


def choose(request: LargeRequest, summary: TableSummary) -> Choice:
    """What pilot and trial models on the sample decide."""
    known = request.targets.resolved(summary.label_counts)
    sample = summary.sample()
    y, weight = known.coded(sample.y, sample.weight)
    held_out = max(int(_VALIDATION * len(y)), 1)

    def given(rows: NDArray[np.intp], validation: GivenRows | None = None) -> GivenRows:
        own = sample.take(rows)
        return GivenRows(own.table, y[rows], None if weight is None else weight[rows], own.offset, validation, summary)

    unseen, seen = np.split(np.arange(len(y)), [held_out])
    option, plan, regularisations = choose_members(request.request(given(seen, given(unseen)), known))
    written = option.session.draft.written(option.rows)
    session, rows = option.session.sampled(_KEPT), option.rows.sampled(_KEPT)
    packing = RowPacking.of(
        session.draft.encoder, known.kept_as, weight is not None, sample.offset is not None
    )  # fmt: skip
    units = session.draft.units(written)
    threshold = float(sample.keys[held_out - 1])
    return Choice(session, plan, regularisations, rows, units, packing, known, threshold, request.seed, summary.rows)
