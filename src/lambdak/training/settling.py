"""What shapes leave to training, such as where a valley turns: decided before pilot models, by the training rows alone.

An additive function is fitted to where the loss wants each row to move from the best constant, by least squares on the
design rows. What a column adds in it, cell by cell, has little of what other columns do, takes no model, needs no
randomness, and is there in every kind of fit: in memory, and on the sample of a large one.
"""

from __future__ import annotations

import numpy as np

from lambdak._types import Float64Array
from lambdak.eigen.lazy import cached_property
from lambdak.losses import Loss
from lambdak.model.promises import Promises
from lambdak.table.encoder import TableEncoder
from lambdak.training.negative_gradient import explained, negative_gradient
from lambdak.training.rows import TrainingRows


def settled(promises: Promises, loss: Loss, encoder: TableEncoder, rows: TrainingRows) -> Promises:
    """Return the promises with all that they leave to training."""
    if not any(shape.unsettled for shape in promises.shapes):
        return promises
    return promises.settled(encoder.columns, _Effects(loss, encoder, rows).of)


class _Effects:
    """What columns do to the predictions of training rows, by about."""

    def __init__(self, loss: Loss, encoder: TableEncoder, rows: TrainingRows) -> None:
        self._loss, self._encoder, self._rows = loss, encoder, rows
        self._mass = np.ones(len(rows.y)) if rows.weight is None else np.asarray(rows.weight, np.float64)

    def of(self, i: int) -> tuple[Float64Array, Float64Array]:
        """Return the effect at each design column of a column, in units of predictions, and the weight of its rows."""
        column = self._encoder.columns[i]
        own = slice(column.start, column.stop)
        effect = self._alone(own) if self._additive is None else self._additive[own]
        design = self._rows.design.to_sparse(self._encoder.n_design)
        return self._loss.sign * effect, np.asarray(design.T @ self._mass, np.float64).ravel()[own]

    @cached_property
    def _additive(self) -> Float64Array | None:
        """(design columns,): the additive function; None if a table has too many design columns."""
        found = explained(self._moves, self._rows.design, self._encoder.n_design, self._mass)
        return None if found is None else found.sum(axis=1)

    @cached_property
    def _moves(self) -> Float64Array:
        return negative_gradient(self._loss, self._rows)

    def _alone(self, own: slice) -> Float64Array:
        """(design columns,): the mean move of the rows at each cell of one column."""
        design = self._rows.design.to_sparse(self._encoder.n_design)[:, own]
        mass = np.maximum(design.T @ self._mass, 1e-300)
        return np.asarray(design.T @ (self._mass * self._moves.sum(axis=1)) / mass, np.float64)
