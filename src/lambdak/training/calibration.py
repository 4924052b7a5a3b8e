"""What left-out rows say of a distribution: its tails, and the levels that cover shares of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from lambdak._types import Float64Array
from lambdak.losses import Predicts
from lambdak.model import Model
from lambdak.model.calibration import HELD_OUT, LEFT_OUT, Calibration, counted, tails_of
from lambdak.model.distribution import group_column
from lambdak.model.level_curve import LevelCurve
from lambdak.training.draft import Draft
from lambdak.training.problem import RowIds
from lambdak.training.rows import TrainingRows
from lambdak.training.trainer import Trainer

_LEAST = 1e-15  # of a level, whose normal score is finite


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
    teams = trainer.teams()
    together = _Unseen.of(trainer, draft, shift, groups, teams)
    tails = tails_of(draft.outputs.quantile_levels, together.quantiles, together.y, together.weight)
    model = model.replace(calibration=tails)
    if not trainer.n_unseen:
        return model
    source = LEFT_OUT if trainer.leaves_rows_out else HELD_OUT
    found = together.counted(tails, model.level_curve, groups, source)
    size = teams.shape[1]
    if 1 < size < trainer.members:
        every = np.arange(trainer.members, dtype=np.int32)[:, None]
        alone = _Unseen.of(trainer, draft, shift, groups, every).counted(tails, model.level_curve, groups, source)
        found = _of_all(found, alone, (1 / size - 1 / trainer.members) / (1 - 1 / size))
    return model.replace(calibration=found)


class _Unseen(NamedTuple):
    """Rows that teams have not seen: their quantiles (rows, levels), targets, weights, and codes of groups."""

    quantiles: Float64Array
    y: Float64Array
    weight: Float64Array | None
    codes: NDArray[np.intp] | None

    @classmethod
    def of(
        cls, trainer: Trainer, draft: Draft, shift: NDArray[np.float64] | None, groups: Groups | None, teams: RowIds
    ) -> Self:
        """The rows of teams (teams, n), whose members have not seen the same ones, with the mean of their scores."""
        levels = draft.outputs.quantile_levels
        raw, rows, problem = trainer.unseen()
        scores = raw[teams].mean(axis=1, dtype=np.float64).reshape(-1, len(levels))
        moved = draft.start + draft.scale * (scores if shift is None else scores + shift)

        def of_rows(values: NDArray[Any]) -> Float64Array:
            """Numbers of these rows, without their copies."""
            every = np.broadcast_to(values[rows], raw.shape)[teams[:, 0]]
            return np.asarray(every.reshape(-1, len(levels))[:, 0], np.float64)

        codes = None if groups is None else of_rows(np.repeat(groups.codes, len(levels))).astype(np.intp)
        y = draft.start[0] + draft.scale * of_rows(problem.y[:, 0])
        weight = None if problem.weight is None else of_rows(problem.weight)
        return cls(np.asarray(draft.loss.predict(moved), np.float64), y, weight, codes)

    def counted(self, tails: Calibration, curve: LevelCurve, groups: Groups | None, source: str) -> Calibration:
        """Tails with the levels that cover shares of these rows."""
        column = None if groups is None else groups.column
        return counted(tails, curve, self.quantiles, self.y, self.weight, self.codes, column, source)


def _of_all(together: Calibration, alone: Calibration, further: float) -> Calibration:
    """Levels for the mean of all members, from those for teams and for single members, as quantiles are moved.

    What a mean has less of counts 1/n among n members: the rest of the way from single members to teams, in normal
    scores, is ``further`` times as long. Ends that would be out of order for it are moved outwards.
    """
    places = [0, *(1 + alone.groups.index(code) for code in together.groups)]
    of_teams, of_members = (ndtri(np.clip(own, _LEAST, 1 - _LEAST)) for own in (together.tables, alone.tables[places]))
    levels = ndtr(of_teams + further * (of_teams - of_members))
    levels = np.where((together.tables <= 0) | (together.tables >= 1), together.tables, levels)
    ends = [np.minimum.accumulate(levels[:, 0], axis=1), np.maximum.accumulate(levels[:, 1], axis=1)]
    return replace(together, tables=np.stack(ends, axis=1))
