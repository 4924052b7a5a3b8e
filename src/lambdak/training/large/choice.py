"""What a sample decides about a large fit, and what every process needs to train its members."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak.table.large.batches import ChangedSourceError, Drawn
from lambdak.table.large.packed import Records, RowPacking
from lambdak.table.large.sample import Seal, row_keys
from lambdak.table.large.summary import SAMPLE_ROWS, TableSummary
from lambdak.training.checkpoint import Checkpoint, settings_text
from lambdak.training.choice import choose_members
from lambdak.training.draft import ProblemUnits, encoder_template
from lambdak.training.effort import Regularisation
from lambdak.training.high_cardinality import LevelSharing, SharedColumns
from lambdak.training.large.targets import KnownTargets, LargeTargets
from lambdak.training.level_means import Codes
from lambdak.training.plan import Plan
from lambdak.training.problem import Problem
from lambdak.training.rows import GivenRows, TrainingRows
from lambdak.training.session import FitRequest, Session
from lambdak.training.settings import FitSettings

# Rows whose numbers are looked at, if it is known that there are more: it bounds the time of sketches
# (benchmarks/packed.py).
_DIGESTED = 2_000_000
# Of the sample: rows that no member is trained on; 40,000 of the usual 200,000 measure a loss to half a percent.
_VALIDATION = 0.2
_KEPT = 50_000  # rows of the sample that are needed until the end: as many as decide about the start in finish.py


@dataclass(frozen=True)
class LargeRequest:
    """What a large fit is to fit, apart from the rows."""

    estimator: str
    targets: LargeTargets
    settings: FitSettings
    seed: int
    parameters: dict[str, Any]
    checkpoint: Checkpoint
    sample_rows: int = SAMPLE_ROWS  # a table with no more is fitted in memory

    def summary(self, rows: int | None = None) -> TableSummary:
        """A summary of nothing yet, for a table of this many ``rows``, if that is known."""
        kept, labels = self.sample_rows, self.targets.counts_labels
        template = encoder_template(self.settings, kept, 1)  # which columns are categories is all that counts yet
        share = 1.0 if rows is None else min(1.0, _DIGESTED / max(rows, 1))
        return TableSummary(template, sample_rows=kept, seed=self.seed, labels=labels, share=share)

    def is_small(self, summary: TableSummary) -> bool:
        """Whether the sample is the whole table."""
        return summary.rows <= self.sample_rows

    def request(self, rows: GivenRows, known: KnownTargets) -> FitRequest:
        """The request of an ordinary fit."""
        rng = np.random.default_rng(self.seed)
        return FitRequest(
            self.estimator, rows, known.loss, self.settings, rng, known.classes, self.parameters, self.checkpoint
        )

    def call(self, summary: TableSummary) -> dict[str, str]:
        """What a checkpoint knows a fit by."""
        about = {
            "estimator": self.estimator,
            "rows": str(summary.rows),
            "X, y, sample_weight, offset": summary.digest(),
        }
        return about | settings_text(self.parameters)

    def read(self, part: Drawn) -> Drawn:
        """A batch with its target checked."""
        return replace(part, y=self.targets.checked(part.y))


@dataclass(frozen=True)
class Choice:
    """All that is decided before the members of a large fit are trained; every process has the same."""

    session: Session  # with a sample of the rows, and validation rows
    plan: Plan
    regularisations: list[Regularisation]
    rows: TrainingRows  # of the sample, in the columns of the table
    units: ProblemUnits
    packing: RowPacking
    targets: KnownTargets
    mean_weight: float
    threshold: float  # of the keys of rows: those up to it are validation rows
    seed: int
    digest: str  # of the whole table
    seals: Mapping[int, int]  # what each batch held
    sharing: LevelSharing | None = None  # where levels share matrices, in the sample or in all rows
    validation: TrainingRows | None = None  # in the columns of the table, where levels share matrices
    folds: SharedColumns | None = None  # once all rows were measured

    def packed(self, part: Drawn, threads: int = 0) -> Records:
        """The training rows of a batch, whose targets were checked, if it holds what it held before."""
        kept = row_keys(self.seed, part.index, len(part)) > self.threshold
        if part.weight is not None:
            kept &= part.weight > 0  # whatever the target is in other rows
        y, weight = self.targets.coded(part.y[kept], None if part.weight is None else part.weight[kept])
        y, weight = _spread(y, kept), None if weight is None else _spread(weight, kept)
        encoder, seal = self.session.draft.encoder, Seal(part)
        records = self.packing.pack_table(encoder, part.X, y, weight, part.offset, threads, seal.add_)
        if part.index in self.seals and seal.number != self.seals[part.index]:
            raise ChangedSourceError(
                "X has changed during the fit: these rows were others when they were read first; fit again while "
                "nothing writes to it"
            )
        return np.asarray(records[kept if weight is None else kept & (weight > 0)])

    def no_records(self, index: int | None = None) -> Records:
        """No records, for a batch without rows, which must have had none before."""
        if index in self.seals:
            raise ChangedSourceError("X has changed during the fit: there were rows when it was read first; fit again")
        return np.empty((0, self.packing.record_bytes), np.uint8)

    def unpacked(self, records: Records, order: NDArray[np.integer], threads: int = 0) -> TrainingRows:
        """Training rows in the columns of the table, with weights relative to their mean."""
        design, y, weight, offset = self.packing.unpack(records, order, threads)
        return TrainingRows(design, y, None if weight is None else weight / self.mean_weight, offset)

    def written(self, rows: TrainingRows, fold: Codes) -> TrainingRows:
        """Training rows in trained columns, without what their own folds say of their levels."""
        return rows if self.folds is None else replace(rows, design=self.folds.design(rows.design, fold))

    def problem(self, rows: TrainingRows) -> Problem:
        """Training rows in trained columns, in the units of the sample."""
        return self.session.draft.problem(rows, self.units)


def _spread(values: NDArray[Any], kept: NDArray[np.bool_]) -> NDArray[Any]:
    """Values of the rows that are kept, and zeros in all others."""
    whole = np.zeros(len(kept), values.dtype)
    whole[kept] = values
    return whole


def choose(request: LargeRequest, summary: TableSummary) -> Choice:
    """What pilot and trial models on the sample decide."""
    known = request.targets.resolved(summary.label_counts)
    sample = summary.sample()
    y, weight = known.coded(sample.y, sample.weight)
    held_out = max(int(_VALIDATION * len(y)), 1)

    def given(rows: NDArray[np.intp], validation: GivenRows | None = None) -> GivenRows:
        part = sample.take(rows)
        part_weight = None if weight is None else weight[rows]
        return GivenRows(part.table, y[rows], part_weight, part.offset, validation=validation, summary=summary)

    unseen, seen = np.split(np.arange(len(y)), [held_out])
    fit_request = request.request(given(seen, given(unseen)), known)
    fit_request.checkpoint.begin(lambda: request.call(summary), fit_request.rng)
    chosen = choose_members(fit_request)
    session, rows = chosen.session.sampled(_KEPT), chosen.rows.sampled(_KEPT)
    draft = session.draft
    categories = {i: column for i, column in enumerate(draft.encoder.columns) if not column.is_number}
    counts = {i: summary.level_rows(category) for i, category in categories.items()}
    sharing = LevelSharing.of(draft, chosen.rows, counts)
    shares = not sharing.is_empty or bool(draft.trained.levels)
    return Choice(
        session=session,
        plan=chosen.plan,
        regularisations=chosen.regularisations,
        rows=rows,
        units=draft.units(draft.written(chosen.rows)),
        packing=RowPacking.of(draft.encoder, known.kept_as, weight is not None, sample.offset is not None),
        targets=known,
        mean_weight=1.0 if weight is None else float(weight[seen].mean()),
        threshold=float(sample.keys[held_out - 1]),
        seed=request.seed,
        digest=summary.digest(),
        seals=summary.seals,
        sharing=sharing if shares else None,
        validation=fit_request.rows.encoded_validation(draft.encoder, request.settings.threads) if shares else None,
    )
