"""All of a model but its matrices: what the table and the settings decide before training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from lambdak.losses import IDENTITY, LOG, Loss
from lambdak.model import Model, Outputs, Promises
from lambdak.model.outputs import eigenvalue_indices, outputs_of
from lambdak.pencil.spectrum import Float64Array
from lambdak.table.constraints import check_positions
from lambdak.table.encoder import TableEncoder
from lambdak.training.limits import LARGEST_LOG, check_log_mean, check_spread, within_reach
from lambdak.training.problem import Problem
from lambdak.training.rows import GivenRows, TrainingRows, row_counts
from lambdak.training.settings import FitSettings
from lambdak.training.trained_columns import TrainedColumns

_MOST_DESIGN_COLUMNS = 300_000
_FAR_OFFSET = 64.0  # of a log link: float32 keeps 5 digits below it
_RARE = -7.0  # logarithm of a mean of events below which their gradients would be lost next to Adam's 1e-8
_MOST_EVENTS = 49  # power of two near the largest target of a log link


@dataclass(frozen=True)
class Draft:
    """A model without matrices; see :class:`lambdak.model.Model` for its attributes."""

    estimator: str
    encoder: TableEncoder
    dim: int
    loss: Loss
    outputs: Outputs
    start: Float64Array
    scale: float
    promises: Promises
    classes: NDArray[Any] | None
    trained: TrainedColumns
    anchors: tuple[float, ...] = ()  # initial values of outputs in order, in units of eigenvalues

    @classmethod
    def of(cls, model: Model, trained: TrainedColumns | None = None) -> Draft:
        """The draft of a fitted model, whose training continues in the ``trained`` columns, or those of its table."""
        return cls(
            model.estimator, model.encoder, model.dim, model.loss, model.outputs, model.start, model.scale,
            model.promises, model.classes, trained or TrainedColumns.of(model.encoder.columns),
        )  # fmt: skip

    def model(self, coef: Float64Array, members: int) -> Model:
        """The model with these matrices, all members with the same weight."""
        return Model(
            estimator=self.estimator,
            encoder=self.encoder,
            coef=coef,
            dim=self.dim,
            weights=np.full(members, 1 / members),
            loss=self.loss,
            outputs=self.outputs,
            start=self.start,
            scale=self.scale,
            promises=self.promises,
            classes=self.classes,
        )

    def written(self, rows: TrainingRows) -> TrainingRows:
        """Encoded rows, written in the trained columns."""
        return replace(rows, design=self.trained.design(rows.design))

    def problem(self, rows: TrainingRows) -> Problem:
        """What is to be fitted, in units that suit training, with every row once for each level of its outputs."""
        weight = None if rows.weight is None else rows.weight.astype(np.float32)
        problem = Problem(rows.design, rows.y, weight, None, self.loss, self.start, self.scale, self.outputs)
        if self.loss.link is IDENTITY:
            problem = self._rescaled(problem, rows.offset)
        elif self.loss.link is LOG:
            problem = self._recounted(problem, rows.offset)
        return self._at_levels(problem) if self.outputs.levels else problem

    def _rescaled(self, problem: Problem, offset: Float64Array | None) -> Problem:
        """In units of eigenvalues, around the start; what is subtracted is subtracted in float64."""
        y = np.asarray(problem.y, np.float64)
        y = within_reach(y if offset is None else y - offset, problem.weight, self.start[0], self.scale, self.loss)
        loss = self.loss.resolved(y, problem.weight)
        return replace(problem, y=y, loss=loss, start=np.zeros_like(self.start), scale=1.0)

    def _recounted(self, problem: Problem, offset: Float64Array | None) -> Problem:
        """With an offset near zero, whose middle goes to the start, and rare events in units of their mean."""
        start = self.start
        if offset is not None:
            middle = _FAR_OFFSET * np.round(np.median(offset) / _FAR_OFFSET)
            start = check_log_mean(start + middle, self.loss)
            problem = replace(problem, offset=np.clip(offset - middle, -LARGEST_LOG, LARGEST_LOG).astype(np.float32))
        if start[0] >= _RARE:
            return replace(problem, start=start)
        smallest = np.frexp(problem.y.max())[1] - _MOST_EVENTS
        power = int(min(max(start[0] / np.log(2), smallest), 0.0))
        return replace(problem, y=np.ldexp(problem.y, -power), start=start - power * np.log(2))

    def _at_levels(self, problem: Problem) -> Problem:
        """One output, but every row once for each level."""
        levels = len(self.outputs.levels)
        loss, y = self.loss.at_levels(problem.y)
        weight = None if problem.weight is None else np.repeat(problem.weight, levels)
        return replace(
            problem,
            design=self.outputs.expand(problem.design, self.trained.n_design),
            y=y,
            weight=weight,
            loss=loss,
            start=problem.start[:1],
            outputs=outputs_of(loss, self.outputs.indices),
        )


def draft(
    estimator: str, given: GivenRows, loss: Loss, classes: NDArray[Any] | None, settings: FitSettings
) -> tuple[Draft, TrainingRows]:
    """The draft of a new model, and the rows it is fitted to."""
    encoder = _encoder(given, settings)
    rows = given.encoded(encoder, settings.threads)
    promises = Promises.requested(
        encoder.columns, settings.monotonic_cst, settings.max_influence, settings.shape
    )  # fmt: skip
    loss = loss.resolved(rows.y, rows.weight, rows.offset)
    start = loss.start(rows.y, rows.weight, rows.offset)
    scale = check_spread(loss.scale(rows.y, rows.weight, rows.offset), loss)
    dim = settings.recipe.dim
    outputs = outputs_of(loss, eigenvalue_indices(dim, settings.shape, settings.eig_idx))
    anchors = tuple(((start - np.median(start)) / scale).tolist())
    if outputs.in_order:  # they differ by their levels alone, so that their order is certain
        start = np.full_like(start, np.median(start))
    trained = TrainedColumns.of(encoder.columns)
    return Draft(estimator, encoder, dim, loss, outputs, start, scale, promises, classes, trained, anchors), rows


def _encoder(given: GivenRows, settings: FitSettings) -> TableEncoder:
    counts = row_counts(given.weight)
    labels = () if issparse(given.X) else given.X.labels
    for name in ("monotonic_cst", "max_influence"):
        check_positions(getattr(settings, name), labels, name)
    rows, width = given.X.shape
    rows = rows if counts is None else int(counts.sum())
    knots = settings.recipe.n_knots(rows, width) if settings.n_knots == "auto" else settings.n_knots
    clamp = settings.shape is None
    categories = {"categorical_features": settings.categorical_features, "max_categories": settings.max_categories}
    encoder = TableEncoder(knots, **categories, clamp=clamp).fit(given.X, counts)
    if encoder.n_design > _MOST_DESIGN_COLUMNS:
        raise ValueError(
            f"X must encode to at most {_MOST_DESIGN_COLUMNS} design columns (knots and levels of all columns "
            f"together); got {encoder.n_design}: use fewer columns, or lower n_knots or max_categories"
        )
    return encoder
