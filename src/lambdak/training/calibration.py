"""What left-out rows say of a distribution: its tails, and the levels that cover shares of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lambdak.losses import Predicts
from lambdak.model import Model
from lambdak.model.calibration import HELD_OUT, LEFT_OUT, counted, tails_of
from lambdak.model.distribution import group_column
from lambdak.training.draft import Draft
from lambdak.training.rows import TrainingRows
from lambdak.training.trainer import Trainer


@dataclass(frozen=True)
class Groups:
    """The category whose levels are calibrated apart, and the code of each row that members are measured on."""

    column: int
    codes: NDArray[np.intp]

    @classmethod
    def of(cls, key: Any, draft: Draft, measured: TrainingRows) -> Self | None:
        """The groups of a column by its name or position; None where no column is named."""
        if key is None:
            return None
        column = group_column(key, draft.encoder, draft.promises)
        codes = draft.trained.codes(measured.design, column)
        return cls(column, np.where(codes == draft.encoder.columns[column].width, -1, codes))


def with_calibration(
    model: Model, trainer: Trainer, draft: Draft, shift: NDArray[np.float64] | None, groups: Groups | None = None
) -> Model:
    """The model with what rows say that the members of a team have not seen; of other losses, the model itself.

    Where members have seen all rows, these decide about the tails alone.
    """
    if model.loss.predicts is not Predicts.QUANTILES:
        return model
    levels = draft.outputs.quantile_levels
    raw, rows, problem = trainer.unseen()
    teams = trainer.teams()
    scores = raw[teams].mean(axis=1, dtype=np.float64).reshape(-1, len(levels))
    moved = draft.start + draft.scale * (scores if shift is None else scores + shift)
    quantiles = np.asarray(draft.loss.predict(moved), np.float64)

    def of_rows(values: NDArray[Any]) -> NDArray[np.float64]:
        """Numbers of the rows that teams have not seen, without their copies."""
        every = np.broadcast_to(values[rows], raw.shape)[teams[:, 0]]
        return np.asarray(every.reshape(-1, len(levels))[:, 0], np.float64)

    y = draft.start[0] + draft.scale * of_rows(problem.y[:, 0])
    weight = None if problem.weight is None else of_rows(problem.weight)
    model = model.replace(calibration=tails_of(levels, quantiles, y, weight))
    if not trainer.n_unseen or model.calibration is None:
        return model
    codes = None if groups is None else of_rows(np.repeat(groups.codes, len(levels))).astype(np.intp)
    source = LEFT_OUT if trainer.leaves_rows_out else HELD_OUT
    column = None if groups is None else groups.column
    return model.replace(
        calibration=counted(model.calibration, model.level_curve, quantiles, y, weight, codes, column, source)
    )
