"""A fitted estimator, whatever it was fitted to: its pencils, what each column can do, and raw scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from lambdak._checks import FloatArray
from lambdak.eigen.packing import packed_size
from lambdak.losses import LevelPinball, Loss
from lambdak.pencil import Pencil
from lambdak.table.encoder import Design, TableEncoder
from lambdak.table.quantile_levels import with_levels
from lambdak.table.rows import optional_rows
from lambdak.training.trainer import Task, evaluate

_PREDICT_ROWS = 1 << 16  # at a time, so that memory stays bounded


class FittedModel(BaseEstimator):
    """f = start + scale Σ_m w_m λ_k(A_m(row)), with coefficients (models, P, padded width) in design coordinates."""

    encoder_: TableEncoder
    coef_: FloatArray
    theta_: list[FloatArray]  # the parameters behind the coefficients, from which training can go on
    weights_: NDArray[np.float64]
    loss_: Loss
    start_: FloatArray
    scale_: float
    dim_: int
    indices_: tuple[int, ...]
    neurons_: int
    levels_: tuple[float, ...] = ()  # of quantiles that one model predicts
    n_jobs: int | None

    @property
    def pencils_(self) -> list[Pencil]:
        """The members, in design coordinates; with several classes, one after the other for each member."""
        check_is_fitted(self, "coef_")
        return [Pencil(coef[:, : packed_size(self.dim_)], self.indices_[0]) for coef in self.coef_]

    def _raw(self, X: Any, offset: ArrayLike | None = None) -> FloatArray:
        check_is_fitted(self, "coef_")
        design = self.encoder_.transform(X, self.coef_.dtype)
        return self._scores(design, optional_rows(offset, len(design), "offset"))

    def _scores(self, design: Design, shift: FloatArray | None = None) -> FloatArray:
        """Raw scores of design rows, as predictions use them, (rows[, outputs])."""
        parts = []
        for start in range(0, max(len(design), 1), _PREDICT_ROWS):
            rows = slice(start, start + _PREDICT_ROWS)
            some = design.take(rows)
            part = None if shift is None else shift[rows]
            y = np.zeros(len(some))
            task = Task(some, y, None, part, self.loss_, self.start_, self.scale_, self.indices_, self.neurons_)
            task = self._leveled(task) if self.levels_ else task
            values = evaluate(self.coef_, self.dim_, self.indices_, task.design)
            parts.append(np.tensordot(self.weights_, task.raw(values.astype(np.float64), slice(None)), 1))
        raw = np.concatenate(parts)
        return raw.reshape(-1, len(self.levels_)) if self.levels_ else raw

    def _leveled(self, task: Task) -> Task:
        """The same task with every row once for each quantile level."""
        q, rows = len(self.levels_), len(task.design)
        design = with_levels(task.design, self.encoder_.n_design, q)
        y = np.column_stack([np.repeat(task.y, q), np.tile(self.levels_, rows)])
        weight, offset = (None if part is None else np.repeat(part, q) for part in (task.weight, task.offset))
        return replace(
            task, design=design, y=y, weight=weight, offset=offset, loss=LevelPinball(), start=task.start[:1]
        )
