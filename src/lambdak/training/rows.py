"""Rows to train on: a table with its targets as a user gave them, and encoded, in an order of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import check_per_row
from lambdak._types import Float64Array
from lambdak.losses import Loss
from lambdak.model.rows import row_offset
from lambdak.table.design import Design
from lambdak.table.encoder import TableEncoder
from lambdak.table.rows import Rows, optional_rows, weights_in_units

if TYPE_CHECKING:
    from lambdak.table.large.summary import TableSummary

# Of the rows, where equal ones become one: where a tenth is repeated, copies in other folds made weak regularisation
# look good; where most are, one row would be in one fold.
_MOSTLY_DIFFERENT = 0.9
_COUNTED_ROWS = 5_000  # up to this many, a weight is an exact repetition; it bounds the time of sorting whole rows


@dataclass(frozen=True, eq=False)
class GivenRows(Rows):
    """Rows to train on: targets (codes of classes) that were checked, weights in units, and offsets for exposures.

    Where the rows are a sample of a larger table, its ``summary`` knows what columns it has.
    """

    y: NDArray[Any]
    validation: GivenRows | None = None
    summary: TableSummary | None = None

    @classmethod
    def of(
        cls, rows: Rows, loss: Loss, target: NDArray[Any], validation: GivenRows | None = None, suffix: str = ""
    ) -> GivenRows:
        """Rows that were read, with a target that was checked; the loss says whether they may have an offset."""
        offset = row_offset(loss, rows.offset, rows.exposure, len(rows), suffix)
        return cls(rows.X, target, rows.weight, offset, validation=validation)

    def __post_init__(self) -> None:
        if self.weight is not None:
            object.__setattr__(self, "weight", weights_in_units(self.weight))

    def encoded(self, encoder: TableEncoder, threads: int = 0, like: TrainingRows | None = None) -> TrainingRows:
        """Design rows of the table, with their targets, weights and offsets; ``like`` those of another encoder.

        They are then the same rows in the same order, so that folds and losses of both are of the same rows.
        """
        design = encoder.transform(self.X, threads=threads)
        if like is not None:
            return replace(like, design=design if like.places is None else design.take(like.places))
        offset = optional_rows(self.offset, len(design), "offset")
        return TrainingRows(design, _checked_targets(self.y, len(design), "y"), self.weight, offset).counted()

    def encoded_validation(self, encoder: TableEncoder, threads: int = 0) -> TrainingRows | None:
        """The validation rows, if some were given."""
        if self.validation is None:
            return None
        unseen = self.validation
        if (self.offset is None) != (unseen.offset is None):
            one, other = ("offset", "offset_val") if unseen.offset is None else ("offset_val", "offset")
            raise ValueError(f"{one} must be given with {other}, or both as exposure; got {one} alone")
        design = encoder.transform(unseen.X, threads=threads)
        target = _checked_targets(unseen.y, len(design), "y_val", "_val")
        return TrainingRows(design, target, unseen.weight, optional_rows(unseen.offset, len(design), "offset_val"))

    def fitted(self, template: TableEncoder) -> TableEncoder:
        """The encoder with the settings of the ``template`` that suits these rows, or all rows of a larger table."""
        if self.summary is not None:
            return self.summary.encoder(template)
        return template.fit(self.X, row_counts(self.weight))

    @property
    def n_rows(self) -> int:
        """Rows that count, of the larger table if these are a sample."""
        if self.summary is not None:
            return self.summary.rows
        counts = row_counts(self.weight)
        return int(self.X.shape[0] if counts is None else counts.sum())


def _checked_targets(y: NDArray[Any], rows: int, name: str, suffix: str = "") -> NDArray[Any]:
    """Return targets, each a number or (of times) several, if there is one for each row."""
    check_per_row(y if y.ndim == 1 else y[:, 0], rows, name, suffix)
    return y


@dataclass(frozen=True)
class TrainingRows:
    """Design rows with their targets, weights and offsets."""

    design: Design
    y: NDArray[Any]
    weight: Float64Array | None
    offset: Float64Array | None
    places: NDArray[np.intp] | None = None  # among the rows that were given, if these are others than all in order

    @classmethod
    def joined(cls, parts: Sequence[TrainingRows]) -> TrainingRows:
        """The rows of all parts, one after the other."""
        ids, weights = (np.concatenate([getattr(part.design, name) for part in parts]) for name in ("ids", "weights"))
        y, weight, offset = (
            None if getattr(parts[0], name) is None else np.concatenate([getattr(part, name) for part in parts])
            for name in ("y", "weight", "offset")
        )
        return cls(Design(ids, weights), np.asarray(y), weight, offset)

    def counted(self) -> TrainingRows:
        """The rows of a small table, sorted, each as often as its weight says: a weight is an exact repetition.

        A few equal rows become one, so that none is unseen while its copy is trained on. Where many are equal they stay
        apart: one row would be in one fold, and so could be all that is known of a level.
        """
        rows = len(self.design)
        if rows > _COUNTED_ROWS:
            return self
        mass = np.ones(rows) if self.weight is None else self.weight
        extra = [self.y.astype(np.float64), np.zeros(rows) if self.offset is None else self.offset]
        table = np.column_stack([self.design.ids, self.design.weights, *extra])
        order = np.lexsort(table.T[::-1])
        order = order[mass[order] > 0]
        first = np.append(True, (np.diff(table[order], axis=0) != 0).any(axis=1))
        whole = bool((mass == np.floor(mass)).all())
        if whole and first.sum() >= _MOSTLY_DIFFERENT * mass.sum():
            total = np.add.reduceat(mass[order], np.flatnonzero(first)).astype(np.float64)
            return self._take(order[first], None if (total == 1).all() else total)
        if whole and mass.sum() <= _COUNTED_ROWS:
            return self._take(np.repeat(order, mass[order].astype(np.intp)), None)
        return self._take(order, mass[order])

    def sampled(self, most: int) -> TrainingRows:
        """Rows evenly spread over all, if there are more than ``most``; else all of them."""
        if len(self.design) <= most:
            return self
        chosen = np.linspace(0, len(self.design), most, endpoint=False).astype(np.intp)
        return self._take(chosen, None if self.weight is None else self.weight[chosen])

    def _take(self, rows: NDArray[np.intp], weight: Float64Array | None) -> TrainingRows:
        offset = None if self.offset is None else self.offset[rows]
        places = rows if self.places is None else self.places[rows]
        return TrainingRows(self.design.take(rows), self.y[rows], weight, offset, places)


def row_counts(weight: Float64Array | None) -> Float64Array | None:
    """Whole weights count rows; with others a row is still one row, which matters more or less."""
    return weight if weight is None or (weight == np.floor(weight)).all() else np.sign(weight)
