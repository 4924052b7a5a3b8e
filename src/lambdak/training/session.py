"""What is asked for, and what all models of one fit share: problem, validation rows, plan and source of randomness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak._types import FloatArray
from lambdak.losses import Loss
from lambdak.pencil.initial import gapped
from lambdak.shapes.patterns import all_spreads
from lambdak.shapes.spreads import Spread, Steps
from lambdak.table.curve_column import level_column
from lambdak.training.balance import check_balance
from lambdak.training.checkpoint import Checkpoint, NoCheckpoint, digest, rows_digests, settings_text
from lambdak.training.coordinates import Moments, design_moments
from lambdak.training.draft import Draft
from lambdak.training.effort import Regularisation, Schedule
from lambdak.training.parameters import Parameters
from lambdak.training.plan import Plan
from lambdak.training.problem import Folds, Problem
from lambdak.training.rows import GivenRows, TrainingRows
from lambdak.training.scoring import scoring_of
from lambdak.training.settings import FitSettings
from lambdak.training.trainer import Trainer

# Between neighbouring outputs in order at the start, in units of the target's scale: above rounding in float32.
_SMALLEST_RISE = 1e-3
# Members with the same validation rows, where their mean is to be calibrated: with none, quantiles covered too little
# (benchmarks/quantiles.py).
_TEAM = 2
# Distinct targets that are spread evenly over the folds: more are numbers, of which a random fold has all sizes.
_MOST_CLASSES = 100
_FEW_ROWS = 40  # below this, a fold has a row or two, and validation rows cost more than they show


@dataclass(frozen=True)
class FitRequest:
    """What is to be fitted: rows, a loss, settings; ``classes`` are the labels behind the codes of a classifier.

    ``parameters`` are the settings as the user gave them, by which a ``checkpoint`` knows the call that it belongs to.
    """

    estimator: str
    rows: GivenRows
    loss: Loss
    settings: FitSettings
    rng: np.random.Generator
    classes: NDArray[Any] | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    checkpoint: Checkpoint = field(default_factory=NoCheckpoint)

    def __post_init__(self) -> None:
        settled = self.settings.of_rows(self.rows.n_rows, self.rows.validation is not None)
        object.__setattr__(self, "settings", settled)

    def begin(self, *continued: Any) -> None:
        """Begin, or take up what a killed process left; ``continued`` is what the training continues from."""
        if self.settings.balance:
            check_balance(self.loss)

        def call() -> dict[str, str]:
            model = {"estimator": self.estimator, "classes": digest(self.classes), "model": digest(*continued)}
            return model | settings_text(self.parameters) | rows_digests(self.rows)

        self.checkpoint.begin(call, self.rng)


@dataclass(frozen=True)
class Session:
    """What all models of one fit share: the problem, validation rows, settings and randomness."""

    draft: Draft
    problem: Problem
    validation: Problem | None
    settings: FitSettings
    rng: np.random.Generator

    @classmethod
    def of(cls, draft: Draft, rows: TrainingRows, request: FitRequest) -> Session:
        """Return the session of a draft, with its rows as they are trained on, and the validation rows of a request."""
        validation = request.rows.encoded_validation(draft.encoder, request.settings.threads)
        measured = None if validation is None else draft.problem(draft.written(validation))
        return cls(draft, draft.problem(rows), measured, request.settings, request.rng)

    def plan(self) -> Plan:
        """What is requested of the columns, the levels of outputs in order among them."""
        n_design = self.draft.trained.n_design + len(self.draft.outputs.levels)
        problem = self.problem
        weight = None if problem.weight is None else np.repeat(problem.weight, problem.copies)
        return planned(self.draft, design_moments(problem.design, n_design, weight))

    @property
    def copies(self) -> int:
        """Rows of the problem for each row of the table: one per level, unless the loss takes all levels together."""
        return 1 if self.problem.copies > 1 else max(len(self.draft.outputs.levels), 1)

    def sampled(self, most: int) -> Session:
        """Session of a fit with rows evenly spread over all, if there are more than ``most``."""
        rows = self.problem.n_rows // self.copies
        if rows <= most:
            return self
        chosen = np.linspace(0, rows, most, endpoint=False).astype(np.int32)
        rows_and_copies = (self.copies * chosen[:, None] + np.arange(self.copies)).astype(np.int32)
        return replace(self, problem=self.problem.take(rows_and_copies.ravel()))

    def folds(self, members: int, larger: float = 1) -> Folds | None:
        """Every member is validated on another fold, so that each is measured on unseen rows and all rows count."""
        rows, fraction = self.problem.n_rows // self.copies, self.settings.validation_fraction
        if self.validation is not None or rows < _FEW_ROWS or not fraction:
            return None
        share = max(larger * fraction, 1 / rows)  # at least one row
        folds = max(round(1 / share), 2)
        fold = np.empty(rows, np.int32)
        fold[self._by_class(rows)] = np.arange(rows) % folds
        team = min(_TEAM, members) if self.draft.outputs.quantile_levels else 1
        return Folds(np.repeat(fold, self.copies), tuple(member // team % folds for member in range(members)))

    def _by_class(self, rows: int) -> NDArray[np.intp]:
        """The rows in random order, but classes and small counts one after the other, so that every fold has all.

        The rarest is first: the few rows that it may have go to the first folds, on which models are validated.
        """
        order, y = self.rng.permutation(rows), self.problem.y
        target = y.reshape(rows, -1)[:, 0] if y.ndim > 1 else y.reshape(rows, self.copies).sum(axis=1)
        values, codes, counts = np.unique(target, return_inverse=True, return_counts=True)
        if len(values) > _MOST_CLASSES:
            return order
        return np.asarray(order[np.argsort(counts[codes][order] + codes[order] / len(values), kind="stable")])

    def new_parameters(self, plan: Plan, regularisations: Sequence[Regularisation]) -> Parameters:
        """Parameters of models that begin at random."""
        pencils = self.problem.pencils
        parameters = plan.parameters(regularisations, self.draft.dim, pencils, self.settings.threads)
        parameters.start_(self._constants(len(regularisations) * pencils), self.rng)
        return parameters

    def members(self, parameters: Parameters, count: int) -> Trainer:
        """Return the trainer of so many members with these parameters, each measured on a fold of its own."""
        trainer = Trainer(self.problem, parameters, self.rng, self.folds(count), self.validation)
        trainer.scoring = scoring_of(self.settings.scoring, self.draft)
        return trainer

    def trained(
        self, plan: Plan, regularisations: Sequence[Regularisation], folds: Folds | None, schedule: Schedule
    ) -> Trainer:
        """Return the trainer of new models with these regularisations, after their training."""
        parameters = self.new_parameters(plan, regularisations)
        trainer = Trainer(self.problem, parameters, self.rng, folds, self.validation)
        for _ in trainer.run(schedule):
            pass
        return trainer

    def _constants(self, models: int) -> FloatArray:
        """A_0 of each model at the start, with a gap around the eigenvalue that is read."""
        dim, index = self.draft.dim, self.problem.outputs.indices[0]
        return np.stack([gapped(0, dim, index, random_state=self.rng)[0] for _ in range(models)])


def planned(draft: Draft, moments: Moments) -> Plan:
    """The plan of a draft; the anchors of outputs in order only say where a new training begins."""
    promises, trained, levels = draft.promises, draft.trained, draft.outputs.levels
    columns, rises = trained.columns, {}
    spread = trained_spreads(draft)
    caps = {trained.first(i): cap / draft.reach(i) for i, cap in promises.capped.items() if cap}
    groups = {tuple(map(trained.first, group)): cap / draft.reach(*group) for group, cap in promises.groups if cap}
    slopes = [
        (tuple((trained.first(i), weight) for i, weight in own), limit / draft.reach(*(i for i, _ in own)))
        for own, limit in promises.slopes(draft.encoder.columns)
    ]
    if levels:
        rises[len(columns)] = np.maximum(np.diff(draft.anchors or (0.0,) * len(levels)), _SMALLEST_RISE)
        columns.append(level_column(levels, trained.n_design))
        spread.append(Steps(len(columns) - 1, columns[-1], 1, 0))
    return Plan(
        columns, moments, spread, caps, rises=rises, groups=groups, slopes=slopes, trained=trained, terms=draft.terms,
        dropped=frozenset(chain(*(trained.positions(i) for i in promises.without_influence))),
    )  # fmt: skip


def trained_spreads(draft: Draft) -> list[Spread]:
    """How shapes spread the trained columns, by their positions among these."""
    trained = draft.trained
    found = all_spreads(draft.promises.shapes, [parts[0] for parts in trained.parts], draft.loss.sign)
    return [own.moved([trained.first(i) for i in own.owners]) for own in found]
