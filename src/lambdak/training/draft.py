"""All of a model but its matrices: what the table and the settings decide before training."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from lambdak._types import Float64Array
from lambdak.losses import IDENTITY, LOG, Loss
from lambdak.model import Model, Outputs, Promises
from lambdak.model.outputs import eigenvalue_indices, outputs_of
from lambdak.model.rows import check_offset
from lambdak.shapes import Anchored
from lambdak.shapes.requested import (
    all_straight,
    check_labels,
    most_knots,
    requested_nodes,
    steep_columns,
    straight_columns,
)
from lambdak.table.curve_column import at_levels
from lambdak.table.encoder import TableEncoder
from lambdak.table.rows import rows_shown
from lambdak.training.effort import JOINT_TERMS, MOST_PAIRS, MOST_TERMS
from lambdak.training.limits import LARGEST_LOG, check_log_mean, check_spread, within_reach
from lambdak.training.negative_gradient import interaction_strengths
from lambdak.training.problem import Problem
from lambdak.training.rows import GivenRows, TrainingRows
from lambdak.training.settings import FitSettings
from lambdak.training.settling import settled
from lambdak.training.terms import Role, Terms
from lambdak.training.trained_columns import TrainedColumns

# Of a table: matrices of all members for more take gigabytes (300,000 columns, dim 15 and six members: .9 GB in
# float32).
_MOST_DESIGN_COLUMNS = 300_000
_FAR_OFFSET = 64.0  # of a log link: float32 keeps 5 digits below it
_RARE = -7.0  # logarithm of a mean of events below which their gradients would be lost next to Adam's 1e-8
# Power of two near the largest target of a log link: its product with a gradient stays within float32.
_MOST_EVENTS = 49


class ProblemUnits(NamedTuple):
    """In which units a problem is trained: its loss, start and scale, and what becomes of offsets and counts."""

    loss: Loss
    start: Float64Array
    scale: float
    middle: float = 0.0  # subtracted from offsets
    power: int = 0  # of two, that counts are divided by


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
    terms: Terms | None = None  # where not all columns may interact

    @classmethod
    def of(cls, model: Model, trained: TrainedColumns | None = None, terms: Terms | None = None) -> Draft:
        """The draft of a fitted model, whose training continues in the ``trained`` columns, or those of its table."""
        scale = model.scale if terms is None else model.scale / len(terms)
        return cls(
            model.estimator, model.encoder, model.dim, model.loss, model.outputs, model.start, scale,
            model.promises, model.classes, trained or TrainedColumns.of(model.encoder.columns), terms=terms,
        )  # fmt: skip

    @property
    def end(self) -> int:
        """1 if the raw score must be the last eigenvalue, -1 if it must be the first, 0 if it may be any."""
        return self.promises.end(self.loss.sign)

    @property
    def n_terms(self) -> int:
        """How many eigenvalues of a member are summed up."""
        return 1 if self.terms is None else len(self.terms)

    def reach(self, *columns: int) -> float:
        """Raw score per unit of an eigenvalue in each of the terms that one of these columns is in: they add up."""
        return self.scale * (1 if self.terms is None else self.terms.count(*columns))

    def model(self, coef: Float64Array, members: int) -> Model:
        """The model with these matrices, all members with the same weight; each of their terms becomes a member."""
        n_members = members * self.n_terms
        return Model(
            estimator=self.estimator,
            encoder=self.encoder,
            coef=coef,
            dim=self.dim,
            weights=np.full(n_members, 1 / n_members),
            loss=self.loss,
            outputs=self.outputs,
            start=self.start,
            scale=self.scale * self.n_terms,
            promises=self.promises,
            classes=self.classes,
        )

    def written(self, rows: TrainingRows) -> TrainingRows:
        """Encoded rows, written in the trained columns."""
        return replace(rows, design=self.trained.design(rows.design))

    def problem(self, rows: TrainingRows, units: ProblemUnits | None = None) -> Problem:
        """What is to be fitted, in units that suit training, with every row once for each level of its outputs.

        Without ``units`` they are those of these rows.
        """
        units = units or self.units(rows)
        weight = None if rows.weight is None else rows.weight.astype(np.float32)
        how = (units.loss, units.start, units.scale, self.outputs, self.n_terms)
        problem = Problem(rows.design, rows.y, weight, None, *how)
        if self.loss.link is IDENTITY:
            problem = replace(problem, y=self._rescaled(rows), subtracted=rows.offset)
        elif self.loss.link is LOG:
            y = np.ldexp(problem.y, -units.power) if units.power else problem.y
            problem = replace(problem, y=y, power=units.power)
        if self.loss.link is not IDENTITY and rows.offset is not None:
            offset = np.clip(rows.offset - units.middle, -LARGEST_LOG, LARGEST_LOG)
            problem = replace(problem, offset=offset.astype(np.float32))
        if self.loss.times:
            return self._at_times(problem)
        return self._at_levels(problem) if self.outputs.levels else problem

    def units(self, rows: TrainingRows) -> ProblemUnits:
        """The units that suit these rows."""
        if self.loss.link is IDENTITY:
            weight = None if rows.weight is None else rows.weight.astype(np.float32)
            return ProblemUnits(self.loss.resolved(self._rescaled(rows), weight), np.zeros_like(self.start), 1.0)
        if self.loss.link is LOG:
            return self._counted(rows)
        return ProblemUnits(self.loss, self.start, self.scale)

    def _rescaled(self, rows: TrainingRows) -> Float64Array:
        """Targets in units of eigenvalues, around the start; what is subtracted is subtracted in float64."""
        y = np.asarray(rows.y, np.float64)
        y = y if rows.offset is None else y - rows.offset
        return within_reach(y, rows.weight, self.start[0], self.scale, self.loss)

    def _counted(self, rows: TrainingRows) -> ProblemUnits:
        """Return units with offsets near zero, their middle in the start, and rare events in units of their mean."""
        start, middle = self.start, 0.0
        if rows.offset is not None:
            middle = float(_FAR_OFFSET * np.round(np.median(rows.offset) / _FAR_OFFSET))
            start = check_log_mean(start + middle, self.loss)
        if start[0] >= _RARE:
            return ProblemUnits(self.loss, start, self.scale, middle)
        smallest = np.frexp(rows.y.max())[1] - _MOST_EVENTS
        power = int(min(max(start[0] / np.log(2), smallest), 0.0))
        return ProblemUnits(self.loss, start - power * np.log(2), self.scale, middle, power)

    def _at_levels(self, problem: Problem) -> Problem:
        """One output, but every row once for each level."""
        levels = len(self.outputs.levels)
        loss, y = self.loss.at_levels(problem.y)
        weight, offset = (
            None if values is None else np.repeat(values, levels) for values in (problem.weight, problem.offset)
        )
        return replace(
            problem,
            design=self.outputs.expand(problem.design, self.trained.n_design),
            y=y,
            weight=weight,
            offset=offset,
            loss=loss,
            start=problem.start[:1],
            outputs=outputs_of(loss, self.outputs.indices),
        )

    def _at_times(self, problem: Problem) -> Problem:
        """Every row once for each knot of time that its loss needs, which takes all of them together."""
        points = self.loss.at_times(problem.y)
        constant = None
        if self.anchors:
            constant = (self.start + self.scale * np.array(self.anchors))[points.knots].astype(np.float32)
        return replace(
            problem,
            design=at_levels(problem.design, self.trained.n_design, points.knots),
            y=points.target,
            offset=self.loss.least_rise[points.knots].astype(np.float32),
            loss=points.loss,
            start=problem.start[:1],
            outputs=outputs_of(points.loss, self.outputs.indices),
            copies=points.knots.shape[1],
            constant=constant,
        )


def draft(
    estimator: str,
    given: GivenRows,
    loss: Loss,
    classes: NDArray[Any] | None,
    settings: FitSettings,
    like: TrainingRows | None = None,
) -> tuple[Draft, TrainingRows]:
    """The draft of a new model, and the rows it is fitted to, in the order of those of another draft if given."""
    if given.offset is not None:
        check_offset(loss)
    encoder = _encoder(given, settings)
    promises = Promises.requested(
        encoder.columns, settings.monotonic_cst, settings.max_influence, settings.shape, settings.interaction_cst,
        settings.constraints,
    )  # fmt: skip
    encoder = _with_lines_through_anchors(encoder, promises)
    rows = given.encoded(encoder, settings.threads, like)
    loss = promises.limited(loss.resolved(rows.y, rows.weight, rows.offset))
    _warn_of_targets_outside(rows, promises, loss)
    promises = settled(promises, loss, encoder, rows)
    start = loss.start(rows.y, rows.weight, rows.offset)
    scale = check_spread(loss.scale(rows.y, rows.weight, rows.offset), loss)
    dim = settings.recipe.dim
    outputs = outputs_of(
        loss, eigenvalue_indices(dim, promises.end(loss.sign, encoder.feature_names), settings.eig_idx)
    )
    anchors = tuple(((start - np.median(start)) / scale).tolist())
    if outputs.in_order:  # they differ by their levels alone, so that their order is certain
        start = np.full_like(start, np.median(start))
    trained = TrainedColumns.of(encoder.columns)
    return Draft(estimator, encoder, dim, loss, outputs, start, scale, promises, classes, trained, anchors), rows


def kept_apart(
    sketch: Draft, rows: TrainingRows, settings: FitSettings, terms: Terms | None = None
) -> tuple[Draft, FitSettings]:
    """A draft and settings whose members keep columns apart that must not interact, in these ``terms`` or new ones."""
    columns, interactions = sketch.encoder.columns, sketch.promises.interactions
    if interactions is None or sketch.promises.scalar(sketch.loss.sign):
        sketch = _without_interactions(sketch)
        return sketch, settings if sketch.terms is None else settings.with_terms(len(sketch.terms))
    apart = bool(sketch.outputs.quantile_levels)  # multiples of I shift all quantiles alike
    if interactions.additive and not apart:
        settings = settings.additive()
    else:
        settings = settings.of_pairs() if interactions.pairs and not sketch.outputs.levels else settings
        strengths = partial(interaction_strengths, sketch.loss, columns, rows)
        most = MOST_PAIRS if interactions.pairs else MOST_TERMS
        terms = terms or Terms.of(interactions, len(columns), apart, most, strengths)
        settings = settings.with_terms(len(terms))
    if terms is not None:
        _check_together(sketch, terms)
    outputs = outputs_of(sketch.loss, eigenvalue_indices(settings.recipe.dim, sketch.end, settings.eig_idx))
    return replace(sketch, dim=settings.recipe.dim, outputs=outputs, terms=terms), settings


def _check_together(sketch: Draft, terms: Terms) -> None:
    """Refuse shapes about several columns of which no term has all: what moves them together could move none."""
    columns, names = sketch.encoder.columns, sketch.encoder.feature_names
    for shape in sketch.promises.shapes:
        for own in shape.joined(columns):
            if len(own) > 1 and not (terms.roles(len(columns))[:, list(own)] != Role.ZERO).all(axis=1).any():
                raise ValueError(
                    f"interactions must have a group with all columns of {shape.named(names)!r}: add one, or leave one "
                    "of the two out"
                )


def _without_interactions(sketch: Draft) -> Draft:
    """A draft with the terms that its shapes need where no interactions were requested."""
    terms = terms_of_shapes(sketch.promises, sketch.loss.sign)
    if terms is None or sketch.dim == 1:
        return sketch
    if terms.alone and sketch.promises.interactions is not None:
        names = [sketch.encoder.feature_names[i] for i in terms.alone]
        raise ValueError(
            f"interactions must be left out where columns bend both ways, because {names} interact with no others: use "
            "'no_interactions', or one kind only"
        )
    return replace(sketch, terms=terms)


def terms_of_shapes(promises: Promises, flip: int) -> Terms | None:
    """Return the terms that shapes need beside interactions, for a loss of this sign; None if they need none.

    Columns that bend the other way than the raw score are multiples of I. Columns that work together move an eigenvalue
    along one direction, which is a function of a single sum: two of them express what one cannot.
    """
    scalar = promises.scalar(flip)
    together = any(own.joint for own in promises.shapes)
    if not (scalar or together):
        return None
    rest = tuple(i for i in range(promises.columns) if i not in scalar)
    return Terms((rest,) * (JOINT_TERMS if together else 1), tuple(sorted(scalar)))


def _warn_of_targets_outside(rows: TrainingRows, promises: Promises, loss: Loss) -> None:
    """Say which rows have targets that no prediction reaches."""
    wanted = promises.output_range
    if wanted is None or loss.n_classes:
        return
    outside = (rows.y < wanted.lowest) | (rows.y > wanted.highest)
    if outside.any():
        warnings.warn(
            f"{int(outside.sum()):,} targets are outside of {wanted!r}, such as {rows.y[outside.argmax()]:g} at "
            f"{rows_shown(outside)}: no prediction reaches them",
            UserWarning,
            stacklevel=2,
        )


def _with_lines_through_anchors(encoder: TableEncoder, promises: Promises) -> TableEncoder:
    """The encoder with linear columns that are zero where they add nothing."""
    anchors: list[Anchored] = promises.of(Anchored)
    if encoder.from_sparse and (wrong := next((own for own in anchors if own.number), None)):
        raise ValueError(f"{wrong.named(encoder.feature_names)!r} must name the cell 0, because X is sparse")
    return encoder.centered({own.positions[0]: own.number for own in anchors if own.number is not None})


def encoder_template(settings: FitSettings, rows: int, columns: int) -> TableEncoder:
    """An encoder that is not fitted, for a table of this shape."""
    knots = settings.recipe.n_knots(rows, columns) if settings.n_knots == "auto" else settings.n_knots
    constraints = settings.constraints
    return TableEncoder(
        knots,
        settings.categorical_features,
        max_categories=settings.max_categories,
        clamp=not all_straight(settings.shape, constraints),
        straight=straight_columns(constraints),
        steep=steep_columns(constraints),
        nodes=requested_nodes(constraints),
        most_knots=most_knots(constraints),
    )


def _encoder(given: GivenRows, settings: FitSettings) -> TableEncoder:
    labels = () if issparse(given.X) else given.X.labels
    check_labels(settings, labels)
    encoder = given.fitted(encoder_template(settings, given.n_rows, given.X.shape[1]))
    if encoder.n_design > _MOST_DESIGN_COLUMNS:
        raise ValueError(
            f"X must encode to at most {_MOST_DESIGN_COLUMNS} design columns (knots and levels of all columns "
            f"together); got {encoder.n_design}: use fewer columns, or lower n_knots or max_categories"
        )
    return encoder
