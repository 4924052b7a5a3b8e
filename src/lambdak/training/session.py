"""What all models of one fit share: the problem, the validation rows, the plan and the source of randomness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lambdak._checks import FloatArray
from lambdak.pencil.initial import anchored, gapped
from lambdak.table.quantile_levels import level_column
from lambdak.training.coordinates import design_moments
from lambdak.training.draft import Draft
from lambdak.training.effort import Regularisation
from lambdak.training.parameters import Parameters
from lambdak.training.plan import Plan
from lambdak.training.problem import Problem
from lambdak.training.settings import FitSettings
from lambdak.training.trainer import Folds, Trainer

_SMALLEST_RISE = 1e-3  # between neighbouring quantiles at the start, in units of the target's scale
_FEW_ROWS = 40  # below this, validation rows cost more than they show


@dataclass(frozen=True)
class Session:
    """One fit."""

    draft: Draft
    problem: Problem
    validation: Problem | None
    settings: FitSettings
    rng: np.random.Generator

    def plan(self) -> Plan:
        """What is requested of the columns, the quantile levels among them."""
        draft, promises, trained = self.draft, self.draft.promises, self.draft.trained
        columns, n_design, rises = trained.columns, trained.n_design, {}
        signs = {trained.first(i): draft.loss.sign * sign for i, sign in promises.monotone.items()}
        caps = {trained.first(i): cap / draft.scale for i, cap in promises.capped.items()}
        if draft.outputs.quantile_levels:
            signs[len(columns)] = 1
            rises[len(columns)] = np.maximum(np.diff(draft.anchors), _SMALLEST_RISE)
            columns.append(level_column(draft.outputs.quantile_levels, n_design))
            n_design = columns[-1].stop
        moments = design_moments(self.problem.design, n_design, self.problem.weight)
        return Plan(columns, moments, signs, promises.shape, caps, rises=rises, trained=trained)

    def folds(self, members: int, larger: float = 1) -> Folds | None:
        """Every member is validated on another fold, so that each is measured on unseen rows and all rows count."""
        copies = max(len(self.draft.outputs.quantile_levels), 1)  # the copies of a row stay together
        rows, fraction = len(self.problem.design) // copies, self.settings.validation_fraction
        if self.validation is not None or rows < _FEW_ROWS or not fraction:
            return None
        share = max(larger * fraction, 1 / rows)  # at least one row
        folds = max(round(1 / share), 2)
        fold = np.repeat(self.rng.permutation(rows) % folds, copies)
        return Folds(fold.astype(np.int32), tuple(member % folds for member in range(members)))

    def new_parameters(self, plan: Plan, regularisations: Sequence[Regularisation]) -> Parameters:
        """Parameters of models that begin at random."""
        pencils = self.problem.outputs.pencils
        parameters = plan.parameters(regularisations, self.draft.dim, pencils, self.settings.threads)
        parameters.start_(self._constants(len(regularisations) * pencils), self.rng)
        return parameters

    def trainer(self, parameters: Parameters, folds: Folds | None) -> Trainer:
        """A trainer of models with these parameters."""
        return Trainer(self.problem, parameters, self.rng, folds, self.validation)

    def _constants(self, models: int) -> FloatArray:
        """A_0 of each model at the start: a gap around a single index, or a spectrum through several anchors."""
        dim, indices = self.draft.dim, self.problem.outputs.indices
        if len(indices) > 1:
            return np.stack([anchored(dim, indices, self.draft.anchors, self.rng) for _ in range(models)])
        return np.stack([gapped(0, dim, indices[0], random_state=self.rng)[0] for _ in range(models)])
